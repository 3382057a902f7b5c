package inbox_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

const familyPhone = "+5511955550000"

func addNamed(clinic *clinictest.Clinic, name, email string) (id string) {
	clinic.T.Helper()
	return clinic.OK(201, "POST", "/patients", object{"name": name, "phone": familyPhone, "email": email})["id"].(string)
}

// Several patients share a number. Their events go to whom the name fits, as search/patients
// understands names; where it fits nobody alone, the event waits.
func TestEventsOfSharedNumbers(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	messaging, scheduling := clinic.ConnectPeer("messaging"), clinic.ConnectPeer("scheduling")
	ids := map[string]string{
		"Maria": addNamed(clinic, "Maria Reis", "maria@example.com"), "Davi": addNamed(clinic, "Davi Reis", "family@example.com"), "Ana": addNamed(clinic, "Ana Lúcia Reis", "family@example.com"),
		"Ana Clara": addNamed(clinic, "Ana Clara Reis", "clara@example.com"),
	}
	for i, test := range []struct{ name, email, want string }{
		{"Davi", "", "Davi"}, {"DÁVI reis", "", "Davi"}, {"Reis, Davi", "", "Davi"}, {"Davi R.", "", "Davi"}, {"Maria", "", "Maria"},
		{"Ana L. Reis", "", "Ana"}, {"Ana Clara", "", "Ana Clara"}, {"João", "maria@example.com", "Maria"}, {"Davi Reis", "maria@example.com", "Davi"}, {"Davi", "family@example.com", "Davi"},
		{"", "", "Maria"}, {"😀", "", "Maria"}, {"", "clara@example.com", "Ana Clara"},
		{"João", "", ""}, {"Ana", "", ""}, {"Reis", "", ""}, {"Davi Souza", "", ""}, {"Mãe do Davi", "family@example.com", ""},
	} {
		outcome := "accepted"
		if test.want == "" {
			outcome = "ignored"
		}
		counts := map[string]int{}
		for name, id := range ids {
			counts[name] = len(clinic.Items("/patients/"+id+"/interactions?per_page=100")) + len(clinic.Items("/patients/"+id+"/appointments?per_page=100"))
		}
		messaging.Send(outcome, "contact.created", object{"phone": familyPhone, "name": test.name, "email": test.email})
		scheduling.Send(outcome, "appointment.created", object{"client_phone": familyPhone, "client_name": test.name, "email": test.email, "appointment_id": i, "service": "Check", "datetime": "2027-01-04T12:00:00Z"})
		for name, id := range ids {
			grown := len(clinic.Items("/patients/"+id+"/interactions?per_page=100")) + len(clinic.Items("/patients/"+id+"/appointments?per_page=100")) - counts[name]
			require.Equal(t, map[bool]int{true: 3}[name == test.want], grown, "%v at %s", test, name)
		}
	}
	require.Len(t, clinic.Items("/integrations/inbox"), 10)

	// What is known of the ticket or appointment decides where the name does not.
	messaging.Send("accepted", "ticket.created", object{"phone": familyPhone, "name": "Davi", "ticket_id": "t-1", "queue": "Sales"})
	messaging.Send("accepted", "message.received", object{"phone": familyPhone, "name": "Zé", "ticket_id": "t-1", "body": "It is me"})
	require.Contains(t, clinic.History(ids["Davi"]), "message_received: It is me")
	scheduling.Send("accepted", "appointment.created", object{"client_phone": familyPhone, "name": "Zé", "appointment_id": 1, "service": "Moved", "datetime": "2027-01-04T12:00:00Z"})
	require.Contains(t, clinic.History(ids["Davi"]), "appointment_created: Moved, 2027-01-04T12:00:00Z")
	scheduling.Send("accepted", "appointment.noshow", object{"client_phone": familyPhone, "name": "Ana Clara", "appointment_id": 1})
	require.Len(t, clinic.Items("/patients/"+ids["Davi"]+"/appointments?status=no_show"), 1)

	// A reply names nobody: it goes where the ticket is, and the ticket stays there.
	for _, body := range []string{"The result is here", "Come tomorrow"} {
		messaging.Send("accepted", "message.sent", object{"phone": familyPhone, "ticket_id": "t-1", "body": body})
		require.Contains(t, clinic.History(ids["Davi"]), "message_sent: "+body)
	}
	messaging.Send("accepted", "ticket.closed", object{"phone": familyPhone, "ticket_id": "t-1"})
	require.Equal(t, 1, clinic.QueryInt(`select count(*) from clinic.interactions where clinic_id = $1 and type = 'ticket_closed' and patient_id::text = $2`, ids["Davi"]))
	scheduling.Send("accepted", "appointment.created", object{"client_phone": familyPhone, "appointment_id": 1, "service": "Again", "datetime": "2027-01-04T12:00:00Z"})
	require.Contains(t, clinic.History(ids["Davi"]), "appointment_created: Again, 2027-01-04T12:00:00Z")
	messaging.Send("accepted", "message.sent", object{"phone": familyPhone, "ticket_id": "unknown", "body": "To the first"})
	require.Contains(t, clinic.History(ids["Maria"]), "message_sent: To the first")
}

// Who has a number alone is meant, whatever the name says.
func TestEventsOfOnesOwnNumber(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := addNamed(clinic, "Carlos Nunes", "c@example.com")
	clinic.ConnectPeer("messaging").Send("accepted", "message.received", object{"phone": familyPhone, "name": "Vera Lima", "email": "v@example.com", "body": "Hi", "ticket_id": 1})
	require.Equal(t, []string{"message_received: Hi"}, clinic.History(id))
}

// Two patients have the same name, too: the address decides, or a user.
func TestNamesakesOfANumber(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	messaging := clinic.ConnectPeer("messaging")
	father, son := addNamed(clinic, "José Reis", "father@example.com"), addNamed(clinic, "José Reis", "son@example.com")
	send := func(outcome, email string) {
		t.Helper()
		messaging.Send(outcome, "contact.created", object{"phone": familyPhone, "name": "Jose Reis", "email": email})
	}
	send("accepted", "son@example.com")
	send("accepted", "father@example.com")
	send("ignored", "")
	require.Len(t, clinic.History(father), 1)
	require.Len(t, clinic.History(son), 1)
	clinic.OK(200, "POST", InboxEntry(clinic, "status = 'open'")+"/link", object{"patient_id": son})
	send("accepted", "")
	require.Len(t, clinic.History(father), 1)
	require.Len(t, clinic.History(son), 3)
}

// A user who links an entry of a shared number says whose name that is, not whose number: what
// waits with other names stays, and the next event with the name does not wait.
func TestLinkingOfSharedNumbers(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	messaging := clinic.ConnectPeer("messaging")
	mother, son := addNamed(clinic, "Maria Reis", ""), addNamed(clinic, "Davi Reis", "")
	send := func(outcome, name, body string) {
		t.Helper()
		messaging.Send(outcome, "message.received", object{"phone": familyPhone, "name": name, "body": body})
	}
	send("ignored", "Mãe do Davi", "one")
	send("ignored", "MÃE DO DAVI", "two")
	send("ignored", "Vovó", "three")
	done := clinic.OK(200, "POST", InboxEntry(clinic, "name = 'Mãe do Davi'")+"/link", object{"patient_id": mother})
	require.EqualValues(t, 1, done["also_linked"])
	send("accepted", "mãe do davi", "four")
	send("ignored", "vovó", "five")
	require.ElementsMatch(t, []string{"message_received: one", "message_received: two", "message_received: four"}, clinic.History(mother))
	require.Empty(t, clinic.History(son))
	require.Len(t, clinic.Items("/integrations/inbox"), 2)

	// A third patient is linked: then the number is of three.
	aunt := clinic.AddPatient("+5511944440000")
	clinic.OK(200, "POST", InboxEntry(clinic, "name = 'vovó'")+"/link", object{"patient_id": aunt})
	send("accepted", "Vovó", "six")
	send("accepted", "Mãe do Davi", "seven")
	send("accepted", "Davi", "eight")
	require.ElementsMatch(t, []string{"message_received: three", "message_received: five", "message_received: six"}, clinic.History(aunt))
	require.Equal(t, []string{"message_received: eight"}, clinic.History(son))
	require.Empty(t, clinic.Items("/integrations/inbox"))

	// The erasure of the mother knows her by that name.
	clinic.OK(202, "POST", "/patients/"+mother+"/deletion-request", nil)
	send("ignored", "Mãe do Davi", "nine")
	require.Empty(t, clinic.Items("/integrations/inbox"), "it is about an erased patient")
}
