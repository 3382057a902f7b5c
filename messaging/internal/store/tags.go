package store

import (
	"context"
	"fmt"

	"integrationhub/messaging/internal/store/dbgen"
)

type (
	// Tag is a row of messaging.tags.
	Tag = dbgen.Tag
	// ContactTag is a tag of a contact.
	ContactTag = dbgen.TagsOfContactsRow
	// TicketTag is a tag of a ticket.
	TicketTag = dbgen.TagsOfTicketsRow
)

// ListTags returns a page of a company's tags whose name contains a text, ordered by name,
// and how many there are on all pages.
func (s *Store) ListTags(ctx context.Context, company int64, search string, page Page) ([]Tag, int, error) {
	count, err := s.TagCount(ctx, company, search)
	if err != nil {
		return nil, 0, fmt.Errorf("counting tags: %w", err)
	}
	tags, err := s.TagsPage(ctx, dbgen.TagsPageParams{CompanyID: company, Search: search, Skip: page.Offset, MaxRows: page.Limit})
	return tags, int(count), err
}

// CreateTag inserts a tag. It sets the id and the times.
func (t *Tx) CreateTag(ctx context.Context, tag Tag) (Tag, error) {
	return t.InsertTag(ctx, dbgen.InsertTagParams{CompanyID: tag.CompanyID, Name: tag.Name, Color: tag.Color, Kanban: tag.Kanban, CreatedAt: t.Now()})
}

// SaveTag stores a tag that the transaction has locked.
func (t *Tx) SaveTag(ctx context.Context, tag Tag) (Tag, error) {
	return t.UpdateTag(ctx, dbgen.UpdateTagParams{CompanyID: tag.CompanyID, ID: tag.ID, Name: tag.Name, Color: tag.Color, Kanban: tag.Kanban, UpdatedAt: t.Now()})
}

// SetContactTags replaces the tags of a contact; the ids are different ones. found is false
// if one of them is not the company's; then the caller rolls back.
func (t *Tx) SetContactTags(ctx context.Context, company, contact int64, tags []int64) (found bool, err error) {
	if err := t.DeleteContactTags(ctx, company, contact); err != nil {
		return false, fmt.Errorf("removing a contact's tags: %w", err)
	}
	inserted, err := t.InsertContactTags(ctx, contact, company, tags)
	return inserted == int64(len(tags)), err
}

// SetTicketTags replaces the tags of a ticket, as [Tx.SetContactTags] does for a contact.
func (t *Tx) SetTicketTags(ctx context.Context, company, ticket int64, tags []int64) (found bool, err error) {
	if err := t.DeleteTicketTags(ctx, company, ticket); err != nil {
		return false, fmt.Errorf("removing a ticket's tags: %w", err)
	}
	inserted, err := t.InsertTicketTags(ctx, ticket, company, tags)
	return inserted == int64(len(tags)), err
}
