// Package maintain maintains the delivery log and sends deliveries again: partitions and
// retention, rollups of the statistics, draining of parked deliveries, replays, requeueing.
// It imports packages query and ledger.
package maintain

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	rollUpInterval       = 5 * time.Second
	retentionInterval    = 10 * time.Minute
	daysAhead            = 7
	idRetention          = 45 * 24 * time.Hour  // of ids and idempotency keys; at least as long as events
	fineRetention        = 35 * 24 * time.Hour  // of statistics by minute
	coarseRetention      = 400 * 24 * time.Hour // of statistics by half hour
	deleteBatch          = 5000
	orderingKeyRetention = 24 * time.Hour      // of keys that nothing waits for
	knownLoginRetention  = 90 * 24 * time.Hour // of the addresses that an account logged in from
	traceRetention       = 60 * 24 * time.Hour // of what an erasure that could not be carried out was to look for
	failBatch            = 5000                // deliveries that one statement fails
	partitionsLock       = 7240913
)

// Maintenance creates and drops partitions, rolls up statistics, deletes old rows, fails
// deliveries that were parked for too long, and abandons what is not in use for as long.
type Maintenance struct {
	pool        *pgxpool.Pool
	log         *slog.Logger
	now         func() time.Time
	retention   time.Duration
	countFailed FailureCounter

	auditRetention time.Duration // 0: the audit log is kept
	isBounded      bool          // nothing is too old by this process's clock alone
	lockedFor      time.Duration // longestLocked

	thinned   map[string]uuid.UUID // by day: the last event of which what is settled was deleted
	thinUntil time.Time            // end of the run

	onAbandoned func(targets int) // nil: not counted
}

// FailureCounter counts deliveries of a product that failed without an attempt.
type FailureCounter func(product string, deliveries int)

// NewMaintenance returns the maintenance job; retention is how long payloads,
// deliveries and attempts are kept.
func NewMaintenance(pool *pgxpool.Pool, log *slog.Logger, now func() time.Time, retention time.Duration, countFailed FailureCounter) *Maintenance {
	return &Maintenance{pool: pool, log: log, now: now, retention: retention, countFailed: countFailed, lockedFor: longestLocked, thinned: make(map[string]uuid.UUID)}
}

// OnAbandoned makes the job call count with the number of endpoints and integrations
// that stopped collecting.
func (m *Maintenance) OnAbandoned(count func(targets int)) *Maintenance {
	m.onAbandoned = count
	return m
}

// WithAuditRetention sets how long the audit log is kept: the job drops the months that ended
// before that.
func (m *Maintenance) WithAuditRetention(retention time.Duration) *Maintenance {
	m.auditRetention = retention
	return m
}

// BoundedByDatabase makes the job end nothing before it is too old by the database's clock too.
// Where the process's clock is the real one, this belongs to it.
func (m *Maintenance) BoundedByDatabase() *Maintenance {
	m.isBounded = true
	return m
}

// Run works until ctx ends. Every process may run it: advisory locks keep work from running
// twice at once.
func (m *Maintenance) Run(ctx context.Context) {
	rollUp, retention := time.NewTicker(rollUpInterval), time.NewTicker(retentionInterval)
	defer rollUp.Stop()
	defer retention.Stop()
	m.logError(ctx, m.EnforceRetention(ctx))
	for {
		select {
		case <-ctx.Done():
			return
		case <-rollUp.C:
			m.logError(ctx, m.RollUp(ctx))
		case <-retention.C:
			m.logError(ctx, m.EnforceRetention(ctx))
		}
	}
}

func (m *Maintenance) logError(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		m.log.Warn("maintenance failed; trying again later", "error", err)
	}
}

// RollUp adds all deltas to the statistics.
func (m *Maintenance) RollUp(ctx context.Context) error {
	for {
		more, err := m.rollUpOnce(ctx)
		if err != nil || !more {
			return err
		}
	}
}
