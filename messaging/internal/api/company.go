package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/messaging/internal/store"
)

// Company is a customer of the platform.
type Company struct {
	ID            int64     `json:"id" example:"1"`
	TenantID      uuid.UUID `json:"tenantId" doc:"The company's id at the hub: in its logs, and for its operators"`
	Name          string    `json:"name" example:"Studio Bela"`
	Phone         string    `json:"phone"`
	Email         string    `json:"email"`
	Timezone      string    `json:"timezone" doc:"IANA name" example:"America/Sao_Paulo"`
	ReopenMinutes int       `json:"reopenMinutes" doc:"How long a closed ticket is reopened by a new message; 0: never"`
	OptOutWords   []string  `json:"optOutWords" nullable:"false" doc:"A contact that answers one of them gets no more campaigns"`
	RetentionDays *int      `json:"retentionDays" doc:"Messages of closed tickets are erased after so many days; null: never"`
	CreatedAt     time.Time `json:"createdAt"`
	UpdatedAt     time.Time `json:"updatedAt"`
}

func toCompany(c store.Company) Company {
	return Company{
		ID: c.ID, TenantID: c.TenantID, Name: c.Name, Phone: c.Phone, Email: c.Email, Timezone: c.Timezone, ReopenMinutes: c.ReopenMinutes,
		OptOutWords: c.OptOutWords, RetentionDays: c.RetentionDays, CreatedAt: c.CreatedAt.UTC(), UpdatedAt: c.UpdatedAt.UTC(),
	}
}

func (a *API) getCompany(ctx context.Context, _ *struct{}) (*struct{ Body Company }, error) {
	actor, err := a.requireActor(ctx)
	if err != nil {
		return nil, err
	}
	company, err := a.store.Company(ctx, actor.scope.Company)
	return &struct{ Body Company }{toCompany(company)}, err
}
