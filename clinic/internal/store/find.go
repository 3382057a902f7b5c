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

// Spans narrow a time down: each of them does, and is a list, of which one is enough.
type Spans [][]Span

// Search narrows down what a clinic has; what is zero does not. Found is what comes
// after an id, by id: in the order it was made.
type Search struct {
	Scope
	Outside  bool        // for connected products: without what they must not know of
	IDs      []uuid.UUID // nil = any; empty = none
	Patients []uuid.UUID // nil = any; empty = none
	Changed  Spans
	At       Spans // when it was, is or will be
	After    uuid.UUID
	Limit    int
	// Uncounted leaves out how many there are in all.
	Uncounted bool

	Statuses []string // nil = any; empty = none

	// Of patients. Each list narrows the search down; one of what it holds is enough.
	PhoneKeys [][]string
	Names     [][]string // how words of it begin
	WholeName [][]string
	CPFHashes [][][]byte
	Born      Spans

	Sources []string // of interactions; nil = any
}

// search puts a statement together: what a search asks for decides which index helps.
type search struct {
	table string // its rows are called t
	where []string
	args  []any
	every int // conditions that every such search has; more narrow it down
}

// also adds a condition; %s in it stands for its argument.
func (b *search) also(condition string, arg any) {
	b.args = append(b.args, arg)
	b.where = append(b.where, fmt.Sprintf(condition, fmt.Sprintf("$%d", len(b.args))))
}

// either adds a condition that one of several values meets; condition writes it for the
// place of one.
func (b *search) either(values []string, condition func(place string) string) {
	parts := []string{"false"}
	for _, one := range values {
		parts = append(parts, condition(b.given(one)))
	}
	b.where = append(b.where, "("+strings.Join(parts, " or ")+")")
}

func (b *search) within(column string, spans Spans) {
	for _, span := range spans {
		parts := []string{"false"}
		for _, one := range span {
			part := "true"
			if !one.From.IsZero() {
				part = column + " >= " + b.given(one.From)
			}
			if !one.To.IsZero() {
				part += " and " + column + " < " + b.given(one.To)
			}
			parts = append(parts, part)
		}
		b.where = append(b.where, "("+strings.Join(parts, " or ")+")")
	}
}

// begin adds what every search of a table has. changed is the column of the last
// change, status that of the status, or "".
func (s Search) begin(table, changed, status string) *search {
	b := &search{table: "clinic." + table}
	b.also("t.clinic_id = %s", s.Clinic)
	b.also("t.env = %s", string(s.Env))
	b.every = len(b.where)
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
	if s.Patients != nil {
		b.also("t.patient_id = any(%s)", s.Patients)
	}
	if s.Outside {
		b.every++
		b.where = append(b.where, "exists (select from clinic.patients p where (p.clinic_id, p.env, p.id) = (t.clinic_id, t.env, t.patient_id) and p.status <> 'anonymized')")
	}
}

// CountedAtMost is how many rows a page's total is counted up to: that many stand for
// that many or more.
const CountedAtMost = 10_000

// planned has PostgreSQL make a plan for the values at hand, every time: one made for any
// values reads whole tables for what hardly anybody has.
const planned = pgx.QueryExecModeCacheDescribe

// count is how many rows a search finds, up to a number of them; 0 counts all.
func (b *search) count(ctx context.Context, s *Store, most int) (total int, err error) {
	args, bound := slices.Concat([]any{planned}, b.args), ""
	if most > 0 {
		bound = fmt.Sprintf(" limit $%d", len(args))
		args = append(args, most)
	}
	err = s.host.Pool.QueryRow(ctx, "select count(*) from (select "+b.rows()+bound+") n", args...).Scan(&total)
	return total, err
}

// rows are what the search finds, behind "select" and columns.
func (b *search) rows() string {
	return "from " + b.table + " t where " + strings.Join(b.where, " and ")
}

// find runs a search over a table: how many there are, as far as that was asked for,
// and a page of them. A limit of 0 only counts.
func find[T any](ctx context.Context, s *Store, b *search, q Search) (rows []T, total int, err error) {
	few := false
	switch {
	case q.Limit == 0:
		total, err = b.count(ctx, s, 0)
		return nil, total, err
	case !q.Uncounted:
		if total, err = b.count(ctx, s, CountedAtMost); err != nil || total == 0 {
			return nil, 0, err
		}
		few = total < CountedAtMost && len(b.where) > b.every
	}
	from := b.rows()
	if few { // found first: offset 0 keeps PostgreSQL from looking through all in their order
		from = "from (select t.* " + from + " offset 0) t where true"
	}
	if q.After != uuid.Nil {
		from += " and t.id > " + b.given(q.After)
	}
	from += " order by t.id limit " + b.given(q.Limit)
	found, err := s.host.Pool.Query(ctx, "select t.* "+from, slices.Concat([]any{planned}, b.args)...)
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
		b.every++
		b.where = append(b.where, "t.status <> 'anonymized'")
	}
	for _, keys := range q.PhoneKeys {
		ids, err := s.phoneIDs(ctx, q.Scope, keys)
		if err != nil {
			return nil, 0, err
		}
		b.also("t.id = any(%s)", ids)
	}
	for _, names := range q.Names {
		b.either(names, func(name string) string { return fmt.Sprintf(hasWords, "t", name) })
	}
	for _, names := range q.WholeName {
		b.either(names, func(name string) string {
			return "t.name_search = clinic.search_form(" + name + ") and t.name = " + name
		})
	}
	for _, hashes := range q.CPFHashes {
		b.also("t.cpf_hmac = any(%s)", hashes)
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
