package store

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// SortField is what rows of a search are ordered by.
type SortField string

// The fields. Every kind of rows has SortByID and SortByChange.
const (
	SortByID        SortField = "id"
	SortByChange    SortField = "change" // the time of the last change
	SortByTime      SortField = "time"   // of appointments, records and interactions
	SortByName      SortField = "name"   // of patients, without case and accents
	SortByBirthDate SortField = "birth"  // of patients; missing ones come last, descending first
)

// SortKey is one criterion of an order. Rows that are equal by all keys are ordered by id.
type SortKey struct {
	Field      SortField
	Descending bool
}

// Cursor is a position between the rows of a search.
type Cursor struct {
	Values   []*string // of the search's sort keys at a row, nil for a missing one
	ID       uuid.UUID // of that row
	Backward bool      // the page ends before the row, else it begins after it
}

// sortColumn is a field as a table has it.
type sortColumn struct {
	expression string
	cast       string // type of the values
	nullable   bool
	bytewise   bool // compared like the index on names, whatever the database's collation
}

var idColumn = sortColumn{expression: "t.id", cast: "uuid"}

func (c sortColumn) operator(descending bool) string {
	switch {
	case c.bytewise && descending:
		return "~<~"
	case c.bytewise:
		return "~>~"
	case descending:
		return "<"
	}
	return ">"
}

func (c sortColumn) operatorOrEqual(descending bool) string {
	operator, isBytewise := strings.CutSuffix(c.operator(descending), "~")
	if isBytewise {
		return operator + "=~"
	}
	return operator + "="
}

func (c sortColumn) order(descending bool) string {
	switch {
	case c.bytewise && descending:
		return c.expression + " using ~>~"
	case c.bytewise:
		return c.expression + " using ~<~"
	case descending:
		return c.expression + " desc" // missing values first: the exact reverse
	}
	return c.expression
}

// orderClause returns the order of a search and, with a cursor, the condition for its page.
// Rows of a page that ends before its cursor come in reverse order.
func (b *searchQuery) orderClause(sort []SortKey, cursor *Cursor) (condition, order string) {
	if !slices.ContainsFunc(sort, func(key SortKey) bool { return key.Field == SortByID }) {
		sort = append(slices.Clone(sort), SortKey{Field: SortByID})
	}
	backward := cursor != nil && cursor.Backward
	var orders, alternatives, equal []string
	for i, key := range sort {
		column, descending := b.sortColumns[key.Field], key.Descending != backward
		if key.Field == SortByID {
			column = idColumn
		}
		orders = append(orders, column.order(descending))
		if cursor == nil {
			continue
		}
		var value *string
		if key.Field == SortByID {
			id := cursor.ID.String()
			value = &id
		} else {
			value = cursor.Values[i]
		}
		equality, later := b.compareToCursor(column, descending, value)
		if i == 0 && !column.nullable { // what an index can use: of alternatives it uses nothing
			condition = " and " + column.expression + " " + column.operatorOrEqual(descending) + " " + b.arg(*value) + "::text::" + column.cast
		}
		if later != "" {
			alternatives = append(alternatives, "("+strings.Join(append(slices.Clone(equal), later), " and ")+")")
		}
		equal = append(equal, equality)
	}
	if cursor != nil {
		condition += " and " + anyOf(alternatives)
	}
	return condition, " order by " + strings.Join(orders, ", ")
}

// compareToCursor returns the conditions that a column has the value of a cursor, and that it
// comes later in the order; "" if nothing does.
func (b *searchQuery) compareToCursor(column sortColumn, descending bool, value *string) (equality, later string) {
	if value == nil {
		equality = column.expression + " is null"
		if descending {
			later = column.expression + " is not null"
		}
		return equality, later
	}
	placeholder := b.arg(*value) + "::text::" + column.cast
	equality = column.expression + " = " + placeholder
	later = column.expression + " " + column.operator(descending) + " " + placeholder
	if column.nullable && !descending {
		later = "(" + later + " or " + column.expression + " is null)"
	}
	return equality, later
}

// cursorAt returns the cursor at a row; value returns the row's value of a field.
func (s ResourceFilter) cursorAt(id uuid.UUID, value func(SortField) *string) Cursor {
	cursor := Cursor{ID: id}
	for _, key := range s.Sort {
		if key.Field == SortByID {
			cursor.Values = append(cursor.Values, nil)
		} else {
			cursor.Values = append(cursor.Values, value(key.Field))
		}
	}
	return cursor
}

func instantText(instant time.Time) *string {
	text := instant.UTC().Format(time.RFC3339Nano)
	return &text
}

func dateText(day time.Time) *string {
	text := day.Format(time.DateOnly)
	return &text
}

// PatientCursor returns the cursor at a patient.
func (s ResourceFilter) PatientCursor(p Patient) Cursor {
	return s.cursorAt(p.ID, func(field SortField) *string {
		switch {
		case field == SortByName:
			return &p.NameSearch
		case field == SortByBirthDate && p.BirthDate == nil:
			return nil
		case field == SortByBirthDate:
			return dateText(*p.BirthDate)
		}
		return instantText(p.UpdatedAt)
	})
}

// AppointmentCursor returns the cursor at an appointment.
func (s ResourceFilter) AppointmentCursor(a Appointment) Cursor {
	return s.cursorAt(a.ID, func(field SortField) *string {
		if field == SortByTime {
			return instantText(a.StartsAt)
		}
		return instantText(a.UpdatedAt)
	})
}

// RecordCursor returns the cursor at a record.
func (s ResourceFilter) RecordCursor(r Record) Cursor {
	return s.cursorAt(r.ID, func(field SortField) *string {
		if field == SortByTime {
			return dateText(r.Date)
		}
		return instantText(r.UpdatedAt)
	})
}

// InteractionCursor returns the cursor at an interaction.
func (s ResourceFilter) InteractionCursor(i Interaction) Cursor {
	return s.cursorAt(i.ID, func(field SortField) *string {
		if field == SortByTime {
			return instantText(i.OccurredAt)
		}
		return instantText(InteractionUpdatedAt(i))
	})
}

// InteractionUpdatedAt returns when an interaction was last written: its patient's erasure
// updates it.
func InteractionUpdatedAt(i Interaction) time.Time {
	if i.UpdatedAt != nil {
		return *i.UpdatedAt
	}
	return i.CreatedAt
}
