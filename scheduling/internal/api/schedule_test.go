package api_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

// Copies of copies do not grow without end.
func TestNumberOfRulesIsLimited(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	other := org.OK(201, "POST", "/professionals", object{"name": "Bia"})["id"].(string)
	org.Exec(`insert into scheduling.schedule_rules (org_id, id, professional_id, day_of_week, start_minute, end_minute, is_active)
		select org_id, gen_random_uuid(), professional_id, day_of_week, start_minute, end_minute, true from scheduling.schedule_rules, generate_series(1, 39)
		where professional_id = $1`, org.ProfessionalID)
	path := "/schedule-rules/copy/" + org.ProfessionalID + "/" + other
	require.EqualValues(t, 200, org.OK(201, "POST", path+"?mode=append", nil)["copied"])
	org.Invalid("path.toId", "POST", path+"?mode=append", nil)
	require.Len(t, org.List("/schedule-rules?professional_id="+other), 200, "nothing was copied")
	org.OK(201, "POST", path, nil) // in their place
	org.Invalid("body.professional_id", "POST", "/schedule-rules", object{"professional_id": other, "day_of_week": 1, "start_time": "09:00", "end_time": "10:00"})
	third := org.OK(201, "POST", "/professionals", object{"name": "Caro"})["id"].(string)
	rule := org.OK(201, "POST", "/schedule-rules", object{"professional_id": third, "day_of_week": 1, "start_time": "09:00", "end_time": "10:00"})["id"].(string)
	org.Invalid("body.professional_id", "PUT", "/schedule-rules/"+rule, object{"professional_id": other})
	kept := org.List("/schedule-rules?professional_id=" + other)
	org.OK(200, "PUT", "/schedule-rules/"+kept[0]["id"].(string), object{"end_time": "23:00"})
}

func TestScheduleRules(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	list := org.List("/schedule-rules?professional_id=" + org.ProfessionalID)
	require.Len(t, list, 5)
	require.Equal(t, "09:00", list[0]["start_time"])
	path := "/schedule-rules/" + list[0]["id"].(string)
	rule := org.OK(200, "PUT", path, object{"break_start": "10:00", "break_end": "10:30", "end_time": "23:59"})
	require.Equal(t, "10:00", rule["break_start"])
	rule = org.OK(200, "PUT", path, object{"break_start": nil, "break_end": nil, "is_active": false})
	require.Nil(t, rule["break_start"])
	require.Equal(t, false, rule["is_active"])
	for location, body := range map[string]object{
		"body.end_time": {"end_time": "08:00"}, "body.start_time": {"start_time": "9"}, "body.break_end": {"break_start": "10:00"},
		"body.day_of_week": {"day_of_week": 7}, "body.break_start": {"break_start": "24:00", "break_end": "10:00"},
	} {
		org.Invalid(location, "PUT", path, body)
	}
	org.Invalid("body.professional_id", "POST", "/schedule-rules", object{"day_of_week": 0, "start_time": "09:00", "end_time": "10:00"})
	org.Refused(404, "not_found", "GET", "/schedule-rules?professional_id="+uuid.NewString(), nil)

	eva := org.AddUnscheduledProfessional("Eva")
	copied := org.OK(201, "POST", "/schedule-rules/copy/"+org.ProfessionalID+"/"+eva, nil)
	require.EqualValues(t, 5, copied["copied"])
	require.EqualValues(t, 0, copied["replaced"])
	copied = org.OK(201, "POST", "/schedule-rules/copy/"+org.ProfessionalID+"/"+eva, nil)
	require.EqualValues(t, 5, copied["replaced"])
	require.Len(t, org.OK(201, "POST", "/schedule-rules/copy/"+org.ProfessionalID+"/"+eva+"?mode=append", nil)["rules"], 10)
	org.Refused(404, "not_found", "POST", "/schedule-rules/copy/"+org.ProfessionalID+"/"+uuid.NewString(), nil)
	org.OK(204, "DELETE", path, nil)
	org.Refused(404, "not_found", "DELETE", path, nil)
}
