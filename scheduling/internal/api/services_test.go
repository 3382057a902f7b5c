package api_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

func TestServices(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewOrganization(t)
	cut := org.OK(201, "POST", "/services", object{
		"name": "Cut", "description": "Short", "duration_minutes": 30, "price": 80.5, "color": "#112233", "requires_deposit": true, "deposit_amount": 20,
		"org_id": uuid.NewString(), "position": 77,
	})
	require.InDelta(t, 80.5, cut["price"], 1e-9)
	require.EqualValues(t, 20, cut["deposit_amount"])
	require.EqualValues(t, 0, cut["position"])
	require.EqualValues(t, 1, cut["capacity"])
	path := "/services/" + cut["id"].(string)
	require.Contains(t, org.Call("GET", "/services", nil).Text, `"price":80.50`)
	cut = org.OK(200, "PUT", path, object{"requires_deposit": false, "category": "Hair"})
	require.Nil(t, cut["deposit_amount"])
	require.Equal(t, "Short", cut["description"])
	require.Nil(t, org.OK(200, "PUT", path, object{"category": nil})["category"])
	for location, body := range map[string]object{
		"body.name": {"name": " "}, "body.duration_minutes": {"duration_minutes": 4}, "body.price": {"price": 1.001}, "body.color": {"color": "red"},
		"body.deposit_amount": {"requires_deposit": true, "deposit_amount": 81}, "body.capacity": {"capacity": 0},
		"body.slot_interval_minutes": {"slot_interval_minutes": 1}, "body.description": {"description": 5}, "body.image_url": {"image_url": "javascript:x"},
	} {
		org.Invalid(location, "PUT", path, body)
	}
	org.Invalid("body.price", "PUT", path, object{"price": -1})
	org.Invalid("body.name", "POST", "/services", object{"duration_minutes": 30})
	org.Invalid("body.duration_minutes", "POST", "/services", object{"name": "X"})

	ids := map[string]string{"Cut": cut["id"].(string)}
	for _, name := range []string{"Wash", "Dye"} {
		ids[name] = org.OK(201, "POST", "/services", object{"name": name, "duration_minutes": 30, "price": 1})["id"].(string)
	}
	got := org.Call("PUT", "/services/reorder", object{"service_ids": []string{ids["Dye"]}})
	require.Equal(t, 200, got.Status, got.Text)
	require.Equal(t, []string{"Dye", "Cut", "Wash"}, schedulingtest.NamesOf(got.List))
	got = org.Call("PUT", "/services/reorder", object{"items": []object{{"id": ids["Wash"], "position": 1}, {"id": ids["Cut"], "position": 0}}})
	require.Equal(t, []string{"Cut", "Wash", "Dye"}, schedulingtest.NamesOf(got.List), got.Text)
	org.Invalid("body.service_ids", "PUT", "/services/reorder", object{"service_ids": []string{ids["Dye"], ids["Dye"]}})
	org.Refused(404, "not_found", "PUT", "/services/reorder", object{"service_ids": []string{uuid.NewString()}})
	org.OK(204, "DELETE", path, nil)
	org.Refused(404, "not_found", "DELETE", path, nil)
	org.Refused(404, "not_found", "PUT", path, object{"name": "X"})
	require.Equal(t, []string{"Wash", "Dye"}, schedulingtest.NamesOf(org.List("/services")))
}
