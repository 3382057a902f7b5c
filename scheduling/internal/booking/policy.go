package booking

import (
	"time"

	"integrationhub/hub"
)

// Policy is the part of an organization's settings that the rules read. Minutes
// and days are whole numbers as in the settings' JSON.
type Policy struct {
	AutoConfirm                bool `json:"auto_confirm"`
	SlotIntervalMinutes        *int `json:"slot_interval_minutes"` // nil: the duration
	MinNoticeMinutes           int  `json:"min_notice_minutes"`    // clients only
	MaxAdvanceDays             *int `json:"max_advance_days"`      // clients only; nil: no bound
	CancelNoticeMinutes        int  `json:"cancel_notice_minutes"` // clients only
	RescheduleNoticeMinutes    int  `json:"reschedule_notice_minutes"`
	AllowClientCancel          bool `json:"allow_client_cancel"`
	AllowClientReschedule      bool `json:"allow_client_reschedule"`
	BufferBeforeMinutes        int  `json:"buffer_before_minutes"`
	BufferAfterMinutes         int  `json:"buffer_after_minutes"`
	MaxBookingsPerDay          *int `json:"max_bookings_per_day"` // per professional; nil: no bound
	DepositHoldMinutes         int  `json:"deposit_hold_minutes"`
	DepositRefundNoticeMinutes *int `json:"deposit_refund_notice_minutes"` // nil: deposits are not refunded
}

// DefaultPolicy returns the policy of a new organization.
func DefaultPolicy() Policy {
	refundNotice := 1440
	return Policy{
		AllowClientCancel: true, AllowClientReschedule: true,
		DepositHoldMinutes: 30, DepositRefundNoticeMinutes: &refundNotice,
	}
}

// MaxPerDay returns the value for [Calendar.MaxPerDay]: the professional's own, else
// the organization's, else 0.
func (p Policy) MaxPerDay(professional *int) int {
	return valueOr(professional, valueOr(p.MaxBookingsPerDay, 0))
}

// WindowClosedError is returned when it is too late for a client to change an
// appointment online. It unwraps to a [hub.Error] of kind ErrConflict.
type WindowClosedError struct {
	Problem  *hub.Error
	Deadline time.Time // the last moment at which it was possible
}

// Error implements error.
func (e *WindowClosedError) Error() string { return e.Problem.Error() }

// Unwrap returns the hub's error.
func (e *WindowClosedError) Unwrap() error { return e.Problem }

// ClientMayCancel checks the cancellation notice for clients. The deadline itself is
// in time. Callers check the status first, by [Action.Apply]: repeating a
// cancellation is no error, however late.
func (p Policy) ClientMayCancel(start, now time.Time) error {
	if !p.AllowClientCancel {
		return hub.Errorf(hub.ErrForbidden, "client_cancel_disabled", "This business does not take cancellations online. Contact the business.")
	}
	if deadline, open := clientWindow(start, now, p.CancelNoticeMinutes); !open {
		return &WindowClosedError{hub.Errorf(hub.ErrConflict, "cancel_window_closed", "Too late to cancel online. Contact the business."), deadline}
	}
	return nil
}

// ClientMayReschedule checks the rescheduling notice for clients before the
// appointment's current start.
func (p Policy) ClientMayReschedule(start, now time.Time) error {
	if !p.AllowClientReschedule {
		return hub.Errorf(hub.ErrForbidden, "client_reschedule_disabled", "This business does not move appointments online. Contact the business.")
	}
	if deadline, open := clientWindow(start, now, p.RescheduleNoticeMinutes); !open {
		return &WindowClosedError{hub.Errorf(hub.ErrConflict, "reschedule_window_closed", "Too late to reschedule online. Contact the business."), deadline}
	}
	return nil
}

func clientWindow(start, now time.Time, notice int) (deadline time.Time, open bool) {
	deadline = start.Add(-minutes(notice))
	return deadline, now.Before(start) && !now.After(deadline)
}

// SlotTakenError is returned for a time that cannot be booked, with alternatives. It
// unwraps to a [hub.Error] of kind ErrConflict and code slot_unavailable.
type SlotTakenError struct {
	Problem      *hub.Error
	Alternatives []Slot
}

// Error implements error.
func (e *SlotTakenError) Error() string { return e.Problem.Error() }

// Unwrap returns the hub's error.
func (e *SlotTakenError) Unwrap() error { return e.Problem }

// NewSlotTakenError returns a [SlotTakenError].
func NewSlotTakenError(alternatives []Slot) *SlotTakenError {
	return &SlotTakenError{hub.Errorf(hub.ErrConflict, "slot_unavailable", "Time slot not available"), alternatives}
}

// DepositStatus is the state of an appointment's deposit.
type DepositStatus string

// The states of a deposit.
const (
	DepositNone      DepositStatus = "none"      // none was required, or none is due any more
	DepositPending   DepositStatus = "pending"   // due; the appointment is cancelled unless it is paid by the deadline
	DepositPaid      DepositStatus = "paid"      //
	DepositReleased  DepositStatus = "refunded"  // refunded, or to be refunded
	DepositForfeited DepositStatus = "forfeited" // kept by the business
)

// DepositAfterCancel returns the deposit status after a cancellation now. A paid
// deposit is released if the refund notice was kept.
func (p Policy) DepositAfterCancel(status DepositStatus, start, now time.Time) DepositStatus {
	switch status {
	case DepositPending:
		return DepositNone
	case DepositPaid:
		notice := p.DepositRefundNoticeMinutes
		if notice == nil || now.After(start.Add(-minutes(*notice))) {
			return DepositForfeited
		}
		return DepositReleased
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

// DepositDeadline returns the deadline for the deposit.
func (p Policy) DepositDeadline(bookedAt time.Time) time.Time {
	return bookedAt.Add(minutes(p.DepositHoldMinutes))
}
