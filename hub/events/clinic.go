package events

import "time"

// Types of the events that a clinic product sends.
const (
	TypePatientCreated = "patient.created"
	TypePatientUpdated = "patient.updated"
	// TypePatientDeleted asks every receiver to erase a person. When the hub accepts such
	// an event, it erases what its own log has of the person too.
	TypePatientDeleted  = "patient.deleted"
	TypeRecordCreated   = "record.created"
	TypePaymentReceived = "payment.received"
	TypePaymentOverdue  = "payment.overdue"
)

// PatientCreated says that there is a new patient.
type PatientCreated struct {
	PatientID string  `json:"patient_id"` // extra
	Phone     *string `json:"phone"`      // international format with a leading plus
	Name      string  `json:"name"`
	Email     *string `json:"email"`
	CPF       *string `json:"cpf"` // masked: all but the last two digits
}

// PatientUpdated says which fields of a patient changed, and not their values: receivers
// that need them ask the clinic.
type PatientUpdated struct {
	PatientID     string   `json:"patient_id"`
	ChangedFields []string `json:"changed_fields"`
	Phone         *string  `json:"phone"`                 // extra; from before the change: receivers know the patient by it
	MergedInto    *string  `json:"merged_into,omitempty"` // extra; the patient who has the data of this one, which is no more
}

// MaxEarlierNames is how many earlier names of a deleted patient are published, and count.
const MaxEarlierNames = 20

// PatientDeleted asks for the erasure of a person; see [erasure.md]. All members but the
// patient's id are extra.
//
// [erasure.md]: ../../docs/erasure.md
type PatientDeleted struct {
	PatientID         string    `json:"patient_id"`
	Name              string    `json:"name"`
	Phone             *string   `json:"phone"`
	Email             *string   `json:"email"`
	PhoneShared       bool      `json:"phone_shared"` // another person has the number too
	Phones            []string  `json:"phones"`       // earlier and linked numbers
	Names             []string  `json:"names"`        // that the record had earlier, the newest first, at most 20; empty unless there are phones. They help to identify the owner of a number in `phones`; do not match `phone` or `email` by them
	EmailShared       bool      `json:"email_shared"` // another person has the address too
	DeletionRequestID string    `json:"deletion_request_id"`
	RequestedAt       time.Time `json:"requested_at"` // UTC, whole seconds
}

// RecordCreated says that there is a new medical record that may be shown outside.
type RecordCreated struct {
	PatientID  string `json:"patient_id"`
	RecordType string `json:"record_type"` // "restricted" where the real type is confidential
	Summary    string `json:"summary"`     // written for others; never the content
}

// PaymentReceived says that a patient paid.
type PaymentReceived struct {
	PatientID     string  `json:"patient_id"`
	Amount        Decimal `json:"amount"`
	Description   string  `json:"description"`
	Method        *string `json:"method,omitempty"`         // extra; "pix", "cash", "credit_card", "debit_card"
	AppointmentID *string `json:"appointment_id,omitempty"` // extra; as the scheduling product calls it
}

// PaymentOverdue says that a payment was not made by its due date.
type PaymentOverdue struct {
	PatientID string  `json:"patient_id"`
	Amount    Decimal `json:"amount"`
	DueDate   string  `json:"due_date"` // YYYY-MM-DD
}

// EventType implements [Data].
func (PatientCreated) EventType() string { return TypePatientCreated }

// OrderingKey implements [Data].
func (e PatientCreated) OrderingKey() string { return e.PatientID }

// EventType implements [Data].
func (PatientUpdated) EventType() string { return TypePatientUpdated }

// OrderingKey implements [Data].
func (e PatientUpdated) OrderingKey() string { return e.PatientID }

// EventType implements [Data].
func (PatientDeleted) EventType() string { return TypePatientDeleted }

// OrderingKey implements [Data]. A deletion waits for nothing.
func (PatientDeleted) OrderingKey() string { return "" }

// EventType implements [Data].
func (RecordCreated) EventType() string { return TypeRecordCreated }

// OrderingKey implements [Data].
func (e RecordCreated) OrderingKey() string { return e.PatientID }

// EventType implements [Data].
func (PaymentReceived) EventType() string { return TypePaymentReceived }

// OrderingKey implements [Data].
func (e PaymentReceived) OrderingKey() string { return e.PatientID }

// EventType implements [Data].
func (PaymentOverdue) EventType() string { return TypePaymentOverdue }

// OrderingKey implements [Data].
func (e PaymentOverdue) OrderingKey() string { return e.PatientID }
