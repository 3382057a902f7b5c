package store

import (
	"integrationhub/hub"
	"integrationhub/scheduling/internal/booking"
)

// Balance is what an appointment costs and what was paid for it.
type Balance struct {
	Status        booking.Status
	Price, Paid   booking.Cents
	Deposit       *booking.Cents
	DepositStatus booking.DepositStatus
}

func balanceOf(appointment Appointment) Balance {
	return Balance{appointment.Status, appointment.PriceCents, appointment.PaidCents, appointment.DepositCents, appointment.DepositStatus}
}

// SetDueAmount checks that a payment can be requested. Without a given amount it sets
// the amount that is due. A cancelled or paid appointment is a [hub.ErrConflict]; a
// missing amount that cannot be derived is a [hub.ErrInvalid].
func (n *NewPayment) SetDueAmount(balance Balance) error {
	due, paid := balance.Price-balance.Paid, balance.Price > 0 && balance.Paid >= balance.Price
	switch n.Kind {
	case KindOther:
		if !n.AmountGiven {
			return hub.Invalid("body.amount", "is required for this kind")
		}
		return nil
	case KindDeposit:
		if balance.Deposit != nil {
			due = min(*balance.Deposit-balance.Paid, due)
			paid = paid || balance.DepositStatus == booking.DepositPaid
		} else if due = 0; !n.AmountGiven {
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

// checkStillDue checks that the amount requested from a provider is still due.
func (n NewPayment) checkStillDue(balance Balance) error {
	recomputed := n
	if err := recomputed.SetDueAmount(balance); err != nil {
		return err
	}
	if recomputed.Amount != n.Amount {
		return hub.Errorf(hub.ErrConflict, "amount_changed", "What is due for this appointment has changed meanwhile; ask again.")
	}
	return nil
}
