package connect

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
)

// accountTimeout bounds the question which account a registering peer has: the peer
// waits for our answer meanwhile.
const accountTimeout = 5 * time.Second

// errConcurrentUpdate is returned if an integration changed after it was compared.
var errConcurrentUpdate = errors.New("the integration was changed concurrently")

// accountOf returns the account that a peer's status names, "" if it names none.
func accountOf(status hub.Status) string {
	if valid := validNames([]string{status.TenantID}); len(valid) == 1 {
		return valid[0]
	}
	return ""
}

// findWithAccount loads a tenant's integration with a product, the zero value if there
// is none. If the integration is linked but its account is unknown, the peer is asked
// and the answer stored, unless the integration's remote key is key: then the account is
// that of the caller. A peer that does not answer leaves the account unknown.
func (s *Service) findWithAccount(ctx context.Context, identity integration.Identity, localProduct, key string) (integration.Integration, error) {
	i, found, err := s.integrations().Find(ctx, identity)
	if err != nil || !found || i.PeerAccount != "" || !i.IsLinked() || !i.IsReachable() {
		return i, err
	}
	c, _, err := s.connection(i, localProduct)
	if err != nil || c.Key == key {
		return i, err
	}
	status, err := s.probeAccount(ctx, c)
	account := accountOf(status)
	if err != nil || account == "" {
		return i, nil //nolint:nilerr // a peer that is away must not keep the tenant from connecting
	}
	i.PeerAccount = account
	return i, s.integrations().SavePeerAccount(ctx, i)
}

func (s *Service) probeAccount(ctx context.Context, c hub.Connection) (hub.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, accountTimeout)
	defer cancel()
	return s.probe(ctx, c)
}

// checkLinkable returns a [hub.ErrConflict] if the tenant is connected to an account of
// the peer's product other than the peer. Both tenants live in this hub.
func (s *Service) checkLinkable(ctx context.Context, tenant, peer registry.Tenant, environment hub.Environment) error {
	identity := integration.Identity{TenantID: tenant.ID, Environment: environment, Product: peer.Product}
	i, err := s.findWithAccount(ctx, identity, tenant.Product, "")
	if err != nil || !i.IsLinked() || i.PeerAccount == "" || i.PeerAccount == peer.ID.String() {
		return err
	}
	return hub.Errorf(hub.ErrConflict, hub.CodeOtherAccountConnected,
		"%s is connected to another account of %s already: revoke that integration first.", tenant.Name, peer.Product)
}

// registrant is who registers with us, as far as it is known before the transaction.
type registrant struct {
	existing integration.Integration // the tenant's integration with the product, or the zero value
	account  string                  // of the registering peer; "" = unknown
}

// identifyRegistrant finds out which account registers. It matters only if the existing
// integration is linked to a known account and the registration has neither its key nor
// its id. Then the peer is asked; if it should answer and does not, that is an error,
// because it may be another account.
func (s *Service) identifyRegistrant(ctx context.Context, caller keys.Principal, r Registration) (registrant, error) {
	existing, err := s.findWithAccount(ctx, r.identity(caller), caller.Product, r.Key)
	identified := registrant{existing: existing}
	if err != nil || !existing.IsLinked() || existing.PeerAccount == "" {
		return identified, err
	}
	isPeer, err := isFromPeer(ctx, dbgen.New(s.DB), caller, r, existing)
	baseURL, found := strings.CutSuffix(r.WebhookURL, webhookSuffix)
	if err != nil || isPeer || !found || r.Key == "" {
		return identified, store.Wrap("loading the key", err)
	}
	status, err := s.probeAccount(ctx, hub.Connection{
		Product: r.Product, LocalProduct: caller.Product, Environment: caller.Environment, URL: baseURL, Key: r.Key, Now: s.Now(),
	})
	identified.account = accountOf(status)
	return identified, err
}

// isFromPeer reports whether a registration comes from the peer of an integration: its
// key is bound to the integration, or it has the peer's own id of it.
func isFromPeer(ctx context.Context, queries *dbgen.Queries, caller keys.Principal, r Registration, i integration.Integration) (bool, error) {
	key, err := queries.KeyByID(ctx, dbgen.KeyByIDParams{ID: caller.KeyID, TenantID: caller.TenantID, Environment: caller.Environment})
	if err != nil {
		return false, err
	}
	return key.IntegrationID != nil && *key.IntegrationID == i.ID || r.ID != "" && r.ID == i.PeerIntegrationID, nil
}

// claimIntegration assigns the locked integration to a registrant and binds its key. It
// returns [errConcurrentUpdate] if the integration changed since the registrant was
// identified.
func (s *Service) claimIntegration(ctx context.Context, tx pgx.Tx, caller keys.Principal, r Registration, i *integration.Integration, known registrant) error {
	queries := dbgen.New(tx)
	isPeer, err := isFromPeer(ctx, queries, caller, r, *i)
	if err != nil {
		return err
	}
	if !isPeer && i.IsLinked() && (!known.existing.IsLinked() || i.PeerAccount != known.existing.PeerAccount) {
		return errConcurrentUpdate
	}
	isNew, err := i.ClaimAccount(isPeer, known.account)
	if err != nil {
		return err
	}
	if isNew {
		err := queries.ExpireOtherKeys(ctx, dbgen.ExpireOtherKeysParams{Until: s.Now(), IntegrationID: i.ID, Keep: caller.KeyID})
		if err != nil {
			return err
		}
	}
	return bindKey(ctx, queries, caller.KeyID, i)
}

// isOtherAccount reports whether a peer refused a registration because it is connected
// to another account.
func isOtherAccount(err error) bool { return hub.HasCode(err, hub.CodeOtherAccountConnected) }

func isKeyRejected(err error) bool { return hub.HasCode(err, hub.CodeKeyRejected) }
