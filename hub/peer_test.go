package hub_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// peer is a fake product with one response per path. It records its requests.
type peer struct {
	*httptest.Server
	requests []string // "METHOD path?query body"
}

func newPeer(t *testing.T, responses map[string]string) *peer {
	t.Helper()
	p := &peer{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.requests = append(p.requests, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(body)))
		response, ok := responses[r.URL.Path]
		if !ok || r.Header.Get("X-Integration-Key") != "cli_live_key" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, response)
	}))
	t.Cleanup(p.Close)
	return p
}

func connection(base string) hub.Connection {
	return hub.Connection{
		ID: uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057"), Product: "clinic", LocalProduct: "scheduling", Environment: hub.Live,
		URL: base, Key: "cli_live_key", Secrets: []string{vectorSecret}, Config: map[string]string{"pin": "canary"}, Now: time.Unix(vectorTime, 0),
	}
}

// Each product names its tenant differently: clinic_id, org_id or a numeric company_id.
// Hubs send tenant_id, which has precedence.
func TestPeerStatus(t *testing.T) {
	t.Parallel()
	want := hub.Status{Product: "clinic", Version: "1.2.3", TenantID: "42", TenantName: "One", Features: []string{"patient.search"}, Active: true}
	for _, tenant := range []string{
		`"clinic_id":"42","clinic_name":"One"`, `"org_id":"42","org_name":"One"`, `"company_id":42,"company_name":"One"`,
		`"tenant_id":"42","tenant_name":"One","clinic_id":"other","clinic_name":"Other"`,
	} {
		p := newPeer(t, map[string]string{"/base/integrations/status": `{"product":"clinic","version":"1.2.3","features":["patient.search"],"status":"active",` + tenant + `}`})
		got, err := hub.NewPeerConnector("clinic", "Clinic").Probe(t.Context(), p.Client(), connection(p.URL+"/base"))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	p := newPeer(t, map[string]string{"/integrations/status": `{"product":"clinic","status":"error","environment":"test","tenant_id":null,"clinic_id":"a"}`})
	got, err := hub.NewPeerConnector("clinic", "Clinic").Probe(t.Context(), p.Client(), connection(p.URL))
	require.NoError(t, err)
	require.Equal(t, hub.Status{Product: "clinic", TenantID: "a", Environment: hub.Test}, got)
	require.ErrorIs(t, got.CheckUsable("clinic"), hub.ErrInvalid)
}

func TestPeerStatusBelowAPIV1(t *testing.T) {
	t.Parallel()
	p := newPeer(t, map[string]string{"/clinic/api/v1/integrations/status": `{"product":"clinic","status":"active"}`})
	got, err := hub.NewPeerConnector("clinic", "Clinic").Probe(t.Context(), p.Client(), connection(p.URL+"/clinic/"))
	require.NoError(t, err)
	require.Equal(t, p.URL+"/clinic/api/v1", got.URL)
	require.Equal(t, []string{"GET /clinic/integrations/status", "GET /clinic/api/v1/integrations/status"}, p.requests)

	_, err = hub.NewPeerConnector("clinic", "Clinic").Probe(t.Context(), p.Client(), connection(p.URL+"/other/api/v1/"))
	require.ErrorIs(t, err, hub.ErrPeer)
	require.Len(t, p.requests, 3, "an address that ends in /api/v1 is tried once")
}

func TestPeerRegister(t *testing.T) {
	t.Parallel()
	registration := hub.Registration{
		ID: uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057"), Product: "scheduling", Environment: hub.Live,
		WebhookURL: "https://hub.example/scheduling/api/v1/integrations/webhook", Secret: vectorSecret, Key: "sch_live_key",
		Events: []string{"patient.deleted"}, Features: []string{"client.search"},
	}
	for body, want := range map[string]hub.RegistrationResponse{
		`{"integration_id":"i-1","webhook_url":"https://clinic.example/in","features":["patient.search"],"status":"active"}`: {
			IntegrationID: "i-1", WebhookURL: "https://clinic.example/in", Features: []string{"patient.search"}, Status: "active",
		},
		`{}`: {}, ``: {}, `OK`: {}, `{"features":"all"}`: {},
	} {
		p := newPeer(t, map[string]string{"/api/v1/integrations/webhook/register": body, "/api/v1/integrations/webhook/unregister": ""})
		got, err := hub.NewPeerConnector("clinic", "Clinic").Register(t.Context(), p.Client(), connection(p.URL+"/api/v1"), registration)
		require.NoError(t, err, body)
		require.Equal(t, want, got, body)
		require.Equal(t, []string{`POST /api/v1/integrations/webhook/register {"registration_id":"01890a5d-ac96-774b-bcce-b302099a8057","product":"scheduling",` +
			`"environment":"live","webhook_url":"https://hub.example/scheduling/api/v1/integrations/webhook","webhook_secret":"` + vectorSecret + `",` +
			`"api_key":"sch_live_key","events":["patient.deleted"],"features":["client.search"]}`}, p.requests)
		require.NoError(t, hub.NewPeerConnector("clinic", "Clinic").Unregister(t.Context(), p.Client(), connection(p.URL+"/api/v1")))
		require.Equal(t, "POST /api/v1/integrations/webhook/unregister {}", p.requests[1])
	}
}

// other_account_connected keeps its code; any other 409 is a failure of the peer.
func TestPeerRegisterWithAnotherAccount(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]struct {
		kind error
		code string
	}{hub.CodeOtherAccountConnected: {hub.ErrConflict, hub.CodeOtherAccountConnected}, "key_in_use": {hub.ErrPeer, hub.CodePeerFailed}} {
		p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"code":"`+code+`"}`)
		}))
		t.Cleanup(p.Close)
		_, err := hub.NewPeerConnector("clinic", "Clinic").Register(t.Context(), p.Client(), connection(p.URL), hub.Registration{Product: "scheduling"})
		require.ErrorIs(t, err, want.kind)
		var hubErr *hub.Error
		require.ErrorAs(t, err, &hubErr)
		require.Equal(t, want.code, hubErr.Code)
	}
}

// An event goes to the webhook the peer named when it registered, else below its address.
func TestPeerEncodesAndDecodes(t *testing.T) {
	t.Parallel()
	clinic := hub.NewPeerConnector("clinic", "Clinic")
	e := hub.Event{ID: vectorID, Product: "scheduling", Type: "appointment.created", Time: time.Unix(vectorTime, 0), Data: []byte(`{"a":1}`)}
	c := connection("https://clinic.example/api/v1/")
	for webhook, want := range map[string]string{"": "https://clinic.example/api/v1/integrations/webhook", "https://in.example/x": "https://in.example/x"} {
		c.WebhookURL = webhook
		out, err := clinic.Encode(c, e)
		require.NoError(t, err)
		require.Equal(t, want, out.URL)
		require.Equal(t, string(hub.AppendEnvelope(nil, e)), string(out.Body))
		require.NoError(t, c.VerifySignature(hub.Inbound{Header: out.Header, Body: out.Body}))

		decoded, err := clinic.Decode(c, hub.Inbound{Header: out.Header, Body: out.Body})
		require.NoError(t, err)
		require.Len(t, decoded, 1)
		require.Equal(t, vectorID, decoded[0].ID)
		decoded, err = clinic.Decode(c, hub.Inbound{Header: out.Header, Body: append(out.Body, ' ')})
		require.ErrorIs(t, err, hub.ErrUnauthorized)
		require.Nil(t, decoded)
	}
	malformed := []byte("{")
	_, err := clinic.Decode(c, hub.Inbound{Header: http.Header{hub.HeaderSignature: {hub.SignBody(vectorSecret, malformed)}}, Body: malformed})
	require.ErrorIs(t, err, hub.ErrMalformed)
	clinic.PeerSpec.Sends = []string{"appointment.*"}
	_, err = clinic.Encode(c, hub.Event{Type: "unheard.of"})
	require.ErrorIs(t, err, hub.ErrInvalid)
	c.Secrets = nil
	_, err = clinic.Encode(c, e)
	require.ErrorIs(t, err, hub.ErrInvalid, "nothing is sent unsigned")
}

// Peers that cannot unregister are left without it; other failures are reported.
func TestPeerUnregister(t *testing.T) {
	t.Parallel()
	clinic := hub.NewPeerConnector("clinic", "Clinic")
	c := connection("https://clinic.example")
	for _, status := range []int{200, 204, 404, 405, 410, 501} {
		require.NoError(t, clinic.Unregister(t.Context(), doer{status: status}, c), status)
	}
	require.ErrorIs(t, clinic.Unregister(t.Context(), doer{status: 500}, c), hub.ErrPeer)
	require.ErrorIs(t, clinic.Unregister(t.Context(), doer{status: 401}, c), hub.ErrInvalid)
	require.ErrorIs(t, clinic.Unregister(t.Context(), doer{err: context.DeadlineExceeded}, c), hub.ErrPeerTimeout)
	_, err := clinic.Register(t.Context(), doer{err: context.DeadlineExceeded}, c, hub.Registration{})
	require.ErrorIs(t, err, hub.ErrPeerTimeout)
	_, err = clinic.Register(t.Context(), doer{status: 500, body: `{"code":"other_account_connected"}`}, c, hub.Registration{})
	require.ErrorIs(t, err, hub.ErrPeer, "the code counts with 409 only")
}

// A call is one of the peer's, and its name is safe in a path.
func TestPeerActRejectsOtherCalls(t *testing.T) {
	t.Parallel()
	clinic := hub.NewPeerConnector("clinic", "Clinic")
	clinic.PeerSpec.Calls = []string{"search/*", "action/az-09"}
	for name, valid := range map[string]bool{
		"search/patients": true, "action/az-09": true, "action/other": false, "search/": false, "search": false, "search/a/b": false, "search/A": false, "search/a?b": false, "": false,
	} {
		_, err := clinic.Call(t.Context(), doer{status: 200, body: `{}`}, connection("https://clinic.example"), hub.Call{Name: name})
		if valid {
			require.NoError(t, err, name)
		} else {
			require.Equal(t, "unknown_call", codeOf(t, err, hub.ErrInvalid), name)
		}
	}
}

func TestPeerAct(t *testing.T) {
	t.Parallel()
	p := newPeer(t, map[string]string{"/integrations/search/patients": `{"found":false,"patient":null}`, "/integrations/action/log-interaction": `{"logged":true}`})
	c, clinic := connection(p.URL), hub.NewPeerConnector("clinic", "Clinic")
	got, err := clinic.Call(t.Context(), p.Client(), c, hub.Call{Name: "search/patients", Query: url.Values{"phone": {"+5511987654321"}}})
	require.NoError(t, err)
	require.JSONEq(t, `{"found":false,"patient":null}`, string(got))
	_, err = clinic.Call(t.Context(), p.Client(), c, hub.Call{Name: "action/log-interaction"})
	require.NoError(t, err)
	_, err = clinic.Call(t.Context(), p.Client(), c, hub.Call{Name: "action/log-interaction", Body: json.RawMessage(`{`)})
	require.ErrorIs(t, err, hub.ErrInvalid)
	require.Equal(t, []string{"GET /integrations/search/patients?phone=%2B5511987654321", "POST /integrations/action/log-interaction {}"}, p.requests)
	_, err = clinic.Call(t.Context(), p.Client(), c, hub.Call{Name: "search/nothing"})
	require.ErrorIs(t, err, hub.ErrNotFound)
}

func TestExchangeReadsRetryAfter(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{"": 0, "7": 7 * time.Second, "-1": 0, "soon": 0, "7200": time.Hour, "4294967295": time.Hour} {
		err := hub.Response{Status: 429, Header: http.Header{"Retry-After": {header}}}.StatusError()
		var hubErr *hub.Error
		require.ErrorAs(t, err, &hubErr)
		require.Equal(t, hub.CodePeerRateLimited, hubErr.Code)
		require.Equal(t, want, hubErr.RetryAfter, header)
	}
}

func TestNewRequestRejectsInvalidURLs(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "clinic.example", "/integrations", "ftp://clinic.example", "https://", "https://a\x7f", "://"} {
		_, err := hub.NewRequest(t.Context(), http.MethodGet, address, nil)
		require.ErrorIs(t, err, hub.ErrInvalid, address)
		require.NotContains(t, err.Error(), "clinic.example")
	}
}

func TestMatchesEventType(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]bool{
		"*": true, "patient.*": true, "patient.created": true, "patient": false, "patient.created.*": false, "appointment.*": false, "": false, "patient.create": false,
	} {
		require.Equal(t, want, hub.MatchesEventType([]string{"nothing", pattern}, "patient.created"), pattern)
	}
	require.False(t, hub.MatchesEventType(nil, "patient.created"))
	for pattern, want := range map[string]bool{"*": false, "hub.*": true, "hub.endpoint.*": true, "hub.endpoint.failing": true, "hub.key.*": false, "hub": false, "endpoint.*": false} {
		require.Equal(t, want, hub.MatchesEventType([]string{pattern}, "hub.endpoint.failing"), pattern)
	}
	require.True(t, hub.MatchesEventType([]string{"hub.*"}, "hub.ping"))
	require.True(t, hub.MatchesEventType([]string{"*"}, "hubcap.sold"), "another product's")
}

// Logging or printing a connection or registration shows no secret.
func TestSecretsAreNotPrinted(t *testing.T) {
	t.Parallel()
	c := connection("https://clinic.example")
	r := hub.Registration{ID: c.ID, Product: "clinic", Environment: hub.Live, Secret: vectorSecret, Key: "cli_live_key"}
	var logged strings.Builder
	log := slog.New(slog.NewJSONHandler(&logged, nil))
	log.LogAttrs(context.Background(), slog.LevelInfo, "connecting", slog.Any("connection", c), slog.Any("registration", r), slog.Any("both", []any{&c, c}))
	for _, text := range []string{
		fmt.Sprintf("%v %+v %#v %s", c, c, c, c), fmt.Sprintf("%v %+v %#v", &c, []hub.Connection{c}, map[string]any{"c": c}),
		fmt.Sprintf("%v %+v %#v %s", r, r, r, r), logged.String(),
	} {
		require.Contains(t, text, "01890a5d")
		for _, secret := range []string{vectorSecret, "cli_live_key", "canary"} {
			require.NotContains(t, text, secret)
		}
	}
}

func BenchmarkPeerDecode(b *testing.B) {
	c := connection("https://clinic.example")
	body := []byte(`{"id":"evt_0123456789abcdef","product":"clinic","event_type":"patient.created","timestamp":"2026-01-02T03:04:05Z","correlation_id":"c-1","data":{"text":"` + strings.Repeat("x", 1024) + `"}}`)
	in := hub.Inbound{Header: http.Header{"X-Webhook-Signature": {hub.SignBody(vectorSecret, body)}}, Body: body}
	clinic := hub.NewPeerConnector("clinic", "Clinic")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := clinic.Decode(c, in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPeerEncode(b *testing.B) {
	c := connection("https://clinic.example")
	e := hub.Event{ID: vectorID, Product: "scheduling", Type: "appointment.created", Time: c.Now, Data: []byte(`{"text":"` + strings.Repeat("x", 1024) + `"}`)}
	clinic := hub.NewPeerConnector("clinic", "Clinic")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := clinic.Encode(c, e); err != nil {
			b.Fatal(err)
		}
	}
}
