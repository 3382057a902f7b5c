package schedulingtest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/proofofwork"
)

func (p *Bookable) Availability(query string) object {
	p.T.Helper()
	return p.OK(200, "GET", "/availability?service_id="+p.ServiceID+"&professional_id="+p.ProfessionalID+query, nil)
}

func SlotTimesOf(day object) []string {
	found := []string{}
	for _, slot := range day["slots"].([]any) {
		found = append(found, slot.(object)["start"].(string))
	}
	return found
}

// AddUnscheduledProfessional is one without hours and services.
func (p *Bookable) AddUnscheduledProfessional(name string) string {
	p.T.Helper()
	return p.OK(201, "POST", "/professionals", object{"name": name})["id"].(string)
}

func (p *Bookable) Appointment(id string) object {
	p.T.Helper()
	return p.OK(200, "GET", "/appointments/"+id, nil)
}

func (p *Bookable) WaitlistBody(first, last, email string) object {
	return object{
		"service_id": p.ServiceID, "first_date": first, "last_date": last, "client_name": "Rui", "client_phone": "+55119" + email[:1] + "1112222", "client_email": email,
	}
}

// SlotTimes are when a day's start.
func (p *Bookable) SlotTimes(date string) []string {
	return SlotTimesOf(p.Availability("&date=" + date))
}

// AddClients makes clients who share a phone, and gives their ids.
func (p *Bookable) AddClients(people ...object) (ids []string) {
	p.T.Helper()
	for _, one := range people {
		if one["phone"] == nil {
			one["phone"] = "+5511955556666"
		}
		ids = append(ids, p.OK(201, "POST", "/clients", one)["id"].(string))
	}
	return ids
}

// SolveChallenge does the work that a challenge asks for.
func SolveChallenge(t testing.TB, challenge string) string {
	t.Helper()
	var c proofofwork.Challenge
	require.NoError(t, json.Unmarshal([]byte(challenge), &c))
	answer, ok := c.Solve()
	require.True(t, ok)
	return answer
}

// BookingBodyWithProof books with a proof of work, which the organization wants from now on.
func (p *Bookable) BookingBodyWithProof(wish object) object {
	p.T.Helper()
	p.OK(200, "PUT", "/organization/settings", object{"proof_of_work": true})
	g := p.Guest()
	wish["altcha"] = SolveChallenge(p.T, g.Call("GET", p.PublicPath("/challenge"), nil).Text)
	return g.OK(201, "POST", p.PublicPath("/appointments"), wish)
}

// Guest is the same studio to its clients.
func (p *Bookable) Guest() *Bookable {
	other := *p
	other.Organization = p.As("")
	return &other
}

func (p *Bookable) PublicPath(path string) string { return "/public/book/" + p.Slug + path }

func (p *Bookable) BookingBody(after time.Duration) object {
	return object{
		"service_id": p.ServiceID, "professional_id": p.ProfessionalID, "start_at": p.At(after),
		"client_name": "Gil", "client_phone": "11 98765-0000", "client_email": "gil@example.com",
	}
}

func ClientNames(p *Bookable) []string {
	var list []object
	for _, one := range p.OK(200, "GET", "/clients", nil)["items"].([]any) {
		list = append(list, one.(object))
	}
	return NamesOf(list)
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
