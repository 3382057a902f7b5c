package events

// Types of the events that a scheduling product sends.
const (
	TypeAppointmentCreated   = "appointment.created"
	TypeAppointmentCancelled = "appointment.cancelled"
	TypeAppointmentReminded  = "appointment.reminded"
	TypeAppointmentNoShow    = "appointment.noshow"
)

// AppointmentCreated says that an appointment takes place: it was booked, moved, changed
// or reopened. The newest event of an appointment id counts.
type AppointmentCreated struct {
	AppointmentID string `json:"appointment_id"` // extra
	ClientPhone   string `json:"client_phone"`   // international format with a leading plus
	Datetime      string `json:"datetime"`       // start, RFC 3339 in UTC
	EndAt         string `json:"end_at"`         // extra; RFC 3339 in UTC
	Professional  string `json:"professional"`   // display name
	Service       string `json:"service"`        // name
	Source        string `json:"source"`         // extra; how it was booked, such as "web"
	Status        string `json:"status"`         // extra; "scheduled" or "confirmed"
}

// AppointmentCancelled says that an appointment does not take place.
type AppointmentCancelled struct {
	AppointmentID string `json:"appointment_id"`
	Reason        string `json:"reason"`
}

// AppointmentReminded says that the client was reminded of an appointment.
type AppointmentReminded struct {
	AppointmentID string `json:"appointment_id"`
	ClientPhone   string `json:"client_phone"`
}

// AppointmentNoShow says that the client did not come.
type AppointmentNoShow struct {
	AppointmentID string `json:"appointment_id"`
	ClientPhone   string `json:"client_phone"`
}

// EventType implements [Data].
func (AppointmentCreated) EventType() string { return TypeAppointmentCreated }

// EventType implements [Data].
func (AppointmentCancelled) EventType() string { return TypeAppointmentCancelled }

// EventType implements [Data].
func (AppointmentReminded) EventType() string { return TypeAppointmentReminded }

// EventType implements [Data].
func (AppointmentNoShow) EventType() string { return TypeAppointmentNoShow }
