// Package events is the contract between the three products: one constant and one
// struct for each event they exchange. docs/contract.md is made from them.
//
// Publishers marshal these structs, so the order of their fields is the order of the
// members on the wire. Ids are opaque strings of the sending product. Receivers ignore
// members they do not know, and must accept events without the members marked "extra":
// products other than ours send only those of docs/interfaces/.
package events

import "slices"

// Data is the payload of an event, the envelope's "data".
type Data interface {
	// EventType returns the envelope's "event_type".
	EventType() string
	// OrderingKey returns the id of what the event is about: receivers with the switch get the
	// events of one key in order. "" = none. It is stored in the log, so it is an id and never
	// personal data.
	OrderingKey() string
}

// Decimal is a JSON number with at most two decimals, such as 150.00. Each product parses
// it into integer cents by its own rules; it never passes through a float.
type Decimal []byte

// MarshalJSON writes the number as it is.
func (d Decimal) MarshalJSON() ([]byte, error) {
	if d == nil {
		return []byte("null"), nil
	}
	return d, nil
}

// UnmarshalJSON keeps the JSON value, whatever it is: the receiver parses it.
func (d *Decimal) UnmarshalJSON(b []byte) error {
	*d = slices.Clone(b)
	return nil
}

// FromScheduling returns the types of the events that a scheduling product sends.
func FromScheduling() []string {
	return []string{TypeAppointmentCreated, TypeAppointmentCancelled, TypeAppointmentReminded, TypeAppointmentNoShow}
}

// FromClinic returns the types of the events that a clinic product sends.
func FromClinic() []string {
	return []string{TypePatientCreated, TypePatientUpdated, TypePatientDeleted, TypeRecordCreated, TypePaymentReceived, TypePaymentOverdue}
}

// FromMessaging returns the types of the events that a messaging product sends to the
// products it is connected to. Its plain webhooks have [TypeMessageCreated] and
// [TypeTicketUpdated] instead of the received and closed ones.
func FromMessaging() []string {
	return []string{TypeMessageReceived, TypeMessageSent, TypeTicketCreated, TypeTicketClosed, TypeContactCreated}
}
