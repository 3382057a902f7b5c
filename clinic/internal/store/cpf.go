package store

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/hub"
)

// cpfContext binds an encrypted CPF to its patient.
func cpfContext(patient uuid.UUID) string { return "patient/" + patient.String() + "/cpf" }

// ErrUnreadable is a stored value that cannot be decrypted: its key is lost, or its row damaged.
// A retry does not help.
var ErrUnreadable = errors.New("a stored value is unreadable")

// errDataUnreadable is for requests that need an unreadable value; detail says what to do.
func errDataUnreadable(detail string) *hub.Error {
	return hub.Errorf(hub.ErrConflict, "data_unreadable", "%s", detail)
}

// CPFHash returns the keyed hash by which a CPF, given as 11 digits, is found in a scope.
func (s *Store) CPFHash(scope Scope, digits string) []byte {
	return cpfHash(s.host.Sealer.Derive("cpf"), scope, digits)
}

// CPFHasher returns [Store.CPFHash] for one scope. It derives the key once, for callers
// that hash many.
func (t *Tx) CPFHasher(scope Scope) func(digits string) []byte {
	key := t.Host.Sealer.Derive("cpf")
	return func(digits string) []byte { return cpfHash(key, scope, digits) }
}

func cpfHash(key []byte, scope Scope, digits string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(scope.Clinic[:])
	mac.Write([]byte(scope.Env))
	mac.Write([]byte(digits))
	return mac.Sum(nil)
}

// CPF decrypts a patient's CPF and returns its 11 digits, nil if there is none. It is a
// [hub.ErrConflict] and an [ErrUnreadable] if that fails.
func (s *Store) CPF(patient Patient) (*string, error) { return s.Join(nil).cpf(patient) }

func (t *Tx) cpf(patient Patient) (*string, error) {
	if patient.CpfEnc == nil {
		return nil, nil
	}
	plain, err := t.Host.Sealer.Open(patient.CpfEnc, cpfContext(patient.ID))
	if err != nil {
		err = fmt.Errorf("decrypting a CPF: %w", errors.Join(ErrUnreadable, err))
		t.Host.Log.Error("a stored value is unreadable", "patient_id", patient.ID, "error", err)
		return nil, errDataUnreadable("The CPF of this patient cannot be decrypted. Update the patient with the cpf, or with null.").WithCause(err)
	}
	digits := string(plain)
	return &digits, nil
}

// MaskedCPF returns a patient's CPF with all but the last two digits hidden, nil if there
// is none.
func MaskedCPF(patient Patient) *string {
	if patient.CpfLast2 == nil {
		return nil
	}
	masked := care.MaskCPF(*patient.CpfLast2)
	return &masked
}

// sealCPF returns the stored forms of a CPF: encrypted, hashed, and its last two digits.
func (t *Tx) sealCPF(scope Scope, patient uuid.UUID, digits *string) (encrypted, hash []byte, last2 *string) {
	if digits == nil {
		return nil, nil, nil
	}
	end := (*digits)[len(*digits)-2:]
	return t.Host.Sealer.Seal([]byte(*digits), cpfContext(patient)), t.CPFHasher(scope)(*digits), &end
}
