package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

// With the client of an appointment change who may cancel and move it.
func TestTheLinkOfAFormerClient(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	g := p.Guest()
	made := g.OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))
	id, looked := made["appointment_id"].(string), p.PublicPath("/appointment?token="+made["cancel_token"].(string))
	p.OK(200, "PUT", "/appointments/"+id, object{"notes": "window seat", "client_id": p.Appointment(id)["client_id"]})
	g.OK(200, "GET", looked, nil)
	other := p.OK(201, "POST", "/clients", object{"name": "Other"})["id"]
	p.OK(200, "PUT", "/appointments/"+id, object{"client_id": other})
	g.Refused(404, "invalid_token", "GET", looked, nil)
	g.Refused(404, "invalid_token", "POST", p.PublicPath("/cancel"), object{"cancel_token": made["cancel_token"]})
	require.Equal(t, "scheduled", p.Appointment(id)["status"])
}

// What somebody had booked who was forgotten takes place, and is paid.
func TestAppointmentsOfWhoWasForgotten(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewPaidBookable(t)
	p.OK(200, "PUT", "/loyalty/config", object{"enabled": true, "accrual_type": "visit", "points_per_visit": 5})
	done, open := p.Book(0), p.Book(time.Hour)
	p.Transition(200, "complete", done, nil)
	require.EqualValues(t, 5, p.LoyaltyAccount(p.ClientID)["balance"])
	p.OK(204, "DELETE", "/clients/"+p.ClientID, nil)
	p.Transition(200, "complete", open, nil)
	p.Transition(200, "reopen", open, nil)
	p.Transition(200, "reopen", done, nil)
	p.OK(201, "POST", "/payments", object{"appointment_id": open, "amount": 30, "method": "cash"})
	p.OK(201, "POST", "/payments", object{"appointment_id": open, "client_id": p.ClientID, "amount": 50, "method": "cash"})
	require.Equal(t, "paid", p.Appointment(open)["payment_status"])
	p.Refused(404, "not_found", "POST", "/payments", object{"client_id": p.ClientID, "amount": 30, "method": "cash"})
	p.OK(200, "PUT", "/appointments/"+open, object{"client_id": p.ClientID, "notes": "came with a friend"})
}

// Who changed a price, a client or the notes can be read afterwards.
func TestEditsAreInTheHistory(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	id := p.Book(0)
	other := p.OK(201, "POST", "/clients", object{"name": "Other"})["id"]
	for _, body := range []object{{"price": 60}, {"client_id": other, "notes": "x"}, {"price": 60, "client_id": other, "notes": "x"}, {"notes": "y"}} {
		p.OK(200, "PUT", "/appointments/"+id, body)
	}
	var seen [][]any
	for _, one := range p.Appointment(id)["history"].([]any)[1:] {
		row := one.(object)
		require.Equal(t, []any{"edit", "staff", "Bia", "scheduled", "scheduled"}, []any{row["action"], row["by"], row["user"], row["from_status"], row["to_status"]})
		seen = append(seen, []any{row["from_price"], row["to_price"], row["from_client_id"], row["to_client_id"]})
	}
	require.Equal(t, [][]any{{80.0, 60.0, nil, nil}, {nil, nil, p.ClientID, other}, {nil, nil, nil, nil}}, seen)
}
