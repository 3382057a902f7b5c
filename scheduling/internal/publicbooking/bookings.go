package publicbooking

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/picture"
	"integrationhub/hub/module/pointer"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/payment"
	"integrationhub/scheduling/internal/payment/provider"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

// Booking is an appointment as its client sees it.
type Booking struct {
	store.AppointmentDetail
	Token       string // authorizes the client's changes
	ManageURL   string
	Deposit     *Deposit // nil: no deposit is due
	depositTxid string   // the deposit's charge at the payment provider; "" = none
}

// Deposit is the amount due to keep the slot, with its payment code.
type Deposit struct {
	Amount       booking.Cents `json:"amount" doc:"What is to be paid in advance"`
	PixCopyPaste *string       `json:"pix_copy_paste" doc:"BR Code to pay with; null: pay on the spot"`
	QRCode       *string       `json:"qr_code_base64" doc:"The same as a picture, PNG; null: none"`
	ExpiresAt    *time.Time    `json:"expires_at" doc:"Until when it can be paid; null: without end"`
}

// newBooking converts an appointment; charge is the deposit's charge, or nil.
func (s *Service) newBooking(org store.Org, appointment store.AppointmentDetail, charge *store.PaymentDetail) (Booking, error) {
	booked := Booking{AppointmentDetail: appointment, Token: s.BookingToken(appointment.ID, appointment.TokenVersion)}
	booked.ManageURL = s.ManageURL(org, booked.Token)
	if appointment.DepositStatus != booking.DepositPending || appointment.DepositCents == nil || appointment.DepositDeadline == nil {
		return booked, nil
	}
	expires := appointment.DepositDeadline.In(org.Zone)
	booked.Deposit = &Deposit{Amount: *appointment.DepositCents, ExpiresAt: &expires}
	if charge == nil || charge.PixCopyPaste == nil {
		return booked, nil
	}
	booked.Deposit.Amount = charge.AmountCents // less than the deposit where a part is paid
	drawn, err := picture.QRCode(*charge.PixCopyPaste)
	encoded := base64.StdEncoding.EncodeToString(drawn)
	booked.Deposit.PixCopyPaste, booked.Deposit.QRCode = charge.PixCopyPaste, &encoded
	booked.depositTxid = pointer.ValueOrZero(charge.Txid)
	return booked, err
}

// loadBooking is [Service.newBooking] with the charge loaded.
func (s *Service) loadBooking(ctx context.Context, org store.Org, appointment store.AppointmentDetail) (Booking, error) {
	if appointment.DepositStatus != booking.DepositPending {
		return s.newBooking(org, appointment, nil)
	}
	charge, err := s.store.PendingDepositCharge(ctx, org.ID, &appointment.ID)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return s.newBooking(org, appointment, nil)
	case err != nil:
		return Booking{}, err
	}
	return s.newBooking(org, appointment, &charge)
}

// BookingByToken returns a client's booking; [hub.ErrNotFound] for an invalid token.
func (s *Service) BookingByToken(ctx context.Context, org store.Org, token string) (Booking, error) {
	found, err := s.appointmentByToken(ctx, org, token)
	if err != nil {
		return Booking{}, err
	}
	return s.loadBooking(ctx, org, found)
}

// BookOnline books what a client asks for on the booking pages or in the public API, by the
// organization's rules for these. With a key, repeated requests count once. A time that is not
// offered is a *[booking.SlotTakenError]. A required deposit is charged with the
// booking; if the provider fails, the error is a [hub.ErrPeer].
func (s *Service) BookOnline(ctx context.Context, org store.Org, request booking.Request, key *store.IdempotencyKey) (Booking, error) {
	if !org.Settings.BookingEnabled {
		return Booking{}, bookingDisabledError()
	}
	err := request.Validate(booking.RequiredFields{
		Phone: org.Settings.RequireClientPhone, Email: org.Settings.RequireClientEmail, Professional: !org.Settings.AllowAnyProfessional,
		PhoneOrEmail: org.Settings.MaxActiveBookingsPerClient != nil, AreaCode: org.AreaCode(),
	})
	if err != nil {
		return Booking{}, err
	}
	contact := store.Contact{Name: request.Name, Phone: request.Phone, Email: request.Email, Source: "client", MarketingConsent: request.Consent}
	var locale *string
	if request.Locale != "" {
		locale = &request.Locale
	}
	solved, err := s.verifyProof(org, request.Proof)
	if err != nil {
		return Booking{}, err
	}
	booked, err := s.BookWithDeposit(ctx, store.NewAppointment{
		Org: org, ServiceChoice: store.ServiceChoice{Service: request.Service, Professional: request.Professional, Online: true}, Start: request.Start, Notes: request.Notes, Source: booking.SourceWeb,
		By: store.Actor{Kind: booking.ActorClient}, Limits: org.Policy.PublicLimits(s.host.Now(), org.Zone), Idempotency: key, HoldID: request.Hold, Contact: &contact, Locale: locale,
		AdmitClient: func(ctx context.Context, tx *store.Tx) (store.Client, error) {
			if err := spendProof(ctx, tx, org, solved); err != nil {
				return store.Client{}, err
			}
			client, err := tx.FindOrCreateClient(ctx, org.ID, contact)
			if err != nil {
				return client, err
			}
			return client, checkMayBook(ctx, tx, org, client)
		},
	}, provider.Payer{Name: contact.Name, Email: contact.Email})
	return booked, payment.WithPayerEmailField(err, "body.client_email")
}

// BookWithDeposit books an appointment that was checked before, with the charge for a deposit
// if one is required. Errors are those of [Service.BookOnline].
func (s *Service) BookWithDeposit(ctx context.Context, request store.NewAppointment, payer provider.Payer) (Booking, error) {
	booked, charge, err := s.payments.BookCollectingDeposit(ctx, request, payer)
	if dberr.ConstraintName(err) == "appointments_source" { // a concurrent repetition was stored first
		booked, charge, err = s.payments.BookCollectingDeposit(ctx, request, payer)
	}
	switch {
	case err != nil:
		return Booking{}, err
	case booked.Repeated:
		return s.loadBooking(ctx, request.Org, booked.AppointmentDetail)
	}
	return s.newBooking(request.Org, booked.AppointmentDetail, charge)
}

// DepositNeedsEmail reports whether paying a deposit requires an e-mail address.
func (s *Service) DepositNeedsEmail() bool { return s.payments.RequiresPayerEmail() }

// HasSandboxPayments reports whether deposits can be paid without a bank: in development,
// with the sandbox as the payment provider.
func (s *Service) HasSandboxPayments() bool {
	return s.host.Settings.Development && s.payments.UsesSandbox()
}

// PaySandboxDeposit pays a booking's deposit in the sandbox. [hub.ErrNotFound] where that is
// not possible; errors of the provider.
func (s *Service) PaySandboxDeposit(ctx context.Context, booked Booking) error {
	if !s.HasSandboxPayments() || booked.depositTxid == "" {
		return hub.Errorf(hub.ErrNotFound, "not_found", "The sandbox payment provider is not in use on this hub, or the booking has no deposit.")
	}
	_, err := s.payments.PaySandboxCharge(ctx, booked.depositTxid)
	return err
}

// formHoldTTL is how long a hold of the public API lasts, for filling in a form. The
// pages place none for that.
const formHoldTTL = 5 * time.Minute

// Hold reserves an offered time for a client, replacing the client's previous hold
// (zero: none). Where the organization requires one, it takes a proof of work. The live holds of
// the client's network address are limited. A time that is not offered is a *[booking.SlotTakenError].
func (s *Service) Hold(ctx context.Context, org store.Org, choice Choice, start time.Time, previousHold uuid.UUID, proof string) (store.HeldSlot, error) {
	switch {
	case !org.Settings.BookingEnabled:
		return store.HeldSlot{}, bookingDisabledError()
	case choice.Professional == nil && !org.Settings.AllowAnyProfessional:
		return store.HeldSlot{}, hub.Invalid("body.professional_id", "is required")
	}
	if err := s.host.RateLimiter.Allow(ctx, "holds", module.ClientIP(ctx)); err != nil {
		return store.HeldSlot{}, err
	}
	solved, err := s.verifyProof(org, proof)
	if err != nil {
		return store.HeldSlot{}, err
	}
	return s.store.HoldSlot(ctx, store.NewAppointment{
		Org: org, ServiceChoice: store.ServiceChoice{Service: choice.Service, Professional: choice.Professional, Online: true}, Start: start, HoldID: previousHold,
		Limits: org.Policy.PublicLimits(s.host.Now(), org.Zone),
	}, store.HoldTerms{
		TTL: formHoldTTL, AddressHash: s.addressHash(module.ClientNetwork(ctx)),
		Check: func(ctx context.Context, tx *store.Tx) error { return spendProof(ctx, tx, org, solved) },
	})
}

// addressHash returns what is stored of a client's network address: only equal ones are found by
// it. It is nil for an unknown address.
func (s *Service) addressHash(address string) []byte {
	if address == "" {
		return nil
	}
	mac := hmac.New(sha256.New, s.host.Sealer.Derive("hold addresses"))
	mac.Write([]byte(address))
	return mac.Sum(nil)
}

func bookingDisabledError() *hub.Error {
	return hub.Errorf(hub.ErrForbidden, "booking_disabled", "This business does not take bookings online right now.")
}

// CheckNotBlocked returns a [hub.ErrForbidden] for a blocked client.
func CheckNotBlocked(client store.Client) error {
	if client.IsBlocked {
		return hub.Errorf(hub.ErrForbidden, "booking_refused", "This booking cannot be made online. Contact the business.")
	}
	return nil
}

// checkMayBook rejects clients who are blocked or have too many open bookings. Because
// [store.Tx.FindOrCreateClient] locks the client's contacts, concurrent bookings are counted.
func checkMayBook(ctx context.Context, tx *store.Tx, org store.Org, client store.Client) error {
	if err := CheckNotBlocked(client); err != nil {
		return err
	}
	limit := org.Settings.MaxActiveBookingsPerClient
	if limit == nil {
		return nil
	}
	n, err := tx.CountActiveBookings(ctx, dbgen.CountActiveBookingsParams{OrgID: org.ID, ClientID: client.ID, Now: tx.Now()})
	if err == nil && n >= *limit {
		err = hub.Errorf(hub.ErrConflict, "too_many_bookings", "There are too many open bookings under this phone number.")
	}
	return err
}

// Cancel cancels a client's booking. Repeating it is no error.
func (s *Service) Cancel(ctx context.Context, org store.Org, token string, reason *string) (store.AppointmentDetail, error) {
	found, err := s.appointmentByToken(ctx, org, token)
	if err != nil {
		return found, err
	}
	return s.store.ApplyAction(ctx, booking.Cancel, store.AppointmentChange{
		Org: org, ID: found.ID, By: store.Actor{Kind: booking.ActorClient}, Reason: reason,
		Check: func(before store.Appointment) error {
			return org.Policy.ClientMayCancel(before.StartAt.In(org.Zone), s.host.Now())
		},
	})
}

// Reschedule moves a client's booking to another offered time.
func (s *Service) Reschedule(ctx context.Context, org store.Org, token string, start time.Time) (Booking, error) {
	found, err := s.appointmentByToken(ctx, org, token)
	if err != nil {
		return Booking{}, err
	}
	updated, err := s.store.UpdateAppointment(ctx, store.AppointmentUpdate{Start: &start, Online: true, Reschedule: true, Limits: s.ClientView(org).Limits}, store.AppointmentChange{
		Org: org, ID: found.ID, By: store.Actor{Kind: booking.ActorClient},
		Check: func(before store.Appointment) error {
			return org.Policy.ClientMayReschedule(before.StartAt.In(org.Zone), s.host.Now())
		},
	})
	if err != nil {
		return Booking{}, err
	}
	return s.loadBooking(ctx, org, updated.AppointmentDetail)
}
