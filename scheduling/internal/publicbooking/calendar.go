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

// CalendarFile returns a booking as an .ics file and the file's name.
func (s *Service) CalendarFile(org store.Org, booked Booking) (file []byte, name string) {
	event := calendarEvent(org, booked.AppointmentDetail, booked.ManageURL)
	return calendar.Calendar{Method: calendar.Publish, Events: []calendar.Event{event}}.Bytes(), org.Slug + ".ics"
}

// CalendarInvite returns an appointment as an iCalendar message for an e-mail. The
// recipient's calendar program adds, changes or removes it. The organizer is the organization's
// address, or the hub's where it has none.
func (s *Service) CalendarInvite(org store.Org, appointment store.AppointmentDetail, contact store.AppointmentRecipient) (calendar.Method, []byte) {
	event := calendarEvent(org, appointment, s.ManageURL(org, s.BookingToken(appointment.ID, appointment.TokenVersion)))
	event.Organizer, event.Attendee = calendar.Person{Name: org.Name, Email: s.host.Settings.MailFrom}, calendar.Person{Name: contact.Name, Email: contact.Email}
	if org.Email != nil {
		event.Organizer.Email = *org.Email
	}
	method := calendar.Request
	if event.Cancelled {
		method = calendar.Cancel
	}
	return method, calendar.Calendar{Method: method, Events: []calendar.Event{event}}.Bytes()
}

// calendarEvent converts an appointment. Every copy has the same UID.
func calendarEvent(org store.Org, appointment store.AppointmentDetail, link string) calendar.Event {
	event := calendar.Event{
		UID: appointment.ID.String() + "@scheduling", Sequence: appointment.IcsSequence, Stamp: appointment.UpdatedAt, Start: appointment.StartAt.In(org.Zone), End: appointment.EndAt.In(org.Zone),
		Summary: appointment.ServiceName + " · " + org.Name, Description: appointment.ProfessionalName + "\n" + link, URL: link, Cancelled: !appointment.Status.Blocks(),
	}
	if org.Address != nil {
		event.Location = *org.Address
	}
	return event
}

// FeedURL returns the secret address of a professional's calendar feed. Rotating the
// feed changes it.
func (s *Service) FeedURL(professional store.Professional) string {
	return fmt.Sprintf("%s/calendar/%s/%s.ics", s.host.URLs.Base, professional.ID, s.feedSecret(professional))
}

func (s *Service) feedSecret(professional store.Professional) string {
	mac := hmac.New(sha256.New, s.host.Sealer.Derive("calendar feed"))
	mac.Write(professional.ID[:])
	mac.Write([]byte(strconv.Itoa(professional.FeedVersion)))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// A feed contains the past month and the coming year. Cancelled appointments stay for a week, in
// which calendar programs see that they are cancelled. If there are too many entries, the oldest
// are left out.
const (
	feedPast       = 30 * 24 * time.Hour
	feedFuture     = 365 * 24 * time.Hour
	feedCancelled  = 7 * 24 * time.Hour
	maxFeedEntries = 5000
)

// Feed returns a professional's calendar as an .ics file, or [hub.ErrNotFound] for a
// secret that is not valid or was rotated, and while the organization is suspended.
func (s *Service) Feed(ctx context.Context, professional uuid.UUID, secret string) ([]byte, error) {
	notFound := hub.Errorf(hub.ErrNotFound, "not_found", "Calendar not found")
	p, err := s.store.ProfessionalInAnyOrg(ctx, professional)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, notFound
	}
	if err != nil {
		return nil, err
	}
	if !hmac.Equal([]byte(s.feedSecret(p)), []byte(secret)) || s.host.Tenants.CheckActive(p.OrgID) != nil {
		return nil, notFound
	}
	org, err := s.store.LoadOrg(ctx, p.OrgID)
	if err != nil {
		return nil, err
	}
	now := s.host.Now()
	rows, err := s.store.FeedAppointments(ctx, dbgen.FeedAppointmentsParams{
		OrgID: org.ID, ProfessionalID: p.ID, Now: now, Since: now.Add(-feedPast), Until: now.Add(feedFuture), CancelledSince: now.Add(-feedCancelled), RowLimit: maxFeedEntries,
	})
	if err != nil {
		return nil, err
	}
	feed := calendar.Calendar{Method: calendar.Publish, Name: p.Name + " · " + org.Name}
	for _, appointment := range rows {
		event := calendarEvent(org, appointment, "")
		event.Summary, event.Description = appointment.ClientName+" · "+appointment.ServiceName, appointment.Notes
		if appointment.ClientPhone != nil {
			event.Description = *appointment.ClientPhone + "\n" + appointment.Notes
		}
		feed.Events = append(feed.Events, event)
	}
	return feed.Bytes(), nil
}
