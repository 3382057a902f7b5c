package publicbooking

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/calendar"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

// Calendar is a booking as a file for its client's own calendar, and the name of the file.
func (d *Desk) Calendar(o store.Org, b Booked) (file []byte, name string) {
	event := event(o, b.AppointmentDetail, b.CancelURL)
	return calendar.Calendar{Method: calendar.Publish, Events: []calendar.Event{event}}.Bytes(), o.Slug + ".ics"
}

// Invitation is an appointment for the calendar of its client, to be sent by mail:
// the client's program puts it there, changes it or takes it out.
// It comes from the organization's address, or where it told none from the hub's.
func (d *Desk) Invitation(o store.Org, a dbgen.AppointmentDetail, to dbgen.ContactOfRow) (calendar.Method, []byte) {
	e := event(o, a, d.CancelURL(o, d.Token(a.ID, a.TokenVersion)))
	e.Organizer, e.Attendee = calendar.Person{Name: o.Name, Email: d.host.Settings.MailFrom}, calendar.Person{Name: to.Name, Email: to.Email}
	if o.Email != nil {
		e.Organizer.Email = *o.Email
	}
	method := calendar.Request
	if e.Cancelled {
		method = calendar.Cancel
	}
	return method, calendar.Calendar{Method: method, Events: []calendar.Event{e}}.Bytes()
}

// event is an appointment as its client's calendar shows it: the same one, however it
// got there.
func event(o store.Org, a dbgen.AppointmentDetail, link string) calendar.Event {
	e := calendar.Event{
		UID: a.ID.String() + "@scheduling", Sequence: a.IcsSequence, Stamp: a.UpdatedAt, Start: a.StartAt.In(o.Zone), End: a.EndAt.In(o.Zone),
		Summary: a.ServiceName + " · " + o.Name, Description: a.ProfessionalName + "\n" + link, URL: link, Cancelled: !a.Status.Blocks(),
	}
	if o.Address != nil {
		e.Location = *o.Address
	}
	return e
}

// FeedURL is the secret address of a professional's calendar, until it is rotated.
func (d *Desk) FeedURL(p dbgen.Professional) string {
	return fmt.Sprintf("%s/calendar/%s/%s.ics", d.host.URLs.Base, p.ID, d.feedSecret(p))
}

func (d *Desk) feedSecret(p dbgen.Professional) string {
	mac := hmac.New(sha256.New, d.host.Sealer.Derive("calendar feed"))
	mac.Write(p.ID[:])
	mac.Write([]byte(strconv.Itoa(p.FeedVersion)))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// A feed shows a month of what was and a year of what will be.
const (
	feedBack    = 30 * 24 * time.Hour
	feedAhead   = 365 * 24 * time.Hour
	feedEntries = 5000
)

// Feed is a professional's calendar, as an .ics file. [hub.ErrNotFound] for a secret
// that is not, or not any more, the professional's.
func (d *Desk) Feed(ctx context.Context, professional uuid.UUID, secret string) ([]byte, error) {
	unknown := hub.Errorf(hub.ErrNotFound, "not_found", "Calendar not found")
	p, err := d.store.ProfessionalAnywhere(ctx, professional)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, unknown
	}
	if err != nil {
		return nil, err
	}
	if !hmac.Equal([]byte(d.feedSecret(p)), []byte(secret)) {
		return nil, unknown
	}
	o, err := d.store.Org(ctx, p.OrgID)
	if err != nil {
		return nil, err
	}
	since, until := d.host.Now().Add(-feedBack), d.host.Now().Add(feedAhead)
	rows, err := d.store.ListAppointments(ctx, dbgen.ListAppointmentsParams{
		OrgID: o.ID, ProfessionalID: &p.ID, Since: &since, Until: &until, Statuses: []string{}, RowLimit: feedEntries,
	})
	if err != nil {
		return nil, err
	}
	feed := calendar.Calendar{Method: calendar.Publish, Name: p.Name + " · " + o.Name}
	for _, a := range rows {
		e := event(o, a, "")
		e.Summary, e.Description = a.ClientName+" · "+a.ServiceName, a.Notes
		if a.ClientPhone != nil {
			e.Description = *a.ClientPhone + "\n" + a.Notes
		}
		feed.Events = append(feed.Events, e)
	}
	return feed.Bytes(), nil
}
