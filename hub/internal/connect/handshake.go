package connect

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/failpoint"
	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
)

// Request asks to connect a tenant to a peer.
type Request struct {
	TenantID     uuid.UUID
	LocalProduct string // of the tenant
	Environment  hub.Environment
	Product      string   // the peer's
	Key          string   // that the peer issued for us
	LocalKey     string   // that we issued for the peer before; "" = a new one
	APIURL       string   // base above the peer's /integrations
	WebhookURL   string   // where we receive; "" = the product's own address
	Uses         []string // what the connection is for, e.g. reminders
}

func (r Request) identity() integration.Identity {
	return integration.Identity{TenantID: r.TenantID, Environment: r.Environment, Product: r.Product}
}

var productPattern = regexp.MustCompile(`^[a-z][a-z0-9-]{1,39}$`)

func isKey(text string) bool { return isPrintable(text, 1, 512) }

// isSecret reports whether text can be a peer's secret. A peer chooses it itself: it need
// not suit libraries of Standard Webhooks.
func isSecret(text string) bool { return isPrintable(text, 16, 256) }

// isPrintable reports whether text is shortest to longest characters of ASCII that print,
// without spaces. As regular expressions, such lengths took milliseconds of each command.
func isPrintable(text string, shortest, longest int) bool {
	return len(text) >= shortest && len(text) <= longest && !strings.ContainsFunc(text, func(r rune) bool { return r < '!' || r > '~' })
}

// Connect carries out the handshake of docs/interfaces/clinic.md, "Connect and status":
// check the request, ask the peer's status, store the integration, register with the
// peer, store the outcome. An error in the first two steps stores nothing. After that
// the integration is returned even if the registration failed: its status is error and
// the registration is retried in the background.
func (s *Service) Connect(ctx context.Context, r Request) (View, error) {
	product, err := s.checkRequest(&r)
	if err != nil {
		return View{}, err
	}
	unlock, err := s.lockHandshake(ctx, r.identity())
	if err != nil {
		return View{}, err
	}
	defer unlock()
	status, err := s.probe(ctx, hub.Connection{
		Product: r.Product, LocalProduct: r.LocalProduct, Environment: r.Environment, URL: r.APIURL, Key: r.Key, Now: s.Now(),
	})
	if err != nil {
		s.OnHandshakeFailed(r.LocalProduct, StepStatus)
		return View{}, err
	}
	if status.URL != "" {
		r.APIURL = status.URL
	}
	failpoint.Here("handshake_asked")
	if _, err := s.findWithAccount(ctx, r.identity(), r.LocalProduct, r.Key); err != nil {
		return View{}, err
	}
	stored, err := s.beginHandshake(ctx, product, r, status)
	if err != nil {
		return View{}, err
	}
	failpoint.Here("handshake_stored")
	// From here on the outcome is recorded, also when the caller's context ends.
	ctx = context.WithoutCancel(ctx)
	if stored, err = s.register(ctx, stored, r.LocalProduct); err != nil {
		return View{}, err
	}
	return s.view(ctx, stored)
}

// checkRequest validates a request, completes it, and returns the tenant's product.
func (s *Service) checkRequest(r *Request) (Product, error) {
	product, hosted := s.Products(r.LocalProduct)
	switch {
	case !hosted:
		return product, hub.Errorf(hub.ErrInvalid, "product_not_hosted", "Only tenants of products that this hub runs can be connected.")
	case !productPattern.MatchString(r.Product):
		return product, hub.Invalid("body.product", "must be 2 to 40 lower-case letters, digits or dashes, beginning with a letter")
	case r.Product == r.LocalProduct:
		return product, notAsked(hub.Errorf(hub.ErrInvalid, hub.CodeUnexpectedProduct, "A product is not connected to itself."))
	case len(validNames(r.Uses)) != len(r.Uses):
		return product, hub.Invalid("body.features", "must be names of at most 100 characters")
	case !isKey(r.Key):
		return product, hub.Invalid("body.api_key", "must be the key that the other product issued")
	}
	address, err := s.URLs.CheckHTTPS("body.api_url", r.APIURL)
	if err != nil {
		return product, err
	}
	if address.RawQuery != "" || address.ForceQuery {
		return product, hub.Invalid("body.api_url", "must not have a query")
	}
	r.APIURL = strings.TrimRight(r.APIURL, "/")
	if r.WebhookURL == "" {
		r.WebhookURL = product.webhookURL()
	}
	if _, err := s.URLs.CheckHTTPS("body.webhook_url", r.WebhookURL); err != nil {
		return product, err
	}
	if environmentOf(r.Key) != r.Environment {
		return product, notAsked(wrongEnvironment(r.Environment))
	}
	return product, nil
}

// notAsked adds to an error that the peer was not asked: a checklist has not come to it.
func notAsked(err *hub.Error) *hub.Error {
	err.Extensions = hub.Extensions{hub.ReasonMember: hub.ReasonNotAsked}
	return err
}

// environmentOf returns the environment that a key's name has in it. Keys of other
// issuers need not have one; those count as live.
func environmentOf(key string) hub.Environment {
	test, live := strings.Index(key, "_test_"), strings.Index(key, "_live_")
	if test >= 0 && (live < 0 || test < live) {
		return hub.Test
	}
	return hub.Live
}

func wrongEnvironment(required hub.Environment) *hub.Error {
	return hub.Errorf(hub.ErrInvalid, "environment_mismatch", "Live and test data never mix: a %s key is needed here.", required)
}

// probe asks the peer for its status and checks that it is the expected product and
// environment.
func (s *Service) probe(ctx context.Context, c hub.Connection) (hub.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	status, err := s.Connectors(c.Product).Probe(ctx, s.Client, c)
	if err != nil {
		return status, peerError(err)
	}
	if err := status.CheckUsable(c.Product); err != nil {
		return status, err
	}
	if status.Environment != "" && status.Environment != c.Environment {
		return status, wrongEnvironment(c.Environment)
	}
	return status, nil
}

// peerError turns any failure of a call to a peer into a [hub.Error].
func peerError(err error) error {
	var hubErr *hub.Error
	switch {
	case err == nil || errors.As(err, &hubErr):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return hub.Errorf(hub.ErrPeerTimeout, hub.CodePeerTimeout, "The other product did not respond in time.").WithCause(err)
	}
	return hub.Errorf(hub.ErrPeer, hub.CodePeerFailed, "The other product did not respond as documented.").WithCause(err)
}

// beginHandshake stores the integration with a pending secret and a pending key for the
// peer. What is in force keeps working until the registration succeeds. A linked
// integration with another account of the product is a [hub.ErrConflict].
func (s *Service) beginHandshake(ctx context.Context, product Product, r Request, status hub.Status) (i integration.Integration, err error) {
	err = store.InTx(ctx, s.DB, func(tx pgx.Tx) error {
		integrations := integration.NewRepository(tx)
		i, err = integrations.BeginHandshake(ctx, r.identity(), r.WebhookURL)
		if err != nil {
			return err
		}
		secrets, err := i.OpenSecrets(s.Box)
		if err != nil {
			return err
		}
		isNew, err := i.ClaimAccount(secrets.RemoteKey == r.Key, accountOf(status))
		if err != nil {
			return err
		}
		i.APIURL, i.WebhookURL, i.Features, i.Uses = r.APIURL, r.WebhookURL, validNames(status.Features), validNames(r.Uses)
		i.BeginHandshake(s.Now().Add(firstRetry))
		if err := s.setRemoteKey(ctx, tx, &i, r.Key); err != nil {
			return err
		}
		if err := s.setPendingSecret(&i); err != nil {
			return err
		}
		if err := s.setPendingLocalKey(ctx, tx, product, &i, r.LocalKey); err != nil {
			return err
		}
		if isNew {
			err := dbgen.New(tx).ExpireOtherKeys(ctx, dbgen.ExpireOtherKeysParams{Until: s.Now(), IntegrationID: i.ID, Keep: *i.PendingLocalKeyID})
			if err != nil {
				return err
			}
		}
		i, err = integrations.Save(ctx, i)
		return err
	})
	return i, store.Wrap("storing the integration", err)
}

// maxNameLength bounds the names of features and event types, in bytes.
const maxNameLength = 100

// validNames drops names that no feature or event type can have, and those that cannot
// be stored. It never returns nil.
func validNames(list []string) []string {
	valid := make([]string, 0, len(list))
	for _, name := range list {
		if len(name) <= maxNameLength && utf8.ValidString(name) && !strings.ContainsRune(name, 0) {
			valid = append(valid, name)
		}
	}
	return valid
}
