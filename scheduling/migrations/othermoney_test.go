package migrations_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// Since 00125 what was paid of an appointment's price has no money of kind other in it.
func TestOtherMoneyLeavesThePaidAmount(t *testing.T) {
	t.Parallel()
	url := hubtest.EmptyDatabaseURL(t)
	upTo(t, url, 110)
	db, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	s := newStudioIn(t, db)
	require.NoError(t, s.book(booking{}))
	var appointment uuid.UUID
	require.NoError(t, db.QueryRow(t.Context(), `update scheduling.appointments set paid_cents = 7500 where org_id = $1 returning id`, s.org).Scan(&appointment))
	for _, payment := range []struct {
		kind, status     string
		amount, refunded int
	}{{"full", "paid", 6000, 0}, {"other", "paid", 2000, 500}, {"other", "refunded", 900, 900}, {"other", "pending", 700, 0}} {
		s.exec(`insert into scheduling.payments (org_id, id, appointment_id, client_id, amount_cents, refunded_cents, method, status, kind, paid_at)
			values ($1, $2, $3, $4, $5, $6, 'cash', $7, $8, case when $7 <> 'pending' then now() end)`,
			s.org, uuid.New(), appointment, s.client, payment.amount, payment.refunded, payment.status, payment.kind)
	}
	upTo(t, url, 125)
	var paid int
	require.NoError(t, db.QueryRow(t.Context(), `select paid_cents from scheduling.appointments where id = $1`, appointment).Scan(&paid))
	require.Equal(t, 6000, paid)
}
