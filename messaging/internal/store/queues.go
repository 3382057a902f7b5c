package store

import (
	"context"
	"fmt"

	"integrationhub/messaging/internal/store/dbgen"
)

type (
	// Queue is a row of messaging.queues.
	Queue = dbgen.Queue
	// ConnectionQueue is a queue of a connection.
	ConnectionQueue = dbgen.QueuesOfConnectionsRow
	// TicketToTransfer is a ticket and the queue it goes to.
	TicketToTransfer = dbgen.TicketsToTransferRow
)

// CreateQueue inserts a queue. It sets the id and the times.
func (t *Tx) CreateQueue(ctx context.Context, q Queue) (Queue, error) {
	return t.InsertQueue(ctx, dbgen.InsertQueueParams{
		CompanyID: q.CompanyID, Name: q.Name, Color: q.Color, Position: q.Position, GreetingMessage: q.GreetingMessage,
		OutOfHoursMessage: q.OutOfHoursMessage, Schedules: q.Schedules, Options: q.Options, CreatedAt: t.Now(),
	})
}

// SaveQueue stores a queue that the transaction has locked.
func (t *Tx) SaveQueue(ctx context.Context, q Queue) (Queue, error) {
	return t.UpdateQueue(ctx, dbgen.UpdateQueueParams{
		CompanyID: q.CompanyID, ID: q.ID, Name: q.Name, Color: q.Color, Position: q.Position, GreetingMessage: q.GreetingMessage,
		OutOfHoursMessage: q.OutOfHoursMessage, Schedules: q.Schedules, Options: q.Options, UpdatedAt: t.Now(),
	})
}

// RemoveQueue deletes a queue that the transaction has locked. Its tickets have no queue
// then, and their menus end.
func (t *Tx) RemoveQueue(ctx context.Context, company, queue int64) error {
	if err := t.EndMenusOfQueue(ctx, company, queue); err != nil {
		return fmt.Errorf("ending the menus of a queue: %w", err)
	}
	return t.DeleteQueue(ctx, company, queue)
}

// ListQueuesOfConnection returns the queues of a connection in the order of its menu.
func (t *Tx) ListQueuesOfConnection(ctx context.Context, company, connection int64) ([]Queue, error) {
	rows, err := t.QueuesOfConnection(ctx, company, connection)
	queues := make([]Queue, len(rows))
	for i, row := range rows {
		queues[i] = row.Queue
	}
	return queues, err
}

// SetConnectionQueues replaces the queues of a connection; the ids are different ones. found
// is false if one of them is not the company's; then the caller rolls back.
func (t *Tx) SetConnectionQueues(ctx context.Context, company, connection int64, queues []int64) (found bool, err error) {
	if err := t.DeleteConnectionQueues(ctx, company, connection); err != nil {
		return false, fmt.Errorf("removing a connection's queues: %w", err)
	}
	inserted, err := t.InsertConnectionQueues(ctx, connection, company, queues)
	return inserted == int64(len(queues)), err
}

// SaveTicketMenu stores where the automatic messages of a ticket are, and its queue.
func (t *Tx) SaveTicketMenu(ctx context.Context, ticket Ticket) error {
	return t.SetTicketMenu(ctx, dbgen.SetTicketMenuParams{
		CompanyID: ticket.CompanyID, ID: ticket.ID, QueueID: ticket.QueueID, Chatbot: ticket.Chatbot, GreetedAt: ticket.GreetedAt,
		MenuSentAt: ticket.MenuSentAt, MenuOption: ticket.MenuOption, WrongAnswers: ticket.WrongAnswers, UpdatedAt: t.Now(),
	})
}
