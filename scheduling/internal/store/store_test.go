package store

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// A transaction that PostgreSQL ends in favour of another one is repeated. Without that
// the caller would get a 503.
func TestTransactionsAreRepeated(t *testing.T) {
	t.Parallel()
	host := module.Host{Pool: hubtest.Database(t), Now: time.Now}
	for _, code := range []string{"40001", "40P01"} {
		attempts := 0
		err := New(host).InTx(t.Context(), "counting", func(tx *Tx) error {
			attempts++
			if attempts > 1 {
				return nil
			}
			return tx.withSavepoint(t.Context(), func(tx *Tx) error {
				_, err := tx.Raw.Exec(t.Context(), `do $$ begin raise exception using errcode = '`+code+`'; end $$`)
				return err
			})
		})
		require.NoError(t, err, code)
		require.Equal(t, 2, attempts, code)
	}
	attempts := 0
	err := New(host).InTx(t.Context(), "counting", func(*Tx) error {
		attempts++
		return hub.NotFound("Client")
	})
	require.ErrorIs(t, err, hub.ErrNotFound)
	require.Equal(t, 1, attempts, "other errors are final")
}

// The bytes of the event are part of the contract with other products.
func TestCreatedEventOnTheWire(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 2, 9, 0, 0, 0, time.FixedZone("", -3*60*60))
	appointment := dbgen.AppointmentDetail{
		ID: uuid.MustParse("01890000-0000-7000-8000-000000000001"), ClientName: "Gil Paz", ServiceName: "Corte & barba", ProfessionalName: "Bia",
		StartAt: start, EndAt: start.Add(time.Hour), Status: booking.Confirmed, Source: booking.SourceWeb,
	}
	raw, err := json.Marshal(createdEvent(appointment, "+5511987654321"))
	require.NoError(t, err)
	require.Equal(t, `{"appointment_id":"01890000-0000-7000-8000-000000000001","client_phone":"+5511987654321","client_name":"Gil Paz","datetime":"2026-03-02T12:00:00Z",`+
		`"end_at":"2026-03-02T13:00:00Z","professional":"Bia","service":"Corte \u0026 barba","source":"web","status":"confirmed"}`, string(raw))
	require.Empty(t, createdEvent(appointment, "").ClientName, "without a contact it helps nobody, and an erased client has none")
}
