package publicbooking

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/payment"
	"integrationhub/scheduling/internal/payment/provider"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

// Booked is a booking as its client sees it.
type Booked struct {
	dbgen.AppointmentDetail
	Token     string // with which the client changes it
	CancelURL string
	Deposit   *Deposit // nil: none is due
}

// Deposit is what a client has to pay to keep the slot.
type Deposit struct {
	Amount       booking.Cents `json:"amount"`
	PixCopyPaste *string       `json:"pix_copy_paste"`
	QRCode       *string       `json:"qr_code_base64"`
	ExpiresAt    *time.Time    `json:"expires_at"`
}

// booked shows an appointment to its client; charge is the one for its deposit, nil
// where there is none.
func (d *Desk) booked(o store.Org, a dbgen.AppointmentDetail, charge *dbgen.PaymentDetail) (Booked, error) {
	b := Booked{AppointmentDetail: a, Token: d.Token(a.ID, a.TokenVersion)}
	b.CancelURL = d.CancelURL(o, b.Token)
	if a.DepositStatus != booking.DepositPending || a.DepositCents == nil || a.HoldUntil == nil {
		return b, nil
	}
	expires := a.HoldUntil.In(o.Zone)
	b.Deposit = &Deposit{Amount: *a.DepositCents, ExpiresAt: &expires}
	if charge == nil || charge.PixCopyPaste == nil {
		return b, nil
	}
	picture, err := provider.QR(*charge.PixCopyPaste)
	encoded := base64.StdEncoding.EncodeToString(picture)
	b.Deposit.PixCopyPaste, b.Deposit.QRCode = charge.PixCopyPaste, &encoded
	return b, err
}

// shown is [Desk.booked] with the charge looked up.
func (d *Desk) shown(ctx context.Context, o store.Org, a dbgen.AppointmentDetail) (Booked, error) {
	if a.DepositStatus != booking.DepositPending {
		return d.booked(o, a, nil)
	}
	charge, err := d.store.OpenDeposit(ctx, o.ID, &a.ID)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return d.booked(o, a, nil)
	case err != nil:
		return Booked{}, err
	}
	return d.booked(o, a, &charge)
}

// CancelURL is the page on which a client changes a booking.
func (d *Desk) CancelURL(o store.Org, token string) string {
	return d.host.URLs.Public + "/book/" + o.Slug + "/cancel?token=" + url.QueryEscape(token)
}

// Token is what a client changes an appointment with. It is derived, so that later
// mails can carry the same link.
func (d *Desk) Token(id uuid.UUID, version int) string {
	mac := hmac.New(sha256.New, d.host.Sealer.Derive("client link"))
	mac.Write(id[:])
	mac.Write([]byte(strconv.Itoa(version)))
	return base64.RawURLEncoding.EncodeToString(append(id[:], mac.Sum(nil)...))
}

// byToken finds the appointment of an organization that a client's token is for.
func (d *Desk) byToken(ctx context.Context, o store.Org, token string) (dbgen.AppointmentDetail, error) {
	unknown := hub.Errorf(hub.ErrNotFound, "invalid_token", "Invalid cancel token")
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) != 16+sha256.Size {
		return dbgen.AppointmentDetail{}, unknown
	}
	a, err := d.store.AppointmentByID(ctx, o.ID, uuid.UUID(raw[:16]))
	if errors.Is(err, pgx.ErrNoRows) {
		return a, unknown
	}
	if err == nil && !hmac.Equal([]byte(d.Token(a.ID, a.TokenVersion)), []byte(token)) {
		return dbgen.AppointmentDetail{}, unknown
	}
	return a, err
}

// Appointment is what a client booked; [hub.ErrNotFound] for a token that is not one.
func (d *Desk) Appointment(ctx context.Context, o store.Org, token string) (Booked, error) {
	found, err := d.byToken(ctx, o, token)
	if err != nil {
		return Booked{}, err
	}
	return d.shown(ctx, o, found)
}

// Book books for a client. once makes repetitions of the same request count once;
// nil: every one counts. A time that is not offered is a *[booking.SlotTakenError]; what
// needs a deposit is booked together with the charge for it, and a provider that does
// not make one is a [hub.ErrPeer].
func (d *Desk) Book(ctx context.Context, o store.Org, r booking.Request, once *store.Once) (Booked, error) {
	if !o.Settings.BookingEnabled {
		return Booked{}, disabled()
	}
	err := r.Validate(booking.Demands{
		Phone: o.Settings.RequireClientPhone, Email: o.Settings.RequireClientEmail, Professional: !o.Settings.AllowAnyProfessional,
		Contact: o.Settings.MaxActiveBookingsPerClient != nil,
	})
	if err != nil {
		return Booked{}, err
	}
	contact := store.Contact{Name: r.Name, Phone: r.Phone, Email: r.Email, Source: "client", Agrees: r.Consent}
	solved, err := d.proven(o, r.Proof)
	if err != nil {
		return Booked{}, err
	}
	made, err := d.Place(ctx, store.NewAppointment{
		Org: o, Choice: store.Choice{Service: r.Service, Professional: r.Professional, Online: true}, Start: r.Start, Notes: r.Notes, Source: booking.Web,
		By: store.Actor{Kind: booking.Client}, Limits: o.Policy.PublicLimits(d.host.Now(), o.Zone), Once: once, Hold: r.Hold, Contact: &contact,
		Client: func(ctx context.Context, tx *store.Tx) (dbgen.Client, error) {
			if err := spend(ctx, tx, o, solved); err != nil {
				return dbgen.Client{}, err
			}
			client, err := tx.Known(ctx, o.ID, contact)
			if err != nil {
				return client, err
			}
			return client, mayBook(ctx, tx, o, client)
		},
	}, provider.Payer{Name: contact.Name, Email: contact.Email})
	return made, payment.Payerless(err, "body.client_email")
}

// Place makes a client's booking, with the charge for the deposit where one is due.
// Errors as [Desk.Book] has them.
func (d *Desk) Place(ctx context.Context, n store.NewAppointment, payer provider.Payer) (Booked, error) {
	made, charge, err := d.cashier.Book(ctx, n, payer)
	if dberr.ConstraintName(err) == "appointments_source" { // the same request, at the same time
		made, charge, err = d.cashier.Book(ctx, n, payer)
	}
	switch {
	case err != nil:
		return Booked{}, err
	case made.Before:
		return d.shown(ctx, n.Org, made.AppointmentDetail)
	}
	return d.booked(n.Org, made.AppointmentDetail, charge)
}

// DepositNeedsEmail tells whether who pays a deposit has to have an e-mail address.
func (d *Desk) DepositNeedsEmail() bool { return d.cashier.NeedsEmail() }

// holdTime is how long a client has to fill in the form.
const holdTime = 5 * time.Minute

// Hold keeps an offered time for a client who is about to book it, in place of the
// one they held before (zero: none). A time that is not offered is a
// *[booking.SlotTakenError].
func (d *Desk) Hold(ctx context.Context, o store.Org, c Choice, start time.Time, before uuid.UUID) (store.Held, error) {
	switch {
	case !o.Settings.BookingEnabled:
		return store.Held{}, disabled()
	case c.Professional == nil && !o.Settings.AllowAnyProfessional:
		return store.Held{}, hub.Invalid("body.professional_id", "is required")
	}
	if err := d.host.RateLimiter.Allow(ctx, "holds", module.ClientIP(ctx)); err != nil {
		return store.Held{}, err
	}
	return d.store.Hold(ctx, store.NewAppointment{
		Org: o, Choice: store.Choice{Service: c.Service, Professional: c.Professional, Online: true}, Start: start, Hold: before,
		Limits: o.Policy.PublicLimits(d.host.Now(), o.Zone),
	}, holdTime)
}

func disabled() *hub.Error {
	return hub.Errorf(hub.ErrForbidden, "booking_disabled", "This business does not take bookings online right now.")
}

// Wait puts a client on the list of those who are told when a time becomes free from
// one day to another. The same wish again is the same entry.
func (d *Desk) Wait(ctx context.Context, o store.Org, c Choice, contact store.Contact, first, last booking.Date) (id uuid.UUID, err error) {
	today := booking.DateOf(d.host.Now(), o.Zone)
	switch {
	case !o.Settings.BookingEnabled:
		return id, disabled()
	case !o.Settings.WaitlistEnabled:
		return id, hub.Errorf(hub.ErrForbidden, "waitlist_disabled", "This business keeps no waiting list.")
	case last < first:
		return id, hub.Invalid("body.last_date", "must not be before first_date")
	case last < today:
		return id, hub.Invalid("body.last_date", "must not be in the past")
	case last-first > waitAtMost:
		return id, hub.Invalid("body.last_date", "must be at most 92 days after first_date")
	}
	err = d.store.InTx(ctx, "waiting", func(tx *store.Tx) error {
		offers, err := store.OffersOf(ctx, tx.Queries, o.ID, store.Choice{Service: c.Service, Professional: c.Professional, Online: true})
		if err != nil {
			return err
		}
		if len(offers) == 0 {
			return hub.Invalid("body.service_id", "is not offered by anybody")
		}
		client, err := tx.Known(ctx, o.ID, contact)
		if err != nil {
			return err
		}
		if client.IsBlocked {
			return hub.Errorf(hub.ErrForbidden, "booking_refused", "This booking cannot be made online. Contact the business.")
		}
		// Two wishes at once are one: nobody else has this client now.
		id, err = tx.SameWaiting(ctx, dbgen.SameWaitingParams{
			OrgID: o.ID, ServiceID: c.Service, ClientID: client.ID, ProfessionalID: c.Professional, FirstDate: first.Time(), LastDate: last.Time(), ContactEmail: &contact.Email,
		})
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		n, err := tx.CountWaiting(ctx, o.ID, client.ID)
		if err != nil {
			return err
		}
		if n >= waitsPerClient {
			return hub.Errorf(hub.ErrConflict, "too_many_waiting", "There are too many waiting list entries under this phone number.")
		}
		id = store.NewID()
		return tx.AddWaiting(ctx, dbgen.AddWaitingParams{
			OrgID: o.ID, ID: id, ServiceID: c.Service, ProfessionalID: c.Professional, ClientID: client.ID,
			FirstDate: first.Time(), LastDate: last.Time(), CreatedAt: tx.Now(), ContactName: &contact.Name, ContactEmail: &contact.Email,
		})
	})
	return id, err
}

// Bounds of the waiting list.
const (
	waitAtMost     = 92 // days between the first and the last
	waitsPerClient = 20
)

// Refused is a [hub.ErrForbidden] for a client who was blocked.
func Refused(client dbgen.Client) error {
	if client.IsBlocked {
		return hub.Errorf(hub.ErrForbidden, "booking_refused", "This booking cannot be made online. Contact the business.")
	}
	return nil
}

// mayBook refuses clients who were blocked, or have as many bookings as allowed. They
// book nothing else meanwhile: [store.Tx.Known] sees to that.
func mayBook(ctx context.Context, tx *store.Tx, o store.Org, client dbgen.Client) error {
	if err := Refused(client); err != nil {
		return err
	}
	most := o.Settings.MaxActiveBookingsPerClient
	if most == nil {
		return nil
	}
	n, err := tx.ActiveBookings(ctx, dbgen.ActiveBookingsParams{OrgID: o.ID, ClientID: client.ID, Now: tx.Now()})
	if err == nil && n >= *most {
		err = hub.Errorf(hub.ErrConflict, "too_many_bookings", "There are too many open bookings under this phone number.")
	}
	return err
}

// Cancel cancels what a client booked. Again is no error.
func (d *Desk) Cancel(ctx context.Context, o store.Org, token string, reason *string) (dbgen.AppointmentDetail, error) {
	found, err := d.byToken(ctx, o, token)
	if err != nil {
		return found, err
	}
	return d.store.Act(ctx, booking.Cancel, store.Change{
		Org: o, ID: found.ID, By: store.Actor{Kind: booking.Client}, Reason: reason,
		Check: func(was dbgen.Appointment) error {
			return o.Policy.ClientMayCancel(was.StartAt.In(o.Zone), d.host.Now())
		},
	})
}

// Reschedule moves what a client booked to another offered time.
func (d *Desk) Reschedule(ctx context.Context, o store.Org, token string, start time.Time) (Booked, error) {
	found, err := d.byToken(ctx, o, token)
	if err != nil {
		return Booked{}, err
	}
	done, err := d.store.Move(ctx, store.Move{Start: &start, Online: true, Explicit: true, Limits: d.View(o).Limits}, store.Change{
		Org: o, ID: found.ID, By: store.Actor{Kind: booking.Client},
		Check: func(was dbgen.Appointment) error {
			return o.Policy.ClientMayReschedule(was.StartAt.In(o.Zone), d.host.Now())
		},
	})
	if err != nil {
		return Booked{}, err
	}
	return d.shown(ctx, o, done.AppointmentDetail)
}
