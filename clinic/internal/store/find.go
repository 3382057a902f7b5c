package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store/dbgen"
)

// Span is from a moment until before another; zero is without an end there.
type Span struct{ From, To time.Time }

// Search narrows down what a clinic has; what is zero does not. Found is what comes
// after an id, by id: in the order it was made.
type Search struct {
	Scope
	Outside bool        // for connected products: without what they must not know of
	IDs     []uuid.UUID // nil = any; empty = none
	Patient *uuid.UUID
	Changed Span
	At      Span // when it was, is or will be
	After   uuid.UUID
	Limit   int
	// Uncounted leaves out how many there are in all.
	Uncounted bool

	Statuses []string // nil = any; empty = none

	// Of patients.
	PhoneKey string
	Name     string // how a word of it begins
	CPFHash  []byte
	Born     Span

	Sources []string // of interactions; nil = any
}

// search puts a statement together: what a search asks for decides which index helps.
type search struct {
	table string // or a select in parentheses; its rows are called t
	where []string
	args  []any
}

// also adds a condition; %s in it stands for its argument.
func (b *search) also(condition string, arg any) {
	b.args = append(b.args, arg)
	b.where = append(b.where, fmt.Sprintf(condition, fmt.Sprintf("$%d", len(b.args))))
}

func (b *search) within(column string, span Span) {
	if !span.From.IsZero() {
		b.also(column+" >= %s", span.From)
	}
	if !span.To.IsZero() {
		b.also(column+" < %s", span.To)
	}
}

// begin adds what every search of a table has. changed is the column of the last
// change, status that of the status, or "".
func (s Search) begin(table, changed, status string) *search {
	b := &search{table: "clinic." + table}
	b.also("t.clinic_id = %s", s.Clinic)
	b.also("t.env = %s", string(s.Env))
	if s.IDs != nil {
		b.also("t.id = any(%s)", s.IDs)
	}
	if s.Statuses != nil && status != "" {
		b.also(status+" = any(%s)", s.Statuses)
	}
	b.within(changed, s.Changed)
	return b
}

// ofPatients adds what searches of a patient's things have.
func (s Search) ofPatients(b *search) {
	if s.Patient != nil {
		b.also("t.patient_id = %s", *s.Patient)
	}
	if s.Outside {
		b.where = append(b.where, "exists (select from clinic.patients p where (p.clinic_id, p.env, p.id) = (t.clinic_id, t.env, t.patient_id) and p.status <> 'anonymized')")
	}
}

// CountedAtMost is how many rows a page's total is counted up to: that many stand for
// that many or more.
const CountedAtMost = 10_000

// count is how many rows a search finds, up to a number of them; 0 counts all.
func (b *search) count(ctx context.Context, s *Store, most int) (total int, err error) {
	args, bound := b.args, ""
	if most > 0 {
		args = append(slices.Clone(args), most)
		bound = fmt.Sprintf(" limit $%d", len(args))
	}
	err = s.kit.Pool.QueryRow(ctx, "select count(*) from (select from "+b.table+" t where "+strings.Join(b.where, " and ")+bound+") n", args...).Scan(&total)
	return total, err
}

// find runs a search over a table: how many there are, as far as that was asked for,
// and a page of them. A limit of 0 only counts.
func find[T any](ctx context.Context, s *Store, b *search, q Search) (rows []T, total int, err error) {
	switch {
	case q.Limit == 0:
		total, err = b.count(ctx, s, 0)
		return nil, total, err
	case !q.Uncounted:
		if total, err = b.count(ctx, s, CountedAtMost); err != nil {
			return nil, 0, err
		}
	}
	if q.After != uuid.Nil {
		b.also("t.id > %s", q.After)
	}
	b.args = append(b.args, q.Limit)
	found, err := s.kit.Pool.Query(ctx, fmt.Sprintf("select t.* from %s t where %s order by t.id limit $%d", b.table, strings.Join(b.where, " and "), len(b.args)), b.args...)
	if err != nil {
		return nil, 0, err
	}
	rows, err = pgx.CollectRows(found, pgx.RowToStructByPos[T])
	return rows, total, err
}

// FindPatients searches patients.
func (s *Store) FindPatients(ctx context.Context, q Search) ([]dbgen.Patient, int, error) {
	b := q.begin("patients", "t.updated_at", "t.status")
	if q.Outside {
		b.where = append(b.where, "t.status <> 'anonymized'")
	}
	if q.PhoneKey != "" {
		ids, err := s.phoneIDs(ctx, q.Scope, q.PhoneKey)
		if err != nil {
			return nil, 0, err
		}
		b.also("t.id = any(%s)", ids)
	}
	if q.Name != "" { // found first: offset 0 keeps PostgreSQL from looking for the order first
		b.table = "(" + patientsWhere("q.*", fmt.Sprintf(hasWords, b.given(q.Name))) + " offset 0)"
	}
	if q.CPFHash != nil {
		b.also("t.cpf_hmac = %s", q.CPFHash)
	}
	b.within("t.birth_date", q.Born)
	return find[dbgen.Patient](ctx, s, b, q)
}

// FindAppointments searches appointments.
func (s *Store) FindAppointments(ctx context.Context, q Search) ([]dbgen.Appointment, int, error) {
	b := q.begin("appointments", "t.updated_at", "t.status")
	q.ofPatients(b)
	b.within("t.starts_at", q.At)
	return find[dbgen.Appointment](ctx, s, b, q)
}

// FindRecords searches records. The days of At are compared as dates.
func (s *Store) FindRecords(ctx context.Context, q Search) ([]dbgen.Record, int, error) {
	b := q.begin("records", "t.updated_at", "")
	q.ofPatients(b)
	if q.Outside {
		b.also("t.sensitivity <> %s", string(care.VeryRestricted))
	}
	b.within("t.date", q.At)
	return find[dbgen.Record](ctx, s, b, q)
}

// FindInteractions searches interactions.
func (s *Store) FindInteractions(ctx context.Context, q Search) ([]dbgen.Interaction, int, error) {
	b := q.begin("interactions", "coalesce(t.updated_at, t.created_at)", "")
	q.ofPatients(b)
	b.within("t.occurred_at", q.At)
	if q.Sources != nil {
		b.also("t.source = any(%s)", q.Sources)
	}
	return find[dbgen.Interaction](ctx, s, b, q)
}

// FindPayments searches payments.
func (s *Store) FindPayments(ctx context.Context, q Search) ([]dbgen.Payment, int, error) {
	b := q.begin("payments", "t.updated_at", "t.status")
	q.ofPatients(b)
	return find[dbgen.Payment](ctx, s, b, q)
}
