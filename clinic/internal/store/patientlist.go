package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store/dbgen"
)

// PatientList asks for a page of a clinic's patients, ordered by name.
type PatientList struct {
	Scope
	Status string // "" = all except anonymized ones
	// Term is the beginning of words of the name, the beginning of the e-mail address, or
	// a phone number: complete, its beginning or its end, of four digits or more. "" = all.
	Term   string
	Limit  int
	Offset int
}

// minPhoneDigits is how many digits a term must have to be searched as a phone number.
const minPhoneDigits = 4

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

// byName orders lists like the index on names, whatever the database's collation.
const byName = "name_search using ~<~, id"

// ListPatients returns a page of patients, and the total, counted up to [MaxCount].
func (s *Store) ListPatients(ctx context.Context, q PatientList) (rows []dbgen.Patient, total int, err error) {
	ids, total, err := s.listPatientIDs(ctx, q)
	if err != nil || len(ids) == 0 {
		return nil, total, err
	}
	found, err := s.host.Pool.Query(ctx, "select t.* from clinic.patients t where t.clinic_id = $1 and t.env = $2 and t.id = any($3) order by "+byName,
		q.Clinic, string(q.Env), ids)
	if err != nil {
		return nil, 0, err
	}
	rows, err = pgx.CollectRows(found, pgx.RowToStructByPos[dbgen.Patient])
	return rows, total, err
}

// maxScan is how many patients are scanned in the order of their names, before all matches
// of a term are sorted.
const maxScan = 5_000

// listPatientIDs returns the ids of a page, and the total. If a term matches few patients,
// they are found first and sorted then: PostgreSQL misjudges how many they are, and a plan
// for many scans all patients. If it matches more than are counted, the first page is
// probably filled by scanning the patients by name.
func (s *Store) listPatientIDs(ctx context.Context, q PatientList) (ids []uuid.UUID, total int, err error) {
	b := &searchQuery{args: []any{q.Clinic, string(q.Env)}}
	status := "q.status <> 'anonymized'"
	if q.Status != "" {
		status = "q.status = " + b.arg(q.Status)
	}
	maxCount, limit := b.arg(MaxCount), b.arg(q.Limit)
	limitOffset := " limit " + limit + " offset " + b.arg(q.Offset)
	page := " order by " + byName + limitOffset
	statement := "select (select count(*) from (" + selectPatients("1", status) + " limit " + maxCount + ") n), array(" + selectPatients("q.id", status) + page + ")"
	if q.Term != "" {
		term := b.arg(q.Term)
		contactConditions := b.contactConditions(q.Term)
		var counted, matches []string
		for _, condition := range append([]string{fmt.Sprintf(nameMatches, "q", term)}, contactConditions...) {
			matching := selectPatients("q.id, q.name_search", condition+" and "+status)
			matches = append(matches, matching)
			counted = append(counted, "("+matching+" limit "+maxCount+")")
		}
		scan := selectPatients("q.id, "+anyOf(append(contactConditions, fmt.Sprintf(nameMatchesScan, term)))+" as meant", status) + " order by " + byName + " limit " + b.arg(maxScan)
		statement = "with found as materialized (" + strings.Join(counted, " union ") + "), counted as materialized (select count(*) as n from found)," +
			" near as materialized (select array(select id from (" + scan + ") first where meant" + limitOffset + ") as ids)" +
			" select least(n, " + maxCount + "::int), case when n < " + maxCount + "::int then array(select id from found" + page + ")" +
			" when (select cardinality(ids) from near) = " + limit + "::int then (select ids from near)" +
			" else array(select id from (" + strings.Join(matches, " union ") + ") a" + page + ") end from counted"
	}
	err = s.host.Pool.QueryRow(ctx, statement, slices.Concat([]any{customPlan}, b.args)...).Scan(&total, &ids)
	return ids, total, err
}

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
	if number := care.E164(term); number != "" {
		conditions = append(conditions, phoneConditions(b.arg(care.PhoneKey(number)))...)
	}
	return conditions
}

// idsByPhone returns the ids of the patients who have a number with one of the keys.
func (s *Store) idsByPhone(ctx context.Context, scope Scope, keys []string) ([]uuid.UUID, error) {
	conditions := phoneConditions("any($3)")
	found, err := s.host.Pool.Query(ctx, selectPatients("q.id", conditions[0])+" union all "+selectPatients("q.id", conditions[1]), scope.Clinic, string(scope.Env), keys)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowTo[uuid.UUID])
}
