package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub"
	"integrationhub/hub/module/rest"
)

// Professional is a person who treats patients.
type Professional struct {
	ID        uuid.UUID `json:"id" doc:"Names the professional in paths"`
	Name      string    `json:"name" doc:"Display name"`
	Specialty *string   `json:"specialty" doc:"What the professional does best; null: nothing special"`
	Register  *string   `json:"register" doc:"Number at the professional council" example:"CRM/SP 123456"`
	IsActive  bool      `json:"is_active" doc:"Whether appointments can be made with the professional"`
	CreatedAt time.Time `json:"created_at" doc:"When it was stored"`
}

func toProfessional(professional store.Professional) Professional {
	return Professional{professional.ID, professional.Name, professional.Specialty, professional.Register, professional.IsActive, professional.CreatedAt.UTC()}
}

type professionalOutput struct{ Body Professional }

type professionalFields struct {
	Name      rest.Optional[string] `json:"name,omitempty" minLength:"1" maxLength:"120" doc:"How patients know the professional" example:"Dra. Lia Prado"`
	Specialty rest.Nullable[string] `json:"specialty,omitempty" maxLength:"120" doc:"null: none"`
	Register  rest.Nullable[string] `json:"register,omitempty" maxLength:"60" doc:"Number at the professional council; null: none" example:"CRM/SP 123456"`
	IsActive  rest.Optional[bool]   `json:"is_active,omitempty" doc:"Of a new one: true"`
}

func (f *professionalFields) applyTo(professional *store.Professional) error {
	f.Name.ApplyTo(&professional.Name)
	professional.Name = redactInput(professional.Name)
	f.Specialty, f.Register = emptyAsNull(f.Specialty), emptyAsNull(f.Register)
	f.Specialty.Value, f.Register.Value = care.RedactCPFs(f.Specialty.Value), care.RedactCPFs(f.Register.Value)
	f.Specialty.ApplyTo(&professional.Specialty)
	f.Register.ApplyTo(&professional.Register)
	f.IsActive.ApplyTo(&professional.IsActive)
	var errs rest.FieldErrors
	errs.CheckName(professional.Name, "body.name", 120)
	errs.CheckLength(f.Specialty.Value, "body.specialty", 0, 120)
	errs.CheckLength(f.Register.Value, "body.register", 0, 60)
	return errs.Err()
}

func (a *API) listProfessionals(ctx context.Context, in *uncountedPage) (*struct{ Body []Professional }, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := a.store.ListProfessionals(ctx, scope, in.toPage())
	return &struct{ Body []Professional }{rest.Map(rows, toProfessional)}, err
}

func (a *API) createProfessional(ctx context.Context, in *struct {
	Body professionalFields `nameHint:"ProfessionalFields"`
}) (*professionalOutput, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	professional := store.Professional{IsActive: true}
	if err := in.Body.applyTo(&professional); err != nil {
		return nil, err
	}
	professional, err = a.store.CreateProfessional(ctx, scope, professional)
	return &professionalOutput{toProfessional(professional)}, err
}

func (a *API) updateProfessional(ctx context.Context, in *struct {
	rest.IDParam
	Body professionalFields `nameHint:"ProfessionalFields"`
}) (*professionalOutput, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	var updated store.Professional
	err = a.store.InTx(ctx, "updating a professional", func(tx *store.Tx) error {
		professional, err := tx.LockProfessional(ctx, scope.Clinic, scope.Env, in.ID)
		if err != nil {
			return rest.NotFoundIfNoRows("Professional", err)
		}
		if err := in.Body.applyTo(&professional); err != nil {
			return err
		}
		updated, err = tx.UpdateProfessional(ctx, professional)
		return err
	})
	return &professionalOutput{toProfessional(updated)}, err
}

func (a *API) deleteProfessional(ctx context.Context, in *rest.IDParam) (*rest.NoContent, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := a.store.DeleteProfessional(ctx, scope.Clinic, scope.Env, in.ID)
	if err == nil && rows == 0 {
		err = hub.NotFound("Professional")
	}
	return nil, err
}
