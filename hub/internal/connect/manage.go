package connect

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
)

// Revoke ends an integration from our side. Its keys and secrets stop working at once,
// and the peer is notified if it can be called. Revoking it again changes nothing.
func (s *Service) Revoke(ctx context.Context, id uuid.UUID, filter integration.Filter) (View, error) {
	before, err := s.integrations().Get(ctx, id, filter)
	if err != nil {
		return View{}, err
	}
	tenant, err := s.loadTenant(ctx, before.TenantID)
	if err != nil {
		return View{}, err
	}
	isFirst := false
	i, err := s.update(ctx, id, filter, func(i *integration.Integration, tx pgx.Tx) error {
		if isFirst = i.RevokedAt == nil; !isFirst {
			return nil
		}
		now := s.Now()
		before = *i
		i.Revoke(now)
		return dbgen.New(tx).RevokeIntegrationKeys(ctx, now, id)
	})
	if err != nil {
		return View{}, err
	}
	if isFirst {
		s.callUnregister(context.WithoutCancel(ctx), before, tenant.Product)
	}
	return s.view(ctx, i)
}

// callUnregister notifies the peer that the integration ended. A peer that cannot be notified
// finds out when its key is refused.
func (s *Service) callUnregister(ctx context.Context, i integration.Integration, localProduct string) {
	registrar, ok := s.Connectors(i.Product).(hub.Registrar)
	if !ok || !i.IsReachable() {
		return
	}
	c, secrets, err := s.connection(i, localProduct)
	if err == nil {
		bounded, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		err = registrar.Unregister(bounded, s.Client, c)
		if isKeyRejected(err) && secrets.PreviousRemoteKey != "" { // after crossing handshakes the peer may know only this one
			c.Key = secrets.PreviousRemoteKey
			err = registrar.Unregister(bounded, s.Client, c)
		}
	}
	if err != nil {
		s.Log.InfoContext(ctx, "the peer was not notified that the integration ended", "integration_id", i.ID, "error", err)
	}
}

// Disable stops an integration until it is enabled or connected: nothing is sent, and
// what the peer sends is refused. The peer is not notified and cannot enable it.
func (s *Service) Disable(ctx context.Context, id uuid.UUID, filter integration.Filter) (View, error) {
	i, err := s.update(ctx, id, filter, func(i *integration.Integration, _ pgx.Tx) error { return i.Disable() })
	if err != nil {
		return View{}, err
	}
	return s.view(ctx, i)
}

// SetOrdered sets whether the peer gets the events of one ordering key one at a time, and
// reports whether that changed. A revoked integration is a [hub.ErrConflict].
func (s *Service) SetOrdered(ctx context.Context, id uuid.UUID, ordered bool) (view View, changed bool, err error) {
	var i integration.Integration
	err = store.InTx(ctx, s.DB, func(tx pgx.Tx) error {
		integrations := integration.NewRepository(tx)
		if i, err = integrations.Lock(ctx, id); err != nil {
			return err
		}
		if changed, err = i.SetOrdered(ordered); err != nil || !changed {
			return err
		}
		i, err = integrations.SaveOrdered(ctx, i)
		return err
	})
	if err != nil {
		return View{}, false, store.Wrap("changing the integration", err)
	}
	view, err = s.view(ctx, i)
	return view, changed, err
}

// Enable puts an integration back into use. The peer is registered with again, and the
// outcome is the integration's status, as after a connect.
func (s *Service) Enable(ctx context.Context, id uuid.UUID, filter integration.Filter) (View, error) {
	i, err := s.update(ctx, id, filter, func(i *integration.Integration, _ pgx.Tx) error {
		mustRegister, err := i.Enable(s.Now().Add(firstRetry))
		if err != nil || !mustRegister {
			return err
		}
		return s.setPendingSecret(i)
	})
	if err == nil && i.NextRegistrationAt != nil {
		i, err = s.reregister(ctx, id)
	}
	if err != nil {
		return View{}, err
	}
	return s.view(ctx, i)
}

// Call makes a search or an action at the peer of a tenant's integration. product is the
// tenant's; an integration of another product's tenant is a [hub.ErrNotFound].
func (s *Service) Call(ctx context.Context, id uuid.UUID, product string, call hub.Call) (json.RawMessage, error) {
	i, err := s.integrations().Get(ctx, id, integration.Filter{})
	if err != nil {
		return nil, err
	}
	tenant, err := dbgen.New(s.DB).TenantOfProduct(ctx, i.TenantID, product)
	if err != nil {
		return nil, store.Wrap("loading the integration", err)
	}
	if err := i.CanCall(); err != nil {
		return nil, err
	}
	caller, ok := s.Connectors(i.Product).(hub.PeerCaller)
	if !ok {
		return nil, hub.Errorf(hub.ErrInvalid, "unknown_call", "The connector for %s supports neither searches nor actions.", i.Product)
	}
	c, _, err := s.connection(i, tenant.Product)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err := caller.Call(ctx, s.Client, c, call)
	return answer, peerError(err)
}
