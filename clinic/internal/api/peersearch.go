package api

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/brazil"
	"integrationhub/hub/module/rest"
)

// FoundPatient is a patient as connected products see it.
type FoundPatient struct {
	ID              uuid.UUID   `json:"id" doc:"Names the patient in this product"`
	Name            string      `json:"name" doc:"Display name"`
	Phone           *string     `json:"phone" doc:"International, with its plus"`
	Email           *string     `json:"email" doc:"E-mail address; null: none"`
	CPF             *string     `json:"cpf" doc:"All but the last two digits are hidden"`
	BirthDate       *string     `json:"birth_date" doc:"Day of birth, YYYY-MM-DD; null: unknown"`
	LastAppointment *time.Time  `json:"last_appointment" doc:"When the latest one took place; null: none"`
	NextAppointment *time.Time  `json:"next_appointment" doc:"When the next one begins; null: none"`
	BalanceDue      care.Amount `json:"balance_due" doc:"Sum of what is still to be paid"`
	Status          string      `json:"status" doc:"Whether the patient is in use or archived"`
}

type peerPatientSearchInput struct {
	Phone     string `query:"phone" required:"true" maxLength:"40" doc:"International, or Brazilian with its area code; with or without the ninth digit" example:"+5511987654321"`
	Name      string `query:"name" maxLength:"200" doc:"The patient's name, where several people share the number; accents, case and abbreviated words do not matter" example:"Ana Souza"`
	BirthDate string `query:"birth_date" maxLength:"10" doc:"YYYY-MM-DD, where several people share the number" example:"1990-05-17"`
}

type peerPatientSearchOutput struct {
	Body struct {
		Found   bool          `json:"found" doc:"Whether a patient has this number"`
		Patient *FoundPatient `json:"patient" doc:"The patient who has it; null: none"`
		Matches int           `json:"matches" minimum:"0" maximum:"100" doc:"How many patients have the number and contradict neither name nor birth_date, counted up to 100. More than 1: patient is the most likely of them"`
	} `nameHint:"PatientSearch"`
}

func (a *API) searchPatientForPeer(ctx context.Context, in *peerPatientSearchInput) (*peerPatientSearchOutput, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	in.Phone = brazil.PhoneFromQuery(in.Phone)
	var errs rest.FieldErrors
	if err := a.completePhone(ctx, scope, &errs, &in.Phone, "query.phone"); err != nil {
		return nil, err
	}
	criteria := patientCriteria{name: strings.TrimSpace(in.Name)}
	if in.BirthDate != "" {
		birthDate := errs.ParseDate(in.BirthDate, "query.birth_date")
		criteria.birthDate = &birthDate
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	out := &peerPatientSearchOutput{}
	module.RequireAudit(ctx) // also if no patient is found
	patients, err := a.store.FindByPhone(ctx, scope, in.Phone)
	matches := criteria.match(patients)
	if err != nil || len(matches) == 0 {
		return out, err
	}
	list, err := a.patientResponses(ctx, scope, matches[0])
	if err != nil {
		return nil, err
	}
	p := list[0]
	module.SetSubject(ctx, p.ID.String())
	out.Body.Found, out.Body.Matches = true, len(matches)
	out.Body.Patient = &FoundPatient{
		p.ID, p.Name, p.Phone, p.Email, p.CPF, p.BirthDate, p.LastAppointment, p.NextAppointment, p.BalanceDue, p.Status,
	}
	return out, nil
}

// PeerPatientQuery asks for a patient's items that connected products may see. It is exported
// because huma binds no unexported embedded struct.
type PeerPatientQuery struct {
	PatientID uuid.UUID `query:"patient_id" required:"true" format:"uuid" doc:"Whose entries, by the id that search/patients returned"`
	Limit     int       `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"Most entries in the response"`
}

// requireVisiblePatient is a [hub.ErrNotFound] if the clinic has no such patient, or erased
// it.
func (a *API) requireVisiblePatient(ctx context.Context, scope store.Scope, id uuid.UUID) error {
	p, err := a.store.Patient(ctx, scope.Clinic, scope.Env, id)
	if err == nil {
		module.SetSubject(ctx, id.String())
	}
	if err == nil && p.Status == store.Anonymized {
		return hub.NotFound("Patient")
	}
	return rest.NotFoundIfNoRows("Patient", err)
}

// RecordSummary is a record as connected products see it.
type RecordSummary struct {
	ID           uuid.UUID `json:"id" doc:"Names the record in this product"`
	Date         string    `json:"date" doc:"Day it is about, YYYY-MM-DD"`
	Type         string    `json:"type" doc:"Kind of record"`
	Professional string    `json:"professional" doc:"Who does it"`
	Summary      string    `json:"summary" doc:"How it begins"`
	URL          string    `json:"url" doc:"Page that says where the record is shown"`
}

type searchRecordsOutput struct {
	Body struct {
		Records []RecordSummary `json:"records" nullable:"false" doc:"The latest first"`
	} `nameHint:"RecordSearch"`
}

func (a *API) searchRecords(ctx context.Context, in *PeerPatientQuery) (*searchRecordsOutput, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.requireVisiblePatient(ctx, scope, in.PatientID); err != nil {
		return nil, err
	}
	rows, err := a.store.ListRecordsForPeer(ctx, scope, in.PatientID, in.Limit)
	out := &searchRecordsOutput{}
	out.Body.Records = []RecordSummary{}
	for _, r := range rows {
		view := r.Sensitivity.PeerView(r.Type, r.ExternalSummary)
		if view == nil {
			continue
		}
		summary := RecordSummary{r.ID, formatDate(r.Date), view.Type, care.Redact(r.Professional), view.Summary, a.peerRecordURL(r)}
		if r.Sensitivity != care.Normal { // the professional and the address would reveal the subject
			summary.Professional, summary.URL = view.Summary, ""
		}
		out.Body.Records = append(out.Body.Records, summary)
	}
	return out, err
}

// AppointmentSummary is an appointment as connected products see it.
type AppointmentSummary struct {
	ID           uuid.UUID              `json:"id" doc:"Names the appointment in this product"`
	Datetime     time.Time              `json:"datetime" doc:"When it begins"`
	Service      string                 `json:"service" doc:"What is done"`
	Professional string                 `json:"professional" doc:"Who does it"`
	Status       care.AppointmentStatus `json:"status" doc:"State it is in"`
	URL          string                 `json:"url" doc:"Page that says where the appointment is shown"`
}

type searchAppointmentsInput struct {
	PeerPatientQuery
	Status string `query:"status" enum:"scheduled,confirmed,completed,cancelled,no_show" doc:"Only those in this state"`
}

type searchAppointmentsOutput struct {
	Body struct {
		Appointments []AppointmentSummary `json:"appointments" nullable:"false" doc:"The latest first"`
	} `nameHint:"AppointmentSearch"`
}

func (a *API) searchAppointments(ctx context.Context, in *searchAppointmentsInput) (*searchAppointmentsOutput, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.requireVisiblePatient(ctx, scope, in.PatientID); err != nil {
		return nil, err
	}
	rows, err := a.store.ListAppointments(ctx, scope, in.PatientID, in.Status, store.Page{Limit: in.Limit})
	out := &searchAppointmentsOutput{}
	out.Body.Appointments = rest.Map(rows, func(appointment store.Appointment) AppointmentSummary {
		return AppointmentSummary{appointment.ID, care.ClampInstant(appointment.StartsAt), care.Redact(appointment.Service), care.Redact(appointment.Professional), appointment.Status, a.host.URLs.Public + appointmentPagePath + appointment.ID.String()}
	})
	return out, err
}

// SearchPhone returns the patients of all clinics with a phone number, for the console's
// search.
func (a *API) SearchPhone(ctx context.Context, phone string) ([]module.PersonMatch, error) {
	number := care.FormatE164(phone)
	if number == "" {
		return nil, nil
	}
	rows, err := a.store.PatientsOfAllClinicsByPhone(ctx, []string{care.PhoneKey(number)})
	return patientMatches(rows), err
}

// SearchEmail returns the patients of all clinics with an e-mail address, for the console's
// search.
func (a *API) SearchEmail(ctx context.Context, email string) ([]module.PersonMatch, error) {
	rows, err := a.store.PatientsOfAllClinicsByEmail(ctx, email)
	return patientMatches(rows), err
}

// SearchCPFEnd returns the patients of all clinics whose CPF ends with two digits, for the
// console's search.
func (a *API) SearchCPFEnd(ctx context.Context, lastTwo string) ([]module.PersonMatch, error) {
	rows, err := a.store.PatientsOfAllClinicsByCPFEnd(ctx, lastTwo)
	return patientMatches(rows), err
}

func patientMatches(rows []store.Patient) []module.PersonMatch {
	return rest.Map(rows, func(p store.Patient) module.PersonMatch {
		return module.PersonMatch{TenantID: p.ClinicID, Kind: "patient", ID: p.ID.String(), Name: p.Name}
	})
}
