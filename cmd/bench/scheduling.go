package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// What the scheduling scenario finds out; p95 is over HTTP.
const (
	figureDay       = "day_p95_ms"
	figureMonth     = "month_p95_ms"
	figureBooking   = "booking_p95_ms"
	figureDashboard = "dashboard_p95_ms"
	figureEngine    = "month_engine_ms"      // CPU of the rules for one month
	figureMonthCPU  = "month_service_cpu_ms" // of the hub process for one answer, all of it
	figureDoubles   = "doubles"
	figureOtherLoad = "other_load_cores" // that processes outside the run kept busy
)

// How often each kind of request of the scheduling scenario is made.
const (
	schedulingRounds = 300
	bookingRounds    = 20
	bookingRivals    = 50 // guests who want one slot at the same moment
)

// trustLoopback lets the generator stand for many clients, whose addresses it names:
// requests without credentials are limited by address.
var trustLoopback = []string{"HUB_TRUSTED_PROXIES=127.0.0.1/32"}

// measureScheduling asks the scheduling service for free times and figures, one request
// at a time, and then has guests fight for slots.
func measureScheduling(ctx context.Context, b *bench) (*Result, error) {
	g := &gatewayService{bench: b, environ: trustLoopback}
	st, err := openStage(ctx, b, g, 1)
	if err != nil {
		return nil, err
	}
	defer st.close()
	d := &desk{gateway: g, client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: bookingRivals}}}
	began := time.Now()
	if err := d.furnish(ctx, st.cluster.databaseURL); err != nil {
		return nil, err
	}
	fmt.Fprintf(b.notes, "loaded %d and %d appointments in %s\n", monthAppointments, yearAppointments, time.Since(began).Round(time.Second))
	result := &Result{Figures: make(map[string]float64)}
	first, err := st.readCPU()
	if err != nil {
		return nil, err
	}
	for _, q := range d.questions() {
		before, err := st.readCPU()
		if err != nil {
			return nil, err
		}
		timing, err := d.askAgain(ctx, q)
		if err != nil {
			return nil, err
		}
		after, err := st.readCPU()
		if err != nil {
			return nil, err
		}
		result.Queries = append(result.Queries, timing)
		if timing.Judged {
			result.Figures[q.figure] = max(result.Figures[q.figure], timing.P95)
		}
		if q.figure == figureMonth {
			used := after.parts[partService] - before.parts[partService]
			result.Figures[figureMonthCPU] = used.Seconds() * 1000 / schedulingRounds
		}
	}
	if err := d.contend(ctx, result); err != nil {
		return nil, err
	}
	last, err := st.readCPU()
	if err != nil {
		return nil, err
	}
	result.Figures[figureOtherLoad] = otherLoad(first, last)
	if result.Figures[figureEngine], err = engineTime(ctx); err != nil {
		return nil, err
	}
	doubles, err := d.countDoubles(ctx, st.cluster.databaseURL)
	if err != nil {
		return nil, err
	}
	if result.Figures[figureDoubles] = float64(doubles); doubles > 0 {
		return result, errors.Join(errUnsound, fmt.Errorf("%d pairs of appointments overlap", doubles))
	}
	return result, nil
}

// engineBenchmark is the rules' own benchmark of the month that is asked for over HTTP.
var engineBenchmark = regexp.MustCompile(`(?m)^BenchmarkMonth50Professionals10000Appointments\S*\s+\d+\s+(\d+) ns/op`)

// engineTime runs it; the rules do nothing but compute, so their time is CPU time.
func engineTime(ctx context.Context) (milliseconds float64, err error) {
	run := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^BenchmarkMonth50", "-benchtime", "500x", "integrationhub/scheduling/internal/booking")
	out, err := run.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("running the engine's benchmark: %w\n%s", err, out)
	}
	found := engineBenchmark.FindSubmatch(out)
	if found == nil {
		return 0, fmt.Errorf("running the engine's benchmark: no figure in\n%s", out)
	}
	nanoseconds, err := strconv.ParseFloat(string(found[1]), 64)
	return nanoseconds / 1e6, err
}

// desk is the scheduling service as its clients and its staff use it.
type desk struct {
	gateway *gatewayService
	client  *http.Client
	guests  int // that have been somebody so far

	month   salon // with a busy month
	year    salon // with a busy year
	fought  salon // with one professional everybody wants
	workday time.Time
}

// salon is an organization of the scheduling service.
type salon struct{ slug, token, org, service, professional, client string }

// deskQuestion is a request that is timed.
type deskQuestion struct {
	name, figure, path, token string // figure "" = no goal
	rounds                    int
}

func (d *desk) questions() []deskQuestion {
	m, day, month := d.month, d.workday.Format(time.DateOnly), d.workday.Format("2006-01")
	public := base + "/public/book/" + m.slug + "/availability?service_id=" + m.service
	return []deskQuestion{
		{"a day of one professional, as a client", figureDay, public + "&professional_id=" + m.professional + "&date=" + day, "", schedulingRounds},
		{"a day of one professional, as staff", figureDay, base + "/availability?service_id=" + m.service + "&professional_id=" + m.professional + "&date=" + day, m.token, schedulingRounds},
		{"a month of 50 professionals, 10,000 appointments", figureMonth, base + "/availability/month?service_id=" + m.service + "&month=" + month, "", schedulingRounds},
		{"dashboard of the month, of 100,000 appointments", figureDashboard, base + "/reports/dashboard", d.year.token, schedulingRounds},
		{"dashboard of the year, with all 100,000 appointments in it", "", base + "/reports/dashboard?period=year", d.year.token, schedulingRounds / 10},
	}
}

// base is where the service lies in the hub.
const base = "/scheduling/api/v1"

// askAgain makes one kind of request many times, after some that do not count.
func (d *desk) askAgain(ctx context.Context, q deskQuestion) (QueryTiming, error) {
	const first = 10
	timing := QueryTiming{Query: q.name, Judged: q.figure != ""}
	spans := make([]time.Duration, 0, q.rounds)
	for round := range first + q.rounds {
		status, raw, took, err := d.send(ctx, http.MethodGet, q.path, q.token, nil)
		if err != nil {
			return timing, err
		}
		if status != http.StatusOK {
			return timing, fmt.Errorf("asking for %s: %d: %s", q.name, status, raw)
		}
		if round >= first {
			spans = append(spans, took)
		}
		timing.Rows = 1
	}
	timing.set(spans)
	return timing, nil
}

// send makes a request as somebody with a token, or without one as a guest who has not
// been seen before.
func (d *desk) send(ctx context.Context, method, path, token string, body any) (status int, answer []byte, took time.Duration, err error) {
	d.guests++
	return d.sendFrom(ctx, d.guests, method, path, token, body)
}

func (d *desk) sendFrom(ctx context.Context, guest int, method, path, token string, body any) (status int, answer []byte, took time.Duration, err error) {
	var reader io.Reader = http.NoBody
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return 0, nil, 0, fmt.Errorf("writing request: %w", err)
		}
		reader = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, d.gateway.base+path, reader)
	if err != nil {
		return 0, nil, 0, fmt.Errorf("making request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Forwarded-For", fmt.Sprintf("203.%d.%d.%d", guest>>16&255, guest>>8&255, guest&255))
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	sent := time.Now()
	resp, err := d.client.Do(req)
	if err != nil {
		return 0, nil, 0, fmt.Errorf("calling the hub: %w", err)
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil, 0, fmt.Errorf("reading the hub's answer: %w", err)
	}
	return resp.StatusCode, answer, time.Since(sent), nil
}

// contend has guests book the same time, or one that overlaps it by a quarter of an
// hour, all at once, again and again. One of them may have it.
func (d *desk) contend(ctx context.Context, result *Result) error {
	timing := QueryTiming{Query: fmt.Sprintf("a booking that %d guests want at once", bookingRivals), Judged: true}
	var spans []time.Duration
	for round := range bookingRounds {
		at := d.workday.Add(time.Duration(round) * time.Hour)
		took, won, err := d.fight(ctx, at)
		if err != nil {
			return err
		}
		if won != 1 {
			return errors.Join(errUnsound, fmt.Errorf("%d guests have the slot of %s", won, at))
		}
		spans = append(spans, took...)
		timing.Rows++
	}
	timing.set(spans)
	result.Queries = append(result.Queries, timing)
	result.Figures[figureBooking] = timing.P95
	return nil
}

// fight is one slot that everybody wants.
func (d *desk) fight(ctx context.Context, at time.Time) (took []time.Duration, won int, err error) {
	var mu sync.Mutex
	var failed []error
	var rivals sync.WaitGroup
	start := make(chan struct{})
	for rival := range bookingRivals {
		d.guests++
		guest, begin := d.guests, at.Add(time.Duration(rival%2)*15*time.Minute)
		rivals.Go(func() {
			<-start
			status, raw, span, err := d.sendFrom(ctx, guest, http.MethodPost, base+"/public/book/"+d.fought.slug+"/appointments", "", map[string]any{
				"service_id": d.fought.service, "professional_id": d.fought.professional, "start_at": begin.Format(time.RFC3339),
				"client_name": fmt.Sprintf("Guest %d", guest), "client_phone": fmt.Sprintf("+55119%08d", guest),
			})
			mu.Lock()
			defer mu.Unlock()
			took = append(took, span)
			switch {
			case err != nil:
				failed = append(failed, err)
			case status == http.StatusCreated:
				won++
			case status != http.StatusConflict:
				failed = append(failed, fmt.Errorf("booking: %d: %s", status, raw))
			}
		})
	}
	close(start)
	rivals.Wait()
	return took, won, errors.Join(failed...)
}

// countDoubles counts pairs of appointments of one professional that overlap.
func (d *desk) countDoubles(ctx context.Context, databaseURL string) (doubles int, err error) {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return 0, fmt.Errorf("connecting to the hub's database: %w", err)
	}
	defer conn.Close(ctx)
	var booked int
	err = conn.QueryRow(ctx, `select
		(select count(*) from scheduling.appointments a join scheduling.appointments b
			on b.professional_id = a.professional_id and b.id > a.id and b.start_at < a.end_at and a.start_at < b.end_at
			where a.professional_id = $1 and a.status <> 'cancelled' and b.status <> 'cancelled'),
		(select count(*) from scheduling.appointments where professional_id = $1)`, d.fought.professional).Scan(&doubles, &booked)
	if err == nil && booked != bookingRounds {
		err = errors.Join(errUnsound, fmt.Errorf("%d bookings were answered 201, %d are stored", bookingRounds, booked))
	}
	if err != nil {
		return 0, fmt.Errorf("counting doubles: %w", err)
	}
	return doubles, nil
}
