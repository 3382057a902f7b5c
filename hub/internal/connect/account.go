package connect

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
)

// A tenant is connected to one account of a product. Which one, the peer's status
// says, not its address: that may change. Peers whose status names no account cannot
// be told apart; for them every handshake counts as one with the same account.

const (
	admissions   = 3               // tries of a registration that others overtake
	whoseTimeout = 5 * time.Second // of asking whose a registration is: the peer waits for our answer
)

// errMeanwhile says that an integration changed after it was compared with.
var errMeanwhile = errors.New("the integration has changed meanwhile")

// linked tells whether an integration is in force or being made: neither side has
// ended it, also where it is disabled or does not work.
func linked(row dbgen.Integration) bool {
	return row.RevokedAt == nil && (row.RegisteredAt != nil || row.PeerRegisteredAt != nil || row.RegisterAt != nil)
}

// accountOf is the account that a status names, nil where it names none.
func accountOf(status hub.Status) *string {
	if kept := cleaned([]string{status.TenantID}); len(kept) == 1 {
		return given(kept[0])
	}
	return nil
}

// claim lets an account have an integration: same where its key or registration is
// that of the integration. An integration in force with another account is a
// [hub.ErrConflict]. One that was ended begins anew, unless it is with the same
// account: whoever had it before keeps nothing that works, and gets nothing more of
// what is on its way; nor does who comes now.
func claim(row *dbgen.Integration, same bool, account *string) (anew bool, err error) {
	both := row.PeerAccount != nil && account != nil
	same = same || both && *row.PeerAccount == *account
	switch {
	case same:
	case !linked(*row):
		if row.PeerAccount != nil {
			row.AccountSince = row.RevokedAt
			if row.AccountSince == nil {
				row.AccountSince = &row.UpdatedAt
			}
		}
		forget(row)
		anew = true
	case both:
		return false, hub.Errorf(hub.ErrConflict, hub.CodeOtherAccountConnected,
			"Another account of %s is connected already: revoke that integration first.", row.Product)
	}
	if account != nil || !same {
		row.PeerAccount = account
	}
	return anew, nil
}

// forget drops what an integration has of its peer.
func forget(row *dbgen.Integration) {
	row.Secret, row.PreviousSecret, row.PreviousExpiresAt, row.PendingSecret = nil, nil, nil, nil
	row.RemoteKey, row.RemoteLast4, row.PreviousRemoteKey = nil, "", nil
	row.PendingKey, row.PendingKeyID = nil, nil
	row.ApiUrl, row.PeerWebhookUrl, row.PeerIntegrationID = "", "", nil
	row.Features, row.EventTypes = []string{}, []string{"*"}
}

// standing is a tenant's integration with a product, the zero value where there is
// none; which account one in force is with is found out, unless its key is the one
// given.
func (s *Service) standing(ctx context.Context, tenant uuid.UUID, own string, environment hub.Environment, product, key string) (dbgen.Integration, error) {
	row, err := dbgen.New(s.DB).IntegrationWith(ctx, dbgen.IntegrationWithParams{TenantID: tenant, Environment: environment, Product: product})
	if errors.Is(err, pgx.ErrNoRows) {
		return dbgen.Integration{}, nil
	}
	if err != nil {
		return row, store.Failed("loading the integration", err)
	}
	if row.PeerAccount != nil || !linked(row) || !reachable(row) {
		return row, nil
	}
	c, _, err := s.connection(row, own)
	if err != nil || c.Key == key {
		return row, err
	}
	status, err := s.askWhose(ctx, c)
	account := accountOf(status)
	if err != nil || account == nil { // then it stays unknown
		return row, nil //nolint:nilerr // a peer that is away keeps nobody from connecting
	}
	row.PeerAccount = account
	err = dbgen.New(s.DB).NoteAccount(ctx, dbgen.NoteAccountParams{Account: *account, ID: row.ID, RemoteKey: row.RemoteKey})
	return row, store.Failed("noting the account", err)
}

func (s *Service) askWhose(ctx context.Context, c hub.Connection) (hub.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, whoseTimeout)
	defer cancel()
	return s.ask(ctx, c)
}

// freeFor is a [hub.ErrConflict] where a tenant is connected to another account of a
// product than the one given, which lives in this hub too.
func (s *Service) freeFor(ctx context.Context, tenant, peer dbgen.Tenant, environment hub.Environment) error {
	row, err := s.standing(ctx, tenant.ID, tenant.Product, environment, peer.Product, "")
	if err != nil || !linked(row) || row.PeerAccount == nil || *row.PeerAccount == peer.ID.String() {
		return err
	}
	return hub.Errorf(hub.ErrConflict, hub.CodeOtherAccountConnected,
		"%s is connected to another account of %s already: revoke that integration first.", tenant.Name, peer.Product)
}

// registrant finds out whose a registration is where that matters: the integration is
// in force with a known account, and neither key nor id of the registration are its.
// It gives the integration that was looked at, and the account, nil where the
// registration does not say how to ask. A peer that should answer and does not is an
// error: it may be another one.
func (s *Service) registrant(ctx context.Context, who keys.Principal, r Registration) (seen dbgen.Integration, account *string, err error) {
	seen, err = s.standing(ctx, who.TenantID, who.Product, who.Environment, r.Product, r.Key)
	if err != nil || !linked(seen) || seen.PeerAccount == nil {
		return seen, nil, err
	}
	own, err := ofIntegration(ctx, dbgen.New(s.DB), who, r, seen)
	base, found := strings.CutSuffix(r.WebhookURL, webhookSuffix)
	if err != nil || own || !found || r.Key == "" {
		return seen, nil, store.Failed("loading the key", err)
	}
	status, err := s.askWhose(ctx, hub.Connection{
		Product: r.Product, LocalProduct: who.Product, Environment: who.Environment, URL: base, Key: r.Key, Now: s.Now(),
	})
	return seen, accountOf(status), err
}

// ofIntegration tells whether a registration is by the peer of an integration: with a
// key bound to it, or with the id that its peer has for it.
func ofIntegration(ctx context.Context, queries *dbgen.Queries, who keys.Principal, r Registration, row dbgen.Integration) (bool, error) {
	key, err := queries.KeyByID(ctx, dbgen.KeyByIDParams{ID: who.KeyID, TenantID: who.TenantID, Environment: who.Environment})
	if err != nil {
		return false, err
	}
	return key.IntegrationID != nil && *key.IntegrationID == row.ID || r.ID != "" && r.ID == value(row.PeerIntegrationID), nil
}

// admitAccount lets a registration have the locked integration, and binds its key.
func (s *Service) admitAccount(ctx context.Context, queries *dbgen.Queries, who keys.Principal, r Registration, row *dbgen.Integration, seen dbgen.Integration, account *string) error {
	same, err := ofIntegration(ctx, queries, who, r, *row)
	if err != nil {
		return err
	}
	if !same && linked(*row) && (!linked(seen) || value(row.PeerAccount) != value(seen.PeerAccount)) {
		return errMeanwhile
	}
	anew, err := claim(row, same, account)
	if err != nil {
		return err
	}
	if anew {
		if err := queries.EndOtherKeys(ctx, dbgen.EndOtherKeysParams{Until: s.Now(), IntegrationID: row.ID, Keep: who.KeyID}); err != nil {
			return err
		}
	}
	return bind(ctx, queries, who.KeyID, row)
}

// takenThere tells whether a peer refused a registration because it is connected to
// another account.
func takenThere(trouble error) bool { return codeOf(trouble) == hub.CodeOtherAccountConnected }
