// Package scheduling has the scenario of the scheduling service: free times, dashboards and
// contended bookings.
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

// How often each kind of request is made.
const (
	requestRounds = 300
	bookingRounds = 20
	guestsPerSlot = 50 // guests who want one slot at the same moment
)

// trustLoopback lets each request name its client address: requests without credentials
// are limited by address.
var trustLoopback = []string{"HUB_TRUSTED_PROXIES=127.0.0.1/32"}

// Measure measures free times and dashboards, one request at a time, and then guests who
// book the same slots at once.
func Measure(ctx context.Context, run *stage.Run) (*report.Result, error) {
	gateway := &service.Gateway{Programs: run.Programs, Settings: trustLoopback}
	st, err := stage.Open(ctx, run, gateway, 1)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	client := &bookingClient{api: &gateway.API, client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: guestsPerSlot}}}
	began := time.Now()
	if err := client.setUp(ctx, st.Cluster.DatabaseURL); err != nil {
		return nil, err
	}
	fmt.Fprintf(run.Progress, "loaded %d and %d appointments in %s\n", monthAppointments, yearAppointments, time.Since(began).Round(time.Second))
	result := &report.Result{Figures: make(map[string]float64)}
	first, err := st.ReadCPU()
	if err != nil {
		return nil, err
	}
	for _, request := range client.requests() {
		before, err := st.ReadCPU()
		if err != nil {
			return nil, err
		}
		timing, err := client.measure(ctx, request)
		if err != nil {
			return nil, err
		}
		after, err := st.ReadCPU()
		if err != nil {
			return nil, err
		}
		result.Queries = append(result.Queries, timing)
		if timing.Judged {
			result.Figures[request.figure] = max(result.Figures[request.figure], timing.P95)
		}
		if request.figure == report.FigureMonth {
			used := after.Parts[report.PartService] - before.Parts[report.PartService]
			result.Figures[report.FigureMonthCPU] = used.Seconds() * 1000 / requestRounds
		}
	}
	if err := client.measureContention(ctx, result); err != nil {
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
	doubles, err := client.countDoubleBookings(ctx, st.Cluster.DatabaseURL)
	if err != nil {
		return nil, err
	}
	if result.Figures[report.FigureDoubleBookings] = float64(doubles); doubles > 0 {
		return result, errors.Join(reconcile.ErrUnsound, fmt.Errorf("%d pairs of appointments overlap", doubles))
	}
	return result, nil
}

// engineBenchmark matches the result of the rules' benchmark of the same month.
var engineBenchmark = regexp.MustCompile(`(?m)^BenchmarkMonth50Professionals10000Appointments\S*\s+\d+\s+(\d+) ns/op`)

// engineTime runs the benchmark. The rules only compute, so their time is CPU time.
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

// bookingClient calls the scheduling service as staff and as guests.
type bookingClient struct {
	api        *hubapi.Client
	client     *http.Client
	guestCount int // guests so far; each has its own address

	month     organization // with a busy month
	year      organization // with a busy year
	contested organization // with one professional that all guests book
	workday   time.Time    // a Wednesday next month
}

// organization is a tenant of the scheduling service, with ids of its first service and professional.
type organization struct{ slug, token, id, service, professional string }

// timedRequest is a kind of request that is measured.
type timedRequest struct {
	name, figure, path, token string // figure "" = no goal
	rounds                    int
}

// requests returns every kind of request.
func (c *bookingClient) requests() []timedRequest {
	m, day, month := c.month, c.workday.Format(time.DateOnly), c.workday.Format("2006-01")
	public := basePath + "/public/book/" + m.slug + "/availability?service_id=" + m.service
	return []timedRequest{
		{"a day of one professional, as a client", report.FigureDay, public + "&professional_id=" + m.professional + "&date=" + day, "", requestRounds},
		{"a day of one professional, as staff", report.FigureDay, basePath + "/availability?service_id=" + m.service + "&professional_id=" + m.professional + "&date=" + day, m.token, requestRounds},
		{"a month of 50 professionals, 10,000 appointments", report.FigureMonth, basePath + "/availability/month?service_id=" + m.service + "&month=" + month, "", requestRounds},
		{"dashboard of the month, of 100,000 appointments", report.FigureDashboard, basePath + "/reports/dashboard", c.year.token, requestRounds},
		{"dashboard of the year, with all 100,000 appointments in it", "", basePath + "/reports/dashboard?period=year", c.year.token, requestRounds / 10},
	}
}

// basePath is the path of the service in the hub.
const basePath = "/scheduling/api/v1"

// measure makes one kind of request many times, after some that do not count.
func (c *bookingClient) measure(ctx context.Context, request timedRequest) (report.QueryTiming, error) {
	const uncounted = 10
	timing := report.QueryTiming{Query: request.name, Judged: request.figure != ""}
	durations := make([]time.Duration, 0, request.rounds)
	for round := range uncounted + request.rounds {
		status, response, duration, err := c.send(ctx, http.MethodGet, request.path, request.token, nil)
		if err != nil {
			return timing, err
		}
		if status != http.StatusOK {
			return timing, fmt.Errorf("asking for %s: %d: %s", request.name, status, response)
		}
		if round >= uncounted {
			durations = append(durations, duration)
		}
		timing.Rows = 1
	}
	timing.SetDurations(durations)
	return timing, nil
}

// send makes a request with a token, or without one as a new guest.
func (c *bookingClient) send(ctx context.Context, method, path, token string, body any) (status int, response []byte, duration time.Duration, err error) {
	c.guestCount++
	return c.sendFrom(ctx, c.guestCount, method, path, token, body)
}

// sendFrom makes a request from the address of a guest.
func (c *bookingClient) sendFrom(ctx context.Context, guest int, method, path, token string, body any) (status int, response []byte, duration time.Duration, err error) {
	var reader io.Reader = http.NoBody
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return 0, nil, 0, fmt.Errorf("writing request: %w", err)
		}
		reader = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.api.BaseURL+path, reader)
	if err != nil {
		return 0, nil, 0, fmt.Errorf("making request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Forwarded-For", fmt.Sprintf("203.%d.%d.%d", guest>>16&255, guest>>8&255, guest&255))
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	sentAt := time.Now()
	resp, err := c.client.Do(req)
	if err != nil {
		return 0, nil, 0, fmt.Errorf("calling the hub: %w", err)
	}
	defer resp.Body.Close()
	response, err = io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil, 0, fmt.Errorf("reading the hub's response: %w", err)
	}
	return resp.StatusCode, response, time.Since(sentAt), nil
}

// measureContention measures slots that all guests book at once, one after the other. Only
// one guest may get each.
func (c *bookingClient) measureContention(ctx context.Context, result *report.Result) error {
	timing := report.QueryTiming{Query: fmt.Sprintf("a booking that %d guests want at once", guestsPerSlot), Judged: true}
	var durations []time.Duration
	for round := range bookingRounds {
		slot := c.workday.Add(time.Duration(round) * time.Hour)
		slotDurations, winners, err := c.raceForSlot(ctx, slot)
		if err != nil {
			return err
		}
		if winners != 1 {
			return errors.Join(reconcile.ErrUnsound, fmt.Errorf("%d guests have the slot of %s", winners, slot))
		}
		durations = append(durations, slotDurations...)
		timing.Rows++
	}
	timing.SetDurations(durations)
	result.Queries = append(result.Queries, timing)
	result.Figures[report.FigureBooking] = timing.P95
	return nil
}

// raceForSlot has all guests book a slot at once; every second guest books one that starts
// 15 minutes later and overlaps it.
func (c *bookingClient) raceForSlot(ctx context.Context, slot time.Time) (durations []time.Duration, winners int, err error) {
	var mu sync.Mutex
	var errs []error
	var guests sync.WaitGroup
	start := make(chan struct{})
	for rival := range guestsPerSlot {
		c.guestCount++
		guest, startAt := c.guestCount, slot.Add(time.Duration(rival%2)*15*time.Minute)
		guests.Go(func() {
			<-start
			status, response, duration, err := c.sendFrom(ctx, guest, http.MethodPost, basePath+"/public/book/"+c.contested.slug+"/appointments", "", map[string]any{
				"service_id": c.contested.service, "professional_id": c.contested.professional, "start_at": startAt.Format(time.RFC3339),
				"client_name": fmt.Sprintf("Guest %d", guest), "client_phone": fmt.Sprintf("+55119%08d", guest),
			})
			mu.Lock()
			defer mu.Unlock()
			durations = append(durations, duration)
			switch {
			case err != nil:
				errs = append(errs, err)
			case status == http.StatusCreated:
				winners++
			case status != http.StatusConflict:
				errs = append(errs, fmt.Errorf("booking: %d: %s", status, response))
			}
		})
	}
	close(start)
	guests.Wait()
	return durations, winners, errors.Join(errs...)
}

// countDoubleBookings counts pairs of appointments of one professional that overlap.
func (c *bookingClient) countDoubleBookings(ctx context.Context, databaseURL string) (doubles int, err error) {
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
		(select count(*) from scheduling.appointments where professional_id = $1)`, c.contested.professional).Scan(&doubles, &booked)
	if err == nil && booked != bookingRounds {
		err = errors.Join(reconcile.ErrUnsound, fmt.Errorf("%d bookings got a 201, %d are stored", bookingRounds, booked))
	}
	if err != nil {
		return 0, fmt.Errorf("counting doubles: %w", err)
	}
	return doubles, nil
}
