package maintain

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"integrationhub/hub"
	"integrationhub/hub/internal/ledger/query"
)

// Bounds of counting, before a job and without one. A count reads as much of the log as its
// caller names, on the connections that drains, replays, erasures and alerts need as well.
const (
	maxCounts       = 2 // at once in a process; the pool has 10 connections
	countPatience   = 10 * time.Second
	maxCountTime    = 10 * time.Second
	maxCountCost    = 10_000_000 // steps of a filter, about a second
	countRetryAfter = 2 * time.Second
	jobRetryAfter   = 30 * time.Second
)

// countLimits are the bounds of one count.
type countLimits struct {
	time time.Duration
	cost uint64 // of an endpoint's filter over all events, in the units of CEL
}

// countGate lets few counts of a process run at once: one of each tenant, one of the operators.
type countGate struct {
	places    chan struct{}
	operators chan struct{}
	patience  time.Duration // for which others are waited for

	mu      sync.Mutex
	tenants map[uuid.UUID]bool // that count now
}

func newCountGate() *countGate {
	return &countGate{
		places: make(chan struct{}, maxCounts), operators: make(chan struct{}, 1), patience: countPatience, tenants: make(map[uuid.UUID]bool),
	}
}

// enter waits until a count of an owner may run, and returns the function that ends it. A
// tenant's second count is a [hub.ErrRateLimited] at once; operators wait for each other.
// Nobody that waits holds a connection.
func (g *countGate) enter(ctx context.Context, owner query.Owner) (leave func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, g.patience)
	defer cancel()
	leaveOwn, err := g.enterOwn(ctx, owner)
	if err != nil {
		return nil, err
	}
	if !take(ctx, g.places) {
		leaveOwn()
		return nil, errCountsUnderWay()
	}
	return func() { <-g.places; leaveOwn() }, nil
}

// enterOwn keeps an owner's other counts out.
func (g *countGate) enterOwn(ctx context.Context, owner query.Owner) (leave func(), err error) {
	if owner.TenantID == nil {
		if !take(ctx, g.operators) {
			return nil, errCountsUnderWay()
		}
		return func() { <-g.operators }, nil
	}
	tenant := *owner.TenantID
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tenants[tenant] {
		refusal := hub.Errorf(hub.ErrRateLimited, "too_many_replays", "This tenant already counts what a replay or a recovery would send; wait for its result.")
		refusal.RetryAfter = countRetryAfter
		return nil, refusal
	}
	g.tenants[tenant] = true
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.tenants, tenant)
	}, nil
}

// take takes a place of a semaphore, first come, first served; false: ctx ended before.
func take(ctx context.Context, places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func errCountsUnderWay() *hub.Error {
	refusal := hub.Errorf(hub.ErrRateLimited, "too_many_replays", "Others count what replays and recoveries would send; try again.")
	refusal.RetryAfter = countRetryAfter
	return refusal
}

// requireRoom refuses another job of a tenant that has as many running as it may. Operators have
// no limit.
func requireRoom(ctx context.Context, tx pgx.Tx, owner query.Owner) error {
	if owner.TenantID == nil {
		return nil
	}
	if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended('hub.replays/' || $1::uuid::text, 0))`, owner.TenantID); err != nil {
		return fmt.Errorf("waiting for the tenant's other replays: %w", err)
	}
	var running int
	if err := tx.QueryRow(ctx, `select count(*) from hub.replays where status = 'running' and tenant_id = $1`, owner.TenantID).Scan(&running); err != nil {
		return fmt.Errorf("counting running replays: %w", err)
	}
	if running >= maxTenantReplays {
		refusal := hub.Errorf(hub.ErrRateLimited, "too_many_replays", "This tenant has %d replays and recoveries running; wait for one of them, or cancel it.", running)
		refusal.RetryAfter = jobRetryAfter
		return refusal
	}
	return nil
}

// maxTenantReplays is how many jobs of a tenant's keys run at once: each reads the log step by
// step, beside those of all others.
const maxTenantReplays = 5

var errRangeTooLarge = hub.Errorf(hub.ErrInvalid, "range_too_large", "There are too many events in this time to be counted; choose a later since or an earlier until.")

// boundStatements makes each later statement of a transaction fail that takes longer than a
// time.
func boundStatements(ctx context.Context, tx pgx.Tx, limit time.Duration) error {
	milliseconds := strconv.FormatInt(max(1, limit.Milliseconds()), 10)
	if _, err := tx.Exec(ctx, `select set_config('statement_timeout', $1, true)`, milliseconds); err != nil {
		return fmt.Errorf("bounding the time of a count: %w", err)
	}
	return nil
}

// countError returns [errRangeTooLarge] for a count that was stopped because it took too long.
func countError(what string, err error) error {
	const queryCancelled = "57014"
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errRangeTooLarge), errors.As(err, &pg) && pg.Code == queryCancelled:
		return errRangeTooLarge
	}
	return fmt.Errorf("counting %s: %w", what, err)
}
