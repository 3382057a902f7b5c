package api_test

import (
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/api"
	"integrationhub/scheduling/internal/schedulingtest"
)

var moment = regexp.MustCompile(`^\d{4}-\d\d-\d\dT`)

// moments finds the instants in an answer.
func moments(at string, value any, found func(at, text string)) {
	switch v := value.(type) {
	case string:
		if moment.MatchString(v) {
			found(at, v)
		}
	case []any:
		for _, entry := range v {
			moments(at+"[]", entry, found)
		}
	case object:
		for name, entry := range v {
			moments(at+"."+name, entry, found)
		}
	}
}

// Every answer to a GET has its instants in the organization's offset, whatever the
// server's is: here one of a zone that is half an hour off and has summer time.
func TestInstantsAreInTheOrganizationsOffset(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableBesidePeer(t)
	mine := ResourceIDs(org)
	org.OK(200, "PUT", "/loyalty/config", object{"enabled": true, "points_expiration_days": 300})
	org.OK(201, "POST", "/payments", object{"appointment_id": mine["appointment"], "amount": 80, "method": "cash"})
	org.OK(201, "POST", "/payments/pix", object{"client_id": org.ClientID, "amount": 5})
	org.Transition(200, "confirm", mine["appointment"], nil)
	org.Transition(200, "reschedule", mine["appointment"], object{"start_at": org.At(2 * time.Hour)})
	org.Transition(200, "cancel", mine["appointment"], nil)
	org.Transition(200, "complete", org.Book(-3*24*time.Hour), nil)
	org.OK(201, "POST", "/appointments", object{"client_id": org.ClientID, "professional_id": org.ProfessionalID, "service_id": org.ServiceID, "start_at": "2026-06-01T09:00:00-03:00"})
	org.OK(200, "PUT", "/organization", object{"timezone": "America/St_Johns"})
	zone, err := time.LoadLocation("America/St_Johns")
	require.NoError(t, err)

	// Not the product's own answers, or in UTC as their document says.
	others := regexp.MustCompile(`^/api/v1/(integrations|dev)\b`)
	key := org.Hub.CreateKey(org.ID, hub.Live)
	seen, tried := map[string]int{}, 0
	for _, op := range org.Operations() {
		if op.Method != "GET" || others.MatchString(op.Path) {
			continue
		}
		idOf := func(kind string) string { return mine[kind] }
		path := fill(op.Path+queries[op.ID], idOf)
		path = schedulingtest.PathParameter.ReplaceAllStringFunc(path, func(string) string { return mine[schedulingtest.ResourceKind(op.Path)] })
		if op.ID == "schedule-exceptions.list" {
			path += "&month=2026-03"
		}
		got := callerOf(op, org, key).Call("GET", path, nil)
		var body any
		if got.Status != 200 || json.Unmarshal([]byte(got.Text), &body) != nil {
			continue // a calendar
		}
		tried++
		moments(op.ID, body, func(at, text string) {
			seen[at]++
			when, err := time.Parse(time.RFC3339, text)
			require.NoError(t, err, "%s: %s", at, text)
			require.Equal(t, when.In(zone).Format("-07:00"), when.Format("-07:00"), "%s: %s", at, text)
		})
	}
	require.GreaterOrEqual(t, tried, 30)
	org.OK(200, "PUT", "/organization/settings", object{"cancel_notice_minutes": 43200, "reschedule_notice_minutes": 43200})
	for _, action := range []string{"cancel", "reschedule"} {
		late := org.Guest().Refused(409, action+"_window_closed", "POST", org.PublicPath("/"+action), object{"cancel_token": mine["token"], "start_at": org.At(0)})
		require.Regexp(t, `-03:30$`, late["deadline"])
	}
	for _, at := range []string{
		"services.list[].created_at", "services.list[].updated_at", "professionals.list[].created_at", "professionals.list[].updated_at",
		"schedule-rules.list[].created_at", "schedule-exceptions.list[].updated_at", "users.list[].created_at", "auth.me.created_at",
		"appointments.list[].start_at", "appointments.get.history[].at", "clients.get.created_at", "clients.get.next_appointment_at",
		"clients.get.last_appointment_at", "payments.list.items[].paid_at", "payments.list.items[].expires_at", "organization.get.updated_at",
		"availability.day.slots[].start_at", "loyalty.client.history.items[].created_at", "loyalty.client.expiring_at", "public.appointment.start_at",
	} {
		require.Positive(t, seen[at], "%s was not looked at, of %v", at, seen)
	}
}

// Connections are shown where no organization's zone is known: in UTC, whatever the
// machine's zone is.
func TestIntegrationTimesAreUTC(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.FixedZone("", 2*60*60))
	shown := api.ToIntegration(module.Integration{CreatedAt: at, LastHealthCheck: at})
	require.Equal(t, time.Date(2026, 3, 2, 7, 0, 0, 0, time.UTC), shown.CreatedAt)
	require.Equal(t, time.Date(2026, 3, 2, 7, 0, 0, 0, time.UTC), *shown.LastHealthCheck)
}
