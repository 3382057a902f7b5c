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

// anybody is what links say of a professional who was left open.
const anybody = "any"

// card is a service or a professional to choose.
type card struct {
	Link, Name, Text string
	Color            string // of a service
	Image, Initial   string // of a professional
	Duration, Price  string // "" = not shown
	Deposit          string
}

// section is the services of one category; "" for those without.
type section struct {
	Name  string
	Cards []card
}

// services shows what can be booked.
func (v *visit) services() (reply, error) {
	list, err := v.desk.Services(v.ctx, v.org)
	if err != nil {
		return reply{}, err
	}
	if len(list) == 0 {
		return v.empty(v.t().NoServices, v.t().NoServicesHint), nil
	}
	var sections []section
	for _, s := range list {
		name := ""
		if s.Category != nil {
			name = *s.Category
		}
		i := slices.IndexFunc(sections, func(one section) bool { return one.Name == name })
		if i < 0 {
			i, sections = len(sections), append(sections, section{Name: name})
		}
		sections[i].Cards = append(sections[i].Cards, v.serviceCard(s))
	}
	return reply{template: "services", title: v.t().ChooseService, step: 1, body: sections}, nil
}

func (v *visit) serviceCard(s dbgen.Service) card {
	c := card{
		Link: v.link("professional", "service", s.ID.String()), Name: s.Name, Text: s.Description, Color: s.Color, Duration: duration(s.DurationMinutes),
	}
	if s.ImageUrl != nil {
		c.Image = picture(*s.ImageUrl)
	}
	if v.showsPrices() {
		c.Price = v.price(s.PriceCents)
	}
	if s.RequiresDeposit && s.DepositCents != nil {
		c.Deposit = fmt.Sprintf(v.t().Deposit, v.lang.money(*s.DepositCents, v.org.Currency))
	}
	return c
}

// picture is an address that may be shown as a picture; "" for any other.
func picture(address string) string {
	if u, err := url.Parse(address); err != nil || u.Scheme != "https" {
		return ""
	}
	return address
}

// empty is a page of the booking where there is nothing to choose.
func (v *visit) empty(title, text string) reply {
	return reply{template: "notice", title: title, body: notice{Icon: "moon", Title: title, Text: text}}
}

// chosen is what the address of a step names: a service, and who gives it.
type chosen struct {
	service   dbgen.Service
	offers    []dbgen.OffersRow // by all who give it
	offer     *dbgen.OffersRow  // by the one who was chosen; nil: by anybody
	parameter string            // of links: an id, or anybody
}

// choice reads the service, which every step after the first needs.
func (v *visit) choice() (c chosen, err error) {
	service, err := id(v.query.Get("service"))
	if err != nil {
		return c, err
	}
	if c.offers, err = v.desk.Professionals(v.ctx, v.org, service); err != nil || len(c.offers) == 0 {
		return c, err
	}
	c.service = c.offers[0].Service
	return c, c.choose(v.query.Get("professional"), v.org.Settings.AllowAnyProfessional)
}

// choose notes who was chosen: nobody yet, anybody, or one of those who give the service.
func (c *chosen) choose(professional string, anyAllowed bool) error {
	if c.parameter = professional; professional == "" {
		return nil
	}
	if professional == anybody {
		if !anyAllowed {
			return gone()
		}
		return nil
	}
	chosen, err := id(professional)
	if err != nil {
		return err
	}
	for i := range c.offers {
		if c.offers[i].ProfessionalID == chosen {
			c.offer = &c.offers[i]
			return nil
		}
	}
	return gone()
}

// wanted is the choice as the desk has it.
func (c *chosen) wanted() publicbooking.Choice {
	wanted := publicbooking.Choice{Service: c.service.ID}
	if c.offer != nil {
		wanted.Professional = &c.offer.ProfessionalID
	}
	return wanted
}

// terms are how long it takes and what it costs; with anybody the shortest and least,
// and sure is whether that is the same with all.
func (c *chosen) terms(p booking.Policy) (o booking.Offer, sure bool) {
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

// professionals shows who gives the service. Where there is no choice it goes on.
func (v *visit) professionals() (reply, error) {
	c, err := v.choice()
	if err != nil {
		return reply{}, err
	}
	if len(c.offers) == 0 {
		return v.nobody(), nil
	}
	service := c.service.ID.String()
	if len(c.offers) == 1 {
		return redirect(v.link("day", "service", service, "professional", c.offers[0].ProfessionalID.String())), nil
	}
	var cards []card
	if v.org.Settings.AllowAnyProfessional {
		cards = append(cards, card{Link: v.link("day", "service", service, "professional", anybody), Name: v.t().Anybody, Text: v.t().AnybodyHint})
	}
	for _, row := range c.offers {
		offer := store.ResolveOffer(row, v.org.Policy)
		one := card{
			Link: v.link("day", "service", service, "professional", row.ProfessionalID.String()),
			Name: row.ProfessionalName, Initial: initial(row.ProfessionalName),
		}
		for _, text := range []*string{row.Specialty, row.Bio} {
			if text != nil && *text != "" {
				one.Text = strings.TrimPrefix(one.Text+"\n"+*text, "\n")
			}
		}
		if row.AvatarUrl != nil {
			one.Image = picture(*row.AvatarUrl)
		}
		if offer.Price != c.service.PriceCents && v.showsPrices() {
			one.Price = v.price(offer.Price)
		}
		if minutes := int(offer.Duration.Minutes()); minutes != c.service.DurationMinutes {
			one.Duration = duration(minutes)
		}
		cards = append(cards, one)
	}
	return reply{template: "professionals", title: v.t().ChooseProfessional, step: 2, summary: v.summary(c, time.Time{}), body: cards}, nil
}

// nobody is the page of a service that nobody gives.
func (v *visit) nobody() reply {
	t := v.t()
	return reply{template: "notice", title: t.NoProfessionals, body: notice{
		Icon: "moon", Title: t.NoProfessionals, Text: t.NoProfessionalsHint, Link: v.link(""), LinkText: t.StartAgain,
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

// summary tells what has been chosen; start is zero where no time is yet.
func (v *visit) summary(c chosen, start time.Time) *summary {
	offer, sure := c.terms(v.org.Policy)
	s := &summary{Service: c.service.Name, Color: c.service.Color, Duration: duration(int(offer.Duration.Minutes())), ChangeService: v.link("")}
	if v.showsPrices() {
		if s.Price = v.price(offer.Price); !sure {
			s.Price = fmt.Sprintf(v.t().From, s.Price)
		}
	}
	if offer.DepositAmount > 0 {
		s.Deposit = v.lang.money(offer.DepositAmount, v.org.Currency)
	}
	if c.parameter != "" {
		if s.Professional = v.t().Anybody; c.offer != nil {
			s.Professional = c.offer.ProfessionalName
		}
		if len(c.offers) > 1 {
			s.ChangeProfesional = v.link("professional", "service", c.service.ID.String())
		}
	}
	if !start.IsZero() {
		s.When, s.At, s.Zone = sentence(v.moment(start)), v.stamp(start), place(start.In(v.org.Zone))
		s.ChangeDay = v.link("time", "service", c.service.ID.String(), "professional", c.parameter, "date", booking.DateOf(start, v.org.Zone).String())
	}
	return s
}

// ready reads the choice of a step after the professional; instead is where to go
// where it is not complete.
func (v *visit) ready() (c chosen, instead *reply, err error) {
	if c, err = v.choice(); err != nil {
		return c, nil, err
	}
	switch {
	case len(c.offers) == 0:
		page := v.nobody()
		return c, &page, nil
	case c.parameter == "":
		page := redirect(v.link("professional", "service", c.service.ID.String()))
		return c, &page, nil
	}
	return c, nil, nil
}

// day shows a month of days.
func (v *visit) day() (reply, error) {
	c, instead, err := v.ready()
	if err != nil || instead != nil {
		return or(instead), err
	}
	service := c.service.ID.String()
	month, err := v.month(c.wanted(), planner{
		month: func(m string) string {
			return v.link("day", "service", service, "professional", c.parameter, "month", m)
		},
		day: func(d booking.Date) string {
			return v.link("time", "service", service, "professional", c.parameter, "date", d.String())
		},
	})
	if err != nil {
		return reply{}, err
	}
	if len(c.offers) > 1 {
		month.Other = v.link("professional", "service", service)
	}
	return reply{template: "day", title: v.t().ChooseDay, step: 3, summary: v.summary(c, time.Time{}), body: month}, nil
}

// times shows the free slots of a day.
func (v *visit) times() (reply, error) {
	c, instead, err := v.ready()
	if err != nil || instead != nil {
		return or(instead), err
	}
	service := c.service.ID.String()
	list, err := v.timesOf(c.wanted(), planner{
		month: func(m string) string {
			return v.link("day", "service", service, "professional", c.parameter, "month", m)
		},
		day: func(d booking.Date) string {
			return v.link("time", "service", service, "professional", c.parameter, "date", d.String())
		},
		start: func(t time.Time) string {
			return v.link("details", "service", service, "professional", c.parameter, "start", v.stamp(t))
		},
	})
	if err != nil {
		return reply{}, err
	}
	return reply{template: "time", title: v.t().ChooseTime, step: 4, summary: v.summary(c, time.Time{}), body: list}, nil
}

// or is the page instead; none where there is an error.
func or(instead *reply) reply {
	if instead == nil {
		return reply{}
	}
	return *instead
}

// start reads a slot of the address or a form.
func start(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || t.Year() < 1970 || t.Year() > 9998 || t.Nanosecond() != 0 {
		return t, gone()
	}
	return t, nil
}

// slotTaken gives the times that are proposed for one that is taken.
func slotTaken(err error) ([]booking.Slot, bool) {
	var taken *booking.SlotTakenError
	if !errors.As(err, &taken) {
		return nil, false
	}
	return taken.Alternatives, true
}

// codeOf is the code of an error for callers; "" for any other.
func codeOf(err error) string {
	var told *hub.Error
	if errors.As(err, &told) {
		return told.Code
	}
	return ""
}

// professionalID is who a form or link asks for; nil: anybody.
func professionalID(c chosen) *uuid.UUID {
	if c.offer == nil {
		return nil
	}
	return &c.offer.ProfessionalID
}
