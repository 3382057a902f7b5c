package store

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/module/dberr"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// Actor is the person or system that changes an appointment.
type Actor struct {
	Kind    booking.ActorKind
	User    *uuid.UUID // of staff
	Manager bool       // owner or administrator
}

// systemActor is the actor of automatic changes.
var systemActor = Actor{Kind: booking.ActorSystem}

// NewAppointment describes an appointment to be booked.
type NewAppointment struct {
	Org         Org
	AdmitClient func(ctx context.Context, tx *Tx) (Client, error) // finds or creates the client and checks that they may book
	ServiceChoice
	Start       time.Time
	Notes       string
	Source      booking.Source
	SourceID    *string // the connected product's id of the request; repeats return the same appointment
	SourceHash  []byte  // of what that request books: another booking with its SourceID is refused
	By          Actor
	Overbook    bool            // staff: book even a taken time
	Limits      booking.Limits  // apply to online bookings only
	Idempotency *IdempotencyKey // nil: the request has no key
	Contact     *Contact        // the details typed; nil: use the stored client
	Locale      *string         // pt-BR, en or es: language the client booked in; nil: the organization's
	HoldID      uuid.UUID       // hold to replace; zero: none
	// Charge is the charge for the deposit, created at the provider. Without it, a
	// client's booking that requires a deposit returns [ErrDepositDue].
	Charge *NewCharge
}

// BookedAppointment is the result of a booking or an update.
type BookedAppointment struct {
	AppointmentDetail
	Warnings []string // outside_working_hours, in_the_past, daily_limit_reached
	Repeated bool     // an earlier repetition of the request created it
}

// errSlotTaken aborts a transaction whose time is taken.
var errSlotTaken = errors.New("the time is taken")

// Book creates an appointment. A time that is taken, or not offered to clients, is a
// *[booking.SlotTakenError] with alternatives.
func (s *Store) Book(ctx context.Context, request NewAppointment) (BookedAppointment, error) {
	// Requests that may repeat an earlier one, or that own a hold, skip the gate: their
	// own time would count as taken.
	if request.Online && request.Professional != nil && request.Idempotency == nil && request.SourceID == nil && request.HoldID == uuid.Nil {
		release, err := s.waitForProfessional(ctx, request)
		if err != nil {
			return BookedAppointment{}, err
		}
		defer release()
	}
	var booked BookedAppointment
	err := s.InTx(ctx, "booking", func(tx *Tx) (err error) {
		booked, err = tx.bookOnce(ctx, request)
		return err
	})
	if isSlotConflict(err) {
		return BookedAppointment{}, s.slotTakenError(ctx, request.Org, request.ServiceChoice, request.Start, request.Limits, nil)
	}
	return booked, err
}

// isSlotConflict reports whether a transaction failed because its time is taken.
func isSlotConflict(err error) bool {
	return errors.Is(err, errSlotTaken) || strings.HasPrefix(dberr.ConstraintName(err), "appointments_no_double_")
}

// slotTakenError returns the error for a taken time, with alternatives. adjustOffer
// changes the offer before alternatives are computed; nil leaves it.
func (s *Store) slotTakenError(ctx context.Context, org Org, choice ServiceChoice, start time.Time, limits booking.Limits, adjustOffer func(*booking.Offer)) error {
	calendars, err := s.loadAlternativeCalendars(ctx, org, choice, start)
	if err != nil {
		return err
	}
	for i := range calendars {
		if adjustOffer != nil {
			adjustOffer(&calendars[i].Offer)
		}
	}
	if !choice.Online {
		limits = booking.StaffLimits(s.host.Now())
	}
	return booking.NewSlotTakenError(booking.Alternatives(org.Zone, limits, start, maxAlternatives, calendars))
}

// maxAlternatives is how many alternatives an error proposes.
const maxAlternatives = 3

// loadAlternativeCalendars loads the calendars of a choice for the day of start and the
// 14 days after it.
func (s *Store) loadAlternativeCalendars(ctx context.Context, org Org, choice ServiceChoice, start time.Time) ([]booking.Calendar, error) {
	day := booking.DateOf(start, org.Zone)
	offers, err := LoadOffers(ctx, s.DB, org.ID, choice)
	if err != nil {
		return nil, err
	}
	return LoadCalendars(ctx, s.DB, org, offers, DayRange{First: day, Last: day + 14, Now: s.host.Now()})
}

func (t *Tx) bookOnce(ctx context.Context, request NewAppointment) (BookedAppointment, error) {
	if request.Idempotency == nil {
		return t.book(ctx, request)
	}
	var stored storedBooking
	found, err := t.claimIdempotencyKey(ctx, request.Org.ID, *request.Idempotency, &stored)
	if err != nil {
		return BookedAppointment{}, err
	}
	if found {
		detail, err := t.AppointmentByID(ctx, request.Org.ID, stored.ID)
		return BookedAppointment{detail, stored.Warnings, true}, err
	}
	booked, err := t.book(ctx, request)
	if err != nil {
		return BookedAppointment{}, err
	}
	return booked, t.storeAnswer(ctx, request.Org.ID, *request.Idempotency, storedBooking{booked.ID, booked.Warnings})
}

// storedBooking is the answer stored under an Idempotency-Key.
type storedBooking struct {
	ID       uuid.UUID `json:"id"`
	Warnings []string  `json:"warnings"`
}

func (t *Tx) book(ctx context.Context, request NewAppointment) (BookedAppointment, error) {
	if request.SourceID != nil {
		existing, found, err := t.findRepeatedBooking(ctx, request)
		if err != nil || found {
			return BookedAppointment{AppointmentDetail: existing, Repeated: true}, err
		}
	}
	offers, err := LoadOffers(ctx, t.DB, request.Org.ID, request.ServiceChoice)
	if err != nil {
		return BookedAppointment{}, err
	}
	if request.needsDepositCharge() && len(offers) > 0 && !slices.ContainsFunc(offers, func(offer ServiceOffer) bool {
		return ResolveOffer(offer, request.Org.Policy).DepositAmount == 0
	}) {
		return BookedAppointment{}, ErrDepositDue // whichever professional is chosen
	}
	return t.bookWithOffers(ctx, request, offers)
}

// findRepeatedBooking returns the appointment that an earlier request with the same source_id
// booked. Concurrent repetitions wait for one another: without the lock they would find their
// own time taken. A different booking with the same source_id is a [hub.ErrConflict].
func (t *Tx) findRepeatedBooking(ctx context.Context, request NewAppointment) (existing AppointmentDetail, found bool, err error) {
	if err := t.LockAdvisoryKeys(ctx, []string{request.holdID().String()}); err != nil {
		return existing, false, err
	}
	existing, err = t.appointmentBySourceID(ctx, request.Org.ID, *request.SourceID)
	if errors.Is(err, pgx.ErrNoRows) {
		return existing, false, nil
	}
	if err != nil {
		return existing, false, err
	}
	hash, err := t.SourceHash(ctx, request.Org.ID, existing.ID)
	if err != nil {
		return existing, false, err
	}
	if hash != nil && request.SourceHash != nil && !bytes.Equal(hash, request.SourceHash) {
		return existing, false, hub.Errorf(hub.ErrConflict, "idempotency_key_reused", "This source_id was used for another booking. Send a new source_id to book again; nothing was booked.")
	}
	return existing, true, nil
}

// ErrDepositDue is returned for a client's booking that needs a charge for its deposit.
var ErrDepositDue = errors.New("a deposit is due")

// needsDepositCharge reports whether a deposit of this booking still needs a charge. Clients pay
// one, wherever they book; staff decide themselves.
func (n NewAppointment) needsDepositCharge() bool {
	return n.Charge == nil && (n.Source == booking.SourceWeb || n.Source == booking.SourceIntegration)
}

// bookWithOffers books with one of the offering professionals.
func (t *Tx) bookWithOffers(ctx context.Context, request NewAppointment, offers []ServiceOffer) (BookedAppointment, error) {
	client, err := request.AdmitClient(ctx, t)
	if err != nil {
		return BookedAppointment{}, err
	}
	offers, err = t.consumeHold(ctx, &request, offers)
	if err != nil {
		return BookedAppointment{}, err
	}
	chosen, placement, err := t.choosePlacement(ctx, request, offers)
	if err != nil {
		return BookedAppointment{}, err
	}
	if request.needsDepositCharge() && placement.offer.DepositAmount > 0 {
		return BookedAppointment{}, ErrDepositDue
	}
	params := dbgen.CreateAppointmentParams{
		OrgID: request.Org.ID, ID: NewID(), ClientID: client.ID, ProfessionalID: chosen.ProfessionalID, ServiceID: request.Service,
		StartAt: request.Start, EndAt: request.Start.Add(placement.offer.Duration), PriceCents: placement.offer.Price, Source: request.Source, SourceID: request.SourceID, SourceHash: request.SourceHash, Notes: request.Notes,
		DepositStatus: booking.DepositNone, Capacity: placement.offer.Capacity, Seat: placement.seat, Overbooked: placement.overbooked,
		CreatedBy: request.By.User, CreatedAt: t.now,
	}
	contact, err := t.resolveContact(ctx, request.Contact, client)
	if err != nil {
		return BookedAppointment{}, err
	}
	params.ContactName, params.ContactEmail, params.Locale = contact.name, contact.email, request.Locale
	if request.Charge != nil {
		params.DepositStatus, params.DepositCents, params.DepositDeadline = booking.DepositPending, &request.Charge.Amount, &request.Charge.ExpiresAt
	}
	if params.Status = request.Org.Policy.InitialStatus(request.Source, params.DepositStatus); params.Status == booking.Confirmed {
		params.ConfirmedAt = &t.now
	}
	if err := t.CreateAppointment(ctx, params); err != nil {
		return BookedAppointment{}, err
	}
	if err := t.recordHistory(ctx, request.Org.ID, params.ID, dbgen.InsertHistoryEntryParams{Action: "create", ToStatus: string(params.Status), ToStartAt: &params.StartAt, ToProfessionalID: &params.ProfessionalID}, request.By); err != nil {
		return BookedAppointment{}, err
	}
	if request.Charge != nil {
		request.Charge.Org, request.Charge.Appointment, request.Charge.Client = request.Org.ID, &params.ID, client.ID
		if _, err := t.storeCharge(ctx, *request.Charge); err != nil {
			return BookedAppointment{}, err
		}
	}
	if err := t.planReminders(ctx, request.Org, params.ID, params.StartAt); err != nil {
		return BookedAppointment{}, err
	}
	detail, err := t.AppointmentByID(ctx, request.Org.ID, params.ID)
	if err != nil {
		return BookedAppointment{}, err
	}
	if contact.hasEmail(client) || len(request.Org.Settings.NotifyEmails) > 0 && request.Source != booking.SourceDashboard {
		if err := t.enqueueNotification(ctx, Notification{Org: request.Org.ID, Appointment: params.ID, Change: ChangeBooked, By: request.By.Kind}); err != nil {
			return BookedAppointment{}, err
		}
	}
	if request.Contact != nil && request.Contact.MarketingConsent {
		if err := t.recordConsent(ctx, client, *request.Contact); err != nil {
			return BookedAppointment{}, err
		}
	}
	return BookedAppointment{AppointmentDetail: detail, Warnings: placement.warnings}, t.publishCreated(ctx, detail, clientPhone(client))
}

// publishCreated publishes appointment.created. Products that have the appointment
// replace their copy.
func (t *Tx) publishCreated(ctx context.Context, appointment AppointmentDetail, phone string) error {
	return t.publish(ctx, appointment.OrgID, createdEvent(appointment, phone))
}

func createdEvent(appointment AppointmentDetail, phone string) events.AppointmentCreated {
	name := appointment.ClientName
	if phone == "" && appointment.ClientEmail == nil { // also an erased client's, whose name is a placeholder
		name = ""
	}
	return events.AppointmentCreated{
		AppointmentID: appointment.ID.String(), ClientPhone: phone, ClientName: name, Service: appointment.ServiceName, Professional: appointment.ProfessionalName,
		Datetime: formatUTC(appointment.StartAt), EndAt: formatUTC(appointment.EndAt), Status: string(appointment.Status), Source: string(appointment.Source),
	}
}

// recordHistory adds an entry to an appointment's history.
func (t *Tx) recordHistory(ctx context.Context, org, appointment uuid.UUID, entry dbgen.InsertHistoryEntryParams, actor Actor) error {
	entry.OrgID, entry.ID, entry.AppointmentID, entry.At, entry.Actor, entry.UserID = org, NewID(), appointment, t.now, string(actor.Kind), actor.User
	return t.InsertHistoryEntry(ctx, entry)
}

// clientPhone returns a client's phone number in the form other products use.
func clientPhone(client Client) string {
	switch {
	case client.PhoneE164 != nil:
		return *client.PhoneE164
	case client.Phone != nil:
		return *client.Phone
	}
	return ""
}

func formatUTC(t time.Time) string { return t.UTC().Format(time.RFC3339) }
