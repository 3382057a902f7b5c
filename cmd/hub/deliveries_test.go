package main_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestListPages(t *testing.T) {
	t.Parallel()
	p := newTenant(t).withKey()
	p.subscribe(newReceiver(t, 200, "").URL)
	p.publishBatch(450, "a.b")
	p.awaitSettled(450, "delivered")
	list := func(flags ...string) []string {
		return strings.Split(p.run(append([]string{"deliveries", "list", "--tenant", p.tenantID, "-q"}, flags...)...).requireOK(), "\n")
	}
	all := list("--all")
	require.Len(t, all, 450)
	require.Len(t, slices.Compact(slices.Clone(all)), 450)
	require.True(t, slices.IsSortedFunc(all, func(a, b string) int { return strings.Compare(b, a) }), "newest first")
	require.Equal(t, all[:50], list())
	require.Equal(t, all[:201], list("--limit", "201"))

	some := p.run("deliveries", "list", "--tenant", p.tenantID, "--limit", "3")
	require.Len(t, strings.Split(some.requireOK(), "\n"), 4)
	_, cursor, more := strings.Cut(strings.TrimSpace(some.stderr), "there is more: --all, or --cursor ")
	require.True(t, more, some.stderr)
	require.Equal(t, all[3:53], list("--cursor", cursor))
	p.run("deliveries", "list", "--cursor", "nonsense").requireFails(1, "cursor")

	// JSON is the API's answer: one page as it came, several as one.
	type page struct {
		Items      []json.RawMessage `json:"items"`
		NextCursor *string           `json:"next_cursor"`
	}
	_, raw := p.hub.call(t, "GET", "/api/v1/deliveries?limit=50&tenant_id="+p.tenantID, "")
	require.JSONEq(t, raw, p.run("deliveries", "list", "--tenant", p.tenantID, "-o", "json").requireOK())
	var got page
	p.run("deliveries", "list", "--tenant", p.tenantID, "--all", "-o", "json").decode(&got)
	require.Len(t, got.Items, 450)
	require.Nil(t, got.NextCursor)
	var first page
	require.NoError(t, json.Unmarshal([]byte(raw), &first))
	require.JSONEq(t, string(first.Items[0]), string(got.Items[0]))
	require.NotNil(t, first.NextCursor)

	events := strings.Split(p.run("events", "list", "--since", "1h", "--limit", "3", "-q").requireOK(), "\n")
	require.Len(t, events, 3)
	require.Regexp(t, `^evt_[0-9a-f]{16}$`, events[0])
}

// publishOutcomes publishes for a tenant an event delivered to one endpoint and one that another
// endpoint answers 410 too: three deliveries.
func publishOutcomes(t *testing.T) (p *tenantCLI, paid, gone string) {
	t.Helper()
	p = newTenant(t).withKey()
	p.subscribe(newReceiver(t, 200, "").URL)
	gone = p.subscribe(newReceiver(t, 410, "gone \x1b[2J").URL, "--events", "order.paid")
	p.publish("order.created", "--correlation-id", "c-1-"+p.product)
	paid = p.publish("order.paid")
	require.Eventually(t, func() bool {
		return len(p.run("deliveries", "list", "--tenant", p.tenantID, "--status", "delivered", "-q").requireOK()) > 37 &&
			len(p.run("deliveries", "list", "--tenant", p.tenantID, "--status", "parked", "-q").requireOK()) == 36
	}, waitTimeout, 10*pollInterval)
	return p, paid, gone
}

func TestLogFilters(t *testing.T) {
	t.Parallel()
	p, paid, gone := publishOutcomes(t)
	nothing := "0198aaaa-0000-7000-8000-000000000000"
	for _, tc := range []struct {
		count int
		flags []string
	}{
		{3, nil},
		{3, []string{"--direction", "outbound"}},
		{0, []string{"--direction", "inbound"}},
		{3, []string{"--product", p.product}},
		{0, []string{"--product", "other"}},
		{1, []string{"--endpoint", gone}},
		{0, []string{"--integration", nothing}},
		{2, []string{"--type", "order.paid"}},
		{2, []string{"--status", "delivered"}},
		{1, []string{"--status", "parked"}},
		{1, []string{"--status-code", "410"}},
		{1, []string{"--correlation-id", "c-1-" + p.product}},
		{2, []string{"--event", paid}},
		{1, []string{"--query", "c-1-" + p.product}},
		{2, []string{"--query", paid}},
		{0, []string{"--query", "x y"}},
		{3, []string{"--since", "1h"}},
		{3, []string{"--since", "2026-01-31"}},
		{0, []string{"--since", "2126-01-31"}},
		{3, []string{"--until", "2126-02-01T12:00:00.5+02:00"}},
		{0, []string{"--until", "7d"}},
		{1, []string{"--type", "order.paid", "--status", "parked", "--status-code", "410", "--endpoint", gone, "--since", "1h"}},
		{2, []string{"--limit", "2"}},
	} {
		ids := p.run(append([]string{"deliveries", "list", "--tenant", p.tenant, "-q"}, tc.flags...)...).requireOK()
		require.Len(t, strings.Fields(ids), tc.count, "%q", tc.flags)
	}
	p.run("deliveries", "list", "--status", "lost").requireFails(2, "status")
	for _, code := range []string{"0", "99", "1000", "x"} {
		p.run("deliveries", "list", "--status-code", code).requireFails(2, "--status-code")
	}
	p.run("deliveries", "list", "--event", "evt_1").requireFails(1, "event_id")
	p.run("deliveries", "list", "--endpoint", "e").requireFails(2, "is no id")

	// Events of the hub about the tenant may be among them: tests beside this one have alerts.
	require.Contains(t, p.run("events", "list", "--tenant", p.tenant, "--environment", "live", "-q").requireOK(), paid)
	require.Empty(t, strings.Fields(p.run("events", "list", "--tenant", p.tenant, "--environment", "test", "-q").requireOK()))
	other := newTenant(t)
	require.NotContains(t, p.run("events", "list", "--tenant", other.tenant, "-q").requireOK(), paid)

	audit := func(flags ...string) string {
		return p.run(append([]string{"audit", "--tenant", p.tenant}, flags...)...).requireOK()
	}
	require.Regexp(t, `(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ  operator local command line  keys\.create +keys +\S{36}  201     1      127\.0\.0\.1  [0-9a-f]{24}$`, audit())
	require.Contains(t, audit(), "endpoints.create")
	require.NotContains(t, audit("--action", "keys.create"), "endpoints.create")
	require.NotContains(t, audit("--resource", "endpoints"), "keys.create")
	require.Empty(t, audit("--actor", "nobody"))
	require.Empty(t, audit("--until", "1h"))
}

func TestTables(t *testing.T) {
	t.Parallel()
	p, _, gone := publishOutcomes(t)
	rows := strings.Split(p.run("deliveries", "list", "--tenant", p.tenant).requireOK(), "\n")
	require.Len(t, rows, 4)
	require.Regexp(t, `^TIME +ID +EVENT +TYPE +PRODUCT +TENANT +DIRECTION +RECEIVER +STATUS +REASON +CODE  ATTEMPTS +TOOK  NEXT ATTEMPT$`, rows[0])
	for _, row := range rows[1:] {
		require.Regexp(t, `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ  \S{36}  evt_\S{16}  order\.(created|paid) +`+p.product+` +`+p.tenant+` +outbound +http://127\.0\.0\.1:\d+ +(delivered  - +200|parked     gone +410) +1 +<?\d+ ms  -$`, row)
		require.Equal(t, strings.Index(rows[0], "TENANT"), strings.Index(row, p.product)+len(fmt.Sprintf("%-7s", p.product))+2)
	}
	parked := p.run("deliveries", "list", "--endpoint", gone, "-q").requireOK()
	shown := p.run("deliveries", "show", parked).requireOK()
	require.Contains(t, shown, `response    gone \x1b[2J`)
	require.NotContains(t, shown, "\x1b")
	require.Regexp(t, `waits +The receiver responded 410 \(gone\) and is disabled since \S+ \S+ UTC\. Enabling it sends this\.\n *released by +enabling the receiver\n *fails +\d{4}-`, shown)
	require.NotContains(t, p.run("deliveries", "show", p.run("deliveries", "list", "--status", "delivered", "-q", "--limit", "1").requireOK()).requireOK(), "waits")
	require.Contains(t, p.run("endpoints", "show", gone).requireOK(), "disabled (gone)")

	var stats []string
	require.Eventually(t, func() bool { // rollups are counted with each change
		stats = strings.Split(p.run("stats", "--tenant", p.tenant, "--bucket", "12h", "--from", "12h").requireOK(), "\n")
		return strings.HasPrefix(strings.Join(strings.Fields(stats[len(stats)-1]), " "), "total 3 2 0 1 - - -")
	}, waitTimeout, 10*pollInterval, "%q", stats)
	require.Regexp(t, `^FROM +ACCEPTED  DELIVERED  FAILED  PARKED +P50 +P95 +P99$`, stats[0])
	require.Regexp(t, `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ .* ms$`, stats[len(stats)-2])
	var json struct {
		Bucket string `json:"bucket"`
		Items  []struct {
			Accepted int `json:"accepted"`
		} `json:"items"`
	}
	p.run("stats", "--endpoint", gone, "--bucket", "1m", "-o", "json").decode(&json)
	require.Equal(t, "1m", json.Bucket)
	accepted := 0
	for _, delivery := range json.Items {
		accepted += delivery.Accepted
	}
	require.Equal(t, 1, accepted)
}

func TestRetry(t *testing.T) {
	t.Parallel()
	p, _, gone := publishOutcomes(t)
	nothing := "0198aaaa-0000-7000-8000-000000000000"
	delivered := strings.Fields(p.run("deliveries", "list", "--tenant", p.tenant, "--status", "delivered", "-q").requireOK())
	require.Equal(t, delivered[0]+"  pending\n"+delivered[1]+"  pending", p.run("deliveries", "retry", delivered[0], delivered[1]).requireOK())
	require.Eventually(t, func() bool {
		return strings.Contains(p.run("deliveries", "show", delivered[0]).requireOK(), "delivered after 2 attempts")
	}, waitTimeout, 10*pollInterval)
	some := p.run("deliveries", "retry", delivered[1], nothing)
	require.Equal(t, 6, some.code, some.stderr)
	require.Equal(t, delivered[1]+"  pending\n", some.stdout)
	p.run("deliveries", "retry", nothing, nothing).requireFails(5, nothing+": There is no such delivery.")

	parked := p.run("deliveries", "list", "--endpoint", gone, "-q").requireOK()
	p.run("deliveries", "retry", parked).requireFails(1, "enable it first. (endpoint_disabled, request ")
	p.run("endpoints", "update", gone, "--enabled", "--endpoint-url", newReceiver(t, 200, "").URL).requireOK() // and drains what was parked
	require.Eventually(t, func() bool {
		return strings.Contains(p.run("deliveries", "show", parked).requireOK(), "delivered after 2 attempts")
	}, waitTimeout, 10*pollInterval)
	require.JSONEq(t, `{"id":"`+parked+`","status":"pending"}`, p.run("deliveries", "retry", parked, "-o", "json").requireOK())
}
