package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// anyOf joins conditions with "or".
func anyOf(conditions []string) string { return "(" + strings.Join(conditions, " or ") + ")" }

// TimeRange begins at From and ends before To. A zero time leaves that side open.
type TimeRange struct{ From, To time.Time }

// TimeFilter matches times that are, for each of its lists, in at least one range of it.
type TimeFilter [][]TimeRange

// searchQuery builds the statement of a search. Which conditions it has decides which
// index PostgreSQL uses.
type searchQuery struct {
	table          string // its alias is t
	conditions     []string
	args           []any
	baseConditions int // how many conditions every search of the table has
	sortColumns    map[SortField]sortColumn
}

// arg adds an argument and returns its placeholder.
func (b *searchQuery) arg(value any) string {
	b.args = append(b.args, value)
	return fmt.Sprintf("$%d", len(b.args))
}

// where adds a condition; %s in it becomes the placeholder of the value.
func (b *searchQuery) where(condition string, value any) {
	b.conditions = append(b.conditions, fmt.Sprintf(condition, b.arg(value)))
}

func (b *searchQuery) whereTime(column string, filter TimeFilter) {
	for _, ranges := range filter {
		parts := []string{"false"}
		for _, r := range ranges {
			part := "true"
			if !r.From.IsZero() {
				part = column + " >= " + b.arg(r.From)
			}
			if !r.To.IsZero() {
				part += " and " + column + " < " + b.arg(r.To)
			}
			parts = append(parts, part)
		}
		b.conditions = append(b.conditions, anyOf(parts))
	}
}

// MaxCount is how far totals of lists are counted: it stands for that many or more.
const MaxCount = 10_000

// customPlan makes PostgreSQL plan a statement for its actual values, every time: a plan
// for any values scans whole tables for values that few rows have.
const customPlan = pgx.QueryExecModeCacheDescribe

// count returns how many rows the search matches, counting up to limit; 0 counts all.
func (b *searchQuery) count(ctx context.Context, s *Store, limit int) (total int, err error) {
	args, limitClause := slices.Concat([]any{customPlan}, b.args), ""
	if limit > 0 {
		limitClause = fmt.Sprintf(" limit $%d", len(args))
		args = append(args, limit)
	}
	err = s.db.QueryRow(ctx, "select count(*) from (select "+b.fromWhere()+limitClause+") n", args...).Scan(&total)
	return total, err
}

// fromWhere returns the statement from "from" on, without order and limit.
func (b *searchQuery) fromWhere() string {
	return "from " + b.table + " t where " + strings.Join(b.conditions, " and ")
}
