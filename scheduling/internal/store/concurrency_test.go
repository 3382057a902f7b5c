package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/scheduling/internal/schedulingtest"
)

// Fifty concurrent bookings of one time, and of times that overlap by 15 minutes.
func TestFiftyConcurrentRequestsBookOnce(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	for round, apart := range []time.Duration{0, 15 * time.Minute} {
		results := make(chan answer, 50)
		var ready, done sync.WaitGroup
		ready.Add(1)
		for i := range 50 {
			done.Go(func() {
				ready.Wait()
				draft := org.AppointmentBody(time.Duration(round)*24*time.Hour + time.Duration(i%2)*apart)
				got, err := org.Try("POST", "/appointments", draft)
				if err != nil {
					got.Text = err.Error()
				}
				results <- got
			})
		}
		ready.Done()
		done.Wait()
		created := 0
		for range 50 {
			switch got := <-results; got.Status {
			case 201:
				created++
			default:
				require.Equal(t, 409, got.Status, got.Text)
				require.Equal(t, "slot_unavailable", got.Body["code"])
			}
		}
		require.Equal(t, 1, created)
		require.Len(t, org.List(fmt.Sprintf("/appointments?date=2026-03-0%d", 2+round)), 1)
	}
}

// Bulk writes take the same number of statements for any number of rows.
func TestBulkWritesUseAFixedNumberOfStatements(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	var ids []string
	for n := range 30 {
		ids = append(ids, org.OK(201, "POST", "/services", object{"name": fmt.Sprint("S", n), "duration_minutes": 30})["id"].(string))
	}
	eva, gil := org.AddUnscheduledProfessional("Eva"), org.AddUnscheduledProfessional("Gil")
	queries := func(method, path string, body any) int64 {
		before := org.Hub.QueryCount.Load()
		got := org.Call(method, path, body)
		require.Less(t, got.Status, 300, got.Text)
		return org.Hub.QueryCount.Load() - before
	}
	exceptions := func(to string) object {
		return object{"professional_id": org.ProfessionalID, "date": "2027-01-01", "date_to": to, "exception_type": "block", "start_time": "09:00", "end_time": "10:00", "reason": "Fair"}
	}
	require.Equal(t, queries("POST", "/schedule-exceptions", exceptions("2027-01-02")), queries("POST", "/schedule-exceptions", exceptions("2027-12-31")))
	march := org.List("/schedule-exceptions?month=2027-03")
	require.Len(t, march, 31)
	require.Equal(t, "2027-03-31", march[30]["date"])
	require.Equal(t, "09:00", march[30]["start_time"])

	few := queries("PUT", "/services/reorder", object{"service_ids": ids[28:]})
	require.Equal(t, few, queries("PUT", "/services/reorder", object{"service_ids": ids}))
	require.Equal(t, append(ids, org.ServiceID), schedulingtest.IDsOf(org.List("/services")))

	few = queries("PUT", "/professionals/"+eva+"/services", object{"service_ids": ids[:2]})
	require.Equal(t, few, queries("PUT", "/professionals/"+eva+"/services", object{"service_ids": ids, "overrides": object{
		ids[7]: object{"custom_duration": 45}, ids[8]: object{"custom_price": 0},
	}}))
	given := org.List("/professionals/" + eva + "/services")
	require.Len(t, given, 30)
	for _, entry := range given {
		duration, price := any(nil), any(nil)
		switch entry["service_id"] {
		case ids[7]:
			duration = 45.0
		case ids[8]:
			price = 0.0
		}
		require.Equal(t, []any{duration, price}, []any{entry["custom_duration"], entry["custom_price"]})
	}

	org.OK(200, "PUT", "/schedule-rules/"+org.List("/schedule-rules?professional_id=" + org.ProfessionalID)[0]["id"].(string), object{"break_start": "10:00", "break_end": "10:30"})
	few = queries("POST", "/schedule-rules/copy/"+org.ProfessionalID+"/"+eva, nil)
	for range 3 {
		org.OK(201, "POST", "/schedule-rules/copy/"+eva+"/"+org.ProfessionalID+"?mode=append", nil)
	}
	require.Equal(t, few, queries("POST", "/schedule-rules/copy/"+org.ProfessionalID+"/"+gil, nil))
	copied := org.List("/schedule-rules?professional_id=" + gil)
	require.Len(t, copied, 20)
	require.Equal(t, []any{"10:00", "10:30", "09:00", "12:00"}, []any{copied[0]["break_start"], copied[0]["break_end"], copied[0]["start_time"], copied[0]["end_time"]})
}

// Renaming a service or professional does not wait for uncommitted bookings that refer
// to it.
func TestRenamingDoesNotWaitForBookings(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	wash := org.OK(201, "POST", "/services", object{"name": "Wash", "duration_minutes": 30})["id"].(string)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	require.NoError(t, pgx.BeginFunc(ctx, org.Hub.Host.Pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `insert into scheduling.appointments (org_id, id, client_id, professional_id, service_id, start_at, end_at, price_cents, status, source)
			values ($1, $2, $3, $4, $5, $6, $7, 0, 'scheduled', 'web')`, org.ID, uuid.New(), org.ClientID, org.ProfessionalID, org.ServiceID, schedulingtest.Monday, schedulingtest.Monday.Add(time.Hour))
		require.NoError(t, err)
		org.OK(200, "PUT", "/services/"+org.ServiceID, object{"name": "Trim"})
		org.OK(200, "PUT", "/services/"+wash, object{"name": "Rinse"})
		require.Equal(t, 200, org.Call("PUT", "/services/reorder", object{"service_ids": []string{wash, org.ServiceID}}).Status)
		org.OK(200, "PUT", "/professionals/"+org.ProfessionalID, object{"name": "Ann"})
		return nil
	}))
	require.Equal(t, []string{"Rinse", "Trim"}, schedulingtest.NamesOf(org.List("/services")))
}

// spread books one person with every professional at every time of a Monday, all at once.
func spread(org *schedulingtest.Bookable, people []string, who object) []answer {
	guest := org.Guest()
	var requests []func() answer
	for _, professional := range people {
		for slot := range 6 {
			requests = append(requests, func() answer {
				request := org.BookingBody(time.Duration(slot) * 30 * time.Minute)
				request["professional_id"] = professional
				for field, value := range who {
					request[field] = value
				}
				got, _ := guest.Try("POST", org.PublicPath("/appointments"), request)
				return got
			})
		}
	}
	return moduletest.Concurrently(requests...)
}

// Concurrent first bookings of one person create one client, with no more bookings than
// the limit.
func TestConcurrentFirstBookingsCreateOneClient(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	people := []string{org.ProfessionalID, org.AddProfessional("Eva", org.ServiceID), org.AddProfessional("Rui", org.ServiceID)}
	org.OK(200, "PUT", "/organization/settings", object{"max_active_bookings_per_client": 2, "require_client_phone": false})
	known := func(sql string, value string) int {
		return org.Count("scheduling.clients where org_id = $1 and "+sql, org.ID, value)
	}

	forms := []string{"11 98765-0000", "+55 11 8765-0000", "5511987650000"} // of one number
	got := map[string]int{}
	for i, answers := range [][]answer{spread(org, people, object{"client_phone": forms[0]}), spread(org, people, object{"client_phone": forms[1]})} {
		for said, n := range moduletest.CountCodes(answers) {
			got[said] += n
		}
		require.Equal(t, 1, known("phone_e164 like $2", "+5511%87650000"), "round %d", i)
	}
	require.Equal(t, 2, got["201"], got)
	require.Equal(t, 36, got["201"]+got["409 too_many_bookings"]+got["409 slot_unavailable"], got)

	// Without a phone number the e-mail address identifies the client.
	got = moduletest.CountCodes(spread(org, people, object{"client_phone": nil, "client_email": "Ada@Example.com"}))
	require.Equal(t, 2, got["201"], got)
	require.Equal(t, 1, known("lower(email) = $2", "ada@example.com"))
	again := org.BookingBody(24 * time.Hour)
	again["client_phone"], again["client_email"] = nil, "ada@example.com"
	org.Guest().Refused(409, "too_many_bookings", "POST", org.PublicPath("/appointments"), again)
	// Bookings are counted under something.
	delete(again, "client_email")
	org.Guest().Invalid("body.client_phone", "POST", org.PublicPath("/appointments"), again)
	org.OK(200, "PUT", "/organization/settings", object{"max_active_bookings_per_client": nil})
	org.Guest().OK(201, "POST", org.PublicPath("/appointments"), again)
}

// Concurrent operations on the same clients and professionals cause no deadlock: every
// path takes its locks in one order.
func TestNoDeadlocks(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t, schedulingtest.Unlimited)
	org.OK(200, "PUT", "/organization/settings", object{"max_active_bookings_per_client": 50, "waitlist_enabled": true})
	org.OK(200, "PUT", "/loyalty/config", object{"enabled": true, "accrual_type": "visit", "points_per_visit": 10})
	people := []string{org.ProfessionalID, org.AddProfessional("Eva", org.ServiceID), org.AddProfessional("Rui", org.ServiceID)}
	phone := org.BookingBody(0)["client_phone"]
	me := org.OK(201, "POST", "/clients", object{"name": "Gil", "phone": phone})["id"].(string)
	program := org.OK(200, "PUT", "/loyalty/config", object{"rewards": []object{{"name": "R", "points": 1, "type": "fixed_discount", "value": 1}}})
	c := &crowd{Bookable: org, people: people, me: me, reward: program["rewards"].([]any)[0].(object)["id"].(string)}
	const workers, rounds = 12, 40
	requests := make([]func() answer, workers)
	for w := range workers {
		requests[w] = func() answer { return c.runRandomOperations(rand.New(rand.NewPCG(1, uint64(w))), rounds) }
	}
	for _, worst := range moduletest.Concurrently(requests...) {
		require.Less(t, worst.Status, 500, worst.Text)
	}
	require.Zero(t, deadlocks(t, org.Hub.Host.Pool))
}

// crowd runs random operations on two clients and a few professionals.
type crowd struct {
	*schedulingtest.Bookable
	people     []string
	me, reward string
	booked     sync.Map
}

// runRandomOperations returns the first response that is a failure of the service, else
// the last.
func (p *crowd) runRandomOperations(r *rand.Rand, rounds int) (last answer) {
	guest := p.Guest()
	some := func() string {
		found := "00000000-0000-0000-0000-000000000000"
		n := r.IntN(20)
		p.booked.Range(func(id, _ any) bool {
			found = id.(string)
			n--
			return n > 0
		})
		return found
	}
	for range rounds {
		start := time.Duration(r.IntN(5))*24*time.Hour + time.Duration(r.IntN(6))*30*time.Minute
		person := p.people[r.IntN(len(p.people))]
		method, path, body, as := "POST", "/appointments/"+some(), any(nil), p.Bookable
		switch n := r.IntN(17); n {
		case 0, 1, 2:
			request := p.BookingBody(start)
			if request["professional_id"] = person; n == 0 {
				delete(request, "professional_id")
			}
			path, body, as = p.PublicPath("/appointments"), request, guest
		case 3:
			draft := p.AppointmentBody(start)
			draft["client_id"], draft["professional_id"] = p.me, person
			path, body = "/appointments", draft
		case 4, 5:
			path += "/complete"
		case 6:
			path += "/noshow"
		case 7, 8:
			path += "/reopen"
		case 9:
			path, body = path+"/reschedule", object{"start_at": p.At(start), "professional_id": person}
		case 10:
			path, body = path+"/cancel", object{}
		case 11:
			path, body = "/payments", object{"client_id": p.me, "appointment_id": some(), "amount": 1, "method": "cash"}
		case 12:
			path, body = "/loyalty/clients/"+p.me+"/adjust", object{"points": 1, "reason": "x"}
		case 13:
			method, path, body = "PUT", "/clients/"+p.me, object{"notes": "x"}
		case 14:
			path, body, as = p.PublicPath("/waitlist"), object{
				"service_id": p.ServiceID, "first_date": "2026-03-02", "last_date": "2026-03-06", "client_name": "Gil", "client_phone": "11 98765-0000", "client_email": "gil@example.com",
			}, guest
		case 15:
			path, body = "/loyalty/clients/"+p.me+"/redeem", object{"reward_id": p.reward, "appointment_id": some()}
		case 16:
			method, body = "PUT", object{"client_id": []string{p.me, p.ClientID}[r.IntN(2)], "price": r.IntN(100)}
		}
		got, err := as.Try(method, path, body)
		if err != nil {
			return answer{Status: 599, Text: err.Error()}
		}
		if got.Status >= 500 {
			got.Text = method + " " + path + ": " + got.Text
			return got
		}
		for _, field := range []string{"id", "appointment_id"} {
			if id, created := got.Body[field].(string); created && got.Status == 201 && (path == "/appointments" || as == guest) {
				p.booked.Store(id, true)
			}
		}
		last = got
	}
	return last
}

// deadlocks are how many PostgreSQL had to break.
func deadlocks(t *testing.T, pool *pgxpool.Pool) (n int) {
	t.Helper()
	hubtest.FlushStatistics(t, pool)
	require.NoError(t, pool.QueryRow(t.Context(), `select deadlocks from pg_stat_database where datname = current_database()`).Scan(&n))
	return n
}

// An action that waits while the appointment moves to another professional is carried out
// on the moved appointment.
func TestActionWaitsForAMoveToAnotherProfessional(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	other := org.AddUnscheduledProfessional("Eva")
	id := org.OK(201, "POST", "/appointments", org.AppointmentBody(0))["id"].(string)

	ctx := t.Context()
	move, err := org.Hub.Host.Pool.Begin(ctx)
	require.NoError(t, err)
	defer move.Rollback(context.WithoutCancel(ctx)) // does nothing after the commit below
	_, err = move.Exec(ctx, `select scheduling.lock_professional($1::uuid)`, org.ProfessionalID)
	require.NoError(t, err)
	confirmed := make(chan answer, 1)
	go func() {
		got, err := org.Try("POST", "/appointments/"+id+"/confirm", nil)
		if err != nil {
			got.Text = err.Error()
		}
		confirmed <- got
	}()
	require.Eventually(t, func() bool {
		var waiting int
		require.NoError(t, org.Hub.Host.Pool.QueryRow(ctx, `select count(*) from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())`).Scan(&waiting))
		return waiting == 1
	}, time.Minute, 10*time.Millisecond)
	_, err = move.Exec(ctx, `update scheduling.appointments set professional_id = $2, version = version + 1 where id = $1`, id, other)
	require.NoError(t, err)
	require.NoError(t, move.Commit(ctx))

	got := <-confirmed
	require.Equal(t, 200, got.Status, got.Text)
	require.Equal(t, "confirmed", got.Body["status"])
	require.Equal(t, other, got.Body["professional_id"])
}
