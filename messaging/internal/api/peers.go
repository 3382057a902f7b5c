package api

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/brazil"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store"
)

// What connected products ask for. Members are named as in docs/interfaces/clinic.md.

// RegisterSearches registers the rows below search/*.
func (a *API) RegisterSearches(api huma.API) {
	rest.Register(api, rest.Map(a.SearchRoutes(), withPlatformErrors), docs, a.checkRateLimit)
}

// RegisterActions registers the rows below action/*.
func (a *API) RegisterActions(api huma.API) {
	rest.Register(api, rest.Map(a.ActionRoutes(), withPlatformErrors), docs, a.checkRateLimit)
}

// peerScope returns the company of a key.
func (a *API) peerScope(ctx context.Context) (store.Scope, error) {
	caller, err := rest.RequireCaller(ctx)
	if err != nil {
		return store.Scope{}, err
	}
	company, err := a.store.CompanyByTenant(ctx, caller.TenantID)
	return store.Scope{Company: company.ID, Tenant: company.TenantID}, err
}

// FoundContact is a contact as connected products see it.
type FoundContact struct {
	ID        string     `json:"id" doc:"Id of the contact" example:"5"`
	Name      string     `json:"name" doc:"Its number, until a name is known" example:"Ana Souza"`
	Phone     string     `json:"phone" doc:"International, with its plus" example:"+5511987654321"`
	Email     string     `json:"email" doc:"Empty: unknown" example:"ana@example.com"`
	Consent   string     `json:"consent" enum:"unknown,opted_in,opted_out" doc:"opted_out: gets answers only"`
	LastSeen  *time.Time `json:"last_message_at" doc:"When it last wrote; null: never"`
	CreatedAt time.Time  `json:"created_at" doc:"When it was made"`
}

// ContactQuery holds the phone number of a search.
type ContactQuery struct {
	Phone string `query:"phone" required:"true" maxLength:"40" doc:"International, with or without its plus; a Brazilian mobile number with or without its ninth digit" example:"+5511987654321"`
}

type foundContactOutput struct {
	Body struct {
		Found   bool          `json:"found" doc:"The company has a contact with this number"`
		Contact *FoundContact `json:"contact" doc:"The contact; null: there is none"`
	} `nameHint:"ContactSearch"`
}

func (a *API) searchContactForPeer(ctx context.Context, in *ContactQuery) (*foundContactOutput, error) {
	scope, err := a.peerScope(ctx)
	if err != nil {
		return nil, err
	}
	module.RequireAudit(ctx) // also if no contact is found
	out := &foundContactOutput{}
	contact, isKnown, err := a.contactByPhone(ctx, scope, in.Phone)
	if err != nil || !isKnown {
		return out, err
	}
	module.SetSubject(ctx, chat.FormatID(contact.ID))
	out.Body.Found = true
	out.Body.Contact = &FoundContact{
		chat.FormatID(contact.ID), contact.Name, chat.FormatE164(contact.Number), contact.Email, contact.Consent, contact.LastInboundAt, contact.CreatedAt.UTC(),
	}
	return out, nil
}

// contactByPhone returns the contact with a phone number as other products write it. A text
// that is no number is a [hub.ErrInvalid].
func (a *API) contactByPhone(ctx context.Context, scope store.Scope, phone string) (contact store.Contact, isKnown bool, err error) {
	number := strings.TrimPrefix(brazil.PhoneFromQuery(phone), "+")
	if !chat.IsNumber(number) {
		return contact, false, errInvalidNumber("query.phone")
	}
	contact, err = a.store.ContactByNumber(ctx, scope.Company, number)
	if errors.Is(err, pgx.ErrNoRows) {
		return contact, false, nil
	}
	return contact, err == nil, err
}

type searchTicketsInput struct {
	Phone     string `query:"phone" maxLength:"40" doc:"Tickets of the contact with this number; instead of contact_id" example:"+5511987654321"`
	ContactID int64  `query:"contact_id" minimum:"1" maximum:"9007199254740991" doc:"Tickets of this contact; instead of phone" example:"5"`
	Status    string `query:"status" enum:"open,closed,pending" doc:"Only tickets in this state"`
	Limit     int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"How many at most"`
}

// FoundTicket is a ticket as connected products see it: without what was written.
type FoundTicket struct {
	ID         string            `json:"id" doc:"Id of the ticket" example:"12"`
	ContactID  string            `json:"contact_id" doc:"Whom the conversation is with" example:"5"`
	Status     chat.TicketStatus `json:"status" enum:"open,pending,closed" doc:"pending: waits for a user"`
	Queue      *string           `json:"queue" doc:"Name of its queue; null: none" example:"Sales"`
	Resolution *string           `json:"resolution" doc:"How it ended; null: nobody wrote it"`
	CreatedAt  time.Time         `json:"created_at" doc:"When it was made"`
	ClosedAt   *time.Time        `json:"closed_at" doc:"When it was closed; null: it is not"`
}

type foundTicketsOutput struct {
	Body struct {
		Tickets []FoundTicket `json:"tickets" nullable:"false" doc:"The newest first"`
	} `nameHint:"TicketSearch"`
}

func (a *API) searchTicketsForPeer(ctx context.Context, in *searchTicketsInput) (*foundTicketsOutput, error) {
	scope, err := a.peerScope(ctx)
	if err != nil {
		return nil, err
	}
	if (in.Phone == "") == (in.ContactID == 0) {
		return nil, hub.Invalid("query", "must have either phone or contact_id")
	}
	module.RequireAudit(ctx)
	out := &foundTicketsOutput{}
	out.Body.Tickets = []FoundTicket{}
	contact := in.ContactID
	if in.Phone != "" {
		row, isKnown, err := a.contactByPhone(ctx, scope, in.Phone)
		if err != nil || !isKnown {
			return out, err
		}
		contact = row.ID
	}
	rows, err := a.store.LatestTickets(ctx, scope.Company, contact, chat.TicketStatus(in.Status), in.Limit)
	if err != nil || len(rows) == 0 {
		return out, err
	}
	module.SetSubject(ctx, chat.FormatID(contact))
	out.Body.Tickets = rest.Map(rows, func(row store.PeerTicket) FoundTicket {
		t := row.Ticket
		return FoundTicket{chat.FormatID(t.ID), chat.FormatID(t.ContactID), t.Status, row.QueueName, t.Resolution, t.CreatedAt.UTC(), t.ClosedAt}
	})
	return out, nil
}

// peerID is an id in the body of a connected product: a number, or its digits as a text. Products
// know both forms.
type peerID int64

// UnmarshalJSON implements [json.Unmarshaler].
func (id *peerID) UnmarshalJSON(b []byte) error {
	var text json.Number // of either form
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	value, err := strconv.ParseInt(text.String(), 10, 64)
	*id = peerID(value)
	return err
}

// Schema returns a schema that has both forms.
func (peerID) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{
		{Type: huma.TypeString, Pattern: "^[1-9][0-9]{0,17}$", MaxLength: new(18)},
		{Type: huma.TypeInteger, Minimum: new(1.0), Maximum: new(9007199254740991.0)},
	}}
}

type closeTicketInput struct {
	Body struct {
		TicketID   peerID  `json:"ticket_id" doc:"Id of the ticket: a text, as the events and searches have it, or a number, as ticketId of the send API is" example:"12"`
		Resolution *string `json:"resolution,omitempty" maxLength:"500" doc:"How it ended" example:"Booked"`
	} `nameHint:"CloseTicket"`
}

type closedTicketOutput struct {
	Body struct {
		TicketID string            `json:"ticket_id" doc:"Ticket that is closed now"`
		Status   chat.TicketStatus `json:"status" enum:"closed" doc:"Always closed; closing a closed ticket changes nothing"`
	} `nameHint:"ClosedTicket"`
}

func (a *API) closeTicketForPeer(ctx context.Context, in *closeTicketInput) (*closedTicketOutput, error) {
	scope, err := a.peerScope(ctx)
	if err != nil {
		return nil, err
	}
	if caller, _ := module.CallerFrom(ctx); caller.Environment == hub.Test {
		return nil, errTestKey()
	}
	id := int64(in.Body.TicketID)
	out := &closedTicketOutput{}
	out.Body.TicketID, out.Body.Status = chat.FormatID(id), chat.TicketClosed
	return out, a.outbound.CloseTicket(ctx, scope, id, in.Body.Resolution)
}

// errTestKey is the error for what keys of the test environment may not do.
func errTestKey() *hub.Error {
	return hub.Errorf(hub.ErrForbidden, "no_permission", "A company has one set of data: keys of the test environment read it, and send on sandbox connections only.")
}

// SearchPhone returns the contacts of all companies with a phone number, for the console's
// search.
func (a *API) SearchPhone(ctx context.Context, phone string) ([]module.PersonMatch, error) {
	number := strings.TrimPrefix(phone, "+")
	if !chat.IsNumber(number) {
		return nil, nil
	}
	rows, err := a.store.ContactsOfAllCompanies(ctx, chat.NumberKey(number))
	matches := make([]module.PersonMatch, len(rows))
	for i, row := range rows {
		matches[i] = contactMatch(row.TenantID, row.Contact)
	}
	return matches, err
}

// SearchEmail returns the contacts of all companies with an e-mail address, for the
// console's search.
func (a *API) SearchEmail(ctx context.Context, email string) ([]module.PersonMatch, error) {
	rows, err := a.store.ContactsOfAllCompaniesByEmail(ctx, email)
	matches := make([]module.PersonMatch, len(rows))
	for i, row := range rows {
		matches[i] = contactMatch(row.TenantID, row.Contact)
	}
	return matches, err
}

func contactMatch(tenant uuid.UUID, contact store.Contact) module.PersonMatch {
	return module.PersonMatch{TenantID: tenant, Kind: "contact", ID: chat.FormatID(contact.ID), Name: contact.Name}
}
