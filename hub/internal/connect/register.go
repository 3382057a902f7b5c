package connect

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/failpoint"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"

	"integrationhub/hub/internal/registry"
)

// register is the fourth and fifth step: the peer is told where we receive, and what
// came of it is stored. Trouble with the peer is no error but the row's status, unless
// the peer is connected to another account: no other try will change that.
func (s *Service) register(ctx context.Context, row dbgen.Integration, own string) (dbgen.Integration, error) {
	answer, trouble, err := s.tell(ctx, row, own)
	if err != nil {
		return row, err
	}
	if trouble != nil {
		s.Failed(own, StepRegister)
	}
	failpoint.Here("handshake_registered")
	row, err = s.finish(ctx, row, answer, trouble)
	failpoint.Here("handshake_finished")
	if err == nil && takenThere(trouble) {
		err = trouble
	}
	return row, err
}

// tell makes the call. Peers that cannot be told are configured by people.
func (s *Service) tell(ctx context.Context, row dbgen.Integration, own string) (answer hub.RegistrationResponse, trouble, err error) {
	registrar, ok := s.Connectors(row.Product).(hub.Registrar)
	if !ok {
		return hub.RegistrationResponse{}, nil, nil
	}
	c, secrets, err := s.connection(row, own)
	if err != nil {
		return answer, nil, err
	}
	key, err := s.Box.Open(row.PendingKey, registry.LocalKeyContext(row.ID))
	if err != nil {
		return answer, nil, err
	}
	hosted, _ := s.Products(own)
	secret := secrets.pending
	if secret == "" {
		secret = secrets.current
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, trouble = registrar.Register(ctx, s.Do, c, hub.Registration{
		ID: row.ID, Product: own, Environment: row.Environment, WebhookURL: row.WebhookUrl, Secret: secret, Key: string(key),
		Events: hosted.Spec.Receives, Features: hosted.Spec.Features,
	})
	if trouble == nil && answer.WebhookURL != "" {
		_, trouble = s.URLs.CheckHTTPS("webhook_url of the answer", answer.WebhookURL)
	}
	return answer, peerTrouble(trouble), nil
}

// finish stores the outcome of a registration. sent is the row as the peer was told
// of it.
func (s *Service) finish(ctx context.Context, sent dbgen.Integration, answer hub.RegistrationResponse, trouble error) (row dbgen.Integration, err error) {
	recovered := false
	err = store.InTx(ctx, s.DB, func(tx pgx.Tx) error {
		queries := dbgen.New(tx)
		if row, err = queries.LockIntegration(ctx, sent.ID); err != nil {
			return err
		}
		now := s.Now()
		switch {
		case row.Disabled || row.RevokedAt != nil: // meanwhile
			return nil
		case row.Handshake != sent.Handshake:
			// Another process connected meanwhile. Whose registration reached the peer
			// last is not known: tell it once more what is in force now.
			row.RegisterAt = &now
		case takenThere(trouble):
			left(&row, reason(trouble))
		case trouble != nil:
			row.Status, row.LastError, row.NextProbeAt = Error, new(reason(trouble)), nil
			row.RegisterTries++
			row.RegisterAt = new(now.Add(retryAfter(row.RegisterTries)))
		default:
			recovered = row.Status == Error
			if err := s.registered(ctx, queries, &row, sent, answer); err != nil {
				return err
			}
		}
		row, err = queries.SaveIntegration(ctx, saving(row))
		return err
	})
	if err == nil && recovered {
		s.Recovered(row.ID)
	}
	return row, store.Failed("storing the registration", err)
}

// registered puts into force what the peer knows now.
func (s *Service) registered(ctx context.Context, queries *dbgen.Queries, row *dbgen.Integration, sent dbgen.Integration, answer hub.RegistrationResponse) error {
	now := s.Now()
	if err := s.promoteSecret(row, sent); err != nil {
		return err
	}
	if row.PendingKeyID != nil && sent.PendingKeyID != nil && *row.PendingKeyID == *sent.PendingKeyID {
		err := queries.EndOtherKeys(ctx, dbgen.EndOtherKeysParams{Until: now.Add(overlap), IntegrationID: row.ID, Keep: *row.PendingKeyID})
		if err != nil {
			return err
		}
		row.PendingKey, row.PendingKeyID = nil, nil
	}
	if answer.WebhookURL != "" {
		row.PeerWebhookUrl = answer.WebhookURL
	}
	if answer.Features != nil {
		row.Features = cleaned(answer.Features)
	}
	if id := cleaned([]string{answer.IntegrationID}); len(id) == 1 && id[0] != "" {
		row.PeerIntegrationID = &id[0]
	}
	// A try that somebody else asked for meanwhile is left standing.
	if row.RegisterAt != nil && sent.RegisterAt != nil && row.RegisterAt.Equal(*sent.RegisterAt) {
		row.RegisterAt = nil
	}
	row.Status, row.LastError, row.RegisterTries, row.RegisteredAt = Active, nil, 0, &now
	row.Failures, row.Successes, row.UnauthorizedSince, row.NextProbeAt = 0, 0, nil, s.nextProbe()
	return nil
}

// promoteSecret makes the secret that the peer was told the current one, unless the
// peer's own has won meanwhile.
func (s *Service) promoteSecret(row *dbgen.Integration, sent dbgen.Integration) error {
	mine, err := OpenSecrets(s.Box, sent)
	if err != nil {
		return err
	}
	now, err := OpenSecrets(s.Box, *row)
	if err != nil || now.pending == "" || now.pending != mine.pending {
		return err
	}
	if now.current != "" && now.current != now.pending {
		row.PreviousSecret, row.PreviousExpiresAt = row.Secret, new(s.Now().Add(overlap))
	}
	row.Secret, row.PendingSecret = row.PendingSecret, nil
	return nil
}

// again registers an integration anew: in the background after a failure, or when
// an administrator enables it. It makes a new key where the last one was delivered.
func (s *Service) again(ctx context.Context, id uuid.UUID) (row dbgen.Integration, err error) {
	row, err = s.load(ctx, id, Filter{})
	if err != nil {
		return row, err
	}
	tenant, err := dbgen.New(s.DB).TenantByID(ctx, row.TenantID)
	if err != nil {
		return row, store.Failed("loading the tenant", err)
	}
	own, hosted := s.Products(tenant.Product)
	if !hosted {
		return row, nil // switched off: tried again when it is back
	}
	release, err := s.turn(ctx, row.TenantID, row.Environment, row.Product)
	if err != nil {
		return row, err
	}
	defer release()
	err = store.InTx(ctx, s.DB, func(tx pgx.Tx) error {
		queries := dbgen.New(tx)
		if row, err = queries.LockIntegration(ctx, id); err != nil {
			return err
		}
		if row.RegisterAt == nil || row.Disabled || row.RevokedAt != nil || len(row.PendingKey) > 0 {
			return nil
		}
		if err := s.renewKey(ctx, tx, own, &row, ""); err != nil {
			return err
		}
		row, err = queries.SaveIntegration(ctx, saving(row))
		return err
	})
	if err != nil {
		return row, store.Failed("preparing a registration", err)
	}
	if row.RegisterAt == nil || row.Disabled || row.RevokedAt != nil {
		return row, nil
	}
	return s.register(context.WithoutCancel(ctx), row, tenant.Product)
}

// reason is what people are told of a failure.
func reason(err error) string {
	var told *hub.Error
	if errors.As(err, &told) {
		return told.Detail
	}
	return "The other product did not answer as documented."
}

// registrations tries those that are due again.
func (s *Service) registrations(ctx context.Context) ([]uuid.UUID, error) {
	now := s.Now()
	ids, err := dbgen.New(s.DB).ClaimRegistrations(ctx, dbgen.ClaimRegistrationsParams{
		Until: now.Add(retryFirst), At: now, RowLimit: roundSize,
	})
	return ids, store.Failed("claiming registrations", err)
}
