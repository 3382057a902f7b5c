package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/module"
)

// text is a member that some products send as a string and others as a number.
type text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte(`"`)) {
		return json.Unmarshal(b, (*string)(t))
	}
	if string(b) != "null" {
		*t = text(b)
	}
	return nil
}

// news is an event of a connected product, read.
type news struct {
	at     Scope
	source string // product
	id     string // of the event
	kind   string // type of the event
	time   time.Time
	raw    []byte // its data
	data   struct {
		Phone         string `json:"phone"`
		ClientPhone   string `json:"client_phone"`
		Name          string `json:"name"`
		ClientName    string `json:"client_name"`
		Body          string `json:"body"`
		TicketID      text   `json:"ticket_id"`
		Queue         string `json:"queue"`
		Resolution    string `json:"resolution"`
		AppointmentID text   `json:"appointment_id"`
		Service       string `json:"service"`
		Professional  string `json:"professional"`
		Datetime      string `json:"datetime"`
		Reason        string `json:"reason"`
	}
}

// Types of received events.
const (
	messageReceived      = "message.received"
	messageSent          = "message.sent"
	ticketCreated        = "ticket.created"
	ticketClosed         = "ticket.closed"
	contactCreated       = "contact.created"
	appointmentCreated   = "appointment.created"
	appointmentCancelled = "appointment.cancelled"
	appointmentReminded  = "appointment.reminded"
	appointmentNoshow    = "appointment.noshow"
)

// Received are the types of events that the clinic takes in.
func Received() []string {
	return []string{
		messageReceived, messageSent, ticketCreated, ticketClosed, contactCreated,
		appointmentCreated, appointmentCancelled, appointmentReminded, appointmentNoshow,
	}
}

// maxID is how many characters the ids of other products have at most.
const maxID = 200

func malformed(because error) *hub.Error {
	e := hub.Errorf(hub.ErrMalformed, "malformed", "The event's data does not have the documented form.")
	if because != nil {
		e = e.Because(because)
	}
	return e
}

func read(at Scope, source, id, kind string, when time.Time, raw []byte) (news, error) {
	n := news{at: at, source: source, id: id, kind: kind, time: when, raw: raw}
	if err := json.Unmarshal(raw, &n.data); err != nil {
		return n, malformed(err)
	}
	if len(n.data.TicketID) > maxID || len(n.data.AppointmentID) > maxID {
		return n, malformed(nil)
	}
	if kind == appointmentCreated {
		if _, err := n.datetime(); err != nil {
			return n, malformed(err)
		}
	}
	return n, nil
}

func (n *news) datetime() (time.Time, error) {
	when, err := time.Parse(time.RFC3339, n.data.Datetime)
	if err != nil {
		when, err = time.Parse("2006-01-02T15:04Z07:00", n.data.Datetime)
	}
	return when.UTC(), err
}

// phone is whose number the event names, "" where it names none.
func (n *news) phone() string {
	if n.data.ClientPhone != "" {
		return n.data.ClientPhone
	}
	return n.data.Phone
}

// subject names the ticket or appointment that an event is about, where it has an id.
func (n *news) subject() *string {
	var subject string
	switch {
	case strings.HasPrefix(n.kind, "appointment.") && n.data.AppointmentID != "":
		subject = "appointment " + string(n.data.AppointmentID)
	case !strings.HasPrefix(n.kind, "appointment.") && n.data.TicketID != "":
		subject = "ticket " + string(n.data.TicketID)
	default:
		return nil
	}
	return &subject
}

// Receive takes in an event of a connected product. [module.ErrIgnored] is the answer
// to one that matches no patient: it waits in the inbox.
func (t *Tx) Receive(ctx context.Context, e hub.Event) error {
	n, err := read(Scope{e.TenantID, e.Environment}, e.Product, e.ID, e.Type, e.Time, e.Data)
	if err != nil {
		return err
	}
	patient, err := t.whose(ctx, &n)
	switch {
	case err != nil:
		return err
	case patient == nil:
		if err := t.wait(ctx, &n); err != nil {
			return err
		}
		return module.ErrIgnored
	case patient.Status == Anonymized:
		return module.ErrIgnored // nothing about them is kept any more
	}
	if err := t.apply(ctx, &n, patient.ID); err != nil {
		return err
	}
	return t.resume(ctx, &n, patient.ID)
}

// whose finds the patient that an event is about: by the ticket or appointment that it
// names, or by the phone number; nil where there is none.
func (t *Tx) whose(ctx context.Context, n *news) (*dbgen.Patient, error) {
	byNumber := func() (*dbgen.Patient, error) {
		list, err := t.ByPhone(ctx, n.at, n.phone())
		if err != nil || len(list) == 0 {
			return nil, err
		}
		return &list[0], nil
	}
	bySubject := func() (p dbgen.Patient, err error) {
		switch {
		case n.subject() == nil:
			return p, pgx.ErrNoRows
		case strings.HasPrefix(n.kind, "appointment."):
			id := string(n.data.AppointmentID)
			return t.PatientOfAppointment(ctx, dbgen.PatientOfAppointmentParams{ClinicID: n.at.Clinic, Env: n.at.Env, Source: &n.source, ExternalID: &id})
		}
		return t.PatientOfTicket(ctx, dbgen.PatientOfTicketParams{ClinicID: n.at.Clinic, Env: n.at.Env, Source: n.source, TicketID: string(n.data.TicketID)})
	}
	// Who a message is from, or a booking for, the number says; of what is done to them
	// later, what is known of them already.
	if n.kind != ticketClosed && n.kind != appointmentCancelled && n.kind != appointmentReminded && n.kind != appointmentNoshow {
		if p, err := byNumber(); p != nil || err != nil {
			return p, err
		}
	}
	p, err := bySubject()
	if err == nil {
		return &p, nil
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return nil, err
	}
	return byNumber()
}

// inboxContext binds the sealed data of an event to its inbox entry.
func inboxContext(id uuid.UUID) string { return "inbox/" + id.String() }

// wait puts an event into the inbox.
func (t *Tx) wait(ctx context.Context, n *news) error {
	id := NewID()
	entry := dbgen.InsertInboxEntryParams{
		ClinicID: n.at.Clinic, Env: n.at.Env, ID: id, Source: n.source, EventID: n.id, EventType: n.kind, OccurredAt: n.time, ExternalID: n.subject(),
		DataEnc: t.kit.Sealer.Seal(n.raw, inboxContext(id)), ReceivedAt: t.now,
	}
	if number := care.E164(n.phone()); number != "" {
		entry.Phone = &number
	}
	name := n.data.Name
	if name == "" {
		name = n.data.ClientName
	}
	if name != "" {
		name = care.Shorten(name, 120)
		entry.Name = &name
	}
	return t.InsertInboxEntry(ctx, entry)
}

// apply gives an event its effect on a patient.
func (t *Tx) apply(ctx context.Context, n *news, patient uuid.UUID) error {
	summary := ""
	switch n.kind {
	case messageReceived, messageSent:
		summary = n.data.Body
	case ticketCreated:
		summary = n.data.Queue
	case ticketClosed:
		summary = n.data.Resolution
	case appointmentCreated, appointmentCancelled, appointmentReminded, appointmentNoshow:
		a, err := t.applyBooking(ctx, n, patient)
		if err != nil {
			return err
		}
		if summary = n.data.Reason; n.kind != appointmentCancelled && a != nil {
			summary = strings.Trim(a.Service+", "+a.Professional+", "+a.StartsAt.UTC().Format(time.RFC3339), ", ")
		}
	}
	if id := string(n.data.TicketID); id != "" && !strings.HasPrefix(n.kind, "appointment.") {
		if err := t.PutTicket(ctx, dbgen.PutTicketParams{ClinicID: n.at.Clinic, Env: n.at.Env, Source: n.source, TicketID: id, PatientID: patient}); err != nil {
			return err
		}
	}
	_, err := t.LogInteraction(ctx, n.at, patient, InteractionData{
		Type: strings.ReplaceAll(n.kind, ".", "_"), Summary: summary, Source: n.source, SourceID: n.id, At: n.time,
	})
	return err
}

// applyBooking changes the appointment that an event is about; nil where it is not
// known and cannot be made.
func (t *Tx) applyBooking(ctx context.Context, n *news, patient uuid.UUID) (*dbgen.Appointment, error) {
	if n.kind == appointmentCreated {
		return t.applyBooked(ctx, n, patient)
	}
	a, err := t.booking(ctx, n, patient)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	switch n.kind {
	case appointmentCancelled:
		reason := care.Shorten(care.Scrub(n.data.Reason), 500)
		a.Status, a.Reason = care.Cancelled, &reason
	case appointmentNoshow:
		a.Status = care.NoShow
	case appointmentReminded:
		a.RemindedAt = &n.time
	}
	a, err = t.setAppointment(ctx, a)
	return &a, err
}

func (t *Tx) applyBooked(ctx context.Context, n *news, patient uuid.UUID) (*dbgen.Appointment, error) {
	when, err := n.datetime()
	if err != nil {
		return nil, malformed(err)
	}
	service, professional := care.Shorten(care.Scrub(n.data.Service), 200), care.Shorten(n.data.Professional, 120)
	if n.data.AppointmentID == "" {
		a, err := t.UpsertNamelessBooking(ctx, dbgen.UpsertNamelessBookingParams{
			ClinicID: n.at.Clinic, Env: n.at.Env, ID: NewID(), PatientID: patient, StartsAt: when, Service: service, Professional: professional,
			Source: &n.source, CreatedAt: t.now,
		})
		return &a, err
	}
	id := string(n.data.AppointmentID)
	a, err := t.UpsertBooking(ctx, dbgen.UpsertBookingParams{
		ClinicID: n.at.Clinic, Env: n.at.Env, ID: NewID(), PatientID: patient, StartsAt: when, Service: service, Professional: professional,
		Source: &n.source, ExternalID: &id, CreatedAt: t.now,
	})
	return &a, err
}

// booking locks the appointment that an event is about. A product that told no id when
// it was made names it by its time; one that tells an id later is believed to mean the
// appointment next to the event.
func (t *Tx) booking(ctx context.Context, n *news, patient uuid.UUID) (dbgen.Appointment, error) {
	id := string(n.data.AppointmentID)
	if id != "" {
		a, err := t.LockExternalAppointment(ctx, dbgen.LockExternalAppointmentParams{ClinicID: n.at.Clinic, Env: n.at.Env, Source: &n.source, ExternalID: &id})
		if !errors.Is(err, pgx.ErrNoRows) {
			return a, err
		}
	}
	near := n.time
	if when, err := n.datetime(); err == nil {
		near = when
	}
	a, err := t.LockNearestNameless(ctx, dbgen.LockNearestNamelessParams{ClinicID: n.at.Clinic, Env: n.at.Env, Source: &n.source, PatientID: patient, Near: near})
	if err == nil && id != "" {
		a.ExternalID = &id
	}
	return a, err
}

// resume applies what waited in the inbox for the ticket or appointment that an event
// made known.
func (t *Tx) resume(ctx context.Context, n *news, patient uuid.UUID) error {
	if n.subject() == nil {
		return nil
	}
	_, err := t.settleWaiting(ctx, dbgen.LockWaitingParams{ClinicID: n.at.Clinic, Env: n.at.Env, Source: n.source, ExternalID: n.subject()}, patient, nil)
	return err
}

// settleWaiting applies open inbox entries to a patient and gives how many there were.
func (t *Tx) settleWaiting(ctx context.Context, which dbgen.LockWaitingParams, patient uuid.UUID, by *uuid.UUID) (int, error) {
	entries, err := t.LockWaiting(ctx, which)
	if err != nil {
		return 0, err
	}
	for _, entry := range entries {
		if err := t.settle(ctx, entry, patient, by); err != nil {
			return 0, err
		}
	}
	return len(entries), nil
}

// settle applies one open inbox entry to a patient.
func (t *Tx) settle(ctx context.Context, entry dbgen.InboxEntry, patient uuid.UUID, by *uuid.UUID) error {
	raw, err := t.kit.Sealer.Open(entry.DataEnc, inboxContext(entry.ID))
	if err != nil {
		return err
	}
	n, err := read(Scope{entry.ClinicID, entry.Env}, entry.Source, entry.EventID, entry.EventType, entry.OccurredAt, raw)
	if err != nil {
		return err
	}
	if err := t.apply(ctx, &n, patient); err != nil {
		return err
	}
	_, err = t.SettleInboxEntry(ctx, dbgen.SettleInboxEntryParams{
		ClinicID: entry.ClinicID, Env: entry.Env, ID: entry.ID, Status: Linked, PatientID: &patient, SettledBy: by, SettledAt: &t.now,
	})
	return err
}
