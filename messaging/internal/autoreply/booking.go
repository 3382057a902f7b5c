package autoreply

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store"
)

// startBooking begins a booking that a contact has chosen in a queue's menu. The job offers
// services and times.
func (c *responder) startBooking(ctx context.Context, option chat.MenuOption) error {
	booking := store.BookingChat{Ticket: c.Ticket.ID, Step: store.BookingLoadServices, State: store.BookingState{WantedService: option.Service}}
	c.Ticket.Chatbot, c.Ticket.MenuOption, c.Ticket.WrongAnswers = true, &option.ID, 0
	if err := c.tx.SaveTicketMenu(ctx, c.Ticket); err != nil {
		return fmt.Errorf("storing a menu: %w", err)
	}
	if err := c.advanceBooking(ctx, booking); err != nil {
		return err
	}
	return c.write(ctx, option.Message)
}

// advanceBooking stores a step that the job has to do.
func (c *responder) advanceBooking(ctx context.Context, booking store.BookingChat) error {
	err := c.tx.StoreBookingChat(ctx, c.Company.ID, booking)
	if err == nil {
		err = c.tx.EnqueueBookingCall(ctx, c.Company.ID, booking.Ticket, c.tx.Now())
	}
	if err != nil {
		return fmt.Errorf("storing a booking's step: %w", err)
	}
	return nil
}

// handleBookingAnswer applies the answer to a menu of services or times. Messages that arrive while
// the job works on the last answer are left to users.
func (c *responder) handleBookingAnswer(ctx context.Context) (handled bool, err error) {
	booking, err := store.LoadBookingChat(ctx, c.tx.Queries, c.Company.ID, c.Ticket.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return true, fmt.Errorf("loading a booking: %w", err)
	}
	if booking.Step != store.BookingChooseService && booking.Step != store.BookingChooseTime {
		return true, nil
	}
	state := &booking.State
	chosen, ok := chat.ChooseOption(bookingMenu(*state), c.Body)
	switch {
	case !ok:
		return true, c.refuseBookingAnswer(ctx, booking)
	case booking.Step == store.BookingChooseService:
		offer := state.Offers[chosen.ID]
		state.ServiceID, state.Service = offer.ServiceID, offer.Title
		booking.Step = store.BookingLoadTimes
	case chosen.ID == len(state.Offers):
		state.After, booking.Step = state.Offers[len(state.Offers)-1].StartAt, store.BookingLoadTimes
	default:
		offer := state.Offers[chosen.ID]
		state.Chosen, state.SourceID, booking.Step = &offer, uuid.NewString(), store.BookingBook
	}
	c.Ticket.WrongAnswers = 0
	if err := c.tx.SaveTicketMenu(ctx, c.Ticket); err != nil {
		return true, fmt.Errorf("storing a menu: %w", err)
	}
	return true, c.advanceBooking(ctx, booking)
}

// refuseBookingAnswer writes the menu again, unless it was sent a moment ago. After too many wrong answers the ticket is left
// to people.
func (c *responder) refuseBookingAnswer(ctx context.Context, booking store.BookingChat) error {
	switch c.Ticket.WrongAnswers++; {
	case c.Ticket.WrongAnswers >= c.Connection.MaxUseBotQueues:
		return c.endBooking(ctx, "")
	case c.hasFreshMenu():
		return c.countWrongAnswer(ctx)
	}
	return c.sendBookingMenu(ctx, booking)
}

// sendBookingMenu writes the menu of a booking's step and waits for the answer.
func (c *responder) sendBookingMenu(ctx context.Context, booking store.BookingChat) error {
	texts := chat.TextsOf(booking.State.Locale)
	text := texts.ChooseService
	if booking.Step == store.BookingChooseTime {
		text = fmt.Sprintf(texts.ChooseTime, booking.State.Service)
	}
	if booking.State.Notice != "" {
		text = booking.State.Notice + " " + text
	}
	now := c.tx.Now()
	c.Ticket.Chatbot, c.Ticket.MenuSentAt = true, &now
	if err := c.tx.SaveTicketMenu(ctx, c.Ticket); err != nil {
		return fmt.Errorf("storing a menu: %w", err)
	}
	if err := c.tx.StoreBookingChat(ctx, c.Company.ID, booking); err != nil {
		return fmt.Errorf("storing a booking's step: %w", err)
	}
	return c.write(ctx, chat.FormatMenu(text, bookingMenu(booking.State)))
}

// bookingMenu returns the menu of what a contact can choose.
func bookingMenu(state store.BookingState) []chat.MenuOption {
	titles, more := make([]string, len(state.Offers)), ""
	for i, offer := range state.Offers {
		titles[i] = offer.Title
	}
	if state.More {
		more = chat.TextsOf(state.Locale).OtherTimes
	}
	return chat.OfferMenu(titles, more)
}

// endBooking ends the booking of the ticket with a message; "" = none.
func (c *responder) endBooking(ctx context.Context, text string) error {
	c.Ticket.Chatbot = false
	if err := c.tx.SaveTicketMenu(ctx, c.Ticket); err != nil {
		return fmt.Errorf("ending a menu: %w", err)
	}
	if err := c.tx.DeleteBookingChat(ctx, c.Company.ID, c.Ticket.ID); err != nil {
		return fmt.Errorf("ending a booking: %w", err)
	}
	return c.write(ctx, text)
}
