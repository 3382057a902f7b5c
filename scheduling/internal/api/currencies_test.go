package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/schedulingtest"
)

// Half a yen can be neither owed nor paid.
func TestCurrencyWithoutDecimalsIsRefusedForFractionalAmounts(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewPaidBookable(t)
	refused := func() {
		org.Refused(409, "currency_unsuitable", "PUT", "/organization", object{"currency": "JPY", "name": "New"})
		require.Equal(t, "Studio", org.OK(200, "GET", "/organization", nil)["name"])
	}
	service, priced, paid := "/services/"+org.ServiceID, "/appointments/"+org.Book(0), org.Book(time.Hour)
	org.OK(200, "PUT", service, object{"price": 80.5})
	refused()
	org.OK(200, "PUT", service, object{"price": 80, "requires_deposit": true, "deposit_amount": 10.5})
	refused()
	org.OK(200, "PUT", service, object{"requires_deposit": false})
	org.OK(200, "PUT", priced, object{"price": 79.5})
	refused()
	org.OK(200, "PUT", priced, object{"price": 79})
	open := org.OK(201, "POST", "/payments/pix", object{"appointment_id": paid, "amount": 0.5})
	refused()
	org.PayCharge(open["txid"])
	refused()
	org.OK(200, "PUT", "/organization", object{"currency": "USD"})
	refused()
	org.Transition(200, "cancel", paid, nil)
	org.OK(200, "PUT", "/organization", object{"currency": "JPY"})
	require.ErrorIs(t, org.ReceiveEvent("evt_0123456789abcdef", "payment.received", object{"appointment_id": priced[14:], "amount": 10.5}), hub.ErrInvalid)
	require.NoError(t, org.ReceiveEvent("evt_1123456789abcdef", "payment.received", object{"appointment_id": priced[14:], "amount": 10}))
}

// What a currency has no coins for can be neither asked for nor paid.
func TestAmountsWithUnavailableDecimals(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	id := org.Book(0)
	odd := func(currency string, refuse bool) {
		org.OK(200, "PUT", "/organization", object{"currency": currency})
		for _, test := range []struct {
			method, path, field string
			body                object
		}{
			{"POST", "/services", "body.price", object{"name": "Wash", "duration_minutes": 30, "price": 10.5}},
			{"PUT", "/services/" + org.ServiceID, "body.price", object{"price": 10.5}},
			{"PUT", "/services/" + org.ServiceID, "body.deposit_amount", object{"price": 80, "requires_deposit": true, "deposit_amount": 10.5}},
			{"PUT", "/professionals/" + org.ProfessionalID + "/services", "body.overrides." + org.ServiceID + ".custom_price",
				object{"service_ids": []string{org.ServiceID}, "overrides": object{org.ServiceID: object{"custom_price": 10.5}}}},
			{"PUT", "/appointments/" + id, "body.price", object{"price": 10.5}},
			{"POST", "/payments", "body.amount", object{"appointment_id": id, "amount": 10.5, "method": "cash"}},
			{"POST", "/payments/pix", "body.amount", object{"client_id": org.ClientID, "amount": 10.5}},
			{"PUT", "/loyalty/config", "body.min_spend", object{"min_spend": 10.5}},
			{"PUT", "/loyalty/config", "body.rewards[1].value", object{"rewards": []object{
				{"name": "Half", "points": 1, "type": "percent_discount", "value": 12.5}, {"name": "Off", "points": 1, "type": "fixed_discount", "value": 10.5}}}},
		} {
			if refuse {
				org.Invalid(test.field, test.method, test.path, test.body)
				continue
			}
			if test.path == "/payments/pix" {
				continue
			}
			got := org.Call(test.method, test.path, test.body)
			require.Less(t, got.Status, 300, "%s: %s", test.path, got.Text)
		}
	}
	odd("JPY", true)
	org.OK(200, "PUT", "/services/"+org.ServiceID, object{"price": 1500, "requires_deposit": true, "deposit_amount": 500})
	org.OK(200, "PUT", "/services/"+org.ServiceID, object{"requires_deposit": false})
	odd("BRL", false)
	org.Refused(409, "currency_unsuitable", "PUT", "/organization", object{"currency": "JPY"})
	org.Exec(`update scheduling.organizations set currency = 'JPY' where id = $1`, org.ID) // as before that was refused
	org.OK(200, "PUT", "/services/"+org.ServiceID, object{"name": "What was priced before can be renamed"})
}
