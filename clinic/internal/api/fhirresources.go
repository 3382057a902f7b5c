package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/fhir"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub/module/pointer"
	"integrationhub/hub/module/rest"
)

// patientResources returns the type Patient.
func (a *API) patientResources() resourceType {
	return resourceType{fhir.TypePatient, featurePatientRead, "", nil, a.parsePatientFilter, func(ctx context.Context, f fhirView, q store.ResourceFilter) (foundResources, error) {
		rows, total, err := a.store.FindPatients(ctx, q)
		if err != nil {
			return foundResources{}, err
		}
		return toResources(ctx, rows, total, func(p store.Patient) uuid.UUID { return p.ID }, q.PatientCursor, func(p store.Patient) (fhir.Resource, bool) {
			return f.Patient(fhir.PatientRow{
				ID: p.ID, Name: p.Name, Phone: pointer.ValueOrZero(p.Phone), Email: pointer.ValueOrZero(p.Email), CPF: pointer.ValueOrZero(store.MaskedCPF(p)), BirthDate: pointer.ValueOrZero(p.BirthDate),
				Active: p.Status == store.Active, Anonymized: p.Status == store.Anonymized, UpdatedAt: p.UpdatedAt,
			}), true
		}), nil
	}}
}

// appointmentResources returns the type Appointment.
func (a *API) appointmentResources() resourceType {
	statuses := func(code string) []string { return statusStrings(fhir.AppointmentStatuses(code)) }
	return resourceType{fhir.TypeAppointment, featureAppointmentRead, fhir.SystemAppointmentStatus, statuses, a.parsePatientItemFilter, func(ctx context.Context, f fhirView, q store.ResourceFilter) (foundResources, error) {
		rows, total, err := a.store.FindAppointments(ctx, q)
		if err != nil {
			return foundResources{}, err
		}
		return toResources(ctx, rows, total, func(row store.Appointment) uuid.UUID { return row.PatientID }, q.AppointmentCursor, func(row store.Appointment) (fhir.Resource, bool) {
			return f.Appointment(toAppointmentRow(row)), true
		}), nil
	}}
}

// encounterResources returns the type Encounter: completed appointments.
func (a *API) encounterResources() resourceType {
	const completed = string(care.Completed)
	return resourceType{fhir.TypeEncounter, featureAppointmentRead, fhir.SystemEncounterStatus, singleStatus(fhir.CodeFinished, completed), a.parsePatientItemFilter, func(ctx context.Context, f fhirView, q store.ResourceFilter) (foundResources, error) {
		if q.Statuses == nil {
			q.Statuses = []string{completed}
		}
		rows, total, err := a.store.FindAppointments(ctx, q)
		if err != nil {
			return foundResources{}, err
		}
		return toResources(ctx, rows, total, func(row store.Appointment) uuid.UUID { return row.PatientID }, q.AppointmentCursor, func(row store.Appointment) (fhir.Resource, bool) {
			return f.Encounter(toAppointmentRow(row)), true
		}), nil
	}}
}

// statusStrings converts statuses for a [store.ResourceFilter].
func statusStrings(statuses []care.AppointmentStatus) []string {
	return rest.Map(statuses, func(appointmentStatus care.AppointmentStatus) string { return string(appointmentStatus) })
}

// toDayFilter returns the days that begin within times. Records have a day; the facade shows
// the instant at which it begins.
func toDayFilter(filter store.TimeFilter, zone *time.Location) store.TimeFilter {
	return rest.Map(filter, func(alternatives []store.TimeRange) []store.TimeRange {
		return rest.Map(alternatives, func(timeRange store.TimeRange) store.TimeRange {
			return store.TimeRange(fhir.ToDays(fhir.Range(timeRange), zone))
		})
	})
}

func toAppointmentRow(row store.Appointment) fhir.AppointmentRow {
	return fhir.AppointmentRow{
		ID: row.ID, PatientID: row.PatientID, StartsAt: care.ClampInstant(row.StartsAt), Service: care.Redact(row.Service), Professional: care.Redact(row.Professional), Status: row.Status,
		CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}
}

// documentResources returns the type DocumentReference: records.
func (a *API) documentResources() resourceType {
	return resourceType{fhir.TypeDocumentReference, featureRecordRead, fhir.SystemDocumentStatus, singleStatus(fhir.CodeCurrent, ""), a.parsePatientItemFilter, func(ctx context.Context, f fhirView, q store.ResourceFilter) (foundResources, error) {
		if q.Statuses != nil && len(q.Statuses) == 0 {
			return foundResources{}, nil
		}
		q.Time = toDayFilter(q.Time, f.zone)
		rows, total, err := a.store.FindRecords(ctx, q)
		if err != nil {
			return foundResources{}, err
		}
		contents, withheld := make(map[uuid.UUID]string, len(rows)), make(map[uuid.UUID]bool)
		unreadable := make(map[uuid.UUID]bool)
		for _, row := range rows {
			if f.ForPeer {
				continue
			}
			contents[row.ID], withheld[row.ID], err = a.recordContent(row, recordView{})
			if err != nil && f.skipUnreadable == nil {
				return foundResources{}, err
			}
			if err != nil {
				unreadable[row.ID] = true
				f.skipUnreadable(row.ID, err)
			}
		}
		return toResources(ctx, rows, total, func(r store.Record) uuid.UUID { return r.PatientID }, q.RecordCursor, func(r store.Record) (fhir.Resource, bool) {
			if unreadable[r.ID] {
				return nil, false
			}
			if r.Url != nil && f.ForPeer {
				*r.Url = a.peerRecordURL(r)
			}
			return f.DocumentReference(fhir.RecordRow{
				ID: r.ID, PatientID: r.PatientID, Date: r.Date, Zone: f.zone, Type: care.Redact(r.Type), Professional: care.Redact(r.Professional), Content: contents[r.ID], Withheld: withheld[r.ID],
				Summary: r.ExternalSummary, URL: pointer.ValueOrZero(r.Url), Sensitivity: r.Sensitivity, UpdatedAt: r.UpdatedAt,
			})
		}), nil
	}}
}

// communicationResources returns the type Communication: interactions.
func (a *API) communicationResources() resourceType {
	return resourceType{fhir.TypeCommunication, featurePatientRead, fhir.SystemEventStatus, singleStatus(fhir.CodeCompleted, ""), a.parsePatientItemFilter, func(ctx context.Context, f fhirView, q store.ResourceFilter) (foundResources, error) {
		if q.Statuses != nil && len(q.Statuses) == 0 {
			return foundResources{}, nil
		}
		q.Sources = f.sources
		rows, total, err := a.store.FindInteractions(ctx, q)
		if err != nil {
			return foundResources{}, err
		}
		return toResources(ctx, rows, total, func(i store.Interaction) uuid.UUID { return i.PatientID }, q.InteractionCursor, func(i store.Interaction) (fhir.Resource, bool) {
			return f.Communication(fhir.InteractionRow{
				ID: i.ID, PatientID: i.PatientID, Type: i.Type, Summary: i.Summary, Source: i.Source, SourceID: i.SourceID, OccurredAt: i.OccurredAt, UpdatedAt: store.InteractionUpdatedAt(i),
			}), true
		}), nil
	}}
}
