package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"integrationhub/messaging/internal/chat"
)

// TicketView is a ticket with the names of what it refers to.
type TicketView struct {
	Ticket
	ContactName, ContactNumber, ContactEmail, ContactPicture string
	UserName, QueueName, QueueColor, ConnectionName          *string
}

// TicketFilter selects tickets. Zero members select everything.
type TicketFilter struct {
	ID      int64
	Status  chat.TicketStatus
	QueueID int64
	Search  string // part of the contact's name or number
	Offset  int
	Limit   int
}

const ticketColumns = `t.company_id, t.id, t.uuid, t.status, t.contact_id, t.connection_id, t.user_id, t.queue_id, t.unread_messages, t.last_message, t.chatbot,
	t.resolution, t.rating, t.queued_at, t.started_at, t.first_response_at, t.closed_at, t.created_at, t.updated_at,
	c.name, c.number, c.email, c.picture_url, u.name, q.name, q.color, w.name`

const ticketJoins = ` from tickets t
	join contacts c on c.company_id = t.company_id and c.id = t.contact_id
	left join users u on u.company_id = t.company_id and u.id = t.user_id
	left join queues q on q.company_id = t.company_id and q.id = t.queue_id
	left join connections w on w.company_id = t.company_id and w.id = t.connection_id`

// conditions returns the filter's SQL and its arguments.
func (f TicketFilter) conditions(scope Scope) (sql string, args []any) {
	list := []string{"t.company_id = $1"}
	args = []any{scope.Company}
	add := func(condition string, value any) {
		args = append(args, value)
		list = append(list, strings.ReplaceAll(condition, "?", fmt.Sprintf("$%d", len(args))))
	}
	if f.ID != 0 {
		add("t.id = ?", f.ID)
	}
	if f.Status != "" {
		add("t.status = ?", f.Status)
	}
	if f.QueueID != 0 {
		add("t.queue_id = ?", f.QueueID)
	}
	if f.Search != "" {
		add(`(c.name ilike ? or c.number like ?)`, "%"+escapeLike(f.Search)+"%")
	}
	return " where " + strings.Join(list, " and "), args
}

// escapeLike escapes the wildcards of a LIKE pattern.
func escapeLike(s string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s)
}

// ListTickets returns a page of tickets, the last changed first, and how many there are on
// all pages.
func (s *Store) ListTickets(ctx context.Context, scope Scope, f TicketFilter) (page []TicketView, count int, err error) {
	where, args := f.conditions(scope)
	if err := s.host.Pool.QueryRow(ctx, "select count(*)"+ticketJoins+where, args...).Scan(&count); err != nil {
		return nil, 0, fmt.Errorf("counting tickets: %w", err)
	}
	rows, err := s.host.Pool.Query(ctx, fmt.Sprintf("select %s%s%s order by t.updated_at desc, t.id desc offset %d limit %d", ticketColumns, ticketJoins, where, f.Offset, f.Limit), args...)
	if err != nil {
		return nil, 0, fmt.Errorf("listing tickets: %w", err)
	}
	page, err = pgx.CollectRows(rows, scanTicketView)
	return page, count, err
}

// TicketView returns one ticket, or [pgx.ErrNoRows].
func (s *Store) TicketView(ctx context.Context, scope Scope, id int64) (TicketView, error) {
	where, args := TicketFilter{ID: id}.conditions(scope)
	rows, err := s.host.Pool.Query(ctx, "select "+ticketColumns+ticketJoins+where, args...)
	if err != nil {
		return TicketView{}, fmt.Errorf("loading a ticket: %w", err)
	}
	return pgx.CollectExactlyOneRow(rows, scanTicketView)
}

func scanTicketView(row pgx.CollectableRow) (TicketView, error) {
	var v TicketView
	t := &v.Ticket
	err := row.Scan(&t.CompanyID, &t.ID, &t.UUID, &t.Status, &t.ContactID, &t.ConnectionID, &t.UserID, &t.QueueID, &t.UnreadMessages, &t.LastMessage, &t.Chatbot,
		&t.Resolution, &t.Rating, &t.QueuedAt, &t.StartedAt, &t.FirstResponseAt, &t.ClosedAt, &t.CreatedAt, &t.UpdatedAt,
		&v.ContactName, &v.ContactNumber, &v.ContactEmail, &v.ContactPicture, &v.UserName, &v.QueueName, &v.QueueColor, &v.ConnectionName)
	return v, err
}
