package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"slices"

	"integrationhub/hub/module/tx"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store/dbgen"
)

// Import is a row of messaging.contact_imports.
type Import = dbgen.ContactImport

// CreateContacts inserts contacts with different numbers and publishes them. It returns their
// ids, and [tx.ErrConflict] if another transaction has stored one of the numbers meanwhile.
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
	if len(ids) < len(contacts) {
		return nil, tx.ErrConflict
	}
	stored, err := t.ContactsByID(ctx, scope.Company, ids)
	if err != nil {
		return nil, fmt.Errorf("loading new contacts: %w", err)
	}
	return ids, t.publishContacts(ctx, scope, stored)
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

// leaveOutOfImports makes imports in progress leave out the rows about a contact that is being
// anonymized or deleted.
func (t *Tx) leaveOutOfImports(ctx context.Context, contact Contact) error {
	if contact.Number == "" {
		return nil
	}
	hash := t.numberHasher(contact.CompanyID)(contact.NumberKey)
	return t.InsertImportErasure(ctx, hash, contact.CompanyID)
}

// FindErased returns which number keys are of contacts that were anonymized since an import
// began. Contacts with these keys have to be locked before.
func (t *Tx) FindErased(ctx context.Context, company, id int64, numberKeys []string) (erased map[string]bool, err error) {
	hashes, err := t.ImportErasures(ctx, company, id)
	if err != nil || len(hashes) == 0 {
		return nil, err
	}
	erased = make(map[string]bool)
	hash := t.numberHasher(company)
	for _, key := range numberKeys {
		sum := hash(key)
		if slices.ContainsFunc(hashes, func(known []byte) bool { return hmac.Equal(known, sum) }) {
			erased[key] = true
		}
	}
	return erased, nil
}

// numberHasher returns a function that hashes the number keys of a company's contacts.
func (t *Tx) numberHasher(company int64) func(numberKey string) []byte {
	key := t.Host.Sealer.Derive("imported numbers")
	return func(numberKey string) []byte {
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%d/%s", company, numberKey)
		return mac.Sum(nil)
	}
}
