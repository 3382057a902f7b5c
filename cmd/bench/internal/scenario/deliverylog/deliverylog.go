// Package deliverylog has the scenario of queries of a large delivery log.
package deliverylog

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/cmd/bench/internal/hubapi"
	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/service"
	"integrationhub/cmd/bench/internal/stage"
)

// queryRounds is how often each query is sent.
const queryRounds = 30

// Measure fills a delivery log and measures every kind of query of it.
func Measure(ctx context.Context, run *stage.Run) (*report.Result, error) {
	gateway := &service.Gateway{Programs: run.Programs}
	st, err := stage.Open(ctx, run, gateway, 1)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	began := time.Now()
	if err := loadLog(ctx, st.Cluster.DatabaseURL); err != nil {
		return nil, err
	}
	fmt.Fprintf(run.Progress, "loaded %d deliveries in %s\n", deliveryCount, time.Since(began).Round(time.Second))
	result := &report.Result{Figures: make(map[string]float64)}
	client := &querier{api: &gateway.API, random: rand.New(rand.NewPCG(1, 2))} // the same queries in every run
	if err := client.readIDs(ctx, st.Cluster.DatabaseURL); err != nil {
		return nil, err
	}
	if err := client.measure(ctx, result, "", filterQueries()); err != nil {
		return nil, err
	}
	if err := loadBacklog(ctx, st.Cluster.DatabaseURL); err != nil {
		return nil, err
	}
	if err := client.measure(ctx, result, "200,000 waiting: ", backlogQueries()); err != nil {
		return nil, err
	}
	for _, q := range result.Queries {
		if q.Judged {
			result.Figures[report.FigureWorstQuery] = max(result.Figures[report.FigureWorstQuery], q.P95)
		}
	}
	return result, nil
}

// querier sends queries and measures them.
type querier struct {
	api            *hubapi.Client
	random         *rand.Rand
	events         []string // ids in the log
	deliveries     []string // ids in the log
	correlationIDs []string // in the log
}

// query is a kind of query. Each round draws new values for its path.
type query struct {
	name  string
	path  func(a *querier) string
	pages int // further pages to fetch by cursor, each of them measured
}

// judged reports whether a query is one of deliveries, and counts for the goal.
func (q query) judged() bool { return strings.HasPrefix(q.name, "deliveries") }

// readIDs reads some ids of the log.
func (a *querier) readIDs(ctx context.Context, databaseURL string) error {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return fmt.Errorf("connecting to the hub's database: %w", err)
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, `
		select 'evt_' || lpad(to_hex(id), 16, '0'), (head || '0001')::uuid::text, 'story-' || n / 4 from public.bench_log where n % 9973 = 1`)
	if err != nil {
		return fmt.Errorf("reading ids: %w", err)
	}
	var event, delivery, correlationID string
	_, err = pgx.ForEachRow(rows, []any{&event, &delivery, &correlationID}, func() error {
		a.events, a.deliveries, a.correlationIDs = append(a.events, event), append(a.deliveries, delivery), append(a.correlationIDs, correlationID)
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading ids: %w", err)
	}
	return nil
}

// measure sends every query queryRounds times and adds the timings to the result.
func (a *querier) measure(ctx context.Context, result *report.Result, prefix string, queries []query) error {
	for _, q := range queries {
		timing := report.QueryTiming{Query: prefix + q.name, Judged: q.judged()}
		var durations []time.Duration
		for range queryRounds {
			path := q.path(a)
			for page := 0; ; page++ {
				var response struct {
					Items      []struct{} `json:"items"`
					NextCursor *string    `json:"next_cursor"`
				}
				sentAt := time.Now()
				if err := a.api.Call(ctx, http.MethodGet, path, nil, &response); err != nil {
					return err
				}
				durations = append(durations, time.Since(sentAt))
				timing.Rows = len(response.Items)
				if response.NextCursor == nil || page == q.pages {
					break
				}
				next, _, _ := strings.Cut(path, "&cursor=")
				path = next + "&cursor=" + url.QueryEscape(*response.NextCursor)
			}
		}
		timing.SetDurations(durations)
		result.Queries = append(result.Queries, timing)
	}
	return nil
}
