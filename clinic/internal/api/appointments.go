package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub/module/rest"
)

// Appointment is an appointment as the clinic's users see it.
type Appointment struct {
	ID           uuid.UUID              `json:"id" doc:"Names the appointment in paths and events"`
	PatientID    uuid.UUID              `json:"patient_id" doc:"Patient it belongs to"`
	Datetime     time.Time              `json:"datetime" doc:"When it begins"`
	Service      string                 `json:"service" doc:"What is done"`
	Professional string                 `json:"professional" doc:"Who does it"`
	Status       care.AppointmentStatus `json:"status" enum:"scheduled,confirmed,completed,cancelled,no_show" doc:"State it is in"`
	Reason       *string                `json:"reason" doc:"Of a cancellation"`
	RemindedAt   *time.Time             `json:"reminded_at" doc:"When the patient was reminded; null: not yet"`
	Source       *string                `json:"source" doc:"The connected product it came from"`
	ExternalID   *string                `json:"external_id" doc:"Its id there"`
	CreatedAt    time.Time              `json:"created_at" doc:"When it was stored"`
}

func toAppointment(a store.Appointment) Appointment {
	return Appointment{
		ID: a.ID, PatientID: a.PatientID, Datetime: care.ClampInstant(a.StartsAt), Service: a.Service, Professional: a.Professional, Status: a.Status,
		Reason: a.Reason, RemindedAt: clampOptionalTime(a.RemindedAt), Source: a.Source, ExternalID: a.ExternalID, CreatedAt: a.CreatedAt.UTC(),
	}
}

type appointmentFields struct {
	Datetime     rest.Optional[string] `json:"datetime,omitempty" format:"date-time" doc:"Without a UTC offset it counts in the clinic's time zone; the seconds may be left out" example:"2026-03-02T09:00:00-03:00"`
	Service      rest.Optional[string] `json:"service,omitempty" maxLength:"200" doc:"What is done"`
	Professional rest.Optional[string] `json:"professional,omitempty" maxLength:"120" doc:"Who does it"`
	Status       rest.Optional[string] `json:"status,omitempty" enum:"scheduled,confirmed,completed,cancelled,no_show" doc:"Of a new one: scheduled"`
	Reason       rest.Nullable[string] `json:"reason,omitempty" maxLength:"500" doc:"Of a cancellation; null: none"`
}

type appointmentInput struct {
	rest.IDParam
	Body appointmentFields `nameHint:"AppointmentFields"`
}

func (f *appointmentFields) applyTo(d *store.AppointmentData) error {
	var errs rest.FieldErrors
	if f.Datetime.HasValue() {
		d.StartsAt = errs.ParseTime(f.Datetime.Value, "body.datetime")
	}
	errs.Check(f.Datetime.HasValue() || !d.StartsAt.IsZero(), "body.datetime", "is required")
	f.Service.ApplyTo(&d.Service)
	f.Professional.ApplyTo(&d.Professional)
	f.Reason.Value = redactInput(f.Reason.Value)
	f.Reason.ApplyTo(&d.Reason)
	d.Service, d.Professional = redactInput(d.Service), redactInput(d.Professional)
	errs.CheckLength(d.Service, "body.service", 0, 200)
	errs.CheckLength(d.Professional, "body.professional", 0, 120)
	errs.CheckLength(f.Reason.Value, "body.reason", 0, 500)
	if f.Status.HasValue() {
		d.Status = care.AppointmentStatus(f.Status.Value)
	}
	errs.Check(d.Status.IsValid(), "body.status", "must be scheduled, confirmed, completed, cancelled or no_show")
	return errs.Err()
}

// completeDatetime completes a date-time with the offset of the clinic's time zone.
func (a *API) completeDatetime(ctx context.Context, scope store.Scope, datetime *rest.Optional[string]) (err error) {
	if datetime.HasValue() {
		datetime.Value, err = a.store.CompleteDatetime(ctx, scope.Clinic, datetime.Value)
	}
	return err
}

func (a *API) createAppointment(ctx context.Context, in *appointmentInput) (*struct{ Body Appointment }, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.completeDatetime(ctx, scope, &in.Body.Datetime); err != nil {
		return nil, err
	}
	d := store.AppointmentData{Status: care.Scheduled}
	if err := in.Body.applyTo(&d); err != nil {
		return nil, err
	}
	var appointment store.Appointment
	err = a.store.InTx(ctx, "making an appointment", func(tx *store.Tx) error {
		appointment, err = tx.CreateAppointment(ctx, scope, in.ID, d)
		return err
	})
	return &struct{ Body Appointment }{toAppointment(appointment)}, err
}

func (a *API) updateAppointment(ctx context.Context, in *appointmentInput) (*struct{ Body Appointment }, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.completeDatetime(ctx, scope, &in.Body.Datetime); err != nil {
		return nil, err
	}
	var appointment store.Appointment
	err = a.store.InTx(ctx, "changing an appointment", func(tx *store.Tx) error {
		appointment, err = tx.ChangeAppointment(ctx, scope, in.ID, in.Body.applyTo)
		return err
	})
	return &struct{ Body Appointment }{toAppointment(appointment)}, err
}

type appointmentsInput struct {
	PatientItemsInput
	Status string `query:"status" enum:"scheduled,confirmed,completed,cancelled,no_show" doc:"Only those in this state"`
}

func (a *API) listAppointments(ctx context.Context, in *appointmentsInput) (*struct{ Body rest.Page[Appointment] }, error) {
	scope, _, err := requestScope(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.requirePatient(ctx, scope, in.ID); err != nil {
		return nil, err
	}
	rows, err := a.store.ListAppointments(ctx, scope, in.ID, in.Status, toPage(in.PageParams))
	if err != nil {
		return nil, err
	}
	total, err := a.store.CountPatientAppointments(ctx, scope, in.ID, in.Status)
	return &struct{ Body rest.Page[Appointment] }{rest.NewPage(rest.Map(rows, toAppointment), total, in.PageParams)}, err
}
