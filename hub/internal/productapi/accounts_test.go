package productapi_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const otherAccount = "other_account_connected"

// linkTo asks the hub to connect two of its tenants.
func (o *tenant) linkTo(peer *tenant) answer {
	o.t.Helper()
	return call(o.t, "POST", o.url+"/api/v1/integrations/link", `{"tenant_id":"`+o.id+`","peer_tenant_id":"`+peer.id+`"}`, bearer(o.token)...)
}

// tryConnect connects a tenant to another one as its administrator would.
func (o *tenant) tryConnect(peer *tenant, product string) answer {
	o.t.Helper()
	return call(o.t, "POST", o.integrations()+"/connect", connectBody(product, peer.issue(), peer.base+"/api/v1"), bearer(o.admin)...)
}

// only is the tenant's one integration.
func (o *tenant) only() map[string]any {
	o.t.Helper()
	list := o.do(200, "GET", "/", "").list
	require.Len(o.t, list, 1)
	return list[0]
}

// storedState returns what the hub shows of its integrations and keys, except what probes change
// and the uses of keys.
func (n *node) storedState() string {
	n.t.Helper()
	var all []any
	for _, path := range []string{"/api/v1/integrations?limit=200", "/api/v1/keys?limit=200"} {
		for _, item := range n.ok(200, "GET", path, "").body["items"].([]any) {
			entry := item.(map[string]any)
			delete(entry, "last_health_check")
			delete(entry, "updated_at")
			delete(entry, "peer_account") // a probe learns it
			delete(entry, "last_used_at")
			delete(entry, "used")
			delete(entry, "resets_at")
			all = append(all, entry)
		}
	}
	raw, err := json.Marshal(all)
	require.NoError(n.t, err)
	return string(raw)
}

// A tenant is connected to one account of a product. A link with another one, on either
// side, is refused before anything has changed; the one there is goes on working.
func TestLinkWithAnotherAccount(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	salon, first, second, other := n.signUp("notes"), n.signUp("board"), n.signUp("board"), n.signUp("notes")
	require.Equal(t, 200, salon.linkTo(first).status)
	made, theirs := salon.only()["id"], first.only()["id"]
	before := n.storedState()
	for name, got := range map[string]answer{"ours": salon.linkTo(second), "theirs": second.linkTo(salon), "the peer's": other.linkTo(first), "the peer's own": first.linkTo(other)} {
		refused(t, 409, otherAccount, got)
		require.Contains(t, got.body["detail"], "revoke", name)
	}
	require.Equal(t, before, n.storedState())
	for _, entry := range []*tenant{salon, first} {
		tested := entry.do(200, "POST", "/"+entry.only()["id"].(string)+"/test", "")
		require.Equal(t, true, tested.body["ok"], tested.text)
	}
	require.Equal(t, 202, salon.publish("to the first").status)
	require.Equal(t, 202, first.publish("to the salon").status)
	require.Eventually(t, func() bool {
		return slices.Contains(first.notes(), "to the first") && slices.Contains(salon.notes(), "to the salon")
	}, soon, tick)

	// The same account again is the same integration.
	again := salon.linkTo(first)
	require.Equal(t, 200, again.status, again.text)
	require.Equal(t, []any{made, theirs}, []any{salon.only()["id"], first.only()["id"]})

	// Once it is revoked another account may come, and both sides know.
	first.do(200, "DELETE", "/"+theirs.(string), "")
	require.Equal(t, "inactive", salon.only()["status"])
	require.Equal(t, 200, salon.linkTo(second).status)
	require.Equal(t, []any{"active", "inactive", "active"}, []any{salon.only()["status"], first.only()["status"], second.only()["status"]})
	first.do(200, "DELETE", "/"+theirs.(string), "")
	require.Equal(t, "active", salon.only()["status"], "what was revoked already ends nothing")
	refused(t, 409, otherAccount, salon.linkTo(first))
}

// The same between hubs, where each side knows its own integrations only.
func TestConnectToAnotherAccount(t *testing.T) {
	t.Parallel()
	here, there := start(t, nil), start(t, nil)
	a, b := here.signUp("notes"), there.signUp("board")
	require.Equal(t, 200, a.tryConnect(b, "board").status)

	// Ours is taken.
	ours, second := here.storedState(), there.signUp("board")
	refused(t, 409, otherAccount, a.tryConnect(second, "board"))
	require.Equal(t, ours, here.storedState())
	require.Empty(t, second.do(200, "GET", "/", "").list)

	// Theirs is: they are asked, and say so. It is not tried again.
	stranger := here.signUp("notes")
	before := b.only()
	got := stranger.tryConnect(b, "board")
	refused(t, 409, otherAccount, got)
	require.Contains(t, got.body["detail"], "notes")
	require.Equal(t, before, b.only())
	left := stranger.only()
	require.Equal(t, "inactive", left["status"])
	require.Equal(t, got.body["detail"], left["last_error"])
	shown := here.ok(200, "GET", "/api/v1/integrations/"+left["id"].(string), "").body
	require.Nil(t, shown["next_registration_at"])
	refused(t, 409, otherAccount, call(t, "POST", here.url+"/api/v1/integrations/"+left["id"].(string)+"/enable", "", bearer(here.token)...))

	// The same account with another key, from either side, is nothing new.
	for _, got := range []answer{a.tryConnect(b, "board"), b.tryConnect(a, "notes")} {
		require.Equal(t, 200, got.status, got.text)
		require.Equal(t, "active", got.body["status"], got.text)
	}
	require.Equal(t, before["id"], b.only()["id"])

	a.do(200, "DELETE", "/"+a.only()["id"].(string), "")
	require.Equal(t, "inactive", b.only()["status"])
	got = stranger.tryConnect(b, "board")
	require.Equal(t, 200, got.status, got.text)
	require.Equal(t, left["id"], got.body["id"])
	require.Equal(t, []any{"active", "active"}, []any{stranger.only()["status"], b.only()["status"]})
}

// connectWith connects in the form of docs/interfaces/scheduling.md ("Integrations"), with
// a key of ours that the test knows.
func (o *tenant) connectWith(local string, peer *tenant, product string) answer {
	o.t.Helper()
	return o.do(200, "POST", "/connect", fmt.Sprintf(`{"product":%q,"api_key_local":%q,"api_key_remote":%q,"api_url":%q}`,
		product, local, peer.issue(), peer.base+"/api/v1"))
}

// A key that a handshake replaced serves for its overlap, but it ends nothing.
func TestReplacedKeyEndsNothing(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	a, b := n.signUp("notes"), n.signUp("board")
	former, current, revoked := a.issue(), a.issue(), a.issue()
	a.connectWith(former, b, "board")
	a.connectWith(current, b, "board")
	a.do(204, "DELETE", "/api-keys/"+keyID(a, revoked), "")
	unregister := func(key string) answer {
		return call(t, "POST", a.integrations()+"/webhook/unregister", `{}`, withKey(key)...)
	}
	before := n.storedState()
	got, worthless := unregister(former), unregister(revoked)
	refused(t, 401, "invalid_key", got)
	delete(got.body, "request_id")
	delete(worthless.body, "request_id")
	require.Equal(t, worthless.body, got.body)
	require.Equal(t, before, n.storedState())
	require.Equal(t, 200, call(t, "GET", a.integrations()+"/search/notes", "", withKey(former)...).status, "its overlap lasts")
	a.connectWith(former, b, "board")
	refused(t, 401, "invalid_key", unregister(current))
	a.connectWith(current, b, "board")

	// One that was rotated by hand is the only one the peer has.
	next := a.do(201, "POST", "/api-keys/"+keyID(a, current)+"/rotate", "").body["api_key"].(string)
	left := unregister(current)
	require.Equal(t, 200, left.status, left.text)
	require.Equal(t, "inactive", a.only()["status"])
	a.connectWith(next, b, "board")
	require.Equal(t, "active", a.only()["status"])
	require.Equal(t, 200, unregister(next).status)
	require.Equal(t, "inactive", a.only()["status"])
}

// An account that left keeps nothing that works once another has its place, and notices.
func TestReplacedAccountKeepsNoAccess(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	a, first, second := n.signUp("notes"), n.signUp("board"), n.signUp("board")
	former, current := a.issue(), a.issue()
	made := a.connectWith(former, first, "board")
	secret := first.do(200, "POST", "/"+first.only()["id"].(string)+"/rotate-secret", "").body["webhook_secret"].(string)
	// By the call alone: at the first itself the integration still stands.
	require.Equal(t, 200, call(t, "POST", a.integrations()+"/webhook/unregister", `{}`, withKey(former)...).status)
	require.Equal(t, "active", first.only()["status"])
	got := a.connectWith(current, second, "board")
	require.Equal(t, made.body["id"], got.body["id"])

	refused(t, 401, "invalid_key", call(t, "GET", a.integrations()+"/status", "", withKey(former)...))
	body := envelope(newID(), "board", "note.created", "of the first")
	for key, code := range map[string]string{former: "invalid_key", current: "invalid_signature"} {
		refused(t, 401, code, call(t, "POST", a.integrations()+"/webhook", body, "X-Integration-Key", key, "X-Webhook-Signature", sign(secret, body)))
	}
	tested := first.do(200, "POST", "/"+first.only()["id"].(string)+"/test", "").body
	require.Equal(t, []any{false, "remote_key_rejected", "error"}, []any{tested["ok"], tested["code"], tested["status"]})
	require.Equal(t, 202, a.publish("for the second").status)
	require.Eventually(t, func() bool { return slices.Equal(second.notes(), []string{"for the second"}) }, soon, tick)
	require.Empty(t, first.notes())
	first.do(200, "DELETE", "/"+first.only()["id"].(string), "")
	require.Equal(t, []any{"active", "active"}, []any{a.only()["status"], second.only()["status"]})
}

// registering is a registration as a peer makes it, by the documents.
func (o *tenant) registering(key string, peer *tenant, id, theirKey string) answer {
	o.t.Helper()
	body := fmt.Sprintf(`{"product":"board","registration_id":%q,"webhook_url":%q,"webhook_secret":"whsec_ofATestThatRegisters"`, id, peer.base+"/api/v1/integrations/webhook")
	if theirKey != "" {
		body += fmt.Sprintf(`,"api_key":%q`, theirKey)
	}
	return call(o.t, "POST", o.integrations()+"/webhook/register", body+`}`, withKey(key)...)
}

// A registration with a key that the integration does not know yet: whose it is the peer
// is asked.
func TestRegistrationByAnotherAccount(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	a, first, second := n.signUp("notes"), n.signUp("board"), n.signUp("board")
	require.Equal(t, 200, a.tryConnect(first, "board").status)
	strange, theirs, ours := a.issue(), second.issue(), first.issue()
	before := n.storedState()
	refused(t, 409, otherAccount, a.registering(strange, second, "another", theirs))
	refused(t, 422, "remote_key_rejected", a.registering(strange, second, "another", ours[:len(ours)-6]+"000000"))
	nowhere := &tenant{node: n, base: strings.Replace(n.url, "127.0.0.1", "127.0.0.2", 1) + "/board"}
	refused(t, 502, "peer_unreachable", a.registering(strange, nowhere, "another", theirs))
	require.Equal(t, before, n.storedState())

	// The same account, whatever it calls the connection, and one that names its own id.
	got := a.registering(a.issue(), first, "another", ours)
	require.Equal(t, 200, got.status, got.text)
	got = a.registering(a.issue(), nowhere, "another", ours)
	require.Equal(t, 200, got.status, got.text)
	require.Equal(t, a.only()["id"], got.body["integration_id"])
}

// Two accounts register at once, again and again: one of them is connected.
func TestTwoAccountsAtOnce(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	for range 5 {
		a := n.signUp("notes")
		var all sync.WaitGroup
		answers := make(chan answer, 2)
		for range 2 {
			peer := n.signUp("board")
			body := connectBody("notes", a.issue(), a.base+"/api/v1")
			all.Go(func() {
				got, err := try("POST", peer.integrations()+"/connect", body, bearer(peer.admin)...)
				if err != nil {
					t.Errorf("connect: %v", err)
				}
				answers <- got
			})
		}
		all.Wait()
		answer, two := <-answers, <-answers
		if answer.status != 200 {
			answer, two = two, answer
		}
		require.Equal(t, 200, answer.status, answer.text)
		require.Equal(t, "active", answer.body["status"], answer.text)
		refused(t, 409, otherAccount, two)
		require.Equal(t, answer.body["webhook_secret"], a.only()["webhook_secret"])
	}
}

// What was on its way to one account never reaches the one that comes after it.
func TestWhatWaitsIsForTheAccountBefore(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	salon, first, second := n.signUp("notes"), n.signUp("board"), n.signUp("board")
	require.Equal(t, 200, salon.linkTo(first).status)
	ours := salon.only()["id"]
	_, err := n.db.Exec(t.Context(), `update hub.integrations set status = 'error', next_probe_at = now() + interval '1 day' where id = $1`, ours)
	require.NoError(t, err)
	require.Equal(t, 202, salon.publish("between us").status)
	reason := func() (why string) { // of the oldest
		require.NoError(t, n.db.QueryRow(t.Context(), `select coalesce(max(reason), '') from (select reason from hub.deliveries where target_id = $1 order by id limit 1) oldest`, ours).Scan(&why))
		return why
	}
	require.Eventually(t, func() bool { return reason() == "peer_unavailable" }, soon, tick)

	salon.do(200, "DELETE", "/"+ours.(string), "")
	require.Equal(t, 200, salon.linkTo(second).status)
	require.Equal(t, ours, salon.only()["id"])
	require.Equal(t, 202, salon.publish("to the second").status)
	require.Eventually(t, func() bool { return reason() == "other_account" }, soon, tick)
	require.Eventually(t, func() bool { return slices.Contains(second.notes(), "to the second") }, soon, tick)
	require.NotContains(t, second.notes(), "between us")
	require.NotContains(t, first.notes(), "to the second")

	// The same account again gets what waited for it.
	_, err = n.db.Exec(t.Context(), `update hub.integrations set status = 'error', next_probe_at = now() + interval '1 day' where id = $1`, ours)
	require.NoError(t, err)
	require.Equal(t, 202, salon.publish("for later").status)
	salon.do(200, "DELETE", "/"+ours.(string), "")
	require.Equal(t, 200, salon.linkTo(second).status)
	require.Eventually(t, func() bool { return slices.Contains(second.notes(), "for later") }, soon, tick)
}
