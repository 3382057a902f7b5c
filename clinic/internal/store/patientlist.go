package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// PatientListQuery asks for a page of a clinic's patients, ordered by name.
type PatientListQuery struct {
	Scope
	Status string // "" = all except anonymized ones
	// Term is the beginning of words of the name, the beginning of the e-mail address, or
	// a phone number: complete, its beginning or its end, of four digits or more. "" = all.
	Term   string
	Limit  int
	Offset int
}

// byName orders lists like the index on names, whatever the database's collation.
const byName = "name_search using ~<~, id"

// ListPatients returns a page of patients, and the total, counted up to [MaxCount].
func (s *Store) ListPatients(ctx context.Context, q PatientListQuery) (rows []Patient, total int, err error) {
	ids, total, err := s.listPatientIDs(ctx, q)
	if err != nil || len(ids) == 0 {
		return nil, total, err
	}
	patientRows, err := s.db.Query(ctx, "select t.* from clinic.patients t where t.clinic_id = $1 and t.env = $2 and t.id = any($3) order by "+byName,
		q.Clinic, string(q.Env), ids)
	if err != nil {
		return nil, 0, err
	}
	rows, err = pgx.CollectRows(patientRows, pgx.RowToStructByPos[Patient])
	return rows, total, err
}

// maxScan is how many patients are scanned in the order of their names, before all matches
// of a term are sorted.
const maxScan = 5_000

// listPatientIDs returns the ids of a page, and the total. If a term matches few patients,
// they are found first and sorted then: PostgreSQL misjudges how many they are, and a plan
// for many scans all patients. If it matches more than are counted, the first page is
// probably filled by scanning the patients by name.
func (s *Store) listPatientIDs(ctx context.Context, q PatientListQuery) (ids []uuid.UUID, total int, err error) {
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
	err = s.db.QueryRow(ctx, statement, slices.Concat([]any{customPlan}, b.args)...).Scan(&total, &ids)
	return ids, total, err
}
