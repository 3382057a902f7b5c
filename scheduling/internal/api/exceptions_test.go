package api_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

func TestScheduleExceptions(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	id := org.Book(0)
	created := org.OK(201, "POST", "/schedule-exceptions", object{"professional_id": org.ProfessionalID, "date": "2026-03-02", "exception_type": "block", "reason": "Fair"})
	require.Nil(t, created["start_time"])
	require.Equal(t, id, created["conflicts"].([]any)[0].(object)["id"])
	require.Equal(t, "scheduled", org.OK(200, "GET", "/appointments/"+id, nil)["status"], "never cancelled silently")
	path := "/schedule-exceptions/" + created["id"].(string)
	org.OK(200, "PUT", path, object{"start_time": "11:00", "end_time": "12:00"})
	part := org.OK(201, "POST", "/schedule-exceptions", object{"professional_id": org.ProfessionalID, "date": "2026-03-02", "start_time": "10:00", "end_time": "11:00", "exception_type": "block"})
	require.Empty(t, part["conflicts"])
	week := org.OK(201, "POST", "/schedule-exceptions", object{"professional_id": org.ProfessionalID, "date": "2026-03-30", "date_to": "2026-04-02", "exception_type": "block"})
	require.EqualValues(t, 4, week["created"])
	require.Len(t, org.List("/schedule-exceptions?month=2026-03"), 4)
	require.Len(t, org.List("/schedule-exceptions?month=2026-04&professional_id="+org.ProfessionalID), 2)
	for location, body := range map[string]object{
		"body.date": {"date": "2026-02-30"}, "body.exception_type": {"exception_type": "other"}, "body.end_time": {"start_time": "10:00", "end_time": nil},
		"body.reason": {"reason": strings.Repeat("x", 201)}, "body.date_to": {"date": "2026-03-03", "date_to": "2026-03-05"},
	} {
		org.Invalid(location, "PUT", path, body)
	}
	org.Invalid("body.date_to", "PUT", path, object{"date_to": nil})
	require.Len(t, org.List("/schedule-exceptions?month=2026-03"), 4)
	org.Invalid("query.month", "GET", "/schedule-exceptions?month=2026-13", nil)
	org.Invalid("body.date_to", "POST", "/schedule-exceptions", object{"professional_id": org.ProfessionalID, "date": "2026-03-02", "date_to": "2028-03-02", "exception_type": "block"})
	org.OK(204, "DELETE", path, nil)
	org.Refused(404, "not_found", "PUT", path, object{"reason": "x"})
}
