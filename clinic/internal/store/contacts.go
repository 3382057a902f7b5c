package store

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/store/dbgen"
)

// Kinds of earlier contacts, as the database has them.
const (
	contactName       = "name"        // that a user linked; of records too, from before there was the next kind
	contactFormerName = "former_name" // of the patient's record
	contactPhone      = "phone"
	contactEmail      = "email"
	contactCPF        = "cpf" // its keyed hash, in hexadecimal
)

// PatientTicket is a patient's ticket at a connected product.
type PatientTicket = dbgen.TicketsOfPatientRow

// contactContext binds an encrypted earlier contact to its row.
func contactContext(id uuid.UUID) string { return "earlier/" + id.String() }

// EarlierContacts are the names, numbers, addresses and CPFs that a patient had before, the
// newest first.
type EarlierContacts struct {
	Names       []string // of the record, or linked by a user
	FormerNames []string // those of them that the record had for sure
	Phones      []string
	Emails      []string
	CPFHashes   [][]byte
}

// saveEarlierContacts stores the identifiers that a change replaces, encrypted. A later
// erasure needs them: payloads from before the change contain them, and so do files that
// are imported again.
func (t *Tx) saveEarlierContacts(ctx context.Context, scope Scope, patient uuid.UUID, before, after PatientData) error {
	hashCPF := func(cpf *string) *string {
		if cpf == nil {
			return nil
		}
		hash := hex.EncodeToString(t.CPFHasher(scope)(*cpf))
		return &hash
	}
	for _, contact := range []struct {
		kind          string
		before, after *string
	}{
		{contactFormerName, &before.Name, &after.Name}, {contactPhone, before.Phone, after.Phone}, {contactEmail, before.Email, after.Email},
		{contactCPF, hashCPF(before.CPF), hashCPF(after.CPF)},
	} {
		if contact.before == nil || equal(contact.before, contact.after) {
			continue
		}
		id := NewID()
		err := t.InsertEarlierContact(ctx, dbgen.InsertEarlierContactParams{
			ClinicID: scope.Clinic, Env: scope.Env, ID: id, PatientID: patient, Kind: contact.kind,
			ValueEnc:  t.Host.Sealer.Seal([]byte(*contact.before), contactContext(id)),
			ValueHmac: t.contactHash(scope, contact.kind, *contact.before), CreatedAt: t.Now(),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// contactHash returns the keyed hash of an earlier contact. Both kinds of names have the same.
func (t *Tx) contactHash(scope Scope, kind, value string) []byte {
	if kind == contactFormerName {
		kind = contactName
	}
	return t.keyedHash(scope, kind, value)
}

// AddKnownName stores, encrypted, that a patient is called by a name too: an erasure needs it,
// and events with it are the patient's. It may be the name of another person who writes from
// the same number, so that connected products never learn it.
func (t *Tx) AddKnownName(ctx context.Context, scope Scope, patient uuid.UUID, name string) error {
	id, folded := NewID(), FoldName(name)
	return t.InsertEarlierContact(ctx, dbgen.InsertEarlierContactParams{
		ClinicID: scope.Clinic, Env: scope.Env, ID: id, PatientID: patient, Kind: contactName,
		ValueEnc: t.Host.Sealer.Seal([]byte(folded), contactContext(id)), ValueHmac: t.contactHash(scope, contactName, folded), CreatedAt: t.Now(),
	})
}

// PatientsKnownAs returns the ids of those of some patients who had a name earlier, or for whom
// [Tx.AddKnownName] stored it.
func (t *Tx) PatientsKnownAs(ctx context.Context, scope Scope, patients []Patient, name string) ([]uuid.UUID, error) {
	ids := make([]uuid.UUID, len(patients))
	for i, patient := range patients {
		ids[i] = patient.ID
	}
	return t.PatientsByEarlierName(ctx, dbgen.PatientsByEarlierNameParams{
		ClinicID: scope.Clinic, Env: scope.Env, Patients: ids,
		Hashes: [][]byte{t.contactHash(scope, contactName, name), t.contactHash(scope, contactName, FoldName(name))},
	})
}

// ReadAndDeleteEarlierContacts returns a patient's earlier contacts and deletes them, also those
// that cannot be decrypted any more: they stop no erasure.
func (t *Tx) ReadAndDeleteEarlierContacts(ctx context.Context, scope Scope, patient uuid.UUID) (contacts EarlierContacts, err error) {
	rows, err := t.DeleteEarlierContacts(ctx, scope.Clinic, scope.Env, patient)
	if err != nil {
		return contacts, err
	}
	slices.SortFunc(rows, func(a, b dbgen.DeleteEarlierContactsRow) int { return bytes.Compare(b.ID[:], a.ID[:]) })
	for _, row := range rows {
		value, err := t.openContact(row.ID, row.ValueEnc)
		if err != nil {
			t.Host.Log.ErrorContext(ctx, "an earlier contact cannot be read; its patient is erased without it", "patient_id", patient, "contact_id", row.ID, "error", err)
			continue
		}
		switch row.Kind {
		case contactName:
			contacts.Names = append(contacts.Names, value)
		case contactFormerName:
			contacts.Names, contacts.FormerNames = append(contacts.Names, value), append(contacts.FormerNames, value)
		case contactPhone:
			contacts.Phones = append(contacts.Phones, value)
		case contactEmail:
			contacts.Emails = append(contacts.Emails, value)
		case contactCPF:
			hash, err := hex.DecodeString(value)
			if err != nil {
				return contacts, fmt.Errorf("reading an earlier CPF's hash: %w", err)
			}
			contacts.CPFHashes = append(contacts.CPFHashes, hash)
		}
	}
	return contacts, nil
}

func (t *Tx) openContact(id uuid.UUID, sealed []byte) (string, error) {
	plain, err := t.Host.Sealer.Open(sealed, contactContext(id))
	if err != nil {
		return "", fmt.Errorf("decrypting an earlier contact: %w", errors.Join(ErrUnreadable, err))
	}
	return string(plain), nil
}

// EarlierContact is a name, number, address or CPF that a patient had before.
type EarlierContact struct {
	Kind  string
	Value *string // nil: a CPF, of which there is a hash only, or a value that cannot be decrypted
	At    time.Time
}

// ListEarlierContacts returns a patient's earlier contacts, the latest first.
func (s *Store) ListEarlierContacts(ctx context.Context, scope Scope, patient uuid.UUID) ([]EarlierContact, error) {
	rows, err := s.EarlierContacts(ctx, scope.Clinic, scope.Env, patient)
	contacts := make([]EarlierContact, len(rows))
	for i, row := range rows {
		contacts[i] = EarlierContact{Kind: row.Kind, At: row.CreatedAt}
		if row.Kind == contactCPF {
			continue
		}
		value, err := s.Join(nil).openContact(row.ID, row.ValueEnc)
		if err != nil {
			s.host.Log.ErrorContext(ctx, "an earlier contact cannot be read; an export leaves it out", "patient_id", patient, "contact_id", row.ID, "error", err)
			continue
		}
		contacts[i].Value = &value
	}
	return contacts, err
}
