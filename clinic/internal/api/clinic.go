package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/store"
	"integrationhub/hub/module"
	"integrationhub/hub/module/brazil"
	"integrationhub/hub/module/rest"
)

// Clinic is a tenant of the product.
type Clinic struct {
	ID        uuid.UUID `json:"id" doc:"Names the clinic: its tenant id"`
	Name      string    `json:"name" doc:"Display name"`
	Timezone  string    `json:"timezone" doc:"IANA zone that days are counted in" example:"America/Sao_Paulo"`
	Locale    string    `json:"locale" example:"pt-BR" doc:"E-mails to users are in this language, where it is Portuguese, English or Spanish, else in Portuguese"`
	RevealCPF bool      `json:"reveal_cpf" doc:"Administrators may ask for whole tax ids; each time is on record"`
	AreaCode  *string   `json:"default_area_code" example:"11" doc:"The area code of phone numbers that are sent or imported without theirs; null: they are refused"`
	CreatedAt time.Time `json:"created_at" doc:"When it was stored"`
}

type clinicOutput struct{ Body Clinic }

func toClinic(c store.Clinic) Clinic {
	return Clinic{c.ID, c.Name, c.Timezone, c.Locale, c.RevealCpf, c.DefaultAreaCode, c.CreatedAt.UTC()}
}

func (a *API) getClinic(ctx context.Context, _ *struct{}) (*clinicOutput, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	row, err := a.store.Clinic(ctx, scope.Clinic)
	return &clinicOutput{toClinic(row)}, rest.NotFoundIfNoRows("Clinic", err)
}

type clinicInput struct {
	Body struct {
		Name      rest.Optional[string] `json:"name,omitempty" minLength:"1" maxLength:"120" doc:"How patients know the clinic"`
		Timezone  rest.Optional[string] `json:"timezone,omitempty" maxLength:"64" doc:"IANA zone that days are counted in"`
		Locale    rest.Optional[string] `json:"locale,omitempty" maxLength:"11" doc:"Language of e-mails, such as pt-BR"`
		RevealCPF rest.Optional[bool]   `json:"reveal_cpf,omitempty" doc:"Whether administrators may see whole tax ids"`
		AreaCode  rest.Nullable[string] `json:"default_area_code,omitempty" example:"11" maxLength:"2" doc:"An area code of Brazil; null: none"`
	} `nameHint:"ClinicFields"`
}

func (a *API) updateClinic(ctx context.Context, in *clinicInput) (*clinicOutput, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	var clinic store.Clinic
	err = a.store.InTx(ctx, "updating the clinic", func(tx *store.Tx) error {
		if clinic, err = tx.LockClinic(ctx, scope.Clinic); err != nil {
			return err
		}
		in.Body.Name.ApplyTo(&clinic.Name)
		in.Body.Timezone.ApplyTo(&clinic.Timezone)
		in.Body.Locale.ApplyTo(&clinic.Locale)
		in.Body.RevealCPF.ApplyTo(&clinic.RevealCpf)
		in.Body.AreaCode.ApplyTo(&clinic.DefaultAreaCode)
		clinic.Name = redactInput(clinic.Name)
		var errs rest.FieldErrors
		errs.CheckName(clinic.Name, "body.name", 120)
		if in.Body.Timezone.HasValue() {
			errs.CheckTimeZone(clinic.Timezone, "body.timezone")
		}
		errs.CheckLocale(clinic.Locale, "body.locale")
		errs.Check(clinic.DefaultAreaCode == nil || brazil.IsAreaCode(*clinic.DefaultAreaCode), "body.default_area_code", "must be an area code of Brazil, such as 11")
		if err := errs.Err(); err != nil {
			return err
		}
		if err := a.host.Tenants.Put(ctx, tx.Raw, module.Tenant{ID: clinic.ID, Name: clinic.Name}); err != nil {
			return err
		}
		clinic, err = tx.UpdateClinic(ctx, clinic)
		return err
	})
	return &clinicOutput{toClinic(clinic)}, err
}
