package scheduling_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func NamesOf(list []object) []string {
	var found []string
	for _, one := range list {
		found = append(found, one["name"].(string))
	}
	return found
}

func TestServices(t *testing.T) {
	t.Parallel()
	s := NewOrganization(t)
	cut := s.OK(201, "POST", "/services", object{
		"name": "Cut", "description": "Short", "duration_minutes": 30, "price": 80.5, "color": "#112233", "requires_deposit": true, "deposit_amount": 20,
		"org_id": uuid.NewString(), "position": 77,
	})
	require.InDelta(t, 80.5, cut["price"], 1e-9)
	require.EqualValues(t, 20, cut["deposit_amount"])
	require.EqualValues(t, 0, cut["position"])
	require.EqualValues(t, 1, cut["capacity"])
	path := "/services/" + cut["id"].(string)
	require.Contains(t, s.Call("GET", "/services", nil).Text, `"price":80.50`)
	cut = s.OK(200, "PUT", path, object{"requires_deposit": false, "category": "Hair"})
	require.Nil(t, cut["deposit_amount"])
	require.Equal(t, "Short", cut["description"])
	require.Nil(t, s.OK(200, "PUT", path, object{"category": nil})["category"])
	for location, body := range map[string]object{
		"body.name": {"name": " "}, "body.duration_minutes": {"duration_minutes": 4}, "body.price": {"price": 1.001}, "body.color": {"color": "red"},
		"body.deposit_amount": {"requires_deposit": true, "deposit_amount": 81}, "body.capacity": {"capacity": 0},
		"body.slot_interval_minutes": {"slot_interval_minutes": 1}, "body.description": {"description": 5}, "body.image_url": {"image_url": "javascript:x"},
	} {
		s.Invalid(location, "PUT", path, body)
	}
	s.Invalid("body.price", "PUT", path, object{"price": -1})
	s.Invalid("body.name", "POST", "/services", object{"duration_minutes": 30})
	s.Invalid("body.duration_minutes", "POST", "/services", object{"name": "X"})

	ids := map[string]string{"Cut": cut["id"].(string)}
	for _, name := range []string{"Wash", "Dye"} {
		ids[name] = s.OK(201, "POST", "/services", object{"name": name, "duration_minutes": 30, "price": 1})["id"].(string)
	}
	got := s.Call("PUT", "/services/reorder", object{"service_ids": []string{ids["Dye"]}})
	require.Equal(t, 200, got.Status, got.Text)
	require.Equal(t, []string{"Dye", "Cut", "Wash"}, NamesOf(got.List))
	got = s.Call("PUT", "/services/reorder", object{"items": []object{{"id": ids["Wash"], "position": 1}, {"id": ids["Cut"], "position": 0}}})
	require.Equal(t, []string{"Cut", "Wash", "Dye"}, NamesOf(got.List), got.Text)
	s.Invalid("body.service_ids", "PUT", "/services/reorder", object{"service_ids": []string{ids["Dye"], ids["Dye"]}})
	s.Refused(404, "not_found", "PUT", "/services/reorder", object{"service_ids": []string{uuid.NewString()}})
	s.OK(204, "DELETE", path, nil)
	s.Refused(404, "not_found", "DELETE", path, nil)
	s.Refused(404, "not_found", "PUT", path, object{"name": "X"})
	require.Equal(t, []string{"Wash", "Dye"}, NamesOf(s.List("/services")))
}

func TestProfessionalsAndTheirServices(t *testing.T) {
	t.Parallel()
	p := NewBookable(t)
	path := "/professionals/" + p.ProfessionalID
	ana := p.OK(200, "PUT", path, object{"bio": "Since 2010", "max_bookings_per_day": 3})
	require.Equal(t, "Ana", ana["name"])
	require.Equal(t, []any{p.ServiceID}, ana["service_ids"])
	feed := ana["calendar_feed_url"]
	require.NotEqual(t, feed, p.OK(200, "POST", path+"/calendar-feed/rotate", nil)["calendar_feed_url"])
	p.Invalid("body.name", "POST", "/professionals", object{"bio": "x"})
	p.Invalid("body.max_bookings_per_day", "PUT", path, object{"max_bookings_per_day": 0})
	me := p.OK(200, "GET", "/auth/me", nil)["id"]
	p.OK(200, "PUT", path, object{"user_id": me})
	p.Refused(409, "user_taken", "POST", "/professionals", object{"name": "Eva", "user_id": me})

	offered := p.Call("PUT", path+"/services", object{"service_ids": []string{p.ServiceID}, "overrides": object{p.ServiceID: object{"custom_duration": 45, "custom_price": 99.9}}})
	require.Equal(t, 200, offered.Status, offered.Text)
	require.EqualValues(t, 45, offered.List[0]["effective_duration"])
	require.InDelta(t, 99.9, offered.List[0]["effective_price"], 1e-9)
	require.EqualValues(t, 80, offered.List[0]["price"])
	require.Equal(t, offered.List, p.List(path+"/services"))
	p.Invalid("body.overrides", "PUT", path+"/services", object{"service_ids": []string{}, "overrides": object{p.ServiceID: object{"custom_duration": 45}}})
	p.Invalid("body.overrides."+p.ServiceID+".custom_duration", "PUT", path+"/services", object{"service_ids": []string{p.ServiceID}, "overrides": object{p.ServiceID: object{"custom_duration": 1}}})
	p.Refused(404, "not_found", "PUT", path+"/services", object{"service_ids": []string{uuid.NewString()}})
	require.Equal(t, offered.List, p.List(path+"/services"), "a refused change changes nothing")

	p.Book(0)
	p.OK(204, "DELETE", path, nil)
	require.Empty(t, p.List("/professionals"))
	require.Equal(t, "Ana", p.List("/appointments")[0]["professional"].(object)["name"], "history stays")
}

// Copies of copies do not grow without end.
func TestRulesAreBounded(t *testing.T) {
	t.Parallel()
	p := NewBookable(t)
	other := p.OK(201, "POST", "/professionals", object{"name": "Bia"})["id"].(string)
	p.Exec(`insert into scheduling.schedule_rules (org_id, id, professional_id, day_of_week, start_minute, end_minute, is_active)
		select org_id, gen_random_uuid(), professional_id, day_of_week, start_minute, end_minute, true from scheduling.schedule_rules, generate_series(1, 39)
		where professional_id = $1`, p.ProfessionalID)
	path := "/schedule-rules/copy/" + p.ProfessionalID + "/" + other
	require.EqualValues(t, 200, p.OK(201, "POST", path+"?mode=append", nil)["copied"])
	p.Invalid("path.toId", "POST", path+"?mode=append", nil)
	require.Len(t, p.List("/schedule-rules?professional_id="+other), 200, "nothing was copied")
	p.OK(201, "POST", path, nil) // in their place
	p.Invalid("body.professional_id", "POST", "/schedule-rules", object{"professional_id": other, "day_of_week": 1, "start_time": "09:00", "end_time": "10:00"})
	third := p.OK(201, "POST", "/professionals", object{"name": "Caro"})["id"].(string)
	rule := p.OK(201, "POST", "/schedule-rules", object{"professional_id": third, "day_of_week": 1, "start_time": "09:00", "end_time": "10:00"})["id"].(string)
	p.Invalid("body.professional_id", "PUT", "/schedule-rules/"+rule, object{"professional_id": other})
	kept := p.List("/schedule-rules?professional_id=" + other)
	p.OK(200, "PUT", "/schedule-rules/"+kept[0]["id"].(string), object{"end_time": "23:00"})
}

func TestScheduleRules(t *testing.T) {
	t.Parallel()
	p := NewBookable(t)
	list := p.List("/schedule-rules?professional_id=" + p.ProfessionalID)
	require.Len(t, list, 5)
	require.Equal(t, "09:00", list[0]["start_time"])
	path := "/schedule-rules/" + list[0]["id"].(string)
	rule := p.OK(200, "PUT", path, object{"break_start": "10:00", "break_end": "10:30", "end_time": "23:59"})
	require.Equal(t, "10:00", rule["break_start"])
	rule = p.OK(200, "PUT", path, object{"break_start": nil, "break_end": nil, "is_active": false})
	require.Nil(t, rule["break_start"])
	require.Equal(t, false, rule["is_active"])
	for location, body := range map[string]object{
		"body.end_time": {"end_time": "08:00"}, "body.start_time": {"start_time": "9"}, "body.break_end": {"break_start": "10:00"},
		"body.day_of_week": {"day_of_week": 7}, "body.break_start": {"break_start": "24:00", "break_end": "10:00"},
	} {
		p.Invalid(location, "PUT", path, body)
	}
	p.Invalid("body.professional_id", "POST", "/schedule-rules", object{"day_of_week": 0, "start_time": "09:00", "end_time": "10:00"})
	p.Refused(404, "not_found", "GET", "/schedule-rules?professional_id="+uuid.NewString(), nil)

	eva := p.AddUnscheduledProfessional("Eva")
	copied := p.OK(201, "POST", "/schedule-rules/copy/"+p.ProfessionalID+"/"+eva, nil)
	require.EqualValues(t, 5, copied["copied"])
	require.EqualValues(t, 0, copied["replaced"])
	copied = p.OK(201, "POST", "/schedule-rules/copy/"+p.ProfessionalID+"/"+eva, nil)
	require.EqualValues(t, 5, copied["replaced"])
	require.Len(t, p.OK(201, "POST", "/schedule-rules/copy/"+p.ProfessionalID+"/"+eva+"?mode=append", nil)["rules"], 10)
	p.Refused(404, "not_found", "POST", "/schedule-rules/copy/"+p.ProfessionalID+"/"+uuid.NewString(), nil)
	p.OK(204, "DELETE", path, nil)
	p.Refused(404, "not_found", "DELETE", path, nil)
}

// AddUnscheduledProfessional is one without hours and services.
func (p *Bookable) AddUnscheduledProfessional(name string) string {
	p.T.Helper()
	return p.OK(201, "POST", "/professionals", object{"name": name})["id"].(string)
}

func TestScheduleExceptions(t *testing.T) {
	t.Parallel()
	p := NewBookable(t)
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
