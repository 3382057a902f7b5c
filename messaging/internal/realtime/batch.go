package realtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"integrationhub/messaging/internal/store"
)

const (
	batchSize   = 200 // changes in one reading
	loadTimeout = 10 * time.Second
)

// Batch are changes of a company, with the resources that they are about as those are now. Its
// readers share it.
type Batch struct {
	Changes []store.Change
	IsLast  bool // there were no more

	// HasGap says that changes are missing: they were deleted, or the database lost them. Readers load
	// all anew, and go on at the change Last.
	HasGap bool
	Last   int64 // number of the last change; what it was read after if there is none

	Tickets     map[int64]store.TicketView
	Messages    map[string]store.Message
	Contacts    map[int64]store.Contact
	Holders     map[int64][]store.Ticket // by contact: the owners and queues of its tickets
	Campaigns   map[int64]store.CampaignView
	Connections []store.Connection // all of the company; nil: none has changed

	after, newest int64 // what it was read after, and what was the newest change then
	loaded        chan struct{}
	err           error
}

// Next returns the changes of a company after one of them. What one reader has loaded serves the
// others that are as far: a change of a company costs as much for many streams as for one.
func (s *Service) Next(ctx context.Context, scope store.Scope, after int64) (*Batch, error) {
	s.mu.Lock()
	c := s.companies[scope.Company]
	if c != nil && c.batch != nil && c.batch.after == after && c.batch.newest == c.newestAnnounced {
		shared := c.batch
		s.mu.Unlock()
		select {
		case <-shared.loaded:
			return shared, shared.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	b := &Batch{after: after, loaded: make(chan struct{})}
	if c != nil {
		b.newest, c.batch = c.newestAnnounced, b
	}
	s.mu.Unlock()
	b.err = errNotLoaded // until it is; a panic leaves it
	defer s.share(c, b)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout) // others wait for it
	defer cancel()
	b.err = s.load(ctx, scope, b)
	return b, b.err
}

// errNotLoaded is the error of a batch whose reading did not come to its end.
var errNotLoaded = errors.New("reading changes did not end")

// share lets the readers that wait for a batch have it. One that failed is not kept for readers
// that come back.
func (s *Service) share(c *companyReaders, b *Batch) {
	s.mu.Lock()
	if b.err != nil && c != nil && c.batch == b {
		c.batch = nil
	}
	s.mu.Unlock()
	close(b.loaded)
}

// load reads changes and their resources, one query for each kind.
func (s *Service) load(ctx context.Context, scope store.Scope, b *Batch) (err error) {
	if b.Changes, err = s.store.ChangesAfter(ctx, scope.Company, b.after, batchSize); err != nil {
		return fmt.Errorf("reading changes: %w", err)
	}
	b.IsLast, b.Last = len(b.Changes) < batchSize, b.after
	for _, change := range b.Changes { // numbers have no gaps by themselves
		b.HasGap, b.Last = b.HasGap || change.Seq != b.Last+1, change.Seq
	}
	if len(b.Changes) == 0 && b.newest > b.after {
		b.HasGap, b.Last = true, b.newest
	}
	if b.HasGap {
		b.Changes = nil
		return nil
	}
	changed, err := idsOf(b.Changes)
	if err != nil {
		return err
	}
	if err := s.loadTickets(ctx, scope, b, changed); err != nil {
		return err
	}
	if len(changed.contacts) > 0 {
		contacts, err := s.store.ContactsByID(ctx, scope.Company, changed.contacts)
		if err != nil {
			return fmt.Errorf("loading contacts: %w", err)
		}
		holders, err := s.store.HoldersOfContacts(ctx, scope.Company, changed.contacts)
		if err != nil {
			return fmt.Errorf("loading whose contacts they are: %w", err)
		}
		b.Contacts, b.Holders = mapBy(contacts, func(c store.Contact) int64 { return c.ID }), make(map[int64][]store.Ticket)
		for _, row := range holders {
			b.Holders[row.ContactID] = append(b.Holders[row.ContactID], store.Ticket{UserID: row.UserID, QueueID: row.QueueID})
		}
	}
	if len(changed.campaigns) > 0 {
		campaigns, err := s.store.CampaignViews(ctx, scope.Company, changed.campaigns)
		if err != nil {
			return fmt.Errorf("loading campaigns: %w", err)
		}
		b.Campaigns = mapBy(campaigns, func(c store.CampaignView) int64 { return c.ID })
	}
	if changed.hasConnections {
		if b.Connections, err = s.store.Connections(ctx, scope.Company); err != nil {
			return fmt.Errorf("loading connections: %w", err)
		}
	}
	return nil
}

// loadTickets loads the tickets and messages of changes.
func (s *Service) loadTickets(ctx context.Context, scope store.Scope, b *Batch, changed changedIDs) error {
	if len(changed.tickets) > 0 {
		tickets, err := s.store.TicketViews(ctx, scope, changed.tickets)
		if err != nil {
			return fmt.Errorf("loading tickets: %w", err)
		}
		b.Tickets = mapBy(tickets, func(t store.TicketView) int64 { return t.ID })
	}
	if len(changed.messages) > 0 {
		messages, err := s.store.MessagesByID(ctx, scope.Company, changed.messages)
		if err != nil {
			return fmt.Errorf("loading messages: %w", err)
		}
		b.Messages = mapBy(messages, func(m store.Message) string { return m.ID })
	}
	return nil
}

// changedIDs are what changes are about.
type changedIDs struct {
	tickets, contacts, campaigns []int64
	messages                     []string
	hasConnections               bool
}

func idsOf(changes []store.Change) (ids changedIDs, err error) {
	for _, change := range changes {
		if change.TicketID != nil {
			ids.messages, ids.tickets = append(ids.messages, change.ItemID), append(ids.tickets, *change.TicketID)
			continue
		}
		id, err := strconv.ParseInt(change.ItemID, 10, 64)
		if err != nil {
			return ids, fmt.Errorf("reading a change: %w", err)
		}
		switch change.Kind {
		case "ticket":
			ids.tickets = append(ids.tickets, id)
		case "contact":
			ids.contacts = append(ids.contacts, id)
		case "campaign":
			ids.campaigns = append(ids.campaigns, id)
		case "connection":
			ids.hasConnections = true
		}
	}
	for _, list := range []*[]int64{&ids.tickets, &ids.contacts, &ids.campaigns} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return ids, nil
}

// mapBy returns rows by their ids.
func mapBy[Row any, ID comparable](rows []Row, idOf func(Row) ID) map[ID]Row {
	byID := make(map[ID]Row, len(rows))
	for _, row := range rows {
		byID[idOf(row)] = row
	}
	return byID
}
