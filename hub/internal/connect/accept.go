package connect

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/failpoint"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
)

// Unnamed stands for a peer that registered without saying what it is: it knows the
// webhook_url of the documents and nothing else.
const Unnamed = "external"

// Registration is what a peer tells when it registers with us; all but the address
// may be missing.
type Registration struct {
	ID          string          // the peer's own id of the connection
	Product     string          // the peer's
	Environment hub.Environment //
	WebhookURL  string          // where it takes our events
	Secret      string          // for both directions
	Key         string          // that we are to call it with
	Events      []string        // types it wants; nil: all
	Features    []string        // what it offers
}

// Accepted is our answer to a registration.
type Accepted struct {
	IntegrationID uuid.UUID
	WebhookURL    string
	Features      []string
	Status        string
	Secret        string // made here, where the peer brought none; else ""
}

// Accept takes a peer's registration, made with a key we issued. That key is bound to
// the integration from then on. Registering again changes the same integration.
func (s *Service) Accept(ctx context.Context, who keys.Principal, r Registration) (Accepted, error) {
	own, hosted := s.Products(who.Product)
	if !hosted {
		return Accepted{}, hub.Errorf(hub.ErrNotFound, "not_found", "There is nothing here.")
	}
	if err := s.checkRegistration(who, r); err != nil {
		return Accepted{}, err
	}
	if r.Product == "" {
		var err error
		if r.Product, err = s.productOf(ctx, who); err != nil {
			return Accepted{}, err
		}
	}
	row, made, err := s.admit(ctx, own, who, r)
	if err != nil {
		return Accepted{}, store.Failed("storing the registration", err)
	}
	failpoint.Here("registration_after_commit")
	return Accepted{
		IntegrationID: row.ID, WebhookURL: row.WebhookUrl, Features: cleaned(own.Spec.Features), Status: row.Status, Secret: made,
	}, nil
}

// admit stores a registration, once it is known whose it is.
func (s *Service) admit(ctx context.Context, own Product, who keys.Principal, r Registration) (row dbgen.Integration, made string, err error) {
	for range admissions {
		seen, account, err := s.registrant(ctx, who, r)
		if err != nil {
			return row, "", err
		}
		err = store.InTx(ctx, s.DB, func(tx pgx.Tx) (err error) {
			queries := dbgen.New(tx)
			row, err = queries.EnsureIntegration(ctx, dbgen.EnsureIntegrationParams{
				ID: uuid.Must(uuid.NewV7()), TenantID: who.TenantID, Environment: who.Environment, Product: r.Product, WebhookUrl: own.webhookURL(),
			})
			if err != nil {
				return err
			}
			if err := s.admitAccount(ctx, queries, who, r, &row, seen, account); err != nil {
				return err
			}
			if made, err = s.accept(&row, r); err != nil {
				return err
			}
			row, err = queries.SaveIntegration(ctx, saving(row))
			failpoint.Here("registration_before_commit")
			return err
		})
		if !errors.Is(err, errMeanwhile) {
			return row, made, err
		}
	}
	return row, "", hub.Errorf(hub.ErrUnavailable, "handshake_under_way", "Another connect is under way; try again.")
}

func (s *Service) checkRegistration(who keys.Principal, r Registration) error {
	switch {
	case r.Product != "" && !productPattern.MatchString(r.Product):
		return hub.Invalid("body.product", "must be 2 to 40 lower-case letters, digits or dashes, beginning with a letter")
	case r.Product == who.Product:
		return hub.Errorf(hub.ErrInvalid, hub.CodeUnexpectedProduct, "A product is not connected to itself.")
	case r.Environment != "" && r.Environment != who.Environment:
		return wrongEnvironment(who.Environment)
	case r.Key != "" && !keyPattern.MatchString(r.Key):
		return hub.Invalid("body.api_key", "must be a key: printable ASCII, at most 512 characters")
	case r.Key != "" && environmentOf(r.Key) != who.Environment:
		return wrongEnvironment(who.Environment)
	case r.Secret != "" && !registry.ValidSecret(r.Secret):
		return hub.Invalid("body.webhook_secret", "must be 16 to 256 printable ASCII characters without spaces")
	}
	for where, list := range map[string][]string{"body.events": r.Events, "body.features": r.Features} {
		if len(cleaned(list)) != len(list) {
			return hub.Invalid(where, "must be names of at most 100 characters")
		}
	}
	_, err := s.URLs.CheckHTTPS("body.webhook_url", r.WebhookURL)
	return err
}

// productOf is the peer of the integration that a key is bound to.
func (s *Service) productOf(ctx context.Context, who keys.Principal) (string, error) {
	if who.Integration == uuid.Nil {
		return Unnamed, nil
	}
	row, err := s.load(ctx, who.Integration, Filter{TenantID: &who.TenantID})
	return row.Product, err
}

// accept changes a row as the peer asks; it gives the secret where one had to be made.
func (s *Service) accept(row *dbgen.Integration, r Registration) (made string, err error) {
	now := s.Now()
	if made, err = s.acceptSecret(row, r.Secret); err != nil {
		return "", err
	}
	if r.Key != "" {
		if err := s.setRemoteKey(row, r.Key); err != nil {
			return "", err
		}
	}
	row.PeerWebhookUrl = r.WebhookURL
	if base, found := strings.CutSuffix(r.WebhookURL, webhookSuffix); found && (row.ApiUrl == "" || row.Handshake == 0) {
		row.ApiUrl = base
	}
	row.EventTypes = r.Events
	if r.Events == nil {
		row.EventTypes = []string{"*"}
	}
	if r.Features != nil {
		row.Features = r.Features
	}
	if r.ID != "" {
		row.PeerIntegrationID = &r.ID
	}
	row.PeerRegisteredAt, row.RevokedAt, row.UnauthorizedSince = &now, nil, nil
	if row.RegisterTries > 0 { // ours failed; now there is no need for it
		row.RegisterAt, row.RegisterTries, row.PendingKey, row.PendingKeyID = nil, 0, nil, nil
	}
	if row.Disabled {
		return made, nil
	}
	row.Status, row.LastError, row.Failures, row.Successes = Active, nil, 0, 0
	if row.ApiUrl != "" && len(row.RemoteKey) > 0 && row.RegisterAt == nil {
		row.NextProbeAt = s.nextProbe()
	}
	return made, nil
}

// acceptSecret takes the peer's secret. Where a handshake of ours is under way, or
// has only just ended, both sides connect at once: then one of the two secrets wins,
// the same one on either side, and the other is accepted for the overlap.
func (s *Service) acceptSecret(row *dbgen.Integration, secret string) (made string, err error) {
	now := s.Now()
	have, err := OpenSecrets(s.Box, *row)
	if err != nil {
		return "", err
	}
	if secret == "" {
		if have.current != "" {
			return "", nil
		}
		made = hub.NewWebhookSecret()
		secret = made
	}
	sealed := s.Box.Seal([]byte(secret), registry.IntegrationSecretContext(row.ID))
	until := new(now.Add(overlap))
	underWay := have.pending != "" && row.RegisterTries == 0
	justEnded := row.RegisteredAt != nil && now.Sub(*row.RegisteredAt) < simultaneous
	switch {
	case secret == have.current:
	case underWay && wins(have.pending, secret):
		// The peer signs with its own until ours, which is on its way, has won there.
		row.Secret = sealed
	case underWay:
		row.Secret, row.PreviousSecret, row.PreviousExpiresAt, row.PendingSecret = sealed, row.PendingSecret, until, nil
	case justEnded && have.current != "" && wins(have.current, secret):
		row.PreviousSecret, row.PreviousExpiresAt = sealed, until
	default:
		if have.current != "" {
			row.PreviousSecret, row.PreviousExpiresAt = row.Secret, until
		}
		row.Secret, row.PendingSecret = sealed, nil
	}
	return made, nil
}

// Unregister is the peer leaving: it sends nothing any more and wants nothing. A key
// that a handshake has replaced cannot end what the new one serves: it is refused
// like one that was revoked.
func (s *Service) Unregister(ctx context.Context, who keys.Principal) (Integration, error) {
	if who.Integration == uuid.Nil {
		return Integration{}, hub.Errorf(hub.ErrNotFound, "not_registered", "This key belongs to no integration.")
	}
	row, err := s.change(ctx, who.Integration, Filter{TenantID: &who.TenantID}, func(row *dbgen.Integration, queries *dbgen.Queries) error {
		key, err := queries.KeyByID(ctx, dbgen.KeyByIDParams{ID: who.KeyID, TenantID: who.TenantID, Environment: who.Environment})
		switch {
		case err != nil:
			return err
		case key.Superseded:
			return keys.Refused()
		case row.RevokedAt == nil:
			left(row, "The other product ended the connection.")
		}
		return nil
	})
	if err != nil {
		return Integration{}, err
	}
	return s.view(ctx, row)
}

// left ends an integration from the peer's side: neither knows the other's
// registration any more.
func left(row *dbgen.Integration, why string) {
	idle(row, why)
	row.RegisteredAt, row.PeerRegisteredAt = nil, nil
}

// idle makes an integration inactive: nothing is probed, retried or sent.
func idle(row *dbgen.Integration, why string) {
	row.Status, row.RegisterAt, row.NextProbeAt, row.LastError = Inactive, nil, nil, nil
	if why != "" {
		row.LastError = &why
	}
}

// change loads, changes and saves a row in one transaction.
func (s *Service) change(ctx context.Context, id uuid.UUID, reach Filter, how func(*dbgen.Integration, *dbgen.Queries) error) (dbgen.Integration, error) {
	if _, err := s.load(ctx, id, reach); err != nil {
		return dbgen.Integration{}, err
	}
	return s.changeTx(ctx, id, func(row *dbgen.Integration, tx pgx.Tx) error { return how(row, dbgen.New(tx)) })
}

func (s *Service) changeTx(ctx context.Context, id uuid.UUID, how func(*dbgen.Integration, pgx.Tx) error) (row dbgen.Integration, err error) {
	err = store.InTx(ctx, s.DB, func(tx pgx.Tx) error {
		queries := dbgen.New(tx)
		if row, err = queries.LockIntegration(ctx, id); err != nil {
			return err
		}
		if err = how(&row, tx); err != nil {
			return err
		}
		row, err = queries.SaveIntegration(ctx, saving(row))
		return err
	})
	return row, store.Failed("changing the integration", err)
}
