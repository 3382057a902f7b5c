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
		Status        text   `json:"status"`
		Reason        string `json:"reason"`
		Email         string `json:"email"`
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

// name is whom the event names, "" where it names nobody.
func (n *news) name() string {
	if n.data.Name != "" {
		return n.data.Name
	}
	return n.data.ClientName
}

// aboutBooking tells whether the event is about an appointment.
func (n *news) aboutBooking() bool { return strings.HasPrefix(n.kind, "appointment.") }

// laterOn tells whether the event is about what was done to an appointment that was
// made before.
func (n *news) laterOn() bool { return n.aboutBooking() && n.kind != appointmentCreated }

// takesPlace tells whether the event says of an appointment that it will.
func (n *news) takesPlace() bool {
	return n.data.Status == text(care.Scheduled) || n.data.Status == text(care.Confirmed)
}

// subject names the ticket or appointment that an event is about, where it has an id.
func (n *news) subject() *string {
	var subject string
	switch {
	case n.aboutBooking() && n.data.AppointmentID != "":
		subject = "appointment " + string(n.data.AppointmentID)
	case !n.aboutBooking() && n.data.TicketID != "":
		subject = "ticket " + string(n.data.TicketID)
	default:
		return nil
	}
	return &subject
}

// Receive takes in an event of a connected product. [module.ErrIgnored] is the answer
// to one that matches no patient, or no appointment of theirs: it waits in the inbox.
func (t *Tx) Receive(ctx context.Context, e hub.Event) error {
	n, err := read(Scope{e.TenantID, e.Environment}, e.Product, e.ID, e.Type, e.Time, e.Data)
	if err != nil {
		return err
	}
	if err := t.turn(ctx, &n); err != nil {
		return err
	}
	if err := t.recall(ctx, &n); err != nil {
		return err
	}
	patient, err := t.whose(ctx, &n)
	if err != nil {
		return err
	}
	if patient == nil {
		gone, err := t.forgottenTicket(ctx, &n)
		if err != nil {
			return err
		}
		if gone {
			return module.ErrIgnored // nothing about them is kept any more
		}
		return t.wait(ctx, &n)
	}
	held, err := t.SharePatient(ctx, n.at.Clinic, n.at.Env, patient.ID)
	if err != nil {
		return err
	}
	if held.Status == Anonymized {
		return module.ErrIgnored
	}
	waiting, err := t.waiting(ctx, &n)
	if err != nil {
		return err
	}
	switch applied, err := t.apply(ctx, &n, patient.ID, false); {
	case err != nil:
		return err
	case !applied:
		return t.wait(ctx, &n)
	}
	_, err = t.settleAll(ctx, waiting, patient.ID, nil)
	return err
}

// turn has the news of one ticket or appointment wait for each other: the second must
// see what the first one did, or left in the inbox.
func (t *Tx) turn(ctx context.Context, n *news) error {
	if n.subject() == nil {
		return nil
	}
	_, err := t.Raw.Exec(ctx, "select pg_advisory_xact_lock(hashtextextended($1, 0))", n.at.Clinic.String()+"/"+string(n.at.Env)+"/"+n.source+"/"+*n.subject())
	return err
}

// whose finds the patient that an event is about: by the ticket or appointment that it
// names, or by the phone number; nil where there is none.
func (t *Tx) whose(ctx context.Context, n *news) (*dbgen.Patient, error) {
	byNumber := func() (*dbgen.Patient, error) {
		list, err := t.ByPhone(ctx, n.at, n.phone())
		if err != nil || len(list) == 0 {
			return nil, err
		}
		return &list[likeliest(list, n)], nil
	}
	bySubject := func() (p dbgen.Patient, err error) {
		switch {
		case n.subject() == nil:
			return p, pgx.ErrNoRows
		case n.aboutBooking():
			id := string(n.data.AppointmentID)
			return t.PatientOfAppointment(ctx, dbgen.PatientOfAppointmentParams{ClinicID: n.at.Clinic, Env: n.at.Env, Source: &n.source, ExternalID: &id})
		}
		return t.PatientOfTicket(ctx, dbgen.PatientOfTicketParams{ClinicID: n.at.Clinic, Env: n.at.Env, Source: n.source, TicketID: string(n.data.TicketID)})
	}
	// Who a message is from, or a booking for, the number says; of what is done to them
	// later, what is known of them already.
	if n.kind != ticketClosed && !n.laterOn() {
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

// likeliest is who of a family that shares a number an event means: who has the name or
// the e-mail address that it tells, else the first.
func likeliest(list []dbgen.Patient, n *news) int {
	for i, p := range list {
		if n.name() != "" && folded(n.name()) == folded(p.Name) || p.Email != nil && strings.EqualFold(*p.Email, strings.TrimSpace(n.data.Email)) {
			return i
		}
	}
	return 0
}

// inboxContext binds the sealed data of an event to its inbox entry.
func inboxContext(id uuid.UUID) string { return "inbox/" + id.String() }

// wait puts an event into the inbox and gives [module.ErrIgnored].
func (t *Tx) wait(ctx context.Context, n *news) error {
	id := NewID()
	entry := dbgen.InsertInboxEntryParams{
		ClinicID: n.at.Clinic, Env: n.at.Env, ID: id, Source: n.source, EventID: n.id, EventType: n.kind, OccurredAt: n.time, ExternalID: n.subject(),
		DataEnc: t.kit.Sealer.Seal(n.raw, inboxContext(id)), ReceivedAt: t.now,
	}
	if number := care.E164(n.phone()); number != "" {
		entry.Phone = &number
	}
	if name := n.name(); name != "" {
		name = care.Shorten(care.HideCPF(name), 120)
		entry.Name = &name
	}
	if err := t.InsertInboxEntry(ctx, entry); err != nil {
		return err
	}
	return module.ErrIgnored
}

// apply gives an event its effect on a patient, who is held. Where it is about an
// appointment that cannot be told from others nothing happens, unless somebody said
// that the event is the patient's: then it stands on the history, and that is all.
func (t *Tx) apply(ctx context.Context, n *news, patient uuid.UUID, said bool) (applied bool, err error) {
	summary := ""
	switch n.kind {
	case messageReceived, messageSent:
		summary = n.data.Body
	case ticketCreated:
		summary = n.data.Queue
	case ticketClosed:
		summary = n.data.Resolution
	case appointmentCreated:
		if summary, err = t.applyBooked(ctx, n, patient); err != nil {
			return false, err
		}
	case appointmentCancelled, appointmentReminded, appointmentNoshow:
		a, err := t.applyBooking(ctx, n, patient)
		if err != nil || a == nil && !said {
			return false, err
		}
		if summary = n.data.Reason; n.kind != appointmentCancelled && a != nil {
			summary = booked(a.Service, a.Professional, a.StartsAt)
		}
	}
	if id := string(n.data.TicketID); id != "" && !n.aboutBooking() {
		if err := t.PutTicket(ctx, dbgen.PutTicketParams{ClinicID: n.at.Clinic, Env: n.at.Env, Source: n.source, TicketID: id, PatientID: patient}); err != nil {
			return false, err
		}
	}
	_, err = t.addInteraction(ctx, n.at, patient, InteractionData{
		Type: strings.ReplaceAll(n.kind, ".", "_"), Summary: summary, Source: n.source, SourceID: n.id, Origin: OriginEvent, At: n.time,
	})
	return err == nil, err
}

// waiting locks what waits in the inbox for the ticket or appointment that an event is
// about.
func (t *Tx) waiting(ctx context.Context, n *news) ([]dbgen.InboxEntry, error) {
	if n.subject() == nil {
		return nil, nil
	}
	return t.LockWaiting(ctx, dbgen.LockWaitingParams{ClinicID: n.at.Clinic, Env: n.at.Env, Source: n.source, ExternalID: n.subject()})
}

// settleAll applies open inbox entries to a patient who is held, in the order in which
// they happened, and gives how many. Those whose appointment is not known stay.
func (t *Tx) settleAll(ctx context.Context, entries []dbgen.InboxEntry, patient uuid.UUID, by *uuid.UUID) (n int, err error) {
	slices.SortStableFunc(entries, func(a, b dbgen.InboxEntry) int { return a.OccurredAt.Compare(b.OccurredAt) })
	for _, entry := range entries {
		settled, err := t.settle(ctx, entry, patient, by, false)
		if err != nil {
			return n, err
		}
		if settled {
			n++
		}
	}
	return n, nil
}

// reread reads an open inbox entry's event.
func (t *Tx) reread(entry dbgen.InboxEntry) (news, error) {
	raw, err := t.kit.Sealer.Open(entry.DataEnc, inboxContext(entry.ID))
	if err != nil {
		return news{}, err
	}
	return read(Scope{entry.ClinicID, entry.Env}, entry.Source, entry.EventID, entry.EventType, entry.OccurredAt, raw)
}

// settle applies one open inbox entry to a patient; said as [Tx.apply] has it.
func (t *Tx) settle(ctx context.Context, entry dbgen.InboxEntry, patient uuid.UUID, by *uuid.UUID, said bool) (settled bool, err error) {
	n, err := t.reread(entry)
	if err != nil {
		return false, err
	}
	if err := t.recall(ctx, &n); err != nil {
		return false, err
	}
	if applied, err := t.apply(ctx, &n, patient, said); err != nil || !applied {
		return false, err
	}
	_, err = t.SettleInboxEntry(ctx, dbgen.SettleInboxEntryParams{
		ClinicID: entry.ClinicID, Env: entry.Env, ID: entry.ID, Status: Linked, PatientID: &patient, SettledBy: by, SettledAt: &t.now,
	})
	return err == nil, err
}
