// Package notify tells people: clients of their bookings and reminders, organizations
// of what clients do. It runs in the background, on what the
// transactions of the changes left for it; letters go out through the hub's mail, in
// a transaction of their own.
package notify

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/emails"
	"integrationhub/scheduling/internal/publicbooking"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

// Office writes and sends.
type Office struct {
	host  module.Host
	store *store.Store
	desk  *publicbooking.Desk
}

// New makes the office of an opened product.
func New(host module.Host, s *store.Store, desk *publicbooking.Desk) *Office {
	return &Office{host, s, desk}
}

// Jobs is what it does in the background.
func (o *Office) Jobs() []module.Job {
	return []module.Job{
		{Name: store.JobLetters, Run: o.letters},
		{Name: store.JobWaitlist, Run: o.waitlist},
		{Name: store.JobUnclear, Run: o.unclear},
		{Name: store.JobPatients, Run: o.patients},
		{Name: store.JobCampaigns, Timeout: 10 * time.Minute, Run: o.campaigns},
		{Name: "reminders", Every: 20 * time.Second, Timeout: 10 * time.Minute, Run: o.reminders},
	}
}

// facts are what letters say of an appointment to its client, who is called name.
func (o *Office) facts(org store.Org, d dbgen.AppointmentDetail, name string) emails.Facts {
	return emails.Facts{
		Business: org.Name, Place: text(org.Address), Phone: text(org.Phone), Client: name, Service: d.ServiceName, Professional: d.ProfessionalName,
		Start: d.StartAt.In(org.Zone), TwelveHours: org.Settings.TimeFormat == "12h", Reason: text(d.CancelReason),
		Link: o.desk.CancelURL(org, o.desk.Token(d.ID, d.TokenVersion)),
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// envelope is where a letter goes.
type envelope struct {
	to    string
	about uuid.UUID // the client it tells of: whoever is forgotten has it dropped; zero: none
	files []module.Attachment
	leave string // address at which they leave the list; "" = it is of none
}

// send writes a letter and hands it to the hub in the transaction; nobody to send it
// to, or an address that is none, is no error but not sent.
func (o *Office) send(ctx context.Context, tx *store.Tx, org store.Org, e envelope, k emails.Kind, f emails.Facts) (sent bool, err error) {
	if e.to == "" {
		return false, nil
	}
	l, err := emails.Write(k, org.Locale, f)
	if err != nil {
		return false, err
	}
	mail := module.Email{TenantID: org.ID, To: e.to, FromName: org.Name, ReplyTo: text(org.Email), Subject: l.Subject, Text: l.Text, HTML: l.HTML, Attachments: e.files}
	mail.Unsubscribe = e.leave
	if e.about != uuid.Nil {
		mail.SubjectID = e.about.String()
	}
	err = o.host.Mail.Send(ctx, tx.Raw, mail)
	if errors.Is(err, hub.ErrInvalid) {
		o.host.Log.Warn("an address that mail cannot go to", "organization", org.ID, "letter", string(k))
		return false, nil
	}
	return err == nil, err
}

// letters tells people of a change.
func (o *Office) letters(ctx context.Context, payload []byte) error {
	var n store.News
	if len(payload) == 0 {
		return nil
	}
	if err := json.Unmarshal(payload, &n); err != nil {
		return err
	}
	org, err := o.store.Org(ctx, n.Org)
	if errors.Is(err, hub.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return o.store.InTx(ctx, "writing letters", func(tx *store.Tx) error {
		d, err := tx.AppointmentByID(ctx, n.Org, n.Appointment)
		if err != nil {
			return err
		}
		contact, err := tx.ContactOf(ctx, n.Org, n.Appointment)
		if err != nil {
			return err
		}
		f := o.facts(org, d, contact.Name)
		if !n.Before.IsZero() {
			f.Before = n.Before.In(org.Zone)
		}
		if k, files, err := o.forClient(ctx, tx, org, d, n, contact, &f); err != nil {
			return err
		} else if k != "" {
			if _, err := o.send(ctx, tx, org, envelope{to: contact.Email, about: d.ClientID, files: files}, k, f); err != nil {
				return err
			}
		}
		f.Client = d.ClientName
		k := forStaff(n)
		for _, to := range org.Settings.NotifyEmails {
			if k == "" {
				break
			}
			f.Link, f.Place = "", ""
			if _, err := o.send(ctx, tx, org, envelope{to: to, about: d.ClientID}, k, f); err != nil {
				return err
			}
		}
		return nil
	})
}

// forClient says which letter a change is worth to the client, by where the
// appointment stands now; "" for none: it is over, or another letter is on its way.
func (o *Office) forClient(ctx context.Context, tx *store.Tx, org store.Org, d dbgen.AppointmentDetail, n store.News, contact dbgen.ContactOfRow, f *emails.Facts) (emails.Kind, []module.Attachment, error) {
	open := d.Status == booking.Scheduled || d.Status == booking.Confirmed
	if n.Quiet || contact.Email == "" || !d.StartAt.After(tx.Now()) {
		return "", nil, nil
	}
	var k emails.Kind
	switch {
	case n.What == store.NewsCancelled && d.Status == booking.Cancelled:
		k = emails.Cancelled
	case n.What == store.NewsMoved && open:
		k = emails.Moved
	case n.What == store.NewsBooked && open && d.DepositStatus == booking.DepositPending:
		charge, err := tx.OpenDeposit(ctx, d.OrgID, &d.ID)
		if err != nil {
			return "", nil, store.Ignored(err)
		}
		f.Amount, f.Code = amount(charge.AmountCents, org), text(charge.PixCopyPaste)
		if d.HoldUntil != nil {
			f.Until = d.HoldUntil.In(org.Zone)
		}
		return emails.Deposit, nil, nil // the calendar comes once it is paid
	case (n.What == store.NewsBooked || n.What == store.NewsConfirmed) && d.Status == booking.Confirmed:
		k = emails.Confirmed
	case n.What == store.NewsBooked && d.Status == booking.Scheduled:
		k = emails.Received
	default:
		return "", nil, nil
	}
	method, file := o.desk.Invitation(org, d, contact)
	return k, []module.Attachment{{Name: "appointment.ics", Type: method.Type(), Content: file}}, nil
}

// forStaff says which letter a change is worth to the organization: what it does
// itself it knows.
func forStaff(n store.News) emails.Kind {
	if n.By == booking.Staff {
		return ""
	}
	return map[string]emails.Kind{
		store.NewsBooked: emails.StaffBooked, store.NewsCancelled: emails.StaffCancelled, store.NewsMoved: emails.StaffMoved,
	}[n.What]
}

// amount writes money for people: R$ 20,00.
func amount(c booking.Cents, org store.Org) string {
	number := c.String()
	if booking.Decimals(org.Currency) == 0 {
		number, _, _ = strings.Cut(number, ".")
	}
	if !strings.HasPrefix(org.Locale, "en") {
		number = strings.ReplaceAll(number, ".", ",")
	}
	symbol := org.Currency
	if symbol == "BRL" {
		symbol = "R$"
	}
	return symbol + "\u00a0" + number
}

// waitlist tells the first of those who wait for a time that it has become free.
func (o *Office) waitlist(ctx context.Context, payload []byte) error {
	var freed store.Freed
	if len(payload) == 0 {
		return nil
	}
	if err := json.Unmarshal(payload, &freed); err != nil {
		return err
	}
	org, err := o.store.Org(ctx, freed.Org)
	if errors.Is(err, hub.ErrNotFound) {
		return nil
	}
	if err != nil || !org.Settings.WaitlistEnabled {
		return err
	}
	day := booking.DateOf(freed.Start, org.Zone)
	rows, err := o.store.Waiting(ctx, dbgen.WaitingParams{OrgID: org.ID, Date: day.Time(), ProfessionalID: &freed.Professional})
	if err != nil {
		return err
	}
	for _, w := range rows {
		told, err := o.offer(ctx, org, w, freed, day)
		if err != nil || told {
			return err
		}
	}
	return nil
}

// offer tells somebody who waits, where what became free is long enough for them.
func (o *Office) offer(ctx context.Context, org store.Org, w dbgen.Waiting, freed store.Freed, day booking.Date) (told bool, err error) {
	shown, err := o.desk.Day(ctx, o.desk.View(org), publicbooking.Choice{Service: w.ServiceID, Professional: &freed.Professional}, day)
	if errors.Is(err, hub.ErrNotFound) || errors.Is(err, hub.ErrInvalid) || err == nil && len(shown.Slots) == 0 {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	slot := shown.Slots[0]
	for _, one := range shown.Slots {
		if !one.Start.After(freed.Start) {
			slot = one
		}
	}
	err = o.store.InTx(ctx, "telling who waits", func(tx *store.Tx) error {
		client, err := tx.Client(ctx, org.ID, w.ClientID)
		if err != nil {
			return store.Ignored(err)
		}
		name, email := client.Name, text(client.Email)
		if w.ContactEmail != nil {
			name, email = text(w.ContactName), *w.ContactEmail
		}
		f := emails.Facts{
			Business: org.Name, Client: name, Service: shown.Offers[0].Service.Name, Professional: shown.Offers[0].ProfessionalName,
			Start: slot.Start.In(org.Zone), TwelveHours: org.Settings.TimeFormat == "12h", Place: text(org.Address),
			Link: o.host.URLs.Public + "/book/" + url.PathEscape(org.Slug),
		}
		n, err := tx.OfferWaiting(ctx, dbgen.OfferWaitingParams{Now: tx.Now(), OrgID: org.ID, ID: w.ID})
		if err != nil || n == 0 {
			return err
		}
		told, err = o.send(ctx, tx, org, envelope{to: email, about: client.ID}, emails.Waitlist, f)
		return err
	})
	return told, err
}
