package api

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"integrationhub/hub"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store"
)

// Bounds of contacts.
const (
	contactsPerPage   = 30
	maxExtraInfo      = 50
	maxExtraInfoName  = 60
	maxExtraInfoValue = 1000
)

// Contact is a person who writes to the company.
type Contact struct {
	ID            int64        `json:"id" doc:"Id of the contact" example:"5"`
	CompanyID     int64        `json:"companyId" doc:"Company that owns it" example:"1"`
	Name          string       `json:"name" doc:"Its number, until a name is known" example:"Ana Souza"`
	Number        string       `json:"number" doc:"Digits with the country code; empty: anonymized, or known to the network by its lid only" example:"5511987654321"`
	NumberKey     string       `json:"numberKey" doc:"Equal for a Brazilian mobile number with and without its ninth digit; unique in the company" example:"5511987654321"`
	LID           *string      `json:"lid" doc:"The network's own id of the contact; null: none"`
	Email         string       `json:"email" doc:"Empty: unknown" example:"ana@example.com"`
	ProfilePicURL string       `json:"profilePicUrl" doc:"Picture at the network; empty: none"`
	IsGroup       bool         `json:"isGroup" doc:"Always false: groups are not received"`
	Channel       string       `json:"channel" enum:"whatsapp" doc:"The kind of network"`
	DisableBot    bool         `json:"disableBot" doc:"Gets no automatic messages"`
	ExtraInfo     []ExtraInfo  `json:"extraInfo" nullable:"false" doc:"What else is known"`
	Tags          []TagSummary `json:"tags" nullable:"false" doc:"Its tags, ordered by name"`
	Consent       string       `json:"consent" enum:"unknown,opted_in,opted_out" doc:"opted_out: gets no campaigns"`
	ConsentAt     *time.Time   `json:"consentAt" doc:"When the consent was changed; null: never"`
	AnonymizedAt  *time.Time   `json:"anonymizedAt" doc:"When its data was erased; null: it was not"`
	CreatedAt     time.Time    `json:"createdAt" doc:"When it was made"`
	UpdatedAt     time.Time    `json:"updatedAt" doc:"Last change"`
}

// ExtraInfo is one more fact of a contact.
type ExtraInfo struct {
	Name  string `json:"name" minLength:"1" maxLength:"60" doc:"What it is" example:"Birthday"`
	Value string `json:"value" required:"false" maxLength:"1000" doc:"The fact; in requests, absent: empty" example:"2 March"`
}

type contactOutput struct{ Body Contact }

func errNoContact() *hub.Error { return notFound("no_contact_found", "contact") }

// errAnonymized is the error of what cannot be done with a contact whose data was erased.
func errAnonymized() *hub.Error {
	return refused("anonymized_contact", "The contact's data was erased; make a new contact.")
}

// errInvalidNumber is the error of a number in a field that is not one.
func errInvalidNumber(location string) *hub.Error {
	return invalidField("invalid_number", location, "Invalid number format: digits with country code")
}

// loadContacts returns contacts with their tags.
func (a *API) loadContacts(ctx context.Context, company int64, rows []store.Contact) ([]Contact, error) {
	tags, err := a.store.TagsOfContacts(ctx, company, rest.Map(rows, func(c store.Contact) int64 { return c.ID }))
	if err != nil {
		return nil, err
	}
	return toContacts(rows, tags)
}

// toContacts returns contacts with the given tags.
func toContacts(rows []store.Contact, tags []store.ContactTag) ([]Contact, error) {
	contacts := make([]Contact, len(rows))
	byID := make(map[int64]*Contact, len(rows))
	for i, c := range rows {
		contacts[i] = Contact{
			ID: c.ID, CompanyID: c.CompanyID, Name: c.Name, Number: c.Number, NumberKey: c.NumberKey, LID: c.LID, Email: c.Email, ProfilePicURL: c.PictureURL,
			IsGroup: c.IsGroup, Channel: "whatsapp", DisableBot: c.DisableBot, ExtraInfo: []ExtraInfo{}, Tags: []TagSummary{}, Consent: c.Consent,
			ConsentAt: c.ConsentAt, AnonymizedAt: c.AnonymizedAt, CreatedAt: c.CreatedAt.UTC(), UpdatedAt: c.UpdatedAt.UTC(),
		}
		byID[c.ID] = &contacts[i]
		if err := json.Unmarshal(c.ExtraInfo, &contacts[i].ExtraInfo); err != nil {
			return nil, fmt.Errorf("decoding a contact's extra information: %w", err)
		}
	}
	for _, tag := range tags {
		c := byID[tag.ContactID]
		c.Tags = append(c.Tags, TagSummary{tag.ID, tag.Name, tag.Color})
	}
	return contacts, nil
}

// contactOutput returns the response for one contact.
func (a *API) contactOutput(ctx context.Context, row store.Contact) (*contactOutput, error) {
	contacts, err := a.loadContacts(ctx, row.CompanyID, []store.Contact{row})
	if err != nil {
		return nil, err
	}
	return &contactOutput{contacts[0]}, nil
}

type listContactsInput struct {
	PageNumber  int    `query:"pageNumber" minimum:"1" maximum:"100000" default:"1" doc:"From 1; a page has 30 contacts"`
	SearchParam string `query:"searchParam" maxLength:"200" doc:"Part of the name, number or e-mail address, or a whole number in any form"`
	TagID       int64  `query:"tagId" minimum:"1" maximum:"9007199254740991" doc:"Only contacts with this tag"`
	Consent     string `query:"consent" enum:"unknown,opted_in,opted_out" doc:"Only contacts with this consent"`
}

// ContactPage is a page of contacts, ordered by name.
type ContactPage struct {
	Contacts []Contact `json:"contacts" nullable:"false" doc:"The page"`
	Count    int       `json:"count" doc:"Of all pages"`
	HasMore  bool      `json:"hasMore" doc:"There is another page"`
}

func (a *API) listContacts(ctx context.Context, in *listContactsInput) (*struct{ Body ContactPage }, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	filter := store.ContactFilter{
		Search: in.SearchParam, TagID: in.TagID, Consent: in.Consent, Page: store.Page{Offset: (in.PageNumber - 1) * contactsPerPage, Limit: contactsPerPage},
	}
	if filter.Viewer, err = a.viewerOf(ctx, user); err != nil {
		return nil, err
	}
	rows, count, err := a.store.ListContacts(ctx, user.scope, filter)
	if err != nil {
		return nil, err
	}
	contacts, err := a.loadContacts(ctx, user.scope.Company, rows)
	return &struct{ Body ContactPage }{ContactPage{contacts, count, count > filter.Offset+len(contacts)}}, err
}

// requireContact returns a contact that the user sees. It is a [hub.ErrNotFound] if the
// company has none with this id, and a [hub.ErrForbidden] if all its tickets are others'.
func (a *API) requireContact(ctx context.Context, user userPrincipal, id int64) (store.Contact, error) {
	return requireContactIn(ctx, a.store, user, id)
}

// contactReader reads contacts and who sees them: the store, or a transaction.
type contactReader interface {
	queueReader
	Contact(ctx context.Context, companyID, id int64) (store.Contact, error)
	SeesContact(ctx context.Context, scope store.Scope, viewer *store.Viewer, id int64) (bool, error)
}

// requireContactIn is [API.requireContact] with what a reader finds.
func requireContactIn(ctx context.Context, reader contactReader, user userPrincipal, id int64) (store.Contact, error) {
	contact, err := reader.Contact(ctx, user.scope.Company, id)
	if err != nil {
		return contact, dberr.MapNoRows(err, errNoContact())
	}
	viewer, err := viewerIn(ctx, reader, user)
	if err != nil || viewer == nil {
		return contact, err
	}
	sees, err := reader.SeesContact(ctx, user.scope, viewer, id)
	if err == nil && !sees {
		err = errNoPermission()
	}
	return contact, err
}

func (a *API) getContact(ctx context.Context, in *IDParam) (*contactOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	contact, err := a.requireContact(ctx, user, in.ID)
	if err != nil {
		return nil, err
	}
	return a.contactOutput(ctx, contact)
}

// ContactFields are what may be changed of a contact.
type ContactFields struct {
	Name       rest.Optional[string]      `json:"name,omitempty" minLength:"1" maxLength:"120" doc:"Of the person" example:"Ana Souza"`
	Number     rest.Optional[string]      `json:"number,omitempty" minLength:"8" maxLength:"15" pattern:"^[1-9][0-9]{7,14}$" doc:"Digits with the country code" example:"5511987654321"`
	Email      rest.Optional[string]      `json:"email,omitempty" maxLength:"254" doc:"Empty: unknown" example:"ana@example.com"`
	DisableBot rest.Optional[bool]        `json:"disableBot,omitempty" doc:"Gets no automatic messages"`
	ExtraInfo  rest.Optional[[]ExtraInfo] `json:"extraInfo,omitempty" maxItems:"50" doc:"What else is known; replaces what was"`
	TagIDs     rest.Optional[[]int64]     `json:"tagIds,omitempty" maxItems:"100" doc:"Ids of its tags; replaces what was"`
	Consent    rest.Optional[string]      `json:"consent,omitempty" enum:"unknown,opted_in,opted_out" doc:"opted_out: gets no campaigns"`
}

// applyTo sets the fields but for the tags.
func (f ContactFields) applyTo(c *store.Contact, now time.Time) error {
	earlierConsent := c.Consent
	f.Name.ApplyTo(&c.Name)
	f.Number.ApplyTo(&c.Number)
	f.Email.ApplyTo(&c.Email)
	f.DisableBot.ApplyTo(&c.DisableBot)
	f.Consent.ApplyTo(&c.Consent)
	c.Name = strings.TrimSpace(c.Name)
	var errs rest.FieldErrors
	errs.CheckName(c.Name, "body.name", 120)
	if c.Email != "" {
		errs.CheckEmail(&c.Email, "body.email")
	}
	switch c.Consent {
	case chat.ConsentUnknown, chat.ConsentOptedIn, chat.ConsentOptedOut:
	default:
		errs.Check(false, "body.consent", "must be unknown, opted_in or opted_out")
	}
	errs.Check(len(f.TagIDs.Value) <= maxTagsOfObject, "body.tagIds", "must have at most 100 entries")
	if f.ExtraInfo.Set {
		f.checkExtraInfo(&errs)
		raw, err := json.Marshal(append([]ExtraInfo{}, f.ExtraInfo.Value...))
		if err != nil {
			return fmt.Errorf("encoding extra information: %w", err)
		}
		c.ExtraInfo = raw
	}
	if err := errs.Err(); err != nil {
		return err
	}
	isKept := !f.Number.Set && (c.Number != "" || c.LID != nil) // without a number no event had it yet
	if !isKept && !chat.IsNumber(c.Number) {
		return errInvalidNumber("body.number")
	}
	if c.Consent != earlierConsent {
		c.ConsentAt = &now
	}
	return nil
}

func (f ContactFields) checkExtraInfo(errs *rest.FieldErrors) {
	errs.Check(len(f.ExtraInfo.Value) <= maxExtraInfo, "body.extraInfo", "must have at most 50 entries")
	for _, info := range f.ExtraInfo.Value {
		errs.CheckName(info.Name, "body.extraInfo.name", maxExtraInfoName)
		errs.CheckLength(info.Value, "body.extraInfo.value", 0, maxExtraInfoValue)
	}
}

// mapContactConflict turns a violation of the unique number into an error for callers.
func mapContactConflict(err error) error {
	if dberr.ConstraintName(err) == "contacts_number" {
		return refused("duplicated_contact", "The company has another contact with this number.")
	}
	return err
}

type createContactInput struct {
	Body struct{ ContactFields } `nameHint:"ContactFields"`
}

func (a *API) createContact(ctx context.Context, in *createContactInput) (*contactOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	draft := store.Contact{CompanyID: user.scope.Company, ExtraInfo: json.RawMessage("[]"), Consent: chat.ConsentUnknown}
	if err := in.Body.applyTo(&draft, a.host.Now()); err != nil {
		return nil, err
	}
	var created store.Contact
	err = a.store.InTx(ctx, "making a contact", func(tx *store.Tx) error {
		created, err = tx.CreateContact(ctx, user.scope, draft, func(c store.Contact) error {
			return setTags(ctx, in.Body.TagIDs, tx.SetContactTags, c.CompanyID, c.ID)
		})
		return err
	})
	if err != nil {
		return nil, mapContactConflict(err)
	}
	return a.contactOutput(ctx, created)
}

type updateContactInput struct {
	IDParam
	Body struct{ ContactFields } `nameHint:"ContactFields"`
}

func (a *API) updateContact(ctx context.Context, in *updateContactInput) (*contactOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := a.requireContact(ctx, user, in.ID); err != nil {
		return nil, err
	}
	var saved store.Contact
	err = a.store.InTx(ctx, "changing a contact", func(tx *store.Tx) error {
		contact, err := tx.LockContact(ctx, user.scope.Company, in.ID)
		if err != nil {
			return dberr.MapNoRows(err, errNoContact())
		}
		if contact.AnonymizedAt != nil {
			return errAnonymized()
		}
		if err := in.Body.applyTo(&contact, tx.Now()); err != nil {
			return err
		}
		if saved, err = tx.SaveContact(ctx, contact); err != nil {
			return err
		}
		return setTags(ctx, in.Body.TagIDs, tx.SetContactTags, saved.CompanyID, saved.ID)
	})
	if err != nil {
		return nil, mapContactConflict(err)
	}
	return a.contactOutput(ctx, saved)
}

func (a *API) deleteContact(ctx context.Context, in *IDParam) (*messageOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	err = a.store.InTx(ctx, "deleting a contact", func(tx *store.Tx) error {
		return dberr.MapNoRows(tx.RemoveContact(ctx, user.scope.Company, in.ID), errNoContact())
	})
	return &messageOutput{Message{"Contact deleted"}}, err
}
