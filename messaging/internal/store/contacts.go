package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub/module/like"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store/dbgen"
)

// Contact is a row of messaging.contacts.
type Contact = dbgen.Contact

// FindOrCreateContact returns the contact of a number and locks it until the transaction
// ends, so that changes of one contact's tickets follow each other. A new contact gets the
// name; without one, its number.
func (t *Tx) FindOrCreateContact(ctx context.Context, scope Scope, number, name string) (Contact, error) {
	if name == "" {
		name = number
	}
	known, err := t.LockContactByNumber(ctx, scope.Company, chat.NumberKey(number))
	switch {
	case err == nil && (known.Name != known.Number || known.Name == name):
		return known, nil
	case err != nil && !errors.Is(err, pgx.ErrNoRows):
		return Contact{}, fmt.Errorf("finding the contact: %w", err)
	}
	row, err := t.UpsertContact(ctx, dbgen.UpsertContactParams{
		CompanyID: scope.Company, Name: name, Number: number, NumberKey: chat.NumberKey(number), CreatedAt: t.Now(),
	})
	if err != nil {
		return Contact{}, fmt.Errorf("finding the contact: %w", err)
	}
	contact := row.Contact
	if row.Created {
		err = t.publishContacts(ctx, scope, []Contact{contact})
	}
	return contact, err
}

// CreateContact inserts a contact and publishes it. It sets the id, the key of the number
// and the times. addTags stores its tags, which webhooks get, too.
func (t *Tx) CreateContact(ctx context.Context, scope Scope, c Contact, addTags func(Contact) error) (Contact, error) {
	created, err := t.InsertContact(ctx, dbgen.InsertContactParams{
		CompanyID: scope.Company, Name: c.Name, Number: c.Number, NumberKey: chat.NumberKey(c.Number), Email: c.Email, PictureURL: c.PictureURL,
		DisableBot: c.DisableBot, ExtraInfo: c.ExtraInfo, Consent: c.Consent, ConsentAt: c.ConsentAt, CreatedAt: t.Now(),
	})
	if err != nil {
		return Contact{}, fmt.Errorf("creating a contact: %w", err)
	}
	if err := addTags(created); err != nil {
		return Contact{}, err
	}
	return created, t.publishContacts(ctx, scope, []Contact{created})
}

// SaveContact stores a contact that the transaction has locked.
func (t *Tx) SaveContact(ctx context.Context, c Contact) (Contact, error) {
	if c.Number != "" { // else it keeps its key
		c.NumberKey = chat.NumberKey(c.Number)
	}
	return t.UpdateContact(ctx, dbgen.UpdateContactParams{
		CompanyID: c.CompanyID, ID: c.ID, Name: c.Name, Number: c.Number, NumberKey: c.NumberKey, Email: c.Email, PictureURL: c.PictureURL,
		DisableBot: c.DisableBot, ExtraInfo: c.ExtraInfo, Consent: c.Consent, ConsentAt: c.ConsentAt, UpdatedAt: t.Now(),
	})
}

// contactColumns are the columns of [Contact].
const contactColumns = `c.company_id, c.id, c.name, c.number, c.number_key, c.lid, c.email, c.picture_url, c.is_group, c.disable_bot, c.extra_info,
	c.consent, c.consent_at, c.anonymized_at, c.last_inbound_at, c.out_of_hours_at, c.created_at, c.updated_at, c.network_number`

// ContactFilter selects contacts. Zero members select everything.
type ContactFilter struct {
	Viewer  *Viewer // who sees contacts without a ticket and those of its tickets; nil: every contact
	ID      int64
	Search  string // part of the name, number or e-mail address
	TagID   int64
	Consent string
	Page
}

// where returns the SQL of the filter and its arguments.
func (f ContactFilter) where(scope Scope) (sql string, args []any) {
	var c conditions
	c.add("c.company_id = ?", scope.Company)
	if f.ID != 0 {
		c.add("c.id = ?", f.ID)
	}
	if f.Search != "" {
		sameNumber := ""
		if key := chat.SearchKey(f.Search); key != "" {
			c.args = append(c.args, key)
			sameNumber = fmt.Sprintf(" or c.number_key = $%d", len(c.args))
		}
		c.add("(messaging.search_form(c.name) like messaging.search_form(?) or c.number like ? or lower(c.email) like lower(?)"+sameNumber+")", like.Contains(f.Search))
	}
	if f.TagID != 0 {
		c.add("exists (select from contact_tags ct where ct.company_id = c.company_id and ct.contact_id = c.id and ct.tag_id = ?)", f.TagID)
	}
	if f.Consent != "" {
		c.add("c.consent = ?", f.Consent)
	}
	if v := f.Viewer; v != nil {
		c.args = append(c.args, v.UserID, v.AllTickets, v.Queues)
		n := len(c.args)
		c.list = append(c.list, fmt.Sprintf(`coalesce((select bool_or(t.user_id is not distinct from $%d or (t.user_id is null or $%d) and (t.queue_id is null or t.queue_id = any($%d)))
			from tickets t where t.company_id = c.company_id and t.contact_id = c.id), true)`, n-2, n-1, n))
	}
	return " from contacts c where " + strings.Join(c.list, " and "), c.args
}

// ListContacts returns a page of contacts, ordered by name, and how many there are on all
// pages.
func (s *Store) ListContacts(ctx context.Context, scope Scope, f ContactFilter) (page []Contact, count int, err error) {
	where, args := f.where(scope)
	args = append([]any{pgx.QueryExecModeCacheDescribe}, args...) // planned for its actual values
	if err := s.host.Pool.QueryRow(ctx, "select count(*)"+where, args...).Scan(&count); err != nil {
		return nil, 0, fmt.Errorf("counting contacts: %w", err)
	}
	rows, err := s.host.Pool.Query(ctx, fmt.Sprintf("select %s%s order by lower(c.name), c.id offset %d limit %d", contactColumns, where, f.Offset, f.Limit), args...)
	if err != nil {
		return nil, 0, fmt.Errorf("listing contacts: %w", err)
	}
	page, err = pgx.CollectRows(rows, pgx.RowToStructByName[Contact])
	return page, count, err
}

// SeesContact reports whether a viewer sees a contact; nil sees every contact.
func (s *Store) SeesContact(ctx context.Context, scope Scope, viewer *Viewer, id int64) (bool, error) {
	return seesContact(ctx, s.host.Pool, scope, viewer, id)
}

// SeesContact is [Store.SeesContact] in the transaction.
func (t *Tx) SeesContact(ctx context.Context, scope Scope, viewer *Viewer, id int64) (bool, error) {
	return seesContact(ctx, t.Raw, scope, viewer, id)
}

func seesContact(ctx context.Context, db dbgen.DBTX, scope Scope, viewer *Viewer, id int64) (bool, error) {
	where, args := ContactFilter{Viewer: viewer, ID: id}.where(scope)
	var count int
	err := db.QueryRow(ctx, "select count(*)"+where, args...).Scan(&count)
	return count > 0, err
}
