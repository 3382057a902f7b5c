package outbox

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/filter"
	"integrationhub/hub/internal/metrics"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/internal/seal"
	"integrationhub/hub/module"
)

type anyURL struct{}

func (anyURL) CheckURL(_, raw string) (*url.URL, error) { return url.Parse(raw) }

// shop is a hosted product's tenant with an endpoint.
type shop struct {
	pool      *pgxpool.Pool
	known     *directory.Directory
	outbox    *Outbox
	tenant    registry.Tenant
	endpoints *registry.Endpoints
	endpoint  registry.Endpoint
}

func newShop(t *testing.T, state registry.EndpointState) shop {
	t.Helper()
	pool, ctx, log := hubtest.Database(t), t.Context(), slog.New(slog.DiscardHandler)
	box, err := seal.New(bytes.Repeat([]byte{7}, seal.KeySize))
	require.NoError(t, err)
	s := shop{pool: pool, known: directory.New(pool, box, nil, log, time.Now), endpoints: registry.NewEndpoints(pool, box, anyURL{}, time.Now)}
	s.outbox = New(pool, s.known, delivery.NewDispatcher(delivery.Config{Now: time.Now}), metrics.New(), log, time.Now, 10_000)
	t.Cleanup(s.outbox.Close)
	products := registry.New(pool)
	_, err = products.CreateProduct(ctx, registry.Product{Name: "shop", Prefix: "shop", Title: "Shop"})
	require.NoError(t, err)
	s.tenant, err = products.CreateTenant(ctx, "shop", "Tenant", nil)
	require.NoError(t, err)
	s.endpoint, _, err = s.endpoints.Create(ctx, s.tenant.ID, hub.Live, state, "")
	require.NoError(t, err)
	return s
}

// Filters apply to what a hosted product publishes in its transactions, by the configuration
// that is committed then, and see the envelope as it is stored. Hot publications compile and
// query nothing.
func TestFiltersOfProducts(t *testing.T) {
	t.Parallel()
	ctx, state := t.Context(), registry.EndpointState{URL: "https://example.com", EventTypes: []string{"*"}, Enabled: true}
	s := newShop(t, state)
	pool, known, o, tenant, endpoints, endpoint := s.pool, s.known, s.outbox, s.tenant, s.endpoints, s.endpoint
	setFilter := func(text string) {
		state.Filter = &text
		_, _, err := endpoints.Update(ctx, registry.Scope{}, endpoint.ID, state)
		require.NoError(t, err)
	}
	publisher, at := ProductPublisher{Outbox: o, Name: "shop"}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	publish := func(n int) (deliveries int) {
		t.Helper()
		require.NoError(t, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			ids, err := publisher.PublishTo(ctx, tx, module.Audience{}, []hub.Event{{TenantID: tenant.ID, Environment: hub.Live, Type: "order.paid", Time: at, Data: fmt.Appendf(nil, `{"n":%d}`, n)}})
			if err != nil {
				return err
			}
			bits, _ := hub.ParseEventID(ids[0])
			return tx.QueryRow(ctx, `select deliveries from hub.events where id = $1`, toInt64(bits)).Scan(&deliveries)
		}))
		return deliveries
	}
	require.Equal(t, 1, publish(1))
	setFilter(`event.data.n > 1 && event.timestamp == timestamp("2026-01-02T03:04:05Z") && event.id.startsWith("evt_")`)
	require.Zero(t, publish(1))
	require.Equal(t, 1, publish(2))
	setFilter(`event.data.n == 1`)
	require.Equal(t, 1, publish(1), "the filter of now, without a wait")
	require.Zero(t, publish(2))

	// A publication over HTTP with the configuration in the cache asks the database for nothing
	// but its commit.
	publication := func() *Publication {
		return &Publication{TenantID: tenant.ID, Environment: hub.Live, Product: "shop", Type: "order.paid", Data: []byte(`{"n":1}`)}
	}
	p := publication()
	require.NoError(t, o.evaluateCached(ctx, []*Publication{p}))
	first := targetOf(t, known, tenant.ID).Filter
	asked := pool.Stat().AcquireCount()
	p = publication()
	require.NoError(t, o.evaluateCached(ctx, []*Publication{p}))
	require.Equal(t, asked, pool.Stat().AcquireCount())
	require.True(t, p.filterResults.results[first].Matches)
	kept, err := p.matching([]*directory.Target{targetOf(t, known, tenant.ID)})
	require.NoError(t, err)
	require.Len(t, kept, 1)
	_, err = publication().matching(kept)
	require.ErrorIs(t, err, errNotEvaluated, "a committer evaluates nothing")
	state.Description = "changed"
	setFilter(`event.data.n == 1`)
	require.NoError(t, known.Refresh(ctx))
	require.Same(t, first, targetOf(t, known, tenant.ID).Filter, "another change of the endpoint does not compile it anew")
}

// targetOf returns the only endpoint of a tenant.
func targetOf(t *testing.T, known *directory.Directory, tenant uuid.UUID) *directory.Target {
	t.Helper()
	targets, err := known.Subscribers(t.Context(), tenant, hub.Live, "order.paid", module.Audience{})
	require.NoError(t, err)
	require.Len(t, targets, 1)
	return targets[0]
}

// However dear a tenant's filters are, a transaction that publishes many events evaluates a
// bounded number of steps and commits. Filters that cost little have their results, and so have
// those of another tenant; the others are errors, which the endpoints show.
func TestFiltersInATransactionAreBounded(t *testing.T) {
	t.Parallel()
	const events, dear, cheap = 500, 40, 3
	ctx, state := t.Context(), registry.EndpointState{URL: "https://example.com", EventTypes: []string{"*"}, Enabled: true}
	s := newShop(t, state)
	counted := filter.NewErrors(s.pool, slog.New(slog.DiscardHandler), time.Now)
	s.outbox.SetFilterErrors(counted)
	create := func(tenant uuid.UUID, text string) (endpoint uuid.UUID) {
		state.Filter = &text
		created, _, err := s.endpoints.Create(ctx, tenant, hub.Live, state, "")
		require.NoError(t, err)
		return created.ID
	}
	expensive := func(i int) string { // about 9,000 steps
		return fmt.Sprintf(`event.data.n.all(a, event.data.n.all(b, event.data.n.all(c, a + b + c != -%d)))`, i+1)
	}
	var dearEndpoints, cheapEndpoints []uuid.UUID
	for i := range dear {
		dearEndpoints = append(dearEndpoints, create(s.tenant.ID, expensive(i)))
	}
	for i := range cheap {
		cheapEndpoints = append(cheapEndpoints, create(s.tenant.ID, fmt.Sprintf(`event.data.k != %d`, i+2)))
	}
	other, err := registry.New(s.pool).CreateTenant(ctx, "shop", "Other", nil)
	require.NoError(t, err)
	foreign := create(other.ID, expensive(dear))

	var publications []*Publication
	add := func(tenant uuid.UUID, n int) {
		for range n {
			publications = append(publications, &Publication{TenantID: tenant, Environment: hub.Live, Product: "shop", Type: "order.paid", Data: []byte(`{"k":1,"n":[1,2,3,4,5,6,7,8,9,10]}`)})
		}
	}
	add(s.tenant.ID, events)
	add(other.ID, 5)
	require.NoError(t, pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		_, err := s.outbox.PublishInTx(ctx, tx, publications)
		return err
	}))
	var cost uint64
	for _, p := range publications {
		cost += p.filterResults.cost
	}
	require.Less(t, cost, uint64(maxRequestCost+2*filter.MaxCost))
	require.Greater(t, cost, uint64(maxRequestCost/4))
	deliveries := func(target uuid.UUID) (n int) {
		require.NoError(t, s.pool.QueryRow(ctx, `select count(*) from hub.deliveries where target_id = $1`, target).Scan(&n))
		return n
	}
	require.Equal(t, events, deliveries(s.endpoint.ID), "without a filter")
	for _, endpoint := range cheapEndpoints {
		require.Equal(t, events, deliveries(endpoint))
	}
	require.Equal(t, 5, deliveries(foreign), "of another tenant")
	ending, end := context.WithCancel(ctx)
	end()
	counted.Run(ending)
	var sent, failed int64
	for _, id := range dearEndpoints {
		endpoint, err := s.endpoints.Get(ctx, registry.Scope{}, id)
		require.NoError(t, err)
		require.NotNil(t, endpoint.FilterErrors)
		require.Equal(t, errTransactionCost.Error(), endpoint.FilterErrors.Last)
		sent, failed = sent+int64(deliveries(id)), failed+endpoint.FilterErrors.Count
	}
	require.EqualValues(t, dear*events, sent+failed)
	require.Positive(t, sent)

	// The filters of one event alone: those that cost little come first.
	single := &Publication{TenantID: s.tenant.ID, Environment: hub.Live, Product: "shop", Type: "order.paid", Data: publications[0].Data}
	require.NoError(t, s.outbox.evaluateCached(ctx, []*Publication{single}))
	targets, err := s.outbox.receivers(ctx, single)
	require.NoError(t, err)
	for _, endpoint := range cheapEndpoints {
		require.True(t, slices.ContainsFunc(targets, func(target *directory.Target) bool { return target.ID == endpoint }))
	}
	require.NotEmpty(t, single.filterResults.failed)
	require.Equal(t, errEventCost, single.filterResults.failed[0].err)
}
