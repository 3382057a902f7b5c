package store

import (
	"integrationhub/hub"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// Owed is how an appointment stands with money.
type Owed struct {
	Status        booking.Status
	Price, Paid   booking.Cents
	Deposit       *booking.Cents
	DepositStatus booking.DepositStatus
}

func balanceOf(appointment dbgen.Appointment) Owed {
	return Owed{appointment.Status, appointment.PriceCents, appointment.PaidCents, appointment.DepositCents, appointment.DepositStatus}
}

// SetDueAmount checks that an appointment's payment can be asked for, and where nobody named an
// amount says what is due. [hub.ErrConflict] for what is cancelled or paid,
// [hub.ErrInvalid] where an amount has to be named.
func (n *NewPayment) SetDueAmount(balance Owed) error {
	due, paid := balance.Price-balance.Paid, balance.Price > 0 && balance.Paid >= balance.Price
	switch n.Kind {
	case "other":
		if !n.AmountGiven {
			return hub.Invalid("body.amount", "is required for this kind")
		}
		return nil
	case KindDeposit:
		if due = 0; balance.Deposit != nil {
			due = *balance.Deposit
			paid = paid || balance.DepositStatus == booking.DepositPaid
		} else if !n.AmountGiven {
			return hub.Invalid("body.amount", "is required: the appointment has no deposit")
		}
	}
	switch {
	case balance.Status == booking.Cancelled:
		return hub.Errorf(hub.ErrConflict, "appointment_cancelled", "This appointment is cancelled.")
	case paid, !n.AmountGiven && due <= 0:
		return hub.Errorf(hub.ErrConflict, "already_paid", "This appointment is paid.")
	case !n.AmountGiven:
		n.Amount = due
	}
	return nil
}

// checkStillDue checks that what a provider was asked for is what is owed now.
func (n NewPayment) checkStillDue(balance Owed) error {
	recomputed := n
	if err := recomputed.SetDueAmount(balance); err != nil {
		return err
	}
	if recomputed.Amount != n.Amount {
		return hub.Errorf(hub.ErrConflict, "amount_changed", "What is due for this appointment has changed meanwhile; ask again.")
	}
	return nil
}
