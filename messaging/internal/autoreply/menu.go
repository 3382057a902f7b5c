package autoreply

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store"
)

// greet writes the greeting of a ticket that the contact began: of the connection's only
// queue, or the connection's own with the menu of its queues.
func (c *responder) greet(ctx context.Context) error {
	queues, err := c.tx.ListQueuesOfConnection(ctx, c.Company.ID, c.Connection.ID)
	if err != nil {
		return fmt.Errorf("loading the connection's queues: %w", err)
	}
	if len(queues) == 0 && c.Connection.GreetingMessage == "" {
		return nil
	}
	hasOutgoing, err := c.tx.HasOutgoing(ctx, c.Company.ID, c.Ticket.ID)
	if err != nil || hasOutgoing {
		return err
	}
	now := c.tx.Now()
	c.Ticket.GreetedAt = &now
	switch {
	case len(queues) == 1:
		return c.enterQueue(ctx, queues[0], c.Connection.GreetingMessage)
	case len(queues) > 1 && c.Connection.MaxUseBotQueues > 0:
		return c.sendMenu(ctx, c.Connection.GreetingMessage, menuOfQueues(queues), nil)
	}
	if err := c.tx.SaveTicketMenu(ctx, c.Ticket); err != nil {
		return fmt.Errorf("storing a greeting: %w", err)
	}
	return c.write(ctx, c.Connection.GreetingMessage)
}

// menuOfQueues returns the menu of a connection's queues. The ids are their places.
func menuOfQueues(queues []store.Queue) []chat.MenuOption {
	menu := make([]chat.MenuOption, len(queues))
	for i, queue := range queues {
		menu[i] = chat.MenuOption{ID: i, Title: queue.Name, Option: strconv.Itoa(i + 1)}
	}
	return menu
}

// sendMenu writes a text with a menu and waits for the answer; without a menu it writes the
// text and leaves the ticket to people. option is the option that the menu is below.
func (c *responder) sendMenu(ctx context.Context, text string, menu []chat.MenuOption, option *int) error {
	c.Ticket.Chatbot = len(menu) > 0 && c.Connection.MaxUseBotQueues > 0
	c.Ticket.MenuOption = option
	if err := c.tx.DeleteBookingChat(ctx, c.Company.ID, c.Ticket.ID); err != nil {
		return fmt.Errorf("ending an earlier booking: %w", err)
	}
	if !c.Ticket.Chatbot {
		menu = nil
	} else {
		now := c.tx.Now()
		c.Ticket.MenuSentAt = &now
	}
	if err := c.tx.SaveTicketMenu(ctx, c.Ticket); err != nil {
		return fmt.Errorf("storing a menu: %w", err)
	}
	return c.write(ctx, chat.FormatMenu(text, menu))
}

// enterQueue puts the ticket in a queue and writes the queue's greeting, or the one given
// where it has none, with the queue's own menu.
func (c *responder) enterQueue(ctx context.Context, queue store.Queue, greeting string) error {
	options, err := decodeOptions(queue)
	if err != nil {
		return err
	}
	c.Ticket.QueueID, c.Ticket.WrongAnswers = &queue.ID, 0
	if isClosed, err := c.replyIfClosed(ctx, &queue); isClosed || err != nil {
		if err != nil {
			return err
		}
		c.Ticket.Chatbot = false
		return c.tx.SaveTicketMenu(ctx, c.Ticket)
	}
	if queue.GreetingMessage != "" {
		greeting = queue.GreetingMessage
	}
	return c.sendMenu(ctx, greeting, chat.OptionsUnder(options, nil), nil)
}

func decodeOptions(queue store.Queue) ([]chat.MenuOption, error) {
	var options []chat.MenuOption
	if err := json.Unmarshal(queue.Options, &options); err != nil {
		return nil, fmt.Errorf("decoding a queue's options: %w", err)
	}
	return options, nil
}

// By how much a message is older than a menu that it does not answer. The network's clock says when
// it was written, ours when the menu was sent.
const (
	clockTolerance = 2 * time.Second // networks say the second only, and clocks differ a little
	maxMenuDelay   = 5 * time.Minute // clocks that differ by more say nothing
)

// isBeforeMenu reports whether the contact wrote a message before it can have read the menu.
func (c *responder) isBeforeMenu() bool {
	if c.Ticket.MenuSentAt == nil {
		return false
	}
	older := c.Ticket.MenuSentAt.Sub(c.At)
	return older > clockTolerance && older <= maxMenuDelay
}

// handleMenuAnswer applies the answer to a menu. What the contact wrote before it can have read the
// menu is no answer.
func (c *responder) handleMenuAnswer(ctx context.Context) error {
	if c.isBeforeMenu() {
		return nil
	}
	if handled, err := c.handleBookingAnswer(ctx); handled || err != nil {
		return err
	}
	if c.Ticket.QueueID == nil {
		return c.chooseQueue(ctx)
	}
	queue, err := c.tx.Queue(ctx, c.Company.ID, *c.Ticket.QueueID)
	if err != nil {
		return fmt.Errorf("loading the ticket's queue: %w", err)
	}
	options, err := decodeOptions(queue)
	if err != nil {
		return err
	}
	menu := chat.OptionsUnder(options, c.Ticket.MenuOption)
	chosen, ok := chat.ChooseOption(menu, c.Body)
	if !ok {
		return c.refuseAnswer(ctx, "", menu)
	}
	c.Ticket.WrongAnswers = 0
	if chosen.Action == chat.ActionBook && c.Contact.Number != "" { // else people ask who it is
		return c.startBooking(ctx, chosen)
	}
	return c.sendMenu(ctx, chosen.Message, chat.OptionsUnder(options, &chosen.ID), &chosen.ID)
}

func (c *responder) chooseQueue(ctx context.Context) error {
	queues, err := c.tx.ListQueuesOfConnection(ctx, c.Company.ID, c.Connection.ID)
	if err != nil {
		return fmt.Errorf("loading the connection's queues: %w", err)
	}
	menu := menuOfQueues(queues)
	chosen, ok := chat.ChooseOption(menu, c.Body)
	if !ok {
		return c.refuseAnswer(ctx, c.Connection.GreetingMessage, menu)
	}
	return c.enterQueue(ctx, queues[chosen.ID], "")
}

// refuseAnswer writes the menu again, unless it was sent a moment ago. After too many wrong
// answers, and where the menu is gone, the ticket is left to people.
func (c *responder) refuseAnswer(ctx context.Context, text string, menu []chat.MenuOption) error {
	switch c.Ticket.WrongAnswers++; {
	case c.Ticket.WrongAnswers >= c.Connection.MaxUseBotQueues:
		menu, text = nil, ""
	case c.hasFreshMenu():
		return c.countWrongAnswer(ctx)
	}
	return c.sendMenu(ctx, text, menu, c.Ticket.MenuOption)
}

// hasFreshMenu reports whether the menu was sent so short a time ago that it is not sent again.
func (c *responder) hasFreshMenu() bool {
	return c.Ticket.MenuSentAt != nil && c.At.Sub(*c.Ticket.MenuSentAt) < menuPause
}

// countWrongAnswer stores a wrong answer that nothing is written for.
func (c *responder) countWrongAnswer(ctx context.Context) error {
	if err := c.tx.SaveTicketMenu(ctx, c.Ticket); err != nil {
		return fmt.Errorf("counting a wrong answer: %w", err)
	}
	return nil
}
