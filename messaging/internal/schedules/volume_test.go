package schedules_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// dueCompany is a company with messages that are due.
type dueCompany struct {
	*messagingtest.Company
	line messagingtest.Connection
}

// addDue adds due messages to so many new contacts.
func (c *dueCompany) addDue(contacts int, sendAt time.Time) {
	c.T.Helper()
	require.NoError(c.T, pgx.BeginFunc(c.T.Context(), c.Hub.Host.Pool, func(tx pgx.Tx) error { return c.insertDue(tx, contacts, sendAt) }))
}

func (c *dueCompany) insertDue(tx pgx.Tx, contacts int, sendAt time.Time) error {
	_, err := tx.Exec(c.T.Context(), `with people as (
			insert into contacts (company_id, name, number, number_key) select $1, 'Contact ' || n, (5511970000000 + n)::text, (5511970000000 + n)::text from generate_series(1, $2::int) n returning id)
		insert into schedules (company_id, contact_id, body, send_at) select $1, id, 'Hi', $3 from people`, c.ID, contacts, sendAt)
	return err
}

// count returns a number from the database.
func (c *dueCompany) count(sql string, args ...any) (n int) {
	c.T.Helper()
	require.NoError(c.T, c.Hub.Host.Pool.QueryRow(c.T.Context(), sql, args...).Scan(&n))
	return n
}

func newDueCompany(company *messagingtest.Company) *dueCompany {
	return &dueCompany{company, company.Connect()}
}

// Due messages are written many at a time: as many transactions as batches.
func TestSchedulesAreWrittenInBatches(t *testing.T) {
	t.Parallel()
	c := newDueCompany(messagingtest.NewCompanyAt(t, monday))
	c.SetNetwork("offline") // what is written stays as it is
	c.addDue(1000, monday)
	require.Eventually(t, func() bool {
		c.RunJob("schedules")
		return c.count(`select count(*) from schedules where status = 'queued' and attempts = 1`) == 1000
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, 10, c.count(`select count(distinct xmin::text) from messages`))
	require.Equal(t, 10, c.count(`select count(distinct xmin::text) from tickets`))
	require.Equal(t, 1000, c.count(`select count(*) from outbox o join messages m on m.company_id = o.company_id and m.id = o.message_id where m.origin = 'schedule' and o.leased_until is null`))
	require.Zero(t, c.count(`select count(*) from tickets where last_message <> 'Hi' or not awaits_contact or status <> 'pending'`))
}

// A company with many due messages does not hold up another one's, though it is due later.
func TestSchedulesAreFairToCompanies(t *testing.T) {
	t.Parallel()
	large := newDueCompany(messagingtest.NewCompanyAt(t, monday))
	small := newDueCompany(large.AnotherCompany())
	large.SetNetwork("offline")
	small.SetNetwork("offline")
	require.NoError(t, pgx.BeginFunc(t.Context(), large.Hub.Host.Pool, func(tx pgx.Tx) error {
		return errors.Join(large.insertDue(tx, 2000, monday.Add(-time.Hour)), small.insertDue(tx, 1, monday))
	}))
	require.Eventually(t, func() bool {
		small.RunJob("schedules")
		return small.count(`select count(*) from schedules where status = 'pending'`) == 0
	}, time.Minute, 10*time.Millisecond)
	before := small.count(`select count(*) from messages m where company_id = $1 and seq < (select seq from messages where company_id = $2)`, large.ID, small.ID)
	require.LessOrEqual(t, before, 3*100, "batches of the rounds that were under way")
}

// A contact's messages are sent in the order of their times, whatever came due with them; each
// once, though several processes write and send.
func TestScheduleOrder(t *testing.T) {
	t.Parallel()
	c := newDueCompany(messagingtest.NewCompanyAt(t, monday))
	c.addDue(50, monday.Add(-time.Hour))
	_, phone := newContact(c.Company, "Ana")
	_, err := c.Hub.Host.Pool.Exec(t.Context(), `insert into schedules (company_id, contact_id, body, send_at)
		select company_id, id, to_char(n, 'FM000'), $2::timestamptz - (300 - n) * interval '1 second' from contacts, generate_series(1, 150) n where company_id = $1 and name = 'Ana' order by n desc`, c.ID, monday)
	require.NoError(t, err)
	runNow(c.Company)
	rows, err := c.Hub.Host.Pool.Query(t.Context(), `select body from sandbox_messages where recipient = $1 order by seq`, phone)
	require.NoError(t, err)
	defer rows.Close()
	var bodies []string
	for rows.Next() {
		var body string
		require.NoError(t, rows.Scan(&body))
		bodies = append(bodies, body)
	}
	require.Len(t, bodies, 150)
	require.IsIncreasing(t, bodies)
	require.Equal(t, 200, c.count(`select count(*) from sandbox_messages`))
	require.Equal(t, 200, c.count(`select count(*) from schedules where status = 'sent' and attempts = 1`))
}
