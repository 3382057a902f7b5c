package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store/dbgen"
)

// TicketView is a ticket with the names of what it refers to.
type TicketView struct {
	Ticket
	ContactName, ContactNumber, ContactEmail, ContactPicture string
	UserName, QueueName, QueueColor, ConnectionName          *string
	Tags                                                     []TicketTag // ordered by name
}

// Viewer is a user who sees a part of a company's tickets: those without an owner and its
// own, of its queues and without a queue.
type Viewer struct {
	UserID     int64
	Queues     []int64
	AllTickets bool // also those of other owners
}

// Sees reports whether a ticket is among those that the viewer sees. Nil sees everything.
func (v *Viewer) Sees(t Ticket) bool {
	switch {
	case v == nil, t.UserID != nil && *t.UserID == v.UserID:
		return true
	case t.UserID != nil && !v.AllTickets:
		return false
	case t.QueueID == nil:
		return true
	}
	return slices.Contains(v.Queues, *t.QueueID)
}

// Equal reports whether two viewers see the same tickets.
func (v *Viewer) Equal(other *Viewer) bool {
	if v == nil || other == nil {
		return v == other
	}
	return v.UserID == other.UserID && v.AllTickets == other.AllTickets && slices.Equal(v.Queues, other.Queues)
}

// TicketFilter selects tickets. Zero members select everything.
type TicketFilter struct {
	IDs       []int64 // nil: any
	Viewer    *Viewer // nil: every ticket of the company
	Status    chat.TicketStatus
	Queues    []int64 // any of them
	Tags      []int64 // all of them
	UserID    int64
	Unread    bool
	CreatedAt [2]time.Time // from, and before
	Search    string       // part of the contact's name or number, or beginnings of words of its messages
	Page
}

const ticketColumns = `t.company_id, t.id, t.uuid, t.status, t.contact_id, t.connection_id, t.user_id, t.queue_id, t.unread_messages, t.last_message, t.chatbot,
	t.resolution, t.rating, t.queued_at, t.started_at, t.first_response_at, t.closed_at, t.created_at, t.updated_at,
	t.greeted_at, t.menu_sent_at, t.menu_option, t.wrong_answers, t.rating_asked_at,
	c.name, c.number, c.email, c.picture_url, u.name, q.name, q.color, w.name`

const ticketJoins = `
	join contacts c on c.company_id = t.company_id and c.id = t.contact_id
	left join users u on u.company_id = t.company_id and u.id = t.user_id
	left join queues q on q.company_id = t.company_id and q.id = t.queue_id
	left join connections w on w.company_id = t.company_id and w.id = t.connection_id`

// conditions collects the conditions of a statement. In each, ? stands for its value.
type conditions struct {
	list []string
	args []any
}

func (c *conditions) add(condition string, value any) {
	c.args = append(c.args, value)
	c.list = append(c.list, strings.ReplaceAll(condition, "?", fmt.Sprintf("$%d", len(c.args))))
}

// isSearchOnly reports whether nothing but the search selects tickets.
func (f TicketFilter) isSearchOnly() bool {
	return f.IDs == nil && f.Viewer == nil && f.Status == "" && f.Queues == nil && len(f.Tags) == 0 && f.UserID == 0 && !f.Unread && f.CreatedAt[0].IsZero()
}

// where returns the SQL of the filter and its arguments; the company is the first. isProbing
// is that of [ticketSearch.addTo].
func (f TicketFilter) where(scope Scope, search *ticketSearch, isProbing bool) (sql string, args []any) {
	var c conditions
	c.add("t.company_id = ?", scope.Company)
	if f.IDs != nil {
		c.add("t.id = any(?)", f.IDs)
	}
	if f.Status != "" {
		c.add("t.status = ?", f.Status)
	}
	if f.Queues != nil {
		c.add("t.queue_id = any(?)", f.Queues)
	}
	if len(f.Tags) > 0 {
		c.args = append(c.args, f.Tags)
		c.list = append(c.list, fmt.Sprintf(`t.id in (select tt.ticket_id from ticket_tags tt where tt.company_id = $1 and tt.tag_id = any($%[1]d)
			group by tt.ticket_id having count(*) = cardinality($%[1]d::bigint[]))`, len(c.args)))
	}
	if f.UserID != 0 {
		c.add("t.user_id = ?", f.UserID)
	}
	if f.Unread {
		c.list = append(c.list, "t.unread_messages > 0")
	}
	if !f.CreatedAt[0].IsZero() {
		c.add("t.created_at >= ?", f.CreatedAt[0])
		c.add("t.created_at < ?", f.CreatedAt[1])
	}
	if v := f.Viewer; v != nil {
		c.args = append(c.args, v.UserID, v.AllTickets, v.Queues)
		n := len(c.args)
		c.list = append(c.list, fmt.Sprintf("(t.user_id = $%d or (t.user_id is null or $%d) and (t.queue_id is null or t.queue_id = any($%d)))", n-2, n-1, n))
	}
	if search != nil {
		search.addTo(&c, isProbing)
	}
	return " where " + strings.Join(c.list, " and "), c.args
}

// ListTickets returns a page of tickets, the last changed first, and how many there are on
// all pages: at most 10,000, or one more than the page reaches.
func (s *Store) ListTickets(ctx context.Context, scope Scope, f TicketFilter) (page []TicketView, count int, err error) {
	limit := max(maxCountedTickets, f.Offset+f.Limit+1)
	var search *ticketSearch
	if f.Search != "" {
		if search, err = s.searchTickets(ctx, scope, f.Search, limit); err != nil {
			return nil, 0, err
		}
	}
	if count, err = s.countTickets(ctx, scope, f, search, limit); err != nil || count <= f.Offset {
		return nil, count, err
	}
	isProbing := f.Offset+f.Limit <= maxProbedRows
	where, args := f.where(scope, search, isProbing)
	args = append([]any{pgx.QueryExecModeCacheDescribe}, args...) // planned for its actual values
	// Only the tickets of the page are joined with what is shown of them.
	onPage := fmt.Sprintf("select t.* from tickets t%s order by t.updated_at desc, t.id desc offset %d limit %d", where, f.Offset, f.Limit)
	rows, err := s.host.Pool.Query(ctx, fmt.Sprintf("select %s from (%s) t%s order by t.updated_at desc, t.id desc", ticketColumns, onPage, ticketJoins), args...)
	if err != nil {
		return nil, 0, fmt.Errorf("listing tickets: %w", err)
	}
	page, err = collectTicketViews(ctx, s.host.Pool, scope, rows)
	return page, count, err
}

// countTickets counts the tickets of a filter, up to a limit; those of a search with many more
// than a page has, up to one more than the page reaches.
func (s *Store) countTickets(ctx context.Context, scope Scope, f TicketFilter, search *ticketSearch, limit int) (count int, err error) {
	where, args := f.where(scope, search, false)
	if search != nil && f.isSearchOnly() {
		switch {
		case !search.isMany:
			return len(search.found), nil
		case search.atLeast >= limit:
			return limit, nil
		}
	}
	if reach := f.Offset + f.Limit; search != nil && search.isMany && !f.isSearchOnly() && reach <= maxProbedRows {
		count, isExact, err := s.walkTickets(ctx, scope, f, search, reach+1)
		if err != nil || isExact || count > reach {
			return count, err
		}
	}
	args = append([]any{pgx.QueryExecModeCacheDescribe}, args...) // planned for its actual values
	err = s.host.Pool.QueryRow(ctx, fmt.Sprintf("select count(*) from (select from tickets t%s limit %d) counted", where, limit), args...).Scan(&count)
	if err != nil {
		return 0, fmt.Errorf("counting tickets: %w", err)
	}
	return count, nil
}

// collectTicketViews reads tickets and adds their tags.
func collectTicketViews(ctx context.Context, db dbgen.DBTX, scope Scope, rows pgx.Rows) ([]TicketView, error) {
	views, err := pgx.CollectRows(rows, scanTicketView)
	if err != nil || len(views) == 0 {
		return views, err
	}
	ids, places := make([]int64, len(views)), make(map[int64]int, len(views))
	for i, view := range views {
		ids[i], places[view.ID] = view.ID, i
	}
	tags, err := dbgen.New(db).TagsOfTickets(ctx, scope.Company, ids)
	if err != nil {
		return nil, fmt.Errorf("loading the tags of tickets: %w", err)
	}
	for _, tag := range tags {
		view := &views[places[tag.TicketID]]
		view.Tags = append(view.Tags, tag)
	}
	return views, nil
}

// TicketView returns one ticket, or [pgx.ErrNoRows].
func (s *Store) TicketView(ctx context.Context, scope Scope, id int64) (TicketView, error) {
	views, err := s.TicketViews(ctx, scope, []int64{id})
	if err == nil && len(views) == 0 {
		err = pgx.ErrNoRows
	}
	if err != nil {
		return TicketView{}, err
	}
	return views[0], nil
}

// TicketViews returns tickets by their ids, in any order. Unknown ids are left out.
func (s *Store) TicketViews(ctx context.Context, scope Scope, ids []int64) ([]TicketView, error) {
	return ticketViews(ctx, s.host.Pool, scope, ids)
}

func ticketViews(ctx context.Context, db dbgen.DBTX, scope Scope, ids []int64) ([]TicketView, error) {
	where, args := TicketFilter{IDs: ids}.where(scope, nil, false)
	rows, err := db.Query(ctx, "select "+ticketColumns+" from tickets t"+ticketJoins+where, args...)
	if err != nil {
		return nil, fmt.Errorf("loading tickets: %w", err)
	}
	return collectTicketViews(ctx, db, scope, rows)
}

func scanTicketView(row pgx.CollectableRow) (TicketView, error) {
	var v TicketView
	t := &v.Ticket
	err := row.Scan(&t.CompanyID, &t.ID, &t.UUID, &t.Status, &t.ContactID, &t.ConnectionID, &t.UserID, &t.QueueID, &t.UnreadMessages, &t.LastMessage, &t.Chatbot,
		&t.Resolution, &t.Rating, &t.QueuedAt, &t.StartedAt, &t.FirstResponseAt, &t.ClosedAt, &t.CreatedAt, &t.UpdatedAt,
		&t.GreetedAt, &t.MenuSentAt, &t.MenuOption, &t.WrongAnswers, &t.RatingAskedAt,
		&v.ContactName, &v.ContactNumber, &v.ContactEmail, &v.ContactPicture, &v.UserName, &v.QueueName, &v.QueueColor, &v.ConnectionName)
	return v, err
}
