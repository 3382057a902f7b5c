package pages

import (
	"errors"
	"fmt"
	"net/http"

	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/calendar"
	"integrationhub/scheduling/internal/publicbooking"
)

// bookingView is the template data of a booking.
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

// detailLine is a labelled detail of a booking.
type detailLine struct{ Name, Value, At string }

// depositView is the template data of a deposit due.
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

// loadAppointment loads the booking of the token in the address or form.
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

// newBookingView returns the parts that every page of a booking shows.
func (v *visit) newBookingView(booked publicbooking.Booking) *bookingView {
	texts := v.texts()
	page := &bookingView{
		State: v.bookingState(booked), At: v.formatInstant(booked.StartAt), ZoneName: v.org.Timezone, Policy: v.appearance.CancellationPolicy, Again: v.linkTo(""), Token: booked.Token,
		Lines: []detailLine{
			{texts.Service, booked.ServiceName, ""}, {texts.With, booked.ProfessionalName, ""},
			{texts.When, capitalize(v.formatDateTime(booked.StartAt)), v.formatInstant(booked.StartAt)},
			{texts.Minutes, formatDuration(int(booked.EndAt.Sub(booked.StartAt).Minutes())), ""},
		},
	}
	if v.showsPrices() {
		page.Lines = append(page.Lines, detailLine{texts.Price, v.formatPrice(booked.PriceCents), ""})
	}
	if v.org.Address != nil && *v.org.Address != "" {
		page.Lines = append(page.Lines, detailLine{v.org.Name, *v.org.Address, ""})
	}
	switch booked.DepositStatus {
	case booking.DepositPaid:
		page.Notes = append(page.Notes, texts.DepositPaid)
	case booking.DepositRefunded:
		page.Notes = append(page.Notes, texts.Refunded)
	case booking.DepositForfeited:
		page.Notes = append(page.Notes, texts.Kept)
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

func (v *visit) bookingState(booked publicbooking.Booking) string {
	switch {
	case booked.Status == booking.Cancelled:
		return stateCancelled
	case booked.Status.Terminal() || !v.now.Before(booked.StartAt):
		return stateOver
	case booked.Deposit != nil:
		return stateHeld
	case booked.Status == booking.Confirmed:
		return stateConfirmed
	}
	return stateRequested
}

// describeState sets icon, title and text for the state of the booking.
func (v *visit) describeState(page *bookingView, booked publicbooking.Booking) {
	texts := v.texts()
	switch page.State {
	case stateHeld:
		page.Icon, page.Title, page.Text = "clock", texts.Held, ""
		if booked.Deposit.ExpiresAt != nil {
			page.Text = fmt.Sprintf(texts.HeldHint, v.formatClock(*booked.Deposit.ExpiresAt))
		}
	case stateConfirmed:
		page.Icon, page.Title, page.Text = "check", texts.Confirmed, texts.ConfirmedHint
	case stateRequested:
		page.Icon, page.Title, page.Text = "check", texts.Requested, texts.RequestedHint
	case stateCancelled:
		page.Icon, page.Title, page.Text = "cross", texts.Cancelled, texts.CancelledHint
	case stateOver:
		page.Icon, page.Title, page.Text = "clock", texts.Over, texts.OverHint
	}
}

// showBooking shows the booking and the deposit due.
func (v *visit) showBooking() (reply, error) {
	booked, err := v.loadAppointment()
	if err != nil {
		return reply{}, err
	}
	page := v.newBookingView(booked)
	v.describeState(page, booked)
	if booked.Status.Blocks() && page.State != stateOver {
		page.Calendar, page.Manage = v.linkTo("calendar.ics", "token", booked.Token), v.linkTo("cancel", "token", booked.Token)
	}
	if deposit := booked.Deposit; deposit != nil && page.State == stateHeld {
		page.Deposit = &depositView{Amount: v.lang.formatMoney(deposit.Amount, v.org.Currency), Refresh: v.linkTo("done", "token", booked.Token)}
		if deposit.PixCopyPaste != nil {
			page.Deposit.Code = *deposit.PixCopyPaste
		}
		if deposit.QRCode != nil {
			page.Deposit.QR = *deposit.QRCode
		}
		if deposit.ExpiresAt != nil {
			page.Deposit.Until, page.Deposit.Expires = v.formatClock(*deposit.ExpiresAt), v.formatInstant(*deposit.ExpiresAt)
		}
	}
	return reply{template: "done", title: page.Title, body: page}, nil
}

// showCancel shows the booking with a cancel button where cancelling is possible. It
// changes nothing: mail scanners follow every link.
func (v *visit) showCancel() (reply, error) {
	booked, err := v.loadAppointment()
	if err != nil {
		return reply{}, err
	}
	return v.cancelPage(http.StatusOK, booked), nil
}

func (v *visit) cancelPage(status int, booked publicbooking.Booking) reply {
	texts, page := v.texts(), v.newBookingView(booked)
	v.describeState(page, booked)
	if page.State == stateCancelled || page.State == stateOver {
		return reply{status: status, template: "cancel", title: page.Title, body: page}
	}
	page.Icon, page.Title, page.Text = "calendar", texts.YourBooking, ""
	page.Keep = v.linkTo("done", "token", booked.Token)
	if v.org.Policy.ClientMayReschedule(booked.StartAt, v.now) == nil {
		page.Move = v.linkTo("move", "token", booked.Token)
	}
	if refusal := v.org.Policy.ClientMayCancel(booked.StartAt, v.now); refusal != nil {
		page.Notes = append(page.Notes, v.refusalNote(refusal, texts.NoOnlineCancel, texts.TooLateCancel))
		return reply{status: status, template: "cancel", title: page.Title, body: page}
	}
	page.Title, page.Text, page.Action = texts.CancelTitle, texts.CancelAsk, v.linkTo("cancel", "token", booked.Token)
	if booked.DepositStatus == booking.DepositPaid && booked.DepositCents != nil {
		amount := v.lang.formatMoney(*booked.DepositCents, v.org.Currency)
		page.Notes = []string{fmt.Sprintf(texts.WillKeep, amount)}
		if v.org.Policy.DepositAfterCancel(booked.DepositStatus, booked.StartAt, v.now) == booking.DepositRefunded {
			page.Notes = []string{fmt.Sprintf(texts.WillRefund, amount)}
		}
	}
	return reply{status: status, template: "cancel", title: page.Title, body: page}
}

// refusalNote explains why a client may not change a booking and refers to the
// organization.
func (v *visit) refusalNote(refusal error, never, late string) string {
	var window *booking.WindowClosedError
	if !errors.As(refusal, &window) {
		return never + " " + v.texts().ContactUs
	}
	if v.now.After(window.Deadline) && late == v.texts().TooLateCancel {
		late += " " + fmt.Sprintf(v.texts().TooLateCancelUntil, v.formatDateTime(window.Deadline))
	}
	return late + " " + v.texts().ContactUs
}

// cancel cancels the booking and redirects to its page.
func (v *visit) cancel() (reply, error) {
	booked, err := v.loadAppointment()
	if err != nil {
		return reply{}, err
	}
	var reason *string
	if reasonRunes := []rune(v.form.Get("reason")); len(reasonRunes) > 0 {
		cut := string(reasonRunes[:min(len(reasonRunes), maxReasonLength)]) // the field has the same length
		reason = &cut
	}
	_, err = v.publicBooking.Cancel(v.ctx, v.org, booked.Token, reason)
	if isRuleRefusal(err) { // since the page was shown, it became too late, or was done
		return v.cancelPage(http.StatusConflict, booked), nil
	}
	if err != nil {
		return reply{}, err
	}
	return redirect(v.linkTo("cancel", "token", booked.Token)), nil
}

// isRuleRefusal reports whether a booking rule refused the change, as opposed to a fault.
func isRuleRefusal(err error) bool {
	var transition *booking.TransitionError
	var window *booking.WindowClosedError
	code := errorCode(err)
	return errors.As(err, &transition) || errors.As(err, &window) || code == "client_cancel_disabled" || code == "client_reschedule_disabled"
}

// downloadCalendar returns the booking as an .ics file.
func (v *visit) downloadCalendar() (reply, error) {
	booked, err := v.loadAppointment()
	if err != nil {
		return reply{}, err
	}
	bytes, name := v.publicBooking.CalendarFile(v.org, booked)
	return reply{file: &file{name, calendar.Publish.MediaType(), bytes}}, nil
}
