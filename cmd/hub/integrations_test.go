package main_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/config"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/notes"
	"integrationhub/hub/module"
	"integrationhub/hub/server"
)

// productHub is a hub with products of the tests, a tenant of each, and a command line
// that finds it.
type productHub struct {
	*cli
	url   string
	notes signUpResponse
	board signUpResponse
}

type signUpResponse struct {
	TenantID string `json:"tenant_id"`
	Token    string `json:"token"`
}

func newProductHub(t *testing.T) *productHub {
	t.Helper()
	h := productHubOf(t, notes.New("notes"), notes.New("board"))
	h.notes, h.board = h.signUp("notes", "Acme"), h.signUp("board", "Acme")
	return h
}

// productHubOf is a hub with some products, and nobody signed up yet.
func productHubOf(t *testing.T, products ...module.Module) *productHub {
	t.Helper()
	c := newCLI(t)
	cfg, _, err := config.Load(config.Sources{})
	require.NoError(t, err)
	cfg.Listen, cfg.DataDir, cfg.ShutdownGrace = "127.0.0.1:0", filepath.Join(c.dir, "data"), time.Second
	cfg.DatabaseURL, cfg.RedisURL = config.Secret(hubtest.DatabaseURL(t)), config.Secret(hubtest.RedisURL(t))
	cfg.MasterKey = config.Secret(base64.StdEncoding.EncodeToString([]byte("a master key of 32 bytes, truly!")))
	cfg.AdminPassword = adminPassword
	s, err := server.Start(context.Background(), server.Options{
		Config: cfg, Version: "test", Log: slog.New(slog.DiscardHandler), Modules: products,
		PasswordHashMemory: hubtest.PasswordHashMemory,
	})
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	return &productHub{cli: c.withEnv("HUB_DATA_DIR", cfg.DataDir), url: s.URL()}
}

func (h *productHub) signUp(product, name string) (got signUpResponse) {
	h.t.Helper()
	status, text := post(h.t, h.url+"/"+product+"/api/v1/auth/register", http.Header{"Content-Type": {"application/json"}}, []byte(`{"name":"`+name+`"}`))
	require.Equal(h.t, 201, status, text)
	require.NoError(h.t, json.Unmarshal([]byte(text), &got))
	return got
}

// get reads a page of the hub.
func (h *productHub) get(path string) string {
	h.t.Helper()
	res, err := hubtest.HTTPClient.Get(h.url + path)
	require.NoError(h.t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	require.NoError(h.t, err)
	return string(text)
}

// callAs sends a request as a tenant's administrator and decodes the answer.
func (h *productHub) callAs(who signUpResponse, path, body string, into any) {
	h.t.Helper()
	status, text := post(h.t, h.url+path, http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + who.Token}}, []byte(body))
	require.Less(h.t, status, 300, text)
	require.NoError(h.t, json.Unmarshal([]byte(text), into))
}

// peerKey is a key of the notes' tenant, for its peer.
func (h *productHub) peerKey() string {
	h.t.Helper()
	var made struct {
		APIKey string `json:"api_key"`
	}
	h.callAs(h.notes, "/notes/api/v1/integrations/api-keys", "", &made)
	return made.APIKey
}

// TestIntegrations is the life of a connection from the command line.
func TestIntegrations(t *testing.T) {
	t.Parallel()
	h := newProductHub(t)
	h.run("link", "Acme", "board/Acme").requireFails(2, `several tenants are called "Acme"`)
	h.run("link", "notes/Acme").requireFails(2, "needs PEER")
	h.run("link", "notes/", "board/Acme").requireFails(2, "names no tenant")
	h.run("link", "notes/Acme", "board/Nobody").requireFails(5, "no tenant has the name")
	h.run("integrations", "list").requireOK()

	made := strings.Fields(h.run("link", "notes/Acme", "board/Acme", "-q").requireOK())
	require.Len(t, made, 2)
	require.Regexp(t, `(?m)^`+made[0]+` +notes +Acme +board +live +active`, h.run("link", "notes/Acme", "board/Acme").requireOK(), "again is fine, and keeps the id")
	h.signUp("board", "Beta")
	h.run("link", "notes/Acme", "board/Beta").requireFails(1, "Acme is connected to another account of board already: revoke that integration first. (other_account_connected, request ",
		"hub integrations revoke ID")
	h.run("link", "board/Beta", "notes/Acme").requireFails(1, "Acme is connected to another account of board already")
	listed := h.run("integrations", "list").requireOK()
	require.Contains(t, listed, made[0])
	require.Contains(t, listed, made[1])
	require.Equal(t, made[0], h.run("integrations", "list", "--tenant", "notes/Acme", "-q").requireOK())
	require.Equal(t, made[1], h.run("integrations", "list", "--peer", "notes", "--status", "active", "--environment", "live", "-q").requireOK())
	require.Empty(t, h.run("integrations", "list", "--environment", "test", "-q").requireOK())
	var page struct {
		Items []struct{ ID string } `json:"items"`
	}
	h.run("integrations", "list", "-o", "json").decode(&page)
	require.Len(t, page.Items, 2)

	shown := h.run("integrations", "show", made[0]).requireOK()
	for _, line := range []string{`tenant +notes/Acme`, `peer +board`, `status +active`, `api_url +` + h.url + `/board/api/v1`, `webhook_url +` + h.url + `/notes/api/v1/integrations/webhook`, `webhook_secret +….{4}`} {
		require.Regexp(t, `(?m)^`+line, shown)
	}
	h.run("integrations", "show", "0198aaaa-0000-7000-8000-000000000000").requireFails(5, "(not_found, request ")
	require.Regexp(t, `(?m)^ok +yes\nstatus +active\nversion +1\.2\.3`, h.run("integrations", "test", made[0]).requireOK())

	require.Regexp(t, `(?m)^order +by key$`, shown)
	require.Regexp(t, `(?m)^order +not kept$`, h.run("integrations", "update", made[0], "--ordered=false").requireOK())
	require.Regexp(t, `(?m)^order +by key$`, h.run("integrations", "update", made[0], "--ordered").requireOK())
	h.run("integrations", "update", made[0]).requireFails(2, "nothing to change: give --ordered")

	secret := h.run("integrations", "rotate-secret", made[0], "-q").requireOK()
	require.Regexp(t, `^whsec_`, secret)
	rotated := h.run("integrations", "rotate-secret", made[0], "--overlap", "1h")
	require.Contains(t, rotated.requireOK(), "whsec_")
	require.Contains(t, rotated.stderr, "shown this once")
	h.run("integrations", "rotate-secret", made[0], "--overlap", "soon").requireFails(2, "not a length of time")

	require.Contains(t, h.run("integrations", "disable", made[0]).stderr, "disabled "+made[0])
	require.Regexp(t, `(?m)^status +disabled`, h.run("integrations", "show", made[0]).requireOK())
	require.Contains(t, h.run("integrations", "enable", made[0]).stderr, "enabled "+made[0]+": active")
	partly := h.run("integrations", "revoke", made[1], "0198aaaa-0000-7000-8000-000000000000")
	require.Equal(t, 6, partly.code, partly.stderr)
	require.Regexp(t, `(?m)^status +revoked`, h.run("integrations", "show", made[1]).requireOK())
	away := h.run("integrations", "test", made[0])
	require.Equal(t, 1, away.code, "the peer ended it: %s", away.stdout+away.stderr)
	require.Regexp(t, `(?m)^ok +no`, away.stdout)
	require.Contains(t, away.stderr, "the peer failed the check")
}

// TestShowsReceivedEventWithItsResponse: what a peer sent is shown with the response it got.
func TestShowsReceivedEventWithItsResponse(t *testing.T) {
	t.Parallel()
	h := newProductHub(t)
	made := strings.Fields(h.run("link", "notes/Acme", "board/Acme", "-q").requireOK())
	var published struct{ ID string }
	h.callAs(h.board, "/board/api/v1/publish", `{"author":"","text":"hello"}`, &published)
	list := []string{"deliveries", "list", "--direction", "inbound", "--integration", made[0]}
	require.Eventually(t, func() bool { return h.run(append(list, "-q")...).requireOK() != "" }, time.Minute, 100*time.Millisecond)
	require.Regexp(t, published.ID+` +note\.created +board +Acme +inbound +board +delivered +- +200 +1 +- +-`, h.run(list...).requireOK())
	shown := h.run("deliveries", "show", h.run(append(list, "-q")...).requireOK()).requireOK()
	require.Regexp(t, `(?m)^delivery .* delivered, came once$`, shown)
	require.Regexp(t, `(?m)^response +200  \{"received":true,"id":"`+published.ID+`","status":"accepted"\}$`, shown)
	require.NotContains(t, shown, "attempt 1")
}

func TestConnect(t *testing.T) {
	t.Parallel()
	h := newProductHub(t)
	base := h.url + "/notes/api/v1"
	h.run("connect", base).requireFails(2, "--tenant and --peer are needed")
	h.run("connect", base, "--tenant", "Acme", "--peer", "notes").requireFails(2, "HUB_PEER_KEY")
	h.run("connect", base, "--tenant", "Acme", "--product", "board", "--peer", "notes", "--key", "not_live_wrong").requireFails(1, "(remote_key_rejected, request ")
	require.Empty(t, h.run("integrations", "list", "-q").requireOK(), "nothing is stored")
	withKey := h.withEnv("HUB_PEER_KEY", h.peerKey())
	withKey.run("connect", base, "--tenant", "Acme", "--product", "board", "--peer", "clinic").requireFails(1, "(unexpected_product, request ")
	withKey.run("connect", "http://169.254.169.254/", "--tenant", "Acme", "--product", "board", "--peer", "notes").requireFails(1, "(url_not_allowed, request ", "HUB_EGRESS_ALLOW")
	withKey.run("connect", "http://127.0.0.1:1/api/v1", "--tenant", "Acme", "--product", "board", "--peer", "notes").requireFails(1, "nothing listens on that port")
	shown := withKey.run("connect", base, "--tenant", "Acme", "--product", "board", "--peer", "notes", "--feature", "reminders").requireOK()
	require.Regexp(t, `(?m)^status +active$`, shown)
	require.Regexp(t, `(?m)^used_for +reminders$`, shown)
	h.writeFile("key.txt", h.peerKey()+"\n")
	again := h.run("connect", base, "--tenant", h.board.TenantID, "--peer", "notes", "--key", "@key.txt", "-q").requireOK()
	require.Contains(t, shown, again, "the id stays")

	// A peer that takes the key and not the registration: made, and tried again.
	o := newFakeHub(t)
	o.mux.HandleFunc("/integrations/status", respond(200, "application/json", `{"product":"crm","version":"1.0.0","features":[],"status":"active"}`))
	o.mux.HandleFunc("/", respond(500, "text/plain", "out of order"))
	half := h.run("connect", o.URL, "--tenant", h.board.TenantID, "--peer", "crm", "--key", "crm_live_key")
	require.Equal(t, 6, half.code, half.stderr)
	require.Regexp(t, `(?m)^status +error$`, half.stdout)
	require.Contains(t, half.stderr, "the hub goes on trying; see: hub integrations show ")
}

// connect names the cause of each failure, and what to do about it; nothing is stored.
func TestConnectNamesTheCause(t *testing.T) {
	t.Parallel()
	h := newProductHub(t)
	o := newFakeHub(t)
	good := `{"product":"crm","version":"1.0.0","features":[],"status":"active"}`
	answer := func(path string, status int, kind, body string, header ...string) string {
		o.mux.HandleFunc(path+"/integrations/status", respond(status, kind, body, header...))
		return o.URL + path
	}
	missing := respond(404, "text/html", "<h1>Not found</h1>")
	o.mux.HandleFunc("/", missing)
	port := "http://127.0.0.1:1/api/v1"
	const base = "usually ends in /api/v1"
	for name, c := range map[string]struct {
		url   string
		flags []string
		texts []string
	}{
		"DNS":              {"https://name.invalid/api/v1", nil, []string{"not known to DNS. (peer_unreachable, ", "check the spelling of API_URL's host"}},
		"refused port":     {port, nil, []string{"nothing listens on that port. (peer_unreachable, ", "check the port of API_URL"}},
		"TLS":              {strings.Replace(o.URL, "http:", "https:", 1), nil, []string{"responds on that port without TLS. (peer_unreachable, ", "check that API_URL's scheme"}},
		"wrong base":       {o.URL + "/elsewhere", nil, []string{"responded with status 404. (peer_failed, ", base}},
		"redirect":         {answer("/moved", 302, "text/html", "", "Location", "/login"), nil, []string{"responded with status 302. (peer_failed, ", base}},
		"a page":           {answer("/page", 200, "text/html", "<html>"), nil, []string{"something else than was asked for", "(peer_answer, ", base}},
		"wrong key":        {answer("/key", 401, "application/json", "{}"), nil, []string{"refuses the key", "(remote_key_rejected, ", "the address is right and the key is not"}},
		"another product":  {answer("/other", 200, "application/json", strings.Replace(good, "crm", "erp", 1)), nil, []string{"The product erp responds at this address, not crm. (unexpected_product, ", "--peer"}},
		"hosted product":   {h.url + "/notes/api/v1", []string{"--key", h.peerKey()}, []string{"The product notes responds at this address, not crm. (unexpected_product, "}},
		"not active":       {answer("/off", 200, "application/json", strings.Replace(good, "active", "suspended", 1)), nil, []string{"reports that it is not active. (peer_not_active, "}},
		"test key":         {o.URL, []string{"--key", "crm_test_key"}, []string{"Live and test data never mix", "(environment_mismatch, ", "--environment test"}},
		"too many":         {answer("/limited", 429, "application/json", "{}"), nil, []string{"takes no more requests for the moment. (peer_limited, "}},
		"an inner mistake": {answer("/broken", 500, "text/plain", "oops"), nil, []string{"responded with status 500. (peer_failed, "}},
	} {
		t.Log(name)
		flags := append([]string{"connect", c.url, "--tenant", h.board.TenantID, "--peer", "crm", "--key", "crm_live_key"}, c.flags...)
		h.run(flags...).requireFails(1, c.texts...)
	}
	require.Empty(t, h.run("integrations", "list", "-q").requireOK(), "nothing is stored")
	made := h.run("connect", h.url+"/notes", "--tenant", h.board.TenantID, "--peer", "notes", "--key", h.peerKey())
	made.requireOK()
	require.Contains(t, made.stderr, "notes responds at "+h.url+"/notes/api/v1\n", "the base that was left out is found")
}

// TestListenBeforeAProduct: what a peer sends to a product goes through the listener,
// unchanged, and the line shows the product's response.
func TestListenBeforeAProduct(t *testing.T) {
	t.Parallel()
	h := newProductHub(t)
	// The listener stands where the notes take webhooks; its port is known first.
	first := h.start("listen", "--forward", h.url+"/notes/api/v1/integrations/webhook", "-o", "json")
	address := listenURL.FindString(first.await(first.stderr, "signatures stay unchecked"))
	require.Zero(t, first.interrupt())
	port := strings.Trim(address[strings.LastIndex(address, ":"):], ":/")

	var board struct {
		APIKey string `json:"api_key"`
	}
	h.callAs(h.board, "/board/api/v1/integrations/api-keys", "", &board)
	ours := h.withEnv("HUB_PEER_KEY", board.APIKey).run("connect", h.url+"/board/api/v1", "--tenant", "Acme", "--product", "notes", "--peer", "board", "--webhook-url", address, "-q").requireOK()
	secret := h.run("integrations", "rotate-secret", ours, "-q").requireOK()

	r := h.withEnv("HUB_WEBHOOK_SECRET", secret).start("listen", "--port", port, "--forward", h.url+"/notes/api/v1/integrations/webhook")
	r.await(r.stderr, "listening on")
	var published struct {
		ID string `json:"id"`
	}
	h.callAs(h.board, "/board/api/v1/publish", `{"author":"","text":"through the listener"}`, &published)
	r.await(r.stdout, published.ID)
	require.Regexp(t, published.ID+`  note\.created  board  attempt 1  \d+ B  signature ok \(X-Webhook-Signature ok, webhook-signature ok\)  responded 200 \(accepted\)`, r.stdout.String())
	require.Zero(t, r.interrupt())

	// A peer that implements only the documented interface signs once, and gets a reason.
	c := h.withEnv("HUB_WEBHOOK_SECRET", secret)
	r = c.start("listen", "--port", port, "--forward", h.url+"/notes/api/v1/integrations/webhook", "-o", "json")
	r.await(r.stderr, "listening on")
	body := []byte(`{"id":"` + hub.NewEventID() + `","product":"board","event_type":"note.created","timestamp":"` + time.Now().UTC().Format("2006-01-02T15:04:05Z") + `","data":{"text":"x"}}`)
	header := http.Header{"Content-Type": {"application/json"}, hub.HeaderKey: {"not_live_unknown"}}
	header.Set(hub.HeaderSignature, hub.SignBody(secret, body))
	status, text := post(t, address, header, body)
	require.Equal(t, 401, status, text)
	var line struct {
		Verified bool   `json:"verified"`
		SHA256   string `json:"x_webhook_signature"`
		Standard string `json:"webhook_signature"`
		Status   int    `json:"status"`
		Outcome  string `json:"outcome"`
	}
	require.NoError(t, json.Unmarshal([]byte(r.await(r.stdout, "\n")), &line))
	require.True(t, line.Verified)
	require.Equal(t, []any{"ok", "missing", 401, "invalid_key"}, []any{line.SHA256, line.Standard, line.Status, line.Outcome})
	header.Set(hub.HeaderKey, h.peerKey())
	status, text = post(t, address, header, body)
	require.Equal(t, 401, status, "a key that is bound to nothing: "+text)
	require.Equal(t, 0, r.interrupt())
}
