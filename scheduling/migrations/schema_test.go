package migrations_test

import (
	"fmt"
	"io/fs"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/scheduling/migrations"
)

func TestMigrationsApplyToAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	up(t, hubtest.EmptyDatabaseURL(t))
}

// rows reads one text column.
func rows(t *testing.T, sql string) []string {
	t.Helper()
	result, err := database(t).Query(t.Context(), sql)
	require.NoError(t, err)
	found, err := pgx.CollectRows(result, pgx.RowTo[string])
	require.NoError(t, err)
	return found
}

func TestColumnsHaveTheirTypes(t *testing.T) {
	t.Parallel()
	require.Empty(t, rows(t, `select table_name || '.' || column_name || ' ' || data_type from information_schema.columns
		where table_schema = 'scheduling' and (
			data_type in ('timestamp without time zone', 'real', 'double precision', 'numeric', 'money', 'character varying')
			or column_name like '%\_cents' and data_type <> 'bigint'
			or column_name like '%\_at' and data_type <> 'timestamp with time zone')`))
}

// Rows of tenants are keyed by tenant and point only to rows of the same one.
func TestEveryKeyStartsWithTheOrganization(t *testing.T) {
	t.Parallel()
	require.Empty(t, rows(t, `select c.relname || ': ' || coalesce(pg_get_constraintdef(k.oid), 'no primary key')
		from pg_class c
		join pg_attribute a on a.attrelid = c.oid and a.attname = 'org_id'
		left join pg_constraint k on k.conrelid = c.oid and k.contype = 'p'
		where c.relnamespace = 'scheduling'::regnamespace and c.relkind = 'r'
		and c.relname <> 'old_slugs' -- a slug belongs to nobody else meanwhile
		and (k.conkey is null or k.conkey[1] <> a.attnum)`))
	require.Empty(t, rows(t, `select k.conrelid::regclass || ': ' || pg_get_constraintdef(k.oid)
		from pg_constraint k
		join pg_attribute ours on ours.attrelid = k.conrelid and ours.attname = 'org_id'
		join pg_attribute theirs on theirs.attrelid = k.confrelid and theirs.attname = 'org_id'
		where k.contype = 'f' and k.connamespace = 'scheduling'::regnamespace
		and not (k.conkey[1] = ours.attnum and k.confkey[1] = theirs.attnum)`))
	// What points to a tenant's row without saying whose it is are its own secrets.
	require.ElementsMatch(t, []string{"refresh_tokens", "mailed_tokens"}, rows(t, `select distinct c.relname::text
		from pg_constraint k join pg_class c on c.oid = k.conrelid
		where k.contype = 'f' and k.connamespace = 'scheduling'::regnamespace
		and not exists (select from pg_attribute where attrelid = k.conrelid and attname = 'org_id')
		and exists (select from pg_attribute where attrelid = k.confrelid and attname = 'org_id')`))
}

func TestReferencesToOtherOrganizationsAreRejected(t *testing.T) {
	t.Parallel()
	s, foreign := newStudio(t), newStudio(t)
	for name, change := range map[string]func(*studio){
		"client":       func(s *studio) { s.client = foreign.client },
		"professional": func(s *studio) { s.professional = foreign.professional },
		"service":      func(s *studio) { s.cut = foreign.cut },
	} {
		mixed := *s
		change(&mixed)
		var refused *pgconn.PgError
		require.ErrorAs(t, mixed.book(booking{}), &refused, name)
		require.Equal(t, "23503", refused.Code, name)
	}
	for _, sql := range []string{
		`insert into scheduling.professional_services (org_id, professional_id, service_id) values ($1, $2, $3)`,
		`insert into scheduling.holds (org_id, id, professional_id, service_id, start_at, end_at, expires_at)
		 values ($1, gen_random_uuid(), $2, $3, now(), now() + interval '1 hour', now() + interval '5 minutes')`,
	} {
		_, err := s.db.Exec(t.Context(), sql, s.org, s.professional, foreign.cut)
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused, sql)
		require.Equal(t, "23503", refused.Code, sql)
		s.exec(sql, s.org, s.professional, s.cut)
	}
}

// TestSchemaConstraints tries rows that break one rule each, beside the same row
// that keeps it: a refusal must come from the rule, not from the statement.
func TestSchemaConstraints(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	s.exec(`insert into scheduling.loyalty_rewards (org_id, id, name, points, type) values ($1, $2, 'Gift', 10, 'free_service')`, s.org, s.reward)
	ids := map[string]any{
		"org": s.org, "user": s.user, "client": s.client, "professional": s.professional, "cut": s.cut,
	}
	const (
		setting = `update scheduling.settings set %s where org_id = @org`
		service = `insert into scheduling.services (org_id, id, name, duration_minutes, price_cents, requires_deposit, deposit_cents) values (@org, gen_random_uuid(), 'x', %s)`
		rule    = `insert into scheduling.schedule_rules (org_id, id, professional_id, day_of_week, start_minute, end_minute, break_start_minute, break_end_minute)
			values (@org, gen_random_uuid(), @professional, %s)`
		exception = `insert into scheduling.schedule_exceptions (org_id, id, professional_id, date, exception_type, start_minute, end_minute)
			values (@org, gen_random_uuid(), @professional, '2026-03-02', %s)`
		appointment = `insert into scheduling.appointments (org_id, id, client_id, professional_id, service_id, price_cents, source, overbooked, status, start_at, end_at, cancelled_at, cancelled_by, completed_at, no_show_at)
			values (@org, gen_random_uuid(), @client, @professional, @cut, 0, 'web', true, %s)`
		deposit = `insert into scheduling.appointments (org_id, id, client_id, professional_id, service_id, price_cents, source, overbooked, status, start_at, end_at, deposit_status, deposit_cents, hold_until)
			values (@org, gen_random_uuid(), @client, @professional, @cut, 0, 'web', true, 'scheduled', now(), now() + interval '1 hour', %s)`
		payment = `insert into scheduling.payments (org_id, id, client_id, method, amount_cents, status, paid_at, refunded_cents) values (@org, gen_random_uuid(), @client, 'pix', %s)`
		reward  = `insert into scheduling.loyalty_rewards (org_id, id, name, points, type, value) values (@org, gen_random_uuid(), 'x', %s)`
		points  = `insert into scheduling.loyalty_entries (org_id, id, client_id, source, type, points, balance_after) values (@org, gen_random_uuid(), @client, gen_random_uuid()::text, %s)`
	)
	for _, test := range []struct{ sql, good, bad string }{
		{setting, "slot_interval_minutes = 5", "slot_interval_minutes = 4"},
		{setting, "max_bookings_per_day = null", "max_bookings_per_day = 0"},
		{setting, "reminder_offsets_minutes = '{10,20160}'", "reminder_offsets_minutes = '{9}'"},
		{setting, "reminder_offsets_minutes = '{}'", "reminder_offsets_minutes = '{10,11,12,13,14,15}'"},
		{setting, "reminder_channels = '{whatsapp,email}'", "reminder_channels = '{sms}'"},
		{setting, `booking_page = '{"show_prices": true}'`, `booking_page = '[]'`},
		{service, "60, 1000, true, 1000", "60, 1000, true, 1001"},
		{service, "60, 1000, true, 1", "60, 1000, true, 0"},
		{service, "60, 1000, false, null", "60, 1000, true, null"},
		{service, "60, 1000, false, null", "60, 1000, false, 500"},
		{service, "5, 0, false, null", "4, 0, false, null"},
		{service, "1440, 9999999999, false, null", "1440, 10000000000, false, null"},
		{rule, "6, 0, 1439, null, null", "7, 0, 1439, null, null"},
		{rule, "0, 540, 541, null, null", "0, 540, 540, null, null"},
		{rule, "0, 540, 1439, null, null", "0, 540, 1440, null, null"},
		{rule, "0, 540, 720, 1140, 1200", "0, 540, 720, 1200, 1140"},
		{rule, "0, 540, 720, 600, 610", "0, 540, 720, 600, null"},
		{exception, "'block', null, null", "'block', 540, null"},
		{exception, "'extra', 540, 600", "'extra', 600, 540"},
		{exception, "'extra', 540, 600", "'holiday', 540, 600"},
		{appointment, "'scheduled', now(), now() + interval '1 hour', null, null, null, null", "'scheduled', now(), now(), null, null, null, null"},
		{appointment, "'scheduled', now(), now() + interval '24 hours', null, null, null, null", "'scheduled', now(), now() + interval '25 hours', null, null, null, null"},
		{appointment, "'cancelled', now(), now() + interval '1 hour', now(), 'client', null, null", "'cancelled', now(), now() + interval '1 hour', null, null, null, null"},
		{appointment, "'cancelled', now(), now() + interval '1 hour', now(), 'system', null, null", "'cancelled', now(), now() + interval '1 hour', now(), null, null, null"},
		{appointment, "'completed', now(), now() + interval '1 hour', null, null, now(), null", "'confirmed', now(), now() + interval '1 hour', null, null, now(), null"},
		{appointment, "'no_show', now(), now() + interval '1 hour', null, null, null, now()", "'noshow', now(), now() + interval '1 hour', null, null, null, now()"},
		{deposit, "'pending', 1000, now()", "'pending', 1000, null"},
		{deposit, "'paid', 1000, null", "'paid', null, null"},
		{payment, "100, 'paid', now(), 0", "0, 'paid', now(), 0"},
		{payment, "100, 'pending', null, 0", "100, 'paid', null, 0"},
		{payment, "100, 'paid', now(), 99", "100, 'paid', now(), 101"},
		{payment, "100, 'refunded', now(), 100", "100, 'paid', now(), 100"},
		{payment, "100, 'expired', null, 0", "100, 'expired', null, 50"},
		{reward, "10, 'percent_discount', 10000", "10, 'percent_discount', 10001"},
		{reward, "10, 'free_service', 0", "10, 'fixed_discount', 0"},
		{points, "'earn', 10, 10", "'earn', -10, 0"},
		{points, "'redeem', -10, 0", "'redeem', -10, -10"},
	} {
		_, err := s.db.Exec(t.Context(), fmt.Sprintf(test.sql, test.good), pgx.NamedArgs(ids))
		require.NoError(t, err, test.good)
		_, err = s.db.Exec(t.Context(), fmt.Sprintf(test.sql, test.bad), pgx.NamedArgs(ids))
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused, test.bad)
		require.Equal(t, "23514", refused.Code, "%s: %v", test.bad, err)
	}
}

func TestSlugsAndEmailsAreUnique(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	for _, test := range []struct{ sql, code string }{
		{`insert into scheduling.organizations (id, name, slug) values ($1, 'Other', 'studio-' || $2::text)`, "23505"},
		{`insert into scheduling.organizations (id, name, slug) select $1, 'Other', 'docs' where $2::uuid is not null`, "23514"},
		{`insert into scheduling.organizations (id, name, slug) select $1, 'Other', 'a--b' where $2::uuid is not null`, "23514"},
	} {
		_, err := s.db.Exec(t.Context(), test.sql, uuid.New(), s.org)
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused, test.sql)
		require.Equal(t, test.code, refused.Code, test.sql)
	}
	other := newStudio(t)
	_, err := s.db.Exec(t.Context(), `insert into scheduling.users (org_id, id, name, email, role) values ($1, $2, 'Eva', upper($3), 'owner')`,
		other.org, uuid.New(), s.user.String()+"@example.com")
	require.ErrorContains(t, err, "users_email", "among all organizations, whatever the case")
}

func TestSearchFormRemovesAccents(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	s.exec(`update scheduling.clients set name = 'Conceição ÁVILA Nuñez', phone = '+55 (11) 98765-4321' where org_id = $1`, s.org)
	var name, digits string
	require.NoError(t, s.db.QueryRow(t.Context(), `select name_search, phone_digits from scheduling.clients where org_id = $1`, s.org).Scan(&name, &digits))
	require.Equal(t, "conceicao avila nunez", name)
	require.Equal(t, "5511987654321", digits)
}

func TestLoyaltyEntriesAreAppendOnly(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	earn := func() error {
		_, err := s.db.Exec(t.Context(), `insert into scheduling.loyalty_entries (org_id, id, client_id, type, points, balance_after, source)
			values ($1, $2, $3, 'earn', 10, 10, 'payment ' || $4::text)`, s.org, uuid.New(), s.client, s.payment)
		return err
	}
	require.NoError(t, earn())
	require.ErrorContains(t, earn(), "loyalty_entries_org_id_type_source_key", "once for one payment")
	for _, sql := range []string{`update scheduling.loyalty_entries set points = 20 where org_id = $1`, `delete from scheduling.loyalty_entries where org_id = $1`} {
		_, err := s.db.Exec(t.Context(), sql, s.org)
		require.ErrorContains(t, err, "append-only")
	}
}

func TestOnePendingChargePerPurpose(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	s.exec(`insert into scheduling.appointments (org_id, id, client_id, professional_id, service_id, start_at, end_at, price_cents, status, source)
		values ($1, $2, $3, $4, $5, $6, $6::timestamptz + interval '1 hour', 8000, 'scheduled', 'web')`, s.org, s.appointment, s.client, s.professional, s.cut, s.nine)
	charge := func(kind string, cents int) error {
		_, err := s.db.Exec(t.Context(), `insert into scheduling.payments (org_id, id, appointment_id, client_id, amount_cents, method, status, kind)
			values ($1, $2, $3, $4, $5, 'pix', 'pending', $6)`, s.org, uuid.New(), s.appointment, s.client, cents, kind)
		return err
	}
	require.NoError(t, charge("deposit", 1000))
	require.ErrorContains(t, charge("deposit", 1000), "payments_one_open_charge")
	require.NoError(t, charge("full", 1000))
	s.exec(`update scheduling.payments set status = 'expired' where org_id = $1`, s.org)
	require.NoError(t, charge("deposit", 1000))
}

// Clients who were erased before the migration lose the source_ids of their appointments.
func TestSourceIDsOfErasedClients(t *testing.T) {
	t.Parallel()
	text, err := fs.ReadFile(migrations.FS(), "00091_erased_source_ids.sql")
	require.NoError(t, err)
	for _, isErased := range []bool{true, false} {
		s := newStudio(t)
		require.NoError(t, s.book(booking{}))
		s.exec(`update scheduling.appointments set source = 'integration', source_id = 'clinic:5511987654321' where org_id = $1`, s.org)
		s.exec(`update scheduling.clients set anonymized_at = case when $2 then now() end where org_id = $1`, s.org, isErased)
		s.exec(string(text))
		var isCleared bool
		require.NoError(t, s.db.QueryRow(t.Context(), `select source_id is null from scheduling.appointments where org_id = $1`, s.org).Scan(&isCleared))
		require.Equal(t, isErased, isCleared)
	}
}
