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
var contract openapitest.Contract

const (
	Password = "correct horse"
	Tick     = 20 * time.Millisecond
	Timeout  = 30 * time.Second
)

// object is a JSON object.
type object = map[string]any

func AnyPeer(name string) hub.Connector {
	peer := hub.AnyPeer(name, name)
	peer.Kind.RatePerMinute = 100_000
	return peer
}

// Clinic is a clinic, to somebody with a token or a key.
type Clinic struct {
	T       testing.TB
	Hub     *moduletest.Hub
	ID      uuid.UUID
	Email   string
	Token   string // "" = nobody
	Headers []string
}

var practices atomic.Int64

// NewClinic starts a hub, registers a clinic there and is its administrator.
func NewClinic(t testing.TB) *Clinic {
	t.Helper()
	return RegisterClinic(t, moduletest.Start(t, clinic.New(), moduletest.Options{Connectors: []hub.Connector{AnyPeer("messaging"), AnyPeer("scheduling")}}))
}

// AnotherClinic registers one more clinic at the same hub.
func (p *Clinic) AnotherClinic() *Clinic {
	p.T.Helper()
	return RegisterClinic(p.T, p.Hub)
}

func RegisterClinic(t testing.TB, h *moduletest.Hub) *Clinic {
	t.Helper()
	p := &Clinic{T: t, Hub: h, Email: fmt.Sprintf("admin%d@example.com", practices.Add(1))}
	made := p.OK(201, "POST", "/auth/register", object{"clinic_name": "Clínica Sol", "name": "Bia", "email": p.Email, "password": Password})
	p.Token = made["access_token"].(string)
	p.ID = uuid.MustParse(made["clinic"].(object)["id"].(string))
	return p
}

// As is the same clinic to somebody else: another token or key, or "".
func (p *Clinic) As(token string) *Clinic {
	other := *p
	other.Token = token
	return &other
}

// InEnvironment is the same clinic's other data.
func (p *Clinic) InEnvironment(environment string) *Clinic {
	other := *p
	other.Headers = []string{"X-Environment", environment}
	return &other
}

// AddStaff makes one more user who is no administrator.
func (p *Clinic) AddStaff() *Clinic {
	p.T.Helper()
	email := fmt.Sprintf("staff%d-%s", practices.Add(1), p.Email)
	p.OK(201, "POST", "/users", object{"name": "Caio", "email": email, "password": Password})
	return p.As(p.As("").OK(200, "POST", "/auth/login", object{"email": email, "password": Password})["access_token"].(string))
}

// NewKey makes an API key with some scopes; none: all.
func (p *Clinic) NewKey(scopes ...string) *Clinic {
	p.T.Helper()
	body := object{}
	if len(scopes) > 0 {
		body["scopes"] = scopes
	}
	return p.As(p.OK(200, "POST", "/integrations/api-keys", body)["api_key"].(string))
}

// answer is what came back.
type answer struct {
	Status int
	Header http.Header
	Text   string
	Body   object
	List   []object
}

var client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// Try sends a request; headers come in pairs. A body that is a string is sent as it is.
func (p *Clinic) Try(method, path string, body any, headers ...string) (answer, error) {
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
	req, err := http.NewRequestWithContext(p.T.Context(), method, p.Hub.Base+path, bytes.NewReader(raw))
	if err != nil {
		return answer{}, err
	}
	if raw != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	switch {
	case strings.HasPrefix(p.Token, "cli_"):
		req.Header.Set("X-Integration-Key", p.Token)
	case p.Token != "":
		req.Header.Set("Authorization", "Bearer "+p.Token)
	}
	headers = append(headers, p.Headers...)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	got := answer{Status: res.StatusCode, Header: res.Header, Text: string(text)}
	switch {
	case err != nil:
	case bytes.HasPrefix(text, []byte("{")):
		err = json.Unmarshal(text, &got.Body)
	case bytes.HasPrefix(text, []byte("[")):
		err = json.Unmarshal(text, &got.List)
	}
	if err == nil {
		err = contract.Check(p.Hub.Base, res, text)
	}
	return got, err
}

func (p *Clinic) Call(method, path string, body any, headers ...string) answer {
	p.T.Helper()
	got, err := p.Try(method, path, body, headers...)
	require.NoError(p.T, err)
	return got
}

// OK requires a status and gives the object of the answer.
func (p *Clinic) OK(status int, method, path string, body any, headers ...string) object {
	p.T.Helper()
	got := p.Call(method, path, body, headers...)
	require.Equal(p.T, status, got.Status, "%s %s: %s", method, path, got.Text)
	return got.Body
}

// Get requires 200 and gives the object of the answer.
func (p *Clinic) Get(path string) object {
	p.T.Helper()
	return p.OK(200, "GET", path, nil)
}

// Items requires 200 and gives the items of a page.
func (p *Clinic) Items(path string) []object {
	p.T.Helper()
	return ItemsOf(p.Get(path))
}

func ItemsOf(page object) (list []object) {
	for _, one := range page["items"].([]any) {
		list = append(list, one.(object))
	}
	return list
}

// SearchPatients is the first page of the patients that the clinic's users find by a term.
func (p *Clinic) SearchPatients(term string) object {
	p.T.Helper()
	return p.OK(200, "POST", "/patients/search", object{"search": term})
}

// Refused requires an error in the one shape.
func (p *Clinic) Refused(status int, code, method, path string, body any, headers ...string) object {
	p.T.Helper()
	got := p.Call(method, path, body, headers...)
	require.Equal(p.T, status, got.Status, "%s %s: %s", method, path, got.Text)
	require.Equal(p.T, "application/problem+json", got.Header.Get("Content-Type"))
	require.Equal(p.T, code, got.Body["code"], got.Text)
	require.NotEmpty(p.T, got.Body["detail"])
	return got.Body
}

// Invalid requires a 422 that names a field.
func (p *Clinic) Invalid(location, method, path string, body any) {
	p.T.Helper()
	got := p.Refused(422, "validation_failed", method, path, body)
	var named []string
	for _, one := range got["errors"].([]any) {
		named = append(named, one.(object)["location"].(string))
	}
	require.Contains(p.T, named, location, "%v", got)
}

// event is one that the clinic published.
type event struct {
	Type        string
	Environment string
	Data        object
}

// Events are the events the clinic published so far, in order.
func (p *Clinic) Events() []event {
	p.T.Helper()
	rows, err := p.Hub.Host.Pool.Query(p.T.Context(), `select event_type, environment, body from hub.events where tenant_id = $1 and product = 'clinic' order by seq`, p.ID)
	require.NoError(p.T, err)
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (event, error) {
		var e event
		var raw []byte
		if err := row.Scan(&e.Type, &e.Environment, &raw); err != nil {
			return e, err
		}
		var envelope struct {
			Data object `json:"data"`
		}
		err := json.Unmarshal(raw, &envelope)
		e.Data = envelope.Data
		return e, err
	})
	require.NoError(p.T, err)
	return list
}

// EventTypes are the types of the events the clinic published since it had published some.
func (p *Clinic) EventTypes(after int) []string {
	p.T.Helper()
	list := []string{}
	for _, e := range p.Events()[after:] {
		list = append(list, e.Type)
	}
	return list
}

// QueryInt asks the database for a number; $1 is the clinic.
func (p *Clinic) QueryInt(query string, args ...any) (n int) {
	p.T.Helper()
	require.NoError(p.T, p.Hub.Host.Pool.QueryRow(p.T.Context(), query, append([]any{p.ID}, args...)...).Scan(&n))
	return n
}
