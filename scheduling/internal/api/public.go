package api

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/payment"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

// Slug is the path of an organization's public booking.
type Slug struct {
	Slug string `path:"slug" maxLength:"63"`
}

// PublicOrganization is what everybody may know of an organization.
type PublicOrganization struct {
	Name           string  `json:"name"`
	LogoURL        *string `json:"logo_url"`
	Phone          *string `json:"phone"`
	Timezone       string  `json:"timezone"`
	Currency       string  `json:"currency"`
	Slug           string  `json:"slug" doc:"The present one"`
	Locale         string  `json:"locale"`
	BookingEnabled bool    `json:"booking_enabled"`
	Message        *string `json:"booking_disabled_message"`
}

// PublicService is a service as clients see it.
type PublicService struct {
	ID              uuid.UUID      `json:"id"`
	Name            string         `json:"name"`
	Description     string         `json:"description"`
	DurationMinutes int            `json:"duration_minutes"`
	Price           booking.Cents  `json:"price"`
	Color           string         `json:"color"`
	RequiresDeposit bool           `json:"requires_deposit"`
	DepositAmount   *booking.Cents `json:"deposit_amount"`
	Category        *string        `json:"category"`
}

// PublicProfessional is a professional as clients see them, with one service.
type PublicProfessional struct {
	ID              uuid.UUID     `json:"id"`
	Name            string        `json:"name"`
	Bio             *string       `json:"bio"`
	AvatarURL       *string       `json:"avatar_url"`
	Specialty       *string       `json:"specialty"`
	DurationMinutes int           `json:"duration_minutes"`
	Price           booking.Cents `json:"price"`
}

func (a *API) publicOrganization(ctx context.Context, in *Slug) (*struct{ Body PublicOrganization }, error) {
	o, err := a.store.OrgBySlug(ctx, in.Slug)
	if err != nil {
		return nil, err
	}
	shown := PublicOrganization{
		Name: o.Name, LogoURL: a.logoURL(o), Phone: o.Phone, Timezone: o.Timezone, Currency: o.Currency, Slug: o.Slug, Locale: o.Locale,
		BookingEnabled: o.Settings.BookingEnabled,
	}
	if !shown.BookingEnabled {
		shown.Message = o.Settings.BookingDisabledMessage
	}
	return &struct{ Body PublicOrganization }{shown}, nil
}

func (a *API) publicServices(ctx context.Context, in *Slug) (*struct{ Body []PublicService }, error) {
	o, err := a.store.OrgBySlug(ctx, in.Slug)
	if err != nil {
		return nil, err
	}
	rows, err := a.store.ListServices(ctx, o.ID)
	list := []PublicService{}
	for _, s := range rows {
		if s.IsActive && s.IsPublic {
			list = append(list, PublicService{s.ID, s.Name, s.Description, s.DurationMinutes, s.PriceCents, s.Color, s.RequiresDeposit, s.DepositCents, s.Category})
		}
	}
	return &struct{ Body []PublicService }{list}, err
}

type publicProfessionalsInput struct {
	Slug
	ServiceID uuid.UUID `query:"service_id" required:"true"`
}

func (a *API) publicProfessionals(ctx context.Context, in *publicProfessionalsInput) (*struct{ Body []PublicProfessional }, error) {
	o, err := a.store.OrgBySlug(ctx, in.Slug.Slug)
	if err != nil {
		return nil, err
	}
	offers, err := store.OffersOf(ctx, a.store.Queries, o.ID, store.Choice{Service: in.ServiceID, Online: true})
	return &struct{ Body []PublicProfessional }{mapped(offers, func(row dbgen.OffersRow) PublicProfessional {
		offer := store.OfferOf(row, o.Policy)
		return PublicProfessional{
			ID: row.ProfessionalID, Name: row.ProfessionalName, Bio: row.Bio, AvatarURL: row.AvatarUrl, Specialty: row.Specialty,
			DurationMinutes: int(offer.Duration.Minutes()), Price: offer.Price,
		}
	})}, err
}

// publicView is what clients see of an organization's time.
func (a *API) publicView(o store.Org) view {
	v := view{o, true, o.Policy.PublicLimits(a.kit.Now(), o.Zone)}
	if !o.Settings.BookingEnabled {
		v.limits.LastDate = new(booking.Date) // nothing can be booked
	}
	return v
}

type publicAvailabilityInput struct {
	Slug
	AvailabilityQuery
}

func (a *API) publicAvailability(ctx context.Context, in *publicAvailabilityInput) (*availabilityOutput, error) {
	o, err := a.store.OrgBySlug(ctx, in.Slug.Slug)
	if err != nil {
		return nil, err
	}
	return a.day(ctx, a.publicView(o), &in.AvailabilityQuery)
}

type publicBookInput struct {
	Slug
	Body struct {
		ServiceID      uuid.UUID           `json:"service_id"`
		ProfessionalID optional[uuid.UUID] `json:"professional_id,omitempty" doc:"Absent: whoever has the fewest bookings that day"`
		StartAt        string              `json:"start_at" example:"2026-03-02T09:00:00-03:00"`
		ClientName     string              `json:"client_name"`
		ClientPhone    optional[string]    `json:"client_phone,omitempty"`
		ClientEmail    optional[string]    `json:"client_email,omitempty"`
		Notes          optional[string]    `json:"notes,omitempty"`
		Website        string              `json:"website,omitempty" maxLength:"0" doc:"Leave it empty: people do not see it, programs fill it in"`
	} `nameHint:"PublicBooking"`
}

// PublicBooked is a booking as its client sees it.
type PublicBooked struct {
	AppointmentID uuid.UUID      `json:"appointment_id"`
	CancelToken   string         `json:"cancel_token"`
	CancelURL     string         `json:"cancel_url"`
	Status        booking.Status `json:"status"`
	StartAt       time.Time      `json:"start_at"`
	EndAt         time.Time      `json:"end_at"`
	Timezone      string         `json:"timezone"`
	Service       string         `json:"service"`
	Professional  string         `json:"professional"`
	Deposit       *Deposit       `json:"deposit"`
}

// Deposit is what a client has to pay to keep the slot.
type Deposit struct {
	Amount       booking.Cents `json:"amount"`
	PixCopyPaste *string       `json:"pix_copy_paste"`
	QRCode       *string       `json:"qr_code_base64"`
	ExpiresAt    *time.Time    `json:"expires_at"`
}

// publicBooked shows an appointment to its client, with the charge for its deposit
// where that is still to be paid.
func (a *API) publicBooked(o store.Org, d dbgen.AppointmentDetail, charge *dbgen.PaymentDetail) (*struct{ Body PublicBooked }, error) {
	token := a.clientToken(d.ID, d.TokenVersion)
	shown := PublicBooked{
		AppointmentID: d.ID, CancelToken: token, CancelURL: a.cancelURL(o, token), Status: d.Status, StartAt: d.StartAt.In(o.Zone), EndAt: d.EndAt.In(o.Zone),
		Timezone: o.Timezone, Service: d.ServiceName, Professional: d.ProfessionalName,
	}
	if d.DepositStatus == booking.DepositPending && d.DepositCents != nil {
		shown.Deposit = &Deposit{Amount: *d.DepositCents, ExpiresAt: local(d.HoldUntil, o.Zone)}
		if charge != nil && charge.PixCopyPaste != nil {
			picture, err := payment.QR(*charge.PixCopyPaste)
			if err != nil {
				return nil, err
			}
			encoded := base64.StdEncoding.EncodeToString(picture)
			shown.Deposit.PixCopyPaste, shown.Deposit.QRCode = charge.PixCopyPaste, &encoded
		}
	}
	return &struct{ Body PublicBooked }{shown}, nil
}

// showPublic is [API.publicBooked] with the charge looked up.
func (a *API) showPublic(ctx context.Context, o store.Org, d dbgen.AppointmentDetail) (*struct{ Body PublicBooked }, error) {
	if d.DepositStatus != booking.DepositPending {
		return a.publicBooked(o, d, nil)
	}
	charge, err := a.store.OpenDeposit(ctx, o.ID, &d.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		return a.publicBooked(o, d, nil)
	}
	if err != nil {
		return nil, err
	}
	return a.publicBooked(o, d, &charge)
}

func (a *API) cancelURL(o store.Org, token string) string {
	return a.kit.URLs.Public + "/book/" + o.Slug + "/cancel?token=" + url.QueryEscape(token)
}

// clientToken is what a client changes an appointment with. It is derived, so that
// later mails can carry the same link.
func (a *API) clientToken(id uuid.UUID, version int) string {
	mac := hmac.New(sha256.New, a.kit.Sealer.Derive("client link"))
	mac.Write(id[:])
	mac.Write([]byte(strconv.Itoa(version)))
	return base64.RawURLEncoding.EncodeToString(append(id[:], mac.Sum(nil)...))
}

// byToken finds the appointment of an organization that a client's token is for.
func (a *API) byToken(ctx context.Context, o store.Org, token string) (dbgen.AppointmentDetail, error) {
	unknown := hub.Errorf(hub.ErrNotFound, "invalid_token", "Invalid cancel token")
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) != 16+sha256.Size {
		return dbgen.AppointmentDetail{}, unknown
	}
	d, err := a.store.AppointmentByID(ctx, o.ID, uuid.UUID(raw[:16]))
	if errors.Is(err, pgx.ErrNoRows) {
		return d, unknown
	}
	if err == nil && !hmac.Equal([]byte(a.clientToken(d.ID, d.TokenVersion)), []byte(token)) {
		return dbgen.AppointmentDetail{}, unknown
	}
	return d, err
}

// check reads what a client sent.
func (in *publicBookInput) check(s dbgen.Settings) error {
	b := &in.Body
	b.ClientName = strings.TrimSpace(b.ClientName)
	var wrong faults
	wrong.length(b.ClientName, "body.client_name", 2, 120)
	wrong.need(b.ClientPhone.Value != "" || !s.RequireClientPhone, "body.client_phone", "is required")
	if b.ClientPhone.Value != "" {
		wrong.phone(&b.ClientPhone.Value, "body.client_phone")
	}
	wrong.need(b.ClientEmail.Value != "" || !s.RequireClientEmail, "body.client_email", "is required")
	if b.ClientEmail.Value != "" {
		wrong.email(&b.ClientEmail.Value, "body.client_email")
	}
	wrong.length(b.Notes.Value, "body.notes", 0, 500)
	wrong.need(b.ProfessionalID.given() || s.AllowAnyProfessional, "body.professional_id", "is required")
	return wrong.err()
}

func (a *API) publicBook(ctx context.Context, in *publicBookInput) (*struct{ Body PublicBooked }, error) {
	o, err := a.store.OrgBySlug(ctx, in.Slug.Slug)
	if err != nil {
		return nil, err
	}
	if !o.Settings.BookingEnabled {
		return nil, hub.Errorf(hub.ErrForbidden, "booking_disabled", "This business does not take bookings online right now.")
	}
	b := &in.Body
	start, err := instant("body.start_at", b.StartAt)
	if err != nil {
		return nil, err
	}
	if err := in.check(o.Settings); err != nil {
		return nil, err
	}
	n := store.NewAppointment{
		Org: o, Choice: store.Choice{Service: b.ServiceID, Online: true}, Start: start, Notes: b.Notes.Value, Source: booking.Web,
		By: store.Actor{Kind: booking.Client}, Limits: o.Policy.PublicLimits(a.kit.Now(), o.Zone),
	}
	b.ProfessionalID.intoNull(&n.Professional)
	contact := contact{name: b.ClientName, phone: b.ClientPhone.Value, email: b.ClientEmail.Value, source: "client"}
	n.Client = func(ctx context.Context, tx *store.Tx) (dbgen.Client, error) {
		client, err := a.known(ctx, tx, o.ID, contact)
		if err != nil {
			return client, err
		}
		return client, mayBook(ctx, tx, o, client)
	}
	made, deposit, err := a.cashier.Book(ctx, n, payment.Payer{Name: contact.name, Email: contact.email})
	if err != nil {
		return nil, payerless(err, "body.client_email")
	}
	return a.publicBooked(o, made.AppointmentDetail, deposit)
}

// contact is somebody as they present themselves.
type contact struct{ name, phone, email, source string }

// known finds the client with somebody's phone, or makes one. What is stored of a
// client is neither changed nor told.
func (a *API) known(ctx context.Context, tx *store.Tx, org uuid.UUID, c contact) (dbgen.Client, error) {
	made := dbgen.Client{OrgID: org, ID: store.NewID(), Name: c.name}
	if c.phone != "" {
		same, err := tx.ClientsByPhone(ctx, org, booking.PhoneForms(c.phone))
		if err != nil {
			return made, err
		}
		if len(same) > 0 {
			return same[0], nil
		}
		made.Phone, made.PhoneE164 = &c.phone, booking.E164(c.phone)
	}
	if c.email != "" {
		made.Email = &c.email
	}
	return newClient(ctx, tx, made, c.source)
}

// mayBook refuses clients who were blocked, or have as many bookings as allowed.
func mayBook(ctx context.Context, tx *store.Tx, o store.Org, client dbgen.Client) error {
	if client.IsBlocked {
		return hub.Errorf(hub.ErrForbidden, "booking_refused", "This booking cannot be made online. Contact the business.")
	}
	most := o.Settings.MaxActiveBookingsPerClient
	if most == nil {
		return nil
	}
	if _, err := tx.LockClient(ctx, o.ID, client.ID); err != nil { // so that two at once are counted
		return err
	}
	n, err := tx.ActiveBookings(ctx, dbgen.ActiveBookingsParams{OrgID: o.ID, ClientID: client.ID, Now: tx.Now()})
	if err == nil && n >= *most {
		err = hub.Errorf(hub.ErrConflict, "too_many_bookings", "There are too many open bookings under this phone number.")
	}
	return err
}

type publicCancelInput struct {
	Slug
	Body struct {
		CancelToken string           `json:"cancel_token,omitempty" maxLength:"200"`
		Token       string           `json:"token,omitempty" maxLength:"200" doc:"The same as cancel_token"`
		Reason      optional[string] `json:"reason,omitempty"`
	} `nameHint:"PublicCancel"`
}

// PublicCancelled is a cancellation as its client sees it.
type PublicCancelled struct {
	AppointmentID uuid.UUID      `json:"appointment_id"`
	Status        booking.Status `json:"status"`
	CancelledAt   *time.Time     `json:"cancelled_at"`
	Refund        *string        `json:"refund" doc:"pending where a deposit goes back"`
}

func (a *API) publicCancel(ctx context.Context, in *publicCancelInput) (*struct{ Body PublicCancelled }, error) {
	token := in.Body.CancelToken
	if token == "" {
		token = in.Body.Token
	}
	if token == "" {
		return nil, hub.Invalid("body.cancel_token", "is required")
	}
	reason, err := reasonOf(in.Body.Reason)
	if err != nil {
		return nil, err
	}
	o, err := a.store.OrgBySlug(ctx, in.Slug.Slug)
	if err != nil {
		return nil, err
	}
	found, err := a.byToken(ctx, o, token)
	if err != nil {
		return nil, err
	}
	done, err := a.store.Act(ctx, booking.Cancel, store.Change{
		Org: o, ID: found.ID, By: store.Actor{Kind: booking.Client}, Reason: reason,
		Check: func(was dbgen.Appointment) error { return o.Policy.ClientMayCancel(was.StartAt, a.kit.Now()) },
	})
	if err != nil {
		return nil, err
	}
	shown := PublicCancelled{AppointmentID: done.ID, Status: done.Status, CancelledAt: local(done.CancelledAt, o.Zone)}
	if done.DepositStatus == booking.DepositRefunded {
		pending := "pending"
		shown.Refund = &pending
	}
	return &struct{ Body PublicCancelled }{shown}, nil
}

type publicTokenInput struct {
	Slug
	Token string `query:"token" required:"true" maxLength:"200"`
}

func (a *API) publicAppointment(ctx context.Context, in *publicTokenInput) (*struct{ Body PublicBooked }, error) {
	o, err := a.store.OrgBySlug(ctx, in.Slug.Slug)
	if err != nil {
		return nil, err
	}
	found, err := a.byToken(ctx, o, in.Token)
	if err != nil {
		return nil, err
	}
	return a.showPublic(ctx, o, found)
}

type publicRescheduleInput struct {
	Slug
	Body struct {
		CancelToken string `json:"cancel_token" maxLength:"200"`
		StartAt     string `json:"start_at"`
	} `nameHint:"PublicReschedule"`
}

func (a *API) publicReschedule(ctx context.Context, in *publicRescheduleInput) (*struct{ Body PublicBooked }, error) {
	start, err := instant("body.start_at", in.Body.StartAt)
	if err != nil {
		return nil, err
	}
	o, err := a.store.OrgBySlug(ctx, in.Slug.Slug)
	if err != nil {
		return nil, err
	}
	found, err := a.byToken(ctx, o, in.Body.CancelToken)
	if err != nil {
		return nil, err
	}
	done, err := a.store.Move(ctx, store.Move{Start: &start, Online: true, Explicit: true, Limits: a.publicView(o).limits}, store.Change{
		Org: o, ID: found.ID, By: store.Actor{Kind: booking.Client},
		Check: func(was dbgen.Appointment) error { return o.Policy.ClientMayReschedule(was.StartAt, a.kit.Now()) },
	})
	if err != nil {
		return nil, err
	}
	return a.showPublic(ctx, o, done.AppointmentDetail)
}
