package api_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

func TestAvailability(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	day := org.Availability("&date=2026-03-02")
	require.Equal(t, "Ana", day["professional"])
	require.Equal(t, "Cut", day["service"])
	require.EqualValues(t, 30, day["duration"])
	require.Equal(t, "America/Sao_Paulo", day["timezone"])
	require.Equal(t, []string{"09:00", "09:30", "10:00", "10:30", "11:00", "11:30"}, schedulingtest.SlotTimesOf(day))
	require.Equal(t, object{"start": "09:00", "end": "09:30", "start_at": "2026-03-02T09:00:00-03:00", "end_at": "2026-03-02T09:30:00-03:00"}, day["slots"].([]any)[0])
	org.Book(30 * time.Minute)
	require.Equal(t, []string{"09:00", "10:00", "10:30", "11:00", "11:30"}, schedulingtest.SlotTimesOf(org.Availability("&date=2026-03-02")))
	require.Empty(t, schedulingtest.SlotTimesOf(org.Availability("&date=2026-03-01")), "a Sunday")
	require.Empty(t, schedulingtest.SlotTimesOf(org.Availability("&date=2026-02-02")), "the past")
	org.Invalid("query.date", "GET", "/availability?service_id="+org.ServiceID+"&professional_id="+org.ProfessionalID+"&date=tomorrow", nil)
	org.Refused(404, "not_found", "GET", "/availability?service_id="+uuid.NewString()+"&professional_id="+org.ProfessionalID+"&date=2026-03-02", nil)
	org.Refused(404, "not_found", "GET", "/availability?service_id="+org.ServiceID+"&professional_id="+uuid.NewString()+"&date=2026-03-02", nil)
	org.Refused(422, "service_not_offered", "GET", "/availability?service_id="+org.ServiceID+"&professional_id="+org.AddUnscheduledProfessional("Eva")+"&date=2026-03-02", nil)

	stranger := &schedulingtest.Bookable{Organization: org.As(""), ServiceID: org.ServiceID, ProfessionalID: org.ProfessionalID}
	require.Len(t, schedulingtest.SlotTimesOf(stranger.Availability("&date=2026-03-02")), 5)
	org.As("nonsense").Refused(401, "invalid_token", "GET", "/availability?service_id="+org.ServiceID+"&date=2026-03-02", nil)
	org.OK(200, "PUT", "/organization/settings", object{"min_notice_minutes": 4 * 24 * 60})
	require.Len(t, schedulingtest.SlotTimesOf(org.Availability("&date=2026-03-02")), 5, "staff see every free slot")
	require.Empty(t, schedulingtest.SlotTimesOf(stranger.Availability("&date=2026-03-02")))
	org.OK(200, "PUT", "/services/"+org.ServiceID, object{"is_public": false})
	stranger.Refused(404, "not_found", "GET", "/availability?service_id="+org.ServiceID+"&date=2026-03-02", nil)
	require.Len(t, schedulingtest.SlotTimesOf(org.Availability("&date=2026-03-02")), 5)
}

func TestMonthAgreesWithItsDays(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	org.Book(0)
	second := org.AddProfessional("Eva", org.ServiceID)
	org.OK(201, "POST", "/schedule-exceptions", object{"professional_id": second, "date": "2026-03-02", "exception_type": "block"})
	for _, who := range []string{"", "&professional_id=" + org.ProfessionalID} {
		month := org.OK(200, "GET", "/availability/month?service_id="+org.ServiceID+"&month=2026-03"+who, nil)
		days := month["days"].([]any)
		require.Len(t, days, 31)
		for _, day := range days[:9] {
			day := day.(object)
			slots := schedulingtest.SlotTimesOf(org.OK(200, "GET", "/availability?service_id="+org.ServiceID+who+"&date="+day["date"].(string), nil))
			require.EqualValues(t, len(slots), day["free"], day)
			if len(slots) > 0 {
				require.Equal(t, slots[0], day["first"])
			} else {
				require.Nil(t, day["first"])
			}
		}
	}
}
