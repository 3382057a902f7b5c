package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module/language"
	"integrationhub/hub/module/rest"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/proofofwork"
	"integrationhub/scheduling/internal/publicbooking"
	"integrationhub/scheduling/internal/store"
)

// Slug is the path parameter of an organization's public booking.
type Slug struct {
	Slug string `path:"slug" maxLength:"63" doc:"Part of the public address; an old one works for 90 days"`
}

// PublicOrganization is the public part of an organization.
type PublicOrganization struct {
	Name           string  `json:"name" doc:"How clients see it"`
	LogoURL        *string `json:"logo_url" doc:"Picture of it; null: none"`
	Phone          *string `json:"phone" doc:"In international form, +5511987654321; null: none"`
	Timezone       string  `json:"timezone" doc:"IANA zone that days and times are counted in"`
	Currency       string  `json:"currency" doc:"ISO 4217 code of all amounts"`
	Slug           string  `json:"slug" doc:"The present one"`
	Locale         string  `json:"locale" doc:"Language of the page"`
	BookingEnabled bool    `json:"booking_enabled" doc:"Whether clients book online"`
	Message        *string `json:"booking_disabled_message" doc:"What to say while they cannot; null: the standard text"`
	ProofOfWork    bool    `json:"proof_of_work" doc:"Booking, holding a time and joining the waiting list take a solved challenge"`
}

// PublicService is a service in public booking.
type PublicService struct {
	ID              uuid.UUID      `json:"id" doc:"Send it as service_id"`
	Name            string         `json:"name" doc:"Display name"`
	Description     string         `json:"description" doc:"Text that people see"`
	DurationMinutes int            `json:"duration_minutes" doc:"Length in minutes"`
	Price           booking.Cents  `json:"price" doc:"Amount to pay, in the organization's currency"`
	Color           string         `json:"color" doc:"How calendars paint it, #RRGGBB"`
	RequiresDeposit bool           `json:"requires_deposit" doc:"Whether a part is paid in advance"`
	DepositAmount   *booking.Cents `json:"deposit_amount" doc:"Part of the price that is paid in advance; null: none"`
	Category        *string        `json:"category" doc:"Heading it is listed below; null: none"`
	ImageURL        *string        `json:"image_url" doc:"Picture of it; null: none"`
}

// PublicProfessional is a professional in public booking, with the terms of a service.
type PublicProfessional struct {
	ID              uuid.UUID     `json:"id" doc:"Send it as professional_id"`
	Name            string        `json:"name" doc:"Display name"`
	Bio             *string       `json:"bio" doc:"What clients read of the professional; null: nothing"`
	AvatarURL       *string       `json:"avatar_url" doc:"Picture of the professional; null: none"`
	Specialty       *string       `json:"specialty" doc:"What the professional does best; null: nothing special"`
	DurationMinutes int           `json:"duration_minutes" doc:"Length in minutes"`
	Price           booking.Cents `json:"price" doc:"Amount to pay, in the organization's currency"`
}

func (a *API) getPublicOrganization(ctx context.Context, in *Slug) (*struct{ Body PublicOrganization }, error) {
	org, err := a.publicBooking.Organization(ctx, in.Slug)
	if err != nil {
		return nil, err
	}
	output := PublicOrganization{
		Name: org.Name, LogoURL: a.publicBooking.LogoURL(org), Phone: org.Phone, Timezone: org.Timezone, Currency: org.Currency, Slug: org.Slug, Locale: org.Locale,
		BookingEnabled: org.Settings.BookingEnabled, ProofOfWork: org.Settings.ProofOfWork,
	}
	if !output.BookingEnabled {
		output.Message = org.Settings.BookingDisabledMessage
	}
	return &struct{ Body PublicOrganization }{output}, nil
}

func (a *API) listPublicServices(ctx context.Context, in *Slug) (*struct{ Body []PublicService }, error) {
	org, err := a.publicBooking.Organization(ctx, in.Slug)
	if err != nil {
		return nil, err
	}
	rows, err := a.publicBooking.Services(ctx, org)
	return &struct{ Body []PublicService }{rest.Map(rows, func(service store.Service) PublicService {
		return PublicService{service.ID, service.Name, service.Description, service.DurationMinutes, service.PriceCents, service.Color, service.RequiresDeposit, service.DepositCents, service.Category, a.publicBooking.PhotoURL(service.ImageKey, service.ImageUrl)}
	})}, err
}

type publicProfessionalsInput struct {
	Slug
	ServiceID uuid.UUID `query:"service_id" required:"true" doc:"Only those who offer it"`
}

func (a *API) listPublicProfessionals(ctx context.Context, in *publicProfessionalsInput) (*struct{ Body []PublicProfessional }, error) {
	org, err := a.publicBooking.Organization(ctx, in.Slug.Slug)
	if err != nil {
		return nil, err
	}
	offers, err := a.publicBooking.Professionals(ctx, org, in.ServiceID)
	return &struct{ Body []PublicProfessional }{rest.Map(offers, func(row store.ServiceOffer) PublicProfessional {
		offer := store.ResolveOffer(row, org.Policy)
		return PublicProfessional{
			ID: row.ProfessionalID, Name: row.ProfessionalName, Bio: row.Bio, AvatarURL: a.publicBooking.PhotoURL(row.AvatarKey, row.AvatarUrl), Specialty: row.Specialty,
			DurationMinutes: int(offer.Duration.Minutes()), Price: offer.Price,
		}
	})}, err
}

type publicAvailabilityInput struct {
	Slug
	AvailabilityQuery
}

func (a *API) getPublicAvailability(ctx context.Context, in *publicAvailabilityInput) (*availabilityOutput, error) {
	org, err := a.publicBooking.Organization(ctx, in.Slug.Slug)
	if err != nil {
		return nil, err
	}
	return a.dayAvailability(ctx, a.publicBooking.ClientView(org), &in.AvailabilityQuery)
}

type publicBookInput struct {
	Slug
	AcceptLanguage string `header:"Accept-Language" maxLength:"1000" doc:"Language of the client's mail where locale is absent"`
	Body           struct {
		ServiceID      uuid.UUID           `json:"service_id" doc:"Service that is booked"`
		ProfessionalID nullable[uuid.UUID] `json:"professional_id,omitempty" doc:"null or absent: whoever has the fewest bookings that day"`
		StartAt        string              `json:"start_at" maxLength:"35" doc:"Start: ISO 8601 date-time with UTC offset; fractions of a second are dropped" example:"2026-03-02T09:00:00-03:00"`
		ClientName     string              `json:"client_name" minLength:"1" maxLength:"120" doc:"Who comes"`
		ClientPhone    nullable[string]    `json:"client_phone,omitempty" maxLength:"40" doc:"null or absent: none"`
		ClientEmail    nullable[string]    `json:"client_email,omitempty" maxLength:"254" doc:"null or absent: none"`
		Notes          nullable[string]    `json:"notes,omitempty" maxLength:"500" doc:"null or absent: none"`
		HoldID         optional[uuid.UUID] `json:"hold_id,omitempty" doc:"The client's hold of the time"`
		Consent        optional[bool]      `json:"marketing_consent,omitempty" doc:"Agrees to be written to about offers"`
		Locale         optional[string]    `json:"locale,omitempty" enum:"pt-BR,en,es" doc:"Language of the client's mail; absent: that of Accept-Language, else the organization's"`
		Altcha         string              `json:"altcha,omitempty" maxLength:"2000" doc:"Where proof_of_work is true: the solved challenge as the ALTCHA widget sends it, base64 of a JSON object with algorithm, challenge, number, salt and signature. Each counts once"`
		Website        string              `json:"website,omitempty" maxLength:"0" doc:"Leave it empty: people do not see it, programs fill it in"`
	} `nameHint:"PublicBooking"`
}

// issueChallenge returns a new proof-of-work challenge. Each is valid for a single
// booking.
func (a *API) issueChallenge(ctx context.Context, in *Slug) (*struct{ Body proofofwork.Challenge }, error) {
	org, err := a.publicBooking.Organization(ctx, in.Slug)
	if err != nil {
		return nil, err
	}
	return &struct{ Body proofofwork.Challenge }{a.publicBooking.NewChallenge(org)}, nil
}

// PublicBooked is a booking in the client's view.
type PublicBooked struct {
	AppointmentID uuid.UUID              `json:"appointment_id" doc:"Names the appointment"`
	CancelToken   string                 `json:"cancel_token" doc:"Secret with which the client reads, moves and cancels it"`
	CancelURL     string                 `json:"cancel_url" doc:"Page where the client does so"`
	Status        booking.Status         `json:"status" doc:"State of the appointment: scheduled, confirmed, completed, cancelled or no_show"`
	StartAt       time.Time              `json:"start_at" doc:"When it begins, in the organization's time zone"`
	EndAt         time.Time              `json:"end_at" doc:"When it ends, in the organization's time zone"`
	Timezone      string                 `json:"timezone" doc:"IANA zone that days and times are counted in"`
	Service       string                 `json:"service" doc:"Name of what is booked"`
	Professional  string                 `json:"professional" doc:"Name of who does it"`
	Deposit       *publicbooking.Deposit `json:"deposit" doc:"To be paid in advance; null: none is due"`
}

func toPublicBooked(org store.Org, booked publicbooking.Booking) *struct{ Body PublicBooked } {
	return &struct{ Body PublicBooked }{PublicBooked{
		AppointmentID: booked.ID, CancelToken: booked.Token, CancelURL: booked.ManageURL, Status: booked.Status, StartAt: booked.StartAt.In(org.Zone), EndAt: booked.EndAt.In(org.Zone),
		Timezone: org.Timezone, Service: booked.ServiceName, Professional: booked.ProfessionalName, Deposit: booked.Deposit,
	}}
}

func (a *API) bookPublicly(ctx context.Context, in *publicBookInput) (*struct{ Body PublicBooked }, error) {
	org, err := a.publicBooking.Organization(ctx, in.Slug.Slug)
	if err != nil {
		return nil, err
	}
	body := &in.Body
	start, err := parseInstant("body.start_at", body.StartAt)
	if err != nil {
		return nil, err
	}
	request := booking.Request{
		Service: body.ServiceID, Start: start, Name: body.ClientName, Phone: body.ClientPhone.Value, Email: body.ClientEmail.Value, Notes: body.Notes.Value,
		Proof: body.Altcha, Locale: language.MatchAcceptLanguage(in.AcceptLanguage, "pt-BR", "en", "es"),
	}
	body.Locale.ApplyTo(&request.Locale)
	body.ProfessionalID.ApplyTo(&request.Professional)
	body.HoldID.ApplyTo(&request.Hold)
	body.Consent.ApplyTo(&request.Consent)
	booked, err := a.publicBooking.BookOnline(ctx, org, request, nil)
	if err != nil {
		return nil, err
	}
	return toPublicBooked(org, booked), nil
}

type publicCancelInput struct {
	Slug
	Body struct {
		CancelToken string           `json:"cancel_token,omitempty" maxLength:"200" doc:"Secret of the booking"`
		Token       string           `json:"token,omitempty" maxLength:"200" doc:"The same as cancel_token"`
		Reason      optional[string] `json:"reason,omitempty" maxLength:"500" doc:"Why, in the caller's words"`
	} `nameHint:"PublicCancel"`
}

// PublicCancelled is a cancelled booking in the client's view.
type PublicCancelled struct {
	AppointmentID uuid.UUID      `json:"appointment_id" doc:"Names the appointment"`
	Status        booking.Status `json:"status" doc:"State of the appointment: scheduled, confirmed, completed, cancelled or no_show"`
	CancelledAt   *time.Time     `json:"cancelled_at" doc:"When it was cancelled"`
	Refund        *string        `json:"refund" doc:"pending while a paid deposit is still to be refunded; null: no refund is due. A payment that is not known yet is refunded by the same rule later"`
}

func (a *API) cancelByToken(ctx context.Context, in *publicCancelInput) (*struct{ Body PublicCancelled }, error) {
	token := in.Body.CancelToken
	if token == "" {
		token = in.Body.Token
	}
	if token == "" {
		return nil, hub.Invalid("body.cancel_token", "is required")
	}
	reason, err := parseReason(in.Body.Reason)
	if err != nil {
		return nil, err
	}
	org, err := a.publicBooking.Organization(ctx, in.Slug.Slug)
	if err != nil {
		return nil, err
	}
	cancelled, err := a.publicBooking.Cancel(ctx, org, token, reason)
	if err != nil {
		return nil, err
	}
	output := PublicCancelled{AppointmentID: cancelled.ID, Status: cancelled.Status, CancelledAt: inZone(cancelled.CancelledAt, org.Zone)}
	if cancelled.DepositStatus == booking.DepositPaid {
		pending := "pending"
		output.Refund = &pending
	}
	return &struct{ Body PublicCancelled }{output}, nil
}

type publicTokenInput struct {
	Slug
	Token string `query:"token" required:"true" maxLength:"200" doc:"Secret of the booking"`
}

func (a *API) getAppointmentByToken(ctx context.Context, in *publicTokenInput) (*struct{ Body PublicBooked }, error) {
	org, err := a.publicBooking.Organization(ctx, in.Slug.Slug)
	if err != nil {
		return nil, err
	}
	found, err := a.publicBooking.BookingByToken(ctx, org, in.Token)
	if err != nil {
		return nil, err
	}
	return toPublicBooked(org, found), nil
}

type publicRescheduleInput struct {
	Slug
	Body struct {
		CancelToken string `json:"cancel_token" maxLength:"200" doc:"Secret of the booking"`
		StartAt     string `json:"start_at" maxLength:"35" doc:"New start: ISO 8601 date-time with UTC offset; fractions of a second are dropped"`
	} `nameHint:"PublicReschedule"`
}

func (a *API) rescheduleByToken(ctx context.Context, in *publicRescheduleInput) (*struct{ Body PublicBooked }, error) {
	start, err := parseInstant("body.start_at", in.Body.StartAt)
	if err != nil {
		return nil, err
	}
	org, err := a.publicBooking.Organization(ctx, in.Slug.Slug)
	if err != nil {
		return nil, err
	}
	rescheduled, err := a.publicBooking.Reschedule(ctx, org, in.Body.CancelToken, start)
	if err != nil {
		return nil, err
	}
	return toPublicBooked(org, rescheduled), nil
}

type holdSlotInput struct {
	Slug
	Body struct {
		ServiceID      uuid.UUID           `json:"service_id" doc:"Service that is booked"`
		ProfessionalID nullable[uuid.UUID] `json:"professional_id,omitempty" doc:"null or absent: whoever has the fewest bookings that day"`
		StartAt        string              `json:"start_at" maxLength:"35" doc:"Start: ISO 8601 date-time with UTC offset; fractions of a second are dropped"`
		HoldID         optional[uuid.UUID] `json:"hold_id,omitempty" doc:"hold to replace"`
		Altcha         string              `json:"altcha,omitempty" maxLength:"2000" doc:"Where proof_of_work is true: the solved challenge, as for a booking. Each counts once"`
	} `nameHint:"PublicHold"`
}

// PublicHeld is a slot on hold while the client fills in the form.
type PublicHeld struct {
	HoldID         uuid.UUID     `json:"hold_id" doc:"Send it with the booking"`
	ProfessionalID uuid.UUID     `json:"professional_id" doc:"Professional who does it"`
	StartAt        time.Time     `json:"start_at" doc:"When it begins, in the organization's time zone"`
	EndAt          time.Time     `json:"end_at" doc:"When it ends, in the organization's time zone"`
	Price          booking.Cents `json:"price" doc:"Amount to pay, in the organization's currency"`
	Deposit        booking.Cents `json:"deposit" doc:"0: none is due"`
	ExpiresAt      time.Time     `json:"expires_at" doc:"Until when the time is kept"`
}

func (a *API) holdSlot(ctx context.Context, in *holdSlotInput) (*struct{ Body PublicHeld }, error) {
	org, err := a.publicBooking.Organization(ctx, in.Slug.Slug)
	if err != nil {
		return nil, err
	}
	start, err := parseInstant("body.start_at", in.Body.StartAt)
	if err != nil {
		return nil, err
	}
	choice, previousHold := publicbooking.Choice{Service: in.Body.ServiceID}, uuid.Nil
	in.Body.ProfessionalID.ApplyTo(&choice.Professional)
	in.Body.HoldID.ApplyTo(&previousHold)
	held, err := a.publicBooking.Hold(ctx, org, choice, start, previousHold, in.Body.Altcha)
	return &struct{ Body PublicHeld }{PublicHeld{
		HoldID: held.ID, ProfessionalID: held.Professional, StartAt: held.Start.In(org.Zone), EndAt: held.End.In(org.Zone),
		Price: held.Price, Deposit: held.Deposit, ExpiresAt: held.ExpiresAt.In(org.Zone),
	}}, err
}

type joinWaitlistInput struct {
	Slug
	Body struct {
		ServiceID      uuid.UUID           `json:"service_id" doc:"Service that is booked"`
		ProfessionalID nullable[uuid.UUID] `json:"professional_id,omitempty" doc:"null or absent: anybody"`
		FirstDate      string              `json:"first_date" format:"date" doc:"First day that suits, YYYY-MM-DD" example:"2026-03-02"`
		LastDate       string              `json:"last_date" format:"date" doc:"At most 92 days later"`
		ClientName     string              `json:"client_name" minLength:"1" maxLength:"120" doc:"Who waits"`
		ClientPhone    nullable[string]    `json:"client_phone,omitempty" maxLength:"40" doc:"null or absent: none"`
		ClientEmail    string              `json:"client_email" maxLength:"254" doc:"Where the client is notified"`
		Website        string              `json:"website,omitempty" maxLength:"0" doc:"Leave it empty: people do not see it, programs fill it in"`
		Altcha         string              `json:"altcha,omitempty" maxLength:"2000" doc:"Where proof_of_work is true: the solved challenge, as for a booking. Each counts once"`
	} `nameHint:"PublicWait"`
}

// PublicWaiting is a waitlist entry.
type PublicWaiting struct {
	ID        uuid.UUID `json:"id" doc:"Names the entry"`
	FirstDate string    `json:"first_date" doc:"First day that suits"`
	LastDate  string    `json:"last_date" doc:"Last day that suits"`
}

// joinWaitlist adds a client to the waitlist.
func (a *API) joinWaitlist(ctx context.Context, in *joinWaitlistInput) (*struct{ Body PublicWaiting }, error) {
	org, err := a.publicBooking.Organization(ctx, in.Slug.Slug)
	if err != nil {
		return nil, err
	}
	body := &in.Body
	first, err := parseDate("body.first_date", body.FirstDate)
	if err != nil {
		return nil, err
	}
	last, err := parseDate("body.last_date", body.LastDate)
	if err != nil {
		return nil, err
	}
	contact := booking.Request{Name: body.ClientName, Phone: body.ClientPhone.Value, Email: body.ClientEmail}
	if err := contact.Validate(booking.RequiredFields{Phone: org.Settings.RequireClientPhone, Email: true, AreaCode: org.AreaCode()}); err != nil {
		return nil, err
	}
	choice := publicbooking.Choice{Service: body.ServiceID}
	body.ProfessionalID.ApplyTo(&choice.Professional)
	id, err := a.publicBooking.JoinWaitlist(ctx, org, choice, store.Contact{Name: contact.Name, Phone: contact.Phone, Email: contact.Email, Source: "client"}, first, last, body.Altcha)
	return &struct{ Body PublicWaiting }{PublicWaiting{id, body.FirstDate, body.LastDate}}, err
}
