package scheduling

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

	"integrationhub/cmd/bench/internal/hubapi"
	"integrationhub/cmd/bench/internal/reconcile"
	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/service"
	"integrationhub/cmd/bench/internal/stage"
	"integrationhub/cmd/bench/internal/usage"
)

// How often each kind of request of the scheduling scenario is made.
const (
	requestRounds = 300
	bookingRounds = 20
	rivalCount    = 50 // guests who want one slot at the same moment
)

// trustLoopback lets the generator stand for many clients, whose addresses it names:
// requests without credentials are limited by address.
var trustLoopback = []string{"HUB_TRUSTED_PROXIES=127.0.0.1/32"}

// Measure asks the scheduling service for free times and figures, one request
// at a time, and then has guests fight for slots.
func Measure(ctx context.Context, b *stage.Run) (*report.Result, error) {
	g := &service.Gateway{Programs: b.Programs, Settings: trustLoopback}
	st, err := stage.Open(ctx, b, g, 1)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	d := &bookingClient{api: &g.API, client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: rivalCount}}}
	began := time.Now()
	if err := d.setUp(ctx, st.Cluster.DatabaseURL); err != nil {
		return nil, err
	}
	fmt.Fprintf(b.Progress, "loaded %d and %d appointments in %s\n", monthAppointments, yearAppointments, time.Since(began).Round(time.Second))
	result := &report.Result{Figures: make(map[string]float64)}
	first, err := st.ReadCPU()
	if err != nil {
		return nil, err
	}
	for _, q := range d.requests() {
		before, err := st.ReadCPU()
		if err != nil {
			return nil, err
		}
		timing, err := d.measure(ctx, q)
		if err != nil {
			return nil, err
		}
		after, err := st.ReadCPU()
		if err != nil {
			return nil, err
		}
		result.Queries = append(result.Queries, timing)
		if timing.Judged {
			result.Figures[q.figure] = max(result.Figures[q.figure], timing.P95)
		}
		if q.figure == report.FigureMonth {
			used := after.Parts[report.PartService] - before.Parts[report.PartService]
			result.Figures[report.FigureMonthCPU] = used.Seconds() * 1000 / requestRounds
		}
	}
	if err := d.measureContention(ctx, result); err != nil {
		return nil, err
	}
	last, err := st.ReadCPU()
	if err != nil {
		return nil, err
	}
	result.Figures[report.FigureOtherLoad] = usage.OtherLoad(first, last)
	if result.Figures[report.FigureEngine], err = engineTime(ctx); err != nil {
		return nil, err
	}
	doubles, err := d.countDoubleBookings(ctx, st.Cluster.DatabaseURL)
	if err != nil {
		return nil, err
	}
	if result.Figures[report.FigureDoubleBookings] = float64(doubles); doubles > 0 {
		return result, errors.Join(reconcile.ErrUnsound, fmt.Errorf("%d pairs of appointments overlap", doubles))
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

// bookingClient is the scheduling service as its clients and its staff use it.
type bookingClient struct {
	api        *hubapi.Client
	client     *http.Client
	guestCount int // that have been somebody so far

	month     organization // with a busy month
	year      organization // with a busy year
	contested organization // with one professional everybody wants
	workday   time.Time
}

// organization is an organization of the scheduling service.
type organization struct{ slug, token, id, service, professional string }

// timedRequest is a request that is timed.
type timedRequest struct {
	name, figure, path, token string // figure "" = no goal
	rounds                    int
}

func (d *bookingClient) requests() []timedRequest {
	m, day, month := d.month, d.workday.Format(time.DateOnly), d.workday.Format("2006-01")
	public := basePath + "/public/book/" + m.slug + "/availability?service_id=" + m.service
	return []timedRequest{
		{"a day of one professional, as a client", report.FigureDay, public + "&professional_id=" + m.professional + "&date=" + day, "", requestRounds},
		{"a day of one professional, as staff", report.FigureDay, basePath + "/availability?service_id=" + m.service + "&professional_id=" + m.professional + "&date=" + day, m.token, requestRounds},
		{"a month of 50 professionals, 10,000 appointments", report.FigureMonth, basePath + "/availability/month?service_id=" + m.service + "&month=" + month, "", requestRounds},
		{"dashboard of the month, of 100,000 appointments", report.FigureDashboard, basePath + "/reports/dashboard", d.year.token, requestRounds},
		{"dashboard of the year, with all 100,000 appointments in it", "", basePath + "/reports/dashboard?period=year", d.year.token, requestRounds / 10},
	}
}

// basePath is where the service lies in the hub.
const basePath = "/scheduling/api/v1"

// measure makes one kind of request many times, after some that do not count.
func (d *bookingClient) measure(ctx context.Context, q timedRequest) (report.QueryTiming, error) {
	const first = 10
	timing := report.QueryTiming{Query: q.name, Judged: q.figure != ""}
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
	timing.SetDurations(spans)
	return timing, nil
}

// send makes a request as somebody with a token, or without one as a guest who has not
// been seen before.
func (d *bookingClient) send(ctx context.Context, method, path, token string, body any) (status int, answer []byte, took time.Duration, err error) {
	d.guestCount++
	return d.sendFrom(ctx, d.guestCount, method, path, token, body)
}

func (d *bookingClient) sendFrom(ctx context.Context, guest int, method, path, token string, body any) (status int, answer []byte, took time.Duration, err error) {
	var reader io.Reader = http.NoBody
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return 0, nil, 0, fmt.Errorf("writing request: %w", err)
		}
		reader = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, d.api.BaseURL+path, reader)
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

// measureContention has guests book the same time, or one that overlaps it by a quarter of an
// hour, all at once, again and again. One of them may have it.
func (d *bookingClient) measureContention(ctx context.Context, result *report.Result) error {
	timing := report.QueryTiming{Query: fmt.Sprintf("a booking that %d guests want at once", rivalCount), Judged: true}
	var spans []time.Duration
	for round := range bookingRounds {
		at := d.workday.Add(time.Duration(round) * time.Hour)
		took, won, err := d.raceForSlot(ctx, at)
		if err != nil {
			return err
		}
		if won != 1 {
			return errors.Join(reconcile.ErrUnsound, fmt.Errorf("%d guests have the slot of %s", won, at))
		}
		spans = append(spans, took...)
		timing.Rows++
	}
	timing.SetDurations(spans)
	result.Queries = append(result.Queries, timing)
	result.Figures[report.FigureBooking] = timing.P95
	return nil
}

// raceForSlot is one slot that everybody wants.
func (d *bookingClient) raceForSlot(ctx context.Context, at time.Time) (took []time.Duration, won int, err error) {
	var mu sync.Mutex
	var failed []error
	var rivals sync.WaitGroup
	start := make(chan struct{})
	for rival := range rivalCount {
		d.guestCount++
		guest, begin := d.guestCount, at.Add(time.Duration(rival%2)*15*time.Minute)
		rivals.Go(func() {
			<-start
			status, raw, span, err := d.sendFrom(ctx, guest, http.MethodPost, basePath+"/public/book/"+d.contested.slug+"/appointments", "", map[string]any{
				"service_id": d.contested.service, "professional_id": d.contested.professional, "start_at": begin.Format(time.RFC3339),
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

// countDoubleBookings counts pairs of appointments of one professional that overlap.
func (d *bookingClient) countDoubleBookings(ctx context.Context, databaseURL string) (doubles int, err error) {
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
		(select count(*) from scheduling.appointments where professional_id = $1)`, d.contested.professional).Scan(&doubles, &booked)
	if err == nil && booked != bookingRounds {
		err = errors.Join(reconcile.ErrUnsound, fmt.Errorf("%d bookings were answered 201, %d are stored", bookingRounds, booked))
	}
	if err != nil {
		return 0, fmt.Errorf("counting doubles: %w", err)
	}
	return doubles, nil
}
