package migrations_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the "pgx" driver goose works through
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/scheduling/migrations"
)

func TestMain(m *testing.M) {
	hubtest.Main(m, func() {
		if shared.pool != nil {
			shared.pool.Close()
		}
	})
}

// shared is one migrated database for all tests; each has organizations of its own.
var shared struct {
	once sync.Once
	pool *pgxpool.Pool
}

func up(t *testing.T, url string) {
	t.Helper()
	upTo(t, url, goose.MaxVersion)
}

// upTo applies the migrations up to a version.
func upTo(t *testing.T, url string, version int64) {
	t.Helper()
	db, err := sql.Open("pgx", url)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), `create schema if not exists scheduling`)
	require.NoError(t, err)
	provider, err := goose.NewProvider(goose.DialectPostgres, db, migrations.FS())
	require.NoError(t, err)
	_, err = provider.UpTo(t.Context(), version)
	require.NoError(t, err)
}

func database(t *testing.T) *pgxpool.Pool {
	t.Helper()
	shared.once.Do(func() {
		url := hubtest.DatabaseURL(hubtest.ForProcess(t))
		up(t, url)
		config, err := pgxpool.ParseConfig(url)
		require.NoError(t, err)
		config.MaxConns = 60 // of the races
		shared.pool, err = pgxpool.NewWithConfig(context.Background(), config)
		require.NoError(t, err)
	})
	require.NotNil(t, shared.pool)
	return shared.pool
}

// studio is an organization with what an appointment needs.
type studio struct {
	t                                          *testing.T
	db                                         *pgxpool.Pool
	org, user, client, professional, cut, yoga uuid.UUID
	payment, appointment, reward               uuid.UUID
	nine                                       time.Time
}

func newStudio(t *testing.T) *studio {
	t.Helper()
	return newStudioIn(t, database(t))
}

func newStudioIn(t *testing.T, db *pgxpool.Pool) *studio {
	t.Helper()
	s := &studio{
		t: t, db: db, org: uuid.New(), user: uuid.New(), client: uuid.New(), professional: uuid.New(), cut: uuid.New(), yoga: uuid.New(),
		payment: uuid.New(), appointment: uuid.New(), reward: uuid.New(), nine: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC),
	}
	s.exec(`insert into scheduling.organizations (id, name, slug) values ($1, 'Studio', $2)`, s.org, "studio-"+s.org.String())
	s.exec(`insert into scheduling.settings (org_id) values ($1)`, s.org)
	s.exec(`insert into scheduling.users (org_id, id, name, email, role) values ($1, $2, 'Ana', $3, 'owner')`, s.org, s.user, s.user.String()+"@example.com")
	s.exec(`insert into scheduling.services (org_id, id, name, duration_minutes) values ($1, $2, 'Cut', 60)`, s.org, s.cut)
	s.exec(`insert into scheduling.services (org_id, id, name, duration_minutes, capacity) values ($1, $2, 'Yoga', 60, 3)`, s.org, s.yoga)
	s.exec(`insert into scheduling.professionals (org_id, id, name, user_id) values ($1, $2, 'Bia', $3)`, s.org, s.professional, s.user)
	s.exec(`insert into scheduling.clients (org_id, id, name) values ($1, $2, 'Caio')`, s.org, s.client)
	return s
}

func (s *studio) exec(sql string, args ...any) {
	s.t.Helper()
	_, err := s.db.Exec(s.t.Context(), sql, args...)
	require.NoError(s.t, err)
}

// booking is one row to be inserted; its zero values mean the usual.
type booking struct {
	service    uuid.UUID
	at, length time.Duration // after nine; one hour
	status     string
	seat       int
	capacity   int
	overbooked bool
}

const insertAppointment = `insert into scheduling.appointments
	(org_id, id, client_id, professional_id, service_id, start_at, end_at, price_cents, status, source, capacity, seat, overbooked, cancelled_at, cancelled_by)
	values ($1, $2, $3, $4, $5, $6, $7, 8000, $8, 'web', $9, $10, $11, case when $8 = 'cancelled' then now() end, case when $8 = 'cancelled' then 'staff' end)`

func (s *studio) book(booked booking) error {
	if booked.service == uuid.Nil {
		booked.service = s.cut
	}
	if booked.status == "" {
		booked.status = "scheduled"
	}
	if booked.length == 0 {
		booked.length = time.Hour
	}
	start := s.nine.Add(booked.at)
	_, err := s.db.Exec(s.t.Context(), insertAppointment, s.org, uuid.New(), s.client, s.professional, booked.service,
		start, start.Add(booked.length), booked.status, max(1, booked.capacity), max(1, booked.seat), booked.overbooked)
	return err
}

// requireTaken wants the answer of one of the two guards of a professional's time.
func requireTaken(t *testing.T, err error) {
	t.Helper()
	var refused *pgconn.PgError
	require.ErrorAs(t, err, &refused)
	require.True(t, isTaken(err), "%s %s", refused.Code, refused.ConstraintName)
}

func isTaken(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && strings.HasPrefix(refused.ConstraintName, "appointments_no_double_")
}
