package connect

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/store"
)

const probeInterval = time.Minute // plus or minus a tenth

// ProbeResult is the outcome of a health probe.
type ProbeResult struct {
	Integration View
	Peer        hub.Status
	Err         error // nil = the peer is healthy
	Duration    time.Duration
}

// nextProbe returns when an integration is probed next; random, so that probes spread.
func (s *Service) nextProbe() time.Time {
	return s.Now().Add(time.Duration(float64(probeInterval) * (0.9 + 0.2*s.Random())))
}

// Probe asks a peer's status now and records the outcome. An integration that is not in
// use, or not registered, is probed without changing its status. A peer whose address or
// key is unknown is a [hub.ErrConflict].
func (s *Service) Probe(ctx context.Context, id uuid.UUID, filter integration.Filter) (ProbeResult, error) {
	i, err := s.integrations().Get(ctx, id, filter)
	if err != nil {
		return ProbeResult{}, err
	}
	if !i.IsReachable() {
		return ProbeResult{}, hub.Errorf(hub.ErrConflict, "peer_not_known", "The hub cannot call the other product: it registered without its API address and key, or was revoked. Connect from this side: hub connect, or Connect in the console.")
	}
	tenant, err := s.loadTenant(ctx, i.TenantID)
	if err != nil {
		return ProbeResult{}, err
	}
	c, secrets, err := s.connection(i, tenant.Product)
	if err != nil {
		return ProbeResult{}, err
	}
	started := time.Now()
	var result ProbeResult
	result.Peer, result.Err = s.probe(ctx, c)
	if isKeyRejected(result.Err) && secrets.PreviousRemoteKey != "" {
		c.Key = secrets.PreviousRemoteKey
		if status, err := s.probe(ctx, c); err == nil {
			result.Peer, result.Err = status, nil
			if err := s.restoreRemoteKey(ctx, i); err != nil {
				return result, err
			}
		}
	}
	result.Duration = time.Since(started)
	if ctx.Err() != nil { // stopping: that is no fault of the peer
		return result, store.Wrap("probing", ctx.Err())
	}
	if i, err = s.recordProbe(ctx, i, result); err != nil {
		return result, err
	}
	result.Integration, err = s.view(ctx, i)
	return result, err
}

// restoreRemoteKey makes the peer's previous key the current one: the peer refuses the
// newer one. probed is the integration as it was probed.
func (s *Service) restoreRemoteKey(ctx context.Context, probed integration.Integration) error {
	_, err := s.update(ctx, probed.ID, integration.Filter{}, func(i *integration.Integration, tx pgx.Tx) error {
		if !bytes.Equal(i.RemoteKey, probed.RemoteKey) {
			return nil
		}
		i.RemoteKey, i.PreviousRemoteKey = i.PreviousRemoteKey, i.RemoteKey
		secrets, err := i.OpenSecrets(s.Box)
		if err != nil {
			return err
		}
		i.IsLink, err = isLinkKey(ctx, tx, secrets.RemoteKey)
		return err
	})
	return err
}

// recordProbe stores a probe's outcome, unless a handshake or a revocation changed the
// integration since it was probed.
func (s *Service) recordProbe(ctx context.Context, probed integration.Integration, result ProbeResult) (i integration.Integration, err error) {
	hasRecovered := false
	err = store.InTx(ctx, s.DB, func(tx pgx.Tx) error {
		integrations := integration.NewRepository(tx)
		if i, err = integrations.Lock(ctx, probed.ID); err != nil {
			return err
		}
		if i.Handshake != probed.Handshake || i.RevokedAt != nil {
			return nil
		}
		statusBefore, featuresBefore := i.Status, i.Features
		var features []string
		if result.Peer.Features != nil {
			features = validNames(result.Peer.Features)
		}
		i.RecordProbe(s.Now(), features, result.Err)
		if account := accountOf(result.Peer); account != "" && bytes.Equal(i.RemoteKey, probed.RemoteKey) {
			i.PeerAccount = account
		}
		hasRecovered = statusBefore == integration.StatusError && i.Status == integration.StatusActive
		return integrations.SaveProbe(ctx, i, i.Status != statusBefore || !slices.Equal(i.Features, featuresBefore))
	})
	if err == nil && hasRecovered {
		s.OnRecovered(i.ID)
	}
	return i, store.Wrap("recording the probe", err)
}
