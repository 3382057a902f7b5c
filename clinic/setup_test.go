package clinic_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic"
	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/hubtest/openapitest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// contract is what the product says of itself: every answer that a test gets keeps it.
var contract openapitest.Document

const (
	password = "correct horse"
	tick     = 20 * time.Millisecond
	soon     = 30 * time.Second
)

// object is a JSON object.
type object = map[string]any

func anyPeer(name string) hub.Connector {
	peer := hub.NewPeerConnector(name, name)
	peer.PeerSpec.RatePerMinute = 100_000
	return peer
}

// practice is a clinic, to somebody with a token or a key.
type practice struct {
	t       testing.TB
	hub     *moduletest.Hub
	id      uuid.UUID
	email   string
	token   string // "" = nobody
	headers []string
}

var practices atomic.Int64

// newPractice starts a hub, registers a clinic there and is its administrator.
func newPractice(t testing.TB) *practice {
	t.Helper()
	return practiceAt(t, moduletest.Start(t, clinic.New(), moduletest.Options{Connectors: []hub.Connector{anyPeer("messaging"), anyPeer("scheduling")}}))
}

// another registers one more clinic at the same hub.
func (p *practice) another() *practice {
	p.t.Helper()
	return practiceAt(p.t, p.hub)
}

func practiceAt(t testing.TB, h *moduletest.Hub) *practice {
	t.Helper()
	p := &practice{t: t, hub: h, email: fmt.Sprintf("admin%d@example.com", practices.Add(1))}
	made := p.ok(201, "POST", "/auth/register", object{"clinic_name": "Clínica Sol", "name": "Bia", "email": p.email, "password": password})
	p.token = made["access_token"].(string)
	p.id = uuid.MustParse(made["clinic"].(object)["id"].(string))
	return p
}

// as is the same clinic to somebody else: another token or key, or "".
func (p *practice) as(token string) *practice {
	other := *p
	other.token = token
	return &other
}

// on is the same clinic's other data.
func (p *practice) on(environment string) *practice {
	other := *p
	other.headers = []string{"X-Environment", environment}
	return &other
}

// staff makes one more user who is no administrator.
func (p *practice) staff() *practice {
	p.t.Helper()
	email := fmt.Sprintf("staff%d-%s", practices.Add(1), p.email)
	p.ok(201, "POST", "/users", object{"name": "Caio", "email": email, "password": password})
	return p.as(p.as("").ok(200, "POST", "/auth/login", object{"email": email, "password": password})["access_token"].(string))
}

// key makes an API key with some scopes; none: all.
func (p *practice) key(scopes ...string) *practice {
	p.t.Helper()
	body := object{}
	if len(scopes) > 0 {
		body["scopes"] = scopes
	}
	return p.as(p.ok(200, "POST", "/integrations/api-keys", body)["api_key"].(string))
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	text   string
	body   object
	list   []object
}

var client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// try sends a request; headers come in pairs. A body that is a string is sent as it is.
func (p *practice) try(method, path string, body any, headers ...string) (answer, error) {
	var raw []byte
	switch b := body.(type) {
	case nil:
	case string:
		raw = []byte(b)
	default:
		var err error
		if raw, err = json.Marshal(b); err != nil {
			return answer{}, err
		}
	}
	if !strings.HasPrefix(path, "/api") && !strings.HasPrefix(path, "/fhir") {
		path = "/api/v1" + path
	}
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.hub.Base+path, bytes.NewReader(raw))
	if err != nil {
		return answer{}, err
	}
	if raw != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	switch {
	case strings.HasPrefix(p.token, "cli_"):
		req.Header.Set("X-Integration-Key", p.token)
	case p.token != "":
		req.Header.Set("Authorization", "Bearer "+p.token)
	}
	headers = append(headers, p.headers...)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	got := answer{status: res.StatusCode, header: res.Header, text: string(text)}
	switch {
	case err != nil:
	case bytes.HasPrefix(text, []byte("{")):
		err = json.Unmarshal(text, &got.body)
	case bytes.HasPrefix(text, []byte("[")):
		err = json.Unmarshal(text, &got.list)
	}
	if err == nil {
		err = contract.CheckResponse(p.hub.Base, res, text)
	}
	return got, err
}

func (p *practice) call(method, path string, body any, headers ...string) answer {
	p.t.Helper()
	got, err := p.try(method, path, body, headers...)
	require.NoError(p.t, err)
	return got
}

// ok requires a status and gives the object of the answer.
func (p *practice) ok(status int, method, path string, body any, headers ...string) object {
	p.t.Helper()
	got := p.call(method, path, body, headers...)
	require.Equal(p.t, status, got.status, "%s %s: %s", method, path, got.text)
	return got.body
}

// get requires 200 and gives the object of the answer.
func (p *practice) get(path string) object {
	p.t.Helper()
	return p.ok(200, "GET", path, nil)
}

// items requires 200 and gives the items of a page.
func (p *practice) items(path string) []object {
	p.t.Helper()
	return itemsOf(p.get(path))
}

func itemsOf(page object) (list []object) {
	for _, one := range page["items"].([]any) {
		list = append(list, one.(object))
	}
	return list
}

// search is the first page of the patients that the clinic's users find by a term.
func (p *practice) search(term string) object {
	p.t.Helper()
	return p.ok(200, "POST", "/patients/search", object{"search": term})
}

// refused requires an error in the one shape.
func (p *practice) refused(status int, code, method, path string, body any, headers ...string) object {
	p.t.Helper()
	got := p.call(method, path, body, headers...)
	require.Equal(p.t, status, got.status, "%s %s: %s", method, path, got.text)
	require.Equal(p.t, "application/problem+json", got.header.Get("Content-Type"))
	require.Equal(p.t, code, got.body["code"], got.text)
	require.NotEmpty(p.t, got.body["detail"])
	return got.body
}

// invalid requires a 422 that names a field.
func (p *practice) invalid(location, method, path string, body any) {
	p.t.Helper()
	got := p.refused(422, "validation_failed", method, path, body)
	var named []string
	for _, one := range got["errors"].([]any) {
		named = append(named, one.(object)["location"].(string))
	}
	require.Contains(p.t, named, location, "%v", got)
}

// event is one that the clinic published.
type event struct {
	kind string
	env  string
	data object
}

// sent are the events the clinic published so far, in order.
func (p *practice) sent() []event {
	p.t.Helper()
	rows, err := p.hub.Host.Pool.Query(p.t.Context(), `select event_type, environment, body from hub.events where tenant_id = $1 and product = 'clinic' order by seq`, p.id)
	require.NoError(p.t, err)
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (event, error) {
		var e event
		var raw []byte
		if err := row.Scan(&e.kind, &e.env, &raw); err != nil {
			return e, err
		}
		var envelope struct {
			Data object `json:"data"`
		}
		err := json.Unmarshal(raw, &envelope)
		e.data = envelope.Data
		return e, err
	})
	require.NoError(p.t, err)
	return list
}

// kinds are the types of the events the clinic published since it had published some.
func (p *practice) kinds(after int) []string {
	p.t.Helper()
	list := []string{}
	for _, e := range p.sent()[after:] {
		list = append(list, e.kind)
	}
	return list
}

// count asks the database for a number; $1 is the clinic.
func (p *practice) count(query string, args ...any) (n int) {
	p.t.Helper()
	require.NoError(p.t, p.hub.Host.Pool.QueryRow(p.t.Context(), query, append([]any{p.id}, args...)...).Scan(&n))
	return n
}
