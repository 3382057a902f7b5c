package pages

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/publicbooking"
	"integrationhub/scheduling/internal/store"
)

// anyProfessional is the link parameter for any professional.
const anyProfessional = "any"

// choiceCard is a service or professional to choose.
type choiceCard struct {
	Link, Name, Text string
	Color            string // of a service
	Image, Initial   string // of a professional
	Duration, Price  string // "" = not shown
	Deposit          string
}

// serviceSection holds the services of a category, "" for those without.
type serviceSection struct {
	Name  string
	Cards []choiceCard
}

// showServices shows the bookable services.
func (p *pageRequest) showServices() (reply, error) {
	list, err := p.publicBooking.Services(p.ctx, p.org)
	if err != nil {
		return reply{}, err
	}
	if len(list) == 0 {
		return p.emptyPage(p.messages().NoServices, p.messages().NoServicesHint), nil
	}
	var sections []serviceSection
	for _, service := range list {
		name := ""
		if service.Category != nil {
			name = *service.Category
		}
		i := slices.IndexFunc(sections, func(existing serviceSection) bool { return existing.Name == name })
		if i < 0 {
			i, sections = len(sections), append(sections, serviceSection{Name: name})
		}
		sections[i].Cards = append(sections[i].Cards, p.serviceCard(service))
	}
	return reply{template: "services", title: p.messages().ChooseService, step: 1, body: sections}, nil
}

func (p *pageRequest) serviceCard(service store.Service) choiceCard {
	card := choiceCard{
		Link: p.linkTo("professional", "service", service.ID.String()), Name: service.Name, Text: service.Description, Color: service.Color, Duration: formatDuration(service.DurationMinutes),
	}
	card.Image = p.photoURL(service.ImageKey, service.ImageUrl)
	if p.showsPrices() {
		card.Price = p.formatPrice(service.PriceCents)
	}
	if service.RequiresDeposit && service.DepositCents != nil {
		card.Deposit = fmt.Sprintf(p.messages().Deposit, p.lang.formatMoney(*service.DepositCents, p.org.Currency))
	}
	return card
}

// photoURL returns the address of a picture, or "". Addresses elsewhere that are not https
// can only be those stored by former versions; browsers would not show them.
func (p *pageRequest) photoURL(file, externalURL *string) string {
	address := p.publicBooking.PhotoURL(file, externalURL)
	if address == nil || file == nil && !strings.HasPrefix(*address, "https://") {
		return ""
	}
	return *address
}

// emptyPage is the page of a step without choices.
func (p *pageRequest) emptyPage(title, text string) reply {
	return reply{template: "notice", title: title, body: noticeView{Icon: "moon", Title: title, Text: text}}
}

// selection is the service and professional that the address names.
type selection struct {
	service   store.Service
	offers    []store.ServiceOffer // of all professionals who offer it
	offer     *store.ServiceOffer  // of the chosen professional; nil: any
	parameter string               // in links: an id, or any
}

// loadChoice loads the selected service with its offers.
func (p *pageRequest) loadChoice() (chosen selection, err error) {
	service, err := parseID(p.query.Get("service"))
	if err != nil {
		return chosen, err
	}
	if chosen.offers, err = p.publicBooking.Professionals(p.ctx, p.org, service); err != nil || len(chosen.offers) == 0 {
		return chosen, err
	}
	chosen.service = chosen.offers[0].Service
	return chosen, chosen.selectProfessional(p.query.Get("professional"), p.org.Settings.AllowAnyProfessional)
}

// selectProfessional sets the professional: none yet, any, or one of those with an offer.
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
	id, err := parseID(professional)
	if err != nil {
		return err
	}
	for i := range c.offers {
		if c.offers[i].ProfessionalID == id {
			c.offer = &c.offers[i]
			return nil
		}
	}
	return notOfferedError()
}

// toChoice converts the selection for [publicbooking.Service].
func (c *selection) toChoice() publicbooking.Choice {
	choice := publicbooking.Choice{Service: c.service.ID}
	if c.offer != nil {
		choice.Professional = &c.offer.ProfessionalID
	}
	return choice
}

// offerTerms returns duration and price. For any professional it returns the lowest, and
// whether they are the same for all.
func (c *selection) offerTerms(policy booking.Policy) (lowest booking.Offer, uniform bool) {
	if c.offer != nil {
		return store.ResolveOffer(*c.offer, policy), true
	}
	uniform = true
	for i, row := range c.offers {
		offer := store.ResolveOffer(row, policy)
		if i == 0 {
			lowest = offer
			continue
		}
		uniform = uniform && offer.Price == lowest.Price && offer.Duration == lowest.Duration && offer.DepositAmount == lowest.DepositAmount
		lowest.Price, lowest.Duration, lowest.DepositAmount = min(lowest.Price, offer.Price), min(lowest.Duration, offer.Duration), min(lowest.DepositAmount, offer.DepositAmount)
	}
	return lowest, uniform
}

// showProfessionals shows the professionals of the service. It redirects if there is only
// one.
func (p *pageRequest) showProfessionals() (reply, error) {
	chosen, err := p.loadChoice()
	if err != nil {
		return reply{}, err
	}
	if len(chosen.offers) == 0 {
		return p.noProfessionalsPage(), nil
	}
	service := chosen.service.ID.String()
	if len(chosen.offers) == 1 {
		return redirect(p.linkTo("day", "service", service, "professional", chosen.offers[0].ProfessionalID.String())), nil
	}
	var cards []choiceCard
	if p.org.Settings.AllowAnyProfessional {
		cards = append(cards, choiceCard{Link: p.linkTo("day", "service", service, "professional", anyProfessional), Name: p.messages().Anybody, Text: p.messages().AnybodyHint})
	}
	for _, row := range chosen.offers {
		offer := store.ResolveOffer(row, p.org.Policy)
		card := choiceCard{
			Link: p.linkTo("day", "service", service, "professional", row.ProfessionalID.String()),
			Name: row.ProfessionalName, Initial: initialOf(row.ProfessionalName),
		}
		for _, text := range []*string{row.Specialty, row.Bio} {
			if text != nil && *text != "" {
				card.Text = strings.TrimPrefix(card.Text+"\n"+*text, "\n")
			}
		}
		card.Image = p.photoURL(row.AvatarKey, row.AvatarUrl)
		if offer.Price != chosen.service.PriceCents && p.showsPrices() {
			card.Price = p.formatPrice(offer.Price)
		}
		if minutes := int(offer.Duration.Minutes()); minutes != chosen.service.DurationMinutes {
			card.Duration = formatDuration(minutes)
		}
		cards = append(cards, card)
	}
	return reply{template: "professionals", title: p.messages().ChooseProfessional, step: 2, summary: p.newSummary(chosen, time.Time{}), body: cards}, nil
}

// noProfessionalsPage is the page of a service without professionals.
func (p *pageRequest) noProfessionalsPage() reply {
	text := p.messages()
	return reply{template: "notice", title: text.NoProfessionals, body: noticeView{
		Icon: "moon", Title: text.NoProfessionals, Text: text.NoProfessionalsHint, Link: p.linkTo(""), LinkText: text.StartAgain,
	}}
}

// summary is the template data of the choices so far.
type summary struct {
	Service, Color     string
	Professional       string // "" = not chosen yet
	When, At, Zone     string // of the slot; At is for programs. "" = not chosen yet
	Duration, Price    string
	Deposit            string
	ChangeService      string // links; "" = nothing else to choose
	ChangeProfessional string
	ChangeDay          string
}

// newSummary summarizes the choices. A zero start means no time is chosen.
func (p *pageRequest) newSummary(chosen selection, start time.Time) *summary {
	offer, uniform := chosen.offerTerms(p.org.Policy)
	view := &summary{Service: chosen.service.Name, Color: chosen.service.Color, Duration: formatDuration(int(offer.Duration.Minutes())), ChangeService: p.linkTo("")}
	if p.showsPrices() {
		if view.Price = p.formatPrice(offer.Price); !uniform {
			view.Price = fmt.Sprintf(p.messages().From, view.Price)
		}
	}
	if offer.DepositAmount > 0 {
		view.Deposit = p.lang.formatMoney(offer.DepositAmount, p.org.Currency)
	}
	if chosen.parameter != "" {
		if view.Professional = p.messages().Anybody; chosen.offer != nil {
			view.Professional = chosen.offer.ProfessionalName
		}
		if len(chosen.offers) > 1 {
			view.ChangeProfessional = p.linkTo("professional", "service", chosen.service.ID.String())
		}
	}
	if !start.IsZero() {
		view.When, view.At, view.Zone = capitalize(p.formatDateTime(start)), p.formatInstant(start), p.zoneOf(start)
		view.ChangeDay = p.linkTo("time", "service", chosen.service.ID.String(), "professional", chosen.parameter, "date", booking.DateOf(start, p.org.Zone).String())
	}
	return view
}

// requireChoice loads a complete selection. If it is incomplete, fallbackPage is the page to
// show.
func (p *pageRequest) requireChoice() (chosen selection, fallbackPage *reply, err error) {
	if chosen, err = p.loadChoice(); err != nil {
		return chosen, nil, err
	}
	switch {
	case len(chosen.offers) == 0:
		page := p.noProfessionalsPage()
		return chosen, &page, nil
	case chosen.parameter == "":
		page := redirect(p.linkTo("professional", "service", chosen.service.ID.String()))
		return chosen, &page, nil
	}
	return chosen, nil, nil
}

// linksOf returns the links of the calendar of a selection.
func (p *pageRequest) linksOf(chosen selection) calendarLinks {
	link := func(step, name, value string) string {
		return p.linkTo(step, "service", chosen.service.ID.String(), "professional", chosen.parameter, name, value)
	}
	return calendarLinks{
		month: func(month string) string { return link("day", "month", month) },
		day:   func(date booking.Date) string { return link("time", "date", date.String()) },
		start: func(start time.Time) string { return link("details", "start", p.formatInstant(start)) },
	}
}

// showMonth shows a month of days.
func (p *pageRequest) showMonth() (reply, error) {
	chosen, fallbackPage, err := p.requireChoice()
	if err != nil || fallbackPage != nil {
		return replyOrEmpty(fallbackPage), err
	}
	view, err := p.buildMonth(chosen.toChoice(), p.linksOf(chosen))
	if err != nil {
		return reply{}, err
	}
	if len(chosen.offers) > 1 {
		view.Other = p.linkTo("professional", "service", chosen.service.ID.String())
	}
	return reply{template: "day", title: p.messages().ChooseDay, step: 3, summary: p.newSummary(chosen, time.Time{}), body: view}, nil
}

// showDay shows the free slots of a day.
func (p *pageRequest) showDay() (reply, error) {
	chosen, fallbackPage, err := p.requireChoice()
	if err != nil || fallbackPage != nil {
		return replyOrEmpty(fallbackPage), err
	}
	view, err := p.buildDay(chosen.toChoice(), p.linksOf(chosen))
	if err != nil {
		return reply{}, err
	}
	return reply{template: "time", title: p.messages().ChooseTime, step: 4, summary: p.newSummary(chosen, time.Time{}), body: view}, nil
}

// replyOrEmpty returns the page, or an empty reply for nil.
func replyOrEmpty(fallbackPage *reply) reply {
	if fallbackPage == nil {
		return reply{}
	}
	return *fallbackPage
}

// parseStart parses the start of a slot.
func parseStart(value string) (time.Time, error) {
	parsed, err := time.Parse(time.RFC3339, value)
	if err != nil || parsed.Year() < 1970 || parsed.Year() > 9998 || parsed.Nanosecond() != 0 {
		return parsed, notOfferedError()
	}
	return parsed, nil
}

// takenAlternatives returns the proposed slots if err says that a slot is taken.
func takenAlternatives(err error) ([]booking.Slot, bool) {
	var taken *booking.SlotTakenError
	if !errors.As(err, &taken) {
		return nil, false
	}
	return taken.Alternatives, true
}

// errorCode returns the code of a [hub.Error], or "".
func errorCode(err error) string {
	var apiErr *hub.Error
	if errors.As(err, &apiErr) {
		return apiErr.Code
	}
	return ""
}

// selectedProfessional returns the chosen professional's ID, or nil for any.
func selectedProfessional(chosen selection) *uuid.UUID {
	if chosen.offer == nil {
		return nil
	}
	return &chosen.offer.ProfessionalID
}
