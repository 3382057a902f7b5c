package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// ScheduleRule is a row of scheduling.schedule_rules.
type ScheduleRule = dbgen.ScheduleRule

// ScheduleException is a row of scheduling.schedule_exceptions.
type ScheduleException = dbgen.ScheduleException

// AddRule stores a new schedule rule.
func (t *Tx) AddRule(ctx context.Context, rule ScheduleRule) (ScheduleRule, error) {
	return t.CreateRule(ctx, dbgen.CreateRuleParams{
		OrgID: rule.OrgID, ID: rule.ID, ProfessionalID: rule.ProfessionalID, DayOfWeek: rule.DayOfWeek, StartMinute: rule.StartMinute, EndMinute: rule.EndMinute,
		BreakStartMinute: rule.BreakStartMinute, BreakEndMinute: rule.BreakEndMinute, IsActive: rule.IsActive,
	})
}

// SaveRule stores a changed schedule rule.
func (t *Tx) SaveRule(ctx context.Context, rule ScheduleRule) (ScheduleRule, error) {
	return t.UpdateRule(ctx, dbgen.UpdateRuleParams{
		OrgID: rule.OrgID, ID: rule.ID, ProfessionalID: rule.ProfessionalID, DayOfWeek: rule.DayOfWeek, StartMinute: rule.StartMinute, EndMinute: rule.EndMinute,
		BreakStartMinute: rule.BreakStartMinute, BreakEndMinute: rule.BreakEndMinute, IsActive: rule.IsActive, UpdatedAt: t.now,
	})
}

// CopyRulesBetween copies the rules of one professional to another and returns how many.
func (t *Tx) CopyRulesBetween(ctx context.Context, org, from, to uuid.UUID) (int64, error) {
	return t.CopyRules(ctx, dbgen.CopyRulesParams{OrgID: org, FromID: from, ToID: to})
}

// ExceptionsBetween loads the exceptions from first to last, of one professional or of
// all (nil).
func (d DB) ExceptionsBetween(ctx context.Context, org uuid.UUID, first, last booking.Date, professional *uuid.UUID) ([]ScheduleException, error) {
	return d.ListExceptions(ctx, dbgen.ListExceptionsParams{OrgID: org, First: first.Time(), Last: last.Time(), ProfessionalID: professional})
}

// maxExceptionsPerDay is how many exceptions a professional has on a day. Searches for free times
// read all of them.
const maxExceptionsPerDay = 20

// prepareExceptions takes the lock of the professional's time: a booking under way and a new
// block see each other. A day that has too many exceptions is a [hub.ErrConflict].
func (t *Tx) prepareExceptions(ctx context.Context, exception ScheduleException, first, last booking.Date) error {
	if err := t.LockProfessionalTime(ctx, exception.ProfessionalID); err != nil {
		return err
	}
	full, err := t.FullExceptionDay(ctx, dbgen.FullExceptionDayParams{
		OrgID: exception.OrgID, ProfessionalID: exception.ProfessionalID, First: first.Time(), Last: last.Time(), ID: exception.ID, MaxCount: maxExceptionsPerDay,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return hub.Errorf(hub.ErrConflict, "too_many_exceptions", "The professional has %d exceptions on %s, the most a day can have. Delete one of them or change its times instead.", maxExceptionsPerDay, full.Format(time.DateOnly))
}

// AddExceptions stores the exception for each day from first to last and returns the
// ids in the order of the days.
func (t *Tx) AddExceptions(ctx context.Context, exception ScheduleException, first, last booking.Date) ([]uuid.UUID, error) {
	if err := t.prepareExceptions(ctx, exception, first, last); err != nil {
		return nil, err
	}
	params := dbgen.CreateExceptionsParams{
		OrgID: exception.OrgID, ProfessionalID: exception.ProfessionalID, ExceptionType: exception.ExceptionType, StartMinute: exception.StartMinute, EndMinute: exception.EndMinute, Reason: exception.Reason,
	}
	for date := first; date <= last; date++ {
		params.Ids, params.Dates = append(params.Ids, NewID()), append(params.Dates, date.Time())
	}
	return params.Ids, t.CreateExceptions(ctx, params)
}

// SaveException stores a changed exception.
func (t *Tx) SaveException(ctx context.Context, exception ScheduleException) (ScheduleException, error) {
	day := booking.NewDate(exception.Date.Date())
	if err := t.prepareExceptions(ctx, exception, day, day); err != nil {
		return ScheduleException{}, err
	}
	return t.UpdateException(ctx, dbgen.UpdateExceptionParams{
		OrgID: exception.OrgID, ID: exception.ID, ProfessionalID: exception.ProfessionalID, Date: exception.Date, ExceptionType: exception.ExceptionType,
		StartMinute: exception.StartMinute, EndMinute: exception.EndMinute, Reason: exception.Reason, UpdatedAt: t.now,
	})
}
