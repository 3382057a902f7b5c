package filter

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
)

// storeInterval is how often the counts of errors are stored, and storeTimeout how long that
// may take when the process stops.
const (
	storeInterval = time.Second
	storeTimeout  = 3 * time.Second
)

// Errors counts the events that filters could not be evaluated for, by endpoint. They are
// stored together, one row for each endpoint and not one for each event. It is safe for
// concurrent use.
type Errors struct {
	pool *pgxpool.Pool
	log  *slog.Logger
	now  func() time.Time

	mu     sync.Mutex
	counts map[uuid.UUID]*errorCount
}

// errorCount is what is not stored yet of one endpoint.
type errorCount struct {
	filter string // that failed; a count of an earlier filter is dropped
	count  int64
	last   string
	at     time.Time
}

// NewErrors returns a counter that stores in pool while [Errors.Run] runs.
func NewErrors(pool *pgxpool.Pool, log *slog.Logger, now func() time.Time) *Errors {
	return &Errors{pool: pool, log: log, now: now, counts: make(map[uuid.UUID]*errorCount)}
}

// Count counts one event that an endpoint's filter could not be evaluated for.
func (e *Errors) Count(endpoint uuid.UUID, f *Filter, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.counts[endpoint]
	if c == nil || c.filter != f.text {
		c = &errorCount{filter: f.text}
		e.counts[endpoint] = c
	}
	c.count++
	c.last, c.at = err.Error(), e.now()
}

// Run stores the counts every second until ctx ends, and then once more.
func (e *Errors) Run(ctx context.Context) {
	ticker := time.NewTicker(storeInterval)
	defer ticker.Stop()
	isFailing := false
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
			defer cancel()
			if err := e.store(last); err != nil {
				e.log.Warn("storing the errors of filters failed; the last ones are not counted", "error", err)
			}
			return
		case <-ticker.C:
			err := e.store(ctx)
			if err != nil && !isFailing && ctx.Err() == nil {
				e.log.Warn("storing the errors of filters failed; trying again", "error", err)
			}
			isFailing = err != nil
		}
	}
}

// store adds what was counted to what is stored. After an error the next call stores it.
func (e *Errors) store(ctx context.Context) error {
	e.mu.Lock()
	counts := e.counts
	e.counts = make(map[uuid.UUID]*errorCount)
	e.mu.Unlock()
	if len(counts) == 0 {
		return nil
	}
	var ids []uuid.UUID
	var filters, texts []string
	var numbers []int64
	var times []time.Time
	for id, c := range counts {
		ids, filters, numbers, texts, times = append(ids, id), append(filters, c.filter), append(numbers, c.count), append(texts, c.last), append(times, c.at)
	}
	_, err := e.pool.Exec(ctx, `
		insert into hub.filter_errors as f (endpoint_id, count, last_error, last_at)
		select u.id, u.count, u.error, u.at
		from unnest($1::uuid[], $2::text[], $3::bigint[], $4::text[], $5::timestamptz[]) u(id, filter, count, error, at)
		join hub.endpoints e on e.id = u.id and e.filter = u.filter and e.deleted_at is null order by u.id
		on conflict (endpoint_id) do update set count = f.count + excluded.count,
			last_error = case when excluded.last_at >= f.last_at then excluded.last_error else f.last_error end, last_at = greatest(f.last_at, excluded.last_at)`,
		ids, filters, numbers, texts, times)
	if err == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, c := range counts {
		switch later := e.counts[id]; {
		case later == nil:
			e.counts[id] = c
		case later.filter == c.filter:
			later.count += c.count
		}
	}
	return fmt.Errorf("storing the errors of filters: %w", err)
}
