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
