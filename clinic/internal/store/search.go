package store

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/care"
)

// ResourceFilter selects rows of one kind. Zero fields do not narrow it down. Without Sort,
// rows come in the order of their ids, which is the order in which they were created.
type ResourceFilter struct {
	Scope
	ForPeer   bool        // leaves out what connected products must not see
	IDs       []uuid.UUID // nil = any; empty = none
	Patients  []uuid.UUID // nil = any; empty = none
	ChangedAt TimeFilter
	Time      TimeFilter // when the appointment, record or interaction takes place
	Sort      []SortKey  // empty = by id
	Cursor    *Cursor    // where the page begins, or ends; nil = the first page
	Limit     int        // 0 = only count
	// SkipCount leaves out the total.
	SkipCount bool

	Statuses []string // nil = any; empty = none

	ExcludedIDs []uuid.UUID

	PatientTerms []PatientTerm // all hold
	BirthDate    TimeFilter    // of patients

	Sources []string // of interactions; nil = any
}

// newQuery returns the statement with the conditions that all kinds share. changedColumn has
// the time of the last change, statusColumn the status, or is "".
func (s ResourceFilter) newQuery(table, changedColumn, statusColumn string) *searchQuery {
	b := &searchQuery{table: "clinic." + table, sortColumns: map[SortField]sortColumn{SortByChange: {expression: changedColumn, cast: "timestamptz"}}}
	b.where("t.clinic_id = %s", s.Clinic)
	b.where("t.env = %s", string(s.Env))
	b.baseConditions = len(b.conditions)
	if s.IDs != nil {
		b.where("t.id = any(%s)", s.IDs)
	}
	if len(s.ExcludedIDs) > 0 {
		b.where("t.id <> all(%s)", s.ExcludedIDs)
	}
	if s.Statuses != nil && statusColumn != "" {
		b.where(statusColumn+" = any(%s)", s.Statuses)
	}
	b.whereTime(changedColumn, s.ChangedAt)
	return b
}

// wherePatient adds the conditions of tables whose rows belong to a patient.
func (s ResourceFilter) wherePatient(b *searchQuery) {
	if s.Patients != nil {
		b.where("t.patient_id = any(%s)", s.Patients)
	}
	if s.ForPeer {
		b.baseConditions++
		b.conditions = append(b.conditions, "exists (select from clinic.patients p where (p.clinic_id, p.env, p.id) = (t.clinic_id, t.env, t.patient_id) and p.status <> 'anonymized')")
	}
}

// find returns a page of a search and, unless it skips that, the total.
func find[T any](ctx context.Context, s *Store, b *searchQuery, q ResourceFilter) (rows []T, total int, err error) {
	selective := false
	switch {
	case q.Limit == 0:
		total, err = b.count(ctx, s, 0)
		return nil, total, err
	case !q.SkipCount:
		if total, err = b.count(ctx, s, MaxCount); err != nil || total == 0 {
			return nil, 0, err
		}
		selective = total < MaxCount && len(b.conditions) > b.baseConditions
	}
	statement := b.fromWhere()
	if selective { // "offset 0" makes PostgreSQL find the few rows first, instead of scanning all in their order
		statement = "from (select t.* " + statement + " offset 0) t where true"
	}
	condition, order := b.orderClause(q.Sort, q.Cursor)
	statement += condition + order + " limit " + b.arg(q.Limit)
	resourceRows, err := s.db.Query(ctx, "select t.* "+statement, slices.Concat([]any{customPlan}, b.args)...)
	if err != nil {
		return nil, 0, err
	}
	rows, err = pgx.CollectRows(resourceRows, pgx.RowToStructByPos[T])
	if q.Cursor != nil && q.Cursor.Backward {
		slices.Reverse(rows)
	}
	return rows, total, err
}

// FindPatients returns a page of patients, and the total.
func (s *Store) FindPatients(ctx context.Context, q ResourceFilter) ([]Patient, int, error) {
	b := q.newQuery("patients", "t.updated_at", "t.status")
	if q.ForPeer {
		b.baseConditions++
		b.conditions = append(b.conditions, "t.status <> 'anonymized'")
	}
	for _, term := range q.PatientTerms {
		if err := s.wherePatientTerm(ctx, b, q.Scope, term); err != nil {
			return nil, 0, err
		}
	}
	b.whereTime("t.birth_date", q.BirthDate)
	b.sortColumns[SortByName] = sortColumn{expression: "t.name_search", cast: "text", bytewise: true}
	b.sortColumns[SortByBirthDate] = sortColumn{expression: "t.birth_date", cast: "date", nullable: true}
	return find[Patient](ctx, s, b, q)
}

// FindAppointments returns a page of appointments, and the total.
func (s *Store) FindAppointments(ctx context.Context, q ResourceFilter) ([]Appointment, int, error) {
	b := q.newQuery("appointments", "t.updated_at", "t.status")
	q.wherePatient(b)
	b.whereTime("t.starts_at", q.Time)
	b.sortColumns[SortByTime] = sortColumn{expression: "t.starts_at", cast: "timestamptz"}
	return find[Appointment](ctx, s, b, q)
}

// FindRecords returns a page of records, and the total. The times of q.Time are compared
// as dates.
func (s *Store) FindRecords(ctx context.Context, q ResourceFilter) ([]Record, int, error) {
	b := q.newQuery("records", "t.updated_at", "")
	q.wherePatient(b)
	if q.ForPeer {
		b.where("t.sensitivity <> %s", string(care.VeryRestricted))
	}
	b.whereTime("t.date", q.Time)
	b.sortColumns[SortByTime] = sortColumn{expression: "t.date", cast: "date"}
	return find[Record](ctx, s, b, q)
}

// FindInteractions returns a page of interactions, and the total.
func (s *Store) FindInteractions(ctx context.Context, q ResourceFilter) ([]Interaction, int, error) {
	b := q.newQuery("interactions", "coalesce(t.updated_at, t.created_at)", "")
	q.wherePatient(b)
	b.whereTime("t.occurred_at", q.Time)
	b.sortColumns[SortByTime] = sortColumn{expression: "t.occurred_at", cast: "timestamptz"}
	if q.Sources != nil {
		b.where("t.source = any(%s)", q.Sources)
	}
	return find[Interaction](ctx, s, b, q)
}

// FindPayments returns a page of payments, and the total.
func (s *Store) FindPayments(ctx context.Context, q ResourceFilter) ([]Payment, int, error) {
	b := q.newQuery("payments", "t.updated_at", "t.status")
	q.wherePatient(b)
	return find[Payment](ctx, s, b, q)
}
