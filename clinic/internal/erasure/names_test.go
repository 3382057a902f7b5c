package erasure_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// Connected products learn the names that the record had. A linked name may be that of another
// person who writes from a shared number.
func TestEarlierNamesOfADeletedPatient(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	messaging := clinic.ConnectPeer("messaging")
	const shared = "+5511977771111"
	ana := clinic.OK(201, "POST", "/patients", object{"name": "Ana Souza", "phone": "+5511977772222"})["id"].(string)
	clinic.OK(200, "PUT", "/patients/"+ana, object{"phone": shared})
	clinic.OK(201, "POST", "/patients", object{"name": "Bia Souza", "phone": shared})
	messaging.Send("ignored", "message.received", object{"phone": shared, "name": "Rosa Lima", "body": "Hello", "ticket_id": 1})
	clinic.OK(200, "POST", "/integrations/inbox/"+clinic.Items("/integrations/inbox")[0]["id"].(string)+"/link", object{"patient_id": ana})
	messaging.Send("accepted", "message.received", object{"phone": shared, "name": "Rosa Lima", "body": "Again", "ticket_id": 2})
	want := []any{}
	for i := range 25 {
		name := fmt.Sprintf("Ana Reis %d", i)
		clinic.OK(200, "PUT", "/patients/"+ana, object{"name": name})
		if i >= 4 && i < 24 {
			want = append([]any{name}, want...)
		}
	}
	clinic.RequestDeletion(ana)
	require.Eventually(t, func() bool { return len(messaging.Received("patient.deleted")) == 1 }, clinictest.Timeout, clinictest.Tick)
	data := messaging.Received("patient.deleted")[0].Data
	require.Equal(t, true, data["phone_shared"])
	require.Equal(t, "Ana Reis 24", data["name"])
	require.Equal(t, want, data["names"], "the newest first, and never a linked one")
}
