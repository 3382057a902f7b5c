package pages

import (
	"net/http"
	"time"

	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/publicbooking"
)

// moveNote is the confirmation of a move.
type moveNote struct {
	Action, Token, Start string
	Before, After        string
	BeforeAt, AfterAt    string
	ZoneName             string
	Taken                bool
	Alternatives         []slot
	AllTimes, Keep       string
}

// moving leads a booking to another time: a month, a day, and the question whether that
// is meant.
func (v *visit) moving() (reply, error) {
	b, err := v.appointment()
	if err != nil {
		return reply{}, err
	}
	if page := v.notMovable(b, http.StatusOK); page != nil {
		return *page, nil
	}
	t, plan := v.t(), planner{
		month: func(m string) string { return v.link("move", "token", b.Token, "month", m) },
		day:   func(d booking.Date) string { return v.link("move", "token", b.Token, "date", d.String()) },
		start: func(at time.Time) string { return v.link("move", "token", b.Token, fieldStart, v.stamp(at)) },
	}
	choice, about := publicbooking.RescheduleChoice(b.AppointmentDetail), v.movingSummary(b)
	switch {
	case v.query.Get(fieldStart) != "":
		at, err := start(v.query.Get(fieldStart))
		if err != nil {
			return reply{}, err
		}
		return v.moveAsk(http.StatusOK, b, at, nil), nil
	case v.query.Get("date") != "":
		list, err := v.timesOf(choice, plan)
		return reply{template: "time", title: t.ChooseTime, summary: about, body: list}, err
	}
	month, err := v.month(choice, plan)
	return reply{template: "day", title: t.MoveTitle, summary: about, body: month}, err
}

// movingSummary is the summary of a booking that moves.
func (v *visit) movingSummary(b publicbooking.Booking) *summary {
	return &summary{
		Service: b.ServiceName, Color: b.ServiceColor, Professional: b.ProfessionalName, When: sentence(v.moment(b.StartAt)), At: v.stamp(b.StartAt),
		Zone: place(b.StartAt.In(v.org.Zone)), Duration: duration(int(b.EndAt.Sub(b.StartAt).Minutes())),
	}
}

func (v *visit) moveAsk(status int, b publicbooking.Booking, at time.Time, taken error) reply {
	n := moveNote{
		Action: v.link("move", "token", b.Token), Token: b.Token, Start: v.stamp(at), ZoneName: v.org.Timezone,
		Before: sentence(v.moment(b.StartAt)), BeforeAt: v.stamp(b.StartAt), After: sentence(v.moment(at)), AfterAt: v.stamp(at),
		AllTimes: v.link("move", "token", b.Token, "date", booking.DateOf(at, v.org.Zone).String()), Keep: v.link("done", "token", b.Token),
	}
	title := v.t().MoveAsk
	if slots, is := slotTaken(taken); is {
		n.Taken, title = true, v.t().Taken
		for _, s := range slots {
			n.Alternatives = append(n.Alternatives, slot{Time: sentence(v.moment(s.Start)), At: v.stamp(s.Start)})
		}
	}
	return reply{status: status, template: "move", title: title, summary: v.movingSummary(b), body: n}
}

// notMovable is the page that tells why a booking cannot be moved; nil where it can.
func (v *visit) notMovable(b publicbooking.Booking, status int) *reply {
	t, page := v.t(), v.shown(b)
	v.tell(page, b)
	page.Keep = v.link("done", "token", b.Token)
	if page.State == stateCancelled || page.State == stateOver {
		return &reply{status: status, template: "cancel", title: page.Title, body: page}
	}
	why := v.org.Policy.ClientMayReschedule(b.StartAt, v.now)
	if why == nil {
		return nil
	}
	page.Icon, page.Title, page.Text = "calendar", t.CannotMove, ""
	page.Notes = append(page.Notes, v.whyNot(why, t.NoOnlineMove, t.TooLateMove))
	return &reply{status: status, template: "cancel", title: page.Title, body: page}
}

// move moves the booking and shows it at its new time.
func (v *visit) move() (reply, error) {
	b, err := v.appointment()
	if err != nil {
		return reply{}, err
	}
	at, err := start(v.form.Get(fieldStart))
	if err != nil {
		return reply{}, err
	}
	if at.Equal(b.StartAt) { // sent twice
		return redirect(v.link("done", "token", b.Token)), nil
	}
	_, err = v.desk.Reschedule(v.ctx, v.org, b.Token, at)
	if _, taken := slotTaken(err); taken {
		return v.moveAsk(http.StatusConflict, b, at, err), nil
	}
	if refused(err) {
		if page := v.notMovable(b, http.StatusConflict); page != nil {
			return *page, nil
		}
	}
	if err != nil {
		return reply{}, err
	}
	return redirect(v.link("done", "token", b.Token)), nil
}
