// Package query reads the delivery log: filters and lists, one delivery with its
// attempts, statistics, balances, the live tail. It imports package ledger; package
// maintain imports it.
package query

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/logid"
	"integrationhub/hub/module/dberr"
)

// Syncer stores what is recorded but not yet in the log, or stops trying after a short while.
type Syncer interface {
	Sync(ctx context.Context)
}

// Reader answers questions about the log.
type Reader struct {
	pool   *pgxpool.Pool
	limits readLimits
	writer Syncer // of this process, or nil
	pace   Pace   // or nil: receivers are not paced
}

// NewReader returns a reader.
func NewReader(pool *pgxpool.Pool) *Reader { return &Reader{pool: pool, limits: defaultLimits} }

// WaitFor makes reads of the newest deliveries wait until writer has stored what it has.
func (r *Reader) WaitFor(writer Syncer) *Reader {
	r.writer = writer
	return r
}

// Pace returns how many deliveries a minute a receiver gets at most; 0: as many as it takes.
type Pace func(ctx context.Context, receiver uuid.UUID, isIntegration bool) (perMinute int, err error)

// PaceFrom sets where the paces of receivers are read.
func (r *Reader) PaceFrom(pace Pace) *Reader {
	r.pace = pace
	return r
}

// List returns the newest deliveries that match, older than the before-th one where
// it is set; up to limit rows.
func (r *Reader) List(ctx context.Context, f Filter, before *uuid.UUID, limit int) ([]Item, error) {
	if before == nil && (f.Status == "" || f.Status == delivery.Pending.String()) {
		if err := r.Materialize(ctx); err != nil {
			return nil, err
		}
	}
	p, ok, err := f.plan(ctx, r.pool, r.limits, nil, before)
	if err != nil || !ok {
		return nil, err
	}
	ids, err := r.find(ctx, &p, limit)
	if err != nil {
		return nil, err
	}
	return r.items(ctx, ids)
}

// Materialize inserts the rows of deliveries that a lease covers, so that what was just
// accepted is in the log. Each row is inserted once, however many processes ask.
func (r *Reader) Materialize(ctx context.Context) error {
	if r.writer != nil {
		r.writer.Sync(ctx)
	}
	return r.materialize(ctx, `select hub.unfold_leases(array(select id from hub.leases))`)
}

// materializeKept inserts the rows of deliveries that wait for their first retry, and of those
// that the same leases cover.
func (r *Reader) materializeKept(ctx context.Context) error {
	return r.materialize(ctx, `select hub.unfold_leases(array(select id from hub.leases where has_attempts))`)
}

// materialize runs a statement that inserts rows of leases.
func (r *Reader) materialize(ctx context.Context, statement string) error {
	for tries := 1; ; tries++ {
		_, err := r.pool.Exec(ctx, statement)
		switch {
		case err == nil:
			return nil
		case tries < materializeTries && dberr.Code(err) == dberr.DeadlockDetected:
			// A writer inserts the same rows in another order; the next try finds them.
		default:
			return fmt.Errorf("reading what was just accepted: %w", err)
		}
	}
}

// materializeTries is how often a reader tries.
const materializeTries = 5

// SearchPayloads returns deliveries that match and whose payload contains one of the words
// literally, newest first and up to limit. It reads the newest maxRead deliveries only.
func (r *Reader) SearchPayloads(ctx context.Context, f Filter, words []string, maxRead, limit int) ([]Item, error) {
	p, ok, err := f.plan(ctx, r.pool, r.limits, nil, nil)
	if err != nil || !ok {
		return nil, err
	}
	ids, err := r.find(ctx, &p, maxRead)
	if err != nil {
		return nil, err
	}
	needles := make([][]byte, len(words))
	for i, word := range words {
		needles[i] = []byte(word)
	}
	var found []uuid.UUID
	for len(ids) > 0 && len(found) < limit {
		n := logid.CountSameDay(ids)
		dayIDs, err := readIDs(ctx, r.pool, "reading payloads", fmt.Sprintf(`
			select d.id from unnest($1::uuid[]) d(id)
			join hub.events_%s e on e.seq = (overlay(d.id::text placing '0000' from 33))::uuid
			where exists (select from unnest($2::bytea[]) w(word) where position(w.word in e.body) > 0)
			order by d.id desc limit $3`, logid.Partition(ids[0])), ids[:n], needles, limit-len(found))
		if err != nil && !isMissingTable(err) { // the day's retention has ended
			return nil, err
		}
		found, ids = append(found, dayIDs...), ids[n:]
	}
	return r.items(ctx, found)
}

// readIDs returns a statement's only column. operation is a gerund for the error.
func readIDs(ctx context.Context, db DB, operation, statement string, args ...any) ([]uuid.UUID, error) {
	rows, err := db.Query(ctx, statement, args...)
	var ids []uuid.UUID
	if err == nil {
		ids, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", operation, err)
	}
	return ids, nil
}

// DB is what reading the log needs of a pool or a transaction.
type DB interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// ErrNotFound is the error for a delivery that does not exist.
var ErrNotFound = hub.Errorf(hub.ErrNotFound, "not_found", "There is no such delivery.")
