package api

import (
	"context"
	"strings"
	"time"

	"integrationhub/hub"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/store"
)

const (
	contactListsPerPage = 20
	maxContactListIDs   = 50_000 // in one request; a CSV import adds more
)

// ContactList is a list of contacts for campaigns.
type ContactList struct {
	ID            int64     `json:"id" doc:"Id of the list" example:"9"`
	CompanyID     int64     `json:"companyId" doc:"Company that owns it" example:"1"`
	Name          string    `json:"name" doc:"Unique in the company" example:"Customers of March"`
	ContactsCount int       `json:"contactsCount" doc:"How many contacts it has"`
	CreatedAt     time.Time `json:"createdAt" doc:"When it was made"`
	UpdatedAt     time.Time `json:"updatedAt" doc:"Last change of its name or contacts"`
}

// ContactListDetail is a list with its contacts.
type ContactListDetail struct {
	ContactList
	ContactIDs []int64 `json:"contactIds" nullable:"false" doc:"Who is on the list"`
}

type contactListOutput struct{ Body ContactListDetail }

func toContactList(list store.ContactList, size int) ContactList {
	return ContactList{list.ID, list.CompanyID, list.Name, size, list.CreatedAt.UTC(), list.UpdatedAt.UTC()}
}

func errNoContactList() *hub.Error { return notFound("no_contact_list_found", "contact list") }

// contactListOutput returns the response for one list.
func (a *API) contactListOutput(ctx context.Context, list store.ContactList) (*contactListOutput, error) {
	contacts, err := a.store.ContactIDsOfList(ctx, list.CompanyID, list.ID)
	return &contactListOutput{ContactListDetail{toContactList(list, len(contacts)), contacts}}, err
}

type listContactListsInput struct {
	PageNumber  int    `query:"pageNumber" minimum:"1" maximum:"100000" default:"1" doc:"From 1; a page has 20 lists"`
	SearchParam string `query:"searchParam" maxLength:"200" doc:"Part of the name"`
}

// ContactListList is a page of contact lists, ordered by name.
type ContactListList struct {
	ContactLists []ContactList `json:"contactLists" nullable:"false" doc:"The page"`
	Count        int           `json:"count" doc:"Of all pages"`
	HasMore      bool          `json:"hasMore" doc:"There is another page"`
}

func (a *API) listContactLists(ctx context.Context, in *listContactListsInput) (*struct{ Body ContactListList }, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	page := store.Page{Offset: (in.PageNumber - 1) * contactListsPerPage, Limit: contactListsPerPage}
	rows, count, err := a.store.ListContactLists(ctx, user.scope.Company, in.SearchParam, page)
	if err != nil {
		return nil, err
	}
	sizes, err := a.store.SizesOfContactLists(ctx, user.scope.Company, rest.Map(rows, func(l store.ContactList) int64 { return l.ID }))
	lists := rest.Map(rows, func(l store.ContactList) ContactList { return toContactList(l, sizes[l.ID]) })
	return &struct{ Body ContactListList }{ContactListList{lists, count, count > page.Offset+len(rows)}}, err
}

func (a *API) getContactList(ctx context.Context, in *IDParam) (*contactListOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	list, err := a.store.ContactList(ctx, user.scope.Company, in.ID)
	if err != nil {
		return nil, dberr.MapNoRows(err, errNoContactList())
	}
	return a.contactListOutput(ctx, list)
}

// ContactListFields are the settings of a contact list.
type ContactListFields struct {
	Name       rest.Optional[string]  `json:"name,omitempty" minLength:"1" maxLength:"120" doc:"Unique in the company" example:"Customers of March"`
	ContactIDs rest.Optional[[]int64] `json:"contactIds,omitempty" maxItems:"50000" doc:"Ids of its contacts; replaces what was. POST /contacts/import adds more"`
}

func (f ContactListFields) applyTo(list *store.ContactList) error {
	f.Name.ApplyTo(&list.Name)
	list.Name = strings.TrimSpace(list.Name)
	var errs rest.FieldErrors
	errs.CheckName(list.Name, "body.name", 120)
	errs.Check(len(f.ContactIDs.Value) <= maxContactListIDs, "body.contactIds", "must have at most 50000 entries")
	return errs.Err()
}

// saveContacts replaces the contacts of a list, where they are present.
func (f ContactListFields) saveContacts(ctx context.Context, tx *store.Tx, list store.ContactList) error {
	if !f.ContactIDs.Set {
		return nil
	}
	found, err := tx.SetContactListItems(ctx, list.CompanyID, list.ID, uniqueIDs(f.ContactIDs.Value))
	if err == nil && !found {
		err = errNoContact()
	}
	return err
}

// mapContactListConflict turns a violation of the unique name into an error for callers.
func mapContactListConflict(err error) error {
	if dberr.ConstraintName(err) == "contact_lists_name" {
		return refused("contact_list_name_already_exists", "The company has another contact list with this name.")
	}
	return err
}

type createContactListInput struct {
	Body struct{ ContactListFields } `nameHint:"ContactListFields"`
}

func (a *API) createContactList(ctx context.Context, in *createContactListInput) (*contactListOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	draft := store.ContactList{CompanyID: user.scope.Company}
	if err := in.Body.applyTo(&draft); err != nil {
		return nil, err
	}
	var created store.ContactList
	err = a.store.InTx(ctx, "making a contact list", func(tx *store.Tx) error {
		if created, err = tx.CreateContactList(ctx, draft); err != nil {
			return err
		}
		return in.Body.saveContacts(ctx, tx, created)
	})
	if err != nil {
		return nil, mapContactListConflict(err)
	}
	return a.contactListOutput(ctx, created)
}

type updateContactListInput struct {
	IDParam
	Body struct{ ContactListFields } `nameHint:"ContactListFields"`
}

func (a *API) updateContactList(ctx context.Context, in *updateContactListInput) (*contactListOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	var saved store.ContactList
	err = a.store.InTx(ctx, "changing a contact list", func(tx *store.Tx) error {
		list, err := tx.LockContactList(ctx, user.scope.Company, in.ID)
		if err != nil {
			return dberr.MapNoRows(err, errNoContactList())
		}
		if err := in.Body.applyTo(&list); err != nil {
			return err
		}
		if saved, err = tx.SaveContactList(ctx, list); err != nil {
			return err
		}
		return in.Body.saveContacts(ctx, tx, saved)
	})
	if err != nil {
		return nil, mapContactListConflict(err)
	}
	return a.contactListOutput(ctx, saved)
}

func (a *API) deleteContactList(ctx context.Context, in *IDParam) (*messageOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	deleted, err := a.store.DeleteContactList(ctx, user.scope.Company, in.ID)
	if err == nil && deleted == 0 {
		err = errNoContactList()
	}
	return &messageOutput{Message{"Contact list deleted"}}, err
}
