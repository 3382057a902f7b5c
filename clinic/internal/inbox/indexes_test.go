package inbox_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// Every query of a large inbox uses an index that begins with the clinic; upkeep's queries use
// one by age.
func TestInboxUsesIndexes(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	neighbor := clinic.AnotherClinic().ID // has most rows: else reading the whole table is right
	clinic.Exec(`insert into clinic.inbox (clinic_id, env, id, source, event_id, event_type, occurred_at, received_at, phone, external_id, data_enc, email_hmac)
		select case when n % 30 = 0 then $1::uuid else $2::uuid end, 'live', gen_random_uuid(), 'messaging', n, 'contact.created', now() - n * interval '1 second', now() - n * interval '1 second', '+55119' || 80000000 + n % 5000,
			'ticket ' || n % 5000, 'x', decode(md5(n::text), 'hex') from generate_series(1, 30000) n`, neighbor)
	clinic.Exec(`insert into clinic.inbox (clinic_id, env, id, source, event_id, event_type, occurred_at, status, settled_at)
		select case when n % 30 = 0 then $1::uuid else $2::uuid end, 'live', gen_random_uuid(), 'messaging', 'd' || n, 'contact.created', now(), 'dismissed', now() - n * interval '1 second' from generate_series(1, 10000) n`, neighbor)
	clinic.Exec(`insert into clinic.patients (clinic_id, env, id, name, phone) select $1, 'live', gen_random_uuid(), 'P', '+55119' || 80000000 + n from generate_series(1, 2000) n`)
	clinic.Exec(`insert into clinic.linked_phones (clinic_id, env, phone_key, patient_id) select $1, env, '+55' || phone_key, id from clinic.patients where clinic_id = $1`)
	_, err := clinic.Hub.Host.Pool.Exec(t.Context(), `vacuum analyze clinic.inbox, clinic.patients, clinic.linked_phones`)
	require.NoError(t, err)
	source, err := os.ReadFile("../store/dbgen/inbox.sql.go")
	require.NoError(t, err)
	number, subject, first := "+551180000100", "ticket 7", time.Time{}
	for _, c := range []struct {
		query   string
		indexes []string
		args    []any
	}{
		{"countInboxEntries", []string{"Scan using inbox_"}, []any{clinic.ID, "live", "open", 100}},
		{"inboxPage", []string{"inbox_list"}, []any{clinic.ID, "live", "open", 500, 20}},
		{"uniquePatientsByPhone", []string{"patients_phone", "linked_phones_", "patients_pkey"}, []any{clinic.ID, "live", []string{number}}},
		{"waitingEntries", []string{"inbox_open_phone", "inbox_open_subject", "inbox_meant"}, []any{clinic.ID, "live", clinic.ID, number, first, clinic.ID, 201, "messaging", subject}},
		{"lockEntriesAboutSame", []string{"inbox_open_subject"}, []any{clinic.ID, "live", []string{clinic.ID.String()}, clinic.ID, number, 201}},
		{"subjectsStillWaiting", []string{"inbox_open_subject"}, []any{clinic.ID, "live", []string{clinic.ID.String()}, clinic.ID, number, first, clinic.ID}},
		{"inboxEntryCandidates", []string{"inbox_patient", "inbox_open_phone", "inbox_email", "inbox_unhashed", "inbox_meant"}, []any{clinic.ID, "live", clinic.ID, []string{number}, [][]byte{{1}}}},
		{"entriesAwaitingLinking", []string{"inbox_open_phone", "inbox_open_subject"}, []any{clinic.ID, "live", first, clinic.ID, number, "messaging", subject}},
		{"entriesWithoutEmailHash", []string{"inbox_unhashed"}, []any{clinic.ID, "live", clinic.ID, 500}},
		{"deleteOldOpenEntries", []string{"inbox_open_age"}, []any{time.Now().Add(-time.Hour), 20}},
		{"deleteOldSettledEntries", []string{"inbox_settled_age"}, []any{time.Now().Add(-time.Hour), 20}},
	} {
		_, query, _ := strings.Cut(string(source), "const "+c.query+" = `")
		query, _, found := strings.Cut(query, "`")
		require.True(t, found, c.query)
		rows, err := clinic.Hub.Host.Pool.Query(t.Context(), "explain "+query, append([]any{pgx.QueryExecModeSimpleProtocol}, c.args...)...)
		require.NoError(t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err, c.query)
		plan := strings.Join(lines, "\n")
		require.NotContains(t, plan, "Seq Scan on inbox", "%s: %s", c.query, plan)
		for _, index := range c.indexes {
			require.Contains(t, plan, index, "%s: %s", c.query, plan)
		}
	}
}
