package clinictest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic"
	"integrationhub/hub"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/hubtest/openapitest"
	"integrationhub/hub/module"
)

// Exec changes the database; $1 is the clinic.
func (p *Clinic) Exec(query string, args ...any) {
	p.T.Helper()
	_, err := p.Hub.Host.Pool.Exec(p.T.Context(), query, append([]any{p.ID}, args...)...)
	require.NoError(p.T, err)
}

// OwnOperations returns the product's own operations. Those that the hub adds to every
// product have their tests in the hub.
func (p *Clinic) OwnOperations() (operations []operation) {
	p.T.Helper()
	own := regexp.MustCompile(`^/api/v1/integrations/(search|action|inbox)`)
	for _, op := range p.Client.Operations() {
		if !strings.HasPrefix(op.Path, "/api/v1/integrations") || own.MatchString(op.Path) {
			operations = append(operations, op)
		}
	}
	require.NotEmpty(p.T, operations)
	return operations
}

// Snapshot is everything a clinic owns.
func (p *Clinic) Snapshot() string {
	p.T.Helper()
	rows, err := p.Hub.Host.Pool.Query(p.T.Context(), `select c.relname::text from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'clinic_id'
		where c.relnamespace = 'clinic'::regnamespace and c.relkind = 'r' order by 1`)
	require.NoError(p.T, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(p.T, err)
	require.NotEmpty(p.T, names)
	var all strings.Builder
	for _, name := range names {
		var text *string
		require.NoError(p.T, p.Hub.Host.Pool.QueryRow(p.T.Context(), fmt.Sprintf(`select string_agg(t::text, E'\n' order by t::text) from clinic.%s t where clinic_id = $1`, name), p.ID).Scan(&text))
		if text != nil {
			all.WriteString(name + "\n" + *text + "\n")
		}
	}
	return all.String()
}

// NewClinicAt is a clinic where it is a time, until the hub's clock is advanced.
func NewClinicAt(t *testing.T, now time.Time) *Clinic {
	t.Helper()
	return RegisterClinic(t, moduletest.Start(t, clinic.New(), moduletest.Options{Start: now, Connectors: []hub.Connector{AnyPeer("messaging"), AnyPeer("scheduling")}}))
}

// AddDuePayment makes a payment of a new patient and gives its id.
func (p *Clinic) AddDuePayment(date string) string {
	p.T.Helper()
	return p.OK(201, "POST", "/patients/"+p.AddPatient(Phone)+"/payments", object{"amount": 1, "due_date": date})["id"].(string)
}

// CPF is valid; design and documents use it.
const CPF = "123.456.789-09"

// AddPatient makes one with a phone number and gives the id.
func (p *Clinic) AddPatient(phone string) string {
	p.T.Helper()
	return p.OK(201, "POST", "/patients", object{"name": "Ana Souza", "phone": phone})["id"].(string)
}

// DateIn is a date so many days from today, in São Paulo, where clinics are.
func DateIn(t testing.TB, n int) string {
	t.Helper()
	zone, err := time.LoadLocation("America/Sao_Paulo")
	require.NoError(t, err)
	return time.Now().In(zone).AddDate(0, 0, n).Format(time.DateOnly)
}

const Phone = "+5511987654321"

// History is what stands on a patient's history, newest first, as "type: summary".
func (p *Clinic) History(patient string) (list []string) {
	p.T.Helper()
	for _, one := range p.Items("/patients/" + patient + "/interactions?per_page=100") {
		list = append(list, one["interaction_type"].(string)+": "+one["summary"].(string))
	}
	return list
}

// contract is what the product says of itself: every answer that a test gets keeps it.
var contract openapitest.Document

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
	peer := hub.NewPeerConnector(name, name)
	peer.PeerSpec.RatePerMinute = 100_000
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
