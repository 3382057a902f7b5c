package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/fhir"
	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub/module/rest"
)

// fhirPatients are patients.
func (a *API) fhirPatients() kind {
	return kind{fhir.TypePatient, featurePatientRead, "", nil, a.readPatients, func(ctx context.Context, f facade, q store.Search) ([]fhir.Resource, int, error) {
		rows, total, err := a.store.FindPatients(ctx, q)
		return writtenAs(ctx, rows, total, err, func(p dbgen.Patient) uuid.UUID { return p.ID }, func(p dbgen.Patient) (fhir.Resource, bool) {
			return f.Patient(fhir.PatientRow{
				ID: p.ID, Name: p.Name, Phone: text(p.Phone), Email: text(p.Email), CPF: text(store.MaskedCPF(p)), BirthDate: dateOr(p.BirthDate),
				Active: p.Status == store.Active, Anonymized: p.Status == store.Anonymized, UpdatedAt: p.UpdatedAt,
			}), true
		})
	}}
}

// fhirAppointments are appointments.
func (a *API) fhirAppointments() kind {
	statuses := func(code string) []string { return plain(fhir.AppointmentStatuses(code)) }
	return kind{fhir.TypeAppointment, featureAppointmentRead, fhir.SystemAppointmentStatus, statuses, readOfPatients, func(ctx context.Context, f facade, q store.Search) ([]fhir.Resource, int, error) {
		rows, total, err := a.store.FindAppointments(ctx, q)
		return writtenAs(ctx, rows, total, err, func(row dbgen.Appointment) uuid.UUID { return row.PatientID }, func(row dbgen.Appointment) (fhir.Resource, bool) {
			return f.Appointment(appointmentRow(row)), true
		})
	}}
}

// fhirEncounters are appointments that took place.
func (a *API) fhirEncounters() kind {
	const took = string(care.Completed)
	return kind{fhir.TypeEncounter, featureAppointmentRead, fhir.SystemEncounterStatus, only(fhir.CodeFinished, took), readOfPatients, func(ctx context.Context, f facade, q store.Search) ([]fhir.Resource, int, error) {
		if q.Statuses == nil {
			q.Statuses = []string{took}
		}
		rows, total, err := a.store.FindAppointments(ctx, q)
		return writtenAs(ctx, rows, total, err, func(row dbgen.Appointment) uuid.UUID { return row.PatientID }, func(row dbgen.Appointment) (fhir.Resource, bool) {
			return f.Encounter(appointmentRow(row)), true
		})
	}}
}

// plain are statuses as searches have them.
func plain(statuses []care.AppointmentStatus) []string {
	return rest.Map(statuses, func(appointmentStatus care.AppointmentStatus) string { return string(appointmentStatus) })
}

// daysOf are the days that begin in spans of time: records have a day, and what the
// facade shows of it is when that begins.
func daysOf(spans store.TimeFilter, zone *time.Location) store.TimeFilter {
	return rest.Map(spans, func(span []store.TimeRange) []store.TimeRange {
		return rest.Map(span, func(timeRange store.TimeRange) store.TimeRange {
			return store.TimeRange(fhir.Days(fhir.Range(timeRange), zone))
		})
	})
}

func appointmentRow(row dbgen.Appointment) fhir.AppointmentRow {
	return fhir.AppointmentRow{
		ID: row.ID, PatientID: row.PatientID, At: care.ClampInstant(row.StartsAt), Service: care.Redact(row.Service), Professional: care.Redact(row.Professional), Status: row.Status,
		CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}
}

// fhirDocuments are records.
func (a *API) fhirDocuments() kind {
	return kind{fhir.TypeDocumentReference, featureRecordRead, fhir.SystemDocumentStatus, only(fhir.CodeCurrent, ""), readOfPatients, func(ctx context.Context, f facade, q store.Search) ([]fhir.Resource, int, error) {
		if q.Statuses != nil && len(q.Statuses) == 0 {
			return nil, 0, nil
		}
		q.Time = daysOf(q.Time, f.zone)
		rows, total, err := a.store.FindRecords(ctx, q)
		if err != nil {
			return nil, 0, err
		}
		contents := make(map[uuid.UUID]string, len(rows))
		for _, row := range rows {
			if !f.Outside {
				if contents[row.ID], err = a.store.Content(row); err != nil {
					return nil, 0, err
				}
			}
		}
		return writtenAs(ctx, rows, total, nil, func(r dbgen.Record) uuid.UUID { return r.PatientID }, func(r dbgen.Record) (fhir.Resource, bool) {
			if r.Url != nil && f.Outside {
				*r.Url = a.shownURL(r)
			}
			return f.DocumentReference(fhir.RecordRow{
				ID: r.ID, PatientID: r.PatientID, Date: r.Date, Zone: f.zone, Type: care.Redact(r.Type), Professional: care.Redact(r.Professional), Content: contents[r.ID],
				Summary: r.ExternalSummary, URL: text(r.Url), Sensitivity: r.Sensitivity, UpdatedAt: r.UpdatedAt,
			})
		})
	}}
}

// fhirCommunications are interactions.
func (a *API) fhirCommunications() kind {
	return kind{fhir.TypeCommunication, featurePatientRead, fhir.SystemEventStatus, only(fhir.CodeCompleted, ""), readOfPatients, func(ctx context.Context, f facade, q store.Search) ([]fhir.Resource, int, error) {
		if q.Statuses != nil && len(q.Statuses) == 0 {
			return nil, 0, nil
		}
		q.Sources = f.sources
		rows, total, err := a.store.FindInteractions(ctx, q)
		return writtenAs(ctx, rows, total, err, func(i dbgen.Interaction) uuid.UUID { return i.PatientID }, func(i dbgen.Interaction) (fhir.Resource, bool) {
			return f.Communication(fhir.InteractionRow{
				ID: i.ID, PatientID: i.PatientID, Type: i.Type, Summary: i.Summary, Source: i.Source, SourceID: i.SourceID, At: i.OccurredAt, UpdatedAt: changedAt(i),
			}), true
		})
	}}
}

// text is an optional text, "" for none.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func dateOr(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// changedAt is when an interaction was written, or its patient forgotten.
func changedAt(i dbgen.Interaction) time.Time {
	if i.UpdatedAt != nil {
		return *i.UpdatedAt
	}
	return i.CreatedAt
}
