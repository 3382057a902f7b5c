package autoreply

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"integrationhub/messaging/internal/appointments"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store"
)

const (
	offeredTimes    = 6 // of one menu
	offeredServices = 20
)

// continueBooking does the step of a booking that waits, and those that follow without the
// contact.
func (r *callRun) continueBooking(ctx context.Context) error {
	s := r.service
	ticket, err := s.store.Ticket(ctx, r.scope.Company, *r.call.TicketID)
	if err != nil {
		return err
	}
	contact, err := s.store.Contact(ctx, r.scope.Company, ticket.ContactID)
	if err != nil {
		return err
	}
	booking, err := store.LoadBookingChat(ctx, s.store.Queries, r.scope.Company, ticket.ID)
	if err != nil {
		return err
	}
	stored := booking
	var text, note string
	if isWithBot(ticket) {
		text, err = r.doSteps(ctx, &booking, contact)
	} else {
		booking.Step = ""
	}
	if err != nil {
		if postponed, err := r.postpone(ctx, err); postponed || err != nil {
			return err
		}
		text = chat.TextsOf(booking.State.Locale).PeopleHelp
		if booking.Step == store.BookingBook && appointments.IsTemporary(err) {
			note = fmt.Sprintf("The scheduling product did not respond: %s, %s may have been booked. Look before booking again.", booking.State.Service, booking.State.Chosen.Title)
		}
		booking.Step = ""
	}
	find := func(tx *store.Tx, _ store.Contact) (store.Ticket, error) {
		return tx.LockTicket(ctx, r.scope.Company, ticket.ID)
	}
	return r.settle(ctx, contact.ID, find, func(c *responder) error {
		current, err := store.LoadBookingChat(ctx, c.tx.Queries, r.scope.Company, ticket.ID)
		if err != nil || !current.StartedAt.Equal(stored.StartedAt) || current.Step != stored.Step {
			return err
		}
		switch {
		case note != "":
			if err := c.writeNote(ctx, note); err != nil {
				return err
			}
			fallthrough
		case booking.Step == "":
			if !isWithBot(c.Ticket) && stored.Step != store.BookingBook {
				text = "" // a user has accepted the ticket
			}
			return c.endBooking(ctx, text)
		case !isWithBot(c.Ticket):
			return c.endBooking(ctx, "")
		}
		return c.sendBookingMenu(ctx, booking)
	})
}

// isWithBot reports whether automatic messages talk with the contact.
func isWithBot(t store.Ticket) bool {
	return t.Chatbot && t.Status == chat.TicketPending && t.UserID == nil
}

// doSteps does steps until the contact has to choose, or the booking ends: then its step is ""
// and text is the last message.
func (r *callRun) doSteps(ctx context.Context, booking *store.BookingChat, contact store.Contact) (text string, err error) {
	for {
		switch booking.Step {
		case store.BookingLoadServices:
			text, err = r.loadServices(ctx, booking)
		case store.BookingLoadTimes:
			text, err = r.loadTimes(ctx, booking)
		case store.BookingBook:
			text, err = r.book(ctx, booking, contact)
		default:
			return text, nil
		}
		if err != nil {
			return "", err
		}
	}
}

// loadServices offers the services, or goes on with the only one or the one of the menu.
func (r *callRun) loadServices(ctx context.Context, booking *store.BookingChat) (text string, err error) {
	state := &booking.State
	if state.Integration, err = r.service.appointments.Find(ctx, r.scope.Tenant); err != nil {
		return "", err
	}
	catalogue, err := r.service.appointments.Services(ctx, state.Integration)
	if err != nil {
		return "", err
	}
	state.Locale = catalogue.Locale
	offered := catalogue.Services
	if state.WantedService != "" {
		offered = nil
		for _, service := range catalogue.Services {
			if service.ID == state.WantedService || strings.EqualFold(service.Name, state.WantedService) {
				offered = append(offered, service)
			}
		}
	}
	state.Offers, state.More = nil, false
	for _, service := range offered[:min(len(offered), offeredServices)] {
		state.Offers = append(state.Offers, store.BookingOffer{Title: service.Name, ServiceID: service.ID})
	}
	switch len(state.Offers) {
	case 0:
		booking.Step = ""
		return chat.TextsOf(state.Locale).NoTimes, nil
	case 1:
		state.ServiceID, state.Service = state.Offers[0].ServiceID, state.Offers[0].Title
		booking.Step = store.BookingLoadTimes
	default:
		booking.Step = store.BookingChooseService
	}
	return "", nil
}

// loadTimes offers the next free times.
func (r *callRun) loadTimes(ctx context.Context, booking *store.BookingChat) (text string, err error) {
	state := &booking.State
	found, err := r.service.appointments.FreeTimes(ctx, state.Integration, appointments.FreeTimeQuery{ServiceID: state.ServiceID, After: state.After, Limit: offeredTimes + 1})
	if err != nil {
		return "", err
	}
	texts := chat.TextsOf(state.Locale)
	if len(found.Times) == 0 {
		booking.Step = ""
		return strings.TrimSpace(state.Notice + " " + texts.NoTimes), nil
	}
	state.Offers, state.More = nil, len(found.Times) > offeredTimes
	for _, free := range found.Times[:min(len(found.Times), offeredTimes)] {
		state.Offers = append(state.Offers, store.BookingOffer{Title: texts.FormatOffer(free.StartAt, free.Professional), StartAt: free.StartAt, ProfessionalID: free.ProfessionalID})
	}
	booking.Step = store.BookingChooseTime
	return "", nil
}

// book books the chosen time. Where others were faster, the contact gets other times.
func (r *callRun) book(ctx context.Context, booking *store.BookingChat, contact store.Contact) (text string, err error) {
	state := &booking.State
	request := appointments.Booking{
		Phone: chat.FormatE164(contact.Number), ServiceID: state.ServiceID, ProfessionalID: state.Chosen.ProfessionalID, StartAt: state.Chosen.StartAt, SourceID: state.SourceID,
	}
	if contact.Name != contact.Number {
		request.Name = contact.Name
	}
	booked, err := r.service.appointments.Book(ctx, state.Integration, request)
	if errors.Is(err, appointments.ErrTimeTaken) {
		state.Notice, state.Chosen, state.After, booking.Step = chat.TextsOf(state.Locale).TimeTaken, nil, r.service.host.Now(), store.BookingLoadTimes
		return "", nil
	}
	if err != nil {
		return "", err
	}
	booking.Step = ""
	return FormatBooking(state.Locale, booked), nil
}

// FormatBooking returns the message that confirms a booking to the contact.
func FormatBooking(locale string, b appointments.Booked) string {
	confirmed := chat.Booking{Service: b.Service, Professional: b.Professional, StartAt: b.StartAt, ManageURL: b.CancelURL}
	if b.Deposit != nil {
		confirmed.Deposit, confirmed.DepositUntil = "R$ "+strings.Replace(strconv.FormatFloat(b.Deposit.Amount, 'f', 2, 64), ".", ",", 1), b.Deposit.ExpiresAt
		if b.Deposit.PixCopyPaste != nil {
			confirmed.PixCode = *b.Deposit.PixCopyPaste
		}
	}
	return chat.TextsOf(locale).FormatBooking(confirmed)
}
