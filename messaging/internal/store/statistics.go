package store

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"integrationhub/hub/module"
)

// StatisticsJob is the name of the job that collects the planner's statistics.
const StatisticsJob = "statistics"

// ticketCounter counts the tickets that this process has created.
type ticketCounter struct{ tickets atomic.Int64 }

// analyzeAfter are the numbers of new tickets after which the statistics are collected.
var analyzeAfter = []int64{500, 5_000}

// countTickets counts new tickets. Until PostgreSQL's autovacuum has analyzed the tables, which takes
// a minute, it plans statements as if they were empty: each message then reads every ticket of
// the company. So the statistics are collected after the first 500 and 5,000 tickets.
func (t *Tx) countTickets(ctx context.Context, created int) error {
	count := t.ticketCounter.tickets.Add(int64(created))
	isDue := func(limit int64) bool { return count >= limit && count-int64(created) < limit }
	if !slices.ContainsFunc(analyzeAfter, isDue) {
		return nil
	}
	if err := t.Host.Jobs.Enqueue(ctx, t.Raw, module.JobRun{Job: StatisticsJob, Key: StatisticsJob}); err != nil {
		return fmt.Errorf("having statistics collected: %w", err)
	}
	return nil
}

// CollectStatistics is a background job: it collects the planner's statistics of the tables
// that grow with messages.
func (s *Store) CollectStatistics(ctx context.Context, _ []byte) error {
	if _, err := s.host.Pool.Exec(ctx, `analyze (skip_locked) contacts, tickets, messages, ticket_words, outbox, sandbox_messages`); err != nil {
		return fmt.Errorf("collecting statistics: %w", err)
	}
	return nil
}
