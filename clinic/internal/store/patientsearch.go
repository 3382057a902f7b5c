package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/care"
)

// nameMatches is a condition on the table with the alias %[1]s: every word of the text
// %[2]s begins a word of the name. Every search has the clinic and the environment as its
// first two arguments; PostgreSQL could not use the index with columns in their place.
const nameMatches = "clinic.name_words(%[1]s.clinic_id, %[1]s.env, %[1]s.name_search) @@ clinic.name_query($1, $2, %[2]s)"

// nameMatchesScan is [nameMatches] without the index: faster for checking row by row.
const nameMatchesScan = `(clinic.name_query($1, $2, %[1]s) is not null and q.name_search ~ all(array(
	select '(^|[^[:alnum:]])' || word from regexp_split_to_table(clinic.search_form(%[1]s), '[^[:alnum:]]+') word where word <> '')))`

// lastRune sorts after every continuation of a text.
const lastRune = "U&'\\+10FFFF'"

// beginsWith returns the condition that a column begins with a parameter. Unlike a pattern
// in a parameter, bounds always use the index.
func beginsWith(column, placeholder string) string {
	return fmt.Sprintf("(%[1]s ~>=~ %[2]s and %[1]s ~<~ (%[2]s || %[3]s))", column, placeholder, lastRune)
}

// selectPatients returns a select from the clinic's patients. Its first two arguments are
// the clinic and the environment.
func selectPatients(columns, condition string) string {
	return "select " + columns + " from clinic.patients q where q.clinic_id = $1 and q.env = $2 and " + condition
}

// phoneConditions returns the conditions that a patient's own number, or a linked one, has
// the phone key of a placeholder. $1 and $2 are the clinic and the environment.
func phoneConditions(key string) []string {
	return []string{
		"q.phone_key = " + key,
		"q.id = any(array(select l.patient_id from clinic.linked_phones l where l.clinic_id = $1 and l.env = $2 and l.phone_key = " + key + "))",
	}
}

// minPhoneDigits is how many digits a term must have to be searched as a phone number.
const minPhoneDigits = 4

// contactConditions returns the conditions under which a term means a patient's e-mail
// address or phone number.
func (b *searchQuery) contactConditions(term string) []string {
	conditions := []string{beginsWith("lower(q.email)", b.arg(strings.ToLower(term)))}
	digits := care.Digits(term)
	if len(digits) < minPhoneDigits || strings.Trim(term, "0123456789+-(). ") != "" {
		return conditions
	}
	conditions = append(conditions, beginsWith("q.phone", b.arg("+"+digits)), beginsWith("q.phone", b.arg("+55"+digits)),
		beginsWith("reverse(q.phone)", "reverse("+b.arg(digits)+"::text)"))
	if number := care.FormatE164(term); number != "" {
		conditions = append(conditions, phoneConditions(b.arg(care.PhoneKey(number)))...)
	}
	return conditions
}

// idsByPhone returns the ids of the patients who have a number with one of the keys.
func (s *Store) idsByPhone(ctx context.Context, scope Scope, keys []string) ([]uuid.UUID, error) {
	conditions := phoneConditions("any($3)")
	rows, err := s.db.Query(ctx, selectPatients("q.id", conditions[0])+" union all "+selectPatients("q.id", conditions[1]), scope.Clinic, string(scope.Env), keys)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}
