// Package clinictest provides the product's tests with a clinic on a running hub, its peers,
// and shared steps. Only tests import it.
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

// contract is the product's OpenAPI document: every response is checked against it.
var contract openapitest.Document

// What the fixtures use everywhere.
const (
	Password = "correct horse" // of every user
	Phone    = "+5511987654321"
	CPF      = "123.456.789-09" // valid
	Tick     = 20 * time.Millisecond
	Timeout  = 30 * time.Second // of whatever a test waits for
)

// unlimited lets users make as many requests as a test needs.
const unlimited = "HUB_PRODUCT_LIMITS=clinic.users=100000-M,clinic.sign-ups=100000-H,clinic.logins=100000-M,clinic.password-links=100000-H,clinic.passwords=100000-H"

type object = moduletest.Object

// AnyPeer returns the connector of a product without a rate limit.
func AnyPeer(name string) hub.Connector {
	peer := hub.NewPeerConnector(name, name)
	peer.PeerSpec.RatePerMinute = 100_000
	return peer
}

// Clinic is a clinic on a running hub, as one caller sees it: its administrator, until
// [Clinic.As] names another.
type Clinic struct {
	moduletest.Client
	ID    uuid.UUID
	Email string // its first administrator's
}

// registrations numbers the users of a test process.
var registrations atomic.Int64

// NewClinic registers a clinic at the hub that the tests of the process share, see
// [moduletest.Shared].
func NewClinic(t testing.TB) *Clinic {
	t.Helper()
	return registerAfterOverdueJob(t, moduletest.Shared(t, clinic.New(), options(time.Time{})))
}

// NewClinicAlone starts a hub and registers a clinic there.
func NewClinicAlone(t testing.TB) *Clinic {
	t.Helper()
	return NewClinicAt(t, time.Time{})
}

// NewClinicAt starts a hub whose product clock stands at a time, and registers a clinic
// there.
func NewClinicAt(t testing.TB, start time.Time) *Clinic {
	t.Helper()
	return registerAfterOverdueJob(t, moduletest.Start(t, clinic.New(), options(start)))
}

func options(start time.Time) moduletest.Options {
	return moduletest.Options{Start: start, Settings: []string{unlimited}, Connectors: []hub.Connector{AnyPeer("messaging"), AnyPeer("scheduling")}}
}

// registerAfterOverdueJob registers a clinic and waits until the hub's first job of overdue payments
// has run, which would change the payments that a test makes.
func registerAfterOverdueJob(t testing.TB, h *moduletest.Hub) *Clinic {
	t.Helper()
	c := RegisterClinic(t, h)
	h.AwaitFirstRun("overdue")
	return c
}

// AnotherClinic registers one more clinic at the same hub.
func (c *Clinic) AnotherClinic() *Clinic {
	c.T.Helper()
	return RegisterClinic(c.T, c.Hub)
}

// ClinicAt returns a registered clinic; without an account, a caller that has none.
func ClinicAt(t testing.TB, hub *moduletest.Hub, account moduletest.Account) *Clinic {
	return &Clinic{
		Client: moduletest.Client{T: t, Hub: hub, Token: account.Token, Contract: &contract, KeyPrefix: "cli_", Roots: []string{"/fhir"}},
		ID:     account.Tenant,
	}
}

// RegisterClinic registers a clinic and returns it as its administrator sees it.
func RegisterClinic(t testing.TB, hub *moduletest.Hub) *Clinic {
	t.Helper()
	c := ClinicAt(t, hub, moduletest.Account{})
	c.Email = fmt.Sprintf("admin%d@example.com", registrations.Add(1))
	session := c.OK(201, "POST", "/auth/register", object{"clinic_name": "Clínica Sol", "name": "Bia", "email": c.Email, "password": Password})
	c.Token = session["access_token"].(string)
	c.ID = uuid.MustParse(session["clinic"].(object)["id"].(string))
	return c
}

// As returns the clinic as another caller sees it: with another token or key, or with none.
func (c *Clinic) As(token string) *Clinic {
	copied := *c
	copied.Token = token
	return &copied
}

// InEnvironment returns the clinic with the data of an environment.
func (c *Clinic) InEnvironment(environment string) *Clinic {
	copied := *c
	copied.Headers = []string{"X-Environment", environment}
	return &copied
}

// AddStaff adds a user who is no administrator and returns the clinic as that user sees it.
func (c *Clinic) AddStaff() *Clinic {
	c.T.Helper()
	email := fmt.Sprintf("staff%d-%s", registrations.Add(1), c.Email)
	c.OK(201, "POST", "/users", object{"name": "Caio", "email": email, "password": Password})
	return c.As(c.As("").OK(200, "POST", "/auth/login", object{"email": email, "password": Password})["access_token"].(string))
}

// NewKey creates an API key and returns the clinic as its holder sees it. No scopes means
// all of them.
func (c *Clinic) NewKey(scopes ...string) *Clinic {
	c.T.Helper()
	body := object{}
	if len(scopes) > 0 {
		body["scopes"] = scopes
	}
	return c.As(c.OK(200, "POST", "/integrations/api-keys", body)["api_key"].(string))
}

// SearchPatients returns the first page of the patients that match a term.
func (c *Clinic) SearchPatients(term string) moduletest.Object {
	c.T.Helper()
	return c.OK(200, "POST", "/patients/search", object{"search": term})
}

// Events returns the events the clinic published so far, in order.
func (c *Clinic) Events() []moduletest.PublishedEvent {
	c.T.Helper()
	return c.Hub.Events(c.ID)
}

// EventTypes returns the types of the events the clinic published after the first n.
func (c *Clinic) EventTypes(n int) []string {
	c.T.Helper()
	return c.Hub.EventTypes(c.ID)[n:]
}

// Job returns a background job of the product.
func (c *Clinic) Job(name string) module.Job {
	c.T.Helper()
	return c.Hub.Job(name)
}

// QueryInt returns a number from the database; $1 is the clinic.
func (c *Clinic) QueryInt(query string, args ...any) (n int) {
	c.T.Helper()
	require.NoError(c.T, c.Hub.Host.Pool.QueryRow(c.T.Context(), query, append([]any{c.ID}, args...)...).Scan(&n))
	return n
}

// Exec executes SQL on the product's database; $1 is the clinic.
func (c *Clinic) Exec(query string, args ...any) {
	c.T.Helper()
	_, err := c.Hub.Host.Pool.Exec(c.T.Context(), query, append([]any{c.ID}, args...)...)
	require.NoError(c.T, err)
}

// OwnOperations returns the product's own operations. Those that the hub adds to every
// product have their tests in the hub.
func (c *Clinic) OwnOperations() (operations []moduletest.Operation) {
	c.T.Helper()
	own := regexp.MustCompile(`^/api/v1/integrations/(search|action|inbox)`)
	for _, op := range c.Operations() {
		if !strings.HasPrefix(op.Path, "/api/v1/integrations") || own.MatchString(op.Path) {
			operations = append(operations, op)
		}
	}
	require.NotEmpty(c.T, operations)
	return operations
}

// Snapshot returns all rows of the clinic as text.
func (c *Clinic) Snapshot() string {
	c.T.Helper()
	rows, err := c.Hub.Host.Pool.Query(c.T.Context(), `select c.relname::text from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'clinic_id'
		where c.relnamespace = 'clinic'::regnamespace and c.relkind = 'r' order by 1`)
	require.NoError(c.T, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(c.T, err)
	require.NotEmpty(c.T, names)
	var all strings.Builder
	for _, name := range names {
		var text *string
		require.NoError(c.T, c.Hub.Host.Pool.QueryRow(c.T.Context(), fmt.Sprintf(`select string_agg(t::text, E'\n' order by t::text) from clinic.%s t where clinic_id = $1`, name), c.ID).Scan(&text))
		if text != nil {
			all.WriteString(name + "\n" + *text + "\n")
		}
	}
	return all.String()
}

// AddDuePayment adds a payment of a new patient, due on a date, and returns its id.
func (c *Clinic) AddDuePayment(date string) string {
	c.T.Helper()
	return c.OK(201, "POST", "/patients/"+c.AddPatient(Phone)+"/payments", object{"amount": 1, "due_date": date})["id"].(string)
}

// AddPatient adds a patient with a phone number and returns the id.
func (c *Clinic) AddPatient(phone string) string {
	c.T.Helper()
	return c.OK(201, "POST", "/patients", object{"name": "Ana Souza", "phone": phone})["id"].(string)
}

// DateIn returns the date n days from today, in the clinics' zone, São Paulo.
func DateIn(t testing.TB, n int) string {
	t.Helper()
	zone, err := time.LoadLocation("America/Sao_Paulo")
	require.NoError(t, err)
	return time.Now().In(zone).AddDate(0, 0, n).Format(time.DateOnly)
}

// History returns a patient's interactions as "type: summary", newest first.
func (c *Clinic) History(patientID string) (lines []string) {
	c.T.Helper()
	for _, interaction := range c.Items("/patients/" + patientID + "/interactions?per_page=100") {
		lines = append(lines, interaction["interaction_type"].(string)+": "+interaction["summary"].(string))
	}
	return lines
}

// JSON returns a value as JSON text.
func JSON(t testing.TB, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}
