package pages

import (
	"net/http"
	"time"

	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/publicbooking"
)

// moveView is the template data of the confirmation of a move.
type moveView struct {
	Action, Token, Start string
	Before, After        string
	BeforeAt, AfterAt    string
	ZoneName             string
	Taken                bool
	Alternatives         []slotOption
	AllTimes, Keep       string
}

// showMove leads to another time for a booking: a month, a day, then the confirmation.
func (v *visit) showMove() (reply, error) {
	booked, err := v.loadAppointment()
	if err != nil {
		return reply{}, err
	}
	if page := v.notMovablePage(booked, http.StatusOK); page != nil {
		return *page, nil
	}
	texts, links := v.texts(), calendarLinks{
		month: func(month string) string { return v.linkTo("move", "token", booked.Token, "month", month) },
		day:   func(date booking.Date) string { return v.linkTo("move", "token", booked.Token, "date", date.String()) },
		start: func(start time.Time) string {
			return v.linkTo("move", "token", booked.Token, fieldStart, v.formatInstant(start))
		},
	}
	choice, bookingSummary := publicbooking.RescheduleChoice(booked.AppointmentDetail), v.moveSummary(booked)
	switch {
	case v.query.Get(fieldStart) != "":
		start, err := parseStart(v.query.Get(fieldStart))
		if err != nil {
			return reply{}, err
		}
		return v.confirmMovePage(http.StatusOK, booked, start, nil), nil
	case v.query.Get("date") != "":
		list, err := v.buildDay(choice, links)
		return reply{template: "time", title: texts.ChooseTime, summary: bookingSummary, body: list}, err
	}
	month, err := v.buildMonth(choice, links)
	return reply{template: "day", title: texts.MoveTitle, summary: bookingSummary, body: month}, err
}

// moveSummary returns the summary of a booking that moves.
func (v *visit) moveSummary(booked publicbooking.Booking) *summary {
	return &summary{
		Service: booked.ServiceName, Color: booked.ServiceColor, Professional: booked.ProfessionalName, When: capitalize(v.formatDateTime(booked.StartAt)), At: v.formatInstant(booked.StartAt),
		Zone: zoneName(booked.StartAt.In(v.org.Zone)), Duration: formatDuration(int(booked.EndAt.Sub(booked.StartAt).Minutes())),
	}
}

func (v *visit) confirmMovePage(status int, booked publicbooking.Booking, start time.Time, taken error) reply {
	view := moveView{
		Action: v.linkTo("move", "token", booked.Token), Token: booked.Token, Start: v.formatInstant(start), ZoneName: v.org.Timezone,
		Before: capitalize(v.formatDateTime(booked.StartAt)), BeforeAt: v.formatInstant(booked.StartAt), After: capitalize(v.formatDateTime(start)), AfterAt: v.formatInstant(start),
		AllTimes: v.linkTo("move", "token", booked.Token, "date", booking.DateOf(start, v.org.Zone).String()), Keep: v.linkTo("done", "token", booked.Token),
	}
	title := v.texts().MoveAsk
	if slots, isTaken := takenAlternatives(taken); isTaken {
		view.Taken, title = true, v.texts().Taken
		for _, slot := range slots {
			view.Alternatives = append(view.Alternatives, slotOption{Time: capitalize(v.formatDateTime(slot.Start)), At: v.formatInstant(slot.Start)})
		}
	}
	return reply{status: status, template: "move", title: title, summary: v.moveSummary(booked), body: view}
}

// notMovablePage returns the page that explains why a booking cannot be moved, or nil if
// it can.
func (v *visit) notMovablePage(booked publicbooking.Booking, status int) *reply {
	texts, page := v.texts(), v.newBookingView(booked)
	v.describeState(page, booked)
	page.Keep = v.linkTo("done", "token", booked.Token)
	if page.State == stateCancelled || page.State == stateOver {
		return &reply{status: status, template: "cancel", title: page.Title, body: page}
	}
	refusal := v.org.Policy.ClientMayReschedule(booked.StartAt, v.now)
	if refusal == nil {
		return nil
	}
	page.Icon, page.Title, page.Text = "calendar", texts.CannotMove, ""
	page.Notes = append(page.Notes, v.refusalNote(refusal, texts.NoOnlineMove, texts.TooLateMove))
	return &reply{status: status, template: "cancel", title: page.Title, body: page}
}

// reschedule moves the booking and redirects to it.
func (v *visit) reschedule() (reply, error) {
	booked, err := v.loadAppointment()
	if err != nil {
		return reply{}, err
	}
	start, err := parseStart(v.form.Get(fieldStart))
	if err != nil {
		return reply{}, err
	}
	if start.Equal(booked.StartAt) { // sent twice
		return redirect(v.linkTo("done", "token", booked.Token)), nil
	}
	_, err = v.publicBooking.Reschedule(v.ctx, v.org, booked.Token, start)
	if _, taken := takenAlternatives(err); taken {
		return v.confirmMovePage(http.StatusConflict, booked, start, err), nil
	}
	if isRuleRefusal(err) {
		if page := v.notMovablePage(booked, http.StatusConflict); page != nil {
			return *page, nil
		}
	}
	if err != nil {
		return reply{}, err
	}
	return redirect(v.linkTo("done", "token", booked.Token)), nil
}
