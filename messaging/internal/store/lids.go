package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub/module/pointer"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store/dbgen"
)

// A network may name a contact by its own id, the LID, with its number or without. A contact that
// has not shown its number yet is a contact without a number, until a message has both.

// maxContactName is the length of a contact's name, in characters.
const maxContactName = 120

// ChatName is how a network names the other side of a chat.
type ChatName struct {
	Number string // "" = the network does not tell it
	LID    string // "" = none; one of both is known
	Name   string // that the contact gave itself; "" = unknown
}

// ContactOfChat returns the contact of a chat at a network and locks it until the transaction
// ends, like [Tx.FindOrCreateContact]. It stores by which number and LID the network knows it.
// Where the number of a contact becomes known that had none, it is that contact's, or the two
// contacts become one.
func (t *Tx) ContactOfChat(ctx context.Context, scope Scope, of ChatName) (Contact, error) {
	if of.Number == "" {
		return t.contactOfLID(ctx, scope, of)
	}
	if of.LID == "" {
		return t.contactOfNumber(ctx, scope, of)
	}
	named, err := t.LockContactByLID(ctx, scope.Company, of.LID)
	switch {
	case err == nil && named.Number == "":
		return t.giveNumber(ctx, scope, named, of)
	case err != nil && !errors.Is(err, pgx.ErrNoRows):
		return Contact{}, fmt.Errorf("finding the contact of a LID: %w", err)
	}
	contact, err := t.contactOfNumber(ctx, scope, of)
	if err != nil || pointer.ValueOrZero(contact.LID) == of.LID {
		return contact, err
	}
	if err = t.ClearContactLID(ctx, scope.Company, contact.ID, &of.LID); err == nil {
		err = t.SetContactLID(ctx, scope.Company, contact.ID, &of.LID)
	}
	if contact.LID = &of.LID; err != nil {
		return contact, fmt.Errorf("storing a contact's LID: %w", err)
	}
	return contact, nil
}

// contactOfNumber is [Tx.ContactOfChat] by the number.
func (t *Tx) contactOfNumber(ctx context.Context, scope Scope, of ChatName) (Contact, error) {
	contact, err := t.FindOrCreateContact(ctx, scope, of.Number, of.Name)
	if err != nil {
		return contact, err
	}
	return t.StoreNetworkNumber(ctx, contact, of.Number)
}

// isReachedAt reports whether it is stored that the network knows a contact by a number, where it
// could be by another one.
func isReachedAt(contact Contact, number string) bool {
	return len(chat.NumberVariants(number)) == 1 || contact.NetworkNumber != nil && *contact.NetworkNumber == number
}

// StoreNetworkNumber stores the number by which the network knows a contact, where it could be
// another one.
func (t *Tx) StoreNetworkNumber(ctx context.Context, contact Contact, number string) (Contact, error) {
	if isReachedAt(contact, number) {
		return contact, nil
	}
	contact.NetworkNumber = &number
	if err := t.SetNetworkNumber(ctx, contact.CompanyID, contact.ID, &number); err != nil {
		return contact, fmt.Errorf("storing a contact's number at the network: %w", err)
	}
	return contact, nil
}

// NetworkNumberOf returns the number by which the network knows a contact, as far as it is known.
func NetworkNumberOf(contact Contact) string {
	if contact.NetworkNumber != nil {
		return *contact.NetworkNumber
	}
	return contact.Number
}

// contactOfLID is [Tx.ContactOfChat] by the LID alone.
func (t *Tx) contactOfLID(ctx context.Context, scope Scope, of ChatName) (Contact, error) {
	unnamed := chat.Truncate(of.LID, maxContactName)
	contact, err := t.LockContactByLID(ctx, scope.Company, of.LID)
	if errors.Is(err, pgx.ErrNoRows) {
		name := of.Name
		if name == "" {
			name = unnamed
		}
		row, err := t.InsertLIDContact(ctx, dbgen.InsertLIDContactParams{CompanyID: scope.Company, Name: name, LID: of.LID, At: t.Now()})
		if err != nil {
			return Contact{}, fmt.Errorf("storing a contact without a number: %w", err)
		}
		if row.Created {
			err = t.publishContacts(ctx, scope, []Contact{row.Contact})
		}
		return row.Contact, err
	}
	if err != nil {
		return contact, fmt.Errorf("finding the contact of a LID: %w", err)
	}
	isUnnamed := contact.Name == unnamed || contact.Name == contact.Number
	if of.Name == "" || !isUnnamed || of.Name == contact.Name {
		return contact, nil
	}
	contact.Name = of.Name
	if err := t.SetContactName(ctx, dbgen.SetContactNameParams{Name: of.Name, At: t.Now(), CompanyID: contact.CompanyID, ID: contact.ID}); err != nil {
		return contact, fmt.Errorf("storing a contact's name: %w", err)
	}
	return contact, nil
}

// giveNumber stores the number of a contact that had none. Where another contact has the number,
// the two become one.
func (t *Tx) giveNumber(ctx context.Context, scope Scope, contact Contact, of ChatName) (Contact, error) {
	known, err := t.LockContactByNumber(ctx, scope.Company, chat.NumberKey(of.Number))
	if err == nil {
		return t.mergeContact(ctx, scope, contact, known, of)
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return Contact{}, fmt.Errorf("finding the contact of a number: %w", err)
	}
	name := contact.Name
	if name == chat.Truncate(of.LID, maxContactName) {
		name = of.Number
	}
	if name == of.Number && of.Name != "" {
		name = of.Name
	}
	numbered, err := t.SetContactNumber(ctx, dbgen.SetContactNumberParams{
		Name: name, Number: of.Number, NumberKey: chat.NumberKey(of.Number), At: t.Now(), CompanyID: contact.CompanyID, ID: contact.ID,
	})
	if err != nil {
		return Contact{}, fmt.Errorf("storing a contact's number: %w", err)
	}
	return numbered, t.publishContactsToProducts(ctx, scope, []Contact{numbered}) // they know people by numbers
}

// mergeContact moves all that is of a contact without a number to the contact who is the same
// person, and deletes the former. The transaction has locked both.
func (t *Tx) mergeContact(ctx context.Context, scope Scope, from, into Contact, of ChatName) (Contact, error) {
	if err := t.mergeTickets(ctx, scope, from.ID, into.ID); err != nil {
		return into, err
	}
	for _, move := range []func(ctx context.Context, into, company, from int64) error{
		t.MoveTicketsOfContact, t.MoveMessagesOfContact, t.MoveOutboxOfContact, t.MoveSchedulesOfContact, t.MoveTagsOfContact, t.MoveListItemsOfContact,
	} {
		if err := move(ctx, into.ID, scope.Company, from.ID); err != nil {
			return into, fmt.Errorf("moving what a contact has: %w", err)
		}
	}
	name := into.Name
	if name == into.Number && from.Name != chat.Truncate(of.LID, maxContactName) {
		name = from.Name
	}
	if name == into.Number && of.Name != "" {
		name = of.Name
	}
	merged, err := t.MergeContact(ctx, dbgen.MergeContactParams{Name: name, At: t.Now(), CompanyID: scope.Company, ID: into.ID, Other: from.ID})
	if err != nil {
		return into, fmt.Errorf("merging contacts: %w", err)
	}
	if _, err := t.DeleteContact(ctx, scope.Company, from.ID); err != nil {
		return into, fmt.Errorf("deleting a merged contact: %w", err)
	}
	merged.LID = &of.LID
	if err := t.SetContactLID(ctx, scope.Company, into.ID, &of.LID); err != nil {
		return into, fmt.Errorf("storing a contact's LID: %w", err)
	}
	return t.StoreNetworkNumber(ctx, merged, of.Number)
}

// mergeTickets moves the messages of a contact's live tickets into those of another contact, where
// that has a live one on the same connection: a contact has one.
func (t *Tx) mergeTickets(ctx context.Context, scope Scope, from, into int64) error {
	tickets, err := t.LiveTicketsOfContact(ctx, scope.Company, from)
	if err != nil {
		return fmt.Errorf("loading a contact's tickets: %w", err)
	}
	for _, ticket := range tickets {
		if ticket.ConnectionID == nil { // it was deleted
			continue
		}
		live, err := t.LiveTicket(ctx, scope.Company, into, *ticket.ConnectionID)
		if errors.Is(err, pgx.ErrNoRows) {
			continue
		}
		if err != nil {
			return fmt.Errorf("loading a contact's ticket: %w", err)
		}
		if live.Status == chat.TicketPending && ticket.Status == chat.TicketOpen { // a user answers already
			live.Status, live.UserID, live.QueueID = ticket.Status, ticket.UserID, ticket.QueueID
			if live, err = t.SaveTicket(ctx, scope, chat.TicketPending, live); err != nil {
				return err
			}
		}
		err = t.MoveMessagesOfTicket(ctx, dbgen.MoveMessagesOfTicketParams{IntoTicket: live.ID, IntoContact: into, CompanyID: scope.Company, Ticket: ticket.ID})
		if err == nil {
			err = t.MergeTicket(ctx, dbgen.MergeTicketParams{At: t.Now(), CompanyID: scope.Company, IntoTicket: live.ID, Ticket: ticket.ID})
		}
		if err == nil {
			err = t.MergeTicketTags(ctx, live.ID, scope.Company, ticket.ID)
		}
		if err == nil {
			_, err = t.DeleteTicket(ctx, scope.Company, ticket.ID)
		}
		if err != nil {
			return fmt.Errorf("merging tickets: %w", err)
		}
	}
	return nil
}
