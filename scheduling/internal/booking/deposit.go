package booking

import "time"

// DepositStatus is the state of an appointment's deposit.
type DepositStatus string

// The states of a deposit.
const (
	DepositNone      DepositStatus = "none"      // none was required, or none is due any more
	DepositPending   DepositStatus = "pending"   // due; the appointment is cancelled unless it is paid by the deadline
	DepositPaid      DepositStatus = "paid"      // paid; of a cancelled appointment: still to be refunded
	DepositRefunded  DepositStatus = "refunded"  // the provider has made the refund
	DepositForfeited DepositStatus = "forfeited" // kept by the business
)

// DepositAfterCancel returns the deposit status after a cancellation now. A paid
// deposit stays paid, until its refund is made, if the refund notice was kept.
func (p Policy) DepositAfterCancel(status DepositStatus, start, now time.Time) DepositStatus {
	switch status {
	case DepositPending:
		return DepositNone
	case DepositPaid:
		notice := p.DepositRefundNoticeMinutes
		if notice == nil || now.After(start.Add(-minutes(*notice))) {
			return DepositForfeited
		}
		return DepositPaid
	default:
		return status
	}
}

// DepositAfterNoShow returns the deposit status after a no-show: a paid deposit is
// forfeited.
func DepositAfterNoShow(status DepositStatus) DepositStatus {
	if status == DepositPaid {
		return DepositForfeited
	}
	return status
}

// DepositDeadline returns the deadline for the deposit, at the latest the start.
func (p Policy) DepositDeadline(bookedAt, start time.Time) time.Time {
	deadline := bookedAt.Add(minutes(p.DepositHoldMinutes))
	if start.After(bookedAt) && start.Before(deadline) {
		return start
	}
	return deadline
}
