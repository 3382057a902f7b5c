package scheduling_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// unlimited lets a test's address ask as often as it likes.
const unlimited = "HUB_PRODUCT_LIMITS=scheduling.public-writes=100000-M,scheduling.public-reads=100000-M,scheduling.users=100000-M,scheduling.holds=100000-M"

// atOnce sends several requests together and gives their answers in the same order.
func atOnce(requests ...func() answer) []answer {
	answers := make([]answer, len(requests))
	var ready, done sync.WaitGroup
	ready.Add(1)
	for i, ask := range requests {
		done.Go(func() {
			ready.Wait()
			answers[i] = ask()
		})
	}
	ready.Done()
	done.Wait()
	return answers
}

// codes counts what answers say: their status, and the code of those that refuse.
func codes(answers []answer) map[string]int {
	counted := map[string]int{}
	for _, one := range answers {
		said := fmt.Sprint(one.status)
		if code, refused := one.body["code"].(string); refused {
			said += " " + code
		}
		counted[said]++
	}
	return counted
}

// spread are bookings of one person with everybody at every time of a Monday, all at once.
func (p *plan) spread(people []string, who object) []answer {
	g := p.guest()
	var requests []func() answer
	for _, professional := range people {
		for slot := range 6 {
			requests = append(requests, func() answer {
				wish := p.wish(time.Duration(slot) * 30 * time.Minute)
				wish["professional_id"] = professional
				for field, value := range who {
					wish[field] = value
				}
				got, _ := g.try("POST", p.public("/appointments"), wish)
				return got
			})
		}
	}
	return atOnce(requests...)
}

// Somebody who books for the first time, many times at once, is one client, and has no
// more bookings than are allowed.
func TestFirstBookingsAtOnceAreOfOneClient(t *testing.T) {
	t.Parallel()
	p := opened(t)
	people := []string{p.professional, p.studio.professional("Eva", p.service), p.studio.professional("Rui", p.service)}
	p.ok(200, "PUT", "/organization/settings", object{"max_active_bookings_per_client": 2, "require_client_phone": false})
	known := func(sql string, value string) int {
		return p.count("scheduling.clients where org_id = $1 and "+sql, p.org, value)
	}

	forms := []string{"11 98765-0000", "+55 11 8765-0000", "5511987650000"} // of one number
	got := map[string]int{}
	for i, answers := range [][]answer{p.spread(people, object{"client_phone": forms[0]}), p.spread(people, object{"client_phone": forms[1]})} {
		for said, n := range codes(answers) {
			got[said] += n
		}
		require.Equal(t, 1, known("phone_e164 like $2", "+5511%87650000"), "round %d", i)
	}
	require.Equal(t, 2, got["201"], got)
	require.Equal(t, 36, got["201"]+got["409 too_many_bookings"]+got["409 slot_unavailable"], got)

	// Who leaves no phone number is known by the e-mail address.
	got = codes(p.spread(people, object{"client_phone": nil, "client_email": "Ada@Example.com"}))
	require.Equal(t, 2, got["201"], got)
	require.Equal(t, 1, known("lower(email) = $2", "ada@example.com"))
	again := p.wish(24 * time.Hour)
	again["client_phone"], again["client_email"] = nil, "ada@example.com"
	p.guest().refused(409, "too_many_bookings", "POST", p.public("/appointments"), again)
	// Bookings are counted under something.
	delete(again, "client_email")
	p.guest().invalid("body.client_phone", "POST", p.public("/appointments"), again)
	p.ok(200, "PUT", "/organization/settings", object{"max_active_bookings_per_client": nil})
	p.guest().ok(201, "POST", p.public("/appointments"), again)
}

// Whatever is done at once to one client and the same professionals, nobody waits for
// each other in a circle: every path takes its locks in one order.
func TestNobodyWaitsInACircle(t *testing.T) {
	t.Parallel()
	p := opened(t, unlimited)
	p.ok(200, "PUT", "/organization/settings", object{"max_active_bookings_per_client": 50, "waitlist_enabled": true})
	p.ok(200, "PUT", "/loyalty/config", object{"enabled": true, "accrual_type": "visit", "points_per_visit": 10})
	people := []string{p.professional, p.studio.professional("Eva", p.service), p.studio.professional("Rui", p.service)}
	phone := p.wish(0)["client_phone"]
	me := p.ok(201, "POST", "/clients", object{"name": "Gil", "phone": phone})["id"].(string)
	program := p.ok(200, "PUT", "/loyalty/config", object{"rewards": []object{{"name": "R", "points": 1, "type": "fixed_discount", "value": 1}}})
	c := &crowd{plan: p, people: people, me: me, reward: program["rewards"].([]any)[0].(object)["id"].(string)}
	const workers, rounds = 12, 40
	requests := make([]func() answer, workers)
	for w := range workers {
		requests[w] = func() answer { return c.meddle(rand.New(rand.NewPCG(1, uint64(w))), rounds) }
	}
	for _, worst := range atOnce(requests...) {
		require.Less(t, worst.status, 500, worst.text)
	}
	require.Zero(t, deadlocks(t, p.hub.Host.Pool))
}

// crowd is many who do something to one client and a few professionals at once.
type crowd struct {
	*plan
	people     []string
	me, reward string
	booked     sync.Map
}

// meddle does something at random many times, and gives the first answer that is a
// failure of the service, else the last.
func (p *crowd) meddle(r *rand.Rand, rounds int) (last answer) {
	g := p.guest()
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
		method, path, body, as := "POST", "/appointments/"+some(), any(nil), p.plan
		switch n := r.IntN(17); n {
		case 0, 1, 2:
			wish := p.wish(start)
			if wish["professional_id"] = person; n == 0 {
				delete(wish, "professional_id")
			}
			path, body, as = p.public("/appointments"), wish, g
		case 3:
			draft := p.draft(start)
			draft["client_id"], draft["professional_id"] = p.me, person
			path, body = "/appointments", draft
		case 4, 5:
			path += "/complete"
		case 6:
			path += "/noshow"
		case 7, 8:
			path += "/reopen"
		case 9:
			path, body = path+"/reschedule", object{"start_at": p.at(start), "professional_id": person}
		case 10:
			path, body = path+"/cancel", object{}
		case 11:
			path, body = "/payments", object{"client_id": p.me, "appointment_id": some(), "amount": 1, "method": "cash"}
		case 12:
			path, body = "/loyalty/clients/"+p.me+"/adjust", object{"points": 1, "reason": "x"}
		case 13:
			method, path, body = "PUT", "/clients/"+p.me, object{"notes": "x"}
		case 14:
			path, body, as = p.public("/waitlist"), object{
				"service_id": p.service, "first_date": "2026-03-02", "last_date": "2026-03-06", "client_name": "Gil", "client_phone": "11 98765-0000", "client_email": "gil@example.com",
			}, g
		case 15:
			path, body = "/loyalty/clients/"+p.me+"/redeem", object{"reward_id": p.reward, "appointment_id": some()}
		case 16:
			method, body = "PUT", object{"client_id": []string{p.me, p.client}[r.IntN(2)], "price": r.IntN(100)}
		}
		got, err := as.try(method, path, body)
		if err != nil {
			return answer{status: 599, text: err.Error()}
		}
		if got.status >= 500 {
			got.text = method + " " + path + ": " + got.text
			return got
		}
		for _, field := range []string{"id", "appointment_id"} {
			if id, made := got.body[field].(string); made && got.status == 201 && (path == "/appointments" || as == g) {
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
