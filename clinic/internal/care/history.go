package care

import "integrationhub/hub/module/brazil"

// AppointmentStatus is where an appointment stands.
type AppointmentStatus string

// The states of appointments.
const (
	Scheduled AppointmentStatus = "scheduled"
	Confirmed AppointmentStatus = "confirmed"
	Completed AppointmentStatus = "completed"
	Cancelled AppointmentStatus = "cancelled"
	NoShow    AppointmentStatus = "no_show"
)

// PaymentStatus is where a payment stands.
type PaymentStatus string

// The states of payments.
const (
	Pending          PaymentStatus = "pending"
	Paid             PaymentStatus = "paid"
	Overdue          PaymentStatus = "overdue"
	CancelledPayment PaymentStatus = "cancelled"
)

// Sensitivity says who may know of a record: FHIR's confidentiality codes.
type Sensitivity string

// The sensitivities.
const (
	Normal         Sensitivity = "N"
	Restricted     Sensitivity = "R" // others know that there is a record, and nothing of it
	VeryRestricted Sensitivity = "V" // others do not know of it
)

// Shown is what others see of a record.
type Shown struct{ Type, Summary string }

// Outside is what connected products see of a record; nil: nothing.
func (s Sensitivity) Outside(kind, summary string) *Shown {
	switch s {
	case Normal:
		return &Shown{Scrub(kind), Scrub(summary)}
	case Restricted:
		return &Shown{"restricted", "***"}
	case VeryRestricted:
	}
	return nil
}

// Scrub hides tax ids and codes of diagnoses in what people wrote, for whoever is not of
// the clinic.
func Scrub(text string) string { return hideDiagnoses(HideCPF(text)) }

// HideCPF hides tax ids, as [brazil.RedactCPFs] does, in a text that is kept as it is: they
// stand nowhere but where they are encrypted.
func HideCPF(text string) string {
	hidden, _ := brazil.RedactCPFs(text)
	return hidden
}

// Shorten cuts a text to so many characters.
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most])
	}
	return text
}

// Valid tells whether s is one of the states.
func (s AppointmentStatus) Valid() bool {
	return s == Scheduled || s == Confirmed || s == Completed || s == Cancelled || s == NoShow
}
