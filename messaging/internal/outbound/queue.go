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
	batchPause = time.Second      // between a connection's batches, but for turns of an interval
	turnMargin = time.Millisecond // after a turn, so that it has come by the database's clock
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
	run := sendRun{service: s, end: time.Now().Add(runTime), served: make(map[int64]servedConnection), finished: make(chan endedBatch, maxBusy)}
	defer run.running.Wait()
	tick := time.NewTicker(batchPause)
	defer tick.Stop()
	for {
		now := time.Now()
		if err := run.startBatches(ctx, now); err != nil {
			return err
		}
		turn, isComing := run.nextTurn(now)
		if run.busy == 0 && !isComing {
			return nil
		}
		wake := time.NewTimer(time.Until(turn))
		if !isComing { // at the end of the run the timer would wake it again and again, while batches end
			wake.Stop()
		}
		select {
		case batch := <-run.finished:
			run.busy--
			run.served[batch.connectionID] = servedConnection{ended: time.Now(), turn: batch.turn}
		case <-wake.C:
		case <-tick.C:
		case <-ctx.Done():
			wake.Stop()
			return ctx.Err()
		}
		wake.Stop()
	}
}

// sendRun is one run of the job.
type sendRun struct {
	service  *Service
	end      time.Time                  // after which no batch begins
	served   map[int64]servedConnection // in this run
	busy     int                        // batches that are being sent
	finished chan endedBatch
	running  sync.WaitGroup
}

// servedConnection is a connection that a batch of the run was of.
type servedConnection struct {
	isBusy bool      // a batch is being sent
	ended  time.Time // the last batch
	turn   time.Time // of its next message, as in [endedBatch]
}

// mayFollow reports whether another batch may begin: after a pause, or when a turn has come.
func (c servedConnection) mayFollow(now time.Time) bool {
	return !c.isBusy && (now.Sub(c.ended) >= batchPause || !c.turn.IsZero() && !c.turn.After(now))
}

// endedBatch is a batch that has been sent.
type endedBatch struct {
	connectionID int64
	turn         time.Time // of the next message, on a connection with an interval; zero: none waits
}

// nextTurn returns when the next turn comes that the run waits for. Without one, turn is the end of
// the run. Turns that have come are forgotten: batches have begun, or the ticks look again.
func (r *sendRun) nextTurn(now time.Time) (turn time.Time, isComing bool) {
	turn = r.end
	for id, connection := range r.served {
		switch {
		case connection.turn.IsZero():
		case !connection.turn.After(now):
			connection.turn = time.Time{}
			r.served[id] = connection
		case connection.turn.Before(turn):
			turn, isComing = connection.turn, true
		}
	}
	return turn, isComing
}

// startBatches starts a batch of each connection that has due messages, up to maxBusy at
// the same time. Connections take turns, so that a backlog of one does not hold up others.
func (r *sendRun) startBatches(ctx context.Context, now time.Time) error {
	if r.busy == maxBusy || now.After(r.end) {
		return nil
	}
	excluded, served := []int64{}, []int64{}
	for id, connection := range r.served {
		if connection.mayFollow(now) {
			served = append(served, id)
		} else {
			excluded = append(excluded, id)
		}
	}
	slices.SortFunc(served, func(a, b int64) int { return r.served[a].ended.Compare(r.served[b].ended) })
	at := r.service.host.Now()
	suspended, err := r.service.store.SuspendedCompanies(ctx)
	if err != nil {
		return err
	}
	connections, err := r.service.store.ConnectionsToSend(ctx, dbgen.ConnectionsToSendParams{At: at, Expired: at.Add(-giveUpAfter), Excluded: excluded, Suspended: suspended, Served: served, MaxRows: maxBusy - r.busy, Clock: r.service.store.PaceClock()})
	if err != nil {
		return fmt.Errorf("finding messages to send: %w", err)
	}
	for _, connection := range connections {
		r.served[connection.ConnectionID] = servedConnection{isBusy: true}
		r.busy++
		r.running.Go(func() {
			batch := endedBatch{connectionID: connection.ConnectionID}
			_, err := r.service.store.OwnConnection(ctx, connection.CompanyID, connection.ConnectionID, func(ctx context.Context) (err error) {
				batch.turn, err = r.service.sendBatch(ctx, connection.CompanyID, connection.ConnectionID)
				return err
			})
			if err != nil {
				r.service.host.Log.WarnContext(ctx, "messages of a connection wait", "connection_id", connection.ConnectionID, "error", err)
			}
			r.finished <- batch
		})
	}
	return nil
}

// sendBatch sends the next messages of a connection, in their order. It ends early when the
// connection is not connected any more. turn is that of [Service.sendPaced].
func (s *Service) sendBatch(ctx context.Context, companyID, connectionID int64) (turn time.Time, err error) {
	company, err := s.store.Company(ctx, companyID)
	if err != nil {
		return turn, fmt.Errorf("loading the company: %w", err)
	}
	connection, err := s.store.Connection(ctx, companyID, connectionID)
	if err != nil {
		return turn, fmt.Errorf("loading the connection: %w", err)
	}
	scope, end := store.Scope{Company: company.ID, Tenant: company.TenantID}, time.Now().Add(batchTime)
	// A claim takes the first message of each chat: the next one follows when that is sent.
	for sent := 0; sent < batchSize; {
		now := s.host.Now()
		entries, err := s.store.ClaimOutbox(ctx, dbgen.ClaimOutboxParams{
			CompanyID: companyID, ConnectionID: connectionID, At: now, Until: now.Add(leaseTime), Expired: now.Add(-giveUpAfter), MaxRows: batchSize - sent, OnlyUrgent: connection.SendIntervalMS > 0,
		})
		if err != nil {
			return turn, fmt.Errorf("claiming messages: %w", err)
		}
		if len(entries) == 0 {
			break
		}
		slices.SortFunc(entries, compareEntries)
		for i, entry := range entries {
			if ctx.Err() != nil || time.Now().After(end) {
				return turn, s.Release(ctx, entries[i:])
			}
			if _, err := s.sendLeased(ctx, scope, entry); err != nil {
				return turn, errors.Join(err, s.Release(ctx, entries[i+1:])) // it may have been sent: its lease has to end
			}
		}
		sent += len(entries)
	}
	if connection.SendIntervalMS == 0 {
		return turn, nil
	}
	return s.sendPaced(ctx, scope, connection)
}

// sendPaced sends messages of programs on a connection with an interval: one, or what follows
// within pacedTime where the interval is short. turn is when the next one may follow: the pause
// between batches would come on top of the interval. It is zero if none waits, or none can be sent.
func (s *Service) sendPaced(ctx context.Context, scope store.Scope, connection store.Connection) (turn time.Time, err error) {
	for end := time.Now().Add(pacedTime); ctx.Err() == nil; {
		entry, err := s.store.ClaimPaced(ctx, connection, s.host.Now().Add(leaseTime), s.host.Now().Add(-giveUpAfter))
		if err != nil {
			return turn, err
		}
		if entry != nil {
			if _, err := s.sendLeased(ctx, scope, *entry); err != nil {
				return turn, err
			}
		}
		wait, isWaiting, err := s.store.TimeToPaceTurn(ctx, connection)
		switch next := time.Now().Add(wait); {
		case err != nil || !isWaiting || wait <= 0 && entry == nil:
			return turn, err
		case next.After(end):
			return next.Add(turnMargin), nil
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	return turn, ctx.Err()
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
