package floor

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// store is the floor's database: accepted events and the delivery log.
type store struct {
	pool *pgxpool.Pool
}

// schema is the minimum for a log that can be searched by event.
const schema = `
CREATE TABLE IF NOT EXISTS events (
	id   bigint PRIMARY KEY,
	at   timestamptz NOT NULL DEFAULT now(),
	body bytea NOT NULL
);
CREATE TABLE IF NOT EXISTS attempts (
	event_id bigint NOT NULL,
	at       timestamptz NOT NULL,
	status   smallint NOT NULL,
	took_ms  integer NOT NULL
);
CREATE INDEX IF NOT EXISTS attempts_event_id ON attempts (event_id);`

// openStore connects and makes the two tables. The transaction settings are
// the server's: synchronous_commit stays on.
func openStore(ctx context.Context, database string) (*store, error) {
	config, err := pgxpool.ParseConfig(database)
	if err != nil {
		return nil, fmt.Errorf("reading database URL: %w", err)
	}
	config.MaxConns = commitLanes + 2
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("opening database: %w", err)
	}
	if _, err := pool.Exec(ctx, schema); err != nil {
		pool.Close()
		return nil, fmt.Errorf("creating floor tables: %w", err)
	}
	return &store{pool: pool}, nil
}

// close ends all connections.
func (s *store) close() { s.pool.Close() }

// insertEvents stores a batch; when it returns nil the batch is on disk.
func (s *store) insertEvents(ctx context.Context, batch []*event) error {
	ids, bodies := make([]int64, len(batch)), make([][]byte, len(batch))
	for i, e := range batch {
		ids[i], bodies[i] = e.id, e.body
	}
	_, err := s.pool.Exec(ctx,
		`INSERT INTO events (id, body) SELECT * FROM unnest($1::bigint[], $2::bytea[])`, ids, bodies)
	if err != nil {
		return fmt.Errorf("inserting events: %w", err)
	}
	return nil
}

// insertAttempts stores a batch of log rows.
func (s *store) insertAttempts(ctx context.Context, batch []attempt) error {
	n := len(batch)
	ids, at, status, took := make([]int64, n), make([]time.Time, n), make([]int16, n), make([]int32, n)
	for i, r := range batch {
		ids[i], at[i], status[i], took[i] = r.id, r.at, r.status, r.took
	}
	_, err := s.pool.Exec(ctx,
		`INSERT INTO attempts (event_id, at, status, took_ms)
		 SELECT * FROM unnest($1::bigint[], $2::timestamptz[], $3::smallint[], $4::integer[])`, ids, at, status, took)
	if err != nil {
		return fmt.Errorf("inserting log rows: %w", err)
	}
	return nil
}

// recover passes every event without a successful attempt to deliver: an earlier
// process accepted it and did not deliver it.
func (s *store) recover(ctx context.Context, deliver func(*event)) error {
	rows, err := s.pool.Query(ctx,
		`SELECT id, body FROM events e WHERE NOT EXISTS (
			SELECT 1 FROM attempts a WHERE a.event_id = e.id AND a.status BETWEEN 200 AND 299) ORDER BY id`)
	if err != nil {
		return fmt.Errorf("reading undelivered events: %w", err)
	}
	var id int64
	var body []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &body}, func() error {
		deliver(&event{id: id, body: append([]byte(nil), body...)})
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading undelivered events: %w", err)
	}
	return nil
}
