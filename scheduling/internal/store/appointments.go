package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/scheduling/internal/store/dbgen"
)

// Appointment is a row of scheduling.appointments.
type Appointment = dbgen.Appointment

// AppointmentDetail is an appointment with the names of its client, professional and
// service: a row of scheduling.appointment_details.
type AppointmentDetail = dbgen.AppointmentDetail

// HistoryEntry is a change of an appointment with the name of its user.
type HistoryEntry = dbgen.ListHistoryRow

// AppointmentRecipient is the name and address for an appointment's e-mails. Email is
// "" where there is none.
type AppointmentRecipient = dbgen.AppointmentRecipientRow

// AppointmentFilter selects appointments. Zero fields select all.
type AppointmentFilter struct {
	Since, Until         *time.Time // of the start; Until is excluded
	Statuses             []string
	Professional, Client *uuid.UUID
	NewestFirst          bool
}

// FindAppointments loads a page of an organization's appointments, ordered by start.
func (d DB) FindAppointments(ctx context.Context, org uuid.UUID, filter AppointmentFilter, page Page) ([]AppointmentDetail, error) {
	return d.ListAppointments(ctx, dbgen.ListAppointmentsParams{
		OrgID: org, Since: filter.Since, Until: filter.Until, Statuses: append([]string{}, filter.Statuses...), ProfessionalID: filter.Professional, ClientID: filter.Client,
		Descending: filter.NewestFirst, RowLimit: page.Limit, RowOffset: page.Offset,
	})
}

// AppointmentPage is [DB.FindAppointments] with the total number of appointments.
func (d DB) AppointmentPage(ctx context.Context, org uuid.UUID, filter AppointmentFilter, page Page) (appointments []AppointmentDetail, total int, err error) {
	if appointments, err = d.FindAppointments(ctx, org, filter, page); err != nil {
		return nil, 0, err
	}
	total, err = d.CountAppointments(ctx, dbgen.CountAppointmentsParams{
		OrgID: org, Since: filter.Since, Until: filter.Until, Statuses: append([]string{}, filter.Statuses...), ProfessionalID: filter.Professional, ClientID: filter.Client,
	})
	return appointments, total, err
}

// LatestAppointments loads the latest appointments of several clients, without
// statuses those of any status.
func (d DB) LatestAppointments(ctx context.Context, org uuid.UUID, clients []uuid.UUID, statuses []string, limit int) ([]AppointmentDetail, error) {
	return d.AppointmentsOfClients(ctx, dbgen.AppointmentsOfClientsParams{OrgID: org, ClientIds: clients, Statuses: append([]string{}, statuses...), RowLimit: limit})
}

// OpenAppointmentsBetween loads a professional's scheduled and confirmed appointments
// that overlap a period, at most 200.
func (d DB) OpenAppointmentsBetween(ctx context.Context, org, professional uuid.UUID, since, until time.Time) ([]AppointmentDetail, error) {
	return d.OverlappingAppointments(ctx, dbgen.OverlappingAppointmentsParams{OrgID: org, ProfessionalID: professional, Since: since, Until: until})
}
