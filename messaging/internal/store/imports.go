package store

import (
	"context"
	"fmt"
	"slices"

	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store/dbgen"
)

// Import is a row of messaging.contact_imports.
type Import = dbgen.ContactImport

// CreateContacts inserts contacts with different numbers and publishes the new ones. It
// returns the ids of all.
func (t *Tx) CreateContacts(ctx context.Context, scope Scope, contacts []Contact) ([]int64, error) {
	if len(contacts) == 0 {
		return nil, nil
	}
	params := dbgen.InsertContactsParams{CompanyID: scope.Company, At: t.Now()}
	for _, c := range contacts {
		params.Names, params.Numbers = append(params.Names, c.Name), append(params.Numbers, c.Number)
		params.NumberKeys, params.Emails = append(params.NumberKeys, chat.NumberKey(c.Number)), append(params.Emails, c.Email)
	}
	ids, err := t.InsertContacts(ctx, params)
	if err != nil {
		return nil, fmt.Errorf("creating contacts: %w", err)
	}
	stored, err := t.ContactsByID(ctx, scope.Company, ids)
	if err != nil {
		return nil, fmt.Errorf("loading new contacts: %w", err)
	}
	isOld := func(c Contact) bool { return !c.CreatedAt.Equal(t.Now()) } // another transaction made it meanwhile
	return ids, t.publishContacts(ctx, scope, slices.DeleteFunc(stored, isOld))
}

// SaveContactNames stores the names and e-mail addresses of contacts that the transaction has
// locked.
func (t *Tx) SaveContactNames(ctx context.Context, company int64, contacts []Contact) error {
	if len(contacts) == 0 {
		return nil
	}
	params := dbgen.UpdateContactsParams{CompanyID: company, At: t.Now()}
	for _, c := range contacts {
		params.Contacts, params.Names, params.Emails = append(params.Contacts, c.ID), append(params.Names, c.Name), append(params.Emails, c.Email)
	}
	return t.UpdateContacts(ctx, params)
}
