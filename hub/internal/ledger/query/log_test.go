package query_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
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
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/logid"
)

// row is a delivery as the brute force knows it.
type row struct {
	id, tenant, target   uuid.UUID
	event                int64
	environment          string
	product, kind        string
	correlation          *string
	inbound, integration bool
	ours                 bool // the hub chose the event's id
	status               delivery.Status
	code                 *int16
}

// book is a log with generated rows of three days.
type book struct {
	pool    *pgxpool.Pool
	reader  *query.Reader
	rows    []row // newest first
	tenants []uuid.UUID
	targets []uuid.UUID // of each tenant the second is a test's
	noon    time.Time   // of the middle day
}

func TestMain(m *testing.M) { hubtest.Main(m) }

var environments = []string{"live", "test"}

func newBook(t *testing.T, n int) *book {
	t.Helper()
	b := &book{pool: hubtest.Database(t), noon: time.Now().UTC().Truncate(24 * time.Hour).Add(12 * time.Hour)}
	b.reader = query.NewReader(b.pool)
	ctx := context.Background()
	for i, product := range []string{"shop", "shop", "clinic"} {
		tenant := uuid.New()
		b.tenants = append(b.tenants, tenant)
		_, err := b.pool.Exec(ctx, `insert into hub.products (name, prefix, title) values ($1, left($1, 3), $1) on conflict do nothing`, product)
		require.NoError(t, err)
		_, err = b.pool.Exec(ctx, `insert into hub.tenants (id, product, name) values ($1, $2, 'T')`, tenant, product)
		require.NoError(t, err)
		for _, environment := range environments {
			target := uuid.New()
			b.targets = append(b.targets, target)
			_, err = b.pool.Exec(ctx, `insert into hub.endpoints (id, tenant_id, environment, url, event_types, secret, deleted_at)
				values ($1, $2, $4, 'http://127.0.0.1/', '{*}', '', case when $3 then now() end)`, target, tenant, i == 1, environment)
			require.NoError(t, err)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range n {
		b.rows = append(b.rows, b.generated(random))
	}
	b.store(t, b.rows)
	slices.SortFunc(b.rows, func(x, y row) int { return -cmp.Compare(x.id.String(), y.id.String()) })
	return b
}

func (b *book) generated(random *rand.Rand) row {
	of := random.IntN(len(b.targets))
	at := b.noon.Add(time.Duration(random.Int64N(int64(48*time.Hour))) - 24*time.Hour)
	r := row{
		id: logid.Delivery(logid.NewSeq(at), 1+random.IntN(3)), tenant: b.tenants[of/2], target: b.targets[of], environment: environments[of%2], event: int64(random.Uint64()),
		product: []string{"shop", "shop", "clinic"}[of/2], kind: []string{"a.created", "a.deleted", "b.created"}[random.IntN(3)],
		status: delivery.Status(random.IntN(4)),
	}
	if random.IntN(2) == 0 { // the hub chose the id, else the publisher
		ids := logid.NewEventIDs(func(context.Context) (uint64, error) { return random.Uint64(), nil })
		bits, _, _ := ids.Next(context.Background(), at)
		r.event, r.ours = int64(bits), true
	}
	r.inbound = random.IntN(6) == 0
	if random.IntN(20) == 0 {
		r.product, r.kind = "hub", "hub.ping"
	}
	if random.IntN(3) == 0 {
		text := fmt.Sprint("order ", random.IntN(5))
		r.correlation = &text
	}
	if r.status != delivery.Pending || random.IntN(2) == 0 {
		code := []int16{200, 500, 503}[random.IntN(3)]
		r.code = &code
	}
	return r
}

func (b *book) store(t *testing.T, rows []row) {
	t.Helper()
	_, err := b.pool.CopyFrom(context.Background(), pgx.Identifier{"hub", "deliveries"},
		[]string{"id", "event_id", "tenant_id", "target_id", "environment", "product", "event_type", "correlation_id", "inbound", "integration", "status", "status_code", "finished_at"},
		pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
			r := rows[i]
			var finished *time.Time
			if r.status != delivery.Pending {
				at := time.Now().Add(-time.Hour)
				finished = &at
			}
			return []any{r.id, r.event, r.tenant, r.target, r.environment, r.product, r.kind, r.correlation, r.inbound, r.integration, int16(r.status), r.code, finished}, nil
		}))
	require.NoError(t, err)
	_, err = b.pool.CopyFrom(context.Background(), pgx.Identifier{"hub", "events"},
		[]string{"seq", "id", "tenant_id", "environment", "product", "event_type", "deliveries", "body"},
		pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
			r := rows[i]
			return []any{logid.Seq(r.id), r.event, r.tenant, r.environment, r.product, r.kind, 1, []byte(`{"about":"` + r.id.String() + `"}`)}, nil
		}))
	require.NoError(t, err)
	rows = slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.ours })
	_, err = b.pool.CopyFrom(context.Background(), pgx.Identifier{"hub", "idempotency"},
		[]string{"tenant_id", "environment", "key", "body_hash", "seq", "event_id", "deliveries"},
		pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
			r := rows[i]
			return []any{r.tenant, r.environment, r.id.String(), []byte{}, logid.Seq(r.id), r.event, 1}, nil
		}))
	require.NoError(t, err)
}

// part is one filter with the brute force's idea of it.
type part struct {
	name string
	set  func(*query.Filter)
	has  func(row) bool
}

func (b *book) parts() []part {
	since, until := b.noon.Add(-7*time.Hour), b.noon.Add(9*time.Hour+time.Second/2)
	some := b.rows[len(b.rows)/3]
	list := []part{
		{"outbound", func(f *query.Filter) { f.Direction = "outbound" }, func(r row) bool { return !r.inbound }},
		{"inbound", func(f *query.Filter) { f.Direction = "inbound" }, func(r row) bool { return r.inbound }},
		{"type", func(f *query.Filter) { f.EventType = "a.created" }, func(r row) bool { return r.kind == "a.created" }},
		{"ping", func(f *query.Filter) { f.EventType = "hub.ping" }, func(r row) bool { return r.kind == "hub.ping" }},
		{"code", func(f *query.Filter) { f.StatusCode = 503 }, func(r row) bool { return r.code != nil && *r.code == 503 }},
		{"code nobody has", func(f *query.Filter) { f.StatusCode = 418 }, func(row) bool { return false }},
		{"correlation", func(f *query.Filter) { f.CorrelationID = "order 3" }, func(r row) bool { return r.correlation != nil && *r.correlation == "order 3" }},
		{"q correlation", func(f *query.Filter) { f.Search = "order 2" }, func(r row) bool { return r.correlation != nil && *r.correlation == "order 2" }},
		{"event", func(f *query.Filter) { f.EventID = hub.FormatEventID(uint64(some.event)) }, func(r row) bool { return r.event == some.event }},
		{"unknown event", func(f *query.Filter) { f.EventID = "evt_0000000000000000" }, func(row) bool { return false }},
		{"q delivery", func(f *query.Filter) { f.Search = some.id.String() }, func(r row) bool { return r.id == some.id }},
		{"since", func(f *query.Filter) { f.Since = &since }, func(r row) bool { return !logid.Time(r.id).Before(since) }},
		{"until", func(f *query.Filter) { f.Until = &until }, func(r row) bool { return logid.Time(r.id).Before(until) }},
	}
	for _, status := range []delivery.Status{delivery.Pending, delivery.Delivered, delivery.Parked, delivery.Failed} {
		list = append(list, part{status.String(), func(f *query.Filter) { f.Status = status.String() }, func(r row) bool { return r.status == status }})
	}
	for _, product := range []string{"shop", "clinic", "hub", "none"} {
		list = append(list, part{product, func(f *query.Filter) { f.Product = product }, func(r row) bool { return r.product == product }})
	}
	for i, tenant := range b.tenants[:2] {
		list = append(list, part{fmt.Sprint("tenant ", i), func(f *query.Filter) { f.TenantID = &tenant }, func(r row) bool { return r.tenant == tenant }})
	}
	for _, environment := range environments {
		list = append(list, part{environment, func(f *query.Filter) { f.Environment = environment }, func(r row) bool { return r.environment == environment }})
	}
	list = append(list, part{"tenant's tests", func(f *query.Filter) { f.TenantID, f.Environment = &b.tenants[0], "test" },
		func(r row) bool { return r.tenant == b.tenants[0] && r.environment == "test" }})
	for i, target := range b.targets[:3] {
		list = append(list, part{fmt.Sprint("endpoint ", i), func(f *query.Filter) { f.EndpointID = &target }, func(r row) bool { return r.target == target }})
	}
	stranger := uuid.New()
	return append(list, part{"nobody's endpoint", func(f *query.Filter) { f.EndpointID = &stranger }, func(row) bool { return false }})
}
