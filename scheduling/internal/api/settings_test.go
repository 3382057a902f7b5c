package api_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

// What holds until an organization decides otherwise, each setting as it is documented.
func TestDefaultSettings(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewOrganization(t)
	const documented = `{
		"booking_enabled": true, "booking_disabled_message": null, "auto_confirm": false, "slot_interval_minutes": null,
		"min_notice_minutes": 0, "max_advance_days": null, "cancel_notice_minutes": 0, "reschedule_notice_minutes": 0,
		"allow_client_cancel": true, "allow_client_reschedule": true, "buffer_before_minutes": 0, "buffer_after_minutes": 0,
		"max_bookings_per_day": null, "max_active_bookings_per_client": null, "allow_any_professional": true,
		"require_client_phone": true, "require_client_email": false,
		"reminders_enabled": true, "reminder_offsets_minutes": [1440, 120], "reminder_channels": ["email"],
		"deposit_hold_minutes": 30, "deposit_refund_notice_minutes": 1440, "inactive_after_days": 60, "waitlist_enabled": false,
		"week_start": 0, "time_format": "24h", "booking_page": {"show_prices": true}, "notify_emails": ["OWNER"],
		"remarketing_period_days": 90, "remarketing_message": null, "proof_of_work": false, "default_area_code": null
	}`
	var want object
	require.NoError(t, json.Unmarshal([]byte(documented), &want))
	want["notify_emails"] = []any{org.Email}
	organization := org.OK(200, "GET", "/organization", nil)
	got := organization["settings"].(object)
	for name, value := range want {
		require.Contains(t, got, name)
		require.Equal(t, value, got[name], name)
	}
	for name := range got {
		require.Contains(t, want, name, "say here what %s is until it is set", name)
	}
	require.Equal(t, got, org.OK(200, "PUT", "/organization/settings", object{}), "an empty change changes nothing")
	for name, value := range map[string]any{"timezone": "America/Sao_Paulo", "currency": "BRL", "locale": "pt-BR", "plan": "free", "logo_url": nil, "phone": nil} {
		require.Equal(t, value, organization[name], name)
	}

	service := org.OK(201, "POST", "/services", object{"name": "Cut", "duration_minutes": 30})
	for name, value := range map[string]any{
		"is_active": true, "is_public": true, "category": nil, "capacity": 1.0, "buffer_before_minutes": nil, "buffer_after_minutes": nil,
		"slot_interval_minutes": nil, "image_url": nil, "color": "#3B82F6", "price": 0.0, "requires_deposit": false, "deposit_amount": nil, "description": "",
	} {
		require.Equal(t, value, service[name], name)
	}
	professional := org.OK(201, "POST", "/professionals", object{"name": "Ana"})
	for name, value := range map[string]any{
		"user_id": nil, "email": nil, "phone": nil, "bio": nil, "specialty": nil, "avatar_url": nil, "is_active": true, "accepts_online_booking": true,
		"max_bookings_per_day": nil, "service_ids": []any{},
	} {
		require.Equal(t, value, professional[name], name)
	}
	loyalty := org.OK(200, "GET", "/loyalty/config", nil)
	for name, value := range map[string]any{
		"enabled": false, "accrual_type": "spend", "points_per_currency_unit": 1.0, "points_per_visit": 0.0, "min_spend": 0.0, "rounding": "floor",
		"signup_bonus": 0.0, "birthday_bonus": 0.0, "points_expiration_days": nil, "eligible_service_ids": nil, "rewards": []any{},
	} {
		require.Equal(t, value, loyalty[name], name)
	}
}
