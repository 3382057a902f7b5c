package pages

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/publicbooking"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

// anyProfessional is what links say of a professional who was left open.
const anyProfessional = "any"

// choiceCard is a service or a professional to choose.
type choiceCard struct {
	Link, Name, Text string
	Color            string // of a service
	Image, Initial   string // of a professional
	Duration, Price  string // "" = not shown
	Deposit          string
}

// serviceSection is the services of one category; "" for those without.
type serviceSection struct {
	Name  string
	Cards []choiceCard
}

// showServices shows what can be booked.
func (v *visit) showServices() (reply, error) {
	list, err := v.publicBooking.Services(v.ctx, v.org)
	if err != nil {
		return reply{}, err
	}
	if len(list) == 0 {
		return v.emptyPage(v.texts().NoServices, v.texts().NoServicesHint), nil
	}
	var sections []serviceSection
	for _, s := range list {
		name := ""
		if s.Category != nil {
			name = *s.Category
		}
		i := slices.IndexFunc(sections, func(one serviceSection) bool { return one.Name == name })
		if i < 0 {
			i, sections = len(sections), append(sections, serviceSection{Name: name})
		}
		sections[i].Cards = append(sections[i].Cards, v.serviceCard(s))
	}
	return reply{template: "services", title: v.texts().ChooseService, step: 1, body: sections}, nil
}

func (v *visit) serviceCard(s dbgen.Service) choiceCard {
	c := choiceCard{
		Link: v.linkTo("professional", "service", s.ID.String()), Name: s.Name, Text: s.Description, Color: s.Color, Duration: formatDuration(s.DurationMinutes),
	}
	if s.ImageUrl != nil {
		c.Image = safeImageURL(*s.ImageUrl)
	}
	if v.showsPrices() {
		c.Price = v.formatPrice(s.PriceCents)
	}
	if s.RequiresDeposit && s.DepositCents != nil {
		c.Deposit = fmt.Sprintf(v.texts().Deposit, v.lang.formatMoney(*s.DepositCents, v.org.Currency))
	}
	return c
}

// safeImageURL is an address that may be shown as a picture; "" for any other.
func safeImageURL(address string) string {
	if u, err := url.Parse(address); err != nil || u.Scheme != "https" {
		return ""
	}
	return address
}

// emptyPage is a page of the booking where there is nothing to choose.
func (v *visit) emptyPage(title, text string) reply {
	return reply{template: "notice", title: title, body: noticeView{Icon: "moon", Title: title, Text: text}}
}

// selection is what the address of a step names: a service, and who gives it.
type selection struct {
	service   dbgen.Service
	offers    []dbgen.OffersRow // by all who give it
	offer     *dbgen.OffersRow  // by the one who was chosen; nil: by anybody
	parameter string            // of links: an id, or anybody
}

// loadChoice reads the service, which every step after the first needs.
func (v *visit) loadChoice() (c selection, err error) {
	service, err := parseID(v.query.Get("service"))
	if err != nil {
		return c, err
	}
	if c.offers, err = v.publicBooking.Professionals(v.ctx, v.org, service); err != nil || len(c.offers) == 0 {
		return c, err
	}
	c.service = c.offers[0].Service
	return c, c.selectProfessional(v.query.Get("professional"), v.org.Settings.AllowAnyProfessional)
}

// selectProfessional notes who was chosen: nobody yet, anybody, or one of those who give the service.
func (c *selection) selectProfessional(professional string, anyAllowed bool) error {
	if c.parameter = professional; professional == "" {
		return nil
	}
	if professional == anyProfessional {
		if !anyAllowed {
			return notOfferedError()
		}
		return nil
	}
	chosen, err := parseID(professional)
	if err != nil {
		return err
	}
	for i := range c.offers {
		if c.offers[i].ProfessionalID == chosen {
			c.offer = &c.offers[i]
			return nil
		}
	}
	return notOfferedError()
}

// toChoice is the choice as the desk has it.
func (c *selection) toChoice() publicbooking.Choice {
	wanted := publicbooking.Choice{Service: c.service.ID}
	if c.offer != nil {
		wanted.Professional = &c.offer.ProfessionalID
	}
	return wanted
}

// offerTerms are how long it takes and what it costs; with anybody the shortest and least,
// and sure is whether that is the same with all.
func (c *selection) offerTerms(p booking.Policy) (o booking.Offer, sure bool) {
	if c.offer != nil {
		return store.ResolveOffer(*c.offer, p), true
	}
	sure = true
	for i, row := range c.offers {
		one := store.ResolveOffer(row, p)
		if i == 0 {
			o = one
			continue
		}
		sure = sure && one.Price == o.Price && one.Duration == o.Duration && one.DepositAmount == o.DepositAmount
		o.Price, o.Duration, o.DepositAmount = min(o.Price, one.Price), min(o.Duration, one.Duration), min(o.DepositAmount, one.DepositAmount)
	}
	return o, sure
}

// showProfessionals shows who gives the service. Where there is no choice it goes on.
func (v *visit) showProfessionals() (reply, error) {
	c, err := v.loadChoice()
	if err != nil {
		return reply{}, err
	}
	if len(c.offers) == 0 {
		return v.noProfessionalsPage(), nil
	}
	service := c.service.ID.String()
	if len(c.offers) == 1 {
		return redirect(v.linkTo("day", "service", service, "professional", c.offers[0].ProfessionalID.String())), nil
	}
	var cards []choiceCard
	if v.org.Settings.AllowAnyProfessional {
		cards = append(cards, choiceCard{Link: v.linkTo("day", "service", service, "professional", anyProfessional), Name: v.texts().Anybody, Text: v.texts().AnybodyHint})
	}
	for _, row := range c.offers {
		offer := store.ResolveOffer(row, v.org.Policy)
		one := choiceCard{
			Link: v.linkTo("day", "service", service, "professional", row.ProfessionalID.String()),
			Name: row.ProfessionalName, Initial: initialOf(row.ProfessionalName),
		}
		for _, text := range []*string{row.Specialty, row.Bio} {
			if text != nil && *text != "" {
				one.Text = strings.TrimPrefix(one.Text+"\n"+*text, "\n")
			}
		}
		if row.AvatarUrl != nil {
			one.Image = safeImageURL(*row.AvatarUrl)
		}
		if offer.Price != c.service.PriceCents && v.showsPrices() {
			one.Price = v.formatPrice(offer.Price)
		}
		if minutes := int(offer.Duration.Minutes()); minutes != c.service.DurationMinutes {
			one.Duration = formatDuration(minutes)
		}
		cards = append(cards, one)
	}
	return reply{template: "professionals", title: v.texts().ChooseProfessional, step: 2, summary: v.newSummary(c, time.Time{}), body: cards}, nil
}

// noProfessionalsPage is the page of a service that nobody gives.
func (v *visit) noProfessionalsPage() reply {
	t := v.texts()
	return reply{template: "notice", title: t.NoProfessionals, body: noticeView{
		Icon: "moon", Title: t.NoProfessionals, Text: t.NoProfessionalsHint, Link: v.linkTo(""), LinkText: t.StartAgain,
	}}
}

// summary is what has been chosen so far.
type summary struct {
	Service, Color    string
	Professional      string // "" = not chosen yet
	When, At, Zone    string // of the slot; At is for programs. "" = not chosen yet
	Duration, Price   string
	Deposit           string
	ChangeService     string // links; "" = nothing else to choose
	ChangeProfesional string
	ChangeDay         string
}

// newSummary tells what has been chosen; start is zero where no time is yet.
func (v *visit) newSummary(c selection, start time.Time) *summary {
	offer, sure := c.offerTerms(v.org.Policy)
	s := &summary{Service: c.service.Name, Color: c.service.Color, Duration: formatDuration(int(offer.Duration.Minutes())), ChangeService: v.linkTo("")}
	if v.showsPrices() {
		if s.Price = v.formatPrice(offer.Price); !sure {
			s.Price = fmt.Sprintf(v.texts().From, s.Price)
		}
	}
	if offer.DepositAmount > 0 {
		s.Deposit = v.lang.formatMoney(offer.DepositAmount, v.org.Currency)
	}
	if c.parameter != "" {
		if s.Professional = v.texts().Anybody; c.offer != nil {
			s.Professional = c.offer.ProfessionalName
		}
		if len(c.offers) > 1 {
			s.ChangeProfesional = v.linkTo("professional", "service", c.service.ID.String())
		}
	}
	if !start.IsZero() {
		s.When, s.At, s.Zone = capitalize(v.formatDateTime(start)), v.formatInstant(start), zoneName(start.In(v.org.Zone))
		s.ChangeDay = v.linkTo("time", "service", c.service.ID.String(), "professional", c.parameter, "date", booking.DateOf(start, v.org.Zone).String())
	}
	return s
}

// requireChoice reads the choice of a step after the professional; instead is where to go
// where it is not complete.
func (v *visit) requireChoice() (c selection, instead *reply, err error) {
	if c, err = v.loadChoice(); err != nil {
		return c, nil, err
	}
	switch {
	case len(c.offers) == 0:
		page := v.noProfessionalsPage()
		return c, &page, nil
	case c.parameter == "":
		page := redirect(v.linkTo("professional", "service", c.service.ID.String()))
		return c, &page, nil
	}
	return c, nil, nil
}

// showMonth shows a month of days.
func (v *visit) showMonth() (reply, error) {
	c, instead, err := v.requireChoice()
	if err != nil || instead != nil {
		return replyOrEmpty(instead), err
	}
	service := c.service.ID.String()
	month, err := v.buildMonth(c.toChoice(), calendarLinks{
		month: func(m string) string {
			return v.linkTo("day", "service", service, "professional", c.parameter, "month", m)
		},
		day: func(d booking.Date) string {
			return v.linkTo("time", "service", service, "professional", c.parameter, "date", d.String())
		},
	})
	if err != nil {
		return reply{}, err
	}
	if len(c.offers) > 1 {
		month.Other = v.linkTo("professional", "service", service)
	}
	return reply{template: "day", title: v.texts().ChooseDay, step: 3, summary: v.newSummary(c, time.Time{}), body: month}, nil
}

// showDay shows the free slots of a day.
func (v *visit) showDay() (reply, error) {
	c, instead, err := v.requireChoice()
	if err != nil || instead != nil {
		return replyOrEmpty(instead), err
	}
	service := c.service.ID.String()
	list, err := v.buildDay(c.toChoice(), calendarLinks{
		month: func(m string) string {
			return v.linkTo("day", "service", service, "professional", c.parameter, "month", m)
		},
		day: func(d booking.Date) string {
			return v.linkTo("time", "service", service, "professional", c.parameter, "date", d.String())
		},
		start: func(t time.Time) string {
			return v.linkTo("details", "service", service, "professional", c.parameter, "start", v.formatInstant(t))
		},
	})
	if err != nil {
		return reply{}, err
	}
	return reply{template: "time", title: v.texts().ChooseTime, step: 4, summary: v.newSummary(c, time.Time{}), body: list}, nil
}

// replyOrEmpty is the page instead; none where there is an error.
func replyOrEmpty(instead *reply) reply {
	if instead == nil {
		return reply{}
	}
	return *instead
}

// parseStart reads a slot of the address or a form.
func parseStart(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || t.Year() < 1970 || t.Year() > 9998 || t.Nanosecond() != 0 {
		return t, notOfferedError()
	}
	return t, nil
}

// takenAlternatives gives the times that are proposed for one that is taken.
func takenAlternatives(err error) ([]booking.Slot, bool) {
	var taken *booking.SlotTakenError
	if !errors.As(err, &taken) {
		return nil, false
	}
	return taken.Alternatives, true
}

// errorCode is the code of an error for callers; "" for any other.
func errorCode(err error) string {
	var told *hub.Error
	if errors.As(err, &told) {
		return told.Code
	}
	return ""
}

// selectedProfessional is who a form or link asks for; nil: anybody.
func selectedProfessional(c selection) *uuid.UUID {
	if c.offer == nil {
		return nil
	}
	return &c.offer.ProfessionalID
}
