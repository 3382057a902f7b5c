package pages

import (
	"errors"
	"fmt"
	"html/template"
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
type detailLine struct {
	Name, Value string
	At, Zone    string       // of a time; At is for programs. "" = it is none
	Link        template.URL // "" = none
}

// depositView is the template data of a deposit due.
type depositView struct {
	Amount  string
	Code    string // Pix copy and paste; "" = not there yet
	QR      string // PNG, base64
	Until   string
	Expires string // for programs
	Refresh string // link
	Pay     string // link that pays it without a bank; "" = not possible
}

// Longest values of what clients send with a token.
const (
	maxTokenLength  = 200
	maxReasonLength = 500
)

// loadAppointment loads the booking of the token in the address or form.
func (p *pageRequest) loadAppointment() (publicbooking.Booking, error) {
	token := p.query.Get("token")
	if p.form != nil {
		token = p.form.Get("token")
	}
	if len(token) > maxTokenLength {
		token = ""
	}
	return p.publicBooking.BookingByToken(p.ctx, p.org, token)
}

// newBookingView returns the parts that every page of a booking shows.
func (p *pageRequest) newBookingView(booked publicbooking.Booking) *bookingView {
	text := p.messages()
	page := &bookingView{
		State: p.bookingState(booked), At: p.formatInstant(booked.StartAt), ZoneName: p.org.Timezone, Policy: p.appearance.CancellationPolicy, Again: p.linkTo(""), Token: booked.Token,
		Lines: []detailLine{
			{Name: text.Service, Value: booked.ServiceName}, {Name: text.With, Value: booked.ProfessionalName},
			{Name: text.When, Value: capitalize(p.formatDateTime(booked.StartAt)), At: p.formatInstant(booked.StartAt), Zone: p.zoneOf(booked.StartAt)},
			{Name: text.Minutes, Value: formatDuration(int(booked.EndAt.Sub(booked.StartAt).Minutes()))},
		},
	}
	if p.showsPrices() {
		page.Lines = append(page.Lines, detailLine{Name: text.Price, Value: p.formatPrice(booked.PriceCents)})
	}
	if p.org.Address != nil && *p.org.Address != "" {
		page.Lines = append(page.Lines, detailLine{Name: text.Address, Value: *p.org.Address})
	}
	if p.org.Phone != nil && *p.org.Phone != "" {
		page.Lines = append(page.Lines, detailLine{Name: text.Call, Value: formatPhone(*p.org.Phone), Link: phoneLink(*p.org.Phone)})
	}
	switch {
	case booked.DepositStatus == booking.DepositPaid && booked.Status == booking.Cancelled:
		page.Notes = append(page.Notes, text.Refunding)
	case booked.DepositStatus == booking.DepositPaid:
		page.Notes = append(page.Notes, text.DepositPaid)
	case booked.DepositStatus == booking.DepositRefunded:
		page.Notes = append(page.Notes, text.Refunded)
	case booked.DepositStatus == booking.DepositForfeited:
		page.Notes = append(page.Notes, text.Kept)
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

func (p *pageRequest) bookingState(booked publicbooking.Booking) string {
	switch {
	case booked.Status == booking.Cancelled:
		return stateCancelled
	case booked.Status.Terminal() || !p.now.Before(booked.StartAt):
		return stateOver
	case booked.Deposit != nil:
		return stateHeld
	case booked.Status == booking.Confirmed:
		return stateConfirmed
	}
	return stateRequested
}

// describeState sets icon, title and text for the state of the booking.
func (p *pageRequest) describeState(page *bookingView, booked publicbooking.Booking) {
	text := p.messages()
	switch page.State {
	case stateHeld:
		page.Icon, page.Title, page.Text = "clock", text.Held, ""
		if booked.Deposit.ExpiresAt != nil {
			page.Text = fmt.Sprintf(text.HeldHint, p.formatClock(*booked.Deposit.ExpiresAt)+" "+p.zoneOf(*booked.Deposit.ExpiresAt))
		}
	case stateConfirmed:
		page.Icon, page.Title, page.Text = "check", text.Confirmed, text.ConfirmedHint
	case stateRequested:
		page.Icon, page.Title, page.Text = "check", text.Requested, text.RequestedHint
	case stateCancelled:
		page.Icon, page.Title, page.Text = "cross", text.Cancelled, text.CancelledHint
	case stateOver:
		page.Icon, page.Title, page.Text = "clock", text.Over, text.OverHint
	}
}

// showBooking shows the booking and the deposit due.
func (p *pageRequest) showBooking() (reply, error) {
	booked, err := p.loadAppointment()
	if err != nil {
		return reply{}, err
	}
	page := p.newBookingView(booked)
	p.describeState(page, booked)
	if booked.Status.Blocks() && page.State != stateOver {
		page.Calendar, page.Manage = p.linkTo("calendar.ics", "token", booked.Token), p.linkTo("cancel", "token", booked.Token)
	}
	if deposit := booked.Deposit; deposit != nil && page.State == stateHeld {
		page.Deposit = &depositView{Amount: p.lang.formatMoney(deposit.Amount, p.org.Currency), Refresh: p.linkTo("done", "token", booked.Token)}
		if deposit.PixCopyPaste != nil {
			page.Deposit.Code = *deposit.PixCopyPaste
			if p.publicBooking.HasSandboxPayments() {
				page.Deposit.Pay = p.linkTo("pay")
			}
		}
		if deposit.QRCode != nil {
			page.Deposit.QR = *deposit.QRCode
		}
		if deposit.ExpiresAt != nil {
			page.Deposit.Until, page.Deposit.Expires = p.formatClock(*deposit.ExpiresAt), p.formatInstant(*deposit.ExpiresAt)
		}
	}
	return reply{template: "booking", title: page.Title, body: page, showsContact: true}, nil
}

// payDeposit pays the deposit in the sandbox, as a bank would.
func (p *pageRequest) payDeposit() (reply, error) {
	booked, err := p.loadAppointment()
	if err != nil {
		return reply{}, err
	}
	if booked.Deposit != nil { // else it was paid, or is over
		err = p.publicBooking.PaySandboxDeposit(p.ctx, booked)
	}
	return redirect(p.linkTo("done", "token", booked.Token)), err
}

// showCancel shows the booking with a cancel button where cancelling is possible. It
// changes nothing: mail scanners follow every link.
func (p *pageRequest) showCancel() (reply, error) {
	booked, err := p.loadAppointment()
	if err != nil {
		return reply{}, err
	}
	return p.cancelPage(http.StatusOK, booked), nil
}

func (p *pageRequest) cancelPage(status int, booked publicbooking.Booking) reply {
	text, page := p.messages(), p.newBookingView(booked)
	p.describeState(page, booked)
	if page.State == stateCancelled || page.State == stateOver {
		return reply{status: status, template: "cancel", title: page.Title, body: page, showsContact: true}
	}
	page.Icon, page.Title, page.Text = "calendar", text.YourBooking, ""
	page.Keep = p.linkTo("done", "token", booked.Token)
	if p.org.Policy.ClientMayReschedule(booked.StartAt, p.now) == nil {
		page.Move = p.linkTo("move", "token", booked.Token)
	}
	if refusal := p.org.Policy.ClientMayCancel(booked.StartAt, p.now); refusal != nil {
		page.Notes = append(page.Notes, p.refusalNote(refusal, text.NoOnlineCancel, text.TooLateCancel))
		return reply{status: status, template: "cancel", title: page.Title, body: page, showsContact: true}
	}
	page.Title, page.Text, page.Action = text.CancelTitle, text.CancelAsk, p.linkTo("cancel", "token", booked.Token)
	if booked.DepositStatus == booking.DepositPaid && booked.DepositCents != nil {
		amount := p.lang.formatMoney(*booked.DepositCents, p.org.Currency)
		page.Notes = []string{fmt.Sprintf(text.WillKeep, amount)}
		if p.org.Policy.DepositAfterCancel(booked.DepositStatus, booked.StartAt, p.now) == booking.DepositPaid {
			page.Notes = []string{fmt.Sprintf(text.WillRefund, amount)}
		}
	}
	return reply{status: status, template: "cancel", title: page.Title, body: page, showsContact: true}
}

// refusalNote explains why a client may not change a booking and refers to the
// organization.
func (p *pageRequest) refusalNote(refusal error, never, late string) string {
	var window *booking.WindowClosedError
	if !errors.As(refusal, &window) {
		return never + " " + p.messages().ContactUs
	}
	if p.now.After(window.Deadline) && late == p.messages().TooLateCancel {
		late += " " + fmt.Sprintf(p.messages().TooLateCancelUntil, p.formatDateTime(window.Deadline)+" "+p.zoneOf(window.Deadline))
	}
	return late + " " + p.messages().ContactUs
}

// cancel cancels the booking and redirects to its page.
func (p *pageRequest) cancel() (reply, error) {
	booked, err := p.loadAppointment()
	if err != nil {
		return reply{}, err
	}
	var reason *string
	if reasonRunes := []rune(p.form.Get("reason")); len(reasonRunes) > 0 {
		cut := string(reasonRunes[:min(len(reasonRunes), maxReasonLength)]) // the field has the same length
		reason = &cut
	}
	_, err = p.publicBooking.Cancel(p.ctx, p.org, booked.Token, reason)
	if isRuleRefusal(err) { // since the page was shown, it became too late, or was done
		return p.cancelPage(http.StatusConflict, booked), nil
	}
	if err != nil {
		return reply{}, err
	}
	return redirect(p.linkTo("cancel", "token", booked.Token)), nil
}

// isRuleRefusal reports whether a booking rule refused the change, as opposed to a fault.
func isRuleRefusal(err error) bool {
	var transition *booking.TransitionError
	var window *booking.WindowClosedError
	code := errorCode(err)
	return errors.As(err, &transition) || errors.As(err, &window) || code == "client_cancel_disabled" || code == "client_reschedule_disabled"
}

// downloadCalendar returns the booking as an .ics file.
func (p *pageRequest) downloadCalendar() (reply, error) {
	booked, err := p.loadAppointment()
	if err != nil {
		return reply{}, err
	}
	bytes, name := p.publicBooking.CalendarFile(p.org, booked)
	return reply{file: &file{name, calendar.Publish.MediaType(), bytes}}, nil
}
