package campaigns

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/messaging/internal/outbound"
	"integrationhub/messaging/internal/store"
	"integrationhub/messaging/internal/store/dbgen"
)

const (
	maxBusy         = 8                // companies whose campaigns send at the same time
	concurrentSends = 4                // messages of a campaign that are sent at once
	batchTime       = 10 * time.Second // after which the rest of a batch is left to the outbox's job
	runTime         = 20 * time.Second // of the job, in which batches begin
	pollInterval    = time.Second      // between two looks for campaigns that have become due
	failurePause    = time.Second      // until a campaign is tried again that failed, or that another process holds
)

// RunLimit is how long a run of the job may take: a batch may begin at the end of runTime, and
// calls at the end of the batch.
const RunLimit = runTime + batchTime + outbound.CallLimit

// SendDue is the background job of this package: it starts the scheduled campaigns that are
// due, and sends the messages of running ones. One campaign of a company sends at a time, and
// companies take turns: a slow network or a campaign that fails does not hold up those of others.
func (s *Service) SendDue(ctx context.Context, _ []byte) error {
	r := run{service: s, end: time.Now().Add(runTime), busy: make(map[int64]bool), paused: make(map[int64]time.Time), finished: make(chan endedBatch, maxBusy)}
	defer r.running.Wait()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if err := r.startBatches(ctx); err != nil || len(r.busy) == 0 {
			return err
		}
		select {
		case ended := <-r.finished:
			if delete(r.busy, ended.CompanyID); !ended.isClaimed {
				r.paused[ended.CampaignID] = time.Now().Add(failurePause)
			}
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// run is one run of the job.
type run struct {
	service  *Service
	end      time.Time           // after which no batch begins
	busy     map[int64]bool      // companies
	paused   map[int64]time.Time // campaigns, until when
	finished chan endedBatch
	running  sync.WaitGroup
}

// endedBatch is a batch of a campaign that has been sent, or could not be written.
type endedBatch struct {
	dbgen.DueCampaignsRow
	isClaimed bool
}

// startBatches starts a batch of campaigns that are due, of as many companies as may send at the
// same time.
func (r *run) startBatches(ctx context.Context) error {
	now := time.Now()
	if len(r.busy) == maxBusy || now.After(r.end) {
		return nil
	}
	maps.DeleteFunc(r.paused, func(_ int64, until time.Time) bool { return now.After(until) })
	if err := r.startScheduled(ctx); err != nil {
		return err
	}
	suspended, err := r.service.store.SuspendedCompanies(ctx)
	if err != nil {
		return err
	}
	due, err := r.service.store.DueCampaigns(ctx, dbgen.DueCampaignsParams{
		At: r.service.host.Now(), ExcludedCompanies: slices.AppendSeq(suspended, maps.Keys(r.busy)), Excluded: r.pausedIDs(), MaxRows: maxBusy - len(r.busy),
	})
	if err != nil {
		return fmt.Errorf("finding campaigns to send: %w", err)
	}
	for _, campaign := range due {
		r.busy[campaign.CompanyID] = true
		r.running.Go(func() {
			isClaimed, err := r.service.sendNext(ctx, campaign)
			if err != nil {
				r.service.host.Log.WarnContext(ctx, "a campaign waits", "campaign_id", campaign.CampaignID, "error", err)
			}
			r.finished <- endedBatch{campaign, isClaimed}
		})
	}
	return nil
}

func (r *run) pausedIDs() []int64 { return slices.AppendSeq([]int64{}, maps.Keys(r.paused)) }

// startScheduled starts the scheduled campaigns that are due.
func (r *run) startScheduled(ctx context.Context) error {
	for isFound := true; isFound && ctx.Err() == nil; {
		var campaign store.Campaign
		err := r.service.store.InTx(ctx, "starting a scheduled campaign", func(tx *store.Tx) error {
			var err error
			campaign, err = tx.DueScheduledCampaign(ctx, tx.Now(), r.pausedIDs())
			if isFound = err == nil; errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
			if err != nil {
				return err
			}
			return tx.StartCampaign(ctx, campaign)
		})
		if err != nil {
			if campaign.ID == 0 {
				return err
			}
			r.service.host.Log.WarnContext(ctx, "a scheduled campaign waits", "campaign_id", campaign.ID, "error", err)
			r.paused[campaign.ID] = time.Now().Add(failurePause)
		}
	}
	return nil
}

// sendNext writes and sends the next messages of a campaign. isClaimed is false if they could
// not be written, because the campaign is not due any more, or another process holds it.
func (s *Service) sendNext(ctx context.Context, due dbgen.DueCampaignsRow) (isClaimed bool, err error) {
	var b *batch
	err = s.store.InTx(ctx, "writing a campaign's messages", func(tx *store.Tx) error {
		b = &batch{tx: tx}
		if b.campaign, isClaimed, err = tx.ClaimCampaign(ctx, due.CompanyID, due.CampaignID); err != nil || !isClaimed {
			return err
		}
		return b.write(ctx)
	})
	if err != nil || !isClaimed {
		return false, err
	}
	return true, s.send(ctx, b.scope, b.entries)
}

// send sends messages, several at once. What fails now, or is not begun within batchTime, is
// sent by the outbox's job.
func (s *Service) send(ctx context.Context, scope store.Scope, entries []store.OutboxEntry) error {
	entries = slices.DeleteFunc(entries, func(entry store.OutboxEntry) bool { return entry.LeasedUntil == nil })
	queue := make(chan store.OutboxEntry, len(entries))
	for _, entry := range entries {
		queue <- entry
	}
	close(queue)
	var workers sync.WaitGroup
	for range min(concurrentSends, len(entries)) {
		workers.Go(func() {
			for entry := range queue {
				if _, err := s.outbound.Send(ctx, scope, entry); err != nil {
					s.host.Log.WarnContext(ctx, "a campaign's message waits in the outbox", "message_id", entry.MessageID, "error", err)
				}
			}
		})
	}
	ended := make(chan struct{})
	defer func() { <-ended }()
	go func() {
		workers.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(batchTime):
	case <-ctx.Done():
	}
	var rest []store.OutboxEntry
	for entry := range queue {
		rest = append(rest, entry)
	}
	return s.outbound.Release(ctx, rest)
}
