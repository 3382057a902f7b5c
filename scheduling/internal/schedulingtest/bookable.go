package schedulingtest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/scheduling/internal/proofofwork"
)

// Bookable is an organization with a service of 30 minutes, a professional who offers it
// Monday to Friday from 9 to 12, and a client.
type Bookable struct {
	*Organization
	ServiceID, ProfessionalID, ClientID string
}

// NewBookable returns a bookable organization at the hub that the tests of the process share.
func NewBookable(t testing.TB) *Bookable {
	t.Helper()
	return NewOrganization(t).MakeBookable()
}

// NewBookableAlone starts a hub with a bookable organization.
func NewBookableAlone(t testing.TB, settings ...string) *Bookable {
	t.Helper()
	return NewOrganizationAlone(t, settings...).MakeBookable()
}

// MakeBookable adds the service, the professional and the client.
func (o *Organization) MakeBookable() *Bookable {
	o.T.Helper()
	b := &Bookable{Organization: o}
	b.ServiceID = o.OK(201, "POST", "/services", object{"name": "Cut", "duration_minutes": 30, "price": 80})["id"].(string)
	b.ProfessionalID = o.AddProfessional("Ana", b.ServiceID)
	b.ClientID = o.OK(201, "POST", "/clients", object{"name": "Caio", "phone": "+5511987654321"})["id"].(string)
	return b
}

// Guest returns the organization as a guest without credentials sees it.
func (b *Bookable) Guest() *Bookable {
	guest := *b
	guest.Organization = b.As("")
	return &guest
}

// At returns the time so long after [Monday], in the organization's zone.
func (b *Bookable) At(after time.Duration) string {
	return Monday.Add(after).In(b.Zone).Format(time.RFC3339)
}

// AppointmentBody returns the body with which staff book an appointment.
func (b *Bookable) AppointmentBody(after time.Duration) moduletest.Object {
	return object{"client_id": b.ClientID, "professional_id": b.ProfessionalID, "service_id": b.ServiceID, "start_at": b.At(after)}
}

// Book books an appointment as staff do and returns its id.
func (b *Bookable) Book(after time.Duration) string {
	b.T.Helper()
	return b.OK(201, "POST", "/appointments", b.AppointmentBody(after))["id"].(string)
}

// Appointment returns an appointment.
func (b *Bookable) Appointment(id string) moduletest.Object {
	b.T.Helper()
	return b.Get("/appointments/" + id)
}

// Transition changes an appointment's status by an action, such as cancel.
func (b *Bookable) Transition(status int, action, id string, body any) moduletest.Object {
	b.T.Helper()
	return b.OK(status, "POST", "/appointments/"+id+"/"+action, body)
}

// PublicPath returns a path of the organization's public booking API.
func (b *Bookable) PublicPath(path string) string { return "/public/book/" + b.Slug + path }

// BookingBody returns the body with which a guest books.
func (b *Bookable) BookingBody(after time.Duration) moduletest.Object {
	return object{
		"service_id": b.ServiceID, "professional_id": b.ProfessionalID, "start_at": b.At(after),
		"client_name": "Gil", "client_phone": "11 98765-0000", "client_email": "gil@example.com",
	}
}

// BookWithProof books as a guest with a proof of work, which the organization demands
// from then on.
func (b *Bookable) BookWithProof(booking object) moduletest.Object {
	b.T.Helper()
	b.OK(200, "PUT", "/organization/settings", object{"proof_of_work": true})
	guest := b.Guest()
	booking["altcha"] = SolveChallenge(b.T, guest.Call("GET", b.PublicPath("/challenge"), nil).Text)
	return guest.OK(201, "POST", b.PublicPath("/appointments"), booking)
}

// SolveChallenge does the work that a challenge asks for and returns the solution.
func SolveChallenge(t testing.TB, text string) string {
	t.Helper()
	var challenge proofofwork.Challenge
	require.NoError(t, json.Unmarshal([]byte(text), &challenge))
	solution, ok := challenge.Solve()
	require.True(t, ok)
	return solution
}

// WaitlistBody returns the body with which a guest joins the waitlist for some days.
func (b *Bookable) WaitlistBody(first, last, email string) moduletest.Object {
	return object{
		"service_id": b.ServiceID, "first_date": first, "last_date": last, "client_name": "Rui", "client_phone": "+55119" + email[:1] + "1112222", "client_email": email,
	}
}

// Availability returns the free slots of the service; query begins with "&".
func (b *Bookable) Availability(query string) moduletest.Object {
	b.T.Helper()
	return b.Get("/availability?service_id=" + b.ServiceID + "&professional_id=" + b.ProfessionalID + query)
}

// SlotTimes returns when the free slots of a day start.
func (b *Bookable) SlotTimes(date string) []string {
	b.T.Helper()
	return SlotTimesOf(b.Availability("&date=" + date))
}

// SlotTimesOf returns when the slots of an availability response start.
func SlotTimesOf(day object) []string {
	times := []string{}
	for _, slot := range day["slots"].([]any) {
		times = append(times, slot.(object)["start"].(string))
	}
	return times
}

// AddUnscheduledProfessional adds a professional without hours and services and returns
// the id.
func (b *Bookable) AddUnscheduledProfessional(name string) string {
	b.T.Helper()
	return b.OK(201, "POST", "/professionals", object{"name": name})["id"].(string)
}

// AddClients adds clients and returns their ids. Those without a phone share one.
func (b *Bookable) AddClients(clients ...object) (ids []string) {
	b.T.Helper()
	for _, client := range clients {
		if client["phone"] == nil {
			client["phone"] = "+5511955556666"
		}
		ids = append(ids, b.OK(201, "POST", "/clients", client)["id"].(string))
	}
	return ids
}

// ClientNames returns the names of the first page of clients.
func (b *Bookable) ClientNames() []string {
	b.T.Helper()
	return NamesOf(b.Items("/clients"))
}
