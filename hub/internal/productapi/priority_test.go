package productapi_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/config"
)

// publishMany publishes events of a priority in one transaction. Their texts are numbered.
func (o *tenant) publishMany(text string, count int, priority hub.Priority) {
	o.t.Helper()
	got := call(o.t, "POST", fmt.Sprintf("%s/api/v1/publish?count=%d&priority=%d", o.base, count, priority), `{"author":"","text":"`+text+`"}`, bearer(o.admin)...)
	require.Equal(o.t, 202, got.status, got.text)
}

// texts returns what a peer received, in order.
func (p *peerOfDocuments) texts() (list []string) {
	for _, arrival := range p.arrivals() {
		list = append(list, arrival.text)
	}
	return list
}

// waits returns how many deliveries of a priority wait, also in the hub's memory.
func (o *tenant) waits(priority hub.Priority) (n int) {
	o.t.Helper()
	require.NoError(o.t, o.db.QueryRow(o.t.Context(), `select count(*) from hub.deliveries where status = 0 and tenant_id = $1 and priority = $2`, o.id, priority).Scan(&n))
	return n
}

// An import's events wait for a paced peer. What is published meanwhile arrives before the
// rest of them: high first, then normal.
func TestOthersPassBulk(t *testing.T) {
	t.Parallel()
	o, p, _ := connectCRM(t, 240) // 3.6 a second
	o.publishMany("row", 300, hub.PriorityBulk)
	require.Eventually(t, func() bool { return len(p.texts()) >= 2 }, soon, tick)
	o.publishMany("normal", 40, hub.PriorityNormal)
	o.publishMany("deletion", 1, hub.PriorityHigh)
	require.Eventually(t, func() bool {
		texts := p.texts()
		return slices.Contains(texts, "normal39") && slices.Contains(texts, "deletion0")
	}, 2*soon, tick)
	texts := p.texts()
	require.Less(t, len(texts), 150, "the rest of the import still waits")
	require.Positive(t, o.waits(hub.PriorityBulk))
	require.Less(t, slices.Index(texts, "deletion0"), slices.Index(texts, "normal39"))
	bulk := regexp.MustCompile(`\nhub_bulk_deliveries_pending\{product="notes"\} [1-9]`)
	require.Eventually(t, func() bool { // an import that takes long is no delivery that is stuck
		metrics := call(t, "GET", o.url+"/metrics", "").text
		return bulk.MatchString(metrics) && strings.Contains(metrics, "\nhub_oldest_pending_seconds{product=\"notes\"} 0\n")
	}, soon, 10*tick)

	var entry map[string]any
	for _, waits := range o.deliveries("&status=pending&limit=200") { // newest first
		if entry == nil && waits["priority"] == "bulk" {
			entry = waits
		}
	}
	detail := o.ok(200, "GET", "/api/v1/deliveries/"+entry["id"].(string), "").body
	require.Equal(t, "bulk", detail["priority"])
	waiting := detail["waiting"].(map[string]any)
	require.Equal(t, "paced", waiting["cause"])
	require.EqualValues(t, 216, waiting["rate_per_minute"])
}

// A hub that is killed while an import waits goes on in the same order: what is published
// afterwards passes.
func TestBulkStaysBulkThroughKill(t *testing.T) {
	t.Parallel()
	k := newKillable(t, "NOTES_RATE=240")
	o, peer := k.signUp("notes"), k.signUp("board")
	require.Equal(t, 200, o.tryConnect(peer, "board").status)
	o.publishMany("row", 300, hub.PriorityBulk)
	arrived := func(prefix string) (n int) {
		for _, text := range peer.notes() {
			if strings.HasPrefix(text, prefix) {
				n++
			}
		}
		return n
	}
	require.Eventually(t, func() bool { return arrived("row") >= 2 }, soon, 10*tick)
	k.restart("")
	require.Greater(t, o.waits(hub.PriorityBulk), 200)
	o.publishMany("deletion", 1, hub.PriorityHigh)
	o.publishMany("normal", 3, hub.PriorityNormal)
	require.Eventually(t, func() bool { return arrived("deletion") == 1 && arrived("normal") == 3 }, 2*soon, 10*tick)
	require.Greater(t, o.waits(hub.PriorityBulk), 100)
	require.Eventually(t, func() bool { return arrived("row") > 12 }, 3*soon, 10*tick, "and bulk goes on")
}

// An import for a peer that is switched off is parked. When the peer is on again, a
// deletion that was published last is sent first.
func TestParkedBulkGoesLast(t *testing.T) {
	t.Parallel()
	o, p, id := connectCRM(t, 6000)
	o.ok(200, "POST", "/api/v1/integrations/"+id+"/disable", "")
	o.publishMany("row", 80, hub.PriorityBulk)
	o.publishMany("normal", 2, hub.PriorityNormal)
	o.publishMany("deletion", 1, hub.PriorityHigh)
	require.Eventually(t, func() bool { return len(o.deliveries("&status=parked&limit=100")) == 83 }, soon, 10*tick)
	o.ok(200, "POST", "/api/v1/integrations/"+id+"/enable", "")
	require.Eventually(t, func() bool { return len(p.texts()) >= 83 }, 2*soon, tick)
	texts := p.texts()
	require.Equal(t, "deletion0", texts[0])
	require.Less(t, slices.Index(texts, "normal1"), 10, texts)
}

// The keys that the hub issues for a link have HUB_LINK_RATE, and the deliveries are paced
// below it. Keys that people issue keep the rate of the documents, and their deliveries its
// pace.
func TestLinkRate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(*config.Config)
		rate int
	}{
		"by default": {func(c *config.Config) { c.KeyRate = "100-M" }, 6000},
		"as set":     {func(c *config.Config) { c.KeyRate, c.LinkRate = "100-M", 1200 }, 1200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := start(t, c.set)
			linked, peer, connected, other := n.signUp("notes"), n.signUp("board"), n.signUp("notes"), n.signUp("board")
			require.Equal(t, 200, linked.linkTo(peer).status)
			require.Equal(t, 200, connected.tryConnect(other, "board").status)
			for _, side := range []*tenant{linked, peer} {
				requireRate(t, side, c.rate, c.rate*9/10)
			}
			for _, side := range []*tenant{connected, other} {
				requireRate(t, side, 100, 90)
			}
			// The rate outlives a rotation of the secret, with which the keys change, and ends
			// with a key that a person issued.
			linked.do(200, "POST", "/"+linked.only()["id"].(string)+"/rotate-secret", "")
			for _, side := range []*tenant{linked, peer} {
				requireRate(t, side, c.rate, c.rate*9/10)
			}
			require.Equal(t, 200, linked.tryConnect(peer, "board").status)
			for _, side := range []*tenant{linked, peer} {
				requireRate(t, side, 100, 90)
			}
		})
	}
}

// requireRate publishes an event and requires how often its peer takes requests with the key
// it was sent with, and at which pace it waits for its turn.
func requireRate(t *testing.T, from *tenant, limit, pace int) {
	t.Helper()
	published := from.publish("hello")
	require.Equal(t, 202, published.status, published.text)
	var detail map[string]any
	require.Eventually(t, func() bool {
		items := from.deliveries("&status=delivered&event_id=" + published.body["id"].(string))
		if len(items) != 1 {
			return false
		}
		detail = from.ok(200, "GET", "/api/v1/deliveries/"+items[0]["id"].(string), "").body
		return true
	}, soon, tick)
	attempts := detail["attempts"].([]any)
	headers := attempts[len(attempts)-1].(map[string]any)["response_headers"].(map[string]any)
	limits := ""
	for name, value := range headers {
		if strings.EqualFold(name, "RateLimit-Limit") {
			limits = value.(string)
		}
	}
	require.Equal(t, fmt.Sprint(limit), limits)
	var id string
	require.NoError(t, from.db.QueryRow(t.Context(), `
		update hub.deliveries set status = 0, finished_at = null, due_at = now() + interval '1 hour', round_at = now(), next_attempt_at = null
		where id = $1 returning id`, detail["id"]).Scan(&id))
	waiting := from.ok(200, "GET", "/api/v1/deliveries/"+id, "").body["waiting"].(map[string]any)
	require.EqualValues(t, pace, waiting["rate_per_minute"])
	_, err := from.db.Exec(t.Context(), `update hub.deliveries set status = 1, finished_at = now(), due_at = null where id = $1`, id)
	require.NoError(t, err)
}
