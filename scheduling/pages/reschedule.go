package pages

import (
	"net/http"
	"time"

	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/publicbooking"
)

// rescheduleView is the template data of the confirmation of a move.
type rescheduleView struct {
	Action, Token, Start  string
	Before, After         string
	BeforeAt, AfterAt     string
	BeforeZone, AfterZone string
	ZoneName              string
	Taken                 bool
	Alternatives          []slotOption
	AllTimes, Keep        string
}

// showReschedule leads to another time for a booking: a month, a day, then the confirmation.
func (p *pageRequest) showReschedule() (reply, error) {
	booked, err := p.loadAppointment()
	if err != nil {
		return reply{}, err
	}
	if page := p.cannotReschedulePage(booked, http.StatusOK); page != nil {
		return *page, nil
	}
	text, links := p.messages(), calendarLinks{
		month: func(month string) string { return p.linkTo("move", "token", booked.Token, "month", month) },
		day:   func(date booking.Date) string { return p.linkTo("move", "token", booked.Token, "date", date.String()) },
		start: func(start time.Time) string {
			return p.linkTo("move", "token", booked.Token, fieldStart, p.formatInstant(start))
		},
	}
	choice, bookingSummary := publicbooking.RescheduleChoice(booked.AppointmentDetail), p.rescheduleSummary(booked)
	switch {
	case p.query.Get(fieldStart) != "":
		start, err := parseStart(p.query.Get(fieldStart))
		if err != nil {
			return reply{}, err
		}
		return p.confirmReschedulePage(http.StatusOK, booked, start, nil), nil
	case p.query.Get("date") != "":
		list, err := p.buildDay(choice, links)
		if errorCode(err) == codeProfessionalUnavailable {
			return *p.rescheduleRefusedPage(booked, http.StatusOK, err), nil
		}
		return reply{template: "time", title: text.ChooseTime, summary: bookingSummary, body: list}, err
	}
	month, err := p.buildMonth(choice, links)
	if errorCode(err) == codeProfessionalUnavailable {
		return *p.rescheduleRefusedPage(booked, http.StatusOK, err), nil
	}
	return reply{template: "day", title: text.MoveTitle, summary: bookingSummary, body: month}, err
}

// rescheduleSummary returns the summary of a booking that moves.
func (p *pageRequest) rescheduleSummary(booked publicbooking.Booking) *summary {
	return &summary{
		Service: booked.ServiceName, Color: booked.ServiceColor, Professional: booked.ProfessionalName, When: capitalize(p.formatDateTime(booked.StartAt)), At: p.formatInstant(booked.StartAt),
		Zone: p.zoneOf(booked.StartAt), Duration: formatDuration(int(booked.EndAt.Sub(booked.StartAt).Minutes())),
	}
}

func (p *pageRequest) confirmReschedulePage(status int, booked publicbooking.Booking, start time.Time, taken error) reply {
	view := rescheduleView{
		Action: p.linkTo("move", "token", booked.Token), Token: booked.Token, Start: p.formatInstant(start), ZoneName: p.org.Timezone,
		Before: capitalize(p.formatDateTime(booked.StartAt)), BeforeAt: p.formatInstant(booked.StartAt), After: capitalize(p.formatDateTime(start)), AfterAt: p.formatInstant(start),
		BeforeZone: p.zoneOf(booked.StartAt), AfterZone: p.zoneOf(start),
		AllTimes: p.linkTo("move", "token", booked.Token, "date", booking.DateOf(start, p.org.Zone).String()), Keep: p.linkTo("done", "token", booked.Token),
	}
	title := p.messages().MoveAsk
	if slots, isTaken := takenAlternatives(taken); isTaken {
		view.Taken, title = true, p.messages().Taken
		for _, slot := range slots {
			view.Alternatives = append(view.Alternatives, p.newSlotOption(slot.Start, ""))
		}
	}
	return reply{status: status, template: "reschedule", title: title, summary: p.rescheduleSummary(booked), body: view}
}

// cannotReschedulePage returns the page that explains why a booking cannot be moved, or nil if
// it can.
func (p *pageRequest) cannotReschedulePage(booked publicbooking.Booking, status int) *reply {
	return p.rescheduleRefusedPage(booked, status, p.org.Policy.ClientMayReschedule(booked.StartAt, p.now))
}

// codeProfessionalUnavailable is the code of the error for a booking whose professional was
// removed or takes no bookings online any more.
const codeProfessionalUnavailable = "professional_unavailable"

// rescheduleRefusedPage is [pageRequest.cannotReschedulePage] with the refusal; nil: there is none.
func (p *pageRequest) rescheduleRefusedPage(booked publicbooking.Booking, status int, refusal error) *reply {
	text, page := p.messages(), p.newBookingView(booked)
	p.describeState(page, booked)
	page.Keep = p.linkTo("done", "token", booked.Token)
	if page.State == stateCancelled || page.State == stateOver {
		return &reply{status: status, template: "cancel", title: page.Title, body: page, showsContact: true}
	}
	if refusal == nil {
		return nil
	}
	page.Icon, page.Title, page.Text = "calendar", text.CannotMove, ""
	page.Notes = append(page.Notes, p.refusalNote(refusal, text.NoOnlineMove, text.TooLateMove))
	return &reply{status: status, template: "cancel", title: page.Title, body: page, showsContact: true}
}

// reschedule moves the booking and redirects to it.
func (p *pageRequest) reschedule() (reply, error) {
	booked, err := p.loadAppointment()
	if err != nil {
		return reply{}, err
	}
	start, err := parseStart(p.form.Get(fieldStart))
	if err != nil {
		return reply{}, err
	}
	if start.Equal(booked.StartAt) { // sent twice
		return redirect(p.linkTo("done", "token", booked.Token)), nil
	}
	_, err = p.publicBooking.Reschedule(p.ctx, p.org, booked.Token, start)
	if _, taken := takenAlternatives(err); taken {
		return p.confirmReschedulePage(http.StatusConflict, booked, start, err), nil
	}
	if errorCode(err) == codeProfessionalUnavailable {
		return *p.rescheduleRefusedPage(booked, http.StatusConflict, err), nil
	}
	if isRuleRefusal(err) {
		if page := p.cannotReschedulePage(booked, http.StatusConflict); page != nil {
			return *page, nil
		}
	}
	if err != nil {
		return reply{}, err
	}
	return redirect(p.linkTo("done", "token", booked.Token)), nil
}
