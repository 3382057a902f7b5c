package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/module/rest"
)

// Professional is somebody who treats patients.
type Professional struct {
	ID        uuid.UUID `json:"id"`
	Name      string    `json:"name"`
	Specialty *string   `json:"specialty"`
	Register  *string   `json:"register" doc:"Number at the professional council" example:"CRM/SP 123456"`
	IsActive  bool      `json:"is_active"`
	CreatedAt time.Time `json:"created_at"`
}

func toProfessional(p dbgen.Professional) Professional {
	return Professional{p.ID, p.Name, p.Specialty, p.Register, p.IsActive, p.CreatedAt.UTC()}
}

type professionalOutput struct{ Body Professional }

type professionalFields struct {
	Name      rest.Optional[string] `json:"name,omitempty" minLength:"1" maxLength:"120" example:"Dra. Lia Prado"`
	Specialty rest.Optional[string] `json:"specialty,omitempty" maxLength:"120"`
	Register  rest.Optional[string] `json:"register,omitempty" maxLength:"60" doc:"Number at the professional council" example:"CRM/SP 123456"`
	IsActive  rest.Optional[bool]   `json:"is_active,omitempty" doc:"Of a new one: true"`
}

func (f *professionalFields) applyTo(p *dbgen.Professional) error {
	f.Name.ApplyTo(&p.Name)
	p.Name = redactInput(p.Name)
	f.Specialty, f.Register = emptyAsNull(f.Specialty), emptyAsNull(f.Register)
	f.Specialty.Value, f.Register.Value = care.RedactCPFs(f.Specialty.Value), care.RedactCPFs(f.Register.Value)
	f.Specialty.ApplyToNullable(&p.Specialty)
	f.Register.ApplyToNullable(&p.Register)
	f.IsActive.ApplyTo(&p.IsActive)
	var wrong rest.FieldErrors
	wrong.CheckName(p.Name, "body.name", 120)
	wrong.CheckLength(f.Specialty.Value, "body.specialty", 0, 120)
	wrong.CheckLength(f.Register.Value, "body.register", 0, 60)
	return wrong.Err()
}

// uncountedPage asks for a page of a short list that is answered without counts.
type uncountedPage struct {
	Page    int `query:"page" minimum:"1" maximum:"100000" default:"1"`
	PerPage int `query:"per_page" minimum:"1" maximum:"500" default:"500" doc:"A page that is not full is the last"`
}

func (p uncountedPage) offset() int { return (p.Page - 1) * p.PerPage }

func (a *API) listProfessionals(ctx context.Context, in *uncountedPage) (*struct{ Body []Professional }, error) {
	at, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := a.store.ProfessionalsPage(ctx, dbgen.ProfessionalsPageParams{ClinicID: at.Clinic, Env: at.Env, RowLimit: in.PerPage, RowOffset: in.offset()})
	return &struct{ Body []Professional }{rest.Map(rows, toProfessional)}, err
}

func (a *API) createProfessional(ctx context.Context, in *struct {
	Body professionalFields `nameHint:"ProfessionalFields"`
}) (*professionalOutput, error) {
	at, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	p := dbgen.Professional{IsActive: true}
	if err := in.Body.applyTo(&p); err != nil {
		return nil, err
	}
	made, err := a.store.InsertProfessional(ctx, dbgen.InsertProfessionalParams{
		ClinicID: at.Clinic, Env: at.Env, ID: store.NewID(), Name: p.Name, Specialty: p.Specialty, Register: p.Register, IsActive: p.IsActive, CreatedAt: a.host.Now(),
	})
	return &professionalOutput{toProfessional(made)}, err
}

func (a *API) updateProfessional(ctx context.Context, in *struct {
	rest.IDParam
	Body professionalFields `nameHint:"ProfessionalFields"`
}) (*professionalOutput, error) {
	at, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	var done dbgen.Professional
	err = a.store.InTx(ctx, "updating a professional", func(tx *store.Tx) error {
		p, err := tx.LockProfessional(ctx, at.Clinic, at.Env, in.ID)
		if err != nil {
			return rest.NotFoundIfNoRows("Professional", err)
		}
		if err := in.Body.applyTo(&p); err != nil {
			return err
		}
		done, err = tx.UpdateProfessionalRow(ctx, dbgen.UpdateProfessionalRowParams{
			ClinicID: at.Clinic, Env: at.Env, ID: in.ID, Name: p.Name, Specialty: p.Specialty, Register: p.Register, IsActive: p.IsActive, UpdatedAt: tx.Now(),
		})
		return err
	})
	return &professionalOutput{toProfessional(done)}, err
}

func (a *API) deleteProfessional(ctx context.Context, in *rest.IDParam) (*rest.NoContent, error) {
	at, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := a.store.DeleteProfessional(ctx, at.Clinic, at.Env, in.ID)
	if err == nil && rows == 0 {
		err = hub.NotFound("Professional")
	}
	return nil, err
}
