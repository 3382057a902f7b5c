package connect

import (
	"bytes"
	"context"
	"errors"
	"net"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/store/dbgen"
)

// How long both secrets of a rotation are valid.
const (
	DefaultOverlap = overlap
	MaxOverlap     = 7 * 24 * time.Hour
)

// RotateSecret replaces the webhook secret, registers it with the peer, and returns the new secret;
// it is never shown again. Both secrets are accepted until the overlap ends. If the peer
// cannot be notified nothing changes, and the error says why.
func (s *Service) RotateSecret(ctx context.Context, id uuid.UUID, filter integration.Filter, overlap time.Duration) (View, string, error) {
	if overlap < 0 || overlap > MaxOverlap {
		return View{}, "", hub.Invalid("body.overlap_seconds", "must be from 0 to 604800")
	}
	i, err := s.integrations().Get(ctx, id, filter)
	if err != nil {
		return View{}, "", err
	}
	unlock, err := s.lockHandshake(ctx, i.Identity)
	if err != nil {
		return View{}, "", err
	}
	defer unlock()
	tenant, err := s.loadTenant(ctx, i.TenantID)
	if err != nil {
		return View{}, "", err
	}
	product, _ := s.Products(tenant.Product)
	i, hasScheduled, err := s.beginRotation(ctx, product, id, overlap)
	if err != nil {
		return View{}, "", err
	}
	secrets, err := i.OpenSecrets(s.Box)
	if err != nil {
		return View{}, "", err
	}
	ctx = context.WithoutCancel(ctx)
	answer, peerErr := hub.RegistrationResponse{}, error(nil)
	if i.IsReachable() {
		if answer, peerErr, err = s.callRegister(ctx, i, tenant.Product); err != nil {
			return View{}, "", err
		}
	}
	if peerErr != nil {
		if err := s.undoRotation(ctx, i, hasScheduled, peerErr); err != nil {
			return View{}, "", err
		}
		return View{}, "", peerErr
	}
	if i, err = s.finishRotation(ctx, i, tenant.Product, answer); err != nil {
		return View{}, "", err
	}
	view, err := s.view(ctx, i)
	return view, secrets.Pending, err
}

// beginRotation stores the new secret as pending, and a new key if the peer can be called.
// hasScheduled reports whether it scheduled a registration: none was due.
func (s *Service) beginRotation(ctx context.Context, product Product, id uuid.UUID, overlap time.Duration) (i integration.Integration, hasScheduled bool, err error) {
	i, err = s.updateLocked(ctx, id, func(i *integration.Integration, tx pgx.Tx) error {
		if err := i.CanRotate(); err != nil {
			return err
		}
		earlier := i.PendingSecret
		if err := s.drawPendingSecret(i); err != nil {
			return err
		}
		if len(i.PendingSecret) == 0 {
			e := hub.Errorf(hub.ErrRateLimited, "rotated_too_often", "The secret was replaced too many times within seconds; try again a little later.")
			e.RetryAfter = settling
			return e
		}
		if len(earlier) > 0 { // the peer may have it
			i.PreviousSecret, i.PreviousSecretExpiresAt = earlier, new(s.Now().Add(DefaultOverlap))
		}
		i.Rotations++
		i.RotationOverlap = &overlap
		if !i.IsReachable() {
			return nil
		}
		if hasScheduled = i.NextRegistrationAt == nil; hasScheduled { // in case this process dies: another one completes the rotation
			i.ScheduleRegistration(s.Now().Add(firstRetry))
		}
		return s.setPendingLocalKey(ctx, tx, product, i, "")
	})
	return i, hasScheduled, err
}

// finishRotation puts into force what the peer received with sent, unless another process that
// registered with the peer meanwhile did so. If another handshake brought another secret since,
// the rotation fails and a registration is scheduled: the peer has to learn what is in force.
func (s *Service) finishRotation(ctx context.Context, sent integration.Integration, localProduct string, answer hub.RegistrationResponse) (integration.Integration, error) {
	isOvertaken := false
	i, err := s.update(ctx, sent.ID, integration.Filter{}, func(i *integration.Integration, tx pgx.Tx) error {
		isInForce, err := s.isInForce(i, sent)
		if err != nil {
			return err
		}
		if isOvertaken = !isInForce && !bytes.Equal(i.PendingSecret, sent.PendingSecret); isOvertaken {
			if i.RevokedAt == nil && !i.Disabled && i.IsReachable() {
				i.ScheduleRegistration(s.Now())
			}
			return nil
		}
		return s.completeRegistration(ctx, dbgen.New(tx), i, sent, localProduct, answer)
	})
	if err == nil && isOvertaken {
		err = hub.Errorf(hub.ErrConflict, "handshake_overtook", "The integration was connected anew meanwhile, with a secret of its own; try again.")
	}
	return i, err
}

// isInForce reports whether the secret that was pending when the peer was sent it is the current
// one.
func (s *Service) isInForce(i *integration.Integration, sent integration.Integration) (bool, error) {
	asked, err := sent.OpenSecrets(s.Box)
	if err != nil {
		return false, err
	}
	stored, err := i.OpenSecrets(s.Box)
	return asked.Pending != "" && stored.Current == asked.Pending, err
}

// undoRotation keeps what was in force before the rotation. Unless the peer refused the new
// secret, it may have stored it and failed to respond: the new secret stays acceptable as the
// previous one, and the peer is registered with again, with the secret in force. Else both sides
// would sign with different secrets once the overlap is over. A refusal withdraws the
// registration that the rotation scheduled, but no other: that one may be what heals an earlier
// rotation, or retries a failed registration.
func (s *Service) undoRotation(ctx context.Context, sent integration.Integration, hasScheduled bool, peerErr error) error {
	_, err := s.update(ctx, sent.ID, integration.Filter{}, func(i *integration.Integration, _ pgx.Tx) error {
		if i.PendingLocalKeyID == nil || sent.PendingLocalKeyID == nil || *i.PendingLocalKeyID != *sent.PendingLocalKeyID {
			return nil
		}
		if !hasRefused(peerErr) {
			i.PreviousSecret, i.PreviousSecretExpiresAt = i.PendingSecret, new(s.Now().Add(DefaultOverlap))
		} else if hasScheduled && i.NextRegistrationAt != nil && i.NextRegistrationAt.Equal(*sent.NextRegistrationAt) {
			i.NextRegistrationAt = nil
		}
		i.PendingSecret, i.PendingLocalKey, i.PendingLocalKeyID = nil, nil, nil
		return nil
	})
	return err
}

// hasRefused reports whether an error says that the peer did not do what it was asked: it refused
// it, or there was no connection.
func hasRefused(peerErr error) bool {
	var status hub.PeerHTTPStatus
	var dialling *net.OpError
	if errors.As(peerErr, &dialling) && dialling.Op == "dial" {
		return true
	}
	return errors.As(peerErr, &status) && status.Refused() || hub.HasCode(peerErr, hub.CodeKeyRejected) || hub.HasCode(peerErr, hub.CodePeerRateLimited)
}
