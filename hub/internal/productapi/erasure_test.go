package productapi_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const deletion = `"data":{"patient_id":"0198c9a0-1111-7222-8333-444455556666","phone":"+5511987654321","email":"maria@example.com"}}`

// deleted is a peer's event that a person was deleted.
func deleted(id, product string) string {
	return strings.Replace(envelope(id, product, "patient.deleted", ""), `"data":{"text":""}}`, deletion, 1)
}

// erasures waits until so many are finished.
func (n *node) erasures(finished int) {
	n.t.Helper()
	require.Eventually(n.t, func() bool {
		var done int
		require.NoError(n.t, n.db.QueryRow(context.Background(), `select count(*) from hub.erasures where finished_at is not null`).Scan(&done))
		return done == finished
	}, 2*soon, tick)
}

// A peer that announces a deletion has what it and others sent about the person erased, in
// the tenant that it announced it to and in no other; it may go on sending.
func TestReceivedDeletion(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	l, stranger := pair(n), pair(n)
	mine, joao, theirs, id := newID(), newID(), newID(), newID()
	event := envelope(mine, "board", "note.created", "Maria, 11 98765-4321")
	require.Equal(t, "accepted", l.send(event).body["status"])
	require.Equal(t, "accepted", l.send(envelope(joao, "board", "note.created", "João, 11 91234-5678")).body["status"])
	require.Equal(t, "accepted", stranger.send(envelope(theirs, "board", "note.created", "Maria, 11 98765-4321")).body["status"])
	require.Equal(t, 202, l.publish("to board: maria@example.com").status)
	body := deleted(id, "board")
	require.Equal(t, "ignored", l.send(body).body["status"], "the product knows no such event, and the log is cleared all the same")
	n.erasures(1)

	payload := func(of *link, event string) string {
		list := of.logs("?event_id=" + event)
		require.Len(t, list, 1)
		require.Equal(t, "inbound", list[0]["direction"])
		require.Equal(t, "delivered", list[0]["status"])
		return fmt.Sprint(list[0]["payload"])
	}
	require.Equal(t, "map[erased:true]", payload(l, mine))
	require.Equal(t, "map[erased:true]", payload(l, id))
	require.Contains(t, payload(l, joao), "João")
	require.Contains(t, payload(stranger, theirs), "Maria")
	for _, log := range l.logs("?direction=outbound") {
		require.Equal(t, map[string]any{"erased": true}, log["payload"])
	}
	require.Equal(t, "duplicate", l.send(event).body["status"])
	require.Equal(t, "duplicate", l.send(body).body["status"])
	refused(t, 409, "event_id_reused", l.send(envelope(mine, "board", "note.created", "other")))
	n.erasures(1)
}

// A hub that is killed in the middle of an erasure goes on where it was: all that is
// about the person is erased in the end, once, and nothing else.
func TestKilledWhileErasing(t *testing.T) {
	t.Parallel()
	k := newKillable(t)
	ctx := context.Background()
	k.ok(201, "POST", "/api/v1/products", `{"name":"shop","prefix":"shop"}`)
	tenant := k.ok(201, "POST", "/api/v1/tenants", `{"product":"shop","name":"Shop"}`).body["id"].(string)
	key := k.ok(201, "POST", "/api/v1/keys", `{"tenant_id":"`+tenant+`","rate":"0"}`).body["api_key"].(string)
	k.ok(201, "POST", "/api/v1/endpoints", `{"tenant_id":"`+tenant+`","url":"http://127.0.0.1:1/","event_types":["waits"]}`)
	publish := func(path, body string) {
		got := call(t, "POST", k.url+"/api/v1"+path, body, withKey(key)...)
		require.Equal(t, 202, got.status, got.text)
	}
	const batches = 12 // three steps of the walk
	for range batches {
		events := strings.Repeat(`{"event_type":"a.b","data":{"phone":"1187654321"}},{"event_type":"a.b","data":{"phone":"1187654322"}},`, 249)
		publish("/events/batch", `{"events":[`+events+`{"event_type":"waits","data":{"phone":"11987654321"}},{"event_type":"waits","data":{}}]}`)
	}
	publish("/events", `{"event_type":"patient.deleted",`+deletion)
	counts := func(query string) (n int) {
		require.NoError(t, k.db.QueryRow(ctx, query).Scan(&n))
		return n
	}
	const erased = `select count(*) from hub.events where body = '{"erased":true}'`
	before := -1
	// Killed as it looks for what waits, as it begins, and again and again as it walks.
	for _, failpoint := range []string{"erasing_waiting:1", "erased_waiting_part:1", "erasing:1", "erasing:2", "erasing:3", "erasing:2"} {
		k.restart(failpoint)
		select {
		case <-k.process.Exited():
		case <-time.After(2 * soon):
			require.Fail(t, "never reached", k.process.LogTail())
		}
		require.True(t, k.process.Killed())
		now := counts(erased)
		require.GreaterOrEqual(t, now, before)
		require.Less(t, now, 250*batches, "it is not done yet")
		before = now
	}
	require.Positive(t, before, "it was killed in the middle")
	k.restart("")
	// What the killed hubs had in hand is theirs until their leases end: let that be now.
	_, err := k.db.Exec(ctx, `update hub.deliveries set due_at = now() where status = 0 and next_attempt_at is null`)
	require.NoError(t, err)
	k.erasures(1)
	require.Equal(t, 250*batches+1, counts(erased), "hers, and the deletion")
	require.Equal(t, 250*batches+1, counts(`select events from hub.erasures`))
	require.Equal(t, 250*batches, counts(`select count(*) from hub.events where body like '%1187654322%' or body like '%"data":{}%'`))
	require.Equal(t, batches, counts(`select count(*) from hub.deliveries where status = 3 and reason = 'erased'`))
	require.Equal(t, 1, counts(`select count(*) from hub.audit where action = 'payloads.erase'`))
	require.Equal(t, 2*batches, counts(`select sum(accepted) from (select accepted from hub.statistics where width = 1 and scope = 2 union all select accepted from hub.rollup_deltas) a`))
	require.Equal(t, 2*batches, counts(`select count(*) from hub.deliveries where not inbound`))
	require.Equal(t, batches, counts(`select sum(failed) from (select failed from hub.statistics where width = 1 and scope = 2 union all select failed from hub.rollup_deltas) a`))
}
