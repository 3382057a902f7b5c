package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

// A number without an area code is refused wherever clients, users and bookings have one,
// until the organization has a default: then it is stored in international form.
func TestNumbersWithoutAreaCode(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	const local, whole = "98888-7772", "+5521988887772"
	bookable := func(phone string) object {
		return object{"service_id": org.ServiceID, "start_at": org.At(0), "client_name": "Bia Lima", "client_email": "bia@example.com", "client_phone": phone}
	}
	byPhone := func(phone string) object {
		return object{"phone": phone, "service_id": org.ServiceID, "start_at": org.At(0)}
	}
	booking, waitlist := org.PublicPath("/appointments"), org.PublicPath("/waitlist")
	wait := object{"service_id": org.ServiceID, "first_date": "2026-03-02", "last_date": "2026-03-02", "client_name": "Bia Lima", "client_email": "bia@example.com", "client_phone": local}
	org.OK(200, "PUT", "/organization/settings", object{"waitlist_enabled": true})
	refuse := func() {
		org.Invalid("body.phone", "POST", "/clients", object{"name": "Bia", "phone": local})
		org.Invalid("body.phone", "PUT", "/clients/"+org.ClientID, object{"phone": local})
		org.Invalid("body.phone", "POST", "/professionals", object{"name": "Davi", "phone": local})
		org.Invalid("body.phone", "POST", "/users", object{"name": "Edu", "email": "edu@example.com", "role": "staff", "phone": local})
		org.Invalid("phone", "GET", "/integrations/search/clients?phone="+local, nil)
		org.Invalid("body.phone", "POST", "/integrations/action/book", byPhone(local))
		org.Guest().Invalid("body.client_phone", "POST", booking, bookable(local))
		org.Guest().Invalid("body.client_phone", "POST", waitlist, wait)
	}
	refuse()
	org.Invalid("body.phone", "PUT", "/organization", object{"phone": "+5598888777"})
	for _, invalid := range []string{"", "10", "011"} {
		org.Invalid("body.default_area_code", "PUT", "/organization/settings", object{"default_area_code": invalid})
	}
	require.Equal(t, "21", org.OK(200, "PUT", "/organization/settings", object{"default_area_code": "21"})["default_area_code"])
	client := org.OK(201, "POST", "/clients", object{"name": "Bia", "phone": local})
	require.Equal(t, whole, client["phone"])
	require.Equal(t, "(11) 97777-0000", org.OK(200, "PUT", "/clients/"+org.ClientID, object{"phone": "(11) 97777-0000"})["phone"], "what is whole stays as it was written")
	require.Equal(t, whole, org.OK(201, "POST", "/professionals", object{"name": "Davi", "phone": local})["phone"])
	require.Equal(t, whole, org.OK(201, "POST", "/users", object{"name": "Edu", "email": "edu@example.com", "role": "staff", "phone": local})["phone"])
	require.Equal(t, client["id"], org.OK(200, "GET", "/integrations/search/clients?phone="+local, nil)["client"].(object)["id"])
	booked := org.Guest().OK(201, "POST", booking, bookable(local))
	require.Equal(t, client["id"], org.Appointment(booked["appointment_id"].(string))["client_id"])
	org.Guest().OK(201, "POST", waitlist, wait)
	again := byPhone("8888-7772")
	again["start_at"] = org.At(3600e9)
	require.Equal(t, client["id"], org.Appointment(org.OK(201, "POST", "/integrations/action/book", again)["appointment_id"].(string))["client_id"])
	org.OK(200, "PUT", "/organization/settings", object{"default_area_code": nil})
	refuse()
}
