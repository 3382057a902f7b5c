package api_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

func TestScheduleExceptions(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	id := p.Book(0)
	made := p.OK(201, "POST", "/schedule-exceptions", object{"professional_id": p.ProfessionalID, "date": "2026-03-02", "exception_type": "block", "reason": "Fair"})
	require.Nil(t, made["start_time"])
	require.Equal(t, id, made["conflicts"].([]any)[0].(object)["id"])
	require.Equal(t, "scheduled", p.OK(200, "GET", "/appointments/"+id, nil)["status"], "never cancelled silently")
	path := "/schedule-exceptions/" + made["id"].(string)
	p.OK(200, "PUT", path, object{"start_time": "11:00", "end_time": "12:00"})
	part := p.OK(201, "POST", "/schedule-exceptions", object{"professional_id": p.ProfessionalID, "date": "2026-03-02", "start_time": "10:00", "end_time": "11:00", "exception_type": "block"})
	require.Empty(t, part["conflicts"])
	week := p.OK(201, "POST", "/schedule-exceptions", object{"professional_id": p.ProfessionalID, "date": "2026-03-30", "date_to": "2026-04-02", "exception_type": "block"})
	require.EqualValues(t, 4, week["created"])
	require.Len(t, p.List("/schedule-exceptions?month=2026-03"), 4)
	require.Len(t, p.List("/schedule-exceptions?month=2026-04&professional_id="+p.ProfessionalID), 2)
	for location, body := range map[string]object{
		"body.date": {"date": "2026-02-30"}, "body.exception_type": {"exception_type": "other"}, "body.end_time": {"start_time": "10:00", "end_time": nil},
		"body.reason": {"reason": strings.Repeat("x", 201)},
	} {
		p.Invalid(location, "PUT", path, body)
	}
	p.Invalid("query.month", "GET", "/schedule-exceptions?month=2026-13", nil)
	p.Invalid("body.date_to", "POST", "/schedule-exceptions", object{"professional_id": p.ProfessionalID, "date": "2026-03-02", "date_to": "2028-03-02", "exception_type": "block"})
	p.OK(204, "DELETE", path, nil)
	p.Refused(404, "not_found", "PUT", path, object{"reason": "x"})
}
