package store

import (
	"context"
	"fmt"
)

// PatientTerm is a condition of a search of patients: one of its alternatives holds. Without
// any, no patient matches.
type PatientTerm struct {
	Negated bool // none of them holds

	PhoneKeys   []string
	Emails      []string // in any case
	Names       []string // beginnings of words of the name
	GivenNames  []string // beginnings of its first word
	FamilyNames []string // beginnings of its other words
	ExactNames  []string
	CPFHashes   [][]byte

	HasPhone, HasEmail, HasName, HasFamilyName, HasCPF, HasBirthDate bool
}

// The name in an erased patient's row is a placeholder.
const isNamed = "t.status <> 'anonymized'"

// Conditions on the first word of a name, and on the words behind it: each word of the text
// %[1]s begins it, or one of them. Words have letters and digits only.
const (
	firstWordMatches = `(select bool_and(starts_with(substring(t.name_search from '[[:alnum:]]+'), word)) ` + wordsOf + `)`
	laterWordsMatch  = `(select bool_and(regexp_replace(t.name_search, '^[^[:alnum:]]*[[:alnum:]]+', '') ~ ('[^[:alnum:]]' || word)) ` + wordsOf + `)`
	wordsOf          = `from regexp_split_to_table(clinic.search_form(%[1]s), '[^[:alnum:]]+') word where word <> ''`
)

// wherePatientTerm adds the condition of a term.
func (s *Store) wherePatientTerm(ctx context.Context, b *searchQuery, scope Scope, term PatientTerm) error {
	parts := []string{"false"}
	if len(term.PhoneKeys) > 0 {
		ids, err := s.idsByPhone(ctx, scope, term.PhoneKeys)
		if err != nil {
			return err
		}
		parts = append(parts, "t.id = any("+b.arg(ids)+")")
	}
	if len(term.CPFHashes) > 0 {
		parts = append(parts, "t.cpf_hmac = any("+b.arg(term.CPFHashes)+")")
	}
	add := func(values []string, condition func(placeholder string) string) {
		for _, value := range values {
			parts = append(parts, condition(b.arg(value)+"::text"))
		}
	}
	matches := func(name string) string { return fmt.Sprintf(nameMatches, "t", name) + " and " + isNamed }
	add(term.Emails, func(email string) string { return "lower(t.email) = lower(" + email + ")" })
	add(term.Names, matches)
	add(term.GivenNames, func(name string) string { return matches(name) + " and " + fmt.Sprintf(firstWordMatches, name) })
	add(term.FamilyNames, func(name string) string { return matches(name) + " and " + fmt.Sprintf(laterWordsMatch, name) })
	add(term.ExactNames, func(name string) string {
		return "t.name_search = clinic.search_form(" + name + ") and t.name = " + name + " and " + isNamed
	})
	for _, present := range []struct {
		asked     bool
		condition string
	}{
		{term.HasPhone, "t.phone is not null"}, {term.HasEmail, "t.email is not null"}, {term.HasName, isNamed}, {term.HasFamilyName, isNamed + " and t.name_search ~ '[[:alnum:]][^[:alnum:]]+[[:alnum:]]'"},
		{term.HasCPF, "t.cpf_hmac is not null"}, {term.HasBirthDate, "t.birth_date is not null"},
	} {
		if present.asked {
			parts = append(parts, present.condition)
		}
	}
	condition := anyOf(parts)
	if term.Negated {
		condition = "(" + condition + " is not true)"
	}
	b.conditions = append(b.conditions, condition)
	return nil
}
