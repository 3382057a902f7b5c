package store

import (
	"context"
	"fmt"
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
	return fmt.Sprintf("%[1]s ~>=~ %[2]s and %[1]s ~<~ (%[2]s || %[3]s)", column, parameter, lastRune)
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

// havingPhone selects the patients whose number, or linked number, has a key: $1 and $2
// are whose they are, the key's place is given.
func havingPhone(columns, key string) string {
	return patientsWhere(columns, "q.phone_key = "+key) + " union all " +
		patientsWhere(columns, "q.id = any(array(select l.patient_id from clinic.linked_phones l where l.clinic_id = $1 and l.env = $2 and l.phone_key = "+key+"))")
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

// ListPatients gives a page of patients, and how many there are, counted up to
// [CountedAtMost].
func (s *Store) ListPatients(ctx context.Context, q PatientList) (rows []dbgen.Patient, total int, err error) {
	ids, total, err := s.listed(ctx, q)
	if err != nil || len(ids) == 0 {
		return nil, total, err
	}
	found, err := s.kit.Pool.Query(ctx, "select t.* from clinic.patients t where t.clinic_id = $1 and t.env = $2 and t.id = any($3) order by t.name_search, t.id",
		q.Clinic, string(q.Env), ids)
	if err != nil {
		return nil, 0, err
	}
	rows, err = pgx.CollectRows(found, pgx.RowToStructByPos[dbgen.Patient])
	return rows, total, err
}

// listed finds a page's ids. What a term means is found first and then put in order:
// how many that are is a guess of PostgreSQL's, and a plan made for many reads all
// patients.
func (s *Store) listed(ctx context.Context, q PatientList) (ids []uuid.UUID, total int, err error) {
	b := &search{args: []any{q.Clinic, string(q.Env)}}
	status := "q.status <> 'anonymized'"
	if q.Status != "" {
		status = "q.status = " + b.given(q.Status)
	}
	most := b.given(CountedAtMost)
	page := "order by name_search, id limit " + b.given(q.Limit) + " offset " + b.given(q.Offset)
	sql := "select (select count(*) from (" + patientsWhere("1", status) + " limit " + most + ") n), array(" + patientsWhere("q.id", status) + " " + page + ")"
	if q.Term != "" {
		sql = "with found as materialized (" + strings.Join(b.meanings(q.Term, status), " union ") + ")" +
			" select least(count(*), " + most + "::int), array(select id from found " + page + ") from found"
	}
	err = s.kit.Pool.QueryRow(ctx, sql, b.args...).Scan(&total, &ids)
	return ids, total, err
}

// meanings select whom a search term may mean.
func (b *search) meanings(term, status string) []string {
	mail := b.given(strings.ToLower(term))
	conditions := []string{fmt.Sprintf(hasWords, "q", b.given(term)), begins("lower(q.email)", mail)}
	digits, number := care.Digits(term), ""
	if len(digits) >= fewestDigits && strings.Trim(term, "0123456789+-(). ") == "" {
		number = care.E164(term)
		conditions = append(conditions, begins("q.phone", b.given("+"+digits)), begins("q.phone", b.given("+55"+digits)),
			begins("reverse(q.phone)", "reverse("+b.given(digits)+"::text)"))
	}
	const columns = "q.id, q.name_search"
	var selects []string
	for _, condition := range conditions {
		selects = append(selects, patientsWhere(columns, condition+" and "+status))
	}
	if number != "" {
		found := havingPhone("q.id, q.name_search, q.status", b.given(care.PhoneKey(number)))
		selects = append(selects, "select "+columns+" from ("+found+") q where "+status)
	}
	return selects
}

// phoneIDs are whose one of several numbers is, by their keys.
func (s *Store) phoneIDs(ctx context.Context, at Scope, keys []string) ([]uuid.UUID, error) {
	found, err := s.kit.Pool.Query(ctx, havingPhone("q.id", "any($3)"), at.Clinic, string(at.Env), keys)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowTo[uuid.UUID])
}
