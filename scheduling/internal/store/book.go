package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module/dberr"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// Actor is who changes an appointment.
type Actor struct {
	Kind    booking.Actor
	User    *uuid.UUID // of staff
	Manager bool       // owner or administrator
}

// NewAppointment is one to be made.
type NewAppointment struct {
	Org           Org
	ResolveClient func(ctx context.Context, tx *Tx) (dbgen.Client, error) // finds or makes who it is for
	Choice
	Start       time.Time
	Notes       string
	Source      booking.Source
	SourceID    *string // of a connected product, which may ask twice
	By          Actor
	Overbook    bool           // staff: even where the time is taken
	Limits      booking.Limits // for clients; staff have none but what is taken
	Idempotency *Once          // nil: every request counts
	Contact     *Contact       // who books, where that is not staff; nil: the client itself
	HoldID      uuid.UUID      // of this time, which it takes the place of; zero: none
	// Charge is what the provider was asked to collect as the deposit. Without one
	// clients cannot book what has a deposit: that is [ErrDepositDue].
	Charge *NewCharge
}

// Once makes a request with an Idempotency-Key count once.
type Once struct {
	Operation, Key string
	RequestHash    []byte
}

// Booked is what came of it.
type Booked struct {
	dbgen.AppointmentDetail
	Warnings []string // outside_working_hours, in_the_past, daily_limit_reached
	Repeated bool     // it had been made before, by the same request
}

// idempotencyTTL is how long an Idempotency-Key is remembered.
const idempotencyTTL = 24 * time.Hour

// errSlotTaken stops a transaction whose time is taken.
var errSlotTaken = errors.New("the time is taken")

// Book makes an appointment. A time that is taken, or for clients not offered, is a
// *[booking.SlotTakenError] with other times.
func (s *Store) Book(ctx context.Context, n NewAppointment) (Booked, error) {
	// What may have been booked before, or is held for this very request, is not to be
	// told that its own time is taken.
	if n.Online && n.Professional != nil && n.Idempotency == nil && n.SourceID == nil && n.HoldID == uuid.Nil {
		done, err := s.enterGate(ctx, n)
		if err != nil {
			return Booked{}, err
		}
		defer done()
	}
	var made Booked
	err := s.InTx(ctx, "booking", func(tx *Tx) (err error) {
		made, err = tx.bookOnce(ctx, n)
		return err
	})
	if isSlotConflict(err) {
		return Booked{}, s.slotTakenError(ctx, n.Org, n.Choice, n.Start, n.Limits, nil)
	}
	return made, err
}

// isSlotConflict tells whether a transaction failed because the time was.
func isSlotConflict(err error) bool {
	return errors.Is(err, errSlotTaken) || strings.HasPrefix(dberr.ConstraintName(err), "appointments_no_double_")
}

// slotTakenError looks for other times to propose.
func (s *Store) slotTakenError(ctx context.Context, org Org, c Choice, start time.Time, l booking.Limits, keep func(*booking.Offer)) error {
	calendars, err := s.loadTwoWeeks(ctx, org, c, start)
	if err != nil {
		return err
	}
	for i := range calendars {
		if keep != nil {
			keep(&calendars[i].Offer)
		}
	}
	if !c.Online {
		l = booking.StaffLimits(s.host.Now())
	}
	return booking.NewSlotTakenError(booking.Alternatives(org.Zone, l, start, maxAlternatives, calendars))
}

// maxAlternatives is how many other times are proposed.
const maxAlternatives = 3

// loadTwoWeeks loads the calendars of a choice for the day of a time and those after it.
func (s *Store) loadTwoWeeks(ctx context.Context, org Org, c Choice, start time.Time) ([]booking.Calendar, error) {
	day := booking.DateOf(start, org.Zone)
	offers, err := LoadOffers(ctx, s.Queries, org.ID, c)
	if err != nil {
		return nil, err
	}
	return LoadCalendars(ctx, s.DB, org, offers, Days{First: day, Last: day + 14, Now: s.host.Now()})
}

func (t *Tx) bookOnce(ctx context.Context, n NewAppointment) (Booked, error) {
	if n.Idempotency == nil {
		return t.book(ctx, n)
	}
	var before rememberedBooking
	found, err := t.claimIdempotencyKey(ctx, n.Org.ID, *n.Idempotency, &before)
	if err != nil {
		return Booked{}, err
	}
	if found {
		detail, err := t.AppointmentByID(ctx, n.Org.ID, before.ID)
		return Booked{detail, before.Warnings, true}, err
	}
	made, err := t.book(ctx, n)
	if err != nil {
		return Booked{}, err
	}
	return made, t.storeAnswer(ctx, n.Org.ID, *n.Idempotency, rememberedBooking{made.ID, made.Warnings})
}

// rememberedBooking is what is kept of a booking for a repeated request.
type rememberedBooking struct {
	ID       uuid.UUID `json:"id"`
	Warnings []string  `json:"warnings"`
}

// claimIdempotencyKey takes an Idempotency-Key for this request, or reads what was kept under it
// before; one that was used for another request is a [hub.ErrConflict].
func (t *Tx) claimIdempotencyKey(ctx context.Context, org uuid.UUID, once Once, before any) (found bool, err error) {
	claimed, err := t.ClaimIdempotency(ctx, dbgen.ClaimIdempotencyParams{
		OrgID: org, Operation: once.Operation, Key: once.Key, RequestHash: once.RequestHash, CreatedAt: t.now, Expired: t.now.Add(-idempotencyTTL),
	})
	if err != nil || claimed > 0 {
		return false, err
	}
	kept, err := t.IdempotentAnswer(ctx, dbgen.IdempotentAnswerParams{OrgID: org, Operation: once.Operation, Key: once.Key})
	if err != nil {
		return false, err
	}
	return true, decodeStoredAnswer(kept, once, before)
}

// decodeStoredAnswer reads what a request was answered before.
func decodeStoredAnswer(kept dbgen.Idempotency, once Once, before any) error {
	if !bytes.Equal(kept.RequestHash, once.RequestHash) {
		return hub.Errorf(hub.ErrConflict, "idempotency_key_reused", "This Idempotency-Key was used for another request.")
	}
	return json.Unmarshal(kept.Answer, before)
}

// storeAnswer remembers what came of a request.
func (t *Tx) storeAnswer(ctx context.Context, org uuid.UUID, once Once, what any) error {
	answer, err := json.Marshal(what)
	if err != nil {
		return err
	}
	created := 201
	return t.KeepAnswer(ctx, dbgen.KeepAnswerParams{OrgID: org, Operation: once.Operation, Key: once.Key, Status: &created, Answer: answer})
}

func (t *Tx) book(ctx context.Context, n NewAppointment) (Booked, error) {
	if n.SourceID != nil {
		before, err := t.AppointmentBySource(ctx, n.Org.ID, n.SourceID)
		if !errors.Is(err, pgx.ErrNoRows) {
			return Booked{AppointmentDetail: before, Repeated: true}, err
		}
	}
	offers, err := LoadOffers(ctx, t.Queries, n.Org.ID, n.Choice)
	if err != nil {
		return Booked{}, err
	}
	if n.requiresDeposit() && len(offers) > 0 && !slices.ContainsFunc(offers, func(o dbgen.OffersRow) bool { return ResolveOffer(o, n.Org.Policy).DepositAmount == 0 }) {
		return Booked{}, ErrDepositDue // whoever gives it
	}
	return t.bookWithOffers(ctx, n, offers)
}

// ErrDepositDue is the answer to a client's booking that needs a charge for its deposit.
var ErrDepositDue = errors.New("a deposit is due")

// requiresDeposit tells whether a deposit is due where what is booked has one: from clients,
// wherever they book. Staff decide for themselves.
func (n NewAppointment) requiresDeposit() bool {
	return n.Charge == nil && (n.Source == booking.Web || n.Source == booking.Integration)
}

// bookWithOffers books with one of those who give the service.
func (t *Tx) bookWithOffers(ctx context.Context, n NewAppointment, offers []dbgen.OffersRow) (Booked, error) {
	client, err := n.ResolveClient(ctx, t)
	if err != nil {
		return Booked{}, err
	}
	offers, err = t.consumeHold(ctx, &n, offers)
	if err != nil {
		return Booked{}, err
	}
	chosen, spot, err := t.choosePlacement(ctx, n, offers)
	if err != nil {
		return Booked{}, err
	}
	if n.requiresDeposit() && spot.offer.DepositAmount > 0 {
		return Booked{}, ErrDepositDue
	}
	a := dbgen.CreateAppointmentParams{
		OrgID: n.Org.ID, ID: NewID(), ClientID: client.ID, ProfessionalID: chosen.ProfessionalID, ServiceID: n.Service,
		StartAt: n.Start, EndAt: n.Start.Add(spot.offer.Duration), PriceCents: spot.offer.Price, Source: n.Source, SourceID: n.SourceID, Notes: n.Notes,
		DepositStatus: booking.DepositNone, Capacity: spot.offer.Capacity, Seat: spot.seat, Overbooked: spot.overbooked,
		CreatedBy: n.By.User, CreatedAt: t.now,
	}
	contact, err := t.resolveRecipient(ctx, n.Contact, client)
	if err != nil {
		return Booked{}, err
	}
	a.ContactName, a.ContactEmail = contact.name, contact.email
	if n.Charge != nil {
		a.DepositStatus, a.DepositCents, a.HoldUntil = booking.DepositPending, &n.Charge.Amount, &n.Charge.ExpiresAt
	}
	if a.Status = n.Org.Policy.InitialStatus(n.Source, a.DepositStatus); a.Status == booking.Confirmed {
		a.ConfirmedAt = &t.now
	}
	if err := t.CreateAppointment(ctx, a); err != nil {
		return Booked{}, err
	}
	if err := t.recordHistory(ctx, n.Org.ID, a.ID, dbgen.RecordHistoryParams{Action: "create", ToStatus: string(a.Status), ToStartAt: &a.StartAt, ToProfessionalID: &a.ProfessionalID}, n.By); err != nil {
		return Booked{}, err
	}
	if n.Charge != nil {
		n.Charge.Org, n.Charge.Appointment, n.Charge.Client = n.Org.ID, &a.ID, client.ID
		if _, err := t.storeCharge(ctx, *n.Charge); err != nil {
			return Booked{}, err
		}
	}
	if err := t.planReminders(ctx, n.Org, a.ID, a.StartAt); err != nil {
		return Booked{}, err
	}
	detail, err := t.AppointmentByID(ctx, n.Org.ID, a.ID)
	if err != nil {
		return Booked{}, err
	}
	if contact.hasEmail(client) || len(n.Org.Settings.NotifyEmails) > 0 && n.Source != booking.Dashboard {
		if err := t.enqueueNotification(ctx, News{Org: n.Org.ID, Appointment: a.ID, Change: ChangeBooked, By: n.By.Kind}); err != nil {
			return Booked{}, err
		}
	}
	if n.Contact != nil && n.Contact.MarketingConsent {
		if err := t.recordConsent(ctx, client, *n.Contact); err != nil {
			return Booked{}, err
		}
	}
	return Booked{AppointmentDetail: detail, Warnings: spot.warnings}, t.publishCreated(ctx, detail, clientPhone(client))
}

// publishCreated publishes that an appointment takes place.
func (t *Tx) publishCreated(ctx context.Context, d dbgen.AppointmentDetail, phone string) error {
	return t.publish(ctx, d.OrgID, "appointment.created", map[string]any{
		"appointment_id": d.ID, "client_phone": phone, "service": d.ServiceName, "professional": d.ProfessionalName,
		"datetime": formatUTC(d.StartAt), "end_at": formatUTC(d.EndAt), "status": d.Status, "source": d.Source,
	})
}

// spot is a place in a professional's time.
type spot struct {
	offer      booking.Offer
	seat       int
	overbooked bool
	warnings   []string
}

// choosePlacement takes the professional's lock and a place. With anybody, it tries those
// who offer the time in turn, the least booked of them first.
func (t *Tx) choosePlacement(ctx context.Context, n NewAppointment, offers []dbgen.OffersRow) (dbgen.OffersRow, spot, error) {
	if n.Professional != nil {
		place, err := t.lockAndPlace(ctx, n, offers[0])
		return offers[0], place, err
	}
	day := booking.DateOf(n.Start, n.Org.Zone)
	for len(offers) > 0 {
		calendars, err := LoadCalendars(ctx, t.DB, n.Org, offers, Days{First: day, Last: day, ExceptID: n.HoldID, Now: t.now})
		if err != nil {
			return dbgen.OffersRow{}, spot{}, err
		}
		slot, ok := booking.FindSlot(n.Org.Zone, n.Limits, n.Start, calendars)
		if !ok {
			break
		}
		var rest []dbgen.OffersRow
		for _, o := range offers {
			if o.ProfessionalID != slot.Professional {
				rest = append(rest, o)
				continue
			}
			place, err := t.tryPlacement(ctx, n, o)
			if err == nil || !errors.Is(err, errSlotTaken) {
				return o, place, err
			}
		}
		offers = rest
	}
	return dbgen.OffersRow{}, spot{}, errSlotTaken
}

func (t *Tx) lockAndPlace(ctx context.Context, n NewAppointment, o dbgen.OffersRow) (spot, error) {
	if err := t.LockTime(ctx, o.ProfessionalID); err != nil {
		return spot{}, err
	}
	return t.findPlacement(ctx, n.Org, o, ResolveOffer(o, n.Org.Policy), n.Start, n.HoldID, fitting{online: n.Online, limits: n.Limits, overbook: n.Overbook})
}

// tryPlacement is [Tx.lockAndPlace] for one of several professionals: where there is no place the
// lock is let go of before the next one is tried.
func (t *Tx) tryPlacement(ctx context.Context, n NewAppointment, o dbgen.OffersRow) (place spot, err error) {
	err = t.withSavepoint(ctx, func(tx *Tx) error {
		place, err = tx.lockAndPlace(ctx, n, o)
		return err
	})
	return place, err
}

// fitting is how much a place is asked to fit.
type fitting struct {
	online   bool // only what is offered within the limits
	limits   booking.Limits
	overbook bool
}

// findPlacement finds a seat at a time, as if the appointment or hold called without were not
// there. The professional's lock is held.
func (t *Tx) findPlacement(ctx context.Context, org Org, o dbgen.OffersRow, offer booking.Offer, start time.Time, without uuid.UUID, f fitting) (spot, error) {
	day := booking.DateOf(start, org.Zone)
	last := booking.DateOf(start.Add(offer.Duration), org.Zone)
	calendars, err := LoadCalendars(ctx, t.DB, org, []dbgen.OffersRow{o}, Days{First: min(day, last), Last: max(day, last), ExceptID: without, Now: t.now})
	if err != nil {
		return spot{}, err
	}
	c := &calendars[0]
	c.Offer = offer
	found := spot{offer: offer}
	if f.online {
		if _, ok := booking.FindSlot(org.Zone, f.limits, start, calendars); !ok {
			return spot{}, errSlotTaken
		}
	} else {
		found.warnings = staffWarnings(org, c, start, t.now)
	}
	if booking.SeatsAt(start, offer, c.Busy) > 0 {
		found.seat, err = t.FreeSeat(ctx, dbgen.FreeSeatParams{
			Capacity: offer.Capacity, ProfessionalID: o.ProfessionalID, ServiceID: o.Service.ID, StartAt: start, EndAt: start.Add(offer.Duration), MovedID: without,
		})
		if err != nil {
			return spot{}, err
		}
	}
	if found.seat == 0 {
		if !f.overbook {
			return spot{}, errSlotTaken
		}
		found.seat, found.overbooked = 1, true
	}
	return found, nil
}

func staffWarnings(org Org, c *booking.Calendar, start, now time.Time) []string {
	var list []string
	if !booking.WithinHours(org.Zone, start, start.Add(c.Offer.Duration), c.Rules, c.Exceptions) {
		list = append(list, "outside_working_hours")
	}
	if start.Before(now) {
		list = append(list, "in_the_past")
	}
	if c.Full(org.Zone, booking.DateOf(start, org.Zone)) {
		list = append(list, "daily_limit_reached")
	}
	return list
}

// recordHistory adds a line to an appointment's history.
func (t *Tx) recordHistory(ctx context.Context, org, appointment uuid.UUID, line dbgen.RecordHistoryParams, by Actor) error {
	line.OrgID, line.ID, line.AppointmentID, line.At, line.Actor, line.UserID = org, NewID(), appointment, t.now, string(by.Kind), by.User
	return t.RecordHistory(ctx, line)
}

func (t *Tx) planReminders(ctx context.Context, org Org, appointment uuid.UUID, start time.Time) error {
	if !org.Settings.RemindersEnabled {
		return nil
	}
	return t.PlanReminders(ctx, dbgen.PlanRemindersParams{
		OrgID: org.ID, AppointmentID: appointment, StartAt: start, Now: t.now,
		Offsets: org.Settings.ReminderOffsetsMinutes, Channels: org.Settings.ReminderChannels,
	})
}

// clientPhone is a client's phone as other products know it.
func clientPhone(c dbgen.Client) string {
	switch {
	case c.PhoneE164 != nil:
		return *c.PhoneE164
	case c.Phone != nil:
		return *c.Phone
	}
	return ""
}

func formatUTC(t time.Time) string { return t.UTC().Format(time.RFC3339) }
