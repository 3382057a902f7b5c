package ledger_test

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
	"integrationhub/hub/internal/ledger"
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
	reader  *ledger.Reader
	rows    []row // newest first
	tenants []uuid.UUID
	targets []uuid.UUID // of each tenant the second is a test's
	noon    time.Time   // of the middle day
}

var environments = []string{"live", "test"}

func newBook(t *testing.T, n int) *book {
	t.Helper()
	b := &book{pool: hubtest.Database(t), noon: time.Now().UTC().Truncate(24 * time.Hour).Add(12 * time.Hour)}
	b.reader = ledger.NewReader(b.pool)
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
	set  func(*ledger.Filter)
	has  func(row) bool
}

func (b *book) parts() []part {
	since, until := b.noon.Add(-7*time.Hour), b.noon.Add(9*time.Hour+time.Second/2)
	some := b.rows[len(b.rows)/3]
	list := []part{
		{"outbound", func(f *ledger.Filter) { f.Direction = "outbound" }, func(r row) bool { return !r.inbound }},
		{"inbound", func(f *ledger.Filter) { f.Direction = "inbound" }, func(r row) bool { return r.inbound }},
		{"type", func(f *ledger.Filter) { f.EventType = "a.created" }, func(r row) bool { return r.kind == "a.created" }},
		{"ping", func(f *ledger.Filter) { f.EventType = "hub.ping" }, func(r row) bool { return r.kind == "hub.ping" }},
		{"code", func(f *ledger.Filter) { f.StatusCode = 503 }, func(r row) bool { return r.code != nil && *r.code == 503 }},
		{"code nobody has", func(f *ledger.Filter) { f.StatusCode = 418 }, func(row) bool { return false }},
		{"correlation", func(f *ledger.Filter) { f.CorrelationID = "order 3" }, func(r row) bool { return r.correlation != nil && *r.correlation == "order 3" }},
		{"q correlation", func(f *ledger.Filter) { f.Q = "order 2" }, func(r row) bool { return r.correlation != nil && *r.correlation == "order 2" }},
		{"event", func(f *ledger.Filter) { f.EventID = hub.FormatEventID(uint64(some.event)) }, func(r row) bool { return r.event == some.event }},
		{"unknown event", func(f *ledger.Filter) { f.EventID = "evt_0000000000000000" }, func(row) bool { return false }},
		{"q delivery", func(f *ledger.Filter) { f.Q = some.id.String() }, func(r row) bool { return r.id == some.id }},
		{"since", func(f *ledger.Filter) { f.Since = &since }, func(r row) bool { return !logid.Time(r.id).Before(since) }},
		{"until", func(f *ledger.Filter) { f.Until = &until }, func(r row) bool { return logid.Time(r.id).Before(until) }},
	}
	for _, status := range []delivery.Status{delivery.Pending, delivery.Delivered, delivery.Parked, delivery.Failed} {
		list = append(list, part{status.String(), func(f *ledger.Filter) { f.Status = status.String() }, func(r row) bool { return r.status == status }})
	}
	for _, product := range []string{"shop", "clinic", "hub", "none"} {
		list = append(list, part{product, func(f *ledger.Filter) { f.Product = product }, func(r row) bool { return r.product == product }})
	}
	for i, tenant := range b.tenants[:2] {
		list = append(list, part{fmt.Sprint("tenant ", i), func(f *ledger.Filter) { f.TenantID = &tenant }, func(r row) bool { return r.tenant == tenant }})
	}
	for _, environment := range environments {
		list = append(list, part{environment, func(f *ledger.Filter) { f.Environment = environment }, func(r row) bool { return r.environment == environment }})
	}
	list = append(list, part{"tenant's tests", func(f *ledger.Filter) { f.TenantID, f.Environment = &b.tenants[0], "test" },
		func(r row) bool { return r.tenant == b.tenants[0] && r.environment == "test" }})
	for i, target := range b.targets[:3] {
		list = append(list, part{fmt.Sprint("endpoint ", i), func(f *ledger.Filter) { f.EndpointID = &target }, func(r row) bool { return r.target == target }})
	}
	stranger := uuid.New()
	return append(list, part{"nobody's endpoint", func(f *ledger.Filter) { f.EndpointID = &stranger }, func(row) bool { return false }})
}

// Every filter of the log, alone and in pairs, gives what reading every row gives,
// newest first; and a replay's dry run counts the settled ones exactly.
func TestFiltersGiveWhatReadingEveryRowGives(t *testing.T) {
	t.Parallel()
	b := newBook(t, 600)
	replays := ledger.NewReplays(b.pool, nil, func() time.Time { return b.noon.Add(48 * time.Hour) }, nil)
	parts := b.parts()
	for i, one := range parts {
		for j := i; j < len(parts); j++ {
			other := parts[j]
			var f, g ledger.Filter
			one.set(&f)
			other.set(&g)
			other.set(&f)
			if one.set(&g); f != g {
				continue // both set one field
			}
			var want []uuid.UUID
			settled := 0
			for _, r := range b.rows {
				if one.has(r) && other.has(r) {
					want = append(want, r.id)
					if r.status != delivery.Pending && !r.inbound {
						settled++
					}
				}
			}
			items, err := b.reader.List(t.Context(), f, nil, 1000)
			require.NoError(t, err)
			got := idsOf(items)
			require.Equal(t, want, got, "%s and %s", one.name, other.name)
			if i == j || j%5 == 0 {
				count, err := replays.Count(t.Context(), f)
				require.NoError(t, err)
				require.EqualValues(t, settled, count, "%s and %s", one.name, other.name)
			}
		}
	}
}

func idsOf(items []ledger.Item) []uuid.UUID {
	var ids []uuid.UUID
	for _, item := range items {
		ids = append(ids, item.ID)
	}
	return ids
}

// "keyset cursor": pages have no gaps and no repeats while new rows arrive.
func TestPagesHaveNoGapsWhileRowsArrive(t *testing.T) {
	t.Parallel()
	b := newBook(t, 300)
	random := rand.New(rand.NewPCG(3, 4))
	newest := b.noon.Add(25 * time.Hour)
	for _, f := range []ledger.Filter{{}, {Status: "delivered"}, {Product: "shop"}, {TenantID: &b.tenants[0]}, {EventType: "a.created"}} {
		all, err := b.reader.List(t.Context(), f, nil, 5000)
		require.NoError(t, err)
		var paged []uuid.UUID
		var before *uuid.UUID
		for {
			page, err := b.reader.List(t.Context(), f, before, 17)
			require.NoError(t, err)
			if len(page) == 0 {
				break
			}
			paged = append(paged, idsOf(page)...)
			before = &page[len(page)-1].ID
			fresh := b.generated(random)
			newest = newest.Add(time.Millisecond)
			fresh.id = logid.Delivery(logid.NewSeq(newest), 1) // newer than every other
			b.store(t, []row{fresh})
		}
		require.Equal(t, idsOf(all), paged)
	}
}

// Payloads are looked through as far as was asked, over days, and no further.
func TestMentioning(t *testing.T) {
	t.Parallel()
	b := newBook(t, 200)
	last := len(b.rows) - 1
	words := []string{b.rows[last].id.String(), b.rows[5].id.String(), "nowhere"}
	found, err := b.reader.Mentioning(t.Context(), ledger.Filter{}, words, len(b.rows), 10)
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{b.rows[5].id, b.rows[last].id}, idsOf(found))
	found, err = b.reader.Mentioning(t.Context(), ledger.Filter{}, words, len(b.rows)-1, 10)
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{b.rows[5].id}, idsOf(found), "the oldest was not looked at")
	found, err = b.reader.Mentioning(t.Context(), ledger.Filter{TenantID: &b.rows[last].tenant}, words[:1], len(b.rows), 10)
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{b.rows[last].id}, idsOf(found))
	found, err = b.reader.Mentioning(t.Context(), ledger.Filter{}, []string{`"about"`}, len(b.rows), 7)
	require.NoError(t, err)
	require.Len(t, found, 7)
}
