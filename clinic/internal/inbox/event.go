package inbox

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/module"
)

// inboundEvent is a parsed event of a connected product.
type inboundEvent struct {
	scope     store.Scope
	source    string // the product
	id        string
	eventType string
	time      time.Time
	raw       []byte    // its data as received
	data      eventData // the members of its data that the clinic reads
	startsAt  time.Time // of the appointment; zero if the event does not have it

	lacksOffset   bool   // the time of its appointment has no UTC offset
	clearID       string // the id of its ticket or appointment, if that is a CPF and the data have a keyed hash instead; else ""
	completePhone string // the number with the area code that it lacked; "" = it is as the data has it

	meantFor   *uuid.UUID // the patient, if the event only waits for its turn behind a linking
	movedFrom  *uuid.UUID // the patient of its appointment until now, if it says that the client is another, who is unknown
	isOutdated bool       // a newer event that waits has another client for its booking; set when it is applied
	erasedID   string     // the id that replaced its appointment's in an erased patient's data; "" = none
}

// eventData are the members of events' data. Each type of event has some of them.
type eventData struct {
	Phone, ClientPhone, Name, ClientName, Email string
	Body, Queue, Resolution, Reason             string
	Service, Professional, Datetime, Status     string
	TicketID, AppointmentID                     string
}

// EventTypes returns the types of events that the clinic receives.
func EventTypes() []string { return slices.Concat(events.FromMessaging(), events.FromScheduling()) }

// The products whose events docs/interfaces/clinic.md describes.
const (
	messaging  = "messaging"
	scheduling = "scheduling"
)

// eventRules say which product sends a type of event and which members of its data are
// read. All other members are ignored.
type eventRules struct {
	sender string
	texts  []string // members that must be texts
	ids    []string // members that are the sender's ids: texts or integers
	hints  []string // undocumented texts that products send; ignored if they are not texts
}

// contactHints are the hints that distinguish members of a family.
var contactHints = []string{"phone", "client_phone", "name", "client_name", "email"}

var rulesByType = map[string]eventRules{
	events.TypeMessageReceived:      {messaging, []string{"phone", "name", "body"}, []string{"ticket_id"}, contactHints},
	events.TypeMessageSent:          {messaging, []string{"phone", "body"}, []string{"ticket_id"}, contactHints},
	events.TypeTicketCreated:        {messaging, []string{"phone", "name", "queue"}, []string{"ticket_id"}, contactHints},
	events.TypeTicketClosed:         {messaging, []string{"resolution"}, []string{"ticket_id"}, contactHints},
	events.TypeContactCreated:       {messaging, []string{"phone", "name", "email"}, nil, contactHints},
	events.TypeAppointmentCreated:   {scheduling, []string{"client_phone", "service", "professional", "datetime"}, []string{"appointment_id"}, append([]string{"status"}, contactHints...)},
	events.TypeAppointmentCancelled: {scheduling, []string{"reason", "datetime"}, []string{"appointment_id"}, contactHints},
	events.TypeAppointmentReminded:  {scheduling, []string{"client_phone", "datetime"}, []string{"appointment_id"}, contactHints},
	events.TypeAppointmentNoShow:    {scheduling, []string{"client_phone", "datetime"}, []string{"appointment_id"}, contactHints},
}

// mayComeFrom reports whether a product may send this type of event. Messaging and
// scheduling send their own types only; an unknown product may be of any kind.
func (r eventRules) mayComeFrom(product string) bool {
	return r.sender == product || product != messaging && product != scheduling
}

// maxExternalID is how many characters another product's id may have.
const maxExternalID = 200

// errMalformed is a [hub.ErrMalformed] that names the member of an event's data that cannot
// be read; "" stands for the data as a whole.
func errMalformed(member, message string) *hub.Error {
	location := "body.data"
	if member != "" {
		location += "." + member
	}
	e := hub.Errorf(hub.ErrMalformed, "malformed", "The event's data does not have the documented form: %s %s", location, message)
	e.Fields = []hub.FieldError{{Location: location, Message: message}}
	return e
}

var integer = regexp.MustCompile(`^-?[0-9]+$`)

// parseEvent parses an event's data. Its error is a [hub.ErrMalformed].
func parseEvent(scope store.Scope, source, id, eventType string, occurredAt time.Time, raw []byte) (inboundEvent, error) {
	event := inboundEvent{scope: scope, source: source, id: id, eventType: eventType, time: occurredAt, raw: raw}
	var data map[string]json.RawMessage
	if json.Unmarshal(raw, &data) != nil {
		return event, errMalformed("", "must be an object")
	}
	fields, rules := event.data.fields(), rulesByType[eventType]
	for _, member := range rules.hints {
		_ = json.Unmarshal(data[member], fields[member]) // anything but a text is ignored
	}
	for _, member := range rules.texts {
		if value := data[member]; value != nil && json.Unmarshal(value, fields[member]) != nil {
			return event, errMalformed(member, "must be a text")
		}
	}
	for _, member := range rules.ids {
		value, field := data[member], fields[member]
		if value != nil && json.Unmarshal(value, field) != nil {
			if !integer.Match(value) {
				return event, errMalformed(member, "must be a text or an integer")
			}
			*field = string(value)
		}
		if *field = strings.TrimSpace(*field); utf8.RuneCountInString(*field) > maxExternalID {
			return event, errMalformed(member, "must have at most "+strconv.Itoa(maxExternalID)+" characters")
		}
	}
	return event, event.parseTime()
}

// checkStatus refuses the status of an appointment.created if it is none of an appointment's;
// absent and null are no status. It is checked on receipt only: entries that wait stay readable.
func checkStatus(raw []byte) error {
	var data map[string]json.RawMessage
	if json.Unmarshal(raw, &data) != nil || data["status"] == nil {
		return nil
	}
	var status *string
	if json.Unmarshal(data["status"], &status) != nil {
		return errMalformed("status", "must be a text")
	}
	if status == nil || *status == "" || care.AppointmentStatus(*status).IsValid() {
		return nil
	}
	return errMalformed("status", "must be scheduled or confirmed")
}

// maskIDs replaces the id of a ticket or an appointment by a keyed hash if it is a CPF.
func (e *inboundEvent) maskIDs(mask func(scope store.Scope, id string) string) {
	id := e.subjectID()
	if masked := mask(e.scope, *id); masked != *id {
		e.clearID, *id = *id, masked
	}
}

// subjectID returns the member with the id of the event's ticket or appointment.
func (e *inboundEvent) subjectID() *string {
	if e.isAboutAppointment() {
		return &e.data.AppointmentID
	}
	return &e.data.TicketID
}

// fields returns the fields of the data by their JSON names.
func (d *eventData) fields() map[string]*string {
	return map[string]*string{
		"phone": &d.Phone, "client_phone": &d.ClientPhone, "name": &d.Name, "client_name": &d.ClientName, "email": &d.Email,
		"body": &d.Body, "queue": &d.Queue, "resolution": &d.Resolution, "reason": &d.Reason,
		"service": &d.Service, "professional": &d.Professional, "datetime": &d.Datetime, "status": &d.Status,
		"ticket_id": &d.TicketID, "appointment_id": &d.AppointmentID,
	}
}

// parseTime parses the time of the appointment.
func (e *inboundEvent) parseTime() error {
	if e.data.Datetime == "" {
		if e.eventType == events.TypeAppointmentCreated {
			return errMalformed("datetime", "is required")
		}
		return nil
	}
	var ok bool
	if e.startsAt, ok = care.ParseInstant(e.data.Datetime); ok {
		return nil
	}
	e.startsAt = time.Time{}
	if _, e.lacksOffset = care.ParseLocalTime(e.data.Datetime, time.UTC); !e.lacksOffset {
		return errMalformed("datetime", "must be an ISO 8601 date-time, such as 2026-03-02T09:00:00-03:00")
	}
	return nil
}

// replaceDatetime replaces the time in an event's data.
func replaceDatetime(raw []byte, datetime string) ([]byte, error) {
	var data map[string]json.RawMessage
	err := json.Unmarshal(raw, &data)
	if err == nil {
		data["datetime"], err = json.Marshal(datetime)
	}
	if err == nil {
		raw, err = json.Marshal(data)
	}
	if err != nil {
		return nil, fmt.Errorf("replacing the time in an event: %w", err)
	}
	return raw, nil
}

// phone returns the number of the client or contact, "" if the event has none.
func (e *inboundEvent) phone() string {
	if e.completePhone != "" {
		return e.completePhone
	}
	if e.data.ClientPhone != "" {
		return e.data.ClientPhone
	}
	return e.data.Phone
}

// phoneKey returns the key by which the number is found, nil if the event has none, or one that
// forms are filled with.
func (e *inboundEvent) phoneKey() *string {
	number := care.FormatE164(e.phone())
	if number == "" || care.IsFillerPhone(number) {
		return nil
	}
	key := care.PhoneKey(number)
	return &key
}

// name returns the name of the client or contact, "" if the event has none.
func (e *inboundEvent) name() string {
	if e.data.Name != "" {
		return e.data.Name
	}
	return e.data.ClientName
}

// storedAppointmentID returns the external id under which the appointment is stored, ""
// if the event has none.
func (e *inboundEvent) storedAppointmentID() string {
	if e.erasedID != "" {
		return e.erasedID
	}
	return e.data.AppointmentID
}

// isAboutAppointment reports whether the event is about an appointment.
func (e *inboundEvent) isAboutAppointment() bool {
	return strings.HasPrefix(e.eventType, "appointment.")
}

// isAppointmentUpdate reports whether the event changes an appointment that was created
// before.
func (e *inboundEvent) isAppointmentUpdate() bool {
	return e.isAboutAppointment() && e.eventType != events.TypeAppointmentCreated
}

// changesStatus reports whether the status of an appointment.created counts for a stored
// appointment: it says that the appointment takes place, and no later status is stored. One
// that the appointment has already counts too: an earlier cancellation may still come.
func (e *inboundEvent) changesStatus(a store.Appointment) bool {
	switch care.AppointmentStatus(e.data.Status) {
	case care.Scheduled, care.Confirmed:
		return a.Status != care.Completed && e.isNewerThan(a)
	}
	return false
}

// isNewerThan reports whether no later change of an appointment's status is stored.
func (e *inboundEvent) isNewerThan(a store.Appointment) bool {
	return a.StateAt == nil || !e.time.Before(*a.StateAt)
}

// ticketPrefix begins the subjects of tickets.
const ticketPrefix = "ticket "

// subject identifies the ticket or appointment of the event at its product, nil if the
// event has no id of one.
func (e *inboundEvent) subject() *string {
	var subject string
	switch {
	case e.isAboutAppointment() && e.data.AppointmentID != "":
		subject = "appointment " + e.data.AppointmentID
	case !e.isAboutAppointment() && e.data.TicketID != "":
		subject = ticketPrefix + e.data.TicketID
	default:
		return nil
	}
	return &subject
}

// text returns what a person wrote in the event.
func (e *inboundEvent) text() string {
	switch e.eventType {
	case events.TypeMessageReceived, events.TypeMessageSent:
		return e.data.Body
	case events.TypeTicketCreated:
		return e.data.Queue
	case events.TypeTicketClosed:
		return e.data.Resolution
	}
	return e.data.Reason
}

// summary returns the event's summary for the list of the inbox, masked like those of a
// history. For an appointment it includes the booking, because the list does not show it.
func (e *inboundEvent) summary() string {
	text := e.text()
	if e.isAboutAppointment() {
		text = strings.Trim(describeBooking(e.data.Service, e.data.Professional, e.startsAt)+": "+text, ": ")
	}
	return store.HistorySummary(text)
}

// describeBooking returns an appointment's service, professional and time in one line,
// without those that are unknown.
func describeBooking(service, professional string, startsAt time.Time) string {
	parts := []string{service, professional, ""}
	if !startsAt.IsZero() {
		parts[2] = startsAt.UTC().Format(time.RFC3339)
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ", ")
}

// appointmentTime returns when the event's appointment begins, in UTC and whole seconds as
// [describeBooking] writes it; nil if it is unknown.
func (e *inboundEvent) appointmentTime() *time.Time {
	if e.startsAt.IsZero() {
		return nil
	}
	startsAt := e.startsAt.UTC().Truncate(time.Second)
	return &startsAt
}

// sealContext binds the encrypted data of an event to its inbox entry.
func sealContext(entry uuid.UUID) string { return "inbox/" + entry.String() }

// openEntry decrypts and parses the event of an open inbox entry.
func openEntry(sealer module.Sealer, entry store.InboxEntry) (inboundEvent, error) {
	raw, err := sealer.Open(entry.DataEnc, sealContext(entry.ID))
	if err != nil {
		return inboundEvent{}, err
	}
	event, err := parseEvent(store.Scope{Clinic: entry.ClinicID, Env: entry.Env}, entry.Source, entry.EventID, entry.EventType, entry.OccurredAt, raw)
	if entry.Phone != nil {
		event.completePhone = *entry.Phone
	}
	return event, err
}
