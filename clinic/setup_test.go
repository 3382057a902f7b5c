package clinic_test

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic"
	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/hubtest/openapitest"
	"integrationhub/hub/module"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// contract is what the product says of itself: every answer that a test gets keeps it.
var contract openapitest.Contract

const (
	Password = "correct horse"
	Tick     = 20 * time.Millisecond
	Timeout  = 30 * time.Second
)

type object = moduletest.Object

type answer = moduletest.Response

type event = moduletest.PublishedEvent

type operation = moduletest.Operation

func AnyPeer(name string) hub.Connector {
	peer := hub.AnyPeer(name, name)
	peer.Kind.RatePerMinute = 100_000
	return peer
}

// Clinic is a clinic as one caller sees it.
type Clinic struct {
	moduletest.Client
	ID    uuid.UUID
	Email string // its first administrator's
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

// ClinicAt returns a registered clinic; without an account, a caller that has none.
func ClinicAt(t testing.TB, hub *moduletest.Hub, account moduletest.Account) *Clinic {
	return &Clinic{
		Client: moduletest.Client{T: t, Hub: hub, Token: account.Token, Contract: &contract, KeyPrefix: "cli_", Roots: []string{"/fhir"}},
		ID:     account.Tenant,
	}
}

// RegisterClinic registers a clinic and returns it as its administrator sees it.
func RegisterClinic(t testing.TB, h *moduletest.Hub) *Clinic {
	t.Helper()
	p := ClinicAt(t, h, moduletest.Account{})
	p.Email = fmt.Sprintf("admin%d@example.com", practices.Add(1))
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

// SearchPatients is the first page of the patients that the clinic's users find by a term.
func (p *Clinic) SearchPatients(term string) object {
	p.T.Helper()
	return p.OK(200, "POST", "/patients/search", object{"search": term})
}

// Events returns the events the clinic published so far, in order.
func (p *Clinic) Events() []event {
	p.T.Helper()
	return p.Hub.Events(p.ID)
}

// EventTypes returns the types of the events the clinic published after the first n.
func (p *Clinic) EventTypes(n int) []string {
	p.T.Helper()
	return p.Hub.EventTypes(p.ID)[n:]
}

// Job returns a background job of the product.
func (p *Clinic) Job(name string) module.Job {
	p.T.Helper()
	return p.Hub.Job(name)
}

// QueryInt asks the database for a number; $1 is the clinic.
func (p *Clinic) QueryInt(query string, args ...any) (n int) {
	p.T.Helper()
	require.NoError(p.T, p.Hub.Host.Pool.QueryRow(p.T.Context(), query, append([]any{p.ID}, args...)...).Scan(&n))
	return n
}

// JSON returns a value as JSON text.
func JSON(t testing.TB, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}
