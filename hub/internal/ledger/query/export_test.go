package query

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Hasty returns a reader with the smallest effort, so that every way of reading the
// log is walked with few rows: it looks at hardly any row in hope of a page, takes no
// day for small and two targets for many.
func (r *Reader) Hasty() *Reader {
	return &Reader{pool: r.pool, limits: readLimits{newest: 7, perDriver: 3, perDenseDriver: 5, fewTargets: 1, manyTargets: 5}}
}

// ExplainSubjects returns how PostgreSQL reads the newest day for a search by subject.
func (r *Reader) ExplainSubjects(ctx context.Context, f Filter, terms []int64) (string, error) {
	var p plan
	var err error
	if p.filterConditions, _, err = f.conditions(ctx, r.pool); err != nil {
		return "", err
	}
	p.subjects = p.numbered("?::bigint[]", terms)
	days, err := p.days(ctx, r.pool)
	if err != nil {
		return "", err
	}
	rows, err := r.pool.Query(ctx, "explain (analyze, buffers, costs off) "+p.subjectStatement(days, 51), p.args...)
	if err != nil {
		return "", err
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return strings.Join(lines, "\n"), err
}
