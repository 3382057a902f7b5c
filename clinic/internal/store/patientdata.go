package store

import "time"

// PatientData are the fields of a patient that users and imports write.
type PatientData struct {
	Name        string
	Phone       *string    // as [care.FormatE164] returns it
	Email       *string    //
	CPF         *string    // 11 digits, as [care.ParseCPF] returns them; see HasUnreadableCPF
	BirthDate   *time.Time // midnight UTC
	Status      string     // active or inactive
	ExternalRef *string    // the id in the system it was imported from
}

// unreadableCPF stands for a stored CPF that cannot be decrypted.
const unreadableCPF = ""

// HasUnreadableCPF reports whether the stored CPF cannot be decrypted. In
// [Tx.ChangePatient] it stays as it is, or another one or none takes its place.
func (d PatientData) HasUnreadableCPF() bool { return d.CPF != nil && *d.CPF == unreadableCPF }

// changedFields returns the API names of the fields in which d and other differ.
func (d PatientData) changedFields(other PatientData) []string {
	var names []string
	for _, field := range []struct {
		name  string
		equal bool
	}{
		{"name", d.Name == other.Name}, {"phone", equal(d.Phone, other.Phone)}, {"email", equal(d.Email, other.Email)}, {"cpf", equal(d.CPF, other.CPF)},
		{"birth_date", equal(d.BirthDate, other.BirthDate)}, {"status", d.Status == other.Status}, {"external_ref", equal(d.ExternalRef, other.ExternalRef)},
	} {
		if !field.equal {
			names = append(names, field.name)
		}
	}
	return names
}

// equal reports whether two optional values are the same.
func equal[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }
