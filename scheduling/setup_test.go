package scheduling_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/hubtest/openapitest"
	"integrationhub/hub/module"
	"integrationhub/scheduling"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// contract is what the product says of itself: every answer that a test gets keeps it.
var contract openapitest.Contract

const Password = "correct horse"

// Organization is an organization on a running service.
type Organization struct {
	moduletest.Client
	ID    uuid.UUID
	Slug  string
	Email string // the owner's
	Zone  *time.Location
}

var studios atomic.Int64

type object = moduletest.Object

type answer = moduletest.Response

// StartHub starts a hub with the service, whose clock shows a Friday.
func StartHub(t testing.TB, settings ...string) *moduletest.Hub {
	t.Helper()
	return moduletest.Start(t, scheduling.New(), moduletest.Options{Now: Monday.Add(-72 * time.Hour), Settings: settings})
}

// Monday is 09:00 of a Monday in São Paulo, where the studios are.
var Monday = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func NewOrganization(t testing.TB, settings ...string) *Organization {
	t.Helper()
	return RegisterOrganization(t, StartHub(t, settings...))
}

// OrganizationAt returns a registered organization of a product that serves at base.
func OrganizationAt(t testing.TB, base string, account moduletest.Account) *Organization {
	return &Organization{Client: newClient(t, moduletest.Attach(t, "scheduling", "", base, module.Host{}), account.Token), ID: account.Tenant}
}

// NewVisitor returns a caller without an account.
func NewVisitor(t testing.TB, hub *moduletest.Hub) *Organization {
	return &Organization{Client: newClient(t, hub, "")}
}

func newClient(t testing.TB, hub *moduletest.Hub, token string) moduletest.Client {
	return moduletest.Client{T: t, Hub: hub, Token: token, Contract: &contract, KeyPrefix: "sch_"}
}

// RegisterOrganization registers one more organization.
func RegisterOrganization(t testing.TB, h *moduletest.Hub) *Organization {
	t.Helper()
	zone, err := time.LoadLocation("America/Sao_Paulo")
	require.NoError(t, err)
	n := studios.Add(1)
	s := &Organization{Client: newClient(t, h, ""), Slug: fmt.Sprintf("studio-%d", n), Email: fmt.Sprintf("owner%d@example.com", n), Zone: zone}
	made := s.As("").OK(201, "POST", "/auth/register", object{
		"org_name": "Studio", "org_slug": s.Slug, "name": "Bia", "email": s.Email, "password": Password,
	})
	s.Token = made["access_token"].(string)
	s.ID = uuid.MustParse(made["organization"].(object)["id"].(string))
	return s
}

// As returns the organization as another caller sees it: with another token, or none.
func (s *Organization) As(token string) *Organization {
	copied := *s
	copied.Token = token
	return &copied
}

// Bookable is what can be booked in a studio: one service, one professional, a client.
type Bookable struct {
	*Organization
	ServiceID, ProfessionalID, ClientID string
}

// NewBookable makes a studio that works Monday to Friday from 9 to 12.
func NewBookable(t testing.TB, settings ...string) *Bookable {
	return NewOrganization(t, settings...).MakeBookable()
}

func (s *Organization) MakeBookable() *Bookable {
	s.T.Helper()
	p := &Bookable{Organization: s}
	p.ServiceID = s.OK(201, "POST", "/services", object{"name": "Cut", "duration_minutes": 30, "price": 80})["id"].(string)
	p.ProfessionalID = s.AddProfessional("Ana", p.ServiceID)
	p.ClientID = s.OK(201, "POST", "/clients", object{"name": "Caio", "phone": "+5511987654321"})["id"].(string)
	return p
}

// AddProfessional makes one who works Monday to Friday from 9 to 12.
func (s *Organization) AddProfessional(name, service string) string {
	s.T.Helper()
	id := s.OK(201, "POST", "/professionals", object{"name": name})["id"].(string)
	s.Call("PUT", "/professionals/"+id+"/services", object{"service_ids": []string{service}})
	for day := range 5 {
		s.OK(201, "POST", "/schedule-rules", object{"professional_id": id, "day_of_week": day, "start_time": "09:00", "end_time": "12:00"})
	}
	return id
}

// At is a time after Monday 09:00, as people write it.
func (p *Bookable) At(after time.Duration) string {
	return Monday.Add(after).In(p.Zone).Format(time.RFC3339)
}

func (p *Bookable) AppointmentBody(after time.Duration) object {
	return object{"client_id": p.ClientID, "professional_id": p.ProfessionalID, "service_id": p.ServiceID, "start_at": p.At(after)}
}

// Book makes an appointment and gives its id.
func (p *Bookable) Book(after time.Duration) string {
	p.T.Helper()
	return p.OK(201, "POST", "/appointments", p.AppointmentBody(after))["id"].(string)
}

func (p *Bookable) Transition(status int, action, id string, body any) object {
	p.T.Helper()
	return p.OK(status, "POST", "/appointments/"+id+"/"+action, body)
}

// InvalidWith requires a 422 with a code of its own that names a location first.
func (s *Organization) InvalidWith(code, location, method, path string, body any) {
	s.T.Helper()
	problem := s.Refused(422, code, method, path, body)
	require.Equal(s.T, location, problem["errors"].([]any)[0].(object)["location"])
}

// AdvanceClock lets time pass, and logs in again.
func (s *Organization) AdvanceClock(d time.Duration) {
	s.T.Helper()
	s.Hub.Clock.Advance(d)
	s.Token = s.As("").OK(200, "POST", "/auth/login", object{"email": s.Email, "password": Password})["access_token"].(string)
}

// EventTypes returns the types of the events the organization published, in order.
func (s *Organization) EventTypes() []string {
	s.T.Helper()
	return s.Hub.EventTypes(s.ID)
}
