package write_test

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/ledger/write"
	"integrationhub/hub/internal/logid"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// One attempt that the database refuses must not keep the others out of the log.
func TestWriterSetsRefusedAttemptsApart(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	var log bytes.Buffer // written by the writer alone, read after Close
	w := write.NewWriter(pool, slog.New(slog.NewTextHandler(&log, nil)), time.Now, nil)
	const count, poisonous = 100, 37
	var ids []uuid.UUID
	event := &delivery.Event{TenantID: uuid.New(), Product: "test"}
	target := uuid.New()
	for range count {
		ids = append(ids, logid.Delivery(logid.NewSeq(time.Now()), 1))
	}
	_, err := pool.Exec(t.Context(), `
		insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type)
		select id, 1, $2, $3, 'live', 'test', 'a.b' from unnest($1::uuid[]) u(id)`, ids, event.TenantID, target)
	require.NoError(t, err)
	for i, id := range ids {
		a := delivery.AttemptResult{
			LeasedDelivery: delivery.LeasedDelivery{ID: id, TargetID: target, Event: event}, Sent: true, StartedAt: time.Now(), StatusCode: 200,
			Decision: delivery.Decision{Status: delivery.Delivered, CountedAttempts: 1},
		}
		if i == poisonous {
			a.Error = "no text has a \x00 in it"
		}
		w.Record(a)
	}
	w.Close()
	var delivered, attempts int
	require.NoError(t, pool.QueryRow(t.Context(), `
		select (select count(*) from hub.deliveries where status = 1), (select count(*) from hub.deliveries where started_at is not null)`).Scan(&delivered, &attempts))
	require.Equal(t, count-1, delivered)
	require.Equal(t, count-1, attempts)
	var status delivery.Status
	require.NoError(t, pool.QueryRow(t.Context(), `select status from hub.deliveries where id = $1`, ids[poisonous]).Scan(&status))
	require.Equal(t, delivery.Pending, status, "its delivery is not forgotten")
	require.Contains(t, log.String(), ids[poisonous].String())
}

// An endpoint that puts a delivery off for a day makes for a lot of attempts.
func TestWriterCountsBeyond16Bits(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	w := write.NewWriter(pool, slog.New(slog.DiscardHandler), time.Now, nil)
	id, event, target := logid.Delivery(logid.NewSeq(time.Now()), 1), &delivery.Event{TenantID: uuid.New(), Product: "test"}, uuid.New()
	_, err := pool.Exec(t.Context(), `
		insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, attempts)
		values ($1, 1, $2, $3, 'live', 'test', 'a.b', 32767)`, id, event.TenantID, target)
	require.NoError(t, err)
	w.Record(delivery.AttemptResult{
		LeasedDelivery: delivery.LeasedDelivery{ID: id, TargetID: target, Event: event, PriorAttempts: 32767}, Sent: true, StartedAt: time.Now(), StatusCode: 429,
		Decision: delivery.Decision{Status: delivery.Pending, Wait: time.Second},
	})
	w.Close()
	var attempts, number int
	require.NoError(t, pool.QueryRow(t.Context(), `
		select d.attempts, a.number from hub.deliveries d join hub.attempts a on a.delivery_id = d.id`).Scan(&attempts, &number))
	require.Equal(t, 32768, attempts)
	require.Equal(t, 32768, number)
}
