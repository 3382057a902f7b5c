package store

import (
	"encoding/hex"
	"strings"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
)

// TombstoneIdentifiers are what a patient is recognized by. Nil fields are unknown.
type TombstoneIdentifiers struct {
	Name        string
	Phone       *string
	Email       *string
	Source      string // the list of ExternalRef; "" is the clinic's own
	ExternalRef *string
	CPFHash     []byte // see [Store.CPFHash]
}

// Tombstones returns the tombstones of a patient: one keyed hash for each identifier. An
// erasure stores them, so that imports and events do not bring the patient back. A phone
// number or an e-mail address counts together with the name only, as families share them, and a
// number that forms are filled with counts not at all.
func (t *Tx) Tombstones(scope Scope, patient TombstoneIdentifiers) (hashes [][]byte) {
	name := FoldName(patient.Name)
	if patient.Phone != nil && !care.IsFillerPhone(*patient.Phone) {
		hashes = append(hashes, t.keyedHash(scope, hashPhone, name, care.PhoneKey(*patient.Phone)))
	}
	if patient.Email != nil {
		hashes = append(hashes, t.keyedHash(scope, hashEmail, name, strings.ToLower(*patient.Email)))
	}
	if patient.ExternalRef != nil {
		if patient.Source == "" {
			hashes = append(hashes, t.keyedHash(scope, hashRef, *patient.ExternalRef))
		} else {
			hashes = append(hashes, t.keyedHash(scope, hashSourceRef, patient.Source, *patient.ExternalRef))
		}
	}
	if patient.CPFHash != nil {
		hashes = append(hashes, t.keyedHash(scope, hashCPF, hex.EncodeToString(patient.CPFHash)))
	}
	return hashes
}

// PhoneTombstone returns the tombstone of a number that only an erased patient had. Events
// are screened by it; imports are not, as numbers get new owners.
func (t *Tx) PhoneTombstone(scope Scope, phone string) []byte {
	return t.keyedHash(scope, hashOwnPhone, care.PhoneKey(phone))
}

// EmailTombstone is [Tx.PhoneTombstone] of an e-mail address.
func (t *Tx) EmailTombstone(scope Scope, email string) []byte {
	return t.keyedHash(scope, hashOwnEmail, strings.ToLower(strings.TrimSpace(email)))
}

// ImportedHash returns the hash of a patient's data as an import left it.
func (t *Tx) ImportedHash(scope Scope, patient uuid.UUID, data []byte) []byte {
	return t.keyedHash(scope, hashImported, patient.String(), string(data))
}

// TicketTombstone returns the tombstone of an erased patient's ticket.
func (t *Tx) TicketTombstone(scope Scope, source, ticketID string) []byte {
	return t.keyedHash(scope, hashTicket, source, ticketID)
}
