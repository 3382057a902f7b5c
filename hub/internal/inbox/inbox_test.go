package inbox_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/audit"
	"integrationhub/hub/internal/inbox"
	"integrationhub/hub/internal/store/dbgen"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// integration stores a tenant's integration and returns the ids of both.
func integration(t *testing.T, db *pgxpool.Pool) (id, tenant uuid.UUID) {
	t.Helper()
	ctx, queries := context.Background(), dbgen.New(db)
	id, tenant = uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7())
	require.NoError(t, queries.UpsertHostedProduct(ctx, dbgen.UpsertHostedProductParams{Name: "clinic", Prefix: "cli", Title: "Clinic"}))
	_, err := queries.UpsertTenant(ctx, dbgen.UpsertTenantParams{ID: tenant, Product: "clinic", Name: "Some Clinic"})
	require.NoError(t, err)
	_, err = queries.LockOrCreateIntegration(ctx, dbgen.LockOrCreateIntegrationParams{ID: id, TenantID: tenant, Environment: hub.Live, Product: "messaging"})
	require.NoError(t, err)
	return id, tenant
}

func item(id, tenant uuid.UUID, body string) inbox.Item {
	return inbox.Item{
		IntegrationID: id, Event: hub.Event{ID: hub.NewEventID(), TenantID: tenant, Type: "a.b"}, Body: []byte(body), Hash: sha256.Sum256([]byte(body)),
		IsHandled: true, Audit: audit.Entry{ActorType: audit.ActorKey, Action: "integrations.webhook", Resource: "integrations", Status: 200},
	}
}

// An event, its effect and its audit entry are stored together or not at all.
func TestAllOrNothing(t *testing.T) {
	t.Parallel()
	db := hubtest.Database(t)
	id, tenant := integration(t, db)
	var fail error
	b := inbox.New(db, func(ctx context.Context, tx pgx.Tx, e hub.Event) error {
		_, err := tx.Exec(ctx, `update hub.tenants set name = $2 where id = $1`, e.TenantID, e.ID)
		return errors.Join(err, fail)
	}, nil, slog.New(slog.DiscardHandler), time.Now)
	t.Cleanup(b.Close)
	stored := func() (rows, entries int, name string) {
		require.NoError(t, db.QueryRow(context.Background(), `select (select count(*) from hub.received where not failed), (select count(*) from hub.audit), name from hub.tenants`).
			Scan(&rows, &entries, &name))
		return rows, entries, name
	}
	entry := item(id, tenant, "one")
	fail = hub.Errorf(hub.ErrConflict, "not_now", "Not now.")
	_, err := b.Store(context.Background(), entry)
	require.ErrorIs(t, err, hub.ErrConflict, "the product's own error")
	rows, entries, name := stored()
	require.Zero(t, rows)
	require.Zero(t, entries)
	require.Equal(t, "Some Clinic", name)

	fail = nil
	outcome, err := b.Store(context.Background(), entry)
	require.NoError(t, err)
	require.Equal(t, inbox.Accepted, outcome)
	rows, entries, name = stored()
	require.Equal(t, 1, rows)
	require.Equal(t, 1, entries)
	require.Equal(t, entry.Event.ID, name)
}

// An event whose effect PostgreSQL aborts, because it and another transaction wait for each
// other, is stored by another try. A conflict that does not end is the caller's to repeat.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	db := hubtest.Database(t)
	id, tenant := integration(t, db)
	var deadlocks, tries int
	b := inbox.New(db, func(ctx context.Context, tx pgx.Tx, _ hub.Event) error {
		if tries++; tries > deadlocks {
			return nil
		}
		_, err := tx.Exec(ctx, `do $$ begin raise exception using errcode = 'deadlock_detected'; end $$`)
		return err
	}, nil, slog.New(slog.DiscardHandler), time.Now)
	t.Cleanup(b.Close)
	deadlocks = 2
	outcome, err := b.Store(context.Background(), item(id, tenant, "one"))
	require.NoError(t, err)
	require.Equal(t, []any{inbox.Accepted, 3}, []any{outcome, tries})
	deadlocks, tries = 1000, 0
	_, err = b.Store(context.Background(), item(id, tenant, "two"))
	require.ErrorIs(t, err, hub.ErrUnavailable)
	require.Less(t, tries, 10)
}

// failing is an inbox over a product that fails as long as the test asks for it, and counts
// what it took in.
type failing struct {
	*inbox.Inbox
	err     atomic.Pointer[error]
	effects *atomic.Int32
}

func newFailing(t *testing.T, db *pgxpool.Pool, effects *atomic.Int32) *failing {
	t.Helper()
	f := &failing{effects: effects}
	f.Inbox = inbox.New(db, func(context.Context, pgx.Tx, hub.Event) error {
		if err := f.err.Load(); err != nil {
			return *err
		}
		f.effects.Add(1)
		return nil
	}, nil, slog.New(slog.DiscardHandler), time.Now)
	t.Cleanup(f.Close)
	return f
}

// loggedEvent is a received event as the log shows it.
type loggedEvent struct {
	Event, Status, Attempts, Code int
	Reason, Answer                string
}

func log(t *testing.T, db *pgxpool.Pool) []loggedEvent {
	t.Helper()
	rows, err := db.Query(context.Background(), `select d.event_id::int, d.status::int, d.attempts, d.status_code::int, coalesce(d.reason, ''), convert_from(d.response_body, 'UTF8')
		from hub.deliveries d join hub.events e on e.seq = (overlay(d.id::text placing '0000' from 33))::uuid where d.inbound and d.integration order by d.event_id`)
	require.NoError(t, err)
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[loggedEvent])
	require.NoError(t, err)
	return list
}

// What the product could not take in stands in the log with the peer's response, once,
// however often it comes; when it succeeds the same row says so.
func TestFailuresAreLogged(t *testing.T) {
	t.Parallel()
	db := hubtest.Database(t)
	id, tenant := integration(t, db)
	b := newFailing(t, db, new(atomic.Int32))
	send := func(number uint64, body string, known bool) (inbox.Outcome, error) {
		entry := item(id, tenant, body)
		entry.Event.ID, entry.IsHandled, entry.Audit.RequestID = hub.FormatEventID(number), known, "req_"+body
		return b.Store(context.Background(), entry)
	}
	failure := error(hub.Errorf(hub.ErrConflict, "not_now", "Not now."))
	b.err.Store(&failure)
	for range 3 {
		_, err := send(1, "one", true)
		require.ErrorIs(t, err, hub.ErrConflict)
	}
	broken := errors.New("out of ink: secret")
	b.err.Store(&broken)
	_, err := send(2, "two", true)
	require.Error(t, err)
	for range 2 {
		_, err = send(1, "one", true)
		require.Error(t, err)
	}
	got := log(t, db)
	require.Len(t, got, 2)
	for i, attempts := range []int{5, 1} {
		require.Equal(t, loggedEvent{i + 1, 3, attempts, 500, "handle_failed", got[i].Answer}, got[i])
		require.Contains(t, got[i].Answer, `"code":"internal"`)
		require.Contains(t, got[i].Answer, `"request_id":"req_`+[]string{"one", "two"}[i]+`"`)
		require.NotContains(t, got[i].Answer, "ink")
	}

	b.err.Store(nil)
	for _, want := range []inbox.Outcome{inbox.Accepted, inbox.Duplicate} {
		outcome, err := send(1, "one", true)
		require.NoError(t, err)
		require.Equal(t, want, outcome)
	}
	_, err = send(1, "another body", true)
	require.ErrorIs(t, err, hub.ErrConflict)
	outcome, err := send(2, "two", false) // the product takes such events no more
	require.NoError(t, err)
	require.Equal(t, inbox.Ignored, outcome)
	outcome, err = send(2, "two", true)
	require.NoError(t, err)
	require.Equal(t, inbox.Duplicate, outcome)
	require.EqualValues(t, 1, b.effects.Load())
	require.Equal(t, []loggedEvent{
		{1, 1, 6, 200, "", `{"received":true,"id":"evt_0000000000000001","status":"accepted"}`},
		{2, 1, 2, 200, "", `{"received":true,"id":"evt_0000000000000002","status":"ignored"}`},
	}, log(t, db))
}

// An event that failed had no effect: its sender may correct it under the same id. Each body has
// an entry of its own in the log.
func TestFailedEventIsCorrected(t *testing.T) {
	t.Parallel()
	db := hubtest.Database(t)
	id, tenant := integration(t, db)
	b := newFailing(t, db, new(atomic.Int32))
	send := func(body string) (inbox.Outcome, error) {
		entry := item(id, tenant, body)
		entry.Event.ID, entry.IsHandled = hub.FormatEventID(1), true
		return b.Store(context.Background(), entry)
	}
	malformed := error(hub.Errorf(hub.ErrMalformed, "malformed", "data.phone must be a text."))
	b.err.Store(&malformed)
	for _, body := range []string{"wrong", "wrong", "still wrong"} {
		_, err := send(body)
		require.ErrorIs(t, err, hub.ErrMalformed)
	}
	b.err.Store(nil)
	outcome, err := send("right")
	require.NoError(t, err)
	require.Equal(t, inbox.Accepted, outcome)
	outcome, err = send("right")
	require.NoError(t, err)
	require.Equal(t, inbox.Duplicate, outcome)
	_, err = send("wrong")
	require.ErrorIs(t, err, hub.ErrConflict)
	require.EqualValues(t, 1, b.effects.Load())
	var got [][3]int
	for _, entry := range log(t, db) {
		got = append(got, [3]int{entry.Status, entry.Attempts, entry.Code})
	}
	require.ElementsMatch(t, [][3]int{{3, 2, 400}, {3, 1, 400}, {1, 1, 200}}, got)
}

// An event that failed and comes again many times at once, to two processes, has one
// effect and one row.
func TestFailedEventComesAgainAtOnce(t *testing.T) {
	t.Parallel()
	db := hubtest.Database(t)
	id, tenant := integration(t, db)
	effects := new(atomic.Int32)
	processes := []*failing{newFailing(t, db, effects), newFailing(t, db, effects)}
	broken := errors.New("out of ink")
	for round := range 10 {
		entry := item(id, tenant, "x")
		entry.Event.ID = hub.FormatEventID(uint64(round + 1))
		atOnce := func() (counts map[inbox.Outcome]int) {
			outcomes := make(chan inbox.Outcome, 40)
			var all sync.WaitGroup
			for i := range 40 {
				all.Go(func() {
					outcome, _ := processes[i%2].Store(context.Background(), entry)
					outcomes <- outcome
				})
			}
			all.Wait()
			close(outcomes)
			counts = map[inbox.Outcome]int{}
			for outcome := range outcomes {
				counts[outcome]++
			}
			return counts
		}
		for _, p := range processes {
			p.err.Store(&broken)
		}
		require.Equal(t, map[inbox.Outcome]int{"": 40}, atOnce())
		for _, p := range processes {
			p.err.Store(nil)
		}
		require.Equal(t, map[inbox.Outcome]int{inbox.Accepted: 1, inbox.Duplicate: 39}, atOnce())
		require.EqualValues(t, round+1, effects.Load())
		got := log(t, db)
		require.Len(t, got, round+1)
		require.Equal(t, []int{1, 41}, []int{got[round].Status, got[round].Attempts})
	}
}

// The log is cleared of a person when the event that says they were deleted is taken in,
// or ignored, and not before.
func TestErasureIsAskedFor(t *testing.T) {
	t.Parallel()
	db := hubtest.Database(t)
	id, tenant := integration(t, db)
	b := newFailing(t, db, new(atomic.Int32))
	send := func(number uint64, eventType string, known bool) error {
		entry := item(id, tenant, "x")
		entry.Event.ID, entry.Event.Type, entry.Event.Environment, entry.IsHandled = hub.FormatEventID(number), eventType, hub.Live, known
		_, err := b.Store(context.Background(), entry)
		return err
	}
	asked := func() []int {
		rows, err := db.Query(context.Background(), `
			select e.id::int from hub.erasures r join hub.events e using (seq, tenant_id, environment) order by e.id`)
		require.NoError(t, err)
		ids, err := pgx.CollectRows(rows, pgx.RowTo[int])
		require.NoError(t, err)
		return ids
	}
	broken := errors.New("out of ink")
	b.err.Store(&broken)
	require.Error(t, send(1, "patient.deleted", true))
	require.Empty(t, asked(), "it will come again")
	b.err.Store(nil)
	for range 2 {
		require.NoError(t, send(1, "patient.deleted", true))
		require.NoError(t, send(2, "patient.deleted", false))
		require.NoError(t, send(3, "patient.created", true))
	}
	require.Equal(t, []int{1, 2}, asked())
}

// While the database is away nothing is taken, and the peer is asked to come back.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	db := hubtest.Database(t)
	id, tenant := integration(t, db)
	away, err := pgxpool.New(context.Background(), db.Config().ConnString())
	require.NoError(t, err)
	b := inbox.New(away, func(context.Context, pgx.Tx, hub.Event) error { return nil }, nil, slog.New(slog.DiscardHandler), time.Now)
	t.Cleanup(b.Close)
	away.Close()
	_, err = b.Store(context.Background(), item(id, tenant, "x"))
	var entry *hub.Error
	require.ErrorAs(t, err, &entry)
	require.ErrorIs(t, err, hub.ErrUnavailable)
	require.Positive(t, entry.RetryAfter)
}

func TestIDsAreDroppedAfter45Days(t *testing.T) {
	t.Parallel()
	db := hubtest.Database(t)
	id, tenant := integration(t, db)
	b := inbox.New(db, func(context.Context, pgx.Tx, hub.Event) error { return nil }, nil, slog.New(slog.DiscardHandler), time.Now)
	t.Cleanup(b.Close)
	now := time.Now()
	for i, days := range []int{1, 31, 44, 46} {
		entry := item(id, tenant, "x")
		entry.Event.ID = hub.FormatEventID(uint64(i + 1))
		_, err := b.Store(context.Background(), entry)
		require.NoError(t, err)
		_, err = db.Exec(context.Background(), `update hub.received set received_at = $1 where event_id = $2`, now.AddDate(0, 0, -days), i+1)
		require.NoError(t, err)
	}
	require.NoError(t, inbox.Purge(context.Background(), db, now.AddDate(0, 0, -2)))
	left := func() []int {
		rows, err := db.Query(context.Background(), `select event_id::int from hub.received order by event_id`)
		require.NoError(t, err)
		ids, err := pgx.CollectRows(rows, pgx.RowTo[int])
		require.NoError(t, err)
		return ids
	}
	require.Equal(t, []int{1, 2, 3, 4}, left(), "by this process's clock none is old")
	require.NoError(t, inbox.Purge(context.Background(), db, now.AddDate(1, 0, 0)))
	require.Equal(t, []int{1, 2, 3}, left(), "by the database's clock the others are not old")
}

// An event that failed may come again when its day has left the log: it is logged anew, whether
// it succeeds then or fails once more.
func TestFailedEventComesAgainAfterItsDayWasDropped(t *testing.T) {
	t.Parallel()
	db := hubtest.Database(t)
	id, tenant := integration(t, db)
	b := newFailing(t, db, new(atomic.Int32))
	entry := item(id, tenant, "x")
	entry.Event.ID, entry.Event.Type, entry.Event.Environment = hub.FormatEventID(1), "patient.deleted", hub.Live
	broken := errors.New("out of ink")
	var dropped []uuid.UUID
	drop := func() {
		var seq uuid.UUID
		require.NoError(t, db.QueryRow(t.Context(), `select seq from hub.received join hub.events using (seq)`).Scan(&seq))
		require.NotContains(t, dropped, seq, "the tables of that day are gone")
		dropped = append(dropped, seq)
		_, err := db.Exec(t.Context(), `with gone as (delete from hub.deliveries) delete from hub.events`)
		require.NoError(t, err)
	}
	b.err.Store(&broken)
	for range 2 {
		_, err := b.Store(t.Context(), entry)
		require.Error(t, err)
		got := log(t, db)
		require.Len(t, got, 1)
		require.Equal(t, []int{3, 1}, []int{got[0].Status, got[0].Attempts})
		drop()
	}
	b.err.Store(nil)
	outcome, err := b.Store(t.Context(), entry)
	require.NoError(t, err)
	require.Equal(t, inbox.Accepted, outcome)
	require.Len(t, log(t, db), 1)
	drop()
	var known int
	require.NoError(t, db.QueryRow(t.Context(), `select count(*) from hub.received join hub.erasures using (seq)`).Scan(&known))
	require.Equal(t, 1, known, "its erasure finds it")
}
