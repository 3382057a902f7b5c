package pages

import (
	"net/http"
	"time"

	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/publicbooking"
)

// moveView is the confirmation of a move.
type moveView struct {
	Action, Token, Start string
	Before, After        string
	BeforeAt, AfterAt    string
	ZoneName             string
	Taken                bool
	Alternatives         []slotOption
	AllTimes, Keep       string
}

// showMove leads a booking to another time: a month, a day, and the question whether that
// is meant.
func (v *visit) showMove() (reply, error) {
	b, err := v.loadAppointment()
	if err != nil {
		return reply{}, err
	}
	if page := v.notMovablePage(b, http.StatusOK); page != nil {
		return *page, nil
	}
	t, plan := v.texts(), calendarLinks{
		month: func(m string) string { return v.linkTo("move", "token", b.Token, "month", m) },
		day:   func(d booking.Date) string { return v.linkTo("move", "token", b.Token, "date", d.String()) },
		start: func(at time.Time) string { return v.linkTo("move", "token", b.Token, fieldStart, v.formatInstant(at)) },
	}
	choice, about := publicbooking.RescheduleChoice(b.AppointmentDetail), v.moveSummary(b)
	switch {
	case v.query.Get(fieldStart) != "":
		at, err := parseStart(v.query.Get(fieldStart))
		if err != nil {
			return reply{}, err
		}
		return v.confirmMovePage(http.StatusOK, b, at, nil), nil
	case v.query.Get("date") != "":
		list, err := v.buildDay(choice, plan)
		return reply{template: "time", title: t.ChooseTime, summary: about, body: list}, err
	}
	month, err := v.buildMonth(choice, plan)
	return reply{template: "day", title: t.MoveTitle, summary: about, body: month}, err
}

// moveSummary is the summary of a booking that moves.
func (v *visit) moveSummary(b publicbooking.Booking) *summary {
	return &summary{
		Service: b.ServiceName, Color: b.ServiceColor, Professional: b.ProfessionalName, When: capitalize(v.formatDateTime(b.StartAt)), At: v.formatInstant(b.StartAt),
		Zone: zoneName(b.StartAt.In(v.org.Zone)), Duration: formatDuration(int(b.EndAt.Sub(b.StartAt).Minutes())),
	}
}

func (v *visit) confirmMovePage(status int, b publicbooking.Booking, at time.Time, taken error) reply {
	n := moveView{
		Action: v.linkTo("move", "token", b.Token), Token: b.Token, Start: v.formatInstant(at), ZoneName: v.org.Timezone,
		Before: capitalize(v.formatDateTime(b.StartAt)), BeforeAt: v.formatInstant(b.StartAt), After: capitalize(v.formatDateTime(at)), AfterAt: v.formatInstant(at),
		AllTimes: v.linkTo("move", "token", b.Token, "date", booking.DateOf(at, v.org.Zone).String()), Keep: v.linkTo("done", "token", b.Token),
	}
	title := v.texts().MoveAsk
	if slots, is := takenAlternatives(taken); is {
		n.Taken, title = true, v.texts().Taken
		for _, s := range slots {
			n.Alternatives = append(n.Alternatives, slotOption{Time: capitalize(v.formatDateTime(s.Start)), At: v.formatInstant(s.Start)})
		}
	}
	return reply{status: status, template: "move", title: title, summary: v.moveSummary(b), body: n}
}

// notMovablePage is the page that tells why a booking cannot be moved; nil where it can.
func (v *visit) notMovablePage(b publicbooking.Booking, status int) *reply {
	t, page := v.texts(), v.newBookingView(b)
	v.describeState(page, b)
	page.Keep = v.linkTo("done", "token", b.Token)
	if page.State == stateCancelled || page.State == stateOver {
		return &reply{status: status, template: "cancel", title: page.Title, body: page}
	}
	why := v.org.Policy.ClientMayReschedule(b.StartAt, v.now)
	if why == nil {
		return nil
	}
	page.Icon, page.Title, page.Text = "calendar", t.CannotMove, ""
	page.Notes = append(page.Notes, v.refusalNote(why, t.NoOnlineMove, t.TooLateMove))
	return &reply{status: status, template: "cancel", title: page.Title, body: page}
}

// reschedule moves the booking and shows it at its new time.
func (v *visit) reschedule() (reply, error) {
	b, err := v.loadAppointment()
	if err != nil {
		return reply{}, err
	}
	at, err := parseStart(v.form.Get(fieldStart))
	if err != nil {
		return reply{}, err
	}
	if at.Equal(b.StartAt) { // sent twice
		return redirect(v.linkTo("done", "token", b.Token)), nil
	}
	_, err = v.publicBooking.Reschedule(v.ctx, v.org, b.Token, at)
	if _, taken := takenAlternatives(err); taken {
		return v.confirmMovePage(http.StatusConflict, b, at, err), nil
	}
	if isRuleRefusal(err) {
		if page := v.notMovablePage(b, http.StatusConflict); page != nil {
			return *page, nil
		}
	}
	if err != nil {
		return reply{}, err
	}
	return redirect(v.linkTo("done", "token", b.Token)), nil
}
