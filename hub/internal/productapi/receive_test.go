package productapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pair is a tenant of "notes" whose peer is a tenant of "board".
func pair(n *node) *link { return connectTenants(n.signUp("notes"), n.signUp("board"), "notes") }

func TestReceive(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	l := pair(n)
	id := newID()
	body := envelope(id, "board", "note.created", "hello")
	got := l.send(body)
	require.Equal(t, 200, got.status, got.text)
	require.Equal(t, map[string]any{"received": true, "id": id, "status": "accepted"}, got.body)
	require.Equal(t, []string{"hello"}, l.notes())

	got = l.send(body)
	require.Equal(t, 200, got.status)
	require.Equal(t, map[string]any{"received": true, "id": id, "status": "duplicate"}, got.body)
	refused(t, 409, "event_id_reused", l.send(envelope(id, "board", "note.created", "other")))
	require.Equal(t, []string{"hello"}, l.notes())

	for _, kind := range []string{"note.boring", "patient.created"} {
		ignored := newID()
		body := envelope(ignored, "board", kind, "x")
		got = l.send(body)
		require.Equal(t, 200, got.status, got.text)
		require.Equal(t, map[string]any{"received": true, "id": ignored, "status": "ignored"}, got.body)
		require.Equal(t, "duplicate", l.send(body).body["status"])
	}
	refused(t, 403, "wrong_product", l.send(envelope(newID(), "clinic", "note.created", "x")))
	require.Equal(t, 404, call(t, "PUT", l.integrations()+"/nothing/here", `{}`).status)
	require.Equal(t, "accepted", l.send(envelope(newID(), "board", "note.created", "slash")).body["status"])
}

// Event ids are compared in lower case: a second spelling of a stored event is a duplicate
// if the body differs in nothing else, whichever came first.
func TestReceiveUppercaseIDs(t *testing.T) {
	t.Parallel()
	l := pair(start(t, nil))
	for i, ids := range [][2]string{{"evt_0123456789abcdef", "evt_0123456789ABCDEF"}, {"evt_FFFF456789abcdeF", "evt_ffff456789abcdef"}} {
		text, at := fmt.Sprint("note ", i), time.Now()
		lower := strings.ToLower(ids[0])
		got := l.send(envelopeAt(ids[0], "board", "note.created", text, at))
		require.Equal(t, 200, got.status, got.text)
		require.Equal(t, map[string]any{"received": true, "id": lower, "status": "accepted"}, got.body)
		got = l.send(envelopeAt(ids[1], "board", "note.created", text, at))
		require.Equal(t, 200, got.status, got.text)
		require.Equal(t, map[string]any{"received": true, "id": lower, "status": "duplicate"}, got.body)
		refused(t, 409, "event_id_reused", l.send(envelopeAt(ids[1], "board", "note.created", strings.ToUpper(text), at)))
	}
	require.Equal(t, []string{"note 0", "note 1"}, l.notes())
}

// What is signed rightly and still wrong.
func TestReceiveRules(t *testing.T) {
	t.Parallel()
	l := pair(start(t, nil))
	good := envelope("evt_0123456789abcdef", "board", "note.created", "x")
	change := func(from, to string) string { return strings.Replace(good, from, to, 1) }
	now := time.Now()
	for name, c := range map[string]struct {
		status int
		code   string
		body   string
	}{
		"empty":              {400, "", ""},
		"not JSON":           {400, "", "{"},
		"an array":           {422, "", "[]"},
		"after the value":    {400, "", good + "x"},
		"NUL":                {400, "", change(`"x"`, `"\u0000"`)},
		"lone surrogate":     {400, "", change(`"x"`, `"\ud800"`)},
		"broken UTF-8":       {400, "", change(`"x"`, "\"\xff\"")},
		"long number":        {400, "", change(`"x"`, strings.Repeat("1", 33))},
		"duplicate key":      {400, "", change(`"data"`, `"id":"evt_ffffffffffffffff","data"`)},
		"duplicate escaped":  {400, "", change(`"data"`, `"\u0069d":"evt_ffffffffffffffff","data"`)},
		"too deep":           {400, "", change(`"x"`, strings.Repeat("[", 70)+strings.Repeat("]", 70))},
		"no id":              {422, "validation_failed", change(`"id":"evt_0123456789abcdef",`, "")},
		"short id":           {422, "validation_failed", change("evt_0123456789abcdef", "evt_0123456789abcde")},
		"uppercase prefix":   {422, "validation_failed", change("evt_0123456789abcdef", "EVT_0123456789abcdef")},
		"number as id":       {422, "validation_failed", change(`"evt_0123456789abcdef"`, "7")},
		"no product":         {422, "validation_failed", change(`"product":"board",`, "")},
		"no type":            {422, "validation_failed", change(`"event_type":"note.created",`, "")},
		"no time":            {422, "validation_failed", change(`"timestamp"`, `"timestomp"`)},
		"bad time":           {422, "validation_failed", change(good[strings.Index(good, `"timestamp":"`)+13:][:20], "yesterday")},
		"no data":            {422, "validation_failed", change(`"data"`, `"date"`)},
		"data no object":     {422, "validation_failed", change(`{"text":"x"}`, `"x"`)},
		"older than 30 days": {400, "event_too_old", envelopeAt(newID(), "board", "note.created", "x", now.Add(-30*24*time.Hour-time.Minute))},
		"ahead of our clock": {400, "event_in_future", envelopeAt(newID(), "board", "note.created", "x", now.Add(6*time.Minute))},
	} {
		got := l.send(c.body)
		require.Equal(t, c.status, got.status, "%s: %s", name, got.text)
		if c.code != "" {
			require.Equal(t, c.code, got.body["code"], name)
		}
	}
	require.Empty(t, l.notes())
	for name, at := range map[string]time.Time{"almost 30 days": now.Add(-30*24*time.Hour + time.Hour), "a little ahead": now.Add(4 * time.Minute)} {
		require.Equal(t, 200, l.send(envelopeAt(newID(), "board", "note.created", name, at)).status, name)
	}
	big := envelope(newID(), "board", "note.created", strings.Repeat("x", 1<<20))
	got, err := try("POST", l.integrations()+"/webhook", big, "X-Integration-Key", l.key, "X-Webhook-Signature", sign(l.secret, big))
	if err == nil { // else the connection was cut while it was sent
		require.Equal(t, 413, got.status)
	}
	require.Equal(t, 415, l.send(good, "Content-Encoding", "gzip").status)
	req, err := http.NewRequestWithContext(context.Background(), "POST", l.integrations()+"/webhook", strings.NewReader(good))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "text/plain")
	req.Header.Set("X-Integration-Key", l.key)
	req.Header.Set("X-Webhook-Signature", sign(l.secret, good))
	res, err := client.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, 415, res.StatusCode)
}

// A wrong signature is 401 without a reason.
func TestReceiveSignatures(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	l, other := pair(n), pair(n)
	body := envelope(newID(), "board", "note.created", "forged")
	good := sign(l.secret, body)
	post := func(key string, signatures ...string) answer {
		headers := []string{}
		if key != "" {
			headers = append(headers, "X-Integration-Key", key)
		}
		for _, signature := range signatures {
			headers = append(headers, "X-Webhook-Signature", signature)
		}
		return call(t, "POST", l.integrations()+"/webhook", body, headers...)
	}
	for name, signatures := range map[string][]string{
		"missing":          {},
		"empty":            {""},
		"sha1":             {"sha1=" + good[7:]},
		"no prefix":        {good[7:]},
		"uppercase":        {"sha256=" + strings.ToUpper(good[7:])},
		"truncated":        {good[:len(good)-1]},
		"two in one":       {good + "," + good},
		"two headers":      {good, good},
		"another's secret": {sign(other.secret, body)},
		"without whsec_":   {sign(strings.TrimPrefix(l.secret, "whsec_"), body)},
		"re-encoded body":  {sign(l.secret, strings.ReplaceAll(body, ":", ": "))},
	} {
		got := post(l.key, signatures...)
		require.Equal(t, 401, got.status, "%s: %s", name, got.text)
		require.Equal(t, "invalid_signature", got.body["code"], name)
	}
	refused(t, 401, "invalid_signature", post(other.key, good)) // one's key, the other's signature
	refused(t, 401, "invalid_key", post("", good))
	refused(t, 401, "invalid_key", post(l.key[:len(l.key)-1]+"-", good))
	unbound := l.issue()
	refused(t, 401, "invalid_signature", post(unbound, good))
	boardKey := l.peer.issue()
	refused(t, 401, "invalid_key", post(boardKey, good)) // a key of another product
	require.Equal(t, 401, call(t, "POST", n.url+"/board/api/v1/integrations/webhook", body, "X-Integration-Key", l.key, "X-Webhook-Signature", good).status)
	require.Empty(t, l.notes())
	require.Equal(t, 200, post(l.key, good).status)

	l.do(204, "DELETE", "/api-keys/"+keyID(l.tenant, l.key), "")
	withinASecond(t, 401, func() int { return post(l.key, good).status })
}

// keyID finds a key by how it ends.
func keyID(o *tenant, key string) string {
	o.t.Helper()
	for _, entry := range o.do(200, "GET", "/api-keys?limit=200", "").body["items"].([]any) {
		if strings.HasSuffix(key, entry.(map[string]any)["last4"].(string)) {
			return entry.(map[string]any)["id"].(string)
		}
	}
	o.t.Fatal("no such key")
	return ""
}

// Fifty at once have one effect.
func TestReceiveDuplicatesAtOnce(t *testing.T) {
	t.Parallel()
	l := pair(start(t, nil))
	for round := range 5 {
		body := envelope(newID(), "board", "note.created", fmt.Sprint("round ", round))
		statuses := make(chan string, 50)
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				got, err := try("POST", l.integrations()+"/webhook", body, "X-Integration-Key", l.key, "X-Webhook-Signature", sign(l.secret, body))
				if err != nil || got.status != 200 {
					statuses <- fmt.Sprint(err, got.status, got.text)
					return
				}
				statuses <- got.body["status"].(string)
			})
		}
		all.Wait()
		close(statuses)
		counts := map[string]int{}
		for status := range statuses {
			counts[status]++
		}
		require.Equal(t, map[string]int{"accepted": 1, "duplicate": 49}, counts)
		require.Len(t, l.notes(), round+1)
	}
}

// An event whose effect fails was never there, and does not spoil others; it can be
// sent again.
func TestReceiveFailingEffect(t *testing.T) {
	t.Parallel()
	l := pair(start(t, nil))
	for _, kind := range []string{"note.broken", "note.panics"} {
		body := envelope(newID(), "board", kind, "x") // with its time: the same event is the same bytes
		for range 2 {
			require.Equal(t, 500, l.send(body).status)
		}
	}
	var all sync.WaitGroup
	results := make(chan int, 60)
	for i := range 60 {
		kind := "note.created"
		if i%3 == 0 {
			kind = "note.broken"
		}
		body := envelope(newID(), "board", kind, fmt.Sprintf("%02d", i))
		all.Go(func() {
			got, err := try("POST", l.integrations()+"/webhook", body, "X-Integration-Key", l.key, "X-Webhook-Signature", sign(l.secret, body))
			if err == nil {
				results <- got.status
			}
		})
	}
	all.Wait()
	close(results)
	counts := map[int]int{}
	for status := range results {
		counts[status]++
	}
	require.Equal(t, map[int]int{200: 40, 500: 20}, counts)
	require.Len(t, l.notes(), 40)
	var stored int
	require.NoError(t, l.db.QueryRow(context.Background(), `select count(*) from hub.received where integration_id = $1 and not failed`, l.integration).Scan(&stored))
	require.Equal(t, 40, stored)
}

// What came is kept as it came, and every call is in the audit log.
func TestReceivedIsKeptAndAudited(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	l := pair(n)
	body := strings.Replace(envelope(newID(), "board", "note.created", "kept"), `:`, ` : `, 1)
	require.Equal(t, 200, l.send(body).status)
	var kept []byte
	require.NoError(t, n.db.QueryRow(context.Background(), `select e.body from hub.events e join hub.received r using (seq) where r.integration_id = $1`, l.integration).Scan(&kept))
	require.Equal(t, body, string(kept))
	require.Equal(t, 401, call(t, "POST", l.integrations()+"/webhook", body, "X-Integration-Key", l.key, "X-Webhook-Signature", "sha256=0").status)
	require.Equal(t, 200, call(t, "GET", l.integrations()+"/status", "", withKey(l.key)...).status)
	require.Equal(t, 200, call(t, "GET", l.integrations()+"/search/notes", "", withKey(l.key)...).status)
	require.Equal(t, 200, call(t, "POST", l.integrations()+"/action/write", `{"author":"","text":"by action"}`, withKey(l.key)...).status)
	require.Equal(t, 403, call(t, "GET", l.integrations()+"/", "", bearer(l.staff)...).status)

	seen := map[string]int{}
	for _, entry := range n.ok(200, "GET", "/api/v1/audit?limit=200&tenant_id="+l.id, "").body["items"].([]any) {
		entry := entry.(map[string]any)
		actor := entry["actor"].(map[string]any)
		seen[fmt.Sprint(actor["type"], " ", entry["action"], " ", entry["status"])]++
		if actor["type"] == "key" {
			require.Equal(t, l.key[len(l.key)-4:], actor["label"].(string)[len(actor["label"].(string))-4:])
		}
	}
	for _, want := range []string{
		"tenant_user api-keys.create 200", "key integrations.status 200", "key integrations.register 200", "key integrations.webhook 200",
		"key integrations.webhook 401", "key notes.search 200", "key notes.write 200", "tenant_user integrations.list 403", "tenant_user integrations.list 200",
	} {
		require.Positive(t, seen[want], "%s in %v", want, seen)
	}
	for _, secret := range []string{l.secret, l.key, l.secret[6:]} {
		require.NotContains(t, n.log.String(), secret)
	}
}

// What peers send is counted by what became of it.
func TestReceivedIsCounted(t *testing.T) {
	t.Parallel()
	l := pair(start(t, nil))
	shows := func(line string) {
		require.Contains(t, call(t, "GET", l.url+"/metrics", "").text, "\n"+line+"\n")
	}
	received := func(outcome, n string) {
		shows(`hub_events_received_total{outcome="` + outcome + `",product="notes"} ` + n)
	}
	for _, outcome := range []string{"accepted", "duplicate", "ignored", "refused", "failed"} {
		received(outcome, "0")
	}
	shows(`hub_handshake_failures_total{product="notes",step="status"} 0`)
	body := envelope(newID(), "board", "note.created", "x")
	require.Equal(t, 200, l.send(body).status)
	require.Equal(t, 200, l.send(body).status)
	require.Equal(t, 200, l.send(envelope(newID(), "board", "note.boring", "x")).status)
	require.Equal(t, 403, l.send(envelope(newID(), "clinic", "note.created", "x")).status)
	require.Equal(t, 401, call(t, "POST", l.integrations()+"/webhook", body, withKey("not_live_unknown")...).status)
	require.Equal(t, 500, l.send(envelope(newID(), "board", "note.broken", "x")).status)
	for outcome, n := range map[string]string{"accepted": "1", "duplicate": "1", "ignored": "1", "refused": "2", "failed": "1"} {
		received(outcome, n)
	}
	l.do(502, "POST", "/connect", connectBody("crm", "crm_live_key", "http://127.0.0.1:9/"))
	shows(`hub_handshake_failures_total{product="notes",step="status"} 1`)
}

// Null in a signed envelope is refused where the document does not have it.
func TestNullInAnEnvelope(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	l := pair(n)
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct{ Type any }
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(call(t, "GET", n.url+"/notes/openapi.json", "").text), &document))
	properties := document.Components.Schemas["HubWebhookEnvelope"].Properties
	require.Len(t, properties, 6)
	for name, property := range properties {
		var body map[string]any
		require.NoError(t, json.Unmarshal([]byte(envelope(newID(), "board", "note.created", "x")), &body))
		require.Contains(t, body, name)
		body[name] = nil
		sent, err := json.Marshal(body)
		require.NoError(t, err)
		got := l.send(string(sent))
		if types, ok := property.Type.([]any); ok && slices.Contains(types, any("null")) {
			require.Equal(t, 200, got.status, "%s: %s", name, got.text)
			continue
		}
		require.Equal(t, 422, got.status, "%s: %s", name, got.text)
		require.Contains(t, got.text, `"location":"body.`+name+`"`)
	}
	require.Equal(t, []string{"x"}, l.notes(), "correlation_id may be null")
}
