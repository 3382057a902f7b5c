package inbox_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
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

// integration stores a tenant's integration and gives the ids of both.
func integration(t *testing.T, db *pgxpool.Pool) (id, tenant uuid.UUID) {
	t.Helper()
	ctx, queries := context.Background(), dbgen.New(db)
	id, tenant = uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7())
	require.NoError(t, queries.HostProduct(ctx, dbgen.HostProductParams{Name: "clinic", Prefix: "cli", Title: "Clinic"}))
	_, err := queries.PutTenant(ctx, dbgen.PutTenantParams{ID: tenant, Product: "clinic", Name: "Some Clinic"})
	require.NoError(t, err)
	_, err = queries.EnsureIntegration(ctx, dbgen.EnsureIntegrationParams{ID: id, TenantID: tenant, Environment: hub.Live, Product: "messaging"})
	require.NoError(t, err)
	return id, tenant
}

func item(id, tenant uuid.UUID, body string) inbox.Item {
	return inbox.Item{
		IntegrationID: id, Event: hub.Event{ID: hub.NewEventID(), TenantID: tenant, Type: "a.b"}, Body: []byte(body), Hash: sha256.Sum256([]byte(body)),
		Known: true, Audit: audit.Entry{ActorType: audit.ActorKey, Action: "integrations.webhook", Resource: "integrations", Status: 200},
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
	}, slog.New(slog.DiscardHandler), time.Now)
	t.Cleanup(b.Close)
	stored := func() (rows, entries int, name string) {
		require.NoError(t, db.QueryRow(context.Background(), `select (select count(*) from hub.received), (select count(*) from hub.audit), name from hub.tenants`).
			Scan(&rows, &entries, &name))
		return rows, entries, name
	}
	one := item(id, tenant, "one")
	fail = hub.Errorf(hub.ErrConflict, "not_now", "Not now.")
	_, err := b.Store(context.Background(), one)
	require.ErrorIs(t, err, hub.ErrConflict, "the product's own error")
	rows, entries, name := stored()
	require.Zero(t, rows)
	require.Zero(t, entries)
	require.Equal(t, "Some Clinic", name)

	fail = nil
	outcome, err := b.Store(context.Background(), one)
	require.NoError(t, err)
	require.Equal(t, inbox.Accepted, outcome)
	rows, entries, name = stored()
	require.Equal(t, 1, rows)
	require.Equal(t, 1, entries)
	require.Equal(t, one.Event.ID, name)
}

// While the database is away nothing is taken, and the peer is told to come back.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	db := hubtest.Database(t)
	id, tenant := integration(t, db)
	away, err := pgxpool.New(context.Background(), db.Config().ConnString())
	require.NoError(t, err)
	b := inbox.New(away, func(context.Context, pgx.Tx, hub.Event) error { return nil }, slog.New(slog.DiscardHandler), time.Now)
	t.Cleanup(b.Close)
	away.Close()
	_, err = b.Store(context.Background(), item(id, tenant, "x"))
	var told *hub.Error
	require.ErrorAs(t, err, &told)
	require.ErrorIs(t, err, hub.ErrUnavailable)
	require.Positive(t, told.RetryAfter)
}

// Ids go after 45 days.
func TestDrop(t *testing.T) {
	t.Parallel()
	db := hubtest.Database(t)
	id, tenant := integration(t, db)
	b := inbox.New(db, func(context.Context, pgx.Tx, hub.Event) error { return nil }, slog.New(slog.DiscardHandler), time.Now)
	t.Cleanup(b.Close)
	now := time.Now()
	for i, days := range []int{1, 31, 44, 46} {
		one := item(id, tenant, "x")
		one.Event.ID = hub.FormatEventID(uint64(i + 1))
		_, err := b.Store(context.Background(), one)
		require.NoError(t, err)
		_, err = db.Exec(context.Background(), `update hub.received set received_at = $1 where event_id = $2`, now.AddDate(0, 0, -days), i+1)
		require.NoError(t, err)
	}
	require.NoError(t, inbox.Drop(context.Background(), db, now))
	rows, err := db.Query(context.Background(), `select event_id::int from hub.received order by event_id`)
	require.NoError(t, err)
	left, err := pgx.CollectRows(rows, pgx.RowTo[int])
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 3}, left)
}
