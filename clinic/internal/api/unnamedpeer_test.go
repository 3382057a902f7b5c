package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// A product that registered with its webhook_url alone logs interactions of any source.
// Its first event names it: from then on it logs, and sees, its own only.
func TestLogInteractionOfAnUnnamedPeer(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.AddPatient(clinictest.Phone)
	peer := clinic.RegisterPeer("messaging")
	key := clinic.As(peer.Key)
	const path = "/integrations/action/log-interaction"
	body := func(source string) object {
		return object{"patient_phone": clinictest.Phone, "interaction_type": "call", "summary": "Hello", "source": source}
	}
	product := func() any { return clinic.Call("GET", "/integrations", nil).List[0]["product"] }
	for _, source := range []string{"messaging", "scheduling"} {
		key.OK(200, "POST", path, body(source))
	}
	key.OK(200, "POST", path, object{"patient_phone": clinictest.Phone, "interaction_type": "call"})
	key.Invalid("body.source", "POST", path, body("clinic"))
	var sources []any
	for _, interaction := range clinic.Items("/patients/" + id + "/interactions") {
		sources = append(sources, interaction["source"])
	}
	require.ElementsMatch(t, []any{"messaging", "scheduling", "integration"}, sources)
	require.Empty(t, BundleIDs(key.OK(200, "GET", "/fhir/Communication?patient="+id, nil)), "it is no product yet")
	require.Equal(t, "external", product())

	peer.Send("accepted", "message.received", object{"phone": clinictest.Phone, "name": "Ana", "body": "Hi", "ticket_id": 1})
	require.Equal(t, "messaging", product())
	key.OK(200, "POST", path, body("messaging"))
	key.Invalid("body.source", "POST", path, body("scheduling"))
	require.Len(t, BundleIDs(key.OK(200, "GET", "/fhir/Communication?patient="+id, nil)), 3)
}
