package pages

import (
	"errors"
	"fmt"
	"net/http"

	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/calendar"
	"integrationhub/scheduling/internal/publicbooking"
)

// bookingView is a booking on the pages of its client.
type bookingView struct {
	State, Icon, Title, Text string
	Lines                    []detailLine
	At, ZoneName             string // of its start, for programs
	Deposit                  *depositView
	Notes                    []string // what becomes of a deposit, and why something cannot be done
	Calendar, Manage, Again  string   // links; "" = not possible
	Move                     string   // link; "" = not possible
	Action, Token            string   // of the form that cancels; "" = not possible
	Keep                     string   // link
	Policy                   string
}

// detailLine is one thing that was booked.
type detailLine struct{ Name, Value, At string }

// depositView is what is due.
type depositView struct {
	Amount  string
	Code    string // Pix copy and paste; "" = not there yet
	QR      string // PNG, base64
	Until   string
	Expires string // for programs
	Refresh string // link
}

// Longest values of what clients send with a token.
const (
	maxTokenLength  = 200
	maxReasonLength = 500
)

// loadAppointment finds what the token of the address or of a form is for.
func (v *visit) loadAppointment() (publicbooking.Booking, error) {
	token := v.query.Get("token")
	if v.form != nil {
		token = v.form.Get("token")
	}
	if len(token) > maxTokenLength {
		token = ""
	}
	return v.publicBooking.Appointment(v.ctx, v.org, token)
}

// newBookingView is what every page tells of a booking.
func (v *visit) newBookingView(b publicbooking.Booking) *bookingView {
	t := v.texts()
	page := &bookingView{
		State: v.bookingState(b), At: v.formatInstant(b.StartAt), ZoneName: v.org.Timezone, Policy: v.appearance.CancellationPolicy, Again: v.linkTo(""), Token: b.Token,
		Lines: []detailLine{
			{t.Service, b.ServiceName, ""}, {t.With, b.ProfessionalName, ""},
			{t.When, capitalize(v.formatDateTime(b.StartAt)), v.formatInstant(b.StartAt)},
			{t.Minutes, formatDuration(int(b.EndAt.Sub(b.StartAt).Minutes())), ""},
		},
	}
	if v.showsPrices() {
		page.Lines = append(page.Lines, detailLine{t.Price, v.formatPrice(b.PriceCents), ""})
	}
	if v.org.Address != nil && *v.org.Address != "" {
		page.Lines = append(page.Lines, detailLine{v.org.Name, *v.org.Address, ""})
	}
	switch b.DepositStatus {
	case booking.DepositPaid:
		page.Notes = append(page.Notes, t.DepositPaid)
	case booking.DepositRefunded:
		page.Notes = append(page.Notes, t.Refunded)
	case booking.DepositForfeited:
		page.Notes = append(page.Notes, t.Kept)
	case booking.DepositNone, booking.DepositPending:
	}
	return page
}

// States of a booking for its client.
const (
	stateHeld      = "held" // until the deposit is paid
	stateRequested = "requested"
	stateConfirmed = "confirmed"
	stateCancelled = "cancelled"
	stateOver      = "over"
)

func (v *visit) bookingState(b publicbooking.Booking) string {
	switch {
	case b.Status == booking.Cancelled:
		return stateCancelled
	case b.Status.Terminal() || !v.now.Before(b.StartAt):
		return stateOver
	case b.Deposit != nil:
		return stateHeld
	case b.Status == booking.Confirmed:
		return stateConfirmed
	}
	return stateRequested
}

// describeState says in words how the booking stands.
func (v *visit) describeState(page *bookingView, b publicbooking.Booking) {
	t := v.texts()
	switch page.State {
	case stateHeld:
		page.Icon, page.Title, page.Text = "clock", t.Held, ""
		if b.Deposit.ExpiresAt != nil {
			page.Text = fmt.Sprintf(t.HeldHint, v.formatClock(*b.Deposit.ExpiresAt))
		}
	case stateConfirmed:
		page.Icon, page.Title, page.Text = "check", t.Confirmed, t.ConfirmedHint
	case stateRequested:
		page.Icon, page.Title, page.Text = "check", t.Requested, t.RequestedHint
	case stateCancelled:
		page.Icon, page.Title, page.Text = "cross", t.Cancelled, t.CancelledHint
	case stateOver:
		page.Icon, page.Title, page.Text = "clock", t.Over, t.OverHint
	}
}

// showBooking shows what was booked, and what is to be paid.
func (v *visit) showBooking() (reply, error) {
	b, err := v.loadAppointment()
	if err != nil {
		return reply{}, err
	}
	page := v.newBookingView(b)
	v.describeState(page, b)
	if b.Status.Blocks() && page.State != stateOver {
		page.Calendar, page.Manage = v.linkTo("calendar.ics", "token", b.Token), v.linkTo("cancel", "token", b.Token)
	}
	if d := b.Deposit; d != nil && page.State == stateHeld {
		page.Deposit = &depositView{Amount: v.lang.formatMoney(d.Amount, v.org.Currency), Refresh: v.linkTo("done", "token", b.Token)}
		if d.PixCopyPaste != nil {
			page.Deposit.Code = *d.PixCopyPaste
		}
		if d.QRCode != nil {
			page.Deposit.QR = *d.QRCode
		}
		if d.ExpiresAt != nil {
			page.Deposit.Until, page.Deposit.Expires = v.formatClock(*d.ExpiresAt), v.formatInstant(*d.ExpiresAt)
		}
	}
	return reply{template: "done", title: page.Title, body: page}, nil
}

// showCancel shows a booking and, where that is possible, the button that cancels it.
// It changes nothing: programs that look at mails follow every link.
func (v *visit) showCancel() (reply, error) {
	b, err := v.loadAppointment()
	if err != nil {
		return reply{}, err
	}
	return v.cancelPage(http.StatusOK, b), nil
}

func (v *visit) cancelPage(status int, b publicbooking.Booking) reply {
	t, page := v.texts(), v.newBookingView(b)
	v.describeState(page, b)
	if page.State == stateCancelled || page.State == stateOver {
		return reply{status: status, template: "cancel", title: page.Title, body: page}
	}
	page.Icon, page.Title, page.Text = "calendar", t.YourBooking, ""
	page.Keep = v.linkTo("done", "token", b.Token)
	if v.org.Policy.ClientMayReschedule(b.StartAt, v.now) == nil {
		page.Move = v.linkTo("move", "token", b.Token)
	}
	if why := v.org.Policy.ClientMayCancel(b.StartAt, v.now); why != nil {
		page.Notes = append(page.Notes, v.refusalNote(why, t.NoOnlineCancel, t.TooLateCancel))
		return reply{status: status, template: "cancel", title: page.Title, body: page}
	}
	page.Title, page.Text, page.Action = t.CancelTitle, t.CancelAsk, v.linkTo("cancel", "token", b.Token)
	if b.DepositStatus == booking.DepositPaid && b.DepositCents != nil {
		amount := v.lang.formatMoney(*b.DepositCents, v.org.Currency)
		page.Notes = []string{fmt.Sprintf(t.WillKeep, amount)}
		if v.org.Policy.DepositAfterCancel(b.DepositStatus, b.StartAt, v.now) == booking.DepositRefunded {
			page.Notes = []string{fmt.Sprintf(t.WillRefund, amount)}
		}
	}
	return reply{status: status, template: "cancel", title: page.Title, body: page}
}

// refusalNote tells why a client may not change a booking, and whom to ask.
func (v *visit) refusalNote(why error, never, late string) string {
	var window *booking.WindowClosedError
	if !errors.As(why, &window) {
		return never + " " + v.texts().ContactUs
	}
	if v.now.After(window.Deadline) && late == v.texts().TooLateCancel {
		late += " " + fmt.Sprintf(v.texts().TooLateCancelUntil, v.formatDateTime(window.Deadline))
	}
	return late + " " + v.texts().ContactUs
}

// cancel cancels, and shows what became of the booking.
func (v *visit) cancel() (reply, error) {
	b, err := v.loadAppointment()
	if err != nil {
		return reply{}, err
	}
	var reason *string
	if text := []rune(v.form.Get("reason")); len(text) > 0 {
		cut := string(text[:min(len(text), maxReasonLength)]) // the field has the same length
		reason = &cut
	}
	_, err = v.publicBooking.Cancel(v.ctx, v.org, b.Token, reason)
	if isRuleRefusal(err) { // since the page was shown, it became too late, or was done
		return v.cancelPage(http.StatusConflict, b), nil
	}
	if err != nil {
		return reply{}, err
	}
	return redirect(v.linkTo("cancel", "token", b.Token)), nil
}

// isRuleRefusal tells whether a change is not possible for the rules, rather than for a fault.
func isRuleRefusal(err error) bool {
	var transition *booking.TransitionError
	var window *booking.WindowClosedError
	code := errorCode(err)
	return errors.As(err, &transition) || errors.As(err, &window) || code == "client_cancel_disabled" || code == "client_reschedule_disabled"
}

// downloadCalendar gives a booking for its client's own calendar.
func (v *visit) downloadCalendar() (reply, error) {
	b, err := v.loadAppointment()
	if err != nil {
		return reply{}, err
	}
	bytes, name := v.publicBooking.CalendarFile(v.org, b)
	return reply{file: &file{name, calendar.Publish.MediaType(), bytes}}, nil
}
