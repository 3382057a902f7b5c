package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

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

// Availability reads all exceptions, so a day has a bounded number of them.
func TestExceptionsOfADayAreBounded(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	block := func(date string) object {
		return object{"professional_id": org.ProfessionalID, "date": date, "exception_type": "block"}
	}
	var last object
	for range 20 {
		last = org.OK(201, "POST", "/schedule-exceptions", block("2026-03-10"))
	}
	org.Refused(409, "too_many_exceptions", "POST", "/schedule-exceptions", block("2026-03-10"))
	spanning := block("2026-03-09")
	spanning["date_to"] = "2026-03-11"
	org.Refused(409, "too_many_exceptions", "POST", "/schedule-exceptions", spanning)
	org.OK(200, "PUT", "/schedule-exceptions/"+last["id"].(string), object{"reason": "stays on its day"})
	other := org.OK(201, "POST", "/schedule-exceptions", block("2026-03-09"))
	org.Refused(409, "too_many_exceptions", "PUT", "/schedule-exceptions/"+other["id"].(string), object{"date": "2026-03-10"})
	require.Len(t, org.List("/schedule-exceptions?month=2026-03"), 21)
}

// A changed block says which appointments collide with it, as a new one does.
func TestChangedBlockListsConflicts(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	id := org.Book(0)
	created := org.OK(201, "POST", "/schedule-exceptions", object{"professional_id": org.ProfessionalID, "date": "2026-03-03", "exception_type": "block"})
	changed := org.OK(200, "PUT", "/schedule-exceptions/"+created["id"].(string), object{"date": "2026-03-02"})
	require.Len(t, changed["conflicts"], 1)
	require.Equal(t, id, changed["conflicts"].([]any)[0].(object)["id"])
	require.Empty(t, org.OK(200, "PUT", "/schedule-exceptions/"+created["id"].(string), object{"date": "2026-03-04"})["conflicts"])
}

// A block waits for a booking under way, which it would not see, and which would not see it.
func TestBlockWaitsForABookingUnderWay(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	underWay, err := org.Hub.Host.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = underWay.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = underWay.Exec(t.Context(), `select scheduling.lock_professional($1)`, org.ProfessionalID)
	require.NoError(t, err)
	statuses := make(chan int, 1)
	go func() {
		response, _ := org.Try("POST", "/schedule-exceptions", object{"professional_id": org.ProfessionalID, "date": "2026-03-02", "exception_type": "block"})
		statuses <- response.Status
	}()
	waits := func() bool {
		return org.Count(`pg_locks l join pg_database d on d.oid = l.database and d.datname = current_database()
			where l.locktype = 'advisory' and not l.granted`) > 0
	}
	require.Eventually(t, func() bool { return waits() || len(statuses) > 0 }, time.Minute, 5*time.Millisecond)
	require.Empty(t, statuses, "it did not wait")
	require.NoError(t, underWay.Rollback(t.Context()))
	require.Equal(t, 201, <-statuses)
}
