package connect

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/failpoint"
	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
)

// register registers with the peer and stores the outcome. A failure of the peer is no
// error but the integration's status, unless the peer is connected to another account:
// no retry changes that.
func (s *Service) register(ctx context.Context, i integration.Integration, localProduct string) (integration.Integration, error) {
	answer, peerErr, err := s.callRegister(ctx, i, localProduct)
	if err != nil {
		return i, err
	}
	if peerErr != nil {
		s.OnHandshakeFailed(localProduct, StepRegister)
	}
	failpoint.Here("handshake_registered")
	i, err = s.storeOutcome(ctx, i, localProduct, answer, peerErr)
	failpoint.Here("handshake_finished")
	if err == nil && isOtherAccount(peerErr) {
		err = peerErr
	}
	return i, err
}

// callRegister registers our webhook with the peer, with the pending secret and key. A peer
// whose connector has no such call is configured by people: that counts as a success.
func (s *Service) callRegister(ctx context.Context, i integration.Integration, localProduct string) (answer hub.RegistrationResponse, peerErr, err error) {
	registrar, ok := s.Connectors(i.Product).(hub.Registrar)
	if !ok {
		return hub.RegistrationResponse{}, nil, nil
	}
	c, secrets, err := s.connection(i, localProduct)
	if err != nil {
		return answer, nil, err
	}
	key, err := i.OpenPendingLocalKey(s.Box)
	if err != nil {
		return answer, nil, err
	}
	product, _ := s.Products(localProduct)
	secret := secrets.Pending
	if secret == "" {
		secret = secrets.Current
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, peerErr = registrar.Register(ctx, s.Client, c, hub.Registration{
		ID: i.ID, Product: localProduct, Environment: i.Environment, WebhookURL: i.WebhookURL, Secret: secret, Key: key,
		Events: product.Spec.Receives, Features: product.Spec.Features,
	})
	if peerErr == nil && answer.WebhookURL != "" {
		_, peerErr = s.URLs.CheckHTTPS("webhook_url of the response", answer.WebhookURL)
	}
	return answer, peerError(peerErr), nil
}

// storeOutcome stores the outcome of a registration. sent is the integration as the peer
// was notified of it.
func (s *Service) storeOutcome(ctx context.Context, sent integration.Integration, localProduct string, answer hub.RegistrationResponse, peerErr error) (i integration.Integration, err error) {
	hasRecovered := false
	err = store.InTx(ctx, s.DB, func(tx pgx.Tx) error {
		integrations := integration.NewRepository(tx)
		if i, err = integrations.Lock(ctx, sent.ID); err != nil {
			return err
		}
		now := s.Now()
		switch {
		case i.Disabled || i.RevokedAt != nil: // since the call began
			return nil
		case i.Handshake != sent.Handshake || i.Rotations != sent.Rotations:
			// Another process connected or rotated the secret concurrently. Which registration reached the peer
			// last is not known, so the peer is registered with once more.
			i.ScheduleRegistration(now)
		case isOtherAccount(peerErr):
			i.Disconnect(integration.FailureText(peerErr))
		case peerErr != nil && (s.isOutdated(sent, localProduct) || i.OverlapsSecrets(now)):
			i.PostponeRefresh(now.Add(retryDelay(i.RegistrationFailures + 1)))
		case peerErr != nil:
			i.FailRegistration(integration.FailureText(peerErr))
			i.ScheduleRegistration(now.Add(retryDelay(i.RegistrationFailures)))
		default:
			hasRecovered = i.Status == integration.StatusError
			if err := s.completeRegistration(ctx, dbgen.New(tx), &i, sent, localProduct, answer); err != nil {
				return err
			}
		}
		i, err = integrations.Save(ctx, i)
		return err
	})
	if err == nil && hasRecovered {
		s.OnRecovered(i.ID)
	}
	return i, store.Wrap("storing the registration", err)
}

// completeRegistration puts into force what the peer received with sent, and applies the
// peer's answer.
func (s *Service) completeRegistration(ctx context.Context, queries *dbgen.Queries, i *integration.Integration, sent integration.Integration, localProduct string, answer hub.RegistrationResponse) error {
	now := s.Now()
	if err := s.promotePendingSecret(i, sent); err != nil {
		return err
	}
	if i.PendingLocalKeyID != nil && sent.PendingLocalKeyID != nil && *i.PendingLocalKeyID == *sent.PendingLocalKeyID {
		err := queries.ExpireOtherKeys(ctx, dbgen.ExpireOtherKeysParams{Until: now.Add(overlap), IntegrationID: i.ID, Keep: *i.PendingLocalKeyID})
		if err != nil {
			return err
		}
		i.PendingLocalKey, i.PendingLocalKeyID = nil, nil
	}
	if answer.WebhookURL != "" {
		i.PeerWebhookURL = answer.WebhookURL
	}
	if answer.Features != nil {
		i.Features = validNames(answer.Features)
	}
	if id := validNames([]string{answer.IntegrationID}); len(id) == 1 && id[0] != "" {
		i.PeerIntegrationID = id[0]
	}
	// A registration that was scheduled since sent was stored stays due.
	if i.NextRegistrationAt != nil && sent.NextRegistrationAt != nil && i.NextRegistrationAt.Equal(*sent.NextRegistrationAt) {
		i.NextRegistrationAt = nil
	}
	product, _ := s.Products(localProduct)
	i.RegisteredEvents = append([]string{}, product.Spec.Receives...)
	i.CompleteRegistration(now, s.nextProbe())
	return nil
}

// reregister registers an integration again: in the background after a failure, or when
// an administrator enables it, or when the product receives other events than the peer knows.
// It issues a new key if the peer has the last one, but not for other events.
func (s *Service) reregister(ctx context.Context, id uuid.UUID) (i integration.Integration, err error) {
	i, err = s.integrations().Get(ctx, id, integration.Filter{})
	if err != nil {
		return i, err
	}
	tenant, err := s.loadTenant(ctx, i.TenantID)
	if err != nil {
		return i, err
	}
	product, hosted := s.Products(tenant.Product)
	if !hosted {
		return i, nil // the product is switched off: retried when it runs again
	}
	unlock, err := s.lockHandshake(ctx, i.Identity)
	if err != nil {
		return i, err
	}
	defer unlock()
	err = store.InTx(ctx, s.DB, func(tx pgx.Tx) error {
		integrations := integration.NewRepository(tx)
		if i, err = integrations.Lock(ctx, id); err != nil {
			return err
		}
		if !i.CanRegister() || len(i.PendingLocalKey) > 0 || s.isOutdated(i, tenant.Product) {
			return nil
		}
		if err := s.setPendingLocalKey(ctx, tx, product, &i, ""); err != nil {
			return err
		}
		i, err = integrations.Save(ctx, i)
		return err
	})
	if err != nil {
		return i, store.Wrap("preparing a registration", err)
	}
	if !i.CanRegister() {
		return i, nil
	}
	return s.register(context.WithoutCancel(ctx), i, tenant.Product)
}

// isOutdated reports whether an integration in use is registered for other events than its
// product receives, and nothing else about the registration changes.
func (s *Service) isOutdated(i integration.Integration, localProduct string) bool {
	product, _ := s.Products(localProduct)
	return i.Status == integration.StatusActive && i.RegisteredAt != nil && len(i.PendingSecret) == 0 && len(i.PendingLocalKey) == 0 &&
		(i.RegisteredEvents == nil || !slices.Equal(i.RegisteredEvents, product.Spec.Receives))
}

// ScheduleOutdated makes the registrations of integrations due whose peers know another list
// of events than their products receive: a newer version of the hub receives more. The peers
// go on working meanwhile.
func (s *Service) ScheduleOutdated(ctx context.Context) error {
	names, err := s.integrations().Products(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		product, hosted := s.Products(name)
		if !hosted {
			continue
		}
		count, err := s.integrations().ScheduleOutdatedRegistrations(ctx, name, product.Spec.Receives, s.Now())
		if err != nil {
			return err
		}
		if count > 0 {
			s.Log.Info("peers are registered with again: the product receives other events", "product", name, "integrations", count)
		}
	}
	return nil
}
