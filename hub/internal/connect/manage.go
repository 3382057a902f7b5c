package connect

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
)

// How long two secrets are valid together when one is rotated.
const (
	DefaultOverlap = overlap
	MaxOverlap     = 7 * 24 * time.Hour
)

// Revoke ends an integration: its keys and secrets are worth nothing from now on, and
// the peer is told where it can be reached. Revoking it again changes nothing.
func (s *Service) Revoke(ctx context.Context, id uuid.UUID, reach Filter) (Integration, error) {
	before, err := s.load(ctx, id, reach)
	if err != nil {
		return Integration{}, err
	}
	tenant, err := dbgen.New(s.DB).TenantByID(ctx, before.TenantID)
	if err != nil {
		return Integration{}, store.Failed("loading the tenant", err)
	}
	first := false
	row, err := s.change(ctx, id, reach, func(row *dbgen.Integration, queries *dbgen.Queries) error {
		if first = row.RevokedAt == nil; !first {
			return nil
		}
		now := s.Now()
		before = *row
		idle(row, "")
		row.RevokedAt = &now
		row.Secret, row.PreviousSecret, row.PreviousExpiresAt, row.PendingSecret = nil, nil, nil, nil
		row.RemoteKey, row.PreviousRemoteKey = nil, nil
		row.PendingKey, row.PendingKeyID = nil, nil
		row.RegisteredAt, row.PeerRegisteredAt = nil, nil
		return queries.RevokeKeysOf(ctx, now, id)
	})
	if err != nil {
		return Integration{}, err
	}
	if first {
		s.leave(context.WithoutCancel(ctx), before, tenant.Product)
	}
	return s.view(ctx, row)
}

// leave tells the peer that the integration has ended. A peer that cannot be told
// finds out when its key is refused.
func (s *Service) leave(ctx context.Context, row dbgen.Integration, own string) {
	registrar, ok := s.Connectors(row.Product).(hub.Registrar)
	if !ok || row.ApiUrl == "" || len(row.RemoteKey) == 0 {
		return
	}
	c, secrets, err := s.connection(row, own)
	if err == nil {
		limited, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		err = registrar.Unregister(limited, s.Do, c)
		if keyRejected(err) && secrets.previousKey != "" { // where two handshakes crossed, that one may count there
			c.Key = secrets.previousKey
			err = registrar.Unregister(limited, s.Do, c)
		}
	}
	if err != nil {
		s.Log.InfoContext(ctx, "the peer was not told that the integration ended", "integration_id", row.ID, "error", err)
	}
}

// Disable stops an integration until it is enabled: nothing is sent, what comes is
// refused. The peer is not told, and cannot change it.
func (s *Service) Disable(ctx context.Context, id uuid.UUID, reach Filter) (Integration, error) {
	row, err := s.change(ctx, id, reach, func(row *dbgen.Integration, _ *dbgen.Queries) error {
		if row.RevokedAt != nil {
			return revoked()
		}
		row.Disabled = true
		idle(row, "")
		return nil
	})
	if err != nil {
		return Integration{}, err
	}
	return s.view(ctx, row)
}

func revoked() *hub.Error {
	return hub.Errorf(hub.ErrConflict, "integration_revoked", "This integration was revoked; connect again instead.")
}

// Enable takes an integration into use again: the peer is registered with anew, and
// the outcome is the integration's status, as after a connect.
func (s *Service) Enable(ctx context.Context, id uuid.UUID, reach Filter) (Integration, error) {
	row, err := s.change(ctx, id, reach, func(row *dbgen.Integration, _ *dbgen.Queries) error {
		switch {
		case row.RevokedAt != nil:
			return revoked()
		case row.Status == Active:
			return nil
		}
		row.Disabled, row.LastError, row.UnauthorizedSince = false, nil, nil
		if !reachable(*row) { // the peer cannot be spoken to, only listened to
			row.Status = Active
			return nil
		}
		row.RegisterAt, row.RegisterTries = new(s.Now().Add(retryFirst)), 0
		return s.renewSecret(row)
	})
	if err == nil && row.RegisterAt != nil {
		row, err = s.again(ctx, id)
	}
	if err != nil {
		return Integration{}, err
	}
	return s.view(ctx, row)
}

// RotateSecret makes a new webhook secret, tells the peer, and returns it, the only
// time that people see it. Until the overlap ends both are accepted. Where the peer
// cannot be told nothing changes, and the error says why.
func (s *Service) RotateSecret(ctx context.Context, id uuid.UUID, reach Filter, until time.Duration) (Integration, string, error) {
	if until < 0 || until > MaxOverlap {
		return Integration{}, "", hub.Invalid("body.overlap_seconds", "must be from 0 to 604800")
	}
	row, err := s.load(ctx, id, reach)
	if err != nil {
		return Integration{}, "", err
	}
	release, err := s.turn(ctx, row.TenantID, row.Environment, row.Product)
	if err != nil {
		return Integration{}, "", err
	}
	defer release()
	tenant, err := dbgen.New(s.DB).TenantByID(ctx, row.TenantID)
	if err != nil {
		return Integration{}, "", store.Failed("loading the tenant", err)
	}
	own, _ := s.Products(tenant.Product)
	if row, err = s.beginRotation(ctx, own, id); err != nil {
		return Integration{}, "", err
	}
	secrets, err := OpenSecrets(s.Box, row)
	if err != nil {
		return Integration{}, "", err
	}
	ctx = context.WithoutCancel(ctx)
	answer, trouble := hub.RegistrationResponse{}, error(nil)
	if reachable(row) {
		if answer, trouble, err = s.tell(ctx, row, tenant.Product); err != nil {
			return Integration{}, "", err
		}
	}
	if trouble != nil {
		return Integration{}, "", s.undoRotation(ctx, id, row, trouble)
	}
	if row, err = s.finishRotation(ctx, row, answer, until); err != nil {
		return Integration{}, "", err
	}
	view, err := s.view(ctx, row)
	return view, secrets.pending, err
}

// reachable tells whether the peer can be called.
func reachable(row dbgen.Integration) bool { return row.ApiUrl != "" && len(row.RemoteKey) > 0 }

// beginRotation makes the secret, and the key where the peer can be told of it.
func (s *Service) beginRotation(ctx context.Context, own Product, id uuid.UUID) (dbgen.Integration, error) {
	return s.changeTx(ctx, id, func(row *dbgen.Integration, tx pgx.Tx) error {
		switch {
		case row.RevokedAt != nil:
			return revoked()
		case row.Disabled || row.Status == Inactive:
			return hub.Errorf(hub.ErrConflict, "integration_inactive", "This integration is not in use; enable it first.")
		}
		if err := s.drawPending(row); err != nil {
			return err
		}
		if len(row.PendingSecret) == 0 {
			e := hub.Errorf(hub.ErrRateLimited, "rotated_too_often", "The secret was replaced too many times within seconds; try again a little later.")
			e.RetryAfter = settling
			return e
		}
		if !reachable(*row) {
			return nil
		}
		return s.renewKey(ctx, tx, own, row, "")
	})
}

// finishRotation puts into force what the peer was told. Where a handshake of another
// process, or of the peer, brought another secret meanwhile, the peer is told once
// more what is in force, and the rotation has failed.
func (s *Service) finishRotation(ctx context.Context, sent dbgen.Integration, answer hub.RegistrationResponse, until time.Duration) (dbgen.Integration, error) {
	overtaken := false
	row, err := s.change(ctx, sent.ID, Filter{}, func(row *dbgen.Integration, queries *dbgen.Queries) error {
		if overtaken = !bytes.Equal(row.PendingSecret, sent.PendingSecret); overtaken {
			if row.RevokedAt == nil && !row.Disabled && reachable(*row) {
				row.RegisterAt = new(s.Now())
			}
			return nil
		}
		if err := s.registered(ctx, queries, row, sent, answer); err != nil {
			return err
		}
		if row.PreviousExpiresAt != nil {
			row.PreviousExpiresAt = new(s.Now().Add(until))
		}
		return nil
	})
	if err == nil && overtaken {
		err = hub.Errorf(hub.ErrConflict, "handshake_overtook", "The integration was connected anew meanwhile, with a secret of its own; try again.")
	}
	return row, err
}

// undoRotation leaves what was in force. The new secret stays acceptable as the
// previous one: the peer may have taken it and failed to say so.
func (s *Service) undoRotation(ctx context.Context, id uuid.UUID, sent dbgen.Integration, trouble error) error {
	_, err := s.change(ctx, id, Filter{}, func(row *dbgen.Integration, queries *dbgen.Queries) error {
		if row.PendingKeyID == nil || sent.PendingKeyID == nil || *row.PendingKeyID != *sent.PendingKeyID {
			return nil
		}
		row.PreviousSecret, row.PreviousExpiresAt, row.PendingSecret = row.PendingSecret, new(s.Now().Add(overlap)), nil
		row.PendingKey, row.PendingKeyID = nil, nil
		return nil
	})
	if err != nil {
		return err
	}
	return trouble
}

// LinkRequest asks to connect two tenants that both live in this hub.
type LinkRequest struct {
	TenantID    uuid.UUID
	PeerID      uuid.UUID // the other tenant
	Environment hub.Environment
	Uses        []string
}

// Link issues a key of the other tenant and runs the ordinary handshake with it, over
// HTTP. It returns both sides' integrations, the first tenant's first. Where either is
// connected to another account of the other's product, nothing is changed.
func (s *Service) Link(ctx context.Context, r LinkRequest) ([2]Integration, error) {
	var both [2]Integration
	queries := dbgen.New(s.DB)
	mine, err := queries.TenantByID(ctx, r.TenantID)
	if err != nil {
		return both, store.Failed("loading the tenant", err)
	}
	other, err := queries.TenantByID(ctx, r.PeerID)
	if err != nil {
		return both, store.Failed("loading the other tenant", err)
	}
	peer, hosted := s.Products(other.Product)
	if !hosted {
		return both, hub.Errorf(hub.ErrInvalid, "product_not_hosted", "Only tenants of products that this hub runs can be linked; connect the others.")
	}
	for _, side := range [][2]dbgen.Tenant{{mine, other}, {other, mine}} {
		if err := s.freeFor(ctx, side[0], side[1], r.Environment); err != nil {
			return both, err
		}
	}
	key, plain, err := s.Keys.Create(ctx, keys.Draft{TenantID: other.ID, Name: mine.Product, Environment: r.Environment, ForPeer: true})
	if err != nil {
		return both, err
	}
	both[0], err = s.Connect(ctx, Request{
		TenantID: mine.ID, OwnProduct: mine.Product, Environment: r.Environment, Product: other.Product, Key: plain,
		APIURL: peer.apiURL(), Uses: r.Uses,
	})
	if err != nil {
		if _, dropping := s.Keys.Revoke(context.WithoutCancel(ctx), key.ID); dropping != nil {
			s.Log.WarnContext(ctx, "a key made for a link that failed was not revoked", "key_id", key.ID, "error", dropping)
		}
		return both, err
	}
	theirs, err := s.List(ctx, Filter{TenantID: &other.ID, Environment: r.Environment, Product: mine.Product}, nil, 1)
	if err == nil && len(theirs) == 1 {
		both[1] = theirs[0]
	}
	return both, err
}

// Call makes a search or an action at the peer of a tenant's integration.
func (s *Service) Call(ctx context.Context, id uuid.UUID, product string, call hub.Call) (json.RawMessage, error) {
	row, err := s.load(ctx, id, Filter{})
	if err != nil {
		return nil, err
	}
	tenant, err := dbgen.New(s.DB).TenantOfProduct(ctx, row.TenantID, product)
	if err != nil {
		return nil, store.Failed("loading the integration", err)
	}
	if row.Status == Inactive {
		return nil, hub.Errorf(hub.ErrConflict, "integration_inactive", "This integration is not in use.")
	}
	actor, ok := s.Connectors(row.Product).(hub.Actor)
	if !ok {
		return nil, hub.Errorf(hub.ErrInvalid, "unknown_call", "%s cannot be asked.", row.Product)
	}
	c, _, err := s.connection(row, tenant.Product)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err := actor.Act(ctx, s.Do, c, call)
	return answer, peerTrouble(err)
}
