package events

// Types of the events that a scheduling product sends.
const (
	TypeAppointmentCreated   = "appointment.created"
	TypeAppointmentCancelled = "appointment.cancelled"
	TypeAppointmentReminded  = "appointment.reminded"
	TypeAppointmentNoShow    = "appointment.noshow"
)

// AppointmentCreated announces an appointment that was booked. It is published again when
// its time, professional, service or client changes, when its client confirms it, when a
// no-show is reopened, and when a late deposit restores it. The newest event of an
// appointment id counts.
type AppointmentCreated struct {
	AppointmentID string `json:"appointment_id"`        // extra
	ClientPhone   string `json:"client_phone"`          // international format with a leading plus
	ClientName    string `json:"client_name,omitempty"` // extra; distinguishes people who share the number
	Datetime      string `json:"datetime"`              // start, RFC 3339 in UTC
	EndAt         string `json:"end_at"`                // extra; RFC 3339 in UTC
	Professional  string `json:"professional"`          // display name
	Service       string `json:"service"`               // name
	Source        string `json:"source"`                // extra; how it was booked, such as "web"
	Status        string `json:"status"`                // extra; "scheduled" or "confirmed"
}

// AppointmentCancelled announces that an appointment was cancelled.
type AppointmentCancelled struct {
	AppointmentID string `json:"appointment_id"`
	Reason        string `json:"reason"`
}

// AppointmentReminded announces that a reminder was sent to the client.
type AppointmentReminded struct {
	AppointmentID string `json:"appointment_id"`
	ClientPhone   string `json:"client_phone"`
}

// AppointmentNoShow announces that the client did not come.
type AppointmentNoShow struct {
	AppointmentID string `json:"appointment_id"`
	ClientPhone   string `json:"client_phone"`
}

// EventType implements [Data].
func (AppointmentCreated) EventType() string { return TypeAppointmentCreated }

// OrderingKey implements [Data].
func (e AppointmentCreated) OrderingKey() string { return e.AppointmentID }

// EventType implements [Data].
func (AppointmentCancelled) EventType() string { return TypeAppointmentCancelled }

// OrderingKey implements [Data].
func (e AppointmentCancelled) OrderingKey() string { return e.AppointmentID }

// EventType implements [Data].
func (AppointmentReminded) EventType() string { return TypeAppointmentReminded }

// OrderingKey implements [Data].
func (e AppointmentReminded) OrderingKey() string { return e.AppointmentID }

// EventType implements [Data].
func (AppointmentNoShow) EventType() string { return TypeAppointmentNoShow }

// OrderingKey implements [Data].
func (e AppointmentNoShow) OrderingKey() string { return e.AppointmentID }
