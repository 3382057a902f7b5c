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

// fewestDigits are what a search for a phone number has at least.
const fewestDigits = 4

// hasWords is the condition on words of a name, in a table called %[1]s: every word of
// what is looked for, %[2]s, begins one. The first two arguments of every search are whose data it is; of columns
// instead, the index could not be asked.
const hasWords = "clinic.name_words(%[1]s.clinic_id, %[1]s.env, %[1]s.name_search) @@ clinic.name_query($1, $2, %[2]s)"

// lastRune comes after everything that a text can go on with.
const lastRune = "U&'\\+10FFFF'"

// begins is a condition on how a text begins. Bounds, unlike a pattern in a parameter,
// use the index whatever is asked for.
func begins(column, parameter string) string {
	return fmt.Sprintf("(%[1]s ~>=~ %[2]s and %[1]s ~<~ (%[2]s || %[3]s))", column, parameter, lastRune)
}

// given adds an argument and gives its place.
func (b *search) given(arg any) string {
	b.args = append(b.args, arg)
	return fmt.Sprintf("$%d", len(b.args))
}

// patientsWhere selects from the clinic's patients; the first two arguments of every
// search are whose they are.
func patientsWhere(columns, condition string) string {
	return "select " + columns + " from clinic.patients q where q.clinic_id = $1 and q.env = $2 and " + condition
}

// ofPhone are the conditions on whose number, or whose linked number, has a key: $1 and $2
// are whose they are, the key's place is given.
func ofPhone(key string) []string {
	return []string{
		"q.phone_key = " + key,
		"q.id = any(array(select l.patient_id from clinic.linked_phones l where l.clinic_id = $1 and l.env = $2 and l.phone_key = " + key + "))",
	}
}

// PatientList asks for a page of a clinic's patients, by name.
type PatientList struct {
	Scope
	Status string // "" = all that were not anonymized
	// Term is how words of a name begin, how an e-mail address begins, or a phone
	// number: whole, as it begins or as it ends, of four digits or more. "" = all.
	Term   string
	Limit  int
	Offset int
}

// byName is the order of lists: that of the index on names, whatever the database's language.
const byName = "name_search using ~<~, id"

// ListPatients gives a page of patients, and how many there are, counted up to
// [CountedAtMost].
func (s *Store) ListPatients(ctx context.Context, q PatientList) (rows []dbgen.Patient, total int, err error) {
	ids, total, err := s.listed(ctx, q)
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

// gone is how many patients are gone through by name before all that a term means are put
// in order.
const gone = 5_000

// listed finds a page's ids. Few are found first and then put in order: how many that are
// is a guess of PostgreSQL's, and a plan made for many reads all patients. A term that
// means more than are counted is likely to fill the page from the first by name.
func (s *Store) listed(ctx context.Context, q PatientList) (ids []uuid.UUID, total int, err error) {
	b := &search{args: []any{q.Clinic, string(q.Env)}}
	status := "q.status <> 'anonymized'"
	if q.Status != "" {
		status = "q.status = " + b.given(q.Status)
	}
	most, limit := b.given(CountedAtMost), b.given(q.Limit)
	bound := " limit " + limit + " offset " + b.given(q.Offset)
	page := " order by " + byName + bound
	sql := "select (select count(*) from (" + patientsWhere("1", status) + " limit " + most + ") n), array(" + patientsWhere("q.id", status) + page + ")"
	if q.Term != "" {
		term := b.given(q.Term)
		others := b.meanings(q.Term)
		meanings := append([]string{fmt.Sprintf(hasWords, "q", term)}, others...)
		var some, all []string
		for _, one := range meanings {
			all = append(all, patientsWhere("q.id, q.name_search", one+" and "+status))
			some = append(some, "("+all[len(all)-1]+" limit "+most+")")
		}
		first := patientsWhere("q.id, "+anyOf(append(others, fmt.Sprintf(spelled, term)))+" as meant", status) + " order by " + byName + " limit " + b.given(gone)
		sql = "with found as materialized (" + strings.Join(some, " union ") + "), counted as materialized (select count(*) as n from found)," +
			" near as materialized (select array(select id from (" + first + ") first where meant" + bound + ") as ids)" +
			" select least(n, " + most + "::int), case when n < " + most + "::int then array(select id from found" + page + ")" +
			" when (select cardinality(ids) from near) = " + limit + "::int then (select ids from near)" +
			" else array(select id from (" + strings.Join(all, " union ") + ") a" + page + ") end from counted"
	}
	err = s.host.Pool.QueryRow(ctx, sql, slices.Concat([]any{planned}, b.args)...).Scan(&total, &ids)
	return ids, total, err
}

// spelled is [hasWords] without the index: quicker for one name at a time.
const spelled = `(clinic.name_query($1, $2, %[1]s) is not null and q.name_search ~ all(array(
	select '(^|[^[:alnum:]])' || word from regexp_split_to_table(clinic.search_form(%[1]s), '[^[:alnum:]]+') word where word <> '')))`

func anyOf(conditions []string) string { return "(" + strings.Join(conditions, " or ") + ")" }

// meanings are the conditions on whom a search term may mean, beside words of a name.
func (b *search) meanings(term string) []string {
	conditions := []string{begins("lower(q.email)", b.given(strings.ToLower(term)))}
	digits := care.Digits(term)
	if len(digits) < fewestDigits || strings.Trim(term, "0123456789+-(). ") != "" {
		return conditions
	}
	conditions = append(conditions, begins("q.phone", b.given("+"+digits)), begins("q.phone", b.given("+55"+digits)),
		begins("reverse(q.phone)", "reverse("+b.given(digits)+"::text)"))
	if number := care.E164(term); number != "" {
		conditions = append(conditions, ofPhone(b.given(care.PhoneKey(number)))...)
	}
	return conditions
}

// phoneIDs are whose one of several numbers is, by their keys.
func (s *Store) phoneIDs(ctx context.Context, at Scope, keys []string) ([]uuid.UUID, error) {
	of := ofPhone("any($3)")
	found, err := s.host.Pool.Query(ctx, patientsWhere("q.id", of[0])+" union all "+patientsWhere("q.id", of[1]), at.Clinic, string(at.Env), keys)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowTo[uuid.UUID])
}
