package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/module"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store/dbgen"
)

// HandleEvent applies an event of a connected product. It returns [module.ErrIgnored] for an
// event without effect here.
func (t *Tx) HandleEvent(ctx context.Context, event hub.Event) error {
	if event.Environment == hub.Test {
		return module.ErrIgnored
	}
	switch event.Type {
	case events.TypePatientCreated, events.TypePatientUpdated:
		return t.forgetLinks(ctx, event)
	case events.TypePatientDeleted:
	default:
		return module.ErrIgnored
	}
	var patient events.PatientDeleted
	if err := decodeEvent(event, &patient); err != nil {
		return err
	}
	company, err := t.CompanyByTenant(ctx, event.TenantID)
	if err != nil {
		return fmt.Errorf("loading the company: %w", err)
	}
	return t.anonymizePerson(ctx, Scope{company.ID, company.TenantID}, event, patient)
}

func decodeEvent(event hub.Event, data any) error {
	if err := json.Unmarshal(event.Data, data); err != nil {
		return hub.Errorf(hub.ErrMalformed, "malformed", "The event's data does not have the documented form.").WithCause(err)
	}
	return nil
}

// forgetLinks deletes what is known of the links of contacts with a patient's number: for a
// new patient only that they are not linked, for a changed one everything. The connected
// product is asked again at the contact's next event.
func (t *Tx) forgetLinks(ctx context.Context, event hub.Event) error {
	var patient struct {
		Phone *string `json:"phone"`
	}
	if err := decodeEvent(event, &patient); err != nil {
		return err
	}
	if patient.Phone == nil {
		return module.ErrIgnored
	}
	company, err := t.CompanyByTenant(ctx, event.TenantID)
	if err != nil {
		return fmt.Errorf("loading the company: %w", err)
	}
	changed, err := t.ForgetLinks(ctx, company.ID, numberKeys(*patient.Phone), event.Type == events.TypePatientUpdated)
	if err == nil && changed == 0 {
		err = module.ErrIgnored
	}
	return err
}

// anonymizePerson anonymizes the contacts who are a deleted patient. Earlier names do not count:
// a contact with an earlier number is anonymized under any name, others by the present one.
func (t *Tx) anonymizePerson(ctx context.Context, scope Scope, event hub.Event, patient events.PatientDeleted) error {
	search := dbgen.LockContactsOfPersonParams{CompanyID: scope.Company, OwnKeys: numberKeys(patient.Phones...), SharedKeys: []string{}, Name: patient.Name}
	if patient.Phone != nil {
		if keys := numberKeys(*patient.Phone); patient.PhoneShared {
			search.SharedKeys = keys
		} else {
			search.OwnKeys = append(search.OwnKeys, keys...)
		}
	}
	if patient.Email != nil {
		search.Email = *patient.Email
	}
	contacts, err := t.LockContactsOfPerson(ctx, search)
	if err != nil {
		return fmt.Errorf("finding the contacts of a deleted patient: %w", err)
	}
	var traces module.LogTraces
	for _, contact := range contacts {
		if contact.Email != "" {
			traces.Emails = append(traces.Emails, contact.Email)
		}
		traces.Names = append(traces.Names, contact.Name)
		switch number := chat.FormatE164(contact.Number); {
		case number == "": // it matched by its address
		case patient.PhoneShared:
			traces.Shared = append(traces.Shared, number)
		default:
			traces.Phones = append(traces.Phones, number)
		}
		if _, err := t.anonymizeContact(ctx, scope, contact); err != nil {
			return err
		}
	}
	if len(contacts) == 0 {
		return module.ErrIgnored
	}
	return t.Host.Erasures.AddTraces(ctx, t.Raw, event, traces)
}

// numberKeys returns the keys of numbers in international format. Others are left out.
func numberKeys(phones ...string) []string {
	keys := []string{}
	for _, phone := range phones {
		if number := strings.TrimPrefix(phone, "+"); chat.IsNumber(number) {
			keys = append(keys, chat.NumberKey(number))
		}
	}
	return keys
}

// ContactByNumber returns the contact with a number, with or without its ninth digit. It
// returns [pgx.ErrNoRows] if there is none.
func (s *Store) ContactByNumber(ctx context.Context, company int64, number string) (Contact, error) {
	contacts, err := s.ContactsByNumberKey(ctx, company, []string{chat.NumberKey(number)})
	if err == nil && len(contacts) == 0 {
		err = pgx.ErrNoRows
	}
	if err != nil {
		return Contact{}, err
	}
	return contacts[0], nil
}

// PeerTicket is a ticket as connected products see it.
type PeerTicket = dbgen.LatestTicketsOfContactsRow

// LatestTickets returns the tickets of a contact in a status, "" for every one, the newest
// first.
func (s *Store) LatestTickets(ctx context.Context, company, contact int64, status chat.TicketStatus, limit int) ([]PeerTicket, error) {
	return s.LatestTicketsOfContacts(ctx, dbgen.LatestTicketsOfContactsParams{CompanyID: company, Contacts: []int64{contact}, Status: string(status), MaxRows: limit})
}
