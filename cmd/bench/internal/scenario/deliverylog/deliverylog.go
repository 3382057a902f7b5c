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

// queryRounds is how often each query of the delivery log is asked.
const queryRounds = 30

// Measure asks a large delivery log every kind of question.
func Measure(ctx context.Context, b *stage.Run) (*report.Result, error) {
	g := &service.Gateway{Programs: b.Programs}
	st, err := stage.Open(ctx, b, g, 1)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	began := time.Now()
	if err := loadLog(ctx, st.Cluster.DatabaseURL); err != nil {
		return nil, err
	}
	fmt.Fprintf(b.Progress, "loaded %d deliveries in %s\n", deliveryCount, time.Since(began).Round(time.Second))
	result := &report.Result{Figures: make(map[string]float64)}
	asker := &querier{api: &g.API, random: rand.New(rand.NewPCG(1, 2))} // the same questions in every run
	if err := asker.readIDs(ctx, st.Cluster.DatabaseURL); err != nil {
		return nil, err
	}
	if err := asker.measure(ctx, result, "", filterQueries()); err != nil {
		return nil, err
	}
	if err := loadBacklog(ctx, st.Cluster.DatabaseURL); err != nil {
		return nil, err
	}
	if err := asker.measure(ctx, result, "200,000 waiting: ", backlogQueries()); err != nil {
		return nil, err
	}
	for _, q := range result.Queries {
		if q.Judged {
			result.Figures[report.FigureWorstQuery] = max(result.Figures[report.FigureWorstQuery], q.P95)
		}
	}
	return result, nil
}

// querier asks and times.
type querier struct {
	api            *hubapi.Client
	random         *rand.Rand
	events         []string // ids that are in the log
	deliveries     []string
	correlationIDs []string // correlation ids
}

// query is a kind of query; its path is drawn anew for every round.
type query struct {
	name  string
	path  func(a *querier) string
	pages int // further pages to go on to, by cursor, each of them timed
}

// judged reports whether a question is one to the delivery log.
func (q query) judged() bool { return strings.HasPrefix(q.name, "deliveries") }

// readIDs draws ids that are in the log.
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
	var event, delivery, story string
	_, err = pgx.ForEachRow(rows, []any{&event, &delivery, &story}, func() error {
		a.events, a.deliveries, a.correlationIDs = append(a.events, event), append(a.deliveries, delivery), append(a.correlationIDs, story)
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading ids: %w", err)
	}
	return nil
}

// measure puts every question logRounds times and adds the timings to the result.
func (a *querier) measure(ctx context.Context, result *report.Result, prefix string, questions []query) error {
	for _, q := range questions {
		timing := report.QueryTiming{Query: prefix + q.name, Judged: q.judged()}
		var spans []time.Duration
		for range queryRounds {
			path := q.path(a)
			for page := 0; ; page++ {
				var answer struct {
					Items      []struct{} `json:"items"`
					NextCursor *string    `json:"next_cursor"`
				}
				asked := time.Now()
				if err := a.api.Call(ctx, http.MethodGet, path, nil, &answer); err != nil {
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
		timing.SetDurations(spans)
		result.Queries = append(result.Queries, timing)
	}
	return nil
}
