package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"

	"integrationhub/hub/module/brazil"
	"integrationhub/hub/module/pointer"
	"integrationhub/scheduling/internal/store"
)

// Settings are the booking settings of an organization.
type Settings struct {
	BookingEnabled             bool            `json:"booking_enabled" doc:"Whether clients book online"`
	BookingDisabledMessage     *string         `json:"booking_disabled_message" doc:"What the page says while they cannot; null: the standard text"`
	AutoConfirm                bool            `json:"auto_confirm" doc:"Bookings online are confirmed at once"`
	SlotIntervalMinutes        *int            `json:"slot_interval_minutes" doc:"Distance between offered times; null: the duration of the service"`
	MinNoticeMinutes           int             `json:"min_notice_minutes" doc:"How long before its begin a time can last be booked online"`
	MaxAdvanceDays             *int            `json:"max_advance_days" doc:"How many days ahead times are offered; null: no limit"`
	CancelNoticeMinutes        int             `json:"cancel_notice_minutes" doc:"How long before its begin clients can last cancel online"`
	RescheduleNoticeMinutes    int             `json:"reschedule_notice_minutes" doc:"How long before its begin clients can last move it online"`
	AllowClientCancel          bool            `json:"allow_client_cancel" doc:"Whether clients cancel online"`
	AllowClientReschedule      bool            `json:"allow_client_reschedule" doc:"Whether clients move appointments online"`
	BufferBeforeMinutes        int             `json:"buffer_before_minutes" doc:"Time kept free before each appointment"`
	BufferAfterMinutes         int             `json:"buffer_after_minutes" doc:"Time kept free after each appointment"`
	MaxBookingsPerDay          *int            `json:"max_bookings_per_day" doc:"Most appointments of a professional on a day; null: no limit"`
	MaxActiveBookingsPerClient *int            `json:"max_active_bookings_per_client" doc:"Most open bookings of a client; null: no limit"`
	AllowAnyProfessional       bool            `json:"allow_any_professional" doc:"Whether clients may leave open who does it"`
	RequireClientPhone         bool            `json:"require_client_phone" doc:"Booking online needs a number"`
	RequireClientEmail         bool            `json:"require_client_email" doc:"Booking online needs an address for mail"`
	RemindersEnabled           bool            `json:"reminders_enabled" doc:"Whether clients are reminded"`
	ReminderOffsetsMinutes     []int           `json:"reminder_offsets_minutes" nullable:"false" doc:"How long before the begin, at most five times"`
	ReminderChannels           []string        `json:"reminder_channels" nullable:"false" doc:"How clients are reminded: email, whatsapp"`
	DepositHoldMinutes         int             `json:"deposit_hold_minutes" doc:"How long a booking waits for its deposit"`
	DepositRefundNoticeMinutes *int            `json:"deposit_refund_notice_minutes" doc:"How long before the begin a cancellation still gives the deposit back; null: never"`
	InactiveAfterDays          int             `json:"inactive_after_days" doc:"Clients without a visit for so long count as inactive"`
	WaitlistEnabled            bool            `json:"waitlist_enabled" doc:"Whether clients can ask to be notified of free times"`
	ProofOfWork                bool            `json:"proof_of_work" doc:"Booking online, holding a time and joining the waiting list take a solved challenge; the page solves it with JavaScript"`
	WeekStart                  int             `json:"week_start" doc:"First day in calendars: 0 = Monday to 6 = Sunday"`
	TimeFormat                 string          `json:"time_format" enum:"24h,12h" doc:"How clock times are shown"`
	BookingPage                json.RawMessage `json:"booking_page" doc:"Look of the public page: an object with the members of BookingPage"`
	NotifyEmails               []string        `json:"notify_emails" nullable:"false" doc:"Who is written to about bookings besides the professional"`
	RemarketingPeriodDays      int             `json:"remarketing_period_days" doc:"Clients are written to once in it at most"`
	RemarketingMessage         *string         `json:"remarketing_message" doc:"What inactive clients are written; null: the standard text"`
	DefaultAreaCode            *string         `json:"default_area_code" doc:"The area code of phone numbers that are sent without theirs; null: they are refused"`
}

type settingsInput struct {
	Body settingsFields `nameHint:"SettingsFields"`
}

type settingsFields struct {
	BookingEnabled             optional[bool]        `json:"booking_enabled,omitempty" doc:"Whether clients book online"`
	BookingDisabledMessage     nullable[string]      `json:"booking_disabled_message,omitempty" maxLength:"500" doc:"null: the standard text"`
	AutoConfirm                optional[bool]        `json:"auto_confirm,omitempty" doc:"Bookings online are confirmed at once"`
	SlotIntervalMinutes        nullable[int]         `json:"slot_interval_minutes,omitempty" minimum:"5" maximum:"240" doc:"null: the duration of the service"`
	MinNoticeMinutes           optional[int]         `json:"min_notice_minutes,omitempty" minimum:"0" maximum:"43200" doc:"How long before its begin a time can last be booked online"`
	MaxAdvanceDays             nullable[int]         `json:"max_advance_days,omitempty" minimum:"1" maximum:"730" doc:"null: no limit"`
	CancelNoticeMinutes        optional[int]         `json:"cancel_notice_minutes,omitempty" minimum:"0" maximum:"43200" doc:"How long before its begin clients can last cancel online"`
	RescheduleNoticeMinutes    optional[int]         `json:"reschedule_notice_minutes,omitempty" minimum:"0" maximum:"43200" doc:"How long before its begin clients can last move it online"`
	AllowClientCancel          optional[bool]        `json:"allow_client_cancel,omitempty" doc:"Whether clients cancel online"`
	AllowClientReschedule      optional[bool]        `json:"allow_client_reschedule,omitempty" doc:"Whether clients move appointments online"`
	BufferBeforeMinutes        optional[int]         `json:"buffer_before_minutes,omitempty" minimum:"0" maximum:"240" doc:"Time kept free before each appointment"`
	BufferAfterMinutes         optional[int]         `json:"buffer_after_minutes,omitempty" minimum:"0" maximum:"240" doc:"Time kept free after each appointment"`
	MaxBookingsPerDay          nullable[int]         `json:"max_bookings_per_day,omitempty" minimum:"1" maximum:"200" doc:"null: no limit"`
	MaxActiveBookingsPerClient nullable[int]         `json:"max_active_bookings_per_client,omitempty" minimum:"1" maximum:"50" doc:"null: no limit"`
	AllowAnyProfessional       optional[bool]        `json:"allow_any_professional,omitempty" doc:"Whether clients may leave open who does it"`
	RequireClientPhone         optional[bool]        `json:"require_client_phone,omitempty" doc:"Booking online needs a number"`
	RequireClientEmail         optional[bool]        `json:"require_client_email,omitempty" doc:"Booking online needs an address for mail"`
	RemindersEnabled           optional[bool]        `json:"reminders_enabled,omitempty" doc:"Whether clients are reminded"`
	ReminderOffsetsMinutes     optional[[]int]       `json:"reminder_offsets_minutes,omitempty" maxItems:"5" doc:"How long before the begin, 10 to 20160 each"`
	ReminderChannels           optional[[]string]    `json:"reminder_channels,omitempty" maxItems:"10" doc:"How clients are reminded: email, whatsapp"`
	DepositHoldMinutes         optional[int]         `json:"deposit_hold_minutes,omitempty" minimum:"5" maximum:"1440" doc:"How long a booking waits for its deposit"`
	DepositRefundNoticeMinutes nullable[int]         `json:"deposit_refund_notice_minutes,omitempty" minimum:"0" maximum:"43200" doc:"null: deposits are not refunded"`
	InactiveAfterDays          optional[int]         `json:"inactive_after_days,omitempty" minimum:"7" maximum:"730" doc:"Clients without a visit for so long count as inactive"`
	WaitlistEnabled            optional[bool]        `json:"waitlist_enabled,omitempty" doc:"Whether clients can ask to be notified of free times"`
	ProofOfWork                optional[bool]        `json:"proof_of_work,omitempty" doc:"Booking online, holding a time and joining the waiting list take a solved challenge; the page solves it with JavaScript"`
	WeekStart                  optional[int]         `json:"week_start,omitempty" minimum:"0" maximum:"6" doc:"First day in calendars: 0 = Monday to 6 = Sunday"`
	TimeFormat                 optional[string]      `json:"time_format,omitempty" enum:"24h,12h" doc:"How clock times are shown"`
	BookingPage                nullable[BookingPage] `json:"booking_page,omitempty" doc:"Members that are absent stay; null: all of them back to the default"`
	NotifyEmails               optional[[]string]    `json:"notify_emails,omitempty" maxItems:"10" doc:"Who is written to about bookings besides the professional"`
	RemarketingPeriodDays      optional[int]         `json:"remarketing_period_days,omitempty" minimum:"30" maximum:"730" doc:"Clients are written to once in it at most"`
	RemarketingMessage         nullable[string]      `json:"remarketing_message,omitempty" maxLength:"2000" doc:"null: the standard text"`
	DefaultAreaCode            nullable[string]      `json:"default_area_code,omitempty" example:"11" maxLength:"2" doc:"An area code of Brazil, for phone numbers that are sent without theirs; null: they are refused"`
}

// BookingPage is the appearance of the public booking page.
type BookingPage struct {
	PrimaryColor        nullable[string]   `json:"primary_color,omitzero" maxLength:"7" pattern:"^#[0-9A-Fa-f]{6}$" doc:"null: the default"`
	WelcomeMessage      nullable[string]   `json:"welcome_message,omitzero" maxLength:"1000" doc:"null: none"`
	CancellationPolicy  nullable[string]   `json:"cancellation_policy,omitzero" maxLength:"2000" doc:"null: none"`
	TermsURL            nullable[string]   `json:"terms_url,omitzero" maxLength:"2048" doc:"null: none"`
	PrivacyURL          nullable[string]   `json:"privacy_url,omitzero" maxLength:"2048" doc:"null: none"`
	ShowPrices          nullable[bool]     `json:"show_prices,omitzero" doc:"null: the default"`
	EmbedAllowedOrigins nullable[[]string] `json:"embed_allowed_origins,omitzero" maxItems:"20" doc:"null: the default"`
}

func (p *BookingPage) validate() error {
	const prefix = "body.booking_page."
	var errs fieldErrors
	if p.PrimaryColor.HasValue() {
		errs.checkColor(p.PrimaryColor.Value, prefix+"primary_color")
	}
	errs.CheckLength(p.WelcomeMessage.Value, prefix+"welcome_message", 0, 1000)
	errs.CheckLength(p.CancellationPolicy.Value, prefix+"cancellation_policy", 0, 2000)
	if p.TermsURL.HasValue() {
		errs.CheckURL(&p.TermsURL.Value, prefix+"terms_url")
	}
	if p.PrivacyURL.HasValue() {
		errs.CheckURL(&p.PrivacyURL.Value, prefix+"privacy_url")
	}
	errs.Check(len(p.EmbedAllowedOrigins.Value) <= 20, prefix+"embed_allowed_origins", "must be at most 20")
	for i, origin := range p.EmbedAllowedOrigins.Value {
		u, err := url.Parse(origin)
		ok := err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && origin == u.Scheme+"://"+u.Host
		errs.Check(ok, fmt.Sprintf("%sembed_allowed_origins[%d]", prefix, i), "must be an origin such as https://example.com")
	}
	return errs.Err()
}

func toSettings(row store.Settings) Settings {
	return Settings{
		BookingEnabled: row.BookingEnabled, BookingDisabledMessage: row.BookingDisabledMessage, AutoConfirm: row.AutoConfirm,
		SlotIntervalMinutes: row.SlotIntervalMinutes, MinNoticeMinutes: row.MinNoticeMinutes, MaxAdvanceDays: row.MaxAdvanceDays,
		CancelNoticeMinutes: row.CancelNoticeMinutes, RescheduleNoticeMinutes: row.RescheduleNoticeMinutes,
		AllowClientCancel: row.AllowClientCancel, AllowClientReschedule: row.AllowClientReschedule,
		BufferBeforeMinutes: row.BufferBeforeMinutes, BufferAfterMinutes: row.BufferAfterMinutes, MaxBookingsPerDay: row.MaxBookingsPerDay,
		MaxActiveBookingsPerClient: row.MaxActiveBookingsPerClient, AllowAnyProfessional: row.AllowAnyProfessional,
		RequireClientPhone: row.RequireClientPhone, RequireClientEmail: row.RequireClientEmail, RemindersEnabled: row.RemindersEnabled,
		ReminderOffsetsMinutes: row.ReminderOffsetsMinutes, ReminderChannels: row.ReminderChannels, DepositHoldMinutes: row.DepositHoldMinutes,
		DepositRefundNoticeMinutes: row.DepositRefundNoticeMinutes, InactiveAfterDays: row.InactiveAfterDays, WaitlistEnabled: row.WaitlistEnabled, ProofOfWork: row.ProofOfWork,
		WeekStart: row.WeekStart, TimeFormat: row.TimeFormat, BookingPage: addPageDefaults(row.BookingPage), NotifyEmails: row.NotifyEmails,
		RemarketingPeriodDays: row.RemarketingPeriodDays, RemarketingMessage: row.RemarketingMessage,
		DefaultAreaCode: row.DefaultAreaCode,
	}
}

// addPageDefaults adds the defaults of unset members.
func addPageDefaults(raw json.RawMessage) json.RawMessage {
	page := map[string]any{"show_prices": true}
	if json.Unmarshal(raw, &page) != nil {
		return raw
	}
	encoded, err := json.Marshal(page)
	if err != nil {
		return raw
	}
	return encoded
}

// applyTo applies the fields to the settings and validates the result.
func (f *settingsFields) applyTo(settings *store.Settings) error {
	f.BookingEnabled.ApplyTo(&settings.BookingEnabled)
	f.BookingDisabledMessage.ApplyTo(&settings.BookingDisabledMessage)
	f.AutoConfirm.ApplyTo(&settings.AutoConfirm)
	f.SlotIntervalMinutes.ApplyTo(&settings.SlotIntervalMinutes)
	f.MinNoticeMinutes.ApplyTo(&settings.MinNoticeMinutes)
	f.MaxAdvanceDays.ApplyTo(&settings.MaxAdvanceDays)
	f.CancelNoticeMinutes.ApplyTo(&settings.CancelNoticeMinutes)
	f.RescheduleNoticeMinutes.ApplyTo(&settings.RescheduleNoticeMinutes)
	f.AllowClientCancel.ApplyTo(&settings.AllowClientCancel)
	f.AllowClientReschedule.ApplyTo(&settings.AllowClientReschedule)
	f.BufferBeforeMinutes.ApplyTo(&settings.BufferBeforeMinutes)
	f.BufferAfterMinutes.ApplyTo(&settings.BufferAfterMinutes)
	f.MaxBookingsPerDay.ApplyTo(&settings.MaxBookingsPerDay)
	f.MaxActiveBookingsPerClient.ApplyTo(&settings.MaxActiveBookingsPerClient)
	f.AllowAnyProfessional.ApplyTo(&settings.AllowAnyProfessional)
	f.RequireClientPhone.ApplyTo(&settings.RequireClientPhone)
	f.RequireClientEmail.ApplyTo(&settings.RequireClientEmail)
	f.RemindersEnabled.ApplyTo(&settings.RemindersEnabled)
	f.ReminderOffsetsMinutes.ApplyTo(&settings.ReminderOffsetsMinutes)
	f.ReminderChannels.ApplyTo(&settings.ReminderChannels)
	f.DepositHoldMinutes.ApplyTo(&settings.DepositHoldMinutes)
	f.DepositRefundNoticeMinutes.ApplyTo(&settings.DepositRefundNoticeMinutes)
	f.InactiveAfterDays.ApplyTo(&settings.InactiveAfterDays)
	f.WaitlistEnabled.ApplyTo(&settings.WaitlistEnabled)
	f.ProofOfWork.ApplyTo(&settings.ProofOfWork)
	f.WeekStart.ApplyTo(&settings.WeekStart)
	f.TimeFormat.ApplyTo(&settings.TimeFormat)
	f.NotifyEmails.ApplyTo(&settings.NotifyEmails)
	f.RemarketingPeriodDays.ApplyTo(&settings.RemarketingPeriodDays)
	f.RemarketingMessage.ApplyTo(&settings.RemarketingMessage)
	f.DefaultAreaCode.ApplyTo(&settings.DefaultAreaCode)
	return validateSettings(settings)
}

func validateSettings(settings *store.Settings) error {
	var errs fieldErrors
	if err := errs.merge(store.PolicyOf(*settings).Validate()); err != nil {
		return err
	}
	errs.CheckLength(pointer.ValueOrZero(settings.BookingDisabledMessage), "body.booking_disabled_message", 0, 500)
	limit := settings.MaxActiveBookingsPerClient
	errs.Check(limit == nil || *limit >= 1 && *limit <= 50, "body.max_active_bookings_per_client", "must be 1 to 50")
	errs.Check(len(settings.ReminderOffsetsMinutes) <= 5, "body.reminder_offsets_minutes", "must be at most 5")
	for i, offset := range settings.ReminderOffsetsMinutes {
		errs.Check(offset >= 10 && offset <= 20160, fmt.Sprintf("body.reminder_offsets_minutes[%d]", i), "must be 10 to 20160")
	}
	for i, channel := range settings.ReminderChannels {
		errs.Check(channel == "email" || channel == "whatsapp", fmt.Sprintf("body.reminder_channels[%d]", i), "must be email or whatsapp")
	}
	slices.Sort(settings.ReminderChannels)
	settings.ReminderChannels = slices.Compact(settings.ReminderChannels)
	errs.Check(settings.InactiveAfterDays >= 7 && settings.InactiveAfterDays <= 730, "body.inactive_after_days", "must be 7 to 730")
	errs.Check(settings.WeekStart >= 0 && settings.WeekStart <= 6, "body.week_start", "must be 0 to 6")
	errs.Check(settings.RemarketingPeriodDays >= 30 && settings.RemarketingPeriodDays <= 730, "body.remarketing_period_days", "must be 30 to 730")
	errs.CheckLength(pointer.ValueOrZero(settings.RemarketingMessage), "body.remarketing_message", 0, 2000)
	errs.Check(settings.DefaultAreaCode == nil || brazil.IsAreaCode(*settings.DefaultAreaCode), "body.default_area_code", "must be an area code of Brazil, such as 11")
	errs.Check(len(settings.NotifyEmails) <= 10, "body.notify_emails", "must be at most 10")
	for i := range settings.NotifyEmails {
		errs.CheckEmail(&settings.NotifyEmails[i], fmt.Sprintf("body.notify_emails[%d]", i))
	}
	return errs.Err()
}

// isCurrency reports whether code is an ISO 4217 currency in circulation.
func isCurrency(code string) bool { return slices.Contains(currencies, code) }
