package store

import (
	"context"
	"fmt"

	"integrationhub/messaging/internal/store/dbgen"
)

// QuickMessage is a row of messaging.quick_messages.
type QuickMessage = dbgen.QuickMessage

// ListQuickMessages returns a page of a company's quick messages whose shortcode or text
// contains a text, ordered by shortcode, and how many there are on all pages: those that a
// user reads, or all.
func (s *Store) ListQuickMessages(ctx context.Context, company int64, user *int64, search string, page Page) ([]QuickMessage, int, error) {
	count, err := s.QuickMessageCount(ctx, company, user, search)
	if err != nil {
		return nil, 0, fmt.Errorf("counting quick messages: %w", err)
	}
	rows, err := s.QuickMessagesPage(ctx, dbgen.QuickMessagesPageParams{CompanyID: company, UserID: user, Search: search, Skip: page.Offset, MaxRows: page.Limit})
	return rows, int(count), err
}

// CreateQuickMessage inserts a quick message. It sets the id and the times.
func (t *Tx) CreateQuickMessage(ctx context.Context, q QuickMessage) (QuickMessage, error) {
	return t.InsertQuickMessage(ctx, dbgen.InsertQuickMessageParams{
		CompanyID: q.CompanyID, UserID: q.UserID, Shortcode: q.Shortcode, Message: q.Message, Shared: q.Shared, MediaURL: q.MediaURL, MediaName: q.MediaName, CreatedAt: t.Now(),
	})
}

// SaveQuickMessage stores a quick message that the transaction has locked.
func (t *Tx) SaveQuickMessage(ctx context.Context, q QuickMessage) (QuickMessage, error) {
	return t.UpdateQuickMessage(ctx, dbgen.UpdateQuickMessageParams{
		CompanyID: q.CompanyID, ID: q.ID, Shortcode: q.Shortcode, Message: q.Message, Shared: q.Shared, MediaURL: q.MediaURL, MediaName: q.MediaName, UpdatedAt: t.Now(),
	})
}
