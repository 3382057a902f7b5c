package api_test

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/schedulingtest"
)

// Names are one line with something to see, wherever they are entered.
func TestNamesAreOneLine(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	org.OK(200, "PUT", "/organization/settings", object{"waitlist_enabled": true})
	guest := org.Guest()
	with := func(fields object, name, value string) object {
		fields = maps.Clone(fields)
		fields[name] = value
		return fields
	}
	registration := object{"org_name": "Salon", "org_slug": "salon-of-names", "name": "Eva", "email": "names@example.com", "password": "long enough"}
	for _, name := range []string{"Joe\r\nBcc: x@example.com", "\u200b", "Joe\x07", "a\u202eb"} {
		org.Invalid("body.name", "POST", "/clients", object{"name": name, "phone": "+5511911112222"})
		org.Invalid("body.name", "PUT", "/clients/"+org.ClientID, object{"name": name})
		org.Invalid("body.name", "POST", "/services", object{"name": name, "duration_minutes": 30, "price": 10})
		org.Invalid("body.name", "PUT", "/services/"+org.ServiceID, object{"name": name})
		org.Invalid("body.name", "POST", "/professionals", object{"name": name})
		org.Invalid("body.name", "PUT", "/professionals/"+org.ProfessionalID, object{"name": name})
		org.Invalid("body.name", "POST", "/users", object{"name": name, "email": "u@example.com", "role": "staff"})
		org.Invalid("body.name", "PUT", "/organization", object{"name": name})
		guest.Invalid("body.org_name", "POST", "/auth/register", with(registration, "org_name", name))
		guest.Invalid("body.name", "POST", "/auth/register", with(registration, "name", name))
		guest.Invalid("body.client_name", "POST", org.PublicPath("/appointments"), with(org.BookingBody(0), "client_name", name+name))
		guest.Invalid("body.client_name", "POST", org.PublicPath("/waitlist"), with(org.WaitlistBody("2026-03-02", "2026-03-03", "1@example.com"), "client_name", name+name))
	}
	org.Exec(`update scheduling.clients set name = E'Joe\r\nDoe' where id = $1`, org.ClientID) // stored before
	org.OK(200, "PUT", "/clients/"+org.ClientID, object{"notes": "x"})
}

// Connected products' bookings do not fail on a name: it is cleaned.
func TestReceivedNamesAreCleaned(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	key := org.As(org.Hub.CreateKey(org.ID, hub.Live, "appointment.book"))
	for i, test := range []struct{ phone, name, want string }{
		{"+5511911110001", "Joe\r\nBcc: x@example.com", "Joe Bcc: x@example.com"}, {"+5511911110002", "\u200b", "+5511911110002"},
	} {
		booked := key.OK(201, "POST", "/integrations/action/book", object{"phone": test.phone, "name": test.name, "service": "Cut", "start_at": org.At(time.Duration(i) * time.Hour)})
		require.Equal(t, test.want, org.Appointment(booked["appointment_id"].(string))["client"].(object)["name"])
	}
}
