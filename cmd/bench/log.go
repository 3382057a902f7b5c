package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"
)

// logRounds is how often each query of the delivery log is asked.
const logRounds = 30

// QueryTiming is how long one kind of query took, over HTTP, in milliseconds.
type QueryTiming struct {
	Query  string  `json:"query"`
	P50    float64 `json:"p50_ms"`
	P95    float64 `json:"p95_ms"`
	Max    float64 `json:"max_ms"`
	Rows   int     `json:"rows"`   // of the last answer, at most a page
	Judged bool    `json:"judged"` // counts for a goal
}

// figureWorstQuery is the key of the largest p95 of the judged queries in [Result.Figures].
const figureWorstQuery = "worst_query_p95_ms"

// set fills in what spans took.
func (t *QueryTiming) set(spans []time.Duration) {
	slices.Sort(spans)
	at := func(share float64) float64 { return spans[int(share*float64(len(spans)-1)+0.5)].Seconds() * 1000 }
	t.P50, t.P95, t.Max = at(0.50), at(0.95), at(1)
}

// measureLog asks a large delivery log every kind of question.
func measureLog(ctx context.Context, b *bench) (*Result, error) {
	g := &gatewayService{bench: b}
	st, err := openStage(ctx, b, g, 1)
	if err != nil {
		return nil, err
	}
	defer st.close()
	began := time.Now()
	if err := loadLog(ctx, st.cluster.databaseURL); err != nil {
		return nil, err
	}
	fmt.Fprintf(b.notes, "loaded %d deliveries in %s\n", logDeliveries, time.Since(began).Round(time.Second))
	result := &Result{Figures: make(map[string]float64)}
	asker := &logAsker{gateway: g, random: rand.New(rand.NewPCG(1, 2))} // the same questions in every run
	if err := asker.readIDs(ctx, st.cluster.databaseURL); err != nil {
		return nil, err
	}
	if err := asker.ask(ctx, result, "", logQuestions()); err != nil {
		return nil, err
	}
	if err := loadBacklog(ctx, st.cluster.databaseURL); err != nil {
		return nil, err
	}
	if err := asker.ask(ctx, result, "200,000 waiting: ", backlogQuestions()); err != nil {
		return nil, err
	}
	for _, q := range result.Queries {
		if q.Judged {
			result.Figures[figureWorstQuery] = max(result.Figures[figureWorstQuery], q.P95)
		}
	}
	return result, nil
}

// logAsker asks and times.
type logAsker struct {
	gateway    *gatewayService
	random     *rand.Rand
	events     []string // ids that are in the log
	deliveries []string
	stories    []string // correlation ids
}

// question is a kind of query; its path is drawn anew for every round.
type question struct {
	name  string
	path  func(a *logAsker) string
	pages int // further pages to go on to, by cursor, each of them timed
}

// judged reports whether a question is one to the delivery log.
func (q question) judged() bool { return strings.HasPrefix(q.name, "deliveries") }

// readIDs draws ids that are in the log.
func (a *logAsker) readIDs(ctx context.Context, databaseURL string) error {
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
	var event, delivery, story string
	_, err = pgx.ForEachRow(rows, []any{&event, &delivery, &story}, func() error {
		a.events, a.deliveries, a.stories = append(a.events, event), append(a.deliveries, delivery), append(a.stories, story)
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading ids: %w", err)
	}
	return nil
}

// ask puts every question logRounds times and adds the timings to the result.
func (a *logAsker) ask(ctx context.Context, result *Result, prefix string, questions []question) error {
	for _, q := range questions {
		timing := QueryTiming{Query: prefix + q.name, Judged: q.judged()}
		var spans []time.Duration
		for range logRounds {
			path := q.path(a)
			for page := 0; ; page++ {
				var answer struct {
					Items      []struct{} `json:"items"`
					NextCursor *string    `json:"next_cursor"`
				}
				asked := time.Now()
				if err := a.gateway.call(ctx, http.MethodGet, path, nil, &answer); err != nil {
					return err
				}
				spans = append(spans, time.Since(asked))
				timing.Rows = len(answer.Items)
				if answer.NextCursor == nil || page == q.pages {
					break
				}
				next, _, _ := strings.Cut(path, "&cursor=")
				path = next + "&cursor=" + url.QueryEscape(*answer.NextCursor)
			}
		}
		timing.set(spans)
		result.Queries = append(result.Queries, timing)
	}
	return nil
}

// printQueries prints what the queries took.
func printQueries(w io.Writer, results []*Result) {
	for _, r := range results {
		if len(r.Queries) == 0 {
			continue
		}
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "query\tp50 ms\tp95 ms\tmax ms\trows")
		for _, q := range r.Queries {
			fmt.Fprintf(table, "%s\t%.1f\t%.1f\t%.1f\t%d\n", q.Query, q.P50, q.P95, q.Max, q.Rows)
		}
		_ = table.Flush() // an error of the terminal has nowhere to go
	}
}
