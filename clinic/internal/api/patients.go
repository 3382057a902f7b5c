package api

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/importfile"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/brazil"
	"integrationhub/hub/module/names"
	"integrationhub/hub/module/rest"
)

// Patient is a patient as the clinic's users see it. Connected products get [FoundPatient].
type Patient struct {
	ID              uuid.UUID   `json:"id" doc:"Names the patient in paths and events"`
	Name            string      `json:"name" doc:"Display name"`
	Phone           *string     `json:"phone" doc:"In international form; null: none" example:"+5511987654321"`
	Email           *string     `json:"email" doc:"E-mail address; null: none"`
	CPF             *string     `json:"cpf" doc:"All but the last two digits are hidden" example:"***.***.***-09"`
	BirthDate       *string     `json:"birth_date" doc:"Day of birth, YYYY-MM-DD; null: unknown" example:"1990-05-17"`
	LastAppointment *time.Time  `json:"last_appointment" doc:"When the latest one took place; null: none"`
	NextAppointment *time.Time  `json:"next_appointment" doc:"When the next one begins; null: none"`
	BalanceDue      care.Amount `json:"balance_due" doc:"Payments that are pending or overdue"`
	Status          string      `json:"status" enum:"active,inactive,anonymized" doc:"Whether the patient is in use, archived, or erased"`
	CreatedAt       time.Time   `json:"created_at" doc:"When it was stored"`
}

// patientResponses converts rows and adds their aggregates.
func (a *API) patientResponses(ctx context.Context, scope store.Scope, rows ...store.Patient) ([]Patient, error) {
	ids := rest.Map(rows, func(p store.Patient) uuid.UUID { return p.ID })
	aggregates, err := a.store.PatientAggregates(ctx, scope, ids)
	if err != nil {
		return nil, err
	}
	return rest.Map(rows, func(p store.Patient) Patient {
		aggregate := aggregates[p.ID]
		patient := Patient{
			ID: p.ID, Name: p.Name, Phone: p.Phone, Email: p.Email, CPF: store.MaskedCPF(p), LastAppointment: timeOrNil(aggregate.LastAppointment),
			NextAppointment: timeOrNil(aggregate.NextAppointment), BalanceDue: aggregate.BalanceDue, Status: p.Status, CreatedAt: p.CreatedAt.UTC(),
		}
		if p.BirthDate != nil {
			born := formatDate(*p.BirthDate)
			patient.BirthDate = &born
		}
		return patient
	}), nil
}

type patientOutput struct{ Body Patient }

func (a *API) patientOutput(ctx context.Context, scope store.Scope, p store.Patient) (*patientOutput, error) {
	list, err := a.patientResponses(ctx, scope, p)
	if err != nil {
		return nil, err
	}
	return &patientOutput{list[0]}, nil
}

type patientFields struct {
	Name      rest.Optional[string] `json:"name,omitempty" minLength:"1" maxLength:"120" doc:"What the patient is called" example:"Ana Souza"`
	Phone     rest.Nullable[string] `json:"phone,omitempty" maxLength:"40" doc:"International, or Brazilian with its area code, which default_area_code of the clinic replaces; null: none" example:"+5511987654321"`
	Email     rest.Nullable[string] `json:"email,omitempty" format:"email" maxLength:"254" example:"ana@example.com" doc:"null: none"`
	CPF       rest.Nullable[string] `json:"cpf,omitempty" maxLength:"40" doc:"Its check digits have to be right; null: none" example:"529.982.247-25"`
	BirthDate rest.Nullable[string] `json:"birth_date,omitempty" format:"date" doc:"Not in the future; null: unknown" example:"1990-05-17"`
	Status    rest.Optional[string] `json:"status,omitempty" enum:"active,inactive" doc:"Of a new one: active"`
}

type patientInput struct {
	Body patientFields `nameHint:"PatientFields"`
}

type updatePatientInput struct {
	rest.IDParam
	Body patientFields `nameHint:"PatientFields"`
}

// applyTo applies the fields to d and validates the result.
func (f *patientFields) applyTo(d *store.PatientData, local localRules) error {
	var errs rest.FieldErrors
	before := d.Name
	f.Name.ApplyTo(&d.Name)
	d.Name = redactInput(names.RemoveInvisible(d.Name))
	errs.CheckName(d.Name, "body.name", 120)
	if f.Name.Set { // a name as imports read it: exporting and importing it again changes nothing
		d.Name = importfile.CleanName(d.Name)
		errs.Check(d.Name == "" || d.Name == before || !importfile.IsNoName(d.Name), "body.name", "stands for no name")
	}
	if f.Phone = emptyAsNull(f.Phone); f.Phone.HasValue() {
		problem := brazil.PhoneProblem(f.Phone.Value, local.areaCode)
		errs.Check(problem == "", "body.phone", problem)
		f.Phone.Value = care.FormatE164In(f.Phone.Value, local.areaCode)
	}
	f.Phone.ApplyTo(&d.Phone)
	f.Email = emptyAsNull(f.Email)
	if f.Email.ApplyTo(&d.Email); f.Email.HasValue() {
		errs.CheckEmail(d.Email, "body.email")
	}
	if f.CPF = emptyAsNull(f.CPF); f.CPF.HasValue() {
		digits := care.ParseCPF(f.CPF.Value)
		errs.Check(digits != "", "body.cpf", "must be a CPF: 11 digits with the right check digits")
		f.CPF.Value = digits
	}
	f.CPF.ApplyTo(&d.CPF)
	if f.BirthDate = emptyAsNull(f.BirthDate); f.BirthDate.Set {
		d.BirthDate = nil
		if f.BirthDate.HasValue() {
			born := errs.ParseDate(f.BirthDate.Value, "body.birth_date")
			errs.Check(!born.After(local.today), "body.birth_date", "must not be in the future")
			d.BirthDate = &born
		}
	}
	f.Status.ApplyTo(&d.Status)
	errs.Check(d.Status == store.Active || d.Status == store.Inactive, "body.status", "must be active or inactive")
	return errs.Err()
}

// localRules are a clinic's settings that decide about a patient's data.
type localRules struct {
	today    time.Time // the date in the clinic's time zone, as midnight UTC
	areaCode string    // of phone numbers without theirs; "" if they are refused
}

func (a *API) localRules(ctx context.Context, scope store.Scope) (localRules, error) {
	clinic, err := a.store.Clinic(ctx, scope.Clinic)
	if err != nil {
		return localRules{}, err
	}
	today, err := store.Today(clinic.Timezone, a.host.Now())
	return localRules{today, store.AreaCode(clinic)}, err
}

// today returns the date in the clinic's time zone, as midnight UTC.
func (a *API) today(ctx context.Context, scope store.Scope) (time.Time, error) {
	local, err := a.localRules(ctx, scope)
	return local.today, err
}

func (a *API) createPatient(ctx context.Context, in *patientInput) (*patientOutput, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	d := store.PatientData{Status: store.Active}
	local, err := a.localRules(ctx, scope)
	if err != nil {
		return nil, err
	}
	if err := in.Body.applyTo(&d, local); err != nil {
		return nil, err
	}
	var patient store.Patient
	err = a.store.InTx(ctx, "making a patient", func(tx *store.Tx) error {
		patient, err = tx.CreatePatient(ctx, scope, d)
		return err
	})
	if err != nil {
		return nil, err
	}
	return a.patientOutput(ctx, scope, patient)
}

func (a *API) updatePatient(ctx context.Context, in *updatePatientInput) (*patientOutput, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	local, err := a.localRules(ctx, scope)
	if err != nil {
		return nil, err
	}
	var patient store.Patient
	err = a.store.InTx(ctx, "updating a patient", func(tx *store.Tx) error {
		patient, err = tx.ChangePatient(ctx, scope, in.ID, func(d *store.PatientData) error { return in.Body.applyTo(d, local) })
		return err
	})
	if err != nil {
		return nil, err
	}
	return a.patientOutput(ctx, scope, patient)
}

// deletePatient archives a patient. Erasure is requestDeletion.
func (a *API) deletePatient(ctx context.Context, in *rest.IDParam) (*rest.NoContent, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	return nil, a.store.InTx(ctx, "archiving a patient", func(tx *store.Tx) error {
		_, err := tx.ChangePatient(ctx, scope, in.ID, func(d *store.PatientData) error {
			d.Status = store.Inactive
			return nil
		})
		return err
	})
}

type getPatientInput struct {
	rest.IDParam
	Reveal string `query:"reveal" enum:"cpf" doc:"Administrators only, where the clinic allows it; on record"`
}

func (a *API) getPatient(ctx context.Context, in *getPatientInput) (*patientOutput, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	row, err := a.store.Patient(ctx, scope.Clinic, scope.Env, in.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		if merged := a.store.CheckNotMerged(ctx, scope, in.ID); merged != nil {
			return nil, merged
		}
	}
	if err != nil {
		return nil, rest.NotFoundIfNoRows("Patient", err)
	}
	out, err := a.patientOutput(ctx, scope, row)
	if err != nil || in.Reveal == "" {
		return out, err
	}
	if err := a.requireReveal(ctx, scope, row.ID); err != nil {
		return nil, err
	}
	out.Body.CPF, err = a.wholeCPF(row)
	return out, err
}

// requireReveal refuses callers who may not see whole CPFs of a patient, and records others in
// the audit log.
func (a *API) requireReveal(ctx context.Context, scope store.Scope, patient uuid.UUID) error {
	_, caller, err := requestScope(ctx)
	if err != nil {
		return err
	}
	clinic, err := a.store.Clinic(ctx, scope.Clinic)
	if err != nil {
		return err
	}
	if !caller.Admin || !clinic.RevealCpf {
		return hub.Errorf(hub.ErrForbidden, "reveal_forbidden", "Whole tax ids are shown to administrators only, where the clinic's settings allow it.")
	}
	module.SetSubject(ctx, patient.String())
	return a.host.Audit.Record(ctx, "patients.reveal-cpf", patient.String())
}

// wholeCPF returns a patient's CPF for those whom [API.requireReveal] admits, nil if there
// is none.
func (a *API) wholeCPF(p store.Patient) (*string, error) {
	digits, err := a.store.CPF(p)
	if err != nil || digits == nil {
		return nil, err
	}
	whole := care.FormatCPF(*digits)
	return &whole, nil
}

type listPatientsInput struct {
	rest.PageParams
	Status string `query:"status" enum:"active,inactive,anonymized" doc:"Absent: all that were not anonymized. The total is counted up to 10,000"`
	// Search is refused: addresses are logged, so they must not have names. Were it ignored,
	// all patients would be returned.
	Search string `query:"search" hidden:"true"`
}

type patientsOutput struct{ Body rest.Page[Patient] }

func (a *API) listPatients(ctx context.Context, in *listPatientsInput) (*patientsOutput, error) {
	if in.Search != "" {
		return nil, hub.Invalid("query.search", "must not be in an address, which is logged on its way: send it in the body of POST /patients/search")
	}
	return a.patientPage(ctx, "", in.Status, in.PageParams)
}

type patientSearchInput struct {
	Body struct {
		Search string `json:"search" maxLength:"200" doc:"How words of a name begin, how an e-mail address begins, or a phone number: whole, as it begins or as it ends, of four digits or more. Empty: all. The total is counted up to 10,000"`
		Status string `json:"status,omitempty" enum:"active,inactive,anonymized" doc:"Absent: all that were not anonymized"`
		rest.PageParams
	} `nameHint:"SearchPatients"`
}

// searchPatients searches by POST, so that no name is in an address.
func (a *API) searchPatients(ctx context.Context, in *patientSearchInput) (*patientsOutput, error) {
	return a.patientPage(ctx, strings.TrimSpace(in.Body.Search), in.Body.Status, in.Body.PageParams)
}

// patientPage returns a page of the patients that a term matches, or of all.
func (a *API) patientPage(ctx context.Context, term, status string, page rest.PageParams) (*patientsOutput, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	rows, total, err := a.store.ListPatients(ctx, store.PatientListQuery{Scope: scope, Status: status, Term: term, Limit: page.PerPage, Offset: page.Offset()})
	if err != nil {
		return nil, err
	}
	module.RequireAudit(ctx) // also if no patient is found, as in FHIR
	for _, row := range rows {
		module.SetSubject(ctx, row.ID.String())
	}
	list, err := a.patientResponses(ctx, scope, rows...)
	return &patientsOutput{rest.NewPage(list, total, page)}, err
}
