package connect

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/failpoint"
	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
)

// maxClaims bounds the tries of a registration that concurrent changes interrupt.
const maxClaims = 3

// Registration is what a peer sends when it registers with us. Everything but the
// webhook URL may be missing.
type Registration struct {
	ID          string          // the peer's own id of the connection
	Product     string          // the peer's
	Environment hub.Environment //
	WebhookURL  string          // where the peer receives our events
	Secret      string          // for both directions
	Key         string          // for our calls to the peer
	Events      []string        // types the peer subscribes to; nil = all
	Features    []string        // that the peer offers
}

func (r Registration) identity(caller keys.Principal) integration.Identity {
	return integration.Identity{TenantID: caller.TenantID, Environment: caller.Environment, Product: r.Product}
}

// Accepted is our answer to a registration.
type Accepted struct {
	IntegrationID uuid.UUID
	WebhookURL    string
	Features      []string
	Status        string // of the integration
	Secret        string // generated here if the peer brought none; else ""
}

// Accept stores a peer's registration, made with a key we issued, and binds that key to
// the integration. Registering again changes the same integration.
func (s *Service) Accept(ctx context.Context, caller keys.Principal, r Registration) (Accepted, error) {
	product, hosted := s.Products(caller.Product)
	if !hosted {
		return Accepted{}, hub.Errorf(hub.ErrNotFound, "not_found", "The product of this key does not run on this hub; check HUB_PRODUCTS.")
	}
	if err := s.checkRegistration(caller, r); err != nil {
		return Accepted{}, err
	}
	i, secret, err := s.storeRegistration(ctx, product, caller, r)
	if err != nil {
		return Accepted{}, store.Wrap("storing the registration", err)
	}
	failpoint.Here("registration_after_commit")
	return Accepted{
		IntegrationID: i.ID, WebhookURL: i.WebhookURL, Features: validNames(product.Spec.Features), Status: string(i.Status), Secret: secret,
	}, nil
}

// storeRegistration identifies the registrant and stores its registration. It returns
// the webhook secret if it generated one.
func (s *Service) storeRegistration(ctx context.Context, product Product, caller keys.Principal, r Registration) (i integration.Integration, secret string, err error) {
	isUnnamed := r.Product == ""
	for range maxClaims {
		if isUnnamed {
			if r.Product, err = s.peerProduct(ctx, caller); err != nil {
				return i, "", err
			}
		}
		registrant, err := s.identifyRegistrant(ctx, caller, r)
		if err != nil {
			return i, "", err
		}
		err = store.InTx(ctx, s.DB, func(tx pgx.Tx) (err error) {
			integrations := integration.NewRepository(tx)
			if i, err = integrations.Ensure(ctx, r.identity(caller), product.webhookURL()); err != nil {
				return err
			}
			if isUnnamed && caller.Integration != uuid.Nil && caller.Integration != i.ID { // an event named the product meanwhile
				return errConcurrentUpdate
			}
			if err := s.claimIntegration(ctx, tx, caller, r, &i, registrant); err != nil {
				return err
			}
			if secret, err = s.applyRegistration(ctx, tx, &i, r); err != nil {
				return err
			}
			i, err = integrations.Save(ctx, i)
			failpoint.Here("registration_before_commit")
			return err
		})
		if !errors.Is(err, errConcurrentUpdate) {
			return i, secret, err
		}
	}
	return i, "", hub.Errorf(hub.ErrUnavailable, "handshake_under_way", "These two accounts are being connected right now; try again in a few seconds.")
}

func (s *Service) checkRegistration(caller keys.Principal, r Registration) error {
	switch {
	case r.Product != "" && !productPattern.MatchString(r.Product):
		return hub.Invalid("body.product", "must be 2 to 40 lower-case letters, digits or dashes, beginning with a letter")
	case r.Product == caller.Product:
		return hub.Errorf(hub.ErrInvalid, hub.CodeUnexpectedProduct, "A product is not connected to itself.")
	case r.Environment != "" && r.Environment != caller.Environment:
		return wrongEnvironment(caller.Environment)
	case r.Key != "" && !isKey(r.Key):
		return hub.Invalid("body.api_key", "must be a key: printable ASCII, at most 512 characters")
	case r.Key != "" && environmentOf(r.Key) != caller.Environment:
		return wrongEnvironment(caller.Environment)
	case r.Secret != "" && !isSecret(r.Secret):
		return hub.Invalid("body.webhook_secret", "must be 16 to 256 printable ASCII characters without spaces")
	}
	for location, names := range map[string][]string{"body.events": r.Events, "body.features": r.Features} {
		if len(validNames(names)) != len(names) {
			return hub.Invalid(location, "must be names of at most 100 characters")
		}
	}
	_, err := s.URLs.CheckHTTPS("body.webhook_url", r.WebhookURL)
	return err
}

// peerProduct returns the peer's product of the integration that the caller's key is
// bound to.
func (s *Service) peerProduct(ctx context.Context, caller keys.Principal) (string, error) {
	if caller.Integration == uuid.Nil {
		return UnnamedProduct, nil
	}
	i, err := s.integrations().Get(ctx, caller.Integration, integration.Filter{TenantID: &caller.TenantID})
	return i.Product, err
}

// applyRegistration changes an integration as the peer's registration says. It returns
// the webhook secret if it generated one.
func (s *Service) applyRegistration(ctx context.Context, tx pgx.Tx, i *integration.Integration, r Registration) (secret string, err error) {
	if secret, err = s.acceptSecret(i, r.Secret); err != nil {
		return "", err
	}
	if r.Key != "" {
		if err := s.setRemoteKey(ctx, tx, i, r.Key); err != nil {
			return "", err
		}
	}
	i.PeerWebhookURL = r.WebhookURL
	if baseURL, found := strings.CutSuffix(r.WebhookURL, webhookSuffix); found && (i.APIURL == "" || i.Handshake == 0) {
		i.APIURL = baseURL
	}
	i.EventTypes = r.Events
	if r.Events == nil {
		i.EventTypes = []string{"*"}
	}
	if r.Features != nil {
		i.Features = r.Features
	}
	if r.ID != "" {
		i.PeerIntegrationID = r.ID
	}
	i.AcceptRegistration(s.Now(), s.nextProbe())
	return secret, nil
}

// Unregister ends the integration that the caller's key is bound to, for its peer. A key
// that a handshake replaced is refused like a revoked one: it must not end what the new
// key serves.
func (s *Service) Unregister(ctx context.Context, caller keys.Principal) (View, error) {
	if caller.Integration == uuid.Nil {
		return View{}, hub.Errorf(hub.ErrNotFound, "not_registered", "This key belongs to no integration.")
	}
	i, err := s.update(ctx, caller.Integration, integration.Filter{TenantID: &caller.TenantID}, func(i *integration.Integration, tx pgx.Tx) error {
		key, err := dbgen.New(tx).KeyByID(ctx, dbgen.KeyByIDParams{ID: caller.KeyID, TenantID: caller.TenantID, Environment: caller.Environment})
		switch {
		case err != nil:
			return err
		case key.Superseded:
			return keys.InvalidKeyError()
		case i.RevokedAt == nil:
			i.Disconnect("The other product ended the connection.")
		}
		return nil
	})
	if err != nil {
		return View{}, err
	}
	return s.view(ctx, i)
}

// update loads, changes and saves an integration in one transaction. One that the filter
// does not match is a [hub.ErrNotFound].
func (s *Service) update(ctx context.Context, id uuid.UUID, filter integration.Filter, change func(*integration.Integration, pgx.Tx) error) (integration.Integration, error) {
	if _, err := s.integrations().Get(ctx, id, filter); err != nil {
		return integration.Integration{}, err
	}
	return s.updateLocked(ctx, id, change)
}

func (s *Service) updateLocked(ctx context.Context, id uuid.UUID, change func(*integration.Integration, pgx.Tx) error) (i integration.Integration, err error) {
	err = store.InTx(ctx, s.DB, func(tx pgx.Tx) error {
		integrations := integration.NewRepository(tx)
		if i, err = integrations.Lock(ctx, id); err != nil {
			return err
		}
		if err = change(&i, tx); err != nil {
			return err
		}
		i, err = integrations.Save(ctx, i)
		return err
	})
	return i, store.Wrap("changing the integration", err)
}
