package query

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub/internal/logid"
)

// Hasty returns a reader with the smallest effort, so that every way of reading the
// log is walked with few rows: it looks at hardly any row in hope of a page, takes no
// day for small and two targets for many.
func (r *Reader) Hasty() *Reader {
	return &Reader{pool: r.pool, limits: readLimits{newest: 7, perDriver: 3, perDenseDriver: 5, fewTargets: 1, manyTargets: 5, pending: 100}}
}

// ExplainEvents returns how PostgreSQL lists an owner's events.
func (r *Reader) ExplainEvents(ctx context.Context, owner Owner) (string, error) {
	c := owner.events()
	return r.explain(ctx, fmt.Sprintf(readEventsSQL, c.Where(), 51), c.args)
}

// ExplainCount returns how PostgreSQL counts what a replay by a filter would send.
func (r *Reader) ExplainCount(ctx context.Context, f Filter) (string, error) {
	c, ok, err := f.Conditions(ctx, r.pool)
	if err != nil || !ok {
		return "", err
	}
	return r.explain(ctx, `select count(*) from hub.deliveries d where `+c.Where()+` and d.status <> 0 and not d.inbound and d.finished_at <= now()`, c.Args())
}

// explain runs a statement and returns how.
func (r *Reader) explain(ctx context.Context, statement string, args []any) (string, error) {
	rows, err := r.pool.Query(ctx, "explain (analyze, buffers, costs off) "+statement, append([]any{pgx.QueryExecModeCacheDescribe}, args...)...)
	if err != nil {
		return "", err
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return strings.Join(lines, "\n"), err
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
	return r.explain(ctx, p.subjectStatement(days, 51), p.args)
}

// ExplainOldestOfDay returns how PostgreSQL finds the oldest delivery of a day that waits and
// is not bulk.
func (r *Reader) ExplainOldestOfDay(ctx context.Context, day time.Time) (string, error) {
	return r.explain(ctx, strings.ReplaceAll(oldestOfDaySQL, "DAY", logid.Partition(logid.Floor(day))), []any{maxOldestRead})
}
