package productapi_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/module/dberr"
)

// side is one of two connected tenants, each in a hub of its own.
type side struct {
	*tenant
	hub         *killable
	integration string
}

// connectHubs starts two hubs whose products take so many requests a minute of each
// other, and connects a tenant of "notes" here with one of "board" there.
func connectHubs(t *testing.T, rate int) (here, there *side) {
	t.Helper()
	environ := fmt.Sprint("NOTES_RATE=", rate)
	a, b := newKillable(t, environ), newKillable(t, environ)
	here, there = &side{tenant: a.signUp("notes"), hub: a}, &side{tenant: b.signUp("board"), hub: b}
	got := here.do(200, "POST", "/connect", connectBody("board", there.issue(), there.base+"/api/v1"))
	require.Equal(t, "active", got.body["status"], got.text)
	for _, entry := range []*side{here, there} {
		list := entry.do(200, "GET", "/", "").list
		require.Len(t, list, 1)
		require.Equal(t, "active", list[0]["status"])
		entry.integration = list[0]["id"].(string)
	}
	return here, there
}

// status is what a side makes of its integration.
func (s *side) status() any { return s.do(200, "GET", "/"+s.integration, "").body["status"] }

// count asks a side's database.
func (s *side) count(query string, args ...any) (n int) {
	s.t.Helper()
	require.NoError(s.t, s.db.QueryRow(s.t.Context(), query, args...).Scan(&n))
	return n
}

// of returns the received notes whose texts begin with prefix, sorted.
func (s *side) of(prefix string) []string {
	return slices.DeleteFunc(s.notes(), func(text string) bool { return !strings.HasPrefix(text, prefix) })
}

// flow publishes on a side until it is ended, and remembers what was accepted.
type flow struct {
	side     *side
	prefix   string
	end      chan struct{}
	running  sync.WaitGroup
	accepted []string
	n        atomic.Int64
}

func (s *side) flow(prefix string) *flow {
	f := &flow{side: s, prefix: prefix, end: make(chan struct{})}
	f.running.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-f.end:
				return
			default:
			}
			text := fmt.Sprintf("%s %05d", prefix, n)
			got, err := try("POST", s.base+"/api/v1/publish", `{"author":"","text":"`+text+`"}`, bearer(s.admin)...)
			if err == nil && got.status == 202 {
				f.accepted = append(f.accepted, text)
				f.n.Store(int64(len(f.accepted)))
			}
		}
	})
	return f
}

// more waits until so many more were accepted.
func (f *flow) more(n int64) {
	f.side.t.Helper()
	till := f.n.Load() + n
	require.Eventually(f.side.t, func() bool { return f.n.Load() >= till }, 2*soon, tick)
}

func (f *flow) stop() []string {
	close(f.end)
	f.running.Wait()
	return f.accepted
}

// arrived requires that all of it comes to the other side, each once, and nothing that
// was not at least tried.
func (f *flow) arrived(to *side) {
	t := f.side.t
	t.Helper()
	var missing []string
	require.Eventually(t, func() bool {
		// What a dead process held is due when its lease has ended: let it be now.
		for _, statement := range []string{
			`select hub.unfold_leases(array(select id from hub.leases))`,
			`update hub.deliveries set due_at = now(), next_attempt_at = null where status = 0 and due_at > now() + interval '5 s'`,
		} {
			_, err := f.side.db.Exec(t.Context(), statement)
			if dberr.Code(err) == dberr.DeadlockDetected { // the hub locks them in another order
				return false
			}
			require.NoError(t, err)
		}
		got := to.of(f.prefix)
		missing = slices.DeleteFunc(slices.Clone(f.accepted), func(text string) bool {
			_, found := slices.BinarySearch(got, text)
			return found
		})
		return len(missing) == 0
	}, 3*soon, 50*tick, "lost: %v", &missing)
	got := to.of(f.prefix)
	require.Equal(t, slices.Compact(slices.Clone(got)), got, "one effect each")
	sent := f.side.of(f.prefix)
	for _, text := range got {
		_, found := slices.BinarySearch(sent, text)
		require.True(t, found, "%s was never sent", text)
	}
	require.Eventually(t, func() bool {
		return f.side.count(`select count(*) from hub.deliveries where status <> 1 and not inbound`) == 0
	}, soon, tick, "the sender's log says the same")
	ever := len(to.of(strings.Fields(f.prefix)[0])) // in earlier rounds as well
	require.Equal(t, ever, f.side.count(`
		select count(*) from hub.deliveries where not inbound and target_id = $1 and status = 1 and status_code = 200`, f.side.integration))
	require.Equal(t, ever, to.count(`
		select count(*) from hub.deliveries where inbound and target_id = $1 and status = 1 and status_code = 200`, to.integration))
}

// Two hubs, connected over HTTP both ways: events travel both ways, each once, and both
// sides log both. What one side revokes is ended on the other.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	here, there := connectHubs(t, 60_000)
	forth, back := here.flow("forth"), there.flow("back")
	forth.more(25)
	back.more(25)
	forth.stop()
	back.stop()
	forth.arrived(there)
	back.arrived(here)
	for _, entry := range []*side{here, there} {
		for direction, product := range map[string]string{"outbound": "notes", "inbound": "board"} {
			if entry == there {
				product = map[string]string{"outbound": "board", "inbound": "notes"}[direction]
			}
			items := entry.ok(200, "GET", "/api/v1/deliveries?limit=200&direction="+direction+"&integration_id="+entry.integration, "").body["items"].([]any)
			require.NotEmpty(t, items)
			for _, raw := range items {
				item := raw.(map[string]any)
				require.Equal(t, product, item["product"])
				require.Equal(t, true, item["delivered"])
				require.Equal(t, entry.id, item["tenant_id"])
				require.EqualValues(t, 200, item["status_code"])
			}
		}
	}

	for name, ends := range map[string]func(here, there *side) (by, other *side){
		"here":  func(here, there *side) (by, other *side) { return here, there },
		"there": func(here, there *side) (by, other *side) { return there, here },
	} {
		a, b := &side{tenant: here.signUp("notes"), hub: here.hub}, &side{tenant: there.signUp("board"), hub: there.hub}
		a.integration = a.do(200, "POST", "/connect", connectBody("board", b.issue(), b.base+"/api/v1")).body["id"].(string)
		b.integration = b.do(200, "GET", "/", "").list[0]["id"].(string)
		by, other := ends(a, b)
		require.Equal(t, "active", other.status())
		by.do(200, "DELETE", "/"+by.integration, "")
		require.Equal(t, "inactive", by.status(), name)
		require.Equal(t, "inactive", other.status(), "%s: the peer was notified before the response", name)
		for _, entry := range []*side{by, other} {
			require.Equal(t, 202, entry.publish("unheard").status)
			require.Zero(t, entry.count(`select count(*) from hub.deliveries where target_id = $1`, entry.integration), name)
		}
	}
}

// Either side is killed while events flow both ways, at any moment and at the one where
// the peer has an event and the sender does not know it yet: nothing accepted is lost,
// and what is sent again has no second effect.
func TestKilledWhileEventsFlow(t *testing.T) {
	t.Parallel()
	here, there := connectHubs(t, 60_000)
	for round, kill := range []struct {
		side  *side
		place string
	}{
		{here, ""}, {there, ""}, {here, "after_response"}, {there, "received_before_commit"}, {there, "after_response"}, {here, "before_attempt_row"},
	} {
		name := fmt.Sprintf("%s in round %d", kill.place, round)
		before := there.received() + here.received()
		if kill.place != "" {
			kill.side.hub.restart(kill.place + ":10")
		}
		forth, back := here.flow(fmt.Sprint("forth ", round)), there.flow(fmt.Sprint("back ", round))
		if kill.place == "" {
			forth.more(15)
			kill.side.hub.process.Kill()
		}
		select {
		case <-kill.side.hub.process.Exited():
		case <-time.After(soon):
			require.Fail(t, "not reached", name)
		}
		require.True(t, kill.side.hub.process.Killed(), name)
		kill.side.hub.start("")
		forth.more(15)
		back.more(15)
		forth.stop()
		back.stop()
		forth.arrived(there)
		back.arrived(here)
		if kill.place == "after_response" {
			require.Greater(t, there.received()+here.received(), before, "%s: something came twice", name)
		}
	}
}

// received counts the events of peers that came and had come before.
func (s *side) received() int {
	return s.count(`select count(*) from hub.audit where action = 'integrations.webhook' and status = 200`) - s.count(`select count(*) from hub.received`)
}

// Secrets and keys are replaced while events flow both ways: nothing is lost, and nothing
// is refused in the end.
func TestRotationUnderLoad(t *testing.T) {
	t.Parallel()
	here, there := connectHubs(t, 60_000)
	forth, back := here.flow("forth"), there.flow("back")
	secrets := map[any]bool{}
	for round := range 4 {
		forth.more(10)
		by, other := here, there
		if round%2 == 1 {
			by, other = there, here
		}
		secret := by.do(200, "POST", "/"+by.integration+"/rotate-secret", "").body["webhook_secret"]
		secrets[secret] = true
		back.more(10)
		// The key that the peer uses here is replaced, and the peer notified by connecting again.
		key := ""
		for _, entry := range by.do(200, "GET", "/api-keys?limit=200", "").body["items"].([]any) {
			issued := entry.(map[string]any)
			if issued["integration_id"] == by.integration && issued["revoked_at"] == nil && issued["replaced_by"] == nil {
				key = issued["id"].(string)
			}
		}
		require.NotEmpty(t, key)
		rotated := by.do(201, "POST", "/api-keys/"+key+"/rotate", "").body["api_key"].(string)
		own := map[*side]string{here: "notes", there: "board"}[by]
		got := other.do(200, "POST", "/connect", connectBody(own, rotated, by.base+"/api/v1"))
		require.Equal(t, "active", got.body["status"], got.text)
		require.Equal(t, other.integration, got.body["id"])
	}
	require.Len(t, secrets, 4)
	forth.more(20)
	back.more(20)
	forth.stop()
	back.stop()
	forth.arrived(there)
	back.arrived(here)
	for _, entry := range []*side{here, there} {
		require.Equal(t, "active", entry.status())
		require.Len(t, entry.do(200, "GET", "/", "").list, 1)
		require.Zero(t, entry.count(`select count(*) from hub.deliveries where status_code = 401 or status in (2, 3)`))
	}
}
