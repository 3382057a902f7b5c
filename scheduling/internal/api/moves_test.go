package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

// Bookings of a service that was deleted can still be moved, at their price and length.
func TestMovingBookingsOfADeletedService(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	guest := org.Guest()
	online := guest.OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	id := online["appointment_id"].(string)
	taken := org.Book(2 * time.Hour)
	cancelled := org.Book(150 * time.Minute)
	org.Transition(200, "noshow", cancelled, nil)
	org.OK(200, "PUT", "/services/"+org.ServiceID, object{"price": 99, "duration_minutes": 60})
	require.Equal(t, 204, org.Call("DELETE", "/services/"+org.ServiceID, nil).Status)

	moved := guest.OK(200, "POST", org.PublicPath("/reschedule"), object{"cancel_token": online["cancel_token"], "start_at": org.At(time.Hour)})
	require.Equal(t, org.At(90*time.Minute), moved["end_at"], "half an hour as before")
	require.EqualValues(t, 80, org.Transition(200, "reschedule", id, object{"start_at": org.At(30 * time.Minute)})["price"])
	require.Equal(t, org.At(0), org.OK(200, "PUT", "/appointments/"+id, object{"start_at": org.At(0)})["start_at"])
	refused := org.Refused(409, "slot_unavailable", "POST", "/appointments/"+id+"/reschedule", object{"start_at": org.At(2 * time.Hour)})
	require.NotEmpty(t, refused["alternatives"])
	guest.Refused(409, "slot_unavailable", "POST", org.PublicPath("/reschedule"), object{"cancel_token": online["cancel_token"], "start_at": org.At(2 * time.Hour)})
	org.Transition(200, "reschedule", taken, object{"start_at": org.At(150 * time.Minute)})
	org.Refused(409, "slot_unavailable", "POST", "/appointments/"+cancelled+"/reopen", nil)

	eva := org.AddUnscheduledProfessional("Eva")
	require.Equal(t, "Eva", org.Transition(200, "reschedule", id, object{"start_at": org.At(0), "professional_id": eva})["professional"].(object)["name"], "nobody offers the service any more")
	org.Refused(404, "not_found", "POST", "/appointments", org.AppointmentBody(0))
}

// The same professional keeps a booking of a service that is no longer offered; whoever
// takes it over must offer it.
func TestMovingBookingsOfAServiceNoLongerOffered(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	id, eva := org.Book(0), org.AddUnscheduledProfessional("Eva")
	require.Equal(t, 200, org.Call("PUT", "/professionals/"+org.ProfessionalID+"/services", object{"service_ids": []string{}}).Status)
	org.Transition(200, "reschedule", id, object{"start_at": org.At(time.Hour)})
	org.InvalidWith("service_not_offered", "body.professional_id", "POST", "/appointments/"+id+"/reschedule", object{"start_at": org.At(0), "professional_id": eva})
	org.Refused(422, "service_not_offered", "POST", "/appointments", org.AppointmentBody(0))
}

// A booking whose professional was removed needs another one.
func TestMovingBookingsOfARemovedProfessional(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	guest := org.Guest()
	online := guest.OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	path := "/appointments/" + online["appointment_id"].(string)
	wash := org.OK(201, "POST", "/services", object{"name": "Wash", "duration_minutes": 30, "price": 12})["id"]
	eva := org.AddProfessional("Eva", org.ServiceID)
	byToken := object{"cancel_token": online["cancel_token"], "start_at": org.At(time.Hour)}
	org.OK(200, "PUT", "/professionals/"+org.ProfessionalID, object{"accepts_online_booking": false})
	require.Contains(t, guest.Refused(409, "professional_unavailable", "POST", org.PublicPath("/reschedule"), byToken)["detail"], "Contact the business")
	org.OK(200, "POST", path+"/reschedule", object{"start_at": org.At(30 * time.Minute)})

	require.Equal(t, 204, org.Call("DELETE", "/professionals/"+org.ProfessionalID, nil).Status)
	for _, change := range []object{{"start_at": org.At(time.Hour)}, {"service_id": wash}} {
		require.Contains(t, org.Refused(409, "professional_unavailable", "PUT", path, change)["detail"], "Choose another professional")
	}
	org.Refused(409, "professional_unavailable", "POST", path+"/reschedule", object{"start_at": org.At(time.Hour)})
	guest.Refused(409, "professional_unavailable", "POST", org.PublicPath("/reschedule"), byToken)
	require.Equal(t, "Eva", org.OK(200, "POST", path+"/reschedule", object{"start_at": org.At(time.Hour), "professional_id": eva})["professional"].(object)["name"])
	guest.OK(200, "POST", org.PublicPath("/reschedule"), object{"cancel_token": online["cancel_token"], "start_at": org.At(0)})
	org.Refused(404, "not_found", "POST", path+"/reschedule", object{"start_at": org.At(time.Hour), "professional_id": org.ProfessionalID})
}
