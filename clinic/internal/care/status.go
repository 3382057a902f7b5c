package care

// AppointmentStatus is the status of an appointment.
type AppointmentStatus string

// The statuses of appointments.
const (
	Scheduled AppointmentStatus = "scheduled"
	Confirmed AppointmentStatus = "confirmed"
	Completed AppointmentStatus = "completed"
	Cancelled AppointmentStatus = "cancelled"
	NoShow    AppointmentStatus = "no_show"
)

// IsValid reports whether s is one of the statuses.
func (s AppointmentStatus) IsValid() bool {
	return s == Scheduled || s == Confirmed || s == Completed || s == Cancelled || s == NoShow
}

// PaymentStatus is the status of a payment.
type PaymentStatus string

// The statuses of payments.
const (
	Pending          PaymentStatus = "pending"
	Paid             PaymentStatus = "paid"
	Overdue          PaymentStatus = "overdue"
	CancelledPayment PaymentStatus = "cancelled"
)
