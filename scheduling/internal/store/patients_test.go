package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/schedulingtest"
)

// Families share a phone: name and address decide which client was deleted. If they are
// ambiguous, no client is erased and the organization is asked.
func TestDeletedPatientOfAFamily(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	org.OK(200, "PUT", "/organization/settings", object{"notify_emails": []string{"desk@example.com"}})
	ids := org.AddClients(object{"name": "Ana Lúcia", "email": "ana@example.com"}, object{"name": "Rui", "email": "rui@example.com"}, object{"name": "Bia"}, object{"name": "Téo"})
	mother, father, child, other := ids[0], ids[1], ids[2], ids[3]
	request := uuid.NewString()
	deleted := func(id string, data object) error {
		data["phone"], data["deletion_request_id"] = "(11) 95555-6666", request
		return org.ReceiveEvent(id, "patient.deleted", data)
	}
	require.ErrorIs(t, deleted("evt_5123456789abcdef", object{"email": nil}), module.ErrIgnored)
	require.ErrorIs(t, deleted("evt_6123456789abcdef", object{"email": "x@example.com", "name": "Somebody"}), module.ErrIgnored)
	org.RequireErased(map[string]bool{mother: false, father: false, child: false, other: false})
	subjects, text := org.WaitForEmails("desk@example.com", 2)
	require.Equal(t, "De quem são os dados a excluir?", subjects[0])
	for _, id := range append(ids, request, "DELETE /api/v1/clients/{id}") {
		require.Contains(t, text, id)
	}
	for _, personal := range []string{"Ana", "Rui", "Bia", "95555", "example.com"} {
		require.NotContains(t, text, personal)
		require.NotContains(t, org.Hub.Log(), personal+`"`)
	}
	require.Contains(t, org.Hub.Log(), "nobody was erased")

	require.Zero(t, org.Count("hub.erasure_traces"))
	require.NoError(t, deleted("evt_7123456789abcdef", object{"email": "ANA@example.com"}))
	require.Equal(t, 1, org.Count("hub.erasure_traces where tenant_id = $1", org.ID), "the log hears what she went by here")
	org.RequireErased(map[string]bool{mother: true, father: false, child: false, other: false})
	require.NoError(t, deleted("evt_8123456789abcdef", object{"email": "ana@example.com", "name": "TEO", "phone_shared": true}))
	org.RequireErased(map[string]bool{other: true, father: false, child: false})

	// What staff decides.
	org.OK(204, "DELETE", "/clients/"+child, nil)
	org.Refused(404, "not_found", "DELETE", "/clients/"+child, nil)
	require.ErrorIs(t, deleted("evt_9123456789abcdef", object{"name": "Ana", "phone_shared": true}), module.ErrIgnored)
	org.RequireErased(map[string]bool{father: false})
	org.WaitForEmails("desk@example.com", 3)
	require.NoError(t, deleted("evt_a123456789abcdef", object{"name": "Rui Souza", "phone_shared": false}), "a single client is who has the number")
	org.RequireErased(map[string]bool{father: true})
}

// Where nobody is written to about bookings, those who run the organization are asked.
func TestDeletedPatientAsksTheManagers(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	org.OK(200, "PUT", "/organization/settings", object{"notify_emails": []string{}})
	for _, role := range []string{"admin", "staff"} {
		org.OK(201, "POST", "/users", object{"name": role, "email": role + org.Email, "role": role})
		org.WaitForEmails(role+org.Email, 1) // the invitation
	}
	ids := org.AddClients(object{"name": "Ana Lúcia"}, object{"name": "Rui"})
	require.ErrorIs(t, org.ReceiveEvent("evt_5123456789abcdef", "patient.deleted", object{"phone": "(11) 95555-6666", "name": "Somebody"}), module.ErrIgnored)
	for to, n := range map[string]int{org.Email: 1, "admin" + org.Email: 2} {
		_, text := org.WaitForEmails(to, n)
		require.Contains(t, text, ids[0])
		require.Contains(t, text, ids[1])
	}
	org.WaitForEmails("staff"+org.Email, 1)
}

// Numbers that were the patient's may be another client's by now, and who has no number
// is known by the address.
func TestDeletedPatientUnderOtherNumbers(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	ids := org.AddClients(
		object{"name": "Ana Souza", "phone": "+5511911110000"}, object{"name": "Rui", "phone": "+5511922220000"},
		object{"name": "Ana Souza", "phone": "+5511933330000", "email": "ana@example.com"}, object{"name": "Eva", "phone": nil, "email": "Eva@example.com"},
		object{"name": "Ana", "phone": "+5511944440000"},
	)
	require.NoError(t, org.ReceiveEvent("evt_1123456789abcdef", "patient.deleted", object{
		"phone": "+5511944440000", "phones": []string{"+5511911110000", "+5511922220000"}, "name": "Ana Souza", "email": "ANA@example.com", "phone_shared": false,
	}))
	org.RequireErased(map[string]bool{ids[0]: true, ids[1]: false, ids[2]: true, ids[3]: false, ids[4]: true})
	contradicted := org.AddClients(object{"name": "Rita Lima", "phone": "+5511955550000", "email": "rita@example.com"})[0]
	require.ErrorIs(t, org.ReceiveEvent("evt_5123456789abcdef", "patient.deleted", object{"phone": "+5511955550000", "name": "Ivo Lima", "email": "ivo@example.com"}), module.ErrIgnored)
	org.RequireErased(map[string]bool{contradicted: false})
	require.NoError(t, org.ReceiveEvent("evt_2123456789abcdef", "patient.deleted", object{"phone": nil, "email": "eva@example.com"}))
	org.RequireErased(map[string]bool{ids[1]: false, ids[3]: true})
	require.ErrorIs(t, org.ReceiveEvent("evt_3123456789abcdef", "patient.deleted", object{"phone": nil, "email": nil}), module.ErrIgnored)
	require.ErrorIs(t, org.ReceiveEvent("evt_4123456789abcdef", "patient.deleted", object{"phone": nil, "phones": nil, "name": "Rui"}), module.ErrIgnored)
	org.RequireErased(map[string]bool{ids[1]: false})
}

// Who has an earlier number of the patient is erased under a name that the patient has or had.
// Under another name it may be a stranger, who was given the number: the organization is asked,
// and reads why.
func TestDeletedPatientUnderAnEarlierNumber(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	org.OK(200, "PUT", "/organization/settings", object{"notify_emails": []string{"desk@example.com"}})
	ids := org.AddClients(object{"name": "Elza Souza", "phone": "+5511911110000"}, object{"name": "Rui Reis", "phone": "+5511922220000"}, object{"name": "Eva Luz", "phone": "+5511933330000", "email": "eva@example.com"})
	request := uuid.NewString()
	deleted := func(id string, data object) error {
		data["deletion_request_id"] = request
		return org.ReceiveEvent(id, "patient.deleted", data)
	}
	require.NoError(t, deleted("evt_1123456789abcdef", object{"phone": "+5511944440000", "phones": []string{"+5511911110000"}, "name": "Elza Lima", "names": []string{"Elza", "ELZA  SOUZA"}}))
	require.ErrorIs(t, deleted("evt_2123456789abcdef", object{"phone": "+5511944440000", "phones": []string{"+5511922220000"}, "name": "Elza Lima", "names": []string{"Elza Souza"}}), module.ErrIgnored)
	org.RequireErased(map[string]bool{ids[0]: true, ids[1]: false, ids[2]: false})
	_, text := org.WaitForEmails("desk@example.com", 1)
	for _, part := range []string{"é um número antigo dela, e o nome é outro", ids[1], request, "DELETE /api/v1/clients/{id}"} {
		require.Contains(t, text, part)
	}
	require.NotContains(t, text, "Mais de um cliente")
	require.NotContains(t, text, ids[2])

	// Several clients of earlier numbers: the text does not speak of one.
	more := org.AddClients(object{"name": "Gil Reis", "phone": "+5511966660000"})
	require.ErrorIs(t, deleted("evt_4123456789abcdef", object{"phone": "+5511944440000", "phones": []string{"+5511922220000", "+5511966660000"}, "name": "Elza Lima"}), module.ErrIgnored)
	_, text = org.WaitForEmails("desk@example.com", 2)
	for _, part := range []string{"são números antigos dela, e os nomes são outros", "Pode ser um destes:", "Se não for nenhum deles", ids[1], more[0]} {
		require.Contains(t, text, part)
	}
	require.NotContains(t, text, "este cliente")

	require.ErrorIs(t, deleted("evt_3123456789abcdef", object{"phone": "+5511933330000", "name": "Ivo Luz", "email": "ivo@example.com"}), module.ErrIgnored)
	_, text = org.WaitForEmails("desk@example.com", 3)
	require.Contains(t, text, "tem o número ou o e-mail dessa pessoa, mas outro nome")
	require.Contains(t, text, ids[2])
}

// Earlier names say whose an earlier number was, and nothing of the present number and address,
// which another person has too.
func TestDeletedPatientWithEarlierNames(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	const shared, earlier = "+5511911110000", "+5511922220000"
	ids := org.AddClients(object{"name": "Rosa Lima", "phone": shared, "email": "family@example.com"}, object{"name": "Ana Souza", "phone": earlier})
	deleted := func(id string, data object) error {
		data["name"], data["names"], data["phones"] = "Ana Reis", []string{"Rosa Lima", "Ana Souza"}, []string{earlier}
		return org.ReceiveEvent(id, "patient.deleted", data)
	}
	require.NoError(t, deleted("evt_1123456789abcdef", object{"phone": shared, "phone_shared": true}))
	org.RequireErased(map[string]bool{ids[0]: false, ids[1]: true})
	other := org.AddClients(object{"name": "Ana Souza", "phone": earlier})[0]
	require.NoError(t, deleted("evt_2123456789abcdef", object{"email": "family@example.com", "email_shared": true}))
	org.RequireErased(map[string]bool{ids[0]: false, other: true})
}

// An address that another patient has too does not say who is meant: a child's deletion must
// not erase the mother, who shares it.
func TestDeletedPatientWithASharedAddress(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	org.OK(200, "PUT", "/organization/settings", object{"notify_emails": []string{"desk@example.com"}})
	ids := org.AddClients(object{"name": "Ana Lúcia", "phone": "+5511911110000", "email": "ana@example.com"}, object{"name": "Rui", "phone": "+5511922220000", "email": "rui@example.com"})
	mother := ids[0]
	deleted := func(id, name string, shared bool) error {
		return org.ReceiveEvent(id, "patient.deleted", object{"name": name, "phone": nil, "email": "ANA@example.com", "email_shared": shared})
	}
	require.ErrorIs(t, deleted("evt_1123456789abcdef", "Bia Lúcia", true), module.ErrIgnored)
	require.ErrorIs(t, org.ReceiveEvent("evt_2123456789abcdef", "patient.deleted", object{"name": "Bia", "phone": "+5511911110000", "email": "ana@example.com", "email_shared": true, "phone_shared": true}), module.ErrIgnored)
	require.ErrorIs(t, org.ReceiveEvent("evt_3123456789abcdef", "patient.deleted", object{"name": "Bia", "phone": nil, "phones": []string{"+5511911110000"}, "email": "ana@example.com", "email_shared": true}), module.ErrIgnored)
	org.RequireErased(map[string]bool{mother: false, ids[1]: false})
	_, text := org.WaitForEmails("desk@example.com", 3)
	require.Contains(t, text, mother, "the organization is asked")

	require.NoError(t, deleted("evt_4123456789abcdef", "Ana Lúcia", true), "the name says who is meant")
	org.RequireErased(map[string]bool{mother: true, ids[1]: false})
	require.Equal(t, 1, org.Count("hub.erasure_traces where tenant_id = $1", org.ID))
}

// No table of the service and no queued e-mail contains an erased client's data.
func TestErasureLeavesNoPersonalData(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t, "HUB_PAYMENT_PROVIDER=sandbox")
	const name, email, number = "Zuleica Quirino", "zuleica@example.org", "987112233"
	org.OK(200, "PUT", "/organization/settings", object{"waitlist_enabled": true, "notify_emails": []string{"desk@example.com"}})
	org.OK(200, "PUT", "/loyalty/config", object{"enabled": true})
	request := org.BookingBody(0)
	request["client_name"], request["client_phone"], request["client_email"], request["notes"] = name, "11 98711-2233", email, "from Zuleica Quirino"
	created := org.Guest().OK(201, "POST", org.PublicPath("/appointments"), request)
	id := created["appointment_id"].(string)
	client := org.OK(200, "GET", "/appointments/"+id, nil)["client_id"].(string)
	org.Guest().OK(201, "POST", org.PublicPath("/waitlist"), object{
		"service_id": org.ServiceID, "first_date": "2026-03-06", "last_date": "2026-03-07", "client_name": name, "client_phone": "11 98711-2233", "client_email": email,
	})
	org.OK(200, "PUT", "/clients/"+client, object{"notes": name, "tags": []string{name}, "birth_date": "1990-05-17", "cpf": "529.982.247-25"})
	org.OK(200, "PUT", "/appointments/"+id, object{"notes": "call " + number})
	org.Transition(200, "reschedule", id, object{"start_at": org.At(time.Hour), "reason": name + " asked"})
	org.OK(201, "POST", "/payments", object{"appointment_id": id, "client_id": client, "amount": 10, "method": "cash", "description": "paid by " + name})
	org.OK(201, "POST", "/payments/pix", object{"appointment_id": id, "amount": 5, "description": name})
	org.As(org.Hub.CreateKey(org.ID, hub.Live, "appointment.book")).OK(201, "POST", "/integrations/action/book", object{
		"phone": "+5511987112233", "name": name, "email": email, "service": "Cut", "start_at": org.At(24 * time.Hour), "source_id": number + " " + email,
	})
	org.OK(200, "POST", "/loyalty/clients/"+client+"/adjust", object{"points": 5, "reason": "for " + name})
	org.Transition(200, "cancel", id, object{"reason": "ask " + email})
	org.WaitForJobs()
	org.WaitForEmails("desk@example.com", 2)
	org.Exec(`update hub.mails set status = 'waiting', due_at = now() + interval '1 day' where recipient = 'desk@example.com'`)
	where := func(needle string) (list []string) {
		for _, place := range hubtest.FindInDatabase(t, org.Hub.DatabaseURL, needle) {
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
	require.Contains(t, where(number), "scheduling.appointments.source_id")
	require.NoError(t, org.ReceiveEvent("evt_1123456789abcdef", "patient.deleted", object{"phone": "+5511987112233", "email": email}))
	org.RequireErased(map[string]bool{client: true})
	for _, needle := range []string{name, "Zuleica", email, number, "98711-2233", "52998224725", "529.982.247-25"} {
		require.Empty(t, where(needle), needle)
	}
	// The ledger still only grows.
	_, err := org.Hub.Host.Pool.Exec(t.Context(), `update scheduling.loyalty_entries set points = points + 1 where org_id = $1`, org.ID)
	require.ErrorContains(t, err, "append-only")
	_, err = org.Hub.Host.Pool.Exec(t.Context(), `update scheduling.loyalty_entries set description = 'x' where org_id = $1`, org.ID)
	require.ErrorContains(t, err, "append-only")
	_, err = org.Hub.Host.Pool.Exec(t.Context(), `delete from scheduling.loyalty_entries where org_id = $1`, org.ID)
	require.ErrorContains(t, err, "append-only")
}

// Who is forgotten takes along the letters about them, in one organization: what others
// wrote to the same address stays, and so does what is written to its users.
func TestErasureDropsQueuedEmails(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookableAlone(t)
	q := schedulingtest.RegisterOrganization(t, p.Hub).MakeBookable()
	var clients []string
	for _, bookable := range []*schedulingtest.Bookable{p, q} {
		bookable.OK(200, "PUT", "/organization/settings", object{"notify_emails": []string{}})
		client := bookable.OK(201, "POST", "/clients", object{"name": "Gil", "email": p.Email})["id"].(string)
		draft := bookable.AppointmentBody(0)
		draft["client_id"] = client
		bookable.OK(201, "POST", "/appointments", draft)
		clients = append(clients, client)
	}
	p.WaitForEmails(p.Email, 2)
	p.As("").OK(200, "POST", "/auth/forgot-password", object{"email": p.Email})
	p.WaitForEmails(p.Email, 3)
	count := func(org uuid.UUID, client string) int {
		return p.Count("hub.mails where tenant_id = $1 and about = $2 and recipient = $3", org, client, p.Email)
	}
	require.Equal(t, 1, count(p.ID, clients[0]))
	p.OK(204, "DELETE", "/clients/"+clients[0], nil)
	require.Zero(t, count(p.ID, clients[0]))
	require.Equal(t, 1, count(q.ID, clients[1]), "another organization's")
	p.WaitForEmails(p.Email, 2)
	p.As("").OK(200, "POST", "/auth/reset-password", object{"token": p.ResetToken(p.Email), "new_password": "another password"})
}

// A new patient's address is taken for the client who has none.
func TestNewPatients(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	ids := org.AddClients(object{"name": "Ana"}, object{"name": "Eva", "phone": "+5511911110000", "email": "eva@example.com"})
	created := func(id, phone, name string) error {
		return org.ReceiveEvent(id, "patient.created", object{"patient_id": "p", "phone": phone, "name": name, "email": "new@example.com", "cpf": nil})
	}
	require.NoError(t, created("evt_1123456789abcdef", "+5511955556666", "Ana Lima"))
	require.ErrorIs(t, created("evt_2123456789abcdef", "+5511911110000", "Eva"), module.ErrIgnored)
	require.ErrorIs(t, created("evt_3123456789abcdef", "+5511900000000", "Rui"), module.ErrIgnored)
	require.Equal(t, "new@example.com", org.OK(200, "GET", "/clients/"+ids[0], nil)["email"])
	require.Equal(t, "Ana", org.OK(200, "GET", "/clients/"+ids[0], nil)["name"])
	require.Equal(t, "eva@example.com", org.OK(200, "GET", "/clients/"+ids[1], nil)["email"])
	require.Equal(t, "clinic", source(org, ids[0]))
	require.Equal(t, "staff", source(org, ids[1]))
}

// A relative with the same phone is another person: booking with that phone must not write to
// the relative's address.
func TestNewPatientIsNotARelativeWithTheSamePhone(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	ids := org.AddClients(object{"name": "Maria Souza"}, object{"name": "+55 11 91111-0000", "phone": "+5511911110000"})
	created := func(id, phone, name string) error {
		return org.ReceiveEvent(id, "patient.created", object{"patient_id": "p", "phone": phone, "name": name, "email": "pedro@example.com", "cpf": nil})
	}
	require.ErrorIs(t, created("evt_1123456789abcdef", "+5511955556666", "Pedro Lima"), module.ErrIgnored)
	require.Nil(t, org.OK(200, "GET", "/clients/"+ids[0], nil)["email"])
	require.NoError(t, created("evt_2123456789abcdef", "+5511911110000", "Pedro Lima"))
	require.Equal(t, "pedro@example.com", org.OK(200, "GET", "/clients/"+ids[1], nil)["email"], "nothing but the number was known")
}

// source is the origin of a client's address.
func source(org *schedulingtest.Bookable, client string) (source string) {
	org.T.Helper()
	require.NoError(org.T, org.Hub.Host.Pool.QueryRow(org.T.Context(), `select email_source from scheduling.clients where id = $1`, client).Scan(&source))
	return source
}
