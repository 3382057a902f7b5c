package migrations_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	rules "integrationhub/scheduling/internal/booking"
)

func TestNoDoubleBooking(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	require.NoError(t, s.book(booking{}))
	requireTaken(t, s.book(booking{}))
	requireTaken(t, s.book(booking{at: 15 * time.Minute}))
	requireTaken(t, s.book(booking{at: -59 * time.Minute}))
	requireTaken(t, s.book(booking{at: 10 * time.Minute, length: 10 * time.Minute}))
	requireTaken(t, s.book(booking{service: s.yoga, capacity: 3}))
	require.NoError(t, s.book(booking{at: time.Hour}), "the end is not part of it")
	require.NoError(t, s.book(booking{at: -time.Hour}))
	require.NoError(t, s.book(booking{status: "cancelled"}))
	require.NoError(t, s.book(booking{overbooked: true}), "the front desk insists")

	other := *s
	other.professional = uuid.New()
	other.exec(`insert into scheduling.professionals (org_id, id, name) values ($1, $2, 'Davi')`, s.org, other.professional)
	require.NoError(t, other.book(booking{}))
}

func TestClosedAppointmentsFreeTheirTime(t *testing.T) {
	t.Parallel()
	for status, set := range map[string]string{
		"cancelled": `cancelled_at = now(), cancelled_by = 'client'`,
		"no_show":   `no_show_at = now()`,
	} {
		s := newStudio(t)
		require.NoError(t, s.book(booking{}))
		s.exec(`update scheduling.appointments set status = $2, `+set+` where org_id = $1`, s.org, status)
		require.NoError(t, s.book(booking{}), status)
		_, err := s.db.Exec(t.Context(), `update scheduling.appointments set status = 'confirmed', cancelled_at = null, cancelled_by = null, no_show_at = null
			where org_id = $1 and status = $2`, s.org, status)
		requireTaken(t, err)
	}
	s := newStudio(t)
	require.NoError(t, s.book(booking{}))
	s.exec(`update scheduling.appointments set status = 'completed', completed_at = now() where org_id = $1`, s.org)
	requireTaken(t, s.book(booking{}))
}

func TestRescheduleCannotDoubleBook(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	require.NoError(t, s.book(booking{}))
	require.NoError(t, s.book(booking{at: 3 * time.Hour}))
	move := func(by time.Duration) error {
		_, err := s.db.Exec(t.Context(), `update scheduling.appointments set start_at = start_at + $3, end_at = end_at + $3 where org_id = $1 and start_at = $2`,
			s.org, s.nine, by)
		return err
	}
	requireTaken(t, move(150*time.Minute))
	requireTaken(t, move(3*time.Hour))
	require.NoError(t, move(15*time.Minute), "its own time is not in its way")
}

func TestGroupsFillUp(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	yoga := booking{service: s.yoga, capacity: 3}
	for seat := 1; seat <= 3; seat++ {
		yoga.seat = seat
		require.NoError(t, s.book(yoga))
		requireTaken(t, s.book(yoga))
	}
	yoga.seat = 4
	require.ErrorContains(t, s.book(yoga), "appointments_seat")
	yoga.seat, yoga.at = 2, 30*time.Minute
	requireTaken(t, s.book(yoga)) // overlaps the session without being it
	yoga.at, yoga.length = 0, 90*time.Minute
	requireTaken(t, s.book(yoga))
	requireTaken(t, s.book(booking{at: 45 * time.Minute}))
	s.exec(`update scheduling.appointments set status = 'cancelled', cancelled_at = now(), cancelled_by = 'staff' where org_id = $1 and seat = 2`, s.org)
	yoga.length = time.Hour
	require.NoError(t, s.book(yoga), "a seat given back can be given again")
}

// race books from 50 connections at the same moment and counts who got in. Whoever
// did not must have been refused because the time is taken, and for nothing else.
// moved is how many appointments there are anyway, where none is added.
func race(t *testing.T, s *studio, attempt func(n int) error, moved int) (got int) {
	t.Helper()
	const racers = 50
	start := make(chan struct{})
	results := make([]error, racers)
	var running sync.WaitGroup
	for n := range racers {
		running.Go(func() {
			<-start
			results[n] = attempt(n)
		})
	}
	close(start)
	running.Wait()
	for _, err := range results {
		if err == nil {
			got++
			continue
		}
		var byTheRules *rules.SlotTakenError
		if !errors.As(err, &byTheRules) {
			requireTaken(t, err)
		}
	}
	var stored int
	require.NoError(t, s.db.QueryRow(t.Context(), `select count(*) from scheduling.appointments where org_id = $1`, s.org).Scan(&stored))
	require.Equal(t, max(got, moved), stored)
	return got
}

func TestFiftyConcurrentBookingsOfOneSlot(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	require.Equal(t, 1, race(t, s, func(int) error { return s.book(booking{}) }, 0))
}

func TestFiftyConcurrentBookingsOfOverlappingSlots(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	got := race(t, s, func(n int) error { return s.book(booking{at: time.Duration(n%4) * 15 * time.Minute}) }, 0)
	require.Equal(t, 1, got)
}

func TestFiftyConcurrentBookingsOfThreeSeats(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	got := race(t, s, func(int) (err error) {
		for seat := 1; seat <= 3; seat++ {
			if err = s.book(booking{service: s.yoga, capacity: 3, seat: seat}); !isTaken(err) {
				return err
			}
		}
		return err
	}, 0)
	require.Equal(t, 3, got)
}

func TestFiftyConcurrentBookingsOfGroupsAndSingles(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	race(t, s, func(n int) error {
		if n%2 == 0 {
			return s.book(booking{at: 30 * time.Minute})
		}
		return s.book(booking{service: s.yoga, capacity: 3, seat: n%3 + 1})
	}, 0)
	var kinds int
	require.NoError(t, s.db.QueryRow(t.Context(), `select count(distinct service_id) from scheduling.appointments where org_id = $1`, s.org).Scan(&kinds))
	require.Equal(t, 1, kinds, "either the group or one client, never both")
}

func TestFiftyConcurrentReschedulesToOneSlot(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	for n := range 50 {
		require.NoError(t, s.book(booking{at: time.Duration(n+1) * 24 * time.Hour}))
	}
	got := race(t, s, func(n int) error {
		_, err := s.db.Exec(t.Context(), `update scheduling.appointments set start_at = $2, end_at = $3 where org_id = $1 and start_at = $4`,
			s.org, s.nine, s.nine.Add(time.Hour), s.nine.AddDate(0, 0, n+1))
		return err
	}, 50)
	require.Equal(t, 1, got)
}

// The rules decide under the professional's lock; then nobody runs into a
// constraint, and buffers hold, which no constraint knows.
func TestFiftyConcurrentBookingsWithRuleChecks(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	offer := rules.Offer{Service: s.cut, Duration: time.Hour, BufferAfter: 15 * time.Minute, Capacity: 1}
	var ranInto atomic.Int32
	got := race(t, s, func(n int) (err error) {
		defer func() {
			if isTaken(err) {
				ranInto.Add(1)
			}
		}()
		start := s.nine.Add(time.Duration(n%10) * 10 * time.Minute) // the ends of the first and the last are 90 minutes apart
		return pgx.BeginFunc(t.Context(), s.db, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), `select scheduling.lock_professional($1)`, s.professional); err != nil {
				return err
			}
			result, err := tx.Query(t.Context(), `select start_at, end_at, service_id from scheduling.appointments
				where org_id = $1 and professional_id = $2 and status in ('scheduled', 'confirmed', 'completed')`, s.org, s.professional)
			if err != nil {
				return err
			}
			busy, err := pgx.CollectRows(result, func(row pgx.CollectableRow) (rules.Busy, error) {
				busy := rules.Busy{BufferAfter: offer.BufferAfter}
				return busy, row.Scan(&busy.Start, &busy.End, &busy.Service)
			})
			if err != nil {
				return err
			}
			if rules.SeatsAt(start, offer, busy) == 0 {
				return rules.NewSlotTakenError(nil)
			}
			_, err = tx.Exec(t.Context(), insertAppointment, s.org, uuid.New(), s.client, s.professional, s.cut, start, start.Add(time.Hour), "scheduled", 1, 1, false)
			return err
		})
	}, 0)
	require.Positive(t, got)
	require.Zero(t, ranInto.Load())
	var near int
	require.NoError(t, s.db.QueryRow(t.Context(), `select count(*) from scheduling.appointments a join scheduling.appointments b using (org_id)
		where org_id = $1 and a.id <> b.id and a.start_at < b.end_at + interval '15 minutes' and b.start_at < a.end_at + interval '15 minutes'`, s.org).Scan(&near))
	require.Zero(t, near)
}

// Whatever could meet the constraint waits for the professional's lock first; what
// only ends or confirms an appointment waits for nobody.
func TestWritesOfOneProfessionalAreSerialized(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	require.NoError(t, s.book(booking{}))
	require.NoError(t, s.book(booking{at: 2 * time.Hour, status: "cancelled"}))
	holder, err := s.db.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = holder.Rollback(t.Context()) }() // releases the lock
	_, err = holder.Exec(t.Context(), `select scheduling.lock_professional($1)`, s.professional)
	require.NoError(t, err)

	const waited = "55P03" // lock_timeout
	for sql, code := range map[string]string{
		`insert into scheduling.appointments (org_id, id, client_id, professional_id, service_id, start_at, end_at, price_cents, status, source)
		 select org_id, gen_random_uuid(), client_id, professional_id, service_id, start_at, end_at, 0, status, source
		 from scheduling.appointments where org_id = $1 and status = 'scheduled'`: waited,
		`update scheduling.appointments set start_at = start_at + interval '5 minutes' where org_id = $1 and status = 'scheduled'`: waited,
		`update scheduling.appointments set overbooked = true where org_id = $1 and status = 'scheduled'`:                          waited,
		`update scheduling.appointments set status = 'confirmed', cancelled_at = null, cancelled_by = null
		 where org_id = $1 and status = 'cancelled'`: waited,
		`update scheduling.appointments set status = 'confirmed' where org_id = $1 and status = 'scheduled'`:                                                         "",
		`update scheduling.appointments set status = 'cancelled', cancelled_at = now(), cancelled_by = 'client' where org_id = $1 and status = 'scheduled'`:          "",
		`update scheduling.appointments set start_at = start_at + interval '1 hour', end_at = end_at + interval '1 hour' where org_id = $1 and status = 'cancelled'`: "",
	} {
		result, err := s.tryFor50ms(sql)
		if code == "" {
			require.NoError(t, err, sql)
			require.Equal(t, int64(1), result.RowsAffected())
		} else {
			var refused *pgconn.PgError
			require.ErrorAs(t, err, &refused, sql)
			require.Equal(t, code, refused.Code, sql)
		}
	}
}

// tryFor50ms runs a statement and takes it back, waiting no longer for locks.
func (s *studio) tryFor50ms(sql string) (result pgconn.CommandTag, err error) {
	tx, err := s.db.Begin(s.t.Context())
	require.NoError(s.t, err)
	defer func() { _ = tx.Rollback(s.t.Context()) }()
	_, err = tx.Exec(s.t.Context(), `set local lock_timeout = '50ms'`)
	require.NoError(s.t, err)
	return tx.Exec(s.t.Context(), sql, s.org)
}
