package api_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

func TestProfessionalsAndTheirServices(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	path := "/professionals/" + org.ProfessionalID
	ana := org.OK(200, "PUT", path, object{"bio": "Since 2010", "max_bookings_per_day": 3})
	require.Equal(t, "Ana", ana["name"])
	require.Equal(t, []any{org.ServiceID}, ana["service_ids"])
	feed := ana["calendar_feed_url"]
	require.NotEqual(t, feed, org.OK(200, "POST", path+"/calendar-feed/rotate", nil)["calendar_feed_url"])
	org.Invalid("body.name", "POST", "/professionals", object{"bio": "x"})
	org.Invalid("body.max_bookings_per_day", "PUT", path, object{"max_bookings_per_day": 0})
	me := org.OK(200, "GET", "/auth/me", nil)["id"]
	org.OK(200, "PUT", path, object{"user_id": me})
	org.Refused(409, "user_taken", "POST", "/professionals", object{"name": "Eva", "user_id": me})

	offered := org.Call("PUT", path+"/services", object{"service_ids": []string{org.ServiceID}, "overrides": object{org.ServiceID: object{"custom_duration": 45, "custom_price": 99.9}}})
	require.Equal(t, 200, offered.Status, offered.Text)
	require.EqualValues(t, 45, offered.List[0]["effective_duration"])
	require.InDelta(t, 99.9, offered.List[0]["effective_price"], 1e-9)
	require.EqualValues(t, 80, offered.List[0]["price"])
	require.Equal(t, offered.List, org.List(path+"/services"))
	org.Invalid("body.overrides", "PUT", path+"/services", object{"service_ids": []string{}, "overrides": object{org.ServiceID: object{"custom_duration": 45}}})
	org.Invalid("body.overrides."+org.ServiceID+".custom_duration", "PUT", path+"/services", object{"service_ids": []string{org.ServiceID}, "overrides": object{org.ServiceID: object{"custom_duration": 1}}})
	org.Refused(404, "not_found", "PUT", path+"/services", object{"service_ids": []string{uuid.NewString()}})
	require.Equal(t, offered.List, org.List(path+"/services"), "a refused change changes nothing")

	org.Book(0)
	org.OK(204, "DELETE", path, nil)
	require.Empty(t, org.List("/professionals"))
	require.Equal(t, "Ana", org.List("/appointments")[0]["professional"].(object)["name"], "history stays")
}

func TestProfessionalsAreBounded(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	org.Exec(`insert into scheduling.professionals select (jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid()))).*
		from scheduling.professionals p, generate_series(1, 498) where p.id = $1`, org.ProfessionalID)
	last := org.OK(201, "POST", "/professionals", object{"name": "Last"})["id"].(string)
	org.Refused(409, "too_many_professionals", "POST", "/professionals", object{"name": "Next"})
	org.OK(204, "DELETE", "/professionals/"+last, nil)
	org.OK(201, "POST", "/professionals", object{"name": "Next"})
}
