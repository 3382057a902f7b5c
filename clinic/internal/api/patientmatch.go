package api

import (
	"cmp"
	"slices"
	"time"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store"
)

// patientCriteria is what a connected product knows of a patient beside the phone number.
// Families share numbers.
type patientCriteria struct {
	name      string     // "" = unknown
	birthDate *time.Time // midnight UTC; nil = unknown
}

// match returns the patients that the criteria do not contradict, the best agreeing ones
// first. Patients that agree equally keep their order.
func (c patientCriteria) match(patients []store.Patient) []store.Patient {
	matches := slices.DeleteFunc(slices.Clone(patients), c.contradicts)
	slices.SortStableFunc(matches, func(a, b store.Patient) int { return cmp.Compare(c.agreement(b), c.agreement(a)) })
	return matches
}

// contradicts reports whether a patient cannot be meant: the birth date is another one, or
// the names are no forms of the same name. What the clinic does not know contradicts nothing.
func (c patientCriteria) contradicts(p store.Patient) bool {
	if c.birthDate != nil && p.BirthDate != nil && !c.birthDate.Equal(*p.BirthDate) {
		return true
	}
	return c.name != "" && care.NameAgreement(c.name, p.Name) == care.NamesDiffer
}

// agreement rates a patient that the criteria do not contradict, from 0: the same birth date
// and the same name count 2 each, an abbreviated name counts 1.
func (c patientCriteria) agreement(p store.Patient) int {
	rating := 0
	if c.birthDate != nil && p.BirthDate != nil {
		rating += 2
	}
	if c.name != "" {
		rating += max(0, care.NameAgreement(c.name, p.Name)-care.NameIsPart)
	}
	return rating
}
