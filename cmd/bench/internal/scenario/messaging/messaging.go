// Package messaging has the scenarios of the messaging platform: received messages, the list
// of tickets, the send API, and a campaign. All use the simulated network.
package messaging

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/service"
	"integrationhub/cmd/bench/internal/stage"
	"integrationhub/cmd/bench/internal/usage"
)

// withoutLimits lifts the limits of users and of the send API.
var withoutLimits = []string{"HUB_PRODUCT_LIMITS=messaging.sends=1000000-M,messaging.users=1000000-M"}

// connectionNumber is the number of the company's connection.
const connectionNumber = "5511900000001"

// company is a company on a running hub, with a connection and an API token.
type company struct {
	base       string // URL of the platform
	client     *http.Client
	db         *pgx.Conn
	id         int64
	connection int64
	user, key  string // tokens
	hubPID     int
}

// measure runs a scenario in a hub with a company, and adds the load of other processes to
// the result.
func measure(ctx context.Context, run *stage.Run, work func(c *company, result *report.Result) error) (*report.Result, error) {
	gateway := &service.Gateway{Programs: run.Programs, Settings: withoutLimits}
	st, err := stage.Open(ctx, run, gateway, 1)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	c := &company{base: gateway.API.BaseURL + "/messaging", client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: senderCount}}, hubPID: st.Process.PID()}
	if c.db, err = pgx.Connect(ctx, st.Cluster.DatabaseURL); err != nil {
		return nil, fmt.Errorf("connecting to the hub's database: %w", err)
	}
	defer c.db.Close(ctx)
	if err := c.setUp(ctx); err != nil {
		return nil, err
	}
	before, err := st.ReadCPU()
	if err != nil {
		return nil, err
	}
	result := &report.Result{Figures: make(map[string]float64)}
	if err := work(c, result); err != nil {
		return result, err
	}
	after, err := st.ReadCPU()
	if err != nil {
		return nil, err
	}
	result.Figures[report.FigureOtherLoad] = usage.OtherLoad(before, after)
	if received, isMeasured := result.Figures[report.FigureInboundMessages]; isMeasured && received > 0 {
		result.Figures[report.FigureInboundMessagesCPU] = (cpu(after) - cpu(before)).Seconds() * 1000 / float64(inboundCount)
	}
	return result, nil
}

// cpu returns the CPU time of what an operator pays for.
func cpu(reading usage.Reading) time.Duration {
	return reading.Parts[report.PartService] + reading.Parts[report.PartPostgres] + reading.Parts[report.PartRedis]
}

// setUp signs a company up and pairs its connection.
func (c *company) setUp(ctx context.Context) error {
	var session struct {
		Token string `json:"token"`
		User  struct {
			CompanyID int64 `json:"companyId"`
		} `json:"user"`
	}
	var connection struct {
		ID     int64  `json:"id"`
		QRCode string `json:"qrcode"`
	}
	var key struct {
		Token string `json:"token"`
	}
	err := c.post(ctx, "/auth/signup", "", map[string]any{"name": "Bench", "companyName": "Bench", "email": "bench@example.org", "password": "correct horse battery"}, &session)
	if err == nil {
		c.user, c.id = session.Token, session.User.CompanyID
		err = c.post(ctx, "/whatsapp", c.user, map[string]any{"name": "Reception"}, &connection)
	}
	if err == nil {
		c.connection = connection.ID
		err = c.post(ctx, "/sandbox/phones", "", map[string]any{"number": connectionNumber, "name": "Company"}, nil)
	}
	if err == nil {
		err = c.post(ctx, "/sandbox/phones/"+connectionNumber+"/scan", "", map[string]any{"code": connection.QRCode}, nil)
	}
	if err == nil {
		err = c.post(ctx, "/api-tokens", c.user, map[string]any{"name": "bench"}, &key)
	}
	c.key = key.Token
	return err
}

// post makes a POST with a token, or without. Any status but 2xx is an error.
func (c *company) post(ctx context.Context, path, token string, body, response any) error {
	return c.call(ctx, http.MethodPost, path, token, body, response)
}

func (c *company) call(ctx context.Context, method, path, token string, body, response any) error {
	var reader io.Reader = http.NoBody
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("writing a request: %w", err)
		}
		reader = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, reader)
	if err != nil {
		return fmt.Errorf("making a request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return fmt.Errorf("calling the hub: %w", err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("reading the hub's response: %w", err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("calling %s: %d: %s", path, resp.StatusCode, raw)
	}
	if response == nil {
		return nil
	}
	return json.Unmarshal(raw, response)
}

// senderCount is how many requests are made at once.
const senderCount = 64

// atRate makes count requests at a fixed rate. Durations begin when a request was due, so that
// a hub that falls behind cannot hide it.
func atRate(rate, count int, request func(n int) error) (durations []time.Duration, elapsed time.Duration, err error) {
	durations = make([]time.Duration, count)
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var senders sync.WaitGroup
	start := time.Now()
	for range senderCount {
		senders.Go(func() {
			for n := int(next.Add(1)) - 1; n < count && failed.Load() == nil; n = int(next.Add(1)) - 1 {
				due := start.Add(time.Duration(n) * time.Second / time.Duration(rate))
				time.Sleep(time.Until(due))
				if err := request(n); err != nil {
					failed.Store(&err)
				}
				durations[n] = time.Since(due)
			}
		})
	}
	senders.Wait()
	if first := failed.Load(); first != nil {
		err = *first
	}
	return durations, time.Since(start), err
}

// requireCounts returns an error unless the query returns the wanted numbers.
func (c *company) requireCounts(ctx context.Context, query string, args []any, want map[string]int) error {
	rows, err := c.db.Query(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("counting: %w", err)
	}
	counted, err := pgx.CollectExactlyOneRow(rows, pgx.RowToMap)
	if err != nil {
		return fmt.Errorf("counting: %w", err)
	}
	var errs []error
	for name, number := range want {
		if fmt.Sprint(counted[name]) != fmt.Sprint(number) {
			errs = append(errs, fmt.Errorf("%s: %v, not %d", name, counted[name], number))
		}
	}
	return errors.Join(errs...)
}
