package moduletest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/module"
)

// Attach returns the Hub of a product that the test did not [Start] itself. What only
// Start knows, such as the clock and the log, is zero.
func Attach(t testing.TB, product, url, base string, host module.Host) *Hub {
	return &Hub{t: t, product: product, URL: url, Base: base, Host: host}
}

// PublishedEvent is an event as the product published it.
type PublishedEvent struct {
	Type        string          `json:"event_type"`
	Data        map[string]any  `json:"data"`
	Environment hub.Environment `json:"-"`
}

// Events returns what the product published for a tenant, in order.
func (h *Hub) Events(tenant uuid.UUID) []PublishedEvent {
	h.t.Helper()
	rows, err := h.Host.Pool.Query(h.t.Context(), `select body, environment from hub.events where tenant_id = $1 and product = $2 order by seq`, tenant, h.product)
	require.NoError(h.t, err)
	events, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (event PublishedEvent, err error) {
		var envelope []byte
		if err := row.Scan(&envelope, &event.Environment); err != nil {
			return event, err
		}
		return event, json.Unmarshal(envelope, &event)
	})
	require.NoError(h.t, err)
	return events
}

// EventTypes returns the types of what the product published for a tenant, in order.
func (h *Hub) EventTypes(tenant uuid.UUID) []string {
	h.t.Helper()
	types := []string{}
	for _, event := range h.Events(tenant) {
		types = append(types, event.Type)
	}
	return types
}

// Exec executes SQL on the product's database.
func (h *Hub) Exec(sql string, args ...any) {
	h.t.Helper()
	_, err := h.Host.Pool.Exec(h.t.Context(), sql, args...)
	require.NoError(h.t, err)
}

// Count counts rows: sql begins with the table, such as "hub.jobs where job = $1".
func (h *Hub) Count(sql string, args ...any) (n int) {
	h.t.Helper()
	require.NoError(h.t, h.Host.Pool.QueryRow(h.t.Context(), "select count(*) from "+sql, args...).Scan(&n))
	return n
}

// Jobs returns the product's background jobs.
func (h *Hub) Jobs() []module.Job { return h.Instance.(module.JobProvider).Jobs() }

// Job returns a background job of the product by its name.
func (h *Hub) Job(name string) module.Job {
	h.t.Helper()
	for _, job := range h.Jobs() {
		if job.Name == name {
			return job
		}
	}
	require.Fail(h.t, "there is no job "+name)
	return module.Job{}
}

// RunJob runs a background job once, beside the hub's own runner, and waits until that runner
// has released the job: what either of them took is done then.
func (h *Hub) RunJob(name string) {
	h.t.Helper()
	require.NoError(h.t, h.Job(name).Run(h.t.Context(), nil))
	require.Eventually(h.t, func() bool {
		return h.Count("hub.jobs where product = $1 and job = $2 and leased_to is not null", h.product, name) == 0
	}, startTimeout, startTick)
}

// AwaitFirstRun waits until the hub has run a repeating job for the first time, which it does
// within a second of its start: what the test does from then on, the job leaves alone until it
// is due again.
func (h *Hub) AwaitFirstRun(job string) {
	h.t.Helper()
	require.Eventually(h.t, func() bool {
		now := time.Now()
		if h.Clock != nil {
			now = h.Clock.Now()
		}
		return h.Count("hub.jobs where product = $1 and job = $2 and repeats and leased_to is null and due_at > $3", h.product, job, now) == 1
	}, startTimeout, startTick)
}
