package outbound

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"integrationhub/messaging/internal/store"
	"integrationhub/messaging/internal/store/dbgen"
)

const (
	batchSize  = 50               // messages of a connection that are sent in a second, at most
	batchTime  = 10 * time.Second // after which the rest of a batch is left to the next one
	maxBusy    = 8                // connections that messages are sent on at the same time
	pacedTime  = 2 * time.Second  // of a batch, for messages of programs on a connection with a short interval
	batchPause = time.Second      // between a connection's batches
	runTime    = 20 * time.Second // of the job, in which batches begin
)

// RunLimit is how long a run of the job may take: a batch may begin at the end of runTime, and a
// call at the end of each of its two parts.
const RunLimit = runTime + batchTime + pacedTime + 2*CallLimit

// SendDue is the background job of this package: it sends the messages that are due on the
// connections that this process owns or that nobody owns. Connections send independently, so
// that a slow network holds up its own messages only. Each sends at most 50 messages a second,
// so that a backlog does not come in one burst.
func (s *Service) SendDue(ctx context.Context, _ []byte) error {
	run := sendRun{service: s, end: time.Now().Add(runTime), batchEnded: make(map[int64]time.Time), finished: make(chan int64, maxBusy)}
	defer run.running.Wait()
	tick := time.NewTicker(batchPause)
	defer tick.Stop()
	for {
		if err := run.startBatches(ctx); err != nil || run.busy == 0 {
			return err
		}
		select {
		case id := <-run.finished:
			run.busy--
			run.batchEnded[id] = time.Now()
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// sendRun is one run of the job.
type sendRun struct {
	service    *Service
	end        time.Time           // after which no batch begins
	batchEnded map[int64]time.Time // when batches of connections ended; zero: one is being sent
	busy       int                 // batches that are being sent
	finished   chan int64          // connections
	running    sync.WaitGroup
}

// startBatches starts a batch of each connection that has due messages, up to maxBusy at
// the same time. Connections take turns, so that a backlog of one does not hold up others.
func (r *sendRun) startBatches(ctx context.Context) error {
	if r.busy == maxBusy || time.Now().After(r.end) {
		return nil
	}
	excluded, served := []int64{}, []int64{}
	for id, ended := range r.batchEnded {
		if ended.IsZero() || time.Since(ended) < batchPause {
			excluded = append(excluded, id)
		} else {
			served = append(served, id)
		}
	}
	slices.SortFunc(served, func(a, b int64) int { return r.batchEnded[a].Compare(r.batchEnded[b]) })
	now := r.service.host.Now()
	suspended, err := r.service.store.SuspendedCompanies(ctx)
	if err != nil {
		return err
	}
	connections, err := r.service.store.ConnectionsToSend(ctx, dbgen.ConnectionsToSendParams{At: now, Expired: now.Add(-giveUpAfter), Excluded: excluded, Suspended: suspended, Served: served, MaxRows: maxBusy - r.busy, Clock: r.service.store.PaceClock()})
	if err != nil {
		return fmt.Errorf("finding messages to send: %w", err)
	}
	for _, connection := range connections {
		r.batchEnded[connection.ConnectionID] = time.Time{}
		r.busy++
		r.running.Go(func() {
			_, err := r.service.store.OwnConnection(ctx, connection.CompanyID, connection.ConnectionID, func(ctx context.Context) error {
				return r.service.sendBatch(ctx, connection.CompanyID, connection.ConnectionID)
			})
			if err != nil {
				r.service.host.Log.WarnContext(ctx, "messages of a connection wait", "connection_id", connection.ConnectionID, "error", err)
			}
			r.finished <- connection.ConnectionID
		})
	}
	return nil
}

// sendBatch sends the next messages of a connection, in their order. It ends early when the
// connection is not connected any more.
func (s *Service) sendBatch(ctx context.Context, companyID, connectionID int64) error {
	company, err := s.store.Company(ctx, companyID)
	if err != nil {
		return fmt.Errorf("loading the company: %w", err)
	}
	connection, err := s.store.Connection(ctx, companyID, connectionID)
	if err != nil {
		return fmt.Errorf("loading the connection: %w", err)
	}
	scope, end := store.Scope{Company: company.ID, Tenant: company.TenantID}, time.Now().Add(batchTime)
	// A claim takes the first message of each chat: the next one follows when that is sent.
	for sent := 0; sent < batchSize; {
		now := s.host.Now()
		entries, err := s.store.ClaimOutbox(ctx, dbgen.ClaimOutboxParams{
			CompanyID: companyID, ConnectionID: connectionID, At: now, Until: now.Add(leaseTime), Expired: now.Add(-giveUpAfter), MaxRows: batchSize - sent, OnlyUrgent: connection.SendIntervalMS > 0,
		})
		if err != nil {
			return fmt.Errorf("claiming messages: %w", err)
		}
		if len(entries) == 0 {
			break
		}
		slices.SortFunc(entries, compareEntries)
		for i, entry := range entries {
			if ctx.Err() != nil || time.Now().After(end) {
				return s.Release(ctx, entries[i:])
			}
			if _, err := s.sendLeased(ctx, scope, entry); err != nil {
				return errors.Join(err, s.Release(ctx, entries[i+1:])) // it may have been sent: its lease has to end
			}
		}
		sent += len(entries)
	}
	if connection.SendIntervalMS == 0 {
		return nil
	}
	return s.sendPaced(ctx, scope, connection)
}

// sendPaced sends messages of programs on a connection with an interval: one, or what follows
// within pacedTime where the interval is short.
func (s *Service) sendPaced(ctx context.Context, scope store.Scope, connection store.Connection) error {
	for end := time.Now().Add(pacedTime); ctx.Err() == nil; {
		entry, err := s.store.ClaimPaced(ctx, connection, s.host.Now().Add(leaseTime), s.host.Now().Add(-giveUpAfter))
		if err != nil {
			return err
		}
		if entry != nil {
			if _, err := s.sendLeased(ctx, scope, *entry); err != nil {
				return err
			}
		}
		wait, isWaiting, err := s.store.TimeToPaceTurn(ctx, connection)
		if err != nil || !isWaiting || time.Now().Add(wait).After(end) || wait <= 0 && entry == nil {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// compareEntries orders messages: urgent ones first, then the oldest.
func compareEntries(a, b store.OutboxEntry) int {
	if a.IsUrgent != b.IsUrgent {
		if a.IsUrgent {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.Seq, b.Seq)
}

// Release ends the leases of a company's messages that were not tried, also while the hub is
// stopping: they wait in the outbox for the job.
func (s *Service) Release(ctx context.Context, entries []store.OutboxEntry) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseTime)
	defer cancel()
	return s.release(ctx, s.store.Queries, entries)
}

// release ends the leases of a company's messages that were not tried, and returns their turns.
func (s *Service) release(ctx context.Context, queries *dbgen.Queries, entries []store.OutboxEntry) error {
	if len(entries) == 0 {
		return nil
	}
	ids := make([]string, len(entries))
	for i, entry := range entries {
		ids[i] = entry.MessageID
	}
	err := queries.ReleaseOutboxEntries(ctx, dbgen.ReleaseOutboxEntriesParams{CompanyID: entries[0].CompanyID, Messages: ids, LeasedUntil: *entries[0].LeasedUntil, Clock: s.store.PaceClock()})
	if err != nil {
		return fmt.Errorf("returning messages to the outbox: %w", err)
	}
	return nil
}
