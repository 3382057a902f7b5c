package store_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/schedulingtest"
)

func TestEventsOfConnectedProducts(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	id := org.Book(0)
	org.OK(200, "PUT", "/appointments/"+id, object{"notes": "Caio likes tea"})
	for range 2 {
		require.NoError(t, org.ReceiveEvent("evt_0123456789abcdef", "payment.received", object{"appointment_id": id, "amount": 80, "description": "x"}))
	}
	require.EqualValues(t, 80, org.OK(200, "GET", "/clients/"+org.ClientID, nil)["total_spent"])
	require.ErrorIs(t, org.ReceiveEvent("evt_1123456789abcdef", "payment.received", object{"amount": 80}), module.ErrIgnored)
	for _, amount := range []any{0, -1, 100000000} {
		err := org.ReceiveEvent("evt_a123456789abcdef", "payment.received", object{"appointment_id": id, "amount": amount})
		require.ErrorIs(t, err, hub.ErrInvalid, "%v", amount)
	}
	require.ErrorIs(t, org.ReceiveEvent("evt_b123456789abcdef", "payment.received", object{"appointment_id": id, "amount": "much"}), hub.ErrMalformed)
	require.Equal(t, 1, org.Count("scheduling.payments where appointment_id = $1", id))
	require.NoError(t, org.ReceiveEvent("evt_c123456789abcdef", "payment.received", object{"appointment_id": id, "amount": 0.5, "method": "barter", "description": strings.Repeat("é", 201)}))
	require.NoError(t, org.ReceiveEvent("evt_d123456789abcdef", "payment.received", object{"appointment_id": id, "amount": 0.25, "method": "credit_card"}))
	var methods []string
	for _, item := range org.OK(200, "GET", "/clients/"+org.ClientID+"/payments", nil)["items"].([]any) {
		methods = append(methods, item.(object)["method"].(string))
	}
	require.ElementsMatch(t, []string{"cash", "cash", "credit_card"}, methods, "what is not known counts as cash")
	require.ErrorIs(t, org.ReceiveEvent("evt_2123456789abcdef", "patient.deleted", object{"phone": "+351900000000"}), module.ErrIgnored)
	require.NoError(t, org.ReceiveEvent("evt_4123456789abcdef", "patient.deleted", object{"phone": "+5511987654321"}))
	org.Refused(404, "not_found", "GET", "/clients/"+org.ClientID, nil)
	gone := org.Call("GET", "/appointments/"+id, nil)
	require.Equal(t, 200, gone.Status, "the booking stays")
	require.NotContains(t, gone.Text, "Caio")
	require.NotContains(t, gone.Text, "987654321")
}
