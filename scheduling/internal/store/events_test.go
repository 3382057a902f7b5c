package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

// Each change publishes in its own transaction: without the event there is no change.
func TestEventsAndChangesStandOrFallTogether(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	kept, missed := p.Book(0), p.Book(time.Hour)
	p.Hub.FailPublishing.Store(true)
	for _, change := range []func() answer{
		func() answer { return p.Call("POST", "/appointments", p.AppointmentBody(2*time.Hour)) },
		func() answer { return p.Call("POST", "/appointments/"+kept+"/cancel", object{"reason": "x"}) },
		func() answer { return p.Call("POST", "/appointments/"+missed+"/noshow", nil) },
		func() answer {
			return p.Call("POST", "/appointments/"+kept+"/reschedule", object{"start_at": p.At(3 * time.Hour)})
		},
		func() answer { return p.Call("PUT", "/appointments/"+kept, object{"start_at": p.At(3 * time.Hour)}) },
	} {
		require.Equal(t, 500, change().Status)
	}
	p.Hub.FailPublishing.Store(false)
	for _, one := range p.List("/appointments") {
		require.Equal(t, "scheduled", one["status"])
		require.EqualValues(t, 1, one["version"])
	}
	require.Len(t, p.List("/appointments"), 2)
	require.Len(t, p.OK(200, "GET", "/appointments/"+kept, nil)["history"], 1)
	require.EqualValues(t, 0, p.OK(200, "GET", "/clients/"+p.ClientID, nil)["no_show_count"])

	p.Transition(200, "cancel", kept, object{"reason": "ill"})
	p.Transition(200, "noshow", missed, nil)
	events := p.Hub.Events(p.ID)
	require.Len(t, events, 4)
	require.Equal(t, "appointment.created", events[0].Type)
	require.Equal(t, object{
		"appointment_id": kept, "client_phone": "+5511987654321", "service": "Cut", "professional": "Ana", "datetime": "2026-03-02T12:00:00Z",
		"end_at": "2026-03-02T12:30:00Z", "status": "scheduled", "source": "dashboard",
	}, events[0].Data)
	require.Equal(t, "appointment.cancelled", events[2].Type)
	require.Equal(t, object{"appointment_id": kept, "reason": "ill"}, events[2].Data)
	require.Equal(t, "appointment.noshow", events[3].Type)
	require.Equal(t, object{"appointment_id": missed, "client_phone": "+5511987654321"}, events[3].Data)
}
