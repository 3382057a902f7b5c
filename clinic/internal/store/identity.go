package store

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store/dbgen"
)

// PatientIdentity is everything by which a patient is or was known.
type PatientIdentity struct {
	ID        uuid.UUID
	Names     []string // the present one first, with those that a user linked
	OwnNames  []string // those that the record had before, the newest first
	Emails    []string
	Phones    []string // of linked numbers, their phone keys
	CPFHashes [][]byte // of earlier CPFs
	EventIDs  []string // of peers' events in the history, or being linked to it

	foldedNames []string
	shared      map[string]bool // phone keys, and e-mail addresses in lower case, that another patient has too
}

// ReadAndDeleteIdentity returns the identity of a patient who is being erased. It deletes the
// earlier contacts and the linked phone numbers, which are stored for this purpose.
func (t *Tx) ReadAndDeleteIdentity(ctx context.Context, scope Scope, p Patient) (*PatientIdentity, error) {
	identity := &PatientIdentity{ID: p.ID, Names: []string{p.Name}, shared: make(map[string]bool)}
	if p.Phone != nil {
		identity.Phones = append(identity.Phones, *p.Phone)
	}
	if p.Email != nil {
		identity.Emails = append(identity.Emails, *p.Email)
	}
	earlier, err := t.ReadAndDeleteEarlierContacts(ctx, scope, p.ID)
	if err != nil {
		return nil, err
	}
	identity.Names = append(identity.Names, earlier.Names...)
	identity.OwnNames = earlier.FormerNames
	identity.Phones = append(identity.Phones, earlier.Phones...)
	identity.Emails = append(identity.Emails, earlier.Emails...)
	identity.CPFHashes = earlier.CPFHashes
	for _, name := range identity.Names {
		identity.foldedNames = append(identity.foldedNames, FoldName(name))
	}
	linked, err := t.DeleteLinkedPhones(ctx, scope.Clinic, scope.Env, p.ID)
	if err != nil {
		return nil, err
	}
	identity.Phones = append(identity.Phones, linked...)
	if err := t.loadSharedContacts(ctx, scope, identity); err != nil {
		return nil, err
	}
	identity.EventIDs, err = t.PatientEventIDs(ctx, scope.Clinic, scope.Env, p.ID)
	return identity, err
}

// loadSharedContacts finds out which numbers and addresses other patients have too.
func (t *Tx) loadSharedContacts(ctx context.Context, scope Scope, identity *PatientIdentity) error {
	phones, err := t.SharedPhones(ctx, dbgen.SharedPhonesParams{ClinicID: scope.Clinic, Env: scope.Env, PatientID: identity.ID, PhoneKeys: identity.PhoneKeys()})
	if err != nil {
		return err
	}
	lower := make([]string, len(identity.Emails))
	for i, email := range identity.Emails {
		lower[i] = strings.ToLower(email)
	}
	emails, err := t.SharedEmails(ctx, dbgen.SharedEmailsParams{ClinicID: scope.Clinic, Env: scope.Env, PatientID: identity.ID, Emails: lower})
	if err != nil {
		return err
	}
	for _, key := range slices.Concat(phones, emails) {
		identity.shared[key] = true
	}
	return nil
}

// PhoneKeys returns the keys of the phone numbers.
func (i *PatientIdentity) PhoneKeys() []string {
	keys := make([]string, len(i.Phones))
	for n, phone := range i.Phones {
		keys[n] = care.PhoneKey(phone)
	}
	return keys
}

// IsSharedPhone reports whether another patient has a number too, or may have: forms are filled
// with some.
func (i *PatientIdentity) IsSharedPhone(phone string) bool {
	return i.shared[care.PhoneKey(phone)] || care.IsFillerPhone(phone)
}

// IsSharedEmail reports whether another patient has an e-mail address too.
func (i *PatientIdentity) IsSharedEmail(email string) bool { return i.shared[strings.ToLower(email)] }

// Matches reports whether an event with a name, an e-mail address and a phone key is about
// the patient. A number or address of the patient suffices; if another patient has it too,
// the name must match as well. Empty values are unknown.
func (i *PatientIdentity) Matches(name, email string, phoneKey *string) bool {
	sharedContact := false
	if phoneKey != nil && slices.Contains(i.PhoneKeys(), *phoneKey) {
		if !i.IsSharedPhone(*phoneKey) {
			return true
		}
		sharedContact = true
	}
	email = strings.TrimSpace(email)
	if slices.ContainsFunc(i.Emails, func(known string) bool { return strings.EqualFold(known, email) }) {
		if !i.IsSharedEmail(email) {
			return true
		}
		sharedContact = true
	}
	folded := FoldName(name)
	return sharedContact && folded != "" && slices.Contains(i.foldedNames, folded)
}
