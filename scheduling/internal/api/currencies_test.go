package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/schedulingtest"
)

// Half a yen can be neither owed nor paid.
func TestACurrencyThatAmountsDoNotFit(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewPaidBookable(t)
	refused := func() {
		p.Refused(409, "currency_unsuitable", "PUT", "/organization", object{"currency": "JPY", "name": "New"})
		require.Equal(t, "Studio", p.OK(200, "GET", "/organization", nil)["name"])
	}
	service, priced, paid := "/services/"+p.ServiceID, "/appointments/"+p.Book(0), p.Book(time.Hour)
	p.OK(200, "PUT", service, object{"price": 80.5})
	refused()
	p.OK(200, "PUT", service, object{"price": 80, "requires_deposit": true, "deposit_amount": 10.5})
	refused()
	p.OK(200, "PUT", service, object{"requires_deposit": false})
	p.OK(200, "PUT", priced, object{"price": 79.5})
	refused()
	p.OK(200, "PUT", priced, object{"price": 79})
	open := p.OK(201, "POST", "/payments/pix", object{"appointment_id": paid, "amount": 0.5})
	refused()
	p.PayCharge(open["txid"])
	refused()
	p.OK(200, "PUT", "/organization", object{"currency": "USD"})
	refused()
	p.Transition(200, "cancel", paid, nil)
	p.OK(200, "PUT", "/organization", object{"currency": "JPY"})
	require.ErrorIs(t, p.ReceiveEvent("evt_0123456789abcdef", "payment.received", object{"appointment_id": priced[14:], "amount": 10.5}), hub.ErrInvalid)
	require.NoError(t, p.ReceiveEvent("evt_1123456789abcdef", "payment.received", object{"appointment_id": priced[14:], "amount": 10}))
}

// What a currency has no coins for can be neither asked for nor paid.
func TestMoneyThatTheCurrencyDoesNotHave(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	id := p.Book(0)
	odd := func(currency string, refuse bool) {
		p.OK(200, "PUT", "/organization", object{"currency": currency})
		for _, one := range []struct {
			method, path, field string
			body                object
		}{
			{"POST", "/services", "body.price", object{"name": "Wash", "duration_minutes": 30, "price": 10.5}},
			{"PUT", "/services/" + p.ServiceID, "body.price", object{"price": 10.5}},
			{"PUT", "/services/" + p.ServiceID, "body.deposit_amount", object{"price": 80, "requires_deposit": true, "deposit_amount": 10.5}},
			{"PUT", "/professionals/" + p.ProfessionalID + "/services", "body.overrides." + p.ServiceID + ".custom_price",
				object{"service_ids": []string{p.ServiceID}, "overrides": object{p.ServiceID: object{"custom_price": 10.5}}}},
			{"PUT", "/appointments/" + id, "body.price", object{"price": 10.5}},
			{"POST", "/payments", "body.amount", object{"appointment_id": id, "amount": 10.5, "method": "cash"}},
			{"POST", "/payments/pix", "body.amount", object{"client_id": p.ClientID, "amount": 10.5}},
			{"PUT", "/loyalty/config", "body.min_spend", object{"min_spend": 10.5}},
			{"PUT", "/loyalty/config", "body.rewards[1].value", object{"rewards": []object{
				{"name": "Half", "points": 1, "type": "percent_discount", "value": 12.5}, {"name": "Off", "points": 1, "type": "fixed_discount", "value": 10.5}}}},
		} {
			if refuse {
				p.Invalid(one.field, one.method, one.path, one.body)
				continue
			}
			if one.path == "/payments/pix" {
				continue
			}
			got := p.Call(one.method, one.path, one.body)
			require.Less(t, got.Status, 300, "%s: %s", one.path, got.Text)
		}
	}
	odd("JPY", true)
	p.OK(200, "PUT", "/services/"+p.ServiceID, object{"price": 1500, "requires_deposit": true, "deposit_amount": 500})
	p.OK(200, "PUT", "/services/"+p.ServiceID, object{"requires_deposit": false})
	odd("BRL", false)
	p.Refused(409, "currency_unsuitable", "PUT", "/organization", object{"currency": "JPY"})
	p.Exec(`update scheduling.organizations set currency = 'JPY' where id = $1`, p.ID) // as before that was refused
	p.OK(200, "PUT", "/services/"+p.ServiceID, object{"name": "What was priced before can be renamed"})
}
