package store

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module/dberr"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// Client is a row of scheduling.clients.
type Client = dbgen.Client

// VisitDates are a client's last completed and next open appointment, zero for none.
type VisitDates = dbgen.ClientVisitDatesRow

// ClientSearch describes the clients to find. Empty fields match nothing, except Term.
type ClientSearch struct {
	Term     string   // in name or e-mail address, a LIKE pattern; "" matches all
	Digits   string   // in the phone number
	Phones   []string // complete numbers
	CPFHash  []byte   // of a complete tax id
	CPFParts []int64  // of the first or last digits of a tax id
}

// FindClients loads a page of the clients that match, ordered by name, and their total
// number.
func (d DB) FindClients(ctx context.Context, org uuid.UUID, search ClientSearch, page Page) (clients []Client, total int, err error) {
	params := dbgen.SearchClientsParams{
		OrgID: org, Term: search.Term, Digits: search.Digits, Phones: search.Phones, CpfHash: search.CPFHash, CpfPart: search.CPFParts, RowLimit: page.Limit, RowOffset: page.Offset,
	}
	rows, err := d.SearchClients(ctx, params)
	if err != nil {
		return nil, 0, err
	}
	for _, row := range rows {
		clients = append(clients, row.Client)
	}
	if len(rows) == 0 && page.Offset > 0 { // beyond the last page
		params.RowLimit, params.RowOffset = 1, 0
		if rows, err = d.SearchClients(ctx, params); err != nil {
			return nil, 0, err
		}
	}
	if len(rows) > 0 {
		total = int(rows[0].Total)
	}
	return clients, total, nil
}

// LoadVisitDates loads the visit dates of clients, by client.
func (s *Store) LoadVisitDates(ctx context.Context, org uuid.UUID, clients []uuid.UUID) (map[uuid.UUID]VisitDates, error) {
	rows, err := s.ClientVisitDates(ctx, dbgen.ClientVisitDatesParams{Now: s.host.Now(), OrgID: org, ClientIds: clients})
	byClient := make(map[uuid.UUID]VisitDates, len(rows))
	for _, row := range rows {
		byClient[row.ID] = row
	}
	return byClient, err
}

// SaveClient stores a changed client.
func (t *Tx) SaveClient(ctx context.Context, client Client) (Client, error) {
	return t.UpdateClient(ctx, dbgen.UpdateClientParams{
		OrgID: client.OrgID, ID: client.ID, Name: client.Name, Phone: client.Phone, PhoneE164: client.PhoneE164, Email: client.Email, CpfSealed: client.CpfSealed, CpfHash: client.CpfHash,
		BirthDate: client.BirthDate, Notes: client.Notes, Tags: append([]string{}, client.Tags...), IsBlocked: client.IsBlocked, NameSource: client.NameSource, EmailSource: client.EmailSource, UpdatedAt: t.now,
		CpfParts: client.CpfParts, MarketingConsentAt: client.MarketingConsentAt, MarketingConsentSource: client.MarketingConsentSource,
	})
}

// LoadClient loads a client, or returns [hub.ErrNotFound].
func (t *Tx) LoadClient(ctx context.Context, org, id uuid.UUID) (Client, error) {
	client, err := t.ClientByID(ctx, org, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return client, hub.NotFound("Client")
	}
	return client, dberr.Wrap("loading the client", err)
}

// AddClient stores a client, with the sign-up bonus of the loyalty program. source is
// the origin of the name: staff, client, or a connected product.
func (t *Tx) AddClient(ctx context.Context, client Client, source string) (Client, error) {
	created, err := t.CreateClient(ctx, dbgen.CreateClientParams{
		OrgID: client.OrgID, ID: client.ID, Name: client.Name, Phone: client.Phone, PhoneE164: client.PhoneE164, Email: client.Email, CpfSealed: client.CpfSealed, CpfHash: client.CpfHash,
		BirthDate: client.BirthDate, Notes: client.Notes, Tags: append([]string{}, client.Tags...), IsBlocked: client.IsBlocked, NameSource: source, CreatedAt: t.now, CpfParts: client.CpfParts,
		MarketingConsentAt: client.MarketingConsentAt, MarketingConsentSource: client.MarketingConsentSource,
	})
	if err != nil {
		return created, err
	}
	program, err := LoadLoyalty(ctx, t.DB, client.OrgID)
	if err != nil || !program.Enabled || program.SignupBonus == 0 {
		return created, err
	}
	err = t.AddPoints(ctx, PointsChange{Org: client.OrgID, Client: client.ID, Type: "bonus", Points: program.SignupBonus, Source: "signup:" + client.ID.String()})
	created.LoyaltyPoints = program.SignupBonus
	return created, err
}

// Contact is the name and address that a person enters when booking.
type Contact struct {
	Name, Phone, Email string // the last two may be ""
	Source             string // as in [Tx.AddClient]
	MarketingConsent   bool   // consents to marketing
}

// FindOrCreateClient finds the client with the contact's phone, or without a phone by
// e-mail address, or creates one. Of several clients with the phone it is the one with the
// contact's name, or else the oldest. Stored details are neither changed nor disclosed. No
// other transaction finds or creates the same client until this one ends.
func (t *Tx) FindOrCreateClient(ctx context.Context, org uuid.UUID, contact Contact) (Client, error) {
	created := Client{OrgID: org, ID: NewID(), Name: contact.Name}
	if err := t.lockContacts(ctx, org, contact); err != nil {
		return created, err
	}
	client, found, err := t.findClient(ctx, org, contact)
	if err != nil || found {
		return client, err
	}
	if contact.Phone != "" {
		created.Phone, created.PhoneE164 = &contact.Phone, booking.E164(contact.Phone)
	}
	if contact.Email != "" {
		created.Email = &contact.Email
	}
	return t.AddClient(ctx, created, contact.Source)
}

func (t *Tx) findClient(ctx context.Context, org uuid.UUID, contact Contact) (client Client, found bool, err error) {
	switch {
	case contact.Phone != "":
		matches, err := t.ClientsByPhone(ctx, org, booking.PhoneForms(contact.Phone))
		if err != nil || len(matches) == 0 {
			return client, false, err
		}
		client, err = t.chooseClient(ctx, matches, contact.Name)
		return client, err == nil, err
	case contact.Email != "":
		client, err = t.ClientByEmail(ctx, org, contact.Email)
		if errors.Is(err, pgx.ErrNoRows) {
			return client, false, nil
		}
		return client, err == nil, err
	}
	return client, false, nil
}

// chooseClient returns the client who has the name, of several who share a phone, or the oldest
// one. Case, accents and spaces do not matter.
func (t *Tx) chooseClient(ctx context.Context, clients []Client, name string) (Client, error) {
	if len(clients) == 1 {
		return clients[0], nil
	}
	form, err := t.SearchForm(ctx, name)
	if err != nil {
		return Client{}, err
	}
	for _, client := range clients {
		if (booking.Person{Name: form}).Agrees(booking.Person{Name: client.NameSearch}) {
			return client, nil
		}
	}
	return clients[0], nil
}

// contactOverride is the name and address for an appointment's e-mails, where they differ
// from the client's.
type contactOverride struct{ name, email *string }

// resolveContact returns the recipient of e-mails about a booking. Several people may share
// a client's phone, so the name and address that were typed are used. The stored
// address is used only where the name is the client's.
func (t *Tx) resolveContact(ctx context.Context, c *Contact, client Client) (contactOverride, error) {
	if c == nil {
		return contactOverride{}, nil
	}
	name, email := c.Name, c.Email
	if name == "" {
		name = client.Name
	}
	if email != "" {
		return contactOverride{&name, &email}, nil
	}
	form, err := t.SearchForm(ctx, name)
	if err != nil || (booking.Person{Name: form}).Agrees(booking.Person{Name: client.NameSearch}) {
		return contactOverride{}, err
	}
	return contactOverride{&name, &email}, nil
}

// hasEmail reports whether there is an address for e-mails.
func (o contactOverride) hasEmail(client Client) bool {
	if o.email != nil {
		return *o.email != ""
	}
	return client.Email != nil
}
