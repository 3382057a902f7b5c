package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/schedulingtest"
)

// Of several clients who share a phone, the one with the name of the booking is meant; without
// such a client it is the oldest.
func TestClientsOfASharedPhoneAreFoundByName(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	key := org.As(org.Hub.CreateKey(org.ID, hub.Live, "appointment.book"))
	guest := org.Guest()
	const phone = "+5511987650001"
	maria := org.AddClients(object{"name": "Maria Rocha", "phone": phone, "email": "maria@example.com"})[0]
	org.Exec(`update scheduling.clients set created_at = created_at - interval '1 day' where id = $1`, maria)
	pedro := org.AddClients(object{"name": "Pedro  Conceição", "phone": "11 98765-0001"})[0]
	before := []object{org.Get("/clients/" + maria), org.Get("/clients/" + pedro)}
	for i, test := range []struct{ name, want string }{
		{"Pedro Conceição", pedro}, {"PEDRO   conceicao", pedro}, {"maria rocha", maria}, {"Rui", maria},
	} {
		online := org.BookingBody(time.Duration(i) * 30 * time.Minute)
		online["client_name"], online["client_phone"] = test.name, phone
		first := guest.OK(201, "POST", org.PublicPath("/appointments"), online)["appointment_id"].(string)
		received := object{"phone": phone, "name": test.name, "service": "Cut", "start_at": org.At(24*time.Hour + time.Duration(i)*30*time.Minute), "source_id": test.name}
		second := key.OK(201, "POST", "/integrations/action/book", received)["appointment_id"].(string)
		require.Equal(t, second, key.OK(201, "POST", "/integrations/action/book", received)["appointment_id"], "the same source_id books once")
		require.Equal(t, test.want, org.Appointment(first)["client_id"], test.name)
		require.Equal(t, test.want, org.Appointment(second)["client_id"], test.name)
	}
	unnamed := key.OK(201, "POST", "/integrations/action/book", object{"phone": phone, "service": "Cut", "start_at": org.At(26 * time.Hour)})
	require.Equal(t, maria, org.Appointment(unnamed["appointment_id"].(string))["client_id"])
	for i, id := range []string{maria, pedro} {
		after := org.Get("/clients/" + id)
		for _, member := range []string{"name", "phone", "email"} {
			require.Equal(t, before[i][member], after[member], member)
		}
	}
}
