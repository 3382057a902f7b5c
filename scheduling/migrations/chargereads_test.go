package migrations_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// Rows from before 00095 keep their meaning: a deadline at the start without an open code
// was left to staff, and a charge that was ended but not final counted as unpaid.
func TestChargeReadsKeepOldRows(t *testing.T) {
	t.Parallel()
	url := hubtest.EmptyDatabaseURL(t)
	upTo(t, url, 90)
	db, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	s := newStudioIn(t, db)
	for i, row := range []struct {
		notes, charge string
		deadline      time.Duration // after the start
	}{{"left", "", 0}, {"code", "pending", 0}, {"deadline", "", -time.Hour}, {"ended", "expired", -time.Hour}} {
		appointment, payment, start := uuid.New(), uuid.New(), s.nine.Add(time.Duration(i)*time.Hour)
		s.exec(`insert into scheduling.appointments (org_id, id, client_id, professional_id, service_id, start_at, end_at, price_cents, status, source, notes,
			deposit_status, deposit_cents, hold_until) values ($1, $2, $3, $4, $5, $6, $7, 8000, 'scheduled', 'web', $8, 'pending', 2000, $9)`,
			s.org, appointment, s.client, s.professional, s.cut, start, start.Add(time.Hour), row.notes, start.Add(row.deadline))
		if row.charge != "" {
			s.exec(`insert into scheduling.payments (org_id, id, appointment_id, client_id, amount_cents, method, status, kind) values ($1, $2, $3, $4, 2000, 'pix', $5, 'deposit')`,
				s.org, payment, appointment, s.client, row.charge)
			s.exec(`insert into scheduling.charges (org_id, payment_id, provider, provider_payment_id, txid, pix_copy_paste, expires_at, due_at) values ($1, $2, 'sandbox', $3, $3, '', $4, $4)`,
				s.org, payment, row.charge, start)
		}
	}
	upTo(t, url, 95)
	var left, unpaid []string
	require.NoError(t, db.QueryRow(t.Context(), `select array(select notes from scheduling.appointments where deposit_left_to_staff),
		array(select provider_payment_id from scheduling.charges where unpaid_at is not null)`).Scan(&left, &unpaid))
	require.Equal(t, []string{"left"}, left)
	require.Equal(t, []string{"expired"}, unpaid)
}
