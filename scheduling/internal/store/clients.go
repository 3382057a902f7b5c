package store

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// AddClient stores a client, with the points new clients get. source is who told
// its name: staff, client, or a connected product.
func (t *Tx) AddClient(ctx context.Context, c dbgen.Client, source string) (dbgen.Client, error) {
	made, err := t.CreateClient(ctx, dbgen.CreateClientParams{
		OrgID: c.OrgID, ID: c.ID, Name: c.Name, Phone: c.Phone, PhoneE164: c.PhoneE164, Email: c.Email, CpfSealed: c.CpfSealed, CpfHash: c.CpfHash,
		BirthDate: c.BirthDate, Notes: c.Notes, Tags: append([]string{}, c.Tags...), IsBlocked: c.IsBlocked, NameSource: source, CreatedAt: t.now, CpfParts: c.CpfParts,
		MarketingConsentAt: c.MarketingConsentAt, MarketingConsentSource: c.MarketingConsentSource,
	})
	if err != nil {
		return made, err
	}
	program, err := LoadLoyalty(ctx, t.Queries, c.OrgID)
	if err != nil || !program.Enabled || program.SignupBonus == 0 {
		return made, err
	}
	err = t.AddPoints(ctx, Points{Org: c.OrgID, Client: c.ID, Type: "bonus", Points: program.SignupBonus, Source: "signup:" + c.ID.String()})
	made.LoyaltyPoints = program.SignupBonus
	return made, err
}

// Contact is somebody as they present themselves.
type Contact struct {
	Name, Phone, Email string // the last two may be ""
	Source             string // as [Tx.AddClient] has it
	MarketingConsent   bool   // to be written to now and then
}

// FindOrCreateClient finds the client with somebody's phone, or of somebody who tells none with their
// e-mail address, or makes one. What is stored of a client is neither changed nor told.
// Until the transaction ends nobody else finds or makes the same one.
func (t *Tx) FindOrCreateClient(ctx context.Context, org uuid.UUID, c Contact) (dbgen.Client, error) {
	made := dbgen.Client{OrgID: org, ID: NewID(), Name: c.Name}
	if err := t.lockContacts(ctx, org, c); err != nil {
		return made, err
	}
	known, found, err := t.findClient(ctx, org, c)
	if err != nil || found {
		return known, err
	}
	if c.Phone != "" {
		made.Phone, made.PhoneE164 = &c.Phone, booking.E164(c.Phone)
	}
	if c.Email != "" {
		made.Email = &c.Email
	}
	return t.AddClient(ctx, made, c.Source)
}

func (t *Tx) findClient(ctx context.Context, org uuid.UUID, c Contact) (known dbgen.Client, found bool, err error) {
	switch {
	case c.Phone != "":
		same, err := t.ClientsByPhone(ctx, org, booking.PhoneForms(c.Phone))
		if err != nil || len(same) == 0 {
			return known, false, err
		}
		return same[0], true, nil
	case c.Email != "":
		known, err = t.ClientByEmail(ctx, org, c.Email)
		if errors.Is(err, pgx.ErrNoRows) {
			return known, false, nil
		}
		return known, err == nil, err
	}
	return known, false, nil
}

// contact is who is told of an appointment: name and address as an appointment keeps
// them.
type contact struct{ name, email *string }

// resolveRecipient says who is told of a booking. Several people may share a client's phone:
// the one who books is told under the name and address they typed, and the address on
// file is used for who has the client's name.
func (t *Tx) resolveRecipient(ctx context.Context, c *Contact, client dbgen.Client) (contact, error) {
	if c == nil {
		return contact{}, nil
	}
	name, email := c.Name, c.Email
	if name == "" {
		name = client.Name
	}
	if email != "" {
		return contact{&name, &email}, nil
	}
	form, err := t.SearchForm(ctx, name)
	if err != nil || (booking.Person{Name: form}).Agrees(booking.Person{Name: client.NameSearch}) {
		return contact{}, err
	}
	return contact{&name, &email}, nil
}

// hasEmail tells whether there is an address to write to.
func (c contact) hasEmail(client dbgen.Client) bool {
	if c.email != nil {
		return *c.email != ""
	}
	return client.Email != nil
}
