package api

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module/rest"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store"
)

// ScheduleException changes a professional's working time on a day.
type ScheduleException struct {
	ID             uuid.UUID `json:"id" doc:"Names the exception in paths"`
	ProfessionalID uuid.UUID `json:"professional_id" doc:"Whose working time changes"`
	Date           string    `json:"date" doc:"Day, YYYY-MM-DD" example:"2026-03-02"`
	StartTime      *string   `json:"start_time" doc:"null: the whole day"`
	EndTime        *string   `json:"end_time" doc:"HH:MM; null: the whole day"`
	Reason         string    `json:"reason" doc:"Why; may be empty"`
	ExceptionType  string    `json:"exception_type" enum:"block,extra" doc:"block: no work; extra: work besides the rules"`
	CreatedAt      time.Time `json:"created_at" doc:"When it was stored"`
	UpdatedAt      time.Time `json:"updated_at" doc:"When it was last changed"`
}

// CreatedScheduleException is a new exception with the appointments that conflict with it. Those stay
// booked.
type CreatedScheduleException struct {
	ScheduleException
	Conflicts []AppointmentSummary `json:"conflicts" nullable:"false" doc:"Appointments in a new block; they stay booked"`
	Created   int                  `json:"created" doc:"How many days it was made for"`
}

// ChangedScheduleException is a changed exception with the appointments that conflict with it.
// Those stay booked.
type ChangedScheduleException struct {
	ScheduleException
	Conflicts []AppointmentSummary `json:"conflicts" nullable:"false" doc:"Appointments in the block; they stay booked"`
}

// ExceptionFields are the fields of an exception in requests.
type ExceptionFields struct {
	ProfessionalID optional[uuid.UUID] `json:"professional_id,omitempty" doc:"Whose working time changes; cannot be changed later"`
	Date           optional[string]    `json:"date,omitempty" format:"date" doc:"Day, YYYY-MM-DD" example:"2026-03-02"`
	StartTime      nullable[string]    `json:"start_time,omitempty" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]$" maxLength:"5" doc:"null: the whole day"`
	EndTime        nullable[string]    `json:"end_time,omitempty" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]$" maxLength:"5" doc:"null: the whole day"`
	Reason         nullable[string]    `json:"reason,omitempty" maxLength:"200" doc:"null: empty"`
	ExceptionType  optional[string]    `json:"exception_type,omitempty" enum:"block,extra" doc:"block: no work; extra: work besides the rules"`
}

type createExceptionInput struct {
	Body struct {
		ExceptionFields
		DateTo optional[string] `json:"date_to,omitempty" format:"date" doc:"The last day of a range, one exception for each day; absent: only the date"`
	} `nameHint:"NewScheduleException"`
}

type updateExceptionInput struct {
	ByID
	Body struct {
		ExceptionFields
		DateTo json.RawMessage `json:"date_to,omitempty" hidden:"true"` // a range is only taken when creating
	} `nameHint:"ScheduleExceptionFields"`
}

// maxExceptionDays is the longest range of an exception.
const maxExceptionDays = 366

func toException(row store.ScheduleException, zone *time.Location) ScheduleException {
	return ScheduleException{
		ID: row.ID, ProfessionalID: row.ProfessionalID, Date: row.Date.Format(time.DateOnly), StartTime: formatClock(row.StartMinute), EndTime: formatClock(row.EndMinute),
		Reason: row.Reason, ExceptionType: row.ExceptionType, CreatedAt: row.CreatedAt.In(zone), UpdatedAt: row.UpdatedAt.In(zone),
	}
}

// applyTo applies the fields to an exception and validates the result.
func (f *ExceptionFields) applyTo(exception *store.ScheduleException) error {
	f.ProfessionalID.ApplyTo(&exception.ProfessionalID)
	f.Reason.ApplyOrZero(&exception.Reason)
	f.ExceptionType.ApplyTo(&exception.ExceptionType)
	var errs fieldErrors
	if f.Date.HasValue() {
		d, err := parseDate("body.date", f.Date.Value)
		if err := errs.merge(err); err != nil {
			return err
		}
		exception.Date = d.Time()
	}
	start, end := formatClock(exception.StartMinute), formatClock(exception.EndMinute)
	f.StartTime.ApplyTo(&start)
	f.EndTime.ApplyTo(&end)
	hours, err := booking.ParsePair(start, end, "start_time", "end_time")
	if err := errs.merge(err); err != nil {
		return err
	}
	exception.StartMinute, exception.EndMinute = nil, nil
	if hours != nil {
		exception.StartMinute, exception.EndMinute = &hours.Start, &hours.End
	}
	if err := errs.merge(booking.Exception{Kind: booking.ExceptionKind(exception.ExceptionType), Hours: hours}.Validate()); err != nil {
		return err
	}
	errs.CheckLength(exception.Reason, "body.reason", 0, 200)
	return errs.Err()
}

type exceptionsInput struct {
	Month          string `query:"month" pattern:"^[0-9]{4}-[0-9]{2}$" doc:"YYYY-MM; absent: this month"`
	ProfessionalID string `query:"professional_id" format:"uuid" doc:"Only those of this professional"`
}

func (a *API) listExceptions(ctx context.Context, in *exceptionsInput) (*listOutput[ScheduleException], error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	first, last, err := parseMonth(in.Month, a.host.Now(), org.Zone)
	if err != nil {
		return nil, err
	}
	professional, err := parseOptionalID("query.professional_id", in.ProfessionalID)
	if err != nil {
		return nil, err
	}
	if professional != nil {
		if err := requireProfessional(ctx, a.store.DB, org.ID, *professional); err != nil {
			return nil, err
		}
	}
	rows, err := a.store.ExceptionsBetween(ctx, org.ID, first, last, professional)
	return toListOutput(rows, func(exception store.ScheduleException) ScheduleException { return toException(exception, org.Zone) }), err
}

func (a *API) createException(ctx context.Context, in *createExceptionInput) (*struct{ Body CreatedScheduleException }, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	var errs fieldErrors
	errs.Check(in.Body.ProfessionalID.HasValue(), "body.professional_id", "is required")
	errs.Check(in.Body.Date.HasValue(), "body.date", "is required")
	errs.Check(in.Body.ExceptionType.HasValue(), "body.exception_type", "is required")
	if err := errs.Err(); err != nil {
		return nil, err
	}
	exception := store.ScheduleException{OrgID: org.ID}
	if err := in.Body.applyTo(&exception); err != nil {
		return nil, err
	}
	first := booking.NewDate(exception.Date.Date())
	last := first
	if in.Body.DateTo.HasValue() {
		if last, err = parseDate("body.date_to", in.Body.DateTo.Value); err != nil {
			return nil, err
		}
		if last < first || last-first >= maxExceptionDays {
			return nil, hub.Invalid("body.date_to", "must be at most 366 days from date")
		}
	}
	if err := requireProfessional(ctx, a.store.DB, org.ID, exception.ProfessionalID); err != nil {
		return nil, err
	}
	out := &struct{ Body CreatedScheduleException }{}
	err = a.store.InTx(ctx, "making an exception", func(tx *store.Tx) error {
		ids, err := tx.AddExceptions(ctx, exception, first, last)
		if err != nil {
			return err
		}
		created, err := tx.LockException(ctx, org.ID, ids[0])
		if err != nil {
			return err
		}
		out.Body.ScheduleException, out.Body.Created = toException(created, org.Zone), len(ids)
		out.Body.Conflicts, err = findConflicts(ctx, tx, org, exception, first, last)
		return err
	})
	return out, err
}

// findConflicts returns the appointments that overlap a block.
func findConflicts(ctx context.Context, tx *store.Tx, org store.Org, exception store.ScheduleException, first, last booking.Date) ([]AppointmentSummary, error) {
	found := []AppointmentSummary{}
	if exception.ExceptionType != string(booking.Block) {
		return found, nil
	}
	since, until := dayBounds(first, last, org.Zone)
	rows, err := tx.OpenAppointmentsBetween(ctx, org.ID, exception.ProfessionalID, since, until)
	for _, row := range rows {
		openRule := booking.Rule{Start: 0, End: 23*60 + 59, Active: true}
		var hours *booking.Hours
		if exception.StartMinute != nil {
			hours = &booking.Hours{Start: *exception.StartMinute, End: *exception.EndMinute}
		}
		// It lies in the block where it would fit into a whole day without it only.
		var rules []booking.Rule
		var blocks []booking.Exception
		for date := booking.DateOf(row.StartAt, org.Zone); date <= booking.DateOf(row.EndAt, org.Zone); date++ {
			openRule.Weekday = date.Weekday()
			rules = append(rules, openRule)
			if date >= first && date <= last {
				blocks = append(blocks, booking.Exception{Date: date, Kind: booking.Block, Hours: hours})
			}
		}
		if !booking.WithinHours(org.Zone, row.StartAt, row.EndAt, rules, blocks) {
			found = append(found, toAppointmentSummary(row, org.Zone))
		}
	}
	return found, err
}

func (a *API) updateException(ctx context.Context, in *updateExceptionInput) (*struct{ Body ChangedScheduleException }, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	if in.Body.DateTo != nil {
		return nil, hub.Invalid("body.date_to", "cannot be changed: an exception is for one day. Create another for each further day")
	}
	out := &struct{ Body ChangedScheduleException }{}
	err = a.store.InTx(ctx, "updating an exception", func(tx *store.Tx) error {
		exception, err := tx.LockException(ctx, org.ID, in.ID)
		if err != nil {
			return rest.NotFoundIfNoRows("Schedule exception", err)
		}
		if err := in.Body.applyTo(&exception); err != nil {
			return err
		}
		if err := requireProfessional(ctx, tx.DB, org.ID, exception.ProfessionalID); err != nil {
			return err
		}
		updated, err := tx.SaveException(ctx, exception)
		if err != nil {
			return err
		}
		out.Body.ScheduleException = toException(updated, org.Zone)
		day := booking.NewDate(updated.Date.Date())
		out.Body.Conflicts, err = findConflicts(ctx, tx, org, updated, day, day)
		return err
	})
	return out, err
}

func (a *API) deleteException(ctx context.Context, in *ByID) (*noContent, error) {
	org, err := callerOrgID(ctx)
	if err != nil {
		return nil, err
	}
	deleted, err := a.store.DeleteException(ctx, org, in.ID)
	return nil, requireRowChanged("Schedule exception", deleted, err)
}
