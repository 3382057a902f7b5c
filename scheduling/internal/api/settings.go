package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"

	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

// Settings are what an organization decides about its bookings.
type Settings struct {
	BookingEnabled             bool            `json:"booking_enabled"`
	BookingDisabledMessage     *string         `json:"booking_disabled_message"`
	AutoConfirm                bool            `json:"auto_confirm"`
	SlotIntervalMinutes        *int            `json:"slot_interval_minutes"`
	MinNoticeMinutes           int             `json:"min_notice_minutes"`
	MaxAdvanceDays             *int            `json:"max_advance_days"`
	CancelNoticeMinutes        int             `json:"cancel_notice_minutes"`
	RescheduleNoticeMinutes    int             `json:"reschedule_notice_minutes"`
	AllowClientCancel          bool            `json:"allow_client_cancel"`
	AllowClientReschedule      bool            `json:"allow_client_reschedule"`
	BufferBeforeMinutes        int             `json:"buffer_before_minutes"`
	BufferAfterMinutes         int             `json:"buffer_after_minutes"`
	MaxBookingsPerDay          *int            `json:"max_bookings_per_day"`
	MaxActiveBookingsPerClient *int            `json:"max_active_bookings_per_client"`
	AllowAnyProfessional       bool            `json:"allow_any_professional"`
	RequireClientPhone         bool            `json:"require_client_phone"`
	RequireClientEmail         bool            `json:"require_client_email"`
	RemindersEnabled           bool            `json:"reminders_enabled"`
	ReminderOffsetsMinutes     []int           `json:"reminder_offsets_minutes" nullable:"false"`
	ReminderChannels           []string        `json:"reminder_channels" nullable:"false"`
	DepositHoldMinutes         int             `json:"deposit_hold_minutes"`
	DepositRefundNoticeMinutes *int            `json:"deposit_refund_notice_minutes"`
	InactiveAfterDays          int             `json:"inactive_after_days"`
	WaitlistEnabled            bool            `json:"waitlist_enabled"`
	ProofOfWork                bool            `json:"proof_of_work" doc:"Booking online takes a solved challenge; the page solves it with JavaScript"`
	WeekStart                  int             `json:"week_start"`
	TimeFormat                 string          `json:"time_format" enum:"24h,12h"`
	BookingPage                json.RawMessage `json:"booking_page"`
	NotifyEmails               []string        `json:"notify_emails" nullable:"false"`
	RemarketingPeriodDays      int             `json:"remarketing_period_days"`
	RemarketingMessage         *string         `json:"remarketing_message"`
}

type settingsInput struct {
	Body settingsFields `nameHint:"SettingsFields"`
}

type settingsFields struct {
	BookingEnabled             optional[bool]        `json:"booking_enabled,omitempty"`
	BookingDisabledMessage     optional[string]      `json:"booking_disabled_message,omitempty"`
	AutoConfirm                optional[bool]        `json:"auto_confirm,omitempty"`
	SlotIntervalMinutes        optional[int]         `json:"slot_interval_minutes,omitempty"`
	MinNoticeMinutes           optional[int]         `json:"min_notice_minutes,omitempty"`
	MaxAdvanceDays             optional[int]         `json:"max_advance_days,omitempty"`
	CancelNoticeMinutes        optional[int]         `json:"cancel_notice_minutes,omitempty"`
	RescheduleNoticeMinutes    optional[int]         `json:"reschedule_notice_minutes,omitempty"`
	AllowClientCancel          optional[bool]        `json:"allow_client_cancel,omitempty"`
	AllowClientReschedule      optional[bool]        `json:"allow_client_reschedule,omitempty"`
	BufferBeforeMinutes        optional[int]         `json:"buffer_before_minutes,omitempty"`
	BufferAfterMinutes         optional[int]         `json:"buffer_after_minutes,omitempty"`
	MaxBookingsPerDay          optional[int]         `json:"max_bookings_per_day,omitempty"`
	MaxActiveBookingsPerClient optional[int]         `json:"max_active_bookings_per_client,omitempty"`
	AllowAnyProfessional       optional[bool]        `json:"allow_any_professional,omitempty"`
	RequireClientPhone         optional[bool]        `json:"require_client_phone,omitempty"`
	RequireClientEmail         optional[bool]        `json:"require_client_email,omitempty"`
	RemindersEnabled           optional[bool]        `json:"reminders_enabled,omitempty"`
	ReminderOffsetsMinutes     optional[[]int]       `json:"reminder_offsets_minutes,omitempty"`
	ReminderChannels           optional[[]string]    `json:"reminder_channels,omitempty"`
	DepositHoldMinutes         optional[int]         `json:"deposit_hold_minutes,omitempty"`
	DepositRefundNoticeMinutes optional[int]         `json:"deposit_refund_notice_minutes,omitempty"`
	InactiveAfterDays          optional[int]         `json:"inactive_after_days,omitempty"`
	WaitlistEnabled            optional[bool]        `json:"waitlist_enabled,omitempty"`
	ProofOfWork                optional[bool]        `json:"proof_of_work,omitempty"`
	WeekStart                  optional[int]         `json:"week_start,omitempty"`
	TimeFormat                 optional[string]      `json:"time_format,omitempty" enum:"24h,12h"`
	BookingPage                optional[BookingPage] `json:"booking_page,omitempty"`
	NotifyEmails               optional[[]string]    `json:"notify_emails,omitempty"`
	RemarketingPeriodDays      optional[int]         `json:"remarketing_period_days,omitempty" doc:"Clients are written to once in it at most"`
	RemarketingMessage         optional[string]      `json:"remarketing_message,omitempty" doc:"null: words of ours"`
}

// BookingPage is how the public booking page looks.
type BookingPage struct {
	PrimaryColor        optional[string]   `json:"primary_color,omitzero"`
	WelcomeMessage      optional[string]   `json:"welcome_message,omitzero"`
	CancellationPolicy  optional[string]   `json:"cancellation_policy,omitzero"`
	TermsURL            optional[string]   `json:"terms_url,omitzero"`
	PrivacyURL          optional[string]   `json:"privacy_url,omitzero"`
	ShowPrices          optional[bool]     `json:"show_prices,omitzero"`
	EmbedAllowedOrigins optional[[]string] `json:"embed_allowed_origins,omitzero"`
}

func (p *BookingPage) validate() error {
	const at = "body.booking_page."
	var wrong fieldErrors
	if p.PrimaryColor.HasValue() {
		wrong.checkColor(p.PrimaryColor.Value, at+"primary_color")
	}
	wrong.CheckLength(p.WelcomeMessage.Value, at+"welcome_message", 0, 1000)
	wrong.CheckLength(p.CancellationPolicy.Value, at+"cancellation_policy", 0, 2000)
	if p.TermsURL.HasValue() {
		wrong.CheckURL(&p.TermsURL.Value, at+"terms_url")
	}
	if p.PrivacyURL.HasValue() {
		wrong.CheckURL(&p.PrivacyURL.Value, at+"privacy_url")
	}
	wrong.Check(len(p.EmbedAllowedOrigins.Value) <= 20, at+"embed_allowed_origins", "must be at most 20")
	for i, origin := range p.EmbedAllowedOrigins.Value {
		u, err := url.Parse(origin)
		ok := err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && origin == u.Scheme+"://"+u.Host
		wrong.Check(ok, fmt.Sprintf("%sembed_allowed_origins[%d]", at, i), "must be an origin such as https://example.com")
	}
	return wrong.Err()
}

func toSettings(s dbgen.Settings) Settings {
	return Settings{
		BookingEnabled: s.BookingEnabled, BookingDisabledMessage: s.BookingDisabledMessage, AutoConfirm: s.AutoConfirm,
		SlotIntervalMinutes: s.SlotIntervalMinutes, MinNoticeMinutes: s.MinNoticeMinutes, MaxAdvanceDays: s.MaxAdvanceDays,
		CancelNoticeMinutes: s.CancelNoticeMinutes, RescheduleNoticeMinutes: s.RescheduleNoticeMinutes,
		AllowClientCancel: s.AllowClientCancel, AllowClientReschedule: s.AllowClientReschedule,
		BufferBeforeMinutes: s.BufferBeforeMinutes, BufferAfterMinutes: s.BufferAfterMinutes, MaxBookingsPerDay: s.MaxBookingsPerDay,
		MaxActiveBookingsPerClient: s.MaxActiveBookingsPerClient, AllowAnyProfessional: s.AllowAnyProfessional,
		RequireClientPhone: s.RequireClientPhone, RequireClientEmail: s.RequireClientEmail, RemindersEnabled: s.RemindersEnabled,
		ReminderOffsetsMinutes: s.ReminderOffsetsMinutes, ReminderChannels: s.ReminderChannels, DepositHoldMinutes: s.DepositHoldMinutes,
		DepositRefundNoticeMinutes: s.DepositRefundNoticeMinutes, InactiveAfterDays: s.InactiveAfterDays, WaitlistEnabled: s.WaitlistEnabled, ProofOfWork: s.ProofOfWork,
		WeekStart: s.WeekStart, TimeFormat: s.TimeFormat, BookingPage: addPageDefaults(s.BookingPage), NotifyEmails: s.NotifyEmails,
		RemarketingPeriodDays: s.RemarketingPeriodDays, RemarketingMessage: s.RemarketingMessage,
	}
}

// addPageDefaults adds what holds where nothing was set.
func addPageDefaults(raw json.RawMessage) json.RawMessage {
	page := map[string]any{"show_prices": true}
	if json.Unmarshal(raw, &page) != nil {
		return raw
	}
	shown, err := json.Marshal(page)
	if err != nil {
		return raw
	}
	return shown
}

// applyTo applies the fields and checks what comes out.
func (f *settingsFields) applyTo(s *dbgen.Settings) error {
	f.BookingEnabled.ApplyTo(&s.BookingEnabled)
	f.BookingDisabledMessage.ApplyToNullable(&s.BookingDisabledMessage)
	f.AutoConfirm.ApplyTo(&s.AutoConfirm)
	f.SlotIntervalMinutes.ApplyToNullable(&s.SlotIntervalMinutes)
	f.MinNoticeMinutes.ApplyTo(&s.MinNoticeMinutes)
	f.MaxAdvanceDays.ApplyToNullable(&s.MaxAdvanceDays)
	f.CancelNoticeMinutes.ApplyTo(&s.CancelNoticeMinutes)
	f.RescheduleNoticeMinutes.ApplyTo(&s.RescheduleNoticeMinutes)
	f.AllowClientCancel.ApplyTo(&s.AllowClientCancel)
	f.AllowClientReschedule.ApplyTo(&s.AllowClientReschedule)
	f.BufferBeforeMinutes.ApplyTo(&s.BufferBeforeMinutes)
	f.BufferAfterMinutes.ApplyTo(&s.BufferAfterMinutes)
	f.MaxBookingsPerDay.ApplyToNullable(&s.MaxBookingsPerDay)
	f.MaxActiveBookingsPerClient.ApplyToNullable(&s.MaxActiveBookingsPerClient)
	f.AllowAnyProfessional.ApplyTo(&s.AllowAnyProfessional)
	f.RequireClientPhone.ApplyTo(&s.RequireClientPhone)
	f.RequireClientEmail.ApplyTo(&s.RequireClientEmail)
	f.RemindersEnabled.ApplyTo(&s.RemindersEnabled)
	f.ReminderOffsetsMinutes.ApplyTo(&s.ReminderOffsetsMinutes)
	f.ReminderChannels.ApplyTo(&s.ReminderChannels)
	f.DepositHoldMinutes.ApplyTo(&s.DepositHoldMinutes)
	f.DepositRefundNoticeMinutes.ApplyToNullable(&s.DepositRefundNoticeMinutes)
	f.InactiveAfterDays.ApplyTo(&s.InactiveAfterDays)
	f.WaitlistEnabled.ApplyTo(&s.WaitlistEnabled)
	f.ProofOfWork.ApplyTo(&s.ProofOfWork)
	f.WeekStart.ApplyTo(&s.WeekStart)
	f.TimeFormat.ApplyTo(&s.TimeFormat)
	f.NotifyEmails.ApplyTo(&s.NotifyEmails)
	f.RemarketingPeriodDays.ApplyTo(&s.RemarketingPeriodDays)
	f.RemarketingMessage.ApplyToNullable(&s.RemarketingMessage)
	return validateSettings(s)
}

func validateSettings(s *dbgen.Settings) error {
	var wrong fieldErrors
	if err := wrong.merge(store.PolicyOf(*s).Validate()); err != nil {
		return err
	}
	wrong.CheckLength(valueOrEmpty(s.BookingDisabledMessage), "body.booking_disabled_message", 0, 500)
	most := s.MaxActiveBookingsPerClient
	wrong.Check(most == nil || *most >= 1 && *most <= 50, "body.max_active_bookings_per_client", "must be 1 to 50")
	wrong.Check(len(s.ReminderOffsetsMinutes) <= 5, "body.reminder_offsets_minutes", "must be at most 5")
	for i, offset := range s.ReminderOffsetsMinutes {
		wrong.Check(offset >= 10 && offset <= 20160, fmt.Sprintf("body.reminder_offsets_minutes[%d]", i), "must be 10 to 20160")
	}
	for i, channel := range s.ReminderChannels {
		wrong.Check(channel == "email" || channel == "whatsapp", fmt.Sprintf("body.reminder_channels[%d]", i), "must be email or whatsapp")
	}
	slices.Sort(s.ReminderChannels)
	s.ReminderChannels = slices.Compact(s.ReminderChannels)
	wrong.Check(s.InactiveAfterDays >= 7 && s.InactiveAfterDays <= 730, "body.inactive_after_days", "must be 7 to 730")
	wrong.Check(s.WeekStart >= 0 && s.WeekStart <= 6, "body.week_start", "must be 0 to 6")
	wrong.Check(s.RemarketingPeriodDays >= 30 && s.RemarketingPeriodDays <= 730, "body.remarketing_period_days", "must be 30 to 730")
	wrong.CheckLength(valueOrEmpty(s.RemarketingMessage), "body.remarketing_message", 0, 2000)
	wrong.Check(len(s.NotifyEmails) <= 10, "body.notify_emails", "must be at most 10")
	for i := range s.NotifyEmails {
		wrong.CheckEmail(&s.NotifyEmails[i], fmt.Sprintf("body.notify_emails[%d]", i))
	}
	return wrong.Err()
}

func validSlug(s string) bool { return booking.ValidSlug(s) }

// isCurrency tells whether a code is one of ISO 4217's currencies in use.
func isCurrency(code string) bool { return slices.Contains(currencies, code) }
