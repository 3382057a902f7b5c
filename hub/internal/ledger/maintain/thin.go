package maintain

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

const (
	maxCopied     = 10_000           // waiting deliveries of a day that are copied to new tables: what can be compared while it is locked
	thinBatch     = 1000             // events in one transaction
	longestThin   = 20 * time.Second // of one run over all days, which the rest of this process's maintenance waits for
	thinLockWait  = "2s"
	longestThinTx = "30s"
)

// thinDay deletes what is settled of a day, some events at a time, and keeps what waits where it
// is. It locks some events for moments and no delivery that waits, so attempts go on however much is
// kept. A day that is compacted costs less and returns its space to the disk, so this is for days of which
// much waits. It pauses after each transaction for as long as that took: publishing has priority
// in the database. A run that ends before the day does is continued by the next run of this
// process; another process begins anew.
func (m *Maintenance) thinDay(ctx context.Context, day string) error {
	for time.Now().Before(m.thinUntil) {
		began := time.Now()
		last, isBusy, err := m.thinEvents(ctx, day)
		if err != nil {
			return fmt.Errorf("deleting what is settled of %s: %w", day, err)
		}
		if isBusy {
			return nil
		}
		if last != uuid.Nil {
			m.thinned[day] = last
		} else {
			delete(m.thinned, day)
			m.log.Info("deleted what is settled of a day of the log whose retention ended", "day", day)
			_, err := m.pool.Exec(ctx, `analyze hub.deliveries_p`+day) // decides whether that is worth repeating
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Since(began)):
		}
	}
	return nil
}

// thinEvents deletes what is settled of the day's next events and returns the last of them, Nil if
// none were left. isBusy reports whether another process works on the days.
func (m *Maintenance) thinEvents(ctx context.Context, day string) (last uuid.UUID, isBusy bool, err error) {
	err = pgx.BeginFunc(ctx, m.pool, func(tx pgx.Tx) error {
		var hasLock bool
		if err := tx.QueryRow(ctx, `select pg_try_advisory_xact_lock($1)`, partitionsLock).Scan(&hasLock); err != nil || !hasLock {
			isBusy = true
			return err
		}
		_, err := tx.Exec(ctx, `set local statement_timeout = '`+longestThinTx+`'; set local lock_timeout = '`+thinLockWait+`';
			set local enable_seqscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off`)
		if err != nil {
			return err
		}
		// An erasure locks the event first too.
		rows, err := tx.Query(ctx, `select seq from hub.events_p`+day+` where seq > $1 order by seq limit $2 for update`, m.thinned[day], thinBatch)
		if err != nil {
			return err
		}
		seqs, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		if err != nil {
			return err
		}
		if len(seqs) == 0 {
			return nil
		}
		last = seqs[len(seqs)-1]
		return deleteSettled(ctx, tx, "p"+day, seqs)
	})
	return last, isBusy, err
}

// settledSQL are the statements of deleteSettled. $1 are the events.
var settledSQL = []string{`
		with settled as (
			delete from hub.deliveries_%[1]s d using unnest($1::uuid[]) s(seq)
			where d.id > s.seq and d.id <= (overlay(s.seq::text placing 'ffff' from 33))::uuid and d.status not in (0, 2) and s.seq not in (` + unfinishedSQL + `)
			returning d.id, d.status, d.inbound),
		attempted as (delete from hub.attempts_%[1]s a using settled s where a.delivery_id = s.id),
		counted as (
			select count(*) filter (where status = 1 and not inbound) as delivered, count(*) filter (where status = 3 and not inbound) as failed from settled having count(*) > 0)
		insert into hub.compacted_days as c (day, delivered, failed) select to_date(right('%[1]s', 8), 'YYYYMMDD'), delivered, failed from counted
		on conflict (day) do update set delivered = c.delivered + excluded.delivered, failed = c.failed + excluded.failed, compacted_at = now()`, `
		delete from hub.events_%[1]s e where e.seq = any($1) and e.seq not in (` + unfinishedSQL + `)
			and not exists (select from hub.deliveries_%[1]s d where d.id > e.seq and d.id <= (overlay(e.seq::text placing 'ffff' from 33))::uuid)`,
}

// deleteSettled deletes the settled deliveries of events with their attempts, counts them for the
// balance of the day, and deletes the events that have no other deliveries. The events of
// unfinished erasures stay with all of theirs.
func deleteSettled(ctx context.Context, tx pgx.Tx, day string, seqs []uuid.UUID) error {
	for _, statement := range settledSQL {
		if _, err := tx.Exec(ctx, strings.ReplaceAll(statement, "%[1]s", day), seqs); err != nil {
			return err
		}
	}
	return nil
}
