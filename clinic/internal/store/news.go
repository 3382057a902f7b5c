package store

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/hub"
)

// news is an event of a connected product, read.
type news struct {
	at     Scope
	source string // product
	id     string // of the event
	kind   string // type of the event
	time   time.Time
	raw    []byte    // its data
	data   newsData  // what is read of them
	when   time.Time // of the appointment; zero where the event does not tell

	meantFor *uuid.UUID // patient, where it only waits for its turn
	kept     string     // as which an appointment of somebody who was forgotten is kept; "" = as it is named
}

// newsData are the members of events' data. An event has those that its kind has.
type newsData struct {
	Phone, ClientPhone, Name, ClientName, Email string
	Body, Queue, Resolution, Reason             string
	Service, Professional, Datetime, Status     string
	TicketID, AppointmentID                     string
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

// The products whose events the document knows.
const (
	messaging  = "messaging"
	scheduling = "scheduling"
)

// kind is what is known of a type of events: whose it is, and which members of its data
// are read. Whatever else is in an event is nobody's concern.
type kind struct {
	origin string   // the product that sends it
	texts  []string // members that are texts
	ids    []string // members that are ids of the other product's
	hints  []string // texts that products send beside what is documented; in another form they say nothing
}

// whom are the hints by which members of a family are told apart.
var whom = []string{"phone", "client_phone", "name", "client_name", "email"}

var kinds = map[string]kind{
	messageReceived:      {messaging, []string{"phone", "name", "body"}, []string{"ticket_id"}, whom},
	messageSent:          {messaging, []string{"phone", "body"}, []string{"ticket_id"}, whom},
	ticketCreated:        {messaging, []string{"phone", "name", "queue"}, []string{"ticket_id"}, whom},
	ticketClosed:         {messaging, []string{"resolution"}, []string{"ticket_id"}, whom},
	contactCreated:       {messaging, []string{"phone", "name", "email"}, nil, whom},
	appointmentCreated:   {scheduling, []string{"client_phone", "service", "professional", "datetime"}, []string{"appointment_id"}, append([]string{"status"}, whom...)},
	appointmentCancelled: {scheduling, []string{"reason", "datetime"}, []string{"appointment_id"}, whom},
	appointmentReminded:  {scheduling, []string{"client_phone", "datetime"}, []string{"appointment_id"}, whom},
	appointmentNoshow:    {scheduling, []string{"client_phone", "datetime"}, []string{"appointment_id"}, whom},
}

// from tells whether an event of this kind is a product's to send: of the two products
// that the document knows each has its own, others may be anything.
func (k kind) from(product string) bool {
	return k.origin == product || product != messaging && product != scheduling
}

// maxID is how many characters the ids of other products have at most.
const maxID = 200

// malformed names the member of an event's data that cannot be read.
func malformed(member, message string) *hub.Error {
	location := "body.data"
	if member != "" {
		location += "." + member
	}
	e := hub.Errorf(hub.ErrMalformed, "malformed", "The event's data does not have the documented form: %s %s", location, message)
	e.Fields = []hub.FieldError{{Location: location, Message: message}}
	return e
}

// integer is how a number is written that may be an id.
var integer = regexp.MustCompile(`^-?[0-9]+$`)

// read reads an event. The error is a [hub.ErrMalformed] that names the member.
func read(at Scope, source, id, kind string, when time.Time, raw []byte) (news, error) {
	n := news{at: at, source: source, id: id, kind: kind, time: when, raw: raw}
	var data map[string]json.RawMessage
	if json.Unmarshal(raw, &data) != nil {
		return n, malformed("", "must be an object")
	}
	members, rules := n.data.members(), kinds[kind]
	for _, name := range rules.hints {
		_ = json.Unmarshal(data[name], members[name]) // of another form it says nothing
	}
	for _, name := range rules.texts {
		if value := data[name]; value != nil && json.Unmarshal(value, members[name]) != nil {
			return n, malformed(name, "must be a text")
		}
	}
	for _, name := range rules.ids {
		value, id := data[name], members[name]
		if value != nil && json.Unmarshal(value, id) != nil {
			if !integer.Match(value) {
				return n, malformed(name, "must be a text or an integer")
			}
			*id = string(value)
		}
		if *id = strings.TrimSpace(*id); utf8.RuneCountInString(*id) > maxID {
			return n, malformed(name, "must have at most "+strconv.Itoa(maxID)+" characters")
		}
	}
	return n, n.readTime()
}

// members are the places of the members of an event's data.
func (d *newsData) members() map[string]*string {
	return map[string]*string{
		"phone": &d.Phone, "client_phone": &d.ClientPhone, "name": &d.Name, "client_name": &d.ClientName, "email": &d.Email,
		"body": &d.Body, "queue": &d.Queue, "resolution": &d.Resolution, "reason": &d.Reason,
		"service": &d.Service, "professional": &d.Professional, "datetime": &d.Datetime, "status": &d.Status,
		"ticket_id": &d.TicketID, "appointment_id": &d.AppointmentID,
	}
}

// readTime reads when an appointment is.
func (n *news) readTime() error {
	if n.data.Datetime == "" {
		if n.kind == appointmentCreated {
			return malformed("datetime", "is required")
		}
		return nil
	}
	var ok bool
	if n.when, ok = care.Instant(n.data.Datetime); !ok {
		return malformed("datetime", "must be an ISO 8601 date-time with its UTC offset, such as 2026-03-02T09:00:00-03:00")
	}
	return nil
}

// phone is whose number the event names, "" where it names none.
func (n *news) phone() string {
	if n.data.ClientPhone != "" {
		return n.data.ClientPhone
	}
	return n.data.Phone
}

// phoneKey is what its number is found by, nil where it names none.
func (n *news) phoneKey() *string {
	number := care.E164(n.phone())
	if number == "" {
		return nil
	}
	key := care.PhoneKey(number)
	return &key
}

// name is whom the event names, "" where it names nobody.
func (n *news) name() string {
	if n.data.Name != "" {
		return n.data.Name
	}
	return n.data.ClientName
}

// booking is the id that the appointment is kept under, "" where the event names none.
func (n *news) booking() string {
	if n.kept != "" {
		return n.kept
	}
	return n.data.AppointmentID
}

// aboutBooking tells whether the event is about an appointment.
func (n *news) aboutBooking() bool { return strings.HasPrefix(n.kind, "appointment.") }

// laterOn tells whether the event is about what was done to an appointment that was
// made before.
func (n *news) laterOn() bool { return n.aboutBooking() && n.kind != appointmentCreated }

// takesPlace tells whether the event says of an appointment that it will.
func (n *news) takesPlace() bool {
	return n.data.Status == string(care.Scheduled) || n.data.Status == string(care.Confirmed)
}

// subject names the ticket or appointment that an event is about, where it has an id.
func (n *news) subject() *string {
	var subject string
	switch {
	case n.aboutBooking() && n.data.AppointmentID != "":
		subject = "appointment " + n.data.AppointmentID
	case !n.aboutBooking() && n.data.TicketID != "":
		subject = "ticket " + n.data.TicketID
	default:
		return nil
	}
	return &subject
}
