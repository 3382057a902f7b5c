package store

import (
	"context"
	"fmt"

	"integrationhub/hub/events"
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
	row, err := t.UpsertContact(ctx, dbgen.UpsertContactParams{
		CompanyID: scope.Company, Name: name, Number: number, NumberKey: chat.NumberKey(number), CreatedAt: t.Now(),
	})
	if err != nil {
		return Contact{}, fmt.Errorf("finding the contact: %w", err)
	}
	contact := row.Contact
	if row.Created {
		_, err = t.Publish(ctx, scope.Tenant, environment, events.ContactCreated{Phone: chat.FormatE164(contact.Number), Name: contact.Name, Email: contact.Email})
	}
	return contact, err
}
