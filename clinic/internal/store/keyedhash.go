package store

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"integrationhub/clinic/internal/care"
)

// Kinds of keyed hashes. They are part of the hashed text, so they never change.
const (
	hashTicket     = "ticket"
	hashCPF        = "cpf"
	hashRef        = "external_ref"
	hashSourceRef  = "reference" // with its list
	hashImported   = "imported"  // a patient's data as an import left it
	hashPhone      = "person"    // a name with a phone number
	hashEmail      = "address"   // a name with an e-mail address
	hashOwnPhone   = "number"    // a phone number that no other patient had
	hashOwnEmail   = "email"     // an e-mail address that no other patient had
	hashMaskedID   = "id"
	hashErasedID   = "id there"
	hashInboxEmail = "inbox_email"
)

// keyedHash hashes values of a scope under a key of the clinic product. What an erasure
// keeps are such hashes: they show that a value occurs again, and not which value it is.
func (t *Tx) keyedHash(scope Scope, kind string, values ...string) []byte {
	mac := hmac.New(sha256.New, t.Host.Sealer.Derive("forgotten"))
	mac.Write(scope.Clinic[:])
	for _, part := range append([]string{string(scope.Env), kind}, values...) {
		fmt.Fprintf(mac, "/%d/%s", len(part), part)
	}
	return mac.Sum(nil)
}

// InboxEmailHash returns the hash by which open inbox entries with an e-mail address are
// found. It is empty, not nil, if there is no address.
func (t *Tx) InboxEmailHash(scope Scope, email string) []byte {
	if email = strings.ToLower(strings.TrimSpace(email)); email == "" {
		return []byte{}
	}
	return t.keyedHash(scope, hashInboxEmail, email)
}

// MaskExternalID returns another product's id as the clinic stores it: unchanged, or, if
// it contains a CPF, as a keyed hash. The same id always has the same hash.
func (t *Tx) MaskExternalID(scope Scope, id string) string {
	if care.RedactCPFs(id) == id {
		return id
	}
	return "cpf-" + hex.EncodeToString(t.keyedHash(scope, hashMaskedID, id)[:16])
}

// MaskSubjectID is [Tx.MaskExternalID] for the id of an appointment or a ticket. An id that was
// generated at random is no CPF.
func (t *Tx) MaskSubjectID(scope Scope, id string) string {
	if IsGeneratedID(id) {
		return id
	}
	return t.MaskExternalID(scope, id)
}

// ErasedPlaceholder replaces texts that name an erased patient and must not be empty.
const ErasedPlaceholder = "forgotten"

// ErasedExternalID returns the keyed hash that replaces another product's id in the data of
// an erased patient: ids may be made of a phone number or a name.
func (t *Tx) ErasedExternalID(scope Scope, source, id string) string {
	return ErasedPlaceholder + "-" + hex.EncodeToString(t.keyedHash(scope, hashErasedID, source, id)[:16])
}

// generatedID matches ids of events and UUIDs.
var generatedID = regexp.MustCompile(`^(evt_[0-9a-f]{16}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)

// IsGeneratedID reports whether an id was generated at random, so that it identifies
// nobody and survives an erasure.
func IsGeneratedID(id string) bool { return generatedID.MatchString(id) }
