package store

import (
	"context"
	"fmt"

	"integrationhub/messaging/internal/store/dbgen"
)

// ContactList is a row of messaging.contact_lists.
type ContactList = dbgen.ContactList

// ListContactLists returns a page of a company's contact lists whose name contains a text,
// ordered by name, and how many there are on all pages.
func (s *Store) ListContactLists(ctx context.Context, company int64, search string, page Page) ([]ContactList, int, error) {
	count, err := s.ContactListCount(ctx, company, search)
	if err != nil {
		return nil, 0, fmt.Errorf("counting contact lists: %w", err)
	}
	rows, err := s.ContactListsPage(ctx, dbgen.ContactListsPageParams{CompanyID: company, Search: search, Skip: page.Offset, MaxRows: page.Limit})
	return rows, int(count), err
}

// SizesOfContactLists returns how many contacts lists have, by the lists' ids.
func (s *Store) SizesOfContactLists(ctx context.Context, company int64, lists []int64) (map[int64]int, error) {
	rows, err := s.ContactListSizes(ctx, company, lists)
	sizes := make(map[int64]int, len(rows))
	for _, row := range rows {
		sizes[row.ListID] = int(row.Size)
	}
	return sizes, err
}

// CreateContactList inserts a list. It sets the id and the times.
func (t *Tx) CreateContactList(ctx context.Context, list ContactList) (ContactList, error) {
	return t.InsertContactList(ctx, list.CompanyID, list.Name, t.Now())
}

// SaveContactList stores a list that the transaction has locked.
func (t *Tx) SaveContactList(ctx context.Context, list ContactList) (ContactList, error) {
	return t.UpdateContactList(ctx, dbgen.UpdateContactListParams{CompanyID: list.CompanyID, ID: list.ID, Name: list.Name, UpdatedAt: t.Now()})
}

// SetContactListItems replaces the contacts of a list; the ids are different ones. found is
// false if one of them is not the company's; then the caller rolls back.
func (t *Tx) SetContactListItems(ctx context.Context, company, list int64, contacts []int64) (found bool, err error) {
	count, err := t.CountContacts(ctx, company, contacts)
	if err != nil || count != int64(len(contacts)) {
		return false, err
	}
	if err := t.DeleteContactListItems(ctx, company, list); err != nil {
		return false, fmt.Errorf("removing a list's contacts: %w", err)
	}
	return true, t.InsertContactListItems(ctx, list, company, contacts)
}

// ListOfContact is a list that a contact is on.
type ListOfContact = dbgen.ListsOfContactRow
