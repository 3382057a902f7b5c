package connect

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/failpoint"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
)

// Request asks to connect a tenant to a peer.
type Request struct {
	TenantID    uuid.UUID
	OwnProduct  string // of the tenant
	Environment hub.Environment
	Product     string   // the peer's
	Key         string   // that the peer issued for us
	LocalKey    string   // that we issued for the peer before; "" = one is made
	APIURL      string   // base under which the peer's /integrations lies
	WebhookURL  string   // where we are to receive; "" = the product's own address
	Uses        []string // what for, e.g. reminders
}

var (
	productPattern = regexp.MustCompile(`^[a-z][a-z0-9-]{1,39}$`)
	keyPattern     = regexp.MustCompile(`^[!-~]{1,512}$`)
)

// Connect carries out the handshake of hub.md. What the peer or the request is to
// blame for is an error, and nothing is stored; once the peer has shown itself to be
// the right one, the integration is stored and returned, with the status error where
// the registration failed: that is tried again in the background.
func (s *Service) Connect(ctx context.Context, r Request) (Integration, error) {
	own, err := s.check(&r)
	if err != nil {
		return Integration{}, err
	}
	release, err := s.turn(ctx, r.TenantID, r.Environment, r.Product)
	if err != nil {
		return Integration{}, err
	}
	defer release()
	status, err := s.ask(ctx, hub.Connection{
		Product: r.Product, LocalProduct: r.OwnProduct, Environment: r.Environment, URL: r.APIURL, Key: r.Key, Now: s.Now(),
	})
	if err != nil {
		s.Failed(r.OwnProduct, StepStatus)
		return Integration{}, err
	}
	if status.URL != "" {
		r.APIURL = status.URL
	}
	failpoint.Here("handshake_asked")
	if _, err := s.standing(ctx, r.TenantID, r.OwnProduct, r.Environment, r.Product, r.Key); err != nil {
		return Integration{}, err
	}
	row, err := s.begin(ctx, own, r, status)
	if err != nil {
		return Integration{}, err
	}
	failpoint.Here("handshake_stored")
	// From here on the outcome is recorded, whatever becomes of the caller.
	ctx = context.WithoutCancel(ctx)
	if row, err = s.register(ctx, row, r.OwnProduct); err != nil {
		return Integration{}, err
	}
	return s.view(ctx, row)
}

// check is the handshake's first step: addresses and the key's environment.
func (s *Service) check(r *Request) (Product, error) {
	own, hosted := s.Products(r.OwnProduct)
	switch {
	case !hosted:
		return own, hub.Errorf(hub.ErrInvalid, "product_not_hosted", "Only tenants of products that this hub runs can be connected.")
	case !productPattern.MatchString(r.Product):
		return own, hub.Invalid("body.product", "must be 2 to 40 lower-case letters, digits or dashes, beginning with a letter")
	case r.Product == r.OwnProduct:
		return own, hub.Errorf(hub.ErrInvalid, hub.CodeUnexpectedProduct, "A product is not connected to itself.")
	case len(cleaned(r.Uses)) != len(r.Uses):
		return own, hub.Invalid("body.features", "must be names of at most 100 characters")
	case !keyPattern.MatchString(r.Key):
		return own, hub.Invalid("body.api_key", "must be the key that the other product issued")
	}
	address, err := s.URLs.CheckHTTPS("body.api_url", r.APIURL)
	if err != nil {
		return own, err
	}
	if address.RawQuery != "" || address.ForceQuery {
		return own, hub.Invalid("body.api_url", "must not have a query")
	}
	r.APIURL = strings.TrimRight(r.APIURL, "/")
	if r.WebhookURL == "" {
		r.WebhookURL = own.webhookURL()
	}
	if _, err := s.URLs.CheckHTTPS("body.webhook_url", r.WebhookURL); err != nil {
		return own, err
	}
	if environmentOf(r.Key) != r.Environment {
		return own, wrongEnvironment(r.Environment)
	}
	return own, nil
}

// environmentOf tells a key's environment by its name. Keys of other makers need
// not say; then they count as live.
func environmentOf(key string) hub.Environment {
	test, live := strings.Index(key, "_test_"), strings.Index(key, "_live_")
	if test >= 0 && (live < 0 || test < live) {
		return hub.Test
	}
	return hub.Live
}

func wrongEnvironment(wanted hub.Environment) *hub.Error {
	return hub.Errorf(hub.ErrInvalid, "environment_mismatch", "Live and test data never mix: a %s key is needed here.", wanted)
}

// ask is the second step: who the peer says it is.
func (s *Service) ask(ctx context.Context, c hub.Connection) (hub.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	status, err := s.Connectors(c.Product).Probe(ctx, s.Do, c)
	if err != nil {
		return status, peerTrouble(err)
	}
	if err := status.CheckUsable(c.Product); err != nil {
		return status, err
	}
	if status.Environment != "" && status.Environment != c.Environment {
		return status, wrongEnvironment(c.Environment)
	}
	return status, nil
}

// peerTrouble makes sure that whatever went wrong at a peer has a status of its own.
func peerTrouble(err error) error {
	var told *hub.Error
	switch {
	case err == nil || errors.As(err, &told):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return hub.Errorf(hub.ErrPeerTimeout, hub.CodePeerTimeout, "The other product did not answer in time.").WithCause(err)
	}
	return hub.Errorf(hub.ErrPeer, hub.CodePeerFailed, "The other product did not answer as documented.").WithCause(err)
}

// begin is the third step: one row, a secret and a key for the peer. An integration
// that works goes on working with what it has until the registration succeeds; one
// with another account of the product is left as it is.
func (s *Service) begin(ctx context.Context, own Product, r Request, status hub.Status) (row dbgen.Integration, err error) {
	err = store.InTx(ctx, s.DB, func(tx pgx.Tx) error {
		queries := dbgen.New(tx)
		row, err = queries.BeginHandshake(ctx, dbgen.BeginHandshakeParams{
			ID: uuid.Must(uuid.NewV7()), TenantID: r.TenantID, Environment: r.Environment, Product: r.Product, WebhookUrl: r.WebhookURL,
		})
		if err != nil {
			return err
		}
		secrets, err := OpenSecrets(s.Box, row)
		if err != nil {
			return err
		}
		anew, err := claim(&row, secrets.key == r.Key, accountOf(status))
		if err != nil {
			return err
		}
		row.ApiUrl, row.WebhookUrl, row.Features, row.Enabled = r.APIURL, r.WebhookURL, cleaned(status.Features), cleaned(r.Uses)
		row.Disabled, row.RevokedAt, row.LastError, row.UnauthorizedSince = false, nil, nil, nil
		if row.Status != Active {
			row.Status = Inactive
		}
		if err := s.setRemoteKey(&row, r.Key); err != nil {
			return err
		}
		if err := s.renewSecret(&row); err != nil {
			return err
		}
		if err := s.renewKey(ctx, tx, own, &row, r.LocalKey); err != nil {
			return err
		}
		if anew {
			if err := queries.EndOtherKeys(ctx, dbgen.EndOtherKeysParams{Until: s.Now(), IntegrationID: row.ID, Keep: *row.PendingKeyID}); err != nil {
				return err
			}
		}
		row.RegisterTries, row.NextProbeAt = 0, nil
		row.RegisterAt = new(s.Now().Add(retryFirst)) // for another process, should this one die
		row, err = queries.SaveIntegration(ctx, saving(row))
		return err
	})
	return row, store.Failed("storing the integration", err)
}

// setRemoteKey takes over the peer's key; the one before lives on for the overlap.
func (s *Service) setRemoteKey(row *dbgen.Integration, key string) error {
	secrets, err := OpenSecrets(s.Box, *row)
	if err != nil || secrets.key == key {
		return err
	}
	if secrets.key != "" {
		row.PreviousRemoteKey = row.RemoteKey
	}
	row.RemoteKey, row.RemoteLast4 = s.Box.Seal([]byte(key), registry.RemoteKeyContext(row.ID)), keys.Last4(key)
	return nil
}

// renewSecret makes the secret that the next registration brings. Where the peer
// registered a moment ago both sides connect at once: then its secret is kept, as it
// is where none can be made that the peer is sure to take.
func (s *Service) renewSecret(row *dbgen.Integration) error {
	if row.PeerRegisteredAt != nil && s.Now().Sub(*row.PeerRegisteredAt) < simultaneous && len(row.Secret) > 0 {
		row.PendingSecret = nil
		return nil
	}
	return s.drawPending(row)
}

// drawPending makes a pending secret, or none where the peer might not take it.
func (s *Service) drawPending(row *dbgen.Integration) error {
	secrets, err := OpenSecrets(s.Box, *row)
	if err != nil {
		return err
	}
	over := ""
	if row.PeerRegisteredAt != nil && s.Now().Sub(*row.PeerRegisteredAt) < settling {
		// The peer may take this for the other half of a handshake of its own that just
		// ended: let the new secret be the one that wins.
		over = secrets.current
	}
	row.PendingSecret = nil
	if secret := drawSecret(over); secret != "" {
		row.PendingSecret = s.Box.Seal([]byte(secret), registry.IntegrationSecretContext(row.ID))
	}
	return nil
}

// drawSecret makes a secret that wins over another: of many the one that wins by the
// least, so that many more can follow it. It gives "" where none was found.
func drawSecret(over string) (best string) {
	for n := 0; n < secretDraws || best == "" && n < mostDraws; n++ {
		secret := hub.NewWebhookSecret()
		if (over == "" || wins(secret, over)) && (best == "" || wins(best, secret)) {
			best = secret
		}
	}
	return best
}

// wins decides between the secrets of two handshakes that were made at once, one from
// either side: both sides come to the same decision.
func wins(one, other string) bool {
	a, b := sha256.Sum256([]byte(one)), sha256.Sum256([]byte(other))
	return bytes.Compare(a[:], b[:]) > 0
}

// renewKey makes the key that the next registration brings the peer, or takes one
// that was issued for it before.
func (s *Service) renewKey(ctx context.Context, tx pgx.Tx, own Product, row *dbgen.Integration, given string) error {
	if given == "" {
		key, plain, err := s.Keys.CreateIn(ctx, tx, keys.Draft{
			TenantID: row.TenantID, Name: row.Product, Environment: row.Environment, IntegrationID: &row.ID, ForPeer: true,
		})
		if err != nil {
			return err
		}
		row.PendingKeyID, row.PendingKey = &key.ID, s.Box.Seal([]byte(plain), registry.LocalKeyContext(row.ID))
		return nil
	}
	hash := keys.Hash(given)
	queries := dbgen.New(tx)
	found, err := queries.KeyByHash(ctx, dbgen.KeyByHashParams{Hash: hash[:], TenantID: row.TenantID, Environment: row.Environment, At: s.Now()})
	if errors.Is(err, pgx.ErrNoRows) {
		return hub.Invalid("body.api_key_local", "must be a valid "+string(row.Environment)+" key that "+own.Spec.Name+" issued")
	}
	if err != nil {
		return err
	}
	if err := bind(ctx, queries, found.ID, row); err != nil {
		return err
	}
	row.PendingKeyID, row.PendingKey = &found.ID, s.Box.Seal([]byte(given), registry.LocalKeyContext(row.ID))
	return nil
}

// bind lets a key speak for one integration only.
func bind(ctx context.Context, queries *dbgen.Queries, key uuid.UUID, row *dbgen.Integration) error {
	bound, err := queries.BindKey(ctx, dbgen.BindKeyParams{IntegrationID: row.ID, ID: key, TenantID: row.TenantID})
	if err == nil && bound == 0 {
		return hub.Errorf(hub.ErrConflict, "key_in_use", "This key belongs to another integration already; issue one for each.")
	}
	return err
}

// nextProbe is about a minute away, so that probes spread.
func (s *Service) nextProbe() *time.Time {
	return new(s.Now().Add(time.Duration(float64(probeEvery) * (0.9 + 0.2*s.Random()))))
}

// longestName is how long the names of features and event types may be.
const longestName = 100

// cleaned drops what cannot be the name of a feature or an event type, and what cannot
// be stored; it never gives nil.
func cleaned(list []string) []string {
	kept := make([]string, 0, len(list))
	for _, name := range list {
		if len(name) <= longestName && utf8.ValidString(name) && !strings.ContainsRune(name, 0) {
			kept = append(kept, name)
		}
	}
	return kept
}
