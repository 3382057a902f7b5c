package query_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/logid"
)

// statements counts those of a pool.
type statements struct{ atomic.Int64 }

// TraceQueryStart implements pgx.QueryTracer.
func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	s.Add(1)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (*statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// asked is a tenant with integrations, of which one is revoked.
type asked struct {
	book    *book
	tenant  uuid.UUID
	active  uuid.UUID
	revoked uuid.UUID
}

func (b *book) ask(t *testing.T) *asked {
	t.Helper()
	a := &asked{b, b.tenants[0], uuid.New(), uuid.New()}
	for id, status := range map[uuid.UUID]string{a.active: "active", a.revoked: "inactive"} {
		_, err := b.pool.Exec(t.Context(), `insert into hub.integrations (id, tenant_id, environment, product, status, webhook_url) values ($1, $2, 'live', $3, $3, '')`, id, a.tenant, status)
		require.NoError(t, err)
	}
	return a
}

// event puts an event into the log with a delivery to each of some targets.
func (a *asked) event(t *testing.T, at time.Time, ours bool, status delivery.Status, targets ...uuid.UUID) hub.Event {
	t.Helper()
	seq := logid.NewSeq(at)
	entry := row{
		tenant: a.tenant, environment: "live", product: "shop", kind: "patient.deleted", status: status, integration: true, ours: ours,
		event: 7_000_000, // as another tenant chose it
	}
	if ours {
		bits, _, err := logid.NewEventIDs(func(context.Context) (uint64, error) { return 3, nil }).Next(t.Context(), at)
		require.NoError(t, err)
		entry.event = int64(bits)
	}
	entry.id, entry.target = logid.Delivery(seq, 1), targets[0]
	a.book.store(t, []row{entry})
	for i, target := range targets[1:] {
		_, err := a.book.pool.Exec(t.Context(), `
			insert into hub.deliveries (id, target_id, event_id, tenant_id, environment, product, event_type, integration, status, finished_at)
			select $2, $3, event_id, tenant_id, environment, product, event_type, integration, status, finished_at from hub.deliveries where id = $1`,
			entry.id, logid.Delivery(seq, i+2), target)
		require.NoError(t, err)
	}
	return hub.Event{ID: hub.FormatEventID(uint64(entry.event)), TenantID: a.tenant, Environment: hub.Live}
}

// The outcomes of many events are returned for each, in their order, and for no other.
func TestAnswers(t *testing.T) {
	t.Parallel()
	b := newBook(t, 0)
	a := b.ask(t)
	today, yesterday := b.noon, b.noon.AddDate(0, 0, -1)
	both := a.event(t, today, true, delivery.Delivered, a.active, a.revoked)
	chosen := a.event(t, yesterday.Add(time.Second), false, delivery.Parked, a.active)
	endpoint := a.event(t, today.Add(time.Second), true, delivery.Delivered, b.targets[0])
	_, err := b.pool.Exec(t.Context(), `update hub.deliveries set integration = false where target_id = $1`, b.targets[0])
	require.NoError(t, err)
	other, test, long := both, both, a.event(t, today.Add(2*time.Second), true, delivery.Failed, a.revoked)
	other.TenantID, test.Environment = b.tenants[1], hub.Test
	gone := hub.Event{ID: hub.NewEventID(), TenantID: a.tenant, Environment: hub.Live}
	got, err := b.reader.IntegrationDeliveries(t.Context(), []hub.Event{long, gone, both, other, chosen, test, endpoint, {ID: "broken", TenantID: a.tenant, Environment: hub.Live}})
	require.NoError(t, err)
	var deliveredAt *time.Time
	require.NoError(t, b.pool.QueryRow(t.Context(), `select max(finished_at) from hub.deliveries where target_id = $1 and status = 1`, a.active).Scan(&deliveredAt))
	require.NotNil(t, deliveredAt)
	require.Equal(t, [][]query.IntegrationDelivery{
		{{a.revoked, delivery.Failed, false, nil}}, nil,
		{{a.revoked, delivery.Delivered, false, deliveredAt}, {a.active, delivery.Delivered, true, deliveredAt}}, nil,
		{{a.active, delivery.Parked, true, nil}}, nil, nil, nil,
	}, got)
	got, err = b.reader.IntegrationDeliveries(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, got)
}

// Asking for many events takes as many statements as asking for one.
func TestAnswersAreAskedForAtOnce(t *testing.T) {
	t.Parallel()
	b := newBook(t, 0)
	a := b.ask(t)
	settings := b.pool.Config()
	counted := new(statements)
	settings.ConnConfig.Tracer = counted
	pool, err := pgxpool.NewWithConfig(t.Context(), settings)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	reader := query.NewReader(pool)
	var events []hub.Event
	for i := range 40 {
		events = append(events, a.event(t, b.noon.Add(time.Duration(i)*time.Second), true, delivery.Pending, a.active))
	}
	took := func(events []hub.Event) int64 {
		before := counted.Load()
		got, err := reader.IntegrationDeliveries(t.Context(), events)
		require.NoError(t, err)
		for _, entry := range got {
			require.Equal(t, []query.IntegrationDelivery{{a.active, delivery.Pending, true, nil}}, entry)
		}
		return counted.Load() - before
	}
	require.EqualValues(t, 3, took(events[:1]))
	require.EqualValues(t, 3, took(events))
}
