// Package notify sends e-mails and messages: to clients about their bookings, and to
// organizations about their clients' changes. It runs as jobs that the changes enqueue.
// E-mails are queued in the hub's mail, in a transaction of their own. It also reads
// changed patients from a connected clinic, see [Notifier.SyncPatient].
package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/pointer"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/emails"
	"integrationhub/scheduling/internal/publicbooking"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

// Notifier renders and sends e-mails and messages.
type Notifier struct {
	host          module.Host
	store         *store.Store
	publicBooking *publicbooking.Service
	unreachable   unreachablePeers
}

// New returns the notifier of an opened product.
func New(host module.Host, s *store.Store, publicBooking *publicbooking.Service) *Notifier {
	return &Notifier{host: host, store: s, publicBooking: publicBooking}
}

// appointmentData returns the data for e-mails about an appointment; name is its
// client's.
func (n *Notifier) appointmentData(org store.Org, appointment store.AppointmentDetail, name string) emails.Data {
	return emails.Data{
		Business: org.Name, Address: pointer.ValueOrZero(org.Address), Phone: pointer.ValueOrZero(org.Phone), Client: name, Service: appointment.ServiceName, Professional: appointment.ProfessionalName,
		Start: appointment.StartAt.In(org.Zone), TwelveHours: org.Settings.TimeFormat == "12h", Reason: pointer.ValueOrZero(appointment.CancelReason),
		Link: n.publicBooking.ManageURL(org, n.publicBooking.BookingToken(appointment.ID, appointment.TokenVersion)),
	}
}

// clientLocale returns the language of an appointment's client: the language of the booking,
// else the organization's.
func clientLocale(org store.Org, appointment store.AppointmentDetail) string {
	return cmp.Or(pointer.ValueOrZero(appointment.Locale), org.Locale)
}

// envelope is the recipient of an e-mail and what accompanies its text.
type envelope struct {
	to          string
	locale      string    // "" = the organization's
	clientID    uuid.UUID // the client it is about; erasing the client drops the e-mail. Zero: none
	attachments []module.Attachment
	unsubscribe string // link to unsubscribe; "" = not a marketing e-mail
}

// sendEmail renders an e-mail and passes it to the hub's mail in the transaction. Sent
// is false without an address, for an invalid one, and for a client who was erased after
// the data were read. It locks the client, so that an erasure finds the e-mail.
func (n *Notifier) sendEmail(ctx context.Context, tx *store.Tx, org store.Org, e envelope, kind emails.Kind, data emails.Data) (sent bool, err error) {
	if e.to == "" {
		return false, nil
	}
	email, err := emails.Render(kind, cmp.Or(e.locale, org.Locale), data)
	if err != nil {
		return false, err
	}
	message := module.Email{TenantID: org.ID, To: e.to, FromName: org.Name, ReplyTo: pointer.ValueOrZero(org.Email), Subject: email.Subject, Text: email.Text, HTML: email.HTML, Attachments: e.attachments}
	message.Unsubscribe = e.unsubscribe
	if e.clientID != uuid.Nil {
		if _, err := tx.LockClient(ctx, org.ID, e.clientID); err != nil {
			return false, store.IgnoreNotFound(err)
		}
		message.SubjectID = e.clientID.String()
	}
	err = n.host.Mail.Send(ctx, tx.Raw, message)
	if errors.Is(err, hub.ErrInvalid) {
		n.host.Log.Warn("invalid e-mail address", "organization", org.ID, "kind", string(kind))
		return false, nil
	}
	return err == nil, err
}

// SendChangeEmails sends the e-mails about a change of an appointment. The payload is a
// [store.Notification].
func (n *Notifier) SendChangeEmails(ctx context.Context, payload []byte) error {
	var notification store.Notification
	if len(payload) == 0 {
		return nil
	}
	if err := json.Unmarshal(payload, &notification); err != nil {
		return err
	}
	org, err := n.store.LoadOrg(ctx, notification.Org)
	if errors.Is(err, hub.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return n.store.InTx(ctx, "rendering an e-mail", func(tx *store.Tx) error {
		appointment, err := tx.AppointmentByID(ctx, notification.Org, notification.Appointment)
		if err != nil {
			return err
		}
		contact, err := tx.AppointmentRecipient(ctx, notification.Org, notification.Appointment)
		if err != nil {
			return err
		}
		data := n.appointmentData(org, appointment, contact.Name)
		if !notification.PreviousStart.IsZero() {
			data.PreviousStart = notification.PreviousStart.In(org.Zone)
		}
		if err := n.sendClientEmail(ctx, tx, org, appointment, notification, contact, &data); err != nil {
			return err
		}
		data.Client = appointment.ClientName
		kind := staffEmailKind(notification)
		for _, address := range org.Settings.NotifyEmails {
			if kind == "" {
				break
			}
			data.Link, data.Address = "", ""
			if _, err := n.sendEmail(ctx, tx, org, envelope{to: address, clientID: appointment.ClientID}, kind, data); err != nil {
				return err
			}
		}
		return nil
	})
}

// sendClientEmail sends the client's e-mail about a change, if one is due and the address did not
// get too many.
func (n *Notifier) sendClientEmail(ctx context.Context, tx *store.Tx, org store.Org, appointment store.AppointmentDetail, notification store.Notification, contact store.AppointmentRecipient, data *emails.Data) error {
	kind, files, err := n.clientEmail(ctx, tx, org, appointment, notification, contact, data)
	if err != nil || kind == "" {
		return err
	}
	admitted, err := tx.AdmitBookingEmail(ctx, appointment, notification.By, contact.Email)
	if err != nil {
		return err
	}
	if !admitted {
		data.EmailWithheld = true
		return nil
	}
	_, err = n.sendEmail(ctx, tx, org, envelope{to: contact.Email, locale: clientLocale(org, appointment), clientID: appointment.ClientID, attachments: files}, kind, *data)
	return err
}

// clientEmail chooses the client's e-mail for a change by the appointment's current
// state. The kind is "" where none is due: the appointment ended, or another e-mail
// follows.
func (n *Notifier) clientEmail(ctx context.Context, tx *store.Tx, org store.Org, appointment store.AppointmentDetail, notification store.Notification, contact store.AppointmentRecipient, data *emails.Data) (emails.Kind, []module.Attachment, error) {
	open := appointment.Status == booking.Scheduled || appointment.Status == booking.Confirmed
	if notification.SkipClient || contact.Email == "" || !appointment.StartAt.After(tx.Now()) {
		return "", nil, nil
	}
	var kind emails.Kind
	switch {
	case notification.Change == store.ChangeCancelled && appointment.Status == booking.Cancelled:
		kind = emails.Cancelled
	case notification.Change == store.ChangeRescheduled && open:
		kind = emails.Rescheduled
	case notification.Change == store.ChangeBooked && open && appointment.DepositStatus == booking.DepositPending:
		charge, err := tx.PendingDepositCharge(ctx, appointment.OrgID, &appointment.ID)
		if err != nil {
			return "", nil, store.IgnoreNotFound(err)
		}
		data.Amount, data.PixCode = formatAmount(charge.AmountCents, org.Currency, clientLocale(org, appointment)), pointer.ValueOrZero(charge.PixCopyPaste)
		if appointment.DepositDeadline != nil {
			data.DepositDeadline = appointment.DepositDeadline.In(org.Zone)
		}
		return emails.Deposit, nil, nil // the calendar file follows once the deposit is paid
	case (notification.Change == store.ChangeBooked || notification.Change == store.ChangeConfirmed) && appointment.Status == booking.Confirmed:
		kind = emails.Confirmed
	case notification.Change == store.ChangeBooked && appointment.Status == booking.Scheduled:
		kind = emails.Received
	default:
		return "", nil, nil
	}
	method, file := n.publicBooking.CalendarInvite(org, appointment, contact)
	return kind, []module.Attachment{{Name: "appointment.ics", Type: method.MediaType(), Content: file}}, nil
}

// staffEmailKind returns the organization's e-mail for a change, "" for its own changes.
func staffEmailKind(notification store.Notification) emails.Kind {
	if notification.By == booking.ActorStaff {
		return ""
	}
	return map[string]emails.Kind{
		store.ChangeBooked: emails.StaffBooked, store.ChangeCancelled: emails.StaffCancelled, store.ChangeRescheduled: emails.StaffRescheduled,
	}[notification.Change]
}

// formatAmount formats money for people: R$ 20,00.
func formatAmount(amount booking.Cents, currency, locale string) string {
	number := amount.String()
	if booking.Decimals(currency) == 0 {
		number, _, _ = strings.Cut(number, ".")
	}
	if !strings.HasPrefix(locale, "en") {
		number = strings.ReplaceAll(number, ".", ",")
	}
	symbol := currency
	if symbol == "BRL" {
		symbol = "R$"
	}
	return symbol + "\u00a0" + number
}

// waitlistOffers is the index that keeps a freed time from being offered twice.
const waitlistOffers = "waitlist_offers"

// OfferFreedTime offers a freed time to the first matching waitlist entry. A run that is
// repeated after its offer was stored does nothing. The payload is a [store.FreedTime].
func (n *Notifier) OfferFreedTime(ctx context.Context, payload []byte) error {
	var freed store.FreedTime
	if len(payload) == 0 {
		return nil
	}
	if err := json.Unmarshal(payload, &freed); err != nil {
		return err
	}
	org, err := n.store.LoadOrg(ctx, freed.Org)
	if errors.Is(err, hub.ErrNotFound) {
		return nil
	}
	if err != nil || !org.Settings.WaitlistEnabled {
		return err
	}
	if wasOffered, err := n.store.FreedTimeWasOffered(ctx, org.ID, freed.ID); err != nil || wasOffered {
		return err
	}
	day := booking.DateOf(freed.Start, org.Zone)
	page := dbgen.MatchingWaitlistEntriesParams{OrgID: org.ID, Date: day.Time(), ProfessionalID: &freed.Professional}
	byService := make(map[uuid.UUID]publicbooking.DaySlots)
	for {
		entries, err := n.store.MatchingWaitlistEntries(ctx, page)
		if err != nil || len(entries) == 0 {
			return err
		}
		for _, entry := range entries {
			page.AfterCreatedAt, page.AfterID = entry.CreatedAt, entry.ID
			availability, loaded := byService[entry.ServiceID]
			if !loaded {
				if availability, err = n.freedSlots(ctx, org, entry.ServiceID, freed, day); err != nil {
					return err
				}
				byService[entry.ServiceID] = availability
			}
			sent, err := n.offerTo(ctx, org, entry, freed, availability)
			if err != nil || sent {
				return err
			}
		}
	}
}

// freedSlots returns what is free for a service on the day of a freed time, or nothing where
// clients cannot book the service.
func (n *Notifier) freedSlots(ctx context.Context, org store.Org, service uuid.UUID, freed store.FreedTime, day booking.Date) (publicbooking.DaySlots, error) {
	availability, err := n.publicBooking.FreeSlots(ctx, n.publicBooking.ClientView(org), publicbooking.Choice{Service: service, Professional: &freed.Professional}, day)
	if errors.Is(err, hub.ErrNotFound) || errors.Is(err, hub.ErrInvalid) {
		return publicbooking.DaySlots{}, nil
	}
	return availability, err
}

// offerTo offers a freed time to a waitlist entry if its service fits into what is free.
func (n *Notifier) offerTo(ctx context.Context, org store.Org, entry store.WaitlistEntry, freed store.FreedTime, availability publicbooking.DaySlots) (sent bool, err error) {
	if len(availability.Slots) == 0 {
		return false, nil
	}
	slot := availability.Slots[0]
	for _, candidate := range availability.Slots {
		if !candidate.Start.After(freed.Start) {
			slot = candidate
		}
	}
	err = n.store.InTx(ctx, "offering a freed time", func(tx *store.Tx) error {
		sent = false // the transaction may be repeated
		client, err := tx.LoadClient(ctx, org.ID, entry.ClientID)
		if err != nil {
			return store.IgnoreNotFound(err)
		}
		name, email := client.Name, pointer.ValueOrZero(client.Email)
		if entry.ContactEmail != nil {
			name, email = pointer.ValueOrZero(entry.ContactName), *entry.ContactEmail
		}
		data := emails.Data{
			Business: org.Name, Client: name, Service: availability.Offers[0].Service.Name, Professional: availability.Offers[0].ProfessionalName,
			Start: slot.Start.In(org.Zone), TwelveHours: org.Settings.TimeFormat == "12h", Address: pointer.ValueOrZero(org.Address),
			Link: n.host.URLs.Public + "/book/" + url.PathEscape(org.Slug),
		}
		if entry.ContactEmail != nil { // else staff know the address
			admitted, err := tx.AdmitEmailToStranger(ctx, org.ID, email)
			if err != nil || !admitted { // the entry stays
				return err
			}
		}
		offered, err := tx.SetWaitlistOffered(ctx, dbgen.SetWaitlistOfferedParams{Now: tx.Now(), OrgID: org.ID, ID: entry.ID})
		if err != nil || offered == 0 {
			return err
		}
		sent, err = n.sendEmail(ctx, tx, org, envelope{to: email, clientID: client.ID}, emails.Waitlist, data)
		if err != nil || !sent || freed.ID == uuid.Nil {
			return err
		}
		return tx.SetWaitlistOfferID(ctx, dbgen.SetWaitlistOfferIDParams{OfferID: freed.ID, OrgID: org.ID, ID: entry.ID})
	})
	if dberr.ConstraintName(err) == waitlistOffers { // another run of the job was faster
		return true, nil
	}
	return sent, err
}
