package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

func TestOrganizationAndSettings(t *testing.T) {
	t.Parallel()
	s := schedulingtest.NewOrganization(t)
	org := s.OK(200, "GET", "/organization", nil)
	require.Equal(t, "free", org["plan"])
	require.Equal(t, "America/Sao_Paulo", org["timezone"])
	require.Equal(t, []any{s.Email}, org["settings"].(object)["notify_emails"])
	org = s.OK(200, "PUT", "/organization", object{"name": "New", "phone": "+5511987654321", "timezone": "Asia/Tokyo", "currency": "JPY", "plan": "gold"})
	require.Equal(t, "New", org["name"])
	require.Equal(t, "free", org["plan"])
	require.Contains(t, org["created_at"], "+09:00")
	require.Nil(t, s.OK(200, "PUT", "/organization", object{"phone": nil})["phone"])
	for location, body := range map[string]object{
		"body.timezone": {"timezone": "Local"}, "body.currency": {"currency": "EURO"}, "body.phone": {"phone": "11 98765"},
		"body.slug": {"slug": "docs"}, "body.name": {"name": "  "}, "body.email": {"email": "x"}, "body.locale": {"locale": "?"},
	} {
		s.Invalid(location, "PUT", "/organization", body)
	}
	s.Invalid("body.timezone", "PUT", "/organization", object{"timezone": ""})

	settings := s.OK(200, "PUT", "/organization/settings", object{
		"min_notice_minutes": 120, "max_advance_days": 90, "reminder_channels": []string{"email", "whatsapp"},
		"booking_page": object{"primary_color": "#112233", "welcome_message": "Hi"},
	})
	require.EqualValues(t, 120, settings["min_notice_minutes"])
	settings = s.OK(200, "PUT", "/organization/settings", object{"max_advance_days": nil, "booking_page": object{"welcome_message": nil}})
	require.Nil(t, settings["max_advance_days"])
	require.Equal(t, object{"primary_color": "#112233", "show_prices": true}, settings["booking_page"])
	require.Equal(t, settings, s.OK(200, "GET", "/organization", nil)["settings"])
	for location, body := range map[string]object{
		"body.min_notice_minutes": {"min_notice_minutes": -1}, "body.max_advance_days": {"max_advance_days": 731},
		"body.reminder_offsets_minutes[1]": {"reminder_offsets_minutes": []int{60, 5}}, "body.inactive_after_days": {"inactive_after_days": 1},
		"body.booking_page.primary_color": {"booking_page": object{"primary_color": "red"}}, "body.time_format": {"time_format": "13h"},
		"body.notify_emails[0]": {"notify_emails": []string{"x"}}, "body.week_start": {"week_start": 7},
	} {
		s.Invalid(location, "PUT", "/organization/settings", body)
	}
}

func TestOldSlugRedirectsForAPeriod(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewOrganizationAlone(t)
	org.OK(200, "PUT", "/organization", object{"slug": "moved-" + org.Slug})
	draft := object{"org_name": "O", "org_slug": org.Slug, "name": "O", "email": "thief-" + org.Email, "password": schedulingtest.Password}
	org.As("").Refused(400, "slug_taken", "POST", "/auth/register", draft)
	org.Hub.Clock.Advance(91 * 24 * time.Hour)
	org.As("").OK(201, "POST", "/auth/register", draft)
}
