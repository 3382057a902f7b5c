package api

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store"
)

// Bounds of a company's settings.
const (
	maxReopenMinutes = 43_200 // 30 days
	maxRetentionDays = 36_500
	maxOptOutWords   = 20
	maxOptOutWord    = 40 // characters
)

// Company is a customer of the platform.
type Company struct {
	ID            int64               `json:"id" doc:"Id of the company" example:"1"`
	TenantID      uuid.UUID           `json:"tenantId" doc:"The company's id at the hub: in its logs, and for its operators"`
	Name          string              `json:"name" doc:"Shown to users and connected products" example:"Studio Bela"`
	Phone         string              `json:"phone" doc:"For people; empty: unknown"`
	Email         string              `json:"email" doc:"Answers to the company's e-mails go there"`
	Status        bool                `json:"status" doc:"Always true: the company may use the platform"`
	DueDate       *time.Time          `json:"dueDate" doc:"Always null: the platform bills nobody"`
	Recurrence    string              `json:"recurrence" doc:"Always empty: the platform bills nobody"`
	PlanID        *int64              `json:"planId" doc:"Always null: the platform bills nobody"`
	Timezone      string              `json:"timezone" doc:"IANA name" example:"America/Sao_Paulo"`
	Schedules     []chat.OpeningHours `json:"schedules" nullable:"false" doc:"Opening hours; none: always open"`
	ReopenMinutes int                 `json:"reopenMinutes" doc:"How long a closed ticket is reopened by a new message; 0: never"`
	OptOutWords   []string            `json:"optOutWords" nullable:"false" doc:"A contact that answers one of them gets no more campaigns"`
	RetentionDays *int                `json:"retentionDays" doc:"Messages of closed tickets are erased after so many days; null: never"`
	CreatedAt     time.Time           `json:"createdAt" doc:"When it signed up"`
	UpdatedAt     time.Time           `json:"updatedAt" doc:"Last change"`
}

type companyOutput struct{ Body Company }

func toCompany(c store.Company) (*companyOutput, error) {
	company := Company{
		ID: c.ID, TenantID: c.TenantID, Name: c.Name, Phone: c.Phone, Email: c.Email, Status: true, Timezone: c.Timezone, Schedules: []chat.OpeningHours{},
		ReopenMinutes: c.ReopenMinutes, OptOutWords: c.OptOutWords, RetentionDays: c.RetentionDays, CreatedAt: c.CreatedAt.UTC(), UpdatedAt: c.UpdatedAt.UTC(),
	}
	if err := json.Unmarshal(c.Schedules, &company.Schedules); err != nil {
		return nil, fmt.Errorf("decoding a company's opening hours: %w", err)
	}
	return &companyOutput{company}, nil
}

func (a *API) getCompany(ctx context.Context, _ *struct{}) (*companyOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	company, err := a.store.Company(ctx, user.scope.Company)
	if err != nil {
		return nil, dberr.MapNoRows(err, notFound("no_company_found", "company"))
	}
	return toCompany(company)
}

type updateCompanyInput struct {
	Body struct {
		Name          rest.Optional[string]              `json:"name,omitempty" minLength:"1" maxLength:"120" doc:"Shown to users and connected products"`
		Phone         rest.Optional[string]              `json:"phone,omitempty" maxLength:"40" doc:"Text shown to users"`
		Email         rest.Optional[string]              `json:"email,omitempty" maxLength:"254" doc:"Answers to the company's e-mails go there"`
		Timezone      rest.Optional[string]              `json:"timezone,omitempty" maxLength:"60" doc:"IANA name" example:"America/Sao_Paulo"`
		Schedules     rest.Optional[[]chat.OpeningHours] `json:"schedules,omitempty" maxItems:"28" doc:"Opening hours; none: always open"`
		ReopenMinutes rest.Optional[int]                 `json:"reopenMinutes,omitempty" minimum:"0" maximum:"43200" doc:"How long a closed ticket is reopened by a new message; 0: never"`
		OptOutWords   rest.Optional[[]string]            `json:"optOutWords,omitempty" maxItems:"20" doc:"A contact that answers one of them gets no more campaigns; upper and lower case are the same"`
		RetentionDays rest.Nullable[int]                 `json:"retentionDays,omitempty" minimum:"1" maximum:"36500" doc:"Messages of closed tickets are erased after so many days; null: never"`
	} `nameHint:"CompanyFields"`
}

// applyTo sets the fields of a company that are present.
func (in *updateCompanyInput) applyTo(c *store.Company) error {
	b := &in.Body
	b.Name.ApplyTo(&c.Name)
	b.Phone.ApplyTo(&c.Phone)
	b.Email.ApplyTo(&c.Email)
	b.Timezone.ApplyTo(&c.Timezone)
	b.ReopenMinutes.ApplyTo(&c.ReopenMinutes)
	b.RetentionDays.ApplyTo(&c.RetentionDays)
	c.Name = strings.TrimSpace(c.Name)
	var errs rest.FieldErrors
	errs.CheckName(c.Name, "body.name", 120)
	errs.CheckLength(c.Phone, "body.phone", 0, 40)
	if b.Email.HasValue() && c.Email != "" {
		errs.CheckEmail(&c.Email, "body.email")
	}
	if b.Timezone.HasValue() {
		errs.CheckTimeZone(c.Timezone, "body.timezone")
	}
	errs.Check(c.ReopenMinutes >= 0 && c.ReopenMinutes <= maxReopenMinutes, "body.reopenMinutes", "must be from 0 to 43200")
	errs.Check(c.RetentionDays == nil || *c.RetentionDays >= 1 && *c.RetentionDays <= maxRetentionDays, "body.retentionDays", "must be from 1 to 36500, or null")
	if b.Schedules.Set {
		hours, problem := chat.NormalizeOpeningHours(b.Schedules.Value)
		errs.Check(problem == "", "body.schedules", problem)
		raw, err := json.Marshal(hours)
		if err != nil {
			return fmt.Errorf("encoding opening hours: %w", err)
		}
		c.Schedules = raw
	}
	if b.OptOutWords.Set {
		c.OptOutWords = cleanOptOutWords(&errs, b.OptOutWords.Value)
	}
	return errs.Err()
}

// cleanOptOutWords returns the words in upper case, each once.
func cleanOptOutWords(errs *rest.FieldErrors, words []string) []string {
	clean := []string{}
	for _, word := range words {
		word = strings.ToUpper(strings.TrimSpace(word))
		errs.CheckName(word, "body.optOutWords", maxOptOutWord)
		if !slices.Contains(clean, word) {
			clean = append(clean, word)
		}
	}
	errs.Check(len(words) <= maxOptOutWords, "body.optOutWords", "must have at most 20 entries")
	return clean
}

func (a *API) updateCompany(ctx context.Context, in *updateCompanyInput) (*companyOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	var saved store.Company
	err = a.store.InTx(ctx, "changing the company", func(tx *store.Tx) error {
		company, err := tx.LockCompany(ctx, user.scope.Company)
		if err != nil {
			return dberr.MapNoRows(err, notFound("no_company_found", "company"))
		}
		if err := in.applyTo(&company); err != nil {
			return err
		}
		if err := a.host.Tenants.Put(ctx, tx.Raw, module.Tenant{ID: company.TenantID, Name: company.Name, Ref: chat.FormatID(company.ID)}); err != nil {
			return err
		}
		saved, err = tx.SaveCompany(ctx, company)
		return err
	})
	if err != nil {
		return nil, err
	}
	return toCompany(saved)
}
