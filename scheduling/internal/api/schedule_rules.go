package api

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module/rest"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store"
)

// ScheduleRule is a recurring weekly working time of a professional.
type ScheduleRule struct {
	ID             uuid.UUID `json:"id" doc:"Names the rule in paths"`
	ProfessionalID uuid.UUID `json:"professional_id" doc:"Whose working time it is"`
	DayOfWeek      int       `json:"day_of_week" doc:"0 = Monday to 6 = Sunday"`
	StartTime      string    `json:"start_time" doc:"When work begins, HH:MM" example:"09:00"`
	EndTime        string    `json:"end_time" doc:"When work ends, HH:MM" example:"18:00"`
	BreakStart     *string   `json:"break_start" doc:"When a break begins, HH:MM; null: none"`
	BreakEnd       *string   `json:"break_end" doc:"When that break ends, HH:MM; null: none"`
	IsActive       bool      `json:"is_active" doc:"Whether it is in use"`
	CreatedAt      time.Time `json:"created_at" doc:"When it was stored"`
	UpdatedAt      time.Time `json:"updated_at" doc:"When it was last changed"`
}

type ruleOutput struct{ Body ScheduleRule }

type ruleFields struct {
	ProfessionalID optional[uuid.UUID] `json:"professional_id,omitempty" doc:"Whose working time it is; cannot be changed later"`
	DayOfWeek      optional[int]       `json:"day_of_week,omitempty" minimum:"0" maximum:"6" doc:"0 = Monday to 6 = Sunday"`
	StartTime      optional[string]    `json:"start_time,omitempty" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]$" maxLength:"5" doc:"When work begins, HH:MM" example:"09:00"`
	EndTime        optional[string]    `json:"end_time,omitempty" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]$" maxLength:"5" doc:"When work ends, HH:MM" example:"18:00"`
	BreakStart     nullable[string]    `json:"break_start,omitempty" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]$" maxLength:"5" doc:"null: no break"`
	BreakEnd       nullable[string]    `json:"break_end,omitempty" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]$" maxLength:"5" doc:"null: no break"`
	IsActive       optional[bool]      `json:"is_active,omitempty" doc:"false: the rule counts for nothing"`
}

// maxRules is the largest number of rules of a professional. Every availability query
// reads them all.
const maxRules = 200

// listRulesWithinLimit lists a professional's rules. It fails if there are more than
// [maxRules].
func listRulesWithinLimit(ctx context.Context, db store.DB, org, professional uuid.UUID, location string) ([]store.ScheduleRule, error) {
	rows, err := db.ListRules(ctx, org, &professional)
	if err == nil && len(rows) > maxRules {
		err = hub.Invalid(location, fmt.Sprintf("would have more than %d rules", maxRules))
	}
	return rows, err
}

type createRuleInput struct {
	Body ruleFields `nameHint:"ScheduleRuleFields"`
}

type updateRuleInput struct {
	ByID
	Body ruleFields `nameHint:"ScheduleRuleFields"`
}

func formatClock(c *booking.TimeOfDay) *string {
	if c == nil {
		return nil
	}
	s := c.String()
	return &s
}

func toRule(row store.ScheduleRule, zone *time.Location) ScheduleRule {
	return ScheduleRule{
		ID: row.ID, ProfessionalID: row.ProfessionalID, DayOfWeek: row.DayOfWeek, StartTime: row.StartMinute.String(), EndTime: row.EndMinute.String(),
		BreakStart: formatClock(row.BreakStartMinute), BreakEnd: formatClock(row.BreakEndMinute), IsActive: row.IsActive, CreatedAt: row.CreatedAt.In(zone), UpdatedAt: row.UpdatedAt.In(zone),
	}
}

// applyTo applies the fields to a rule and validates the result.
func (f *ruleFields) applyTo(row *store.ScheduleRule) error {
	f.ProfessionalID.ApplyTo(&row.ProfessionalID)
	f.DayOfWeek.ApplyTo(&row.DayOfWeek)
	f.IsActive.ApplyTo(&row.IsActive)
	start, end := row.StartMinute.String(), row.EndMinute.String()
	f.StartTime.ApplyTo(&start)
	f.EndTime.ApplyTo(&end)
	breakStart, breakEnd := formatClock(row.BreakStartMinute), formatClock(row.BreakEndMinute)
	f.BreakStart.ApplyTo(&breakStart)
	f.BreakEnd.ApplyTo(&breakEnd)
	var errs fieldErrors
	hours, err := booking.ParsePair(&start, &end, "start_time", "end_time")
	if err := errs.merge(err); err != nil {
		return err
	}
	pause, err := booking.ParsePair(breakStart, breakEnd, "break_start", "break_end")
	if err := errs.merge(err); err != nil {
		return err
	}
	rule := booking.Rule{Weekday: row.DayOfWeek, Start: 0, End: 1}
	if hours != nil {
		rule.Start, rule.End = hours.Start, hours.End
		row.StartMinute, row.EndMinute = hours.Start, hours.End
	}
	row.BreakStartMinute, row.BreakEndMinute = nil, nil
	if pause != nil {
		rule.Break = &booking.Break{Start: pause.Start, End: pause.End}
		row.BreakStartMinute, row.BreakEndMinute = &pause.Start, &pause.End
	}
	if err := errs.merge(rule.Validate()); err != nil {
		return err
	}
	return errs.Err()
}

// requireProfessional returns a 404 error if the organization has no such professional.
func requireProfessional(ctx context.Context, db store.DB, org, professional uuid.UUID) error {
	rows, err := db.ListProfessionals(ctx, org, &professional)
	if err == nil && len(rows) == 0 {
		return hub.NotFound("Professional")
	}
	return err
}

type rulesInput struct {
	ProfessionalID string `query:"professional_id" format:"uuid" maxLength:"36" doc:"Only this professional's rules"`
}

// parseOptionalID parses an optional UUID of a query.
func parseOptionalID(location, value string) (*uuid.UUID, error) {
	if value == "" {
		return nil, nil
	}
	id, err := uuid.Parse(value)
	if err != nil {
		return nil, hub.Invalid(location, "must be a UUID")
	}
	return &id, nil
}

func (a *API) listRules(ctx context.Context, in *rulesInput) (*listOutput[ScheduleRule], error) {
	org, err := a.loadOrg(ctx)
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
	rows, err := a.store.ListRules(ctx, org.ID, professional)
	return toListOutput(rows, func(rule store.ScheduleRule) ScheduleRule { return toRule(rule, org.Zone) }), err
}

func (a *API) createRule(ctx context.Context, in *createRuleInput) (*ruleOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	var errs fieldErrors
	errs.Check(in.Body.ProfessionalID.HasValue(), "body.professional_id", "is required")
	errs.Check(in.Body.DayOfWeek.HasValue(), "body.day_of_week", "is required")
	errs.Check(in.Body.StartTime.HasValue(), "body.start_time", "is required")
	errs.Check(in.Body.EndTime.HasValue(), "body.end_time", "is required")
	if err := errs.Err(); err != nil {
		return nil, err
	}
	draft := store.ScheduleRule{OrgID: org.ID, ID: store.NewID(), IsActive: true}
	if err := in.Body.applyTo(&draft); err != nil {
		return nil, err
	}
	if err := requireProfessional(ctx, a.store.DB, org.ID, draft.ProfessionalID); err != nil {
		return nil, err
	}
	var created store.ScheduleRule
	err = a.store.InTx(ctx, "making a rule", func(tx *store.Tx) error {
		created, err = tx.AddRule(ctx, draft)
		if err != nil {
			return err
		}
		_, err = listRulesWithinLimit(ctx, tx.DB, org.ID, draft.ProfessionalID, "body.professional_id")
		return err
	})
	return &ruleOutput{toRule(created, org.Zone)}, err
}

func (a *API) updateRule(ctx context.Context, in *updateRuleInput) (*ruleOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	var updated store.ScheduleRule
	err = a.store.InTx(ctx, "updating a rule", func(tx *store.Tx) error {
		rule, err := tx.LockRule(ctx, org.ID, in.ID)
		if err != nil {
			return rest.NotFoundIfNoRows("Schedule rule", err)
		}
		if err := in.Body.applyTo(&rule); err != nil {
			return err
		}
		if err := requireProfessional(ctx, tx.DB, org.ID, rule.ProfessionalID); err != nil {
			return err
		}
		updated, err = tx.SaveRule(ctx, rule)
		if err == nil && in.Body.ProfessionalID.HasValue() {
			_, err = listRulesWithinLimit(ctx, tx.DB, org.ID, rule.ProfessionalID, "body.professional_id")
		}
		return err
	})
	return &ruleOutput{toRule(updated, org.Zone)}, err
}

func (a *API) deleteRule(ctx context.Context, in *ByID) (*noContent, error) {
	org, err := callerOrgID(ctx)
	if err != nil {
		return nil, err
	}
	deleted, err := a.store.DeleteRule(ctx, org, in.ID)
	return nil, requireRowChanged("Schedule rule", deleted, err)
}

type copyRulesInput struct {
	From uuid.UUID `path:"fromId" doc:"Professional whose rules are copied"`
	To   uuid.UUID `path:"toId" doc:"Professional who gets them"`
	Mode string    `query:"mode" enum:"replace,append" default:"replace" doc:"Whether the rules that are there go or stay"`
}

type copyRulesOutput struct {
	Body struct {
		Copied   int            `json:"copied" doc:"How many were made"`
		Replaced int            `json:"replaced" doc:"How many were removed"`
		Rules    []ScheduleRule `json:"rules" nullable:"false" doc:"All rules of the professional, afterwards"`
	} `nameHint:"CopiedRules"`
}

func (a *API) copyRules(ctx context.Context, in *copyRulesInput) (*copyRulesOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	if in.From == in.To {
		return nil, hub.Invalid("path.toId", "must be another professional")
	}
	out := &copyRulesOutput{}
	err = a.store.InTx(ctx, "copying rules", func(tx *store.Tx) error {
		for _, id := range []uuid.UUID{in.From, in.To} {
			if err := requireProfessional(ctx, tx.DB, org.ID, id); err != nil {
				return err
			}
		}
		if in.Mode == "replace" {
			replaced, err := tx.DeleteRules(ctx, org.ID, in.To)
			if err != nil {
				return err
			}
			out.Body.Replaced = int(replaced)
		}
		copied, err := tx.CopyRulesBetween(ctx, org.ID, in.From, in.To)
		if err != nil {
			return err
		}
		out.Body.Copied = int(copied)
		rules, err := listRulesWithinLimit(ctx, tx.DB, org.ID, in.To, "path.toId")
		out.Body.Rules = rest.Map(rules, func(rule store.ScheduleRule) ScheduleRule { return toRule(rule, org.Zone) })
		return err
	})
	return out, err
}
