package query

import (
	"context"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// ListBySubject is [Reader.List] for the deliveries of events that have one of some terms
// of package subject. An index finds them.
func (r *Reader) ListBySubject(ctx context.Context, f Filter, terms []int64, before *uuid.UUID, limit int) ([]Item, error) {
	if before == nil {
		if err := r.Materialize(ctx); err != nil {
			return nil, err
		}
	}
	var p plan
	var ok bool
	var err error
	if p.filterConditions, ok, err = f.conditions(ctx, r.pool); err != nil || !ok {
		return nil, err
	}
	if before != nil {
		p.addRange("d.id < ?", *before)
		p.lowerLast(*before)
	}
	p.subjects = p.numbered("?::bigint[]", terms)
	ids, err := r.find(ctx, &p, limit)
	if err != nil {
		return nil, err
	}
	return r.items(ctx, ids)
}

// searchSubjects searches days, newest first, for the events of a subject. An index has a
// subject's events of each day, so that days without any cost little; the number of days
// read at once doubles all the same.
func (r *Reader) searchSubjects(ctx context.Context, p *plan, days []day, limit int) ([]uuid.UUID, error) {
	var found []uuid.UUID
	for next := firstDays; len(days) > 0 && len(found) < limit; next *= 2 {
		n := min(next, len(days))
		ids, err := r.searchIDs(ctx, p.subjectStatement(days[:n], limit-len(found)), p.args)
		if err != nil {
			return nil, err
		}
		found, days = append(found, ids...), days[n:]
	}
	return found, nil
}

// subjectStatement writes the search of some days for a subject. "offset 0" makes the
// index of subjects come first: the planner cannot know how few events it leaves.
func (p *plan) subjectStatement(days []day, limit int) string {
	parts := make([]string, len(days))
	for i, d := range days {
		parts[i] = `(select d.id from (
			select seq, (overlay(seq::text placing 'ffff' from 33))::uuid as last from hub.events_` + d.name + `
			where subjects is not null and subjects && ` + p.subjects + ` offset 0) e,
			lateral (select d.id from ` + d.table() + ` d where d.id > e.seq and d.id <= e.last and ` + p.Where() + ` offset 0) d
			order by d.id desc limit ` + strconv.Itoa(limit) + `)`
	}
	return "select id from (" + strings.Join(parts, " union all ") + ") merged order by id desc limit " + strconv.Itoa(limit)
}
