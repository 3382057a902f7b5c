package contactlinks

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"integrationhub/messaging/internal/store/dbgen"
)

const (
	maxBusy  = 8                // integrations that are asked at once
	askTime  = 10 * time.Second // of an integration, after which it waits for its next turn
	askPause = time.Second      // between two turns of an integration
	runTime  = 4 * time.Minute  // of the job, in which turns begin
)

// RunLimit is how long a run of the job may take: a turn may begin at the end of runTime, and a
// call of ten seconds at the end of the turn.
const RunLimit = runTime + askTime + 30*time.Second

// AskDue is a background job: it asks connected products about contacts whose events wait.
// Products are asked independently: one that is slow, or fails, delays no other.
func (s *Service) AskDue(ctx context.Context, _ []byte) error {
	r := run{service: s, end: time.Now().Add(runTime), turnEnded: make(map[uuid.UUID]time.Time), finished: make(chan uuid.UUID, maxBusy)}
	defer r.running.Wait()
	tick := time.NewTicker(askPause)
	defer tick.Stop()
	for {
		if err := r.startTurns(ctx); err != nil || r.busy == 0 {
			return err
		}
		select {
		case id := <-r.finished:
			r.busy--
			r.turnEnded[id] = time.Now()
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// run is one run of the job.
type run struct {
	service   *Service
	end       time.Time               // after which no turn begins
	turnEnded map[uuid.UUID]time.Time // when turns of integrations ended; zero: it is being asked
	busy      int                     // integrations that are being asked
	finished  chan uuid.UUID
	running   sync.WaitGroup
}

// startTurns starts a turn of each integration that contacts wait for, up to maxBusy at the same
// time.
func (r *run) startTurns(ctx context.Context) error {
	if r.busy == maxBusy || time.Now().After(r.end) {
		return nil
	}
	excluded, served := []uuid.UUID{}, []uuid.UUID{}
	for id, ended := range r.turnEnded {
		if ended.IsZero() || time.Since(ended) < askPause {
			excluded = append(excluded, id)
		} else {
			served = append(served, id)
		}
	}
	slices.SortFunc(served, func(a, b uuid.UUID) int { return r.turnEnded[a].Compare(r.turnEnded[b]) })
	rows, err := r.service.store.IntegrationsToAsk(ctx, dbgen.IntegrationsToAskParams{At: r.service.host.Now(), Excluded: excluded, Served: served, MaxRows: maxBusy - r.busy})
	if err != nil {
		return fmt.Errorf("finding integrations to ask: %w", err)
	}
	for _, row := range rows {
		r.turnEnded[row.IntegrationID] = time.Time{}
		r.busy++
		r.running.Go(func() {
			if err := r.service.askIntegration(ctx, row.CompanyID, row.IntegrationID); err != nil {
				r.service.host.Log.WarnContext(ctx, "events of a connected product wait", "company_id", row.CompanyID, "integration_id", row.IntegrationID, "error", err)
			}
			r.finished <- row.IntegrationID
		})
	}
	return nil
}
