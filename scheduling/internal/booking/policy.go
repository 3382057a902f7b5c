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

// DefaultPolicy is that of a new organization.
func DefaultPolicy() Policy {
	refundNotice := 1440
	return Policy{
		AllowClientCancel: true, AllowClientReschedule: true,
		DepositHoldMinutes: 30, DepositRefundNoticeMinutes: &refundNotice,
	}
}

// MaxPerDay is the bound for [Calendar.MaxPerDay]: the professional's own, else the
// organization's, else 0.
func (p Policy) MaxPerDay(professional *int) int {
	return valueOr(professional, valueOr(p.MaxBookingsPerDay, 0))
}

// WindowClosedError tells a client that it is too late to change an appointment
// online. It unwraps to a [hub.Error] of kind ErrConflict.
type WindowClosedError struct {
	Problem  *hub.Error
	Deadline time.Time // the last moment at which it was possible
}

// Error implements error.
func (e *WindowClosedError) Error() string { return e.Problem.Error() }

// Unwrap gives the hub's error.
func (e *WindowClosedError) Unwrap() error { return e.Problem }

// ClientMayCancel checks the notice a client has to keep. The deadline itself is
// still in time; the start is not. The status is checked first, by [Action.Apply]:
// cancelling again is answered as before, however late.
func (p Policy) ClientMayCancel(start, now time.Time) error {
	if !p.AllowClientCancel {
		return hub.Errorf(hub.ErrForbidden, "client_cancel_disabled", "This business does not take cancellations online. Contact the business.")
	}
	if deadline, open := clientWindow(start, now, p.CancelNoticeMinutes); !open {
		return &WindowClosedError{hub.Errorf(hub.ErrConflict, "cancel_window_closed", "Too late to cancel online. Contact the business."), deadline}
	}
	return nil
}

// ClientMayReschedule checks the notice a client has to keep before the
// appointment's present start.
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

// SlotTakenError tells that a time cannot be booked, with other times. It unwraps
// to a [hub.Error] of kind ErrConflict and code slot_unavailable.
type SlotTakenError struct {
	Problem      *hub.Error
	Alternatives []Slot
}

// Error implements error.
func (e *SlotTakenError) Error() string { return e.Problem.Error() }

// Unwrap gives the hub's error.
func (e *SlotTakenError) Unwrap() error { return e.Problem }

// NewSlotTakenError makes a [SlotTakenError].
func NewSlotTakenError(alternatives []Slot) *SlotTakenError {
	return &SlotTakenError{hub.Errorf(hub.ErrConflict, "slot_unavailable", "Time slot not available"), alternatives}
}

// DepositStatus is where an appointment's deposit stands.
type DepositStatus string

// The states of a deposit.
const (
	DepositNone      DepositStatus = "none"      // nothing was asked for, or nothing is due any more
	DepositPending   DepositStatus = "pending"   // asked for; the slot is held until it is paid or the hold ends
	DepositPaid      DepositStatus = "paid"      //
	DepositRefunded  DepositStatus = "refunded"  // given back, or on its way back
	DepositForfeited DepositStatus = "forfeited" // kept by the business
)

// DepositAfterCancel says what becomes of a deposit when its appointment is
// cancelled now. A paid one goes back where the notice was kept, whoever cancels.
func (p Policy) DepositAfterCancel(status DepositStatus, start, now time.Time) DepositStatus {
	switch status {
	case DepositPending:
		return DepositNone
	case DepositPaid:
		notice := p.DepositRefundNoticeMinutes
		if notice == nil || now.After(start.Add(-minutes(*notice))) {
			return DepositForfeited
		}
		return DepositRefunded
	default:
		return status
	}
}

// DepositAfterNoShow says what becomes of a deposit when the client did not come:
// it is kept.
func DepositAfterNoShow(status DepositStatus) DepositStatus {
	if status == DepositPaid {
		return DepositForfeited
	}
	return status
}

// DepositHoldEnd is when an unpaid deposit lets go of its slot.
func (p Policy) DepositHoldEnd(bookedAt time.Time) time.Time {
	return bookedAt.Add(minutes(p.DepositHoldMinutes))
}
