package scheduling_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/module"
)

// family makes clients who share a phone, and gives their ids.
func (p *plan) family(people ...object) (ids []string) {
	p.t.Helper()
	for _, one := range people {
		if one["phone"] == nil {
			one["phone"] = "+5511955556666"
		}
		ids = append(ids, p.ok(201, "POST", "/clients", one)["id"].(string))
	}
	return ids
}

// gone requires of each client whether it was forgotten.
func (p *plan) gone(want map[string]bool) {
	p.t.Helper()
	for id, gone := range want {
		require.Equal(p.t, gone, p.call("GET", "/clients/"+id, nil).status == 404, id)
	}
}

// Families share a phone: name and address tell who was deleted, and where they do not,
// nobody is forgotten and the organization is asked.
func TestDeletedPatientOfAFamily(t *testing.T) {
	t.Parallel()
	p := opened(t)
	p.ok(200, "PUT", "/organization/settings", object{"notify_emails": []string{"desk@example.com"}})
	ids := p.family(object{"name": "Ana Lúcia", "email": "ana@example.com"}, object{"name": "Rui", "email": "rui@example.com"}, object{"name": "Bia"}, object{"name": "Téo"})
	mother, father, child, other := ids[0], ids[1], ids[2], ids[3]
	request := uuid.NewString()
	deleted := func(id string, data object) error {
		data["phone"], data["deletion_request_id"] = "(11) 95555-6666", request
		return p.receive(id, "patient.deleted", data)
	}
	require.ErrorIs(t, deleted("evt_5123456789abcdef", object{"email": nil}), module.ErrIgnored)
	require.ErrorIs(t, deleted("evt_6123456789abcdef", object{"email": "x@example.com", "name": "Somebody"}), module.ErrIgnored)
	p.gone(map[string]bool{mother: false, father: false, child: false, other: false})
	subjects, text := p.mails("desk@example.com", 2)
	require.Equal(t, "De quem são os dados a excluir?", subjects[0])
	for _, id := range append(ids, request, "DELETE /api/v1/clients/{id}") {
		require.Contains(t, text, id)
	}
	for _, personal := range []string{"Ana", "Rui", "Bia", "95555", "example.com"} {
		require.NotContains(t, text, personal)
		require.NotContains(t, p.hub.Log(), personal+`"`)
	}
	require.Contains(t, p.hub.Log(), "nobody was forgotten")

	require.Zero(t, p.count("hub.erasure_traces"))
	require.NoError(t, deleted("evt_7123456789abcdef", object{"email": "ANA@example.com"}))
	require.Equal(t, 1, p.count("hub.erasure_traces where tenant_id = $1", p.org), "the log hears what she went by here")
	p.gone(map[string]bool{mother: true, father: false, child: false, other: false})
	require.NoError(t, deleted("evt_8123456789abcdef", object{"email": "ana@example.com", "name": "TEO", "phone_shared": true}))
	p.gone(map[string]bool{other: true, father: false, child: false})

	// What staff decides.
	p.ok(204, "DELETE", "/clients/"+child, nil)
	p.refused(404, "not_found", "DELETE", "/clients/"+child, nil)
	require.ErrorIs(t, deleted("evt_9123456789abcdef", object{"name": "Ana", "phone_shared": true}), module.ErrIgnored)
	p.gone(map[string]bool{father: false})
	p.mails("desk@example.com", 3)
	require.NoError(t, deleted("evt_a123456789abcdef", object{"name": "Rui Souza", "phone_shared": false}), "a single client is who has the number")
	p.gone(map[string]bool{father: true})
}

// Where nobody is written to about bookings, those who run the organization are asked.
func TestDeletedPatientAsksTheManagers(t *testing.T) {
	t.Parallel()
	p := opened(t)
	p.ok(200, "PUT", "/organization/settings", object{"notify_emails": []string{}})
	for _, role := range []string{"admin", "staff"} {
		p.ok(201, "POST", "/users", object{"name": role, "email": role + p.email, "role": role})
		p.mails(role+p.email, 1) // the invitation
	}
	ids := p.family(object{"name": "Ana Lúcia"}, object{"name": "Rui"})
	require.ErrorIs(t, p.receive("evt_5123456789abcdef", "patient.deleted", object{"phone": "(11) 95555-6666", "name": "Somebody"}), module.ErrIgnored)
	for to, n := range map[string]int{p.email: 1, "admin" + p.email: 2} {
		_, text := p.mails(to, n)
		require.Contains(t, text, ids[0])
		require.Contains(t, text, ids[1])
	}
	p.mails("staff"+p.email, 1)
}

// Numbers that were the patient's may be somebody else's by now, and who has no number
// is known by the address.
func TestDeletedPatientUnderOtherNumbers(t *testing.T) {
	t.Parallel()
	p := opened(t)
	ids := p.family(
		object{"name": "Ana Souza", "phone": "+5511911110000"}, object{"name": "Rui", "phone": "+5511922220000"},
		object{"name": "Ana Souza", "phone": "+5511933330000", "email": "ana@example.com"}, object{"name": "Eva", "phone": nil, "email": "Eva@example.com"},
		object{"name": "Ana", "phone": "+5511944440000"},
	)
	require.NoError(t, p.receive("evt_1123456789abcdef", "patient.deleted", object{
		"phone": "+5511944440000", "phones": []string{"+5511911110000", "+5511922220000"}, "name": "Ana Souza", "email": "ANA@example.com", "phone_shared": false,
	}))
	p.gone(map[string]bool{ids[0]: true, ids[1]: false, ids[2]: true, ids[3]: false, ids[4]: true})
	contradicted := p.family(object{"name": "Rita Lima", "phone": "+5511955550000", "email": "rita@example.com"})[0]
	require.ErrorIs(t, p.receive("evt_5123456789abcdef", "patient.deleted", object{"phone": "+5511955550000", "name": "Ivo Lima", "email": "ivo@example.com"}), module.ErrIgnored)
	p.gone(map[string]bool{contradicted: false})
	require.NoError(t, p.receive("evt_2123456789abcdef", "patient.deleted", object{"phone": nil, "email": "eva@example.com"}))
	p.gone(map[string]bool{ids[1]: false, ids[3]: true})
	require.ErrorIs(t, p.receive("evt_3123456789abcdef", "patient.deleted", object{"phone": nil, "email": nil}), module.ErrIgnored)
	require.ErrorIs(t, p.receive("evt_4123456789abcdef", "patient.deleted", object{"phone": nil, "phones": nil, "name": "Rui"}), module.ErrIgnored)
	p.gone(map[string]bool{ids[1]: false})
}

// Nothing in the service's schema, nor mail on its way, knows somebody who was forgotten.
func TestNothingIsLeftOfWhoWasForgotten(t *testing.T) {
	t.Parallel()
	p := opened(t, "HUB_PAYMENT_PROVIDER=sandbox")
	const name, email, number = "Zuleica Quirino", "zuleica@example.org", "987112233"
	p.ok(200, "PUT", "/organization/settings", object{"waitlist_enabled": true, "notify_emails": []string{"desk@example.com"}})
	p.ok(200, "PUT", "/loyalty/config", object{"enabled": true})
	wish := p.wish(0)
	wish["client_name"], wish["client_phone"], wish["client_email"], wish["notes"] = name, "11 98711-2233", email, "from Zuleica Quirino"
	made := p.guest().ok(201, "POST", p.public("/appointments"), wish)
	id := made["appointment_id"].(string)
	client := p.ok(200, "GET", "/appointments/"+id, nil)["client_id"].(string)
	p.guest().ok(201, "POST", p.public("/waitlist"), object{
		"service_id": p.service, "first_date": "2026-03-06", "last_date": "2026-03-07", "client_name": name, "client_phone": "11 98711-2233", "client_email": email,
	})
	p.ok(200, "PUT", "/clients/"+client, object{"notes": name, "tags": []string{name}, "birth_date": "1990-05-17", "cpf": "529.982.247-25"})
	p.ok(200, "PUT", "/appointments/"+id, object{"notes": "call " + number})
	p.do(200, "reschedule", id, object{"start_at": p.at(time.Hour), "reason": name + " asked"})
	p.ok(201, "POST", "/payments", object{"appointment_id": id, "client_id": client, "amount": 10, "method": "cash", "description": "paid by " + name})
	p.ok(201, "POST", "/payments/pix", object{"appointment_id": id, "amount": 5, "description": name})
	p.ok(200, "POST", "/loyalty/clients/"+client+"/adjust", object{"points": 5, "reason": "for " + name})
	p.do(200, "cancel", id, object{"reason": "ask " + email})
	p.settled()
	p.mails("desk@example.com", 1)
	p.exec(`update hub.mails set status = 'waiting', due_at = now() + interval '1 day' where recipient = 'desk@example.com'`)
	where := func(needle string) (list []string) {
		for _, place := range hubtest.FindInDatabase(t, p.hub.DatabaseURL, needle) {
			if strings.HasPrefix(place, "scheduling.sandbox_") { // stands for a company elsewhere
				continue
			}
			if strings.HasPrefix(place, "scheduling.") || strings.HasPrefix(place, "hub.mails.") || strings.HasPrefix(place, "hub.jobs.") {
				list = append(list, place)
			}
		}
		return list
	}
	for _, place := range []string{"scheduling.payments.description", "scheduling.loyalty_entries.description", "scheduling.waitlist.contact_name", "hub.mails.subject"} {
		require.Contains(t, where(name), place, "what is looked for is there to be found")
	}
	require.NoError(t, p.receive("evt_1123456789abcdef", "patient.deleted", object{"phone": "+5511987112233", "email": email}))
	p.gone(map[string]bool{client: true})
	for _, needle := range []string{name, "Zuleica", email, number, "98711-2233", "52998224725", "529.982.247-25"} {
		require.Empty(t, where(needle), needle)
	}
	// The ledger still only grows.
	_, err := p.hub.Host.Pool.Exec(t.Context(), `update scheduling.loyalty_entries set points = points + 1 where org_id = $1`, p.org)
	require.ErrorContains(t, err, "append-only")
	_, err = p.hub.Host.Pool.Exec(t.Context(), `update scheduling.loyalty_entries set description = 'x' where org_id = $1`, p.org)
	require.ErrorContains(t, err, "append-only")
	_, err = p.hub.Host.Pool.Exec(t.Context(), `delete from scheduling.loyalty_entries where org_id = $1`, p.org)
	require.ErrorContains(t, err, "append-only")
}

// Who is forgotten takes along the letters about them, in one organization: what others
// wrote to the same address stays, and so does what is written to its users.
func TestMailOfWhoWasForgotten(t *testing.T) {
	t.Parallel()
	p := opened(t)
	q := another(t, p.hub).open()
	var clients []string
	for _, one := range []*plan{p, q} {
		one.ok(200, "PUT", "/organization/settings", object{"notify_emails": []string{}})
		client := one.ok(201, "POST", "/clients", object{"name": "Gil", "email": p.email})["id"].(string)
		draft := one.draft(0)
		draft["client_id"] = client
		one.ok(201, "POST", "/appointments", draft)
		clients = append(clients, client)
	}
	p.mails(p.email, 2)
	p.as("").ok(200, "POST", "/auth/forgot-password", object{"email": p.email})
	p.mails(p.email, 3)
	about := func(org uuid.UUID, client string) int {
		return p.count("hub.mails where tenant_id = $1 and about = $2 and recipient = $3", org, client, p.email)
	}
	require.Equal(t, 1, about(p.org, clients[0]))
	p.ok(204, "DELETE", "/clients/"+clients[0], nil)
	require.Zero(t, about(p.org, clients[0]))
	require.Equal(t, 1, about(q.org, clients[1]), "another organization's")
	p.mails(p.email, 2)
	p.as("").ok(200, "POST", "/auth/reset-password", object{"token": p.mailed(p.email), "new_password": "another password"})
}

// clinicPeer stands for the clinic that an organization is connected to.
type clinicPeer struct {
	module.Peers
	mu       sync.Mutex
	features []string
	patient  string // the answer
	fails    []error
	asked    []string
}

// List implements module.Peers.
func (c *clinicPeer) List(_ context.Context, tenant uuid.UUID, _ hub.Environment) ([]module.Integration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return []module.Integration{
		{ID: uuid.New(), TenantID: tenant, Product: "messaging", Status: "active", Features: []string{"patient.search"}},
		{ID: uuid.New(), TenantID: tenant, Product: "clinic", Status: "active", Features: c.features},
	}, nil
}

// Call implements module.Peers.
func (c *clinicPeer) Call(_ context.Context, _ uuid.UUID, call hub.Call) (json.RawMessage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, call.Name+" "+call.Query.Get("phone"))
	if len(c.fails) > 0 {
		err := c.fails[0]
		c.fails = c.fails[1:]
		return nil, err
	}
	return json.RawMessage(c.patient), nil
}

func (c *clinicPeer) calls() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.asked)
}

// A patient who changed is read back from the clinic: what it told before is refreshed,
// an address is taken where there is none, and what others typed stays.
func TestChangedPatientsAreReadBack(t *testing.T) {
	t.Parallel()
	peer := &clinicPeer{features: []string{"patient.search"}, patient: `{"found":true,"patient":{"id":"p-1","name":"Ana Lima","email":"ana@example.com"}}`}
	p := lending(t, func(host *module.Host) { host.Peers = peer })
	client := p.family(object{"name": "Ana"})[0]
	shown := func() (name, email any) {
		c := p.ok(200, "GET", "/clients/"+client, nil)
		return c["name"], c["email"]
	}
	n := 0
	updated := func(fields ...string) error {
		n++
		return p.receive("evt_"+strings.Repeat("0", 15-len(string(rune('a'+n))))+string(rune('a'+n)), "patient.updated", object{"patient_id": "p-1", "changed_fields": fields, "phone": "+5511955556666"})
	}
	waiting := func() int { return p.count("hub.jobs where product = 'scheduling' and job = 'patients'") }
	settled := func() {
		t.Helper()
		require.Eventually(t, func() bool { return waiting() == 0 }, 30*time.Second, 20*time.Millisecond)
	}
	require.ErrorIs(t, updated("birth_date"), module.ErrIgnored)

	// Away, then limited, then there: each time is later.
	peer.fails = []error{
		hub.Errorf(hub.ErrPeer, hub.CodePeerUnreachable, "away").WithCause(&net.OpError{Op: "dial", Err: io.EOF}), hub.Errorf(hub.ErrPeerTimeout, hub.CodePeerTimeout, "silent"),
	}
	require.NoError(t, updated("name", "email"))
	for calls := 1; calls <= 3; calls++ {
		require.Eventually(t, func() bool { return peer.calls() == calls }, 30*time.Second, 20*time.Millisecond)
		if calls < 3 {
			require.Eventually(t, func() bool { return p.count("hub.jobs where job = 'patients' and tries = $1", calls) == 1 }, 30*time.Second, 20*time.Millisecond)
			p.later(15 * time.Minute)
		}
	}
	settled()
	require.Equal(t, "search/patients +5511955556666", peer.asked[0])
	name, email := shown()
	require.Equal(t, "Ana", name, "staff typed it")
	require.Equal(t, "ana@example.com", email, "there was none")

	// What came from the clinic follows it.
	peer.patient = `{"found":true,"patient":{"id":"p-1","name":"Ana Reis","email":"reis@example.com"}}`
	p.exec(`update scheduling.clients set name_source = 'clinic' where id = $1`, client)
	require.NoError(t, updated("email"))
	settled()
	name, email = shown()
	require.Equal(t, "Ana Reis", name)
	require.Equal(t, "reis@example.com", email)

	// Somebody else under that phone is none of the client's business.
	peer.patient = `{"found":true,"patient":{"id":"p-2","name":"Rui","email":"rui@example.com"}}`
	require.NoError(t, updated("email"))
	settled()
	_, email = shown()
	require.Equal(t, "reis@example.com", email)

	// What staff typed stays; and without the feature nothing is asked, and nothing fails.
	peer.patient = `{"found":true,"patient":{"id":"p-1","name":"X Y","email":"x@example.com"}}`
	p.ok(200, "PUT", "/clients/"+client, object{"email": "typed@example.com", "name": "Typed"})
	require.ErrorIs(t, updated("name", "email"), module.ErrIgnored)
	p.exec(`update scheduling.clients set name_source = 'clinic' where id = $1`, client)
	before := peer.calls()
	peer.mu.Lock()
	peer.features = nil
	peer.mu.Unlock()
	require.NoError(t, updated("name"))
	settled()
	require.Equal(t, before, peer.calls())
	peer.mu.Lock()
	peer.features, peer.fails = []string{"patient.search"}, []error{hub.Errorf(hub.ErrInvalid, hub.CodeKeyRejected, "no such scope")}
	peer.mu.Unlock()
	require.NoError(t, updated("name"))
	settled()
	name, email = shown()
	require.Equal(t, "Typed", name)
	require.Equal(t, "typed@example.com", email)
}

// A new patient's address is taken for the client who has none.
func TestNewPatients(t *testing.T) {
	t.Parallel()
	p := opened(t)
	ids := p.family(object{"name": "Ana"}, object{"name": "Eva", "phone": "+5511911110000", "email": "eva@example.com"})
	created := func(id, phone, name string) error {
		return p.receive(id, "patient.created", object{"patient_id": "p", "phone": phone, "name": name, "email": "new@example.com", "cpf": nil})
	}
	require.NoError(t, created("evt_1123456789abcdef", "+5511955556666", "Ana Lima"))
	require.ErrorIs(t, created("evt_2123456789abcdef", "+5511911110000", "Eva"), module.ErrIgnored)
	require.ErrorIs(t, created("evt_3123456789abcdef", "+5511900000000", "Rui"), module.ErrIgnored)
	require.Equal(t, "new@example.com", p.ok(200, "GET", "/clients/"+ids[0], nil)["email"])
	require.Equal(t, "Ana", p.ok(200, "GET", "/clients/"+ids[0], nil)["name"])
	require.Equal(t, "eva@example.com", p.ok(200, "GET", "/clients/"+ids[1], nil)["email"])
	require.Equal(t, "clinic", p.source(ids[0]))
	require.Equal(t, "staff", p.source(ids[1]))
}

// source is who told a client's address.
func (p *plan) source(client string) (source string) {
	p.t.Helper()
	require.NoError(p.t, p.hub.Host.Pool.QueryRow(p.t.Context(), `select email_source from scheduling.clients where id = $1`, client).Scan(&source))
	return source
}
