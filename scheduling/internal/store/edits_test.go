package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

// With the client of an appointment change who may cancel and move it.
func TestLinkOfAFormerClientIsInvalid(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	guest := org.Guest()
	created := guest.OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	id, looked := created["appointment_id"].(string), org.PublicPath("/appointment?token="+created["cancel_token"].(string))
	org.OK(200, "PUT", "/appointments/"+id, object{"notes": "window seat", "client_id": org.Appointment(id)["client_id"]})
	guest.OK(200, "GET", looked, nil)
	other := org.OK(201, "POST", "/clients", object{"name": "Other"})["id"]
	org.OK(200, "PUT", "/appointments/"+id, object{"client_id": other})
	guest.Refused(404, "invalid_token", "GET", looked, nil)
	guest.Refused(404, "invalid_token", "POST", org.PublicPath("/cancel"), object{"cancel_token": created["cancel_token"]})
	require.Equal(t, "scheduled", org.Appointment(id)["status"])
}

// Appointments of an erased client take place and can be paid.
func TestAppointmentsOfAnErasedClient(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewPaidBookable(t)
	org.OK(200, "PUT", "/loyalty/config", object{"enabled": true, "accrual_type": "visit", "points_per_visit": 5})
	done, open := org.Book(0), org.Book(time.Hour)
	org.Transition(200, "complete", done, nil)
	require.EqualValues(t, 5, org.LoyaltyAccount(org.ClientID)["balance"])
	org.OK(204, "DELETE", "/clients/"+org.ClientID, nil)
	org.Transition(200, "complete", open, nil)
	org.Transition(200, "reopen", open, nil)
	org.Transition(200, "reopen", done, nil)
	org.OK(201, "POST", "/payments", object{"appointment_id": open, "amount": 30, "method": "cash"})
	org.OK(201, "POST", "/payments", object{"appointment_id": open, "client_id": org.ClientID, "amount": 50, "method": "cash"})
	require.Equal(t, "paid", org.Appointment(open)["payment_status"])
	org.Refused(404, "not_found", "POST", "/payments", object{"client_id": org.ClientID, "amount": 30, "method": "cash"})
	org.OK(200, "PUT", "/appointments/"+open, object{"client_id": org.ClientID, "notes": "came with a friend"})
}

// Changes of price, client and notes are recorded in the history.
func TestEditsAreInTheHistory(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	id := org.Book(0)
	other := org.OK(201, "POST", "/clients", object{"name": "Other"})["id"]
	for _, body := range []object{{"price": 60}, {"client_id": other, "notes": "x"}, {"price": 60, "client_id": other, "notes": "x"}, {"notes": "y"}} {
		org.OK(200, "PUT", "/appointments/"+id, body)
	}
	var seen [][]any
	for _, entry := range org.Appointment(id)["history"].([]any)[1:] {
		row := entry.(object)
		require.Equal(t, []any{"edit", "staff", "Bia", "scheduled", "scheduled"}, []any{row["action"], row["by"], row["user"], row["from_status"], row["to_status"]})
		seen = append(seen, []any{row["from_price"], row["to_price"], row["from_client_id"], row["to_client_id"]})
	}
	require.Equal(t, [][]any{{80.0, 60.0, nil, nil}, {nil, nil, org.ClientID, other}, {nil, nil, nil, nil}}, seen)
}
