package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

// Each change publishes in its own transaction: without the event there is no change.
func TestEventsAndChangesAreAtomic(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	kept, missed := org.Book(0), org.Book(time.Hour)
	org.Hub.FailPublishing.Store(true)
	for _, change := range []func() answer{
		func() answer { return org.Call("POST", "/appointments", org.AppointmentBody(2*time.Hour)) },
		func() answer { return org.Call("POST", "/appointments/"+kept+"/cancel", object{"reason": "x"}) },
		func() answer { return org.Call("POST", "/appointments/"+missed+"/noshow", nil) },
		func() answer {
			return org.Call("POST", "/appointments/"+kept+"/reschedule", object{"start_at": org.At(3 * time.Hour)})
		},
		func() answer {
			return org.Call("PUT", "/appointments/"+kept, object{"start_at": org.At(3 * time.Hour)})
		},
	} {
		require.Equal(t, 500, change().Status)
	}
	org.Hub.FailPublishing.Store(false)
	for _, item := range org.List("/appointments") {
		require.Equal(t, "scheduled", item["status"])
		require.EqualValues(t, 1, item["version"])
	}
	require.Len(t, org.List("/appointments"), 2)
	require.Len(t, org.OK(200, "GET", "/appointments/"+kept, nil)["history"], 1)
	require.EqualValues(t, 0, org.OK(200, "GET", "/clients/"+org.ClientID, nil)["no_show_count"])

	org.Transition(200, "cancel", kept, object{"reason": "ill"})
	org.Transition(200, "noshow", missed, nil)
	events := org.Hub.Events(org.ID)
	require.Len(t, events, 4)
	require.Equal(t, "appointment.created", events[0].Type)
	require.Equal(t, object{
		"appointment_id": kept, "client_phone": "+5511987654321", "client_name": "Caio", "service": "Cut", "professional": "Ana", "datetime": "2026-03-02T12:00:00Z",
		"end_at": "2026-03-02T12:30:00Z", "status": "scheduled", "source": "dashboard",
	}, events[0].Data)
	require.Equal(t, "appointment.cancelled", events[2].Type)
	require.Equal(t, object{"appointment_id": kept, "reason": "ill"}, events[2].Data)
	require.Equal(t, "appointment.noshow", events[3].Type)
	require.Equal(t, object{"appointment_id": missed, "client_phone": "+5511987654321"}, events[3].Data)
}

// Who has neither a phone number nor an address is not named: it helps nobody to find them, and
// the name of an erased client is a placeholder.
func TestEventsNameNobodyWithoutAContact(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	body := org.AppointmentBody(0)
	body["client_id"] = org.OK(201, "POST", "/clients", object{"name": "Gil Paz"})["id"]
	org.OK(201, "POST", "/appointments", body)
	events := org.Hub.Events(org.ID)
	require.Len(t, events, 1)
	require.NotContains(t, events[0].Data, "client_name")
	require.Empty(t, events[0].Data["client_phone"])
}
