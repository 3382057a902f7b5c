package connect

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
)

const (
	probeEvery    = time.Minute    // give or take a tenth
	failuresLimit = 3              // in a row, until an active integration is in error
	successesTill = 2              // in a row, until one in error is active
	refusedTooFar = 24 * time.Hour // of a refused key: then the integration is given up
)

// Checked is what a probe found.
type Checked struct {
	Integration Integration
	Peer        hub.Status
	Trouble     error // nil: the peer is well
	Took        time.Duration
}

// Run tries registrations and probes again as they come due, until ctx ends.
func (s *Service) Run(ctx context.Context) {
	tick := time.NewTicker(roundEvery)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			err := s.Round(ctx)
			if err != nil && !failing && ctx.Err() == nil {
				s.Log.Warn("looking after integrations failed; trying again", "error", err)
			}
			failing = err != nil
		}
	}
}

// Round does what is due now and waits for it.
func (s *Service) Round(ctx context.Context) error {
	for {
		registrations, err := s.registrations(ctx)
		if err != nil {
			return err
		}
		now := s.Now()
		probes, err := dbgen.New(s.DB).ClaimProbes(ctx, dbgen.ClaimProbesParams{Until: *s.nextProbe(), At: now, RowLimit: roundSize})
		if err != nil {
			return store.Failed("claiming probes", err)
		}
		var work sync.WaitGroup
		for _, id := range registrations {
			work.Go(func() {
				if _, err := s.again(ctx, id); err != nil && ctx.Err() == nil {
					s.Log.Warn("registering with a peer again failed", "integration_id", id, "error", err)
				}
			})
		}
		for _, id := range probes {
			work.Go(func() {
				if _, err := s.Check(ctx, id, Filter{}); err != nil && ctx.Err() == nil {
					s.Log.Warn("recording a probe failed", "integration_id", id, "error", err)
				}
			})
		}
		work.Wait()
		if len(registrations) < roundSize && len(probes) < roundSize {
			return nil
		}
	}
}

// Check probes a peer now and records what was found. An integration that is not in
// use, or not registered, is probed all the same; its status does not change.
func (s *Service) Check(ctx context.Context, id uuid.UUID, reach Filter) (Checked, error) {
	row, err := s.load(ctx, id, reach)
	if err != nil {
		return Checked{}, err
	}
	if row.ApiUrl == "" || len(row.RemoteKey) == 0 {
		return Checked{}, hub.Errorf(hub.ErrConflict, "peer_not_known", "The other product never said where it is called, or with which key.")
	}
	tenant, err := dbgen.New(s.DB).TenantByID(ctx, row.TenantID)
	if err != nil {
		return Checked{}, store.Failed("loading the tenant", err)
	}
	c, secrets, err := s.connection(row, tenant.Product)
	if err != nil {
		return Checked{}, err
	}
	began := time.Now()
	var found Checked
	found.Peer, found.Trouble = s.ask(ctx, c)
	if keyRejected(found.Trouble) && secrets.previousKey != "" {
		c.Key = secrets.previousKey
		if status, err := s.ask(ctx, c); err == nil {
			found.Peer, found.Trouble = status, nil
			if err := s.takeBackKey(ctx, row); err != nil {
				return found, err
			}
		}
	}
	found.Took = time.Since(began)
	if ctx.Err() != nil { // stopping: that is no fault of the peer
		return found, store.Failed("probing", ctx.Err())
	}
	if row, err = s.record(ctx, row, found); err != nil {
		return found, err
	}
	found.Integration, err = s.view(ctx, row)
	return found, err
}

// takeBackKey makes the peer's former key the current one: the peer refuses the newer.
func (s *Service) takeBackKey(ctx context.Context, asked dbgen.Integration) error {
	_, err := s.change(ctx, asked.ID, Filter{}, func(row *dbgen.Integration, _ *dbgen.Queries) error {
		if bytes.Equal(row.RemoteKey, asked.RemoteKey) {
			row.RemoteKey, row.PreviousRemoteKey = row.PreviousRemoteKey, row.RemoteKey
		}
		return nil
	})
	return err
}

// record applies a probe to the row as it is now.
func (s *Service) record(ctx context.Context, asked dbgen.Integration, found Checked) (row dbgen.Integration, err error) {
	recovered := false
	err = store.InTx(ctx, s.DB, func(tx pgx.Tx) error {
		queries := dbgen.New(tx)
		if row, err = queries.LockIntegration(ctx, asked.ID); err != nil {
			return err
		}
		if row.Handshake != asked.Handshake || row.RevokedAt != nil {
			return nil
		}
		before, known := row.Status, row.Features
		row.LastHealthCheck = new(s.Now())
		if row.RegisterAt == nil && row.Status != Inactive {
			s.judge(&row, found)
		}
		if account := accountOf(found.Peer); account != nil && bytes.Equal(row.RemoteKey, asked.RemoteKey) {
			row.PeerAccount = account
		}
		recovered = before == Error && row.Status == Active
		if row.Status == before && slices.Equal(row.Features, known) {
			return queries.RecordProbe(ctx, dbgen.RecordProbeParams{
				ID: row.ID, At: *row.LastHealthCheck, Failures: row.Failures, Successes: row.Successes,
				UnauthorizedSince: row.UnauthorizedSince, LastError: row.LastError, NextProbeAt: row.NextProbeAt, PeerAccount: row.PeerAccount,
			})
		}
		return queries.ChangeHealth(ctx, dbgen.ChangeHealthParams{
			ID: row.ID, Status: row.Status, Features: row.Features, At: *row.LastHealthCheck, Failures: row.Failures, Successes: row.Successes,
			UnauthorizedSince: row.UnauthorizedSince, LastError: row.LastError, NextProbeAt: row.NextProbeAt, PeerAccount: row.PeerAccount,
		})
	})
	if err == nil && recovered {
		s.Recovered(row.ID)
	}
	return row, store.Failed("recording the probe", err)
}

// judge turns one probe into the next status.
func (s *Service) judge(row *dbgen.Integration, found Checked) {
	now := s.Now()
	if found.Trouble == nil {
		row.Failures, row.UnauthorizedSince = 0, nil
		if found.Peer.Features != nil {
			row.Features = cleaned(found.Peer.Features)
		}
		if row.Status == Active {
			row.LastError = nil
			return
		}
		if row.Successes++; row.Successes >= successesTill {
			row.Status, row.Successes, row.LastError = Active, 0, nil
		}
		return
	}
	if limited(found.Trouble) { // busy is not ill
		return
	}
	row.Failures++
	row.Successes = 0
	row.LastError = new(reason(found.Trouble))
	if !keyRejected(found.Trouble) {
		if row.Status == Active && row.Failures >= failuresLimit {
			row.Status = Error
		}
		return
	}
	if row.UnauthorizedSince == nil {
		row.UnauthorizedSince = &now
	}
	row.Status = Error
	if now.Sub(*row.UnauthorizedSince) >= refusedTooFar {
		row.Status, row.NextProbeAt = Inactive, nil
	}
}

func keyRejected(err error) bool { return codeOf(err) == hub.CodeKeyRejected }

func limited(err error) bool { return codeOf(err) == hub.CodePeerRateLimited }

func codeOf(err error) string {
	var told *hub.Error
	if errors.As(err, &told) {
		return told.Code
	}
	return ""
}
