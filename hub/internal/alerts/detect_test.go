package alerts_test

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/alerts"
	"integrationhub/hub/internal/ledger/maintain"
	"integrationhub/hub/module"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

const failingAfter = 10 * time.Minute

// place is a database with a tenant, and what detects in it, by a clock of the test's own.
type place struct {
	t           *testing.T
	db          *pgxpool.Pool
	clock       *hubtest.Clock
	publisher   *alerts.Publisher
	maintenance *maintain.Maintenance
	tenant      uuid.UUID
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{t: t, db: hubtest.Database(t), clock: hubtest.NewClock(time.Now().Truncate(time.Second))}
	p.publisher = p.newPublisher()
	p.maintenance = maintain.NewMaintenance(p.db, slog.New(slog.DiscardHandler), p.clock.Now, 30*24*time.Hour, func(string, int) {})
	p.exec(`insert into hub.products (name, prefix, title) values ('shop', 'shop', 'Shop')`)
	p.tenant = p.newTenant()
	return p
}

// newPublisher returns the publisher of a process.
func (p *place) newPublisher() *alerts.Publisher {
	return alerts.NewPublisher(alerts.Config{DB: p.db, Log: slog.New(slog.DiscardHandler), Now: p.clock.Now, FailingAfter: failingAfter})
}

func (p *place) exec(statement string, args ...any) {
	p.t.Helper()
	_, err := p.db.Exec(p.t.Context(), statement, args...)
	require.NoError(p.t, err)
}

func (p *place) newTenant() uuid.UUID {
	id := uuid.New()
	p.exec(`insert into hub.tenants (id, product, name) values ($1, 'shop', 'Tenant')`, id)
	return id
}

func (p *place) newEndpoints(tenant uuid.UUID, n int) []uuid.UUID {
	p.t.Helper()
	rows, err := p.db.Query(p.t.Context(), `
		insert into hub.endpoints (id, tenant_id, environment, url, event_types, secret)
		select gen_random_uuid(), $1, 'live', 'https://example.com/' || i, '{*}', 'x' from generate_series(1, $2::integer) i returning id`, tenant, n)
	require.NoError(p.t, err)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	require.NoError(p.t, err)
	return ids
}

// attempts counts attempts at an endpoint, as the writer does, and rolls them up.
func (p *place) attempts(endpoint uuid.UUID, product string, failed, delivered int) {
	p.t.Helper()
	p.exec(`insert into hub.rollup_deltas (bucket, tenant_id, target_id, product, delivered, attempts, errors) values ($1, $2, $3, $4, $5, $6, $7)`,
		p.clock.Now().Truncate(time.Minute), p.tenant, endpoint, product, delivered, failed+delivered, failed)
	require.NoError(p.t, p.maintenance.RollUp(p.t.Context()))
}

// detect finds what fails or recovered now.
func (p *place) detect() {
	p.t.Helper()
	require.NoError(p.t, p.publisher.SignalFailing(p.t.Context()))
}

// signals returns what was signalled, each as its type without "hub.", and forgets it.
func (p *place) signals() string {
	p.t.Helper()
	rows, err := p.db.Query(p.t.Context(), `with taken as (delete from hub.signals returning id, event_type) select event_type from taken order by id`)
	require.NoError(p.t, err)
	types, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(p.t, err)
	return strings.ReplaceAll(strings.Join(types, " "), "hub.", "")
}

// An endpoint is failing when every attempt has failed for ten minutes, and at least five. It
// recovers when nothing fails for a minute. One that flaps makes one pair.
func TestFlappingEndpoint(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	endpoint := p.newEndpoints(p.tenant, 1)[0]
	flap := func(minutes int) {
		for range minutes {
			p.attempts(endpoint, "shop", 20, 0)
			p.clock.Advance(30 * time.Second)
			p.detect()
			p.attempts(endpoint, "shop", 0, 1)
			p.clock.Advance(30 * time.Second)
			p.detect()
		}
	}
	flap(15)
	require.Empty(t, p.signals(), "some attempts succeed")

	p.attempts(endpoint, "shop", 4, 0)
	p.clock.Advance(failingAfter)
	p.detect()
	require.Empty(t, p.signals(), "four attempts are too few")
	p.attempts(endpoint, "shop", 1, 0)
	p.detect()
	require.Equal(t, "endpoint.failing", p.signals())
	for range 30 {
		p.attempts(endpoint, "shop", 5, 0)
		p.clock.Advance(time.Minute)
		p.detect()
	}
	flap(15)
	require.Empty(t, p.signals(), "the episode goes on")
	p.attempts(endpoint, "shop", 1, 9)
	p.clock.Advance(failingAfter/10 - 31*time.Second) // it has delivered since half a minute ago, and some did not fail alone
	p.detect()
	require.Empty(t, p.signals(), "not for long enough yet")
	p.clock.Advance(time.Second)
	p.detect()
	p.detect()
	require.Equal(t, "endpoint.recovered", p.signals())

	p.attempts(endpoint, "shop", 5, 0)
	p.clock.Advance(failingAfter - time.Second)
	p.detect()
	require.Empty(t, p.signals())
	p.clock.Advance(time.Second)
	p.detect()
	require.Equal(t, "endpoint.failing", p.signals(), "another episode")
}

// Failed attempts of the hub's own events make no endpoint failing, and neither do attempts at
// endpoints that are not in use, or at alerts. A ping that succeeds shows that it works, and so
// does an attempt whose delivery another one had settled, which is not counted.
func TestWhatIsNotFailing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	ids := p.newEndpoints(p.tenant, 6)
	own, pinged, disabled, deleted, alert, late := ids[0], ids[1], ids[2], ids[3], ids[4], ids[5]
	p.exec(`update hub.endpoints set tenant_id = '00000000-0000-0000-0000-000000000000' where id = $1`, alert)
	p.exec(`insert into hub.rollup_deltas (bucket, tenant_id, target_id, product, delivered) select $1, $2, $3, 'shop', n from unnest(array[1, -1]) n`,
		p.clock.Now().Truncate(time.Minute), p.tenant, late)
	p.attempts(own, "hub", 50, 0)
	require.Zero(t, p.count(`hub.endpoint_failures`))
	for _, id := range ids[1:5] {
		p.attempts(id, "shop", 50, 0)
	}
	p.clock.Advance(failingAfter - time.Minute)
	p.attempts(pinged, "hub", 0, 1)
	p.exec(`update hub.endpoints set enabled = false where id = $1`, disabled)
	p.exec(`update hub.endpoints set enabled = false, deleted_at = now() where id = $1`, deleted)
	p.clock.Advance(time.Hour)
	p.detect()
	require.Empty(t, p.signals())
	var left int
	require.NoError(t, p.db.QueryRow(t.Context(), `select count(*) from hub.endpoint_failures`).Scan(&left))
	require.Zero(t, left)
}

// Of 10,000 endpoints of one tenant that fail at once a tick signals a bounded number, each once
// though two processes look; another tenant's waits for no more than those before it.
func TestManyFailingEndpoints(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	many := p.newEndpoints(p.tenant, 10_000)
	p.exec(`insert into hub.endpoint_failures (endpoint_id, since, attempts) select id, $2, 9 from unnest($1::uuid[]) id`, many, p.clock.Now().Add(-failingAfter))
	other := p.newPublisher()
	for tick := range 2 * len(many) / alerts.DetectedPerTick {
		var both sync.WaitGroup
		for _, publisher := range []*alerts.Publisher{p.publisher, other} {
			both.Go(func() { require.NoError(t, publisher.SignalFailing(t.Context())) })
		}
		both.Wait()
		p.clock.Advance(time.Millisecond)
		require.LessOrEqual(t, p.count(`hub.signals`), 2*alerts.DetectedPerTick*(tick+1))
	}
	require.Equal(t, len(many), p.count(`hub.signals`))
	require.Equal(t, len(many), p.count(`(select distinct details ->> 'endpoint_id' from hub.signals) s`))
	p.exec(`delete from hub.signals`) // and they all work again
	p.exec(`update hub.endpoint_failures set delivering_since = $1`, p.clock.Now().Add(-time.Hour))
	for range len(many) / alerts.DetectedPerTick {
		p.detect()
	}
	require.Equal(t, len(many), p.count(`hub.signals where event_type = 'hub.endpoint.recovered'`))
	require.Zero(t, p.count(`hub.endpoint_failures`))
}

func (p *place) count(from string) (n int) {
	p.t.Helper()
	require.NoError(p.t, p.db.QueryRow(p.t.Context(), `select count(*) from `+from).Scan(&n))
	return n
}

// A key is signalled once, seven days before it ends, whatever the number of processes.
func TestExpiringKeys(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	key := func(expires time.Duration, columns, values string) {
		p.exec(`insert into hub.keys (id, tenant_id, environment, hash, prefix, last4, scopes, rate, expires_at`+columns+`) values (gen_random_uuid(), $1, 'live', sha256(gen_random_uuid()::text::bytea), 'shop', 'abcd', '{}', '0', $2`+values+`)`,
			p.tenant, p.clock.Now().Add(expires))
	}
	key(7*24*time.Hour+time.Minute, "", "")
	key(time.Hour, ", revoked_at", ", now()")
	key(time.Hour, ", superseded", ", true")
	key(-time.Hour, "", "")
	require.NoError(t, p.publisher.SignalExpiringKeys(t.Context()))
	require.Empty(t, p.signals())
	p.clock.Advance(time.Minute)
	for range 1200 {
		key(time.Hour, "", "")
	}
	var processes sync.WaitGroup
	for range 3 {
		publisher := p.newPublisher()
		processes.Go(func() { require.NoError(t, publisher.SignalExpiringKeys(t.Context())) })
	}
	processes.Wait()
	require.NoError(t, p.publisher.SignalExpiringKeys(t.Context()))
	require.Equal(t, 1201, p.count(`(select distinct details ->> 'key_id' from hub.signals where event_type = 'hub.key.expiring') s`))
	require.Equal(t, 1201, p.count(`hub.signals`))
}

// An integration that fails is signalled once, until it is active again, whatever else happens to
// it meanwhile.
func TestIntegrationEpisodes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	id := uuid.New()
	p.exec(`insert into hub.integrations (id, tenant_id, environment, product, status, webhook_url) values ($1, $2, 'live', 'clinic', 'inactive', 'https://hub.example.com/w')`, id, p.tenant)
	set := func(status string) {
		p.exec(`update hub.integrations set status = $2, last_error = case when $2 = 'error' then 'the peer answered 503' end where id = $1`, id, status)
	}
	set("active")
	require.Empty(t, p.signals(), "it never failed")
	set("error")
	set("error")
	var text string
	require.NoError(t, p.db.QueryRow(t.Context(), `select details ->> 'error' || ' ' || (details ->> 'peer') from hub.signals`).Scan(&text))
	require.Equal(t, "the peer answered 503 clinic", text)
	require.Equal(t, "integration.error", p.signals())
	set("inactive")
	set("error")
	require.Empty(t, p.signals(), "the same episode")
	set("active")
	require.Equal(t, "integration.recovered", p.signals())
	set("error")
	set("active")
	require.Equal(t, "integration.error integration.recovered", p.signals())
	p.exec(`begin; update hub.integrations set status = 'error'; rollback`)
	require.Empty(t, p.signals(), "what is rolled back did not happen")
}

// An endpoint that is abandoned, or disabled by the hub, is signalled; one that a person disables
// or deletes, or that belongs to an alert, is not.
func TestEndpointEpisodes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	ids := p.newEndpoints(p.tenant, 2)
	p.exec(`update hub.endpoints set enabled = false where id = $1`, ids[0])
	require.Empty(t, p.signals())
	p.clock.Advance(15*24*time.Hour + time.Minute)
	require.NoError(t, p.maintenance.EnforceRetention(t.Context()))
	require.NoError(t, p.maintenance.EnforceRetention(t.Context()))
	require.Equal(t, "endpoint.abandoned", p.signals())
	p.exec(`update hub.endpoints set enabled = false, disabled_reason = 'gone' where id = $1 and enabled`, ids[1])
	p.exec(`update hub.endpoints set enabled = false, disabled_reason = 'gone' where id = $1 and enabled`, ids[1])
	require.Equal(t, "endpoint.disabled", p.signals())
	p.exec(`update hub.endpoints set enabled = true, disabled_reason = null, tenant_id = '00000000-0000-0000-0000-000000000000'`)
	p.exec(`update hub.endpoints set enabled = false, disabled_reason = 'gone'`)
	p.exec(`update hub.endpoints set abandoned_at = now()`)
	require.Empty(t, p.signals(), "alerts make no alerts")
}

// The episode of parked deliveries ends when none is left. What is parked soon after belongs to
// it; what is parked later begins another.
func TestParkedEpisodes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	target := uuid.New()
	begin := func() (isNew bool) {
		require.NoError(t, p.db.QueryRow(t.Context(), `select hub.begin_episode('parked', $1, interval '10 minutes')`, target).Scan(&isNew))
		p.exec(`insert into hub.drains (target_id, integration, state, due_at) values ($1, false, 'waiting', now()) on conflict do nothing`, target)
		return isNew
	}
	require.True(t, begin())
	require.False(t, begin())
	p.exec(`delete from hub.drains`)
	require.False(t, begin(), "soon after")
	p.exec(`delete from hub.drains`)
	p.exec(`update hub.episodes set ended_at = ended_at - interval '10 minutes'`)
	require.True(t, begin())
	p.exec(`delete from hub.drains`)
	p.exec(`update hub.episodes set ended_at = ended_at - interval '2 hours'`)
	require.NoError(t, p.publisher.Forget(t.Context()))
	require.Zero(t, p.count(`hub.episodes`))
	require.True(t, begin())
	require.NoError(t, p.publisher.Forget(t.Context()))
	require.Equal(t, 1, p.count(`hub.episodes`))
}

// inboxes are the inboxes of a product.
type inboxes struct{ waiting []module.WaitingInbox }

// WaitingInboxes implements [module.InboxReporter].
func (i *inboxes) WaitingInboxes(_ context.Context, after module.WaitingInbox, limit int) ([]module.WaitingInbox, error) {
	order := func(a, b module.WaitingInbox) int {
		return cmp.Or(bytes.Compare(a.TenantID[:], b.TenantID[:]), cmp.Compare(a.Environment, b.Environment))
	}
	waiting := slices.SortedFunc(slices.Values(i.waiting), order)
	waiting = slices.DeleteFunc(waiting, func(inbox module.WaitingInbox) bool { return order(inbox, after) <= 0 })
	return waiting[:min(limit, len(waiting))], nil
}

// An inbox in which something waits is signalled once, until nothing waits for a while; live and
// test data, and tenants, apart.
func TestInboxEpisodes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	other := p.newTenant()
	entry := func(tenant uuid.UUID, environment hub.Environment, n int) module.WaitingInbox {
		return module.WaitingInbox{TenantID: tenant, Environment: environment, Waiting: n, OldestSince: p.clock.Now()}
	}
	reporter := &inboxes{}
	second := p.newPublisher()
	look := func(waiting ...module.WaitingInbox) string {
		reporter.waiting = waiting
		for _, publisher := range []*alerts.Publisher{p.publisher, second} {
			publisher.SetInboxes(map[string]module.InboxReporter{"clinic": reporter})
			require.NoError(t, publisher.SignalInboxes(t.Context()))
		}
		return p.signals()
	}
	require.Empty(t, look())
	require.Equal(t, "inbox.waiting inbox.waiting", look(entry(p.tenant, hub.Live, 1), entry(p.tenant, hub.Test, 1)))
	require.Equal(t, "inbox.waiting", look(entry(p.tenant, hub.Live, 7), entry(p.tenant, hub.Test, 1), entry(other, hub.Live, 1)))
	require.Empty(t, look(entry(other, hub.Live, 2)))
	require.Empty(t, look(entry(p.tenant, hub.Live, 1), entry(other, hub.Live, 2)), "soon after")
	look()
	p.exec(`update hub.episodes set ended_at = ended_at - interval '10 minutes'`)
	require.Equal(t, "inbox.waiting", look(entry(p.tenant, hub.Live, 1)))
}

// However many inboxes wait, each is signalled, and its episode ends when nothing waits in it.
func TestManyWaitingInboxes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	reporter := &inboxes{}
	for range 2*alerts.InboxesPerPage + 1 {
		reporter.waiting = append(reporter.waiting, module.WaitingInbox{TenantID: uuid.New(), Environment: hub.Live, Waiting: 1, OldestSince: p.clock.Now()})
	}
	p.publisher.SetInboxes(map[string]module.InboxReporter{"clinic": reporter})
	require.NoError(t, p.publisher.SignalInboxes(t.Context()))
	require.Equal(t, len(reporter.waiting), p.count(`(select distinct tenant_id from hub.signals) s`))
	reporter.waiting = reporter.waiting[:2*alerts.InboxesPerPage]
	require.NoError(t, p.publisher.SignalInboxes(t.Context()))
	require.Equal(t, len(reporter.waiting)+1, p.count(`hub.signals`))
	require.Equal(t, 1, p.count(`hub.episodes where ended_at is not null`))
}
