package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store/dbgen"
)

// applyBooked makes the appointment that an event tells of, or brings it up to date, and
// gives what to write on the history. News that are older than what is known change
// nothing. Where the event says that the appointment takes place, one that was called off
// or missed does again.
func (t *Tx) applyBooked(ctx context.Context, n *news, patient uuid.UUID) (summary string, err error) {
	when := n.when
	service, professional := care.Shorten(care.HideCPF(n.data.Service), 200), care.Shorten(care.HideCPF(n.data.Professional), 120)
	var a dbgen.Appointment
	if n.data.AppointmentID == "" {
		a, err = t.UpsertNamelessBooking(ctx, dbgen.UpsertNamelessBookingParams{
			ClinicID: n.at.Clinic, Env: n.at.Env, ID: NewID(), PatientID: patient, StartsAt: when, Service: service, Professional: professional,
			Source: &n.source, DetailsAt: &n.time, CreatedAt: t.now,
		})
	} else {
		id := n.booking()
		a, err = t.UpsertBooking(ctx, dbgen.UpsertBookingParams{
			ClinicID: n.at.Clinic, Env: n.at.Env, ID: NewID(), PatientID: patient, StartsAt: when, Service: service, Professional: professional,
			Source: &n.source, ExternalID: &id, DetailsAt: &n.time, CreatedAt: t.now,
		})
	}
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		err = nil
	case err == nil && n.takesPlace() && (a.Status == care.Cancelled || a.Status == care.NoShow) && n.latest(a):
		a.Status, a.Reason, a.StateAt = care.Scheduled, nil, &n.time
		_, err = t.setAppointment(ctx, a)
	}
	return booked(service, professional, when), err
}

// latest tells whether nothing that happened later than the event is known of how an
// appointment stands.
func (n *news) latest(a dbgen.Appointment) bool {
	return a.StateAt == nil || !n.time.Before(*a.StateAt)
}

// applyBooking changes the appointment that an event is about; nil where that is not
// known. What happened later than the event stands.
func (t *Tx) applyBooking(ctx context.Context, n *news, patient uuid.UUID) (*dbgen.Appointment, error) {
	a, err := t.booking(ctx, n, patient)
	if err != nil || a == nil {
		return nil, err
	}
	latest := n.latest(*a)
	switch {
	case n.kind == appointmentReminded && (a.RemindedAt == nil || n.time.After(*a.RemindedAt)):
		a.RemindedAt = &n.time
	case n.kind == appointmentCancelled && latest:
		reason := care.Shorten(care.Scrub(n.data.Reason), 500)
		a.Status, a.Reason, a.StateAt = care.Cancelled, &reason, &n.time
	case n.kind == appointmentNoshow && latest:
		a.Status, a.StateAt = care.NoShow, &n.time
	}
	set, err := t.setAppointment(ctx, *a)
	return &set, err
}

// missedWithin is how long after its time a booking that has no id is told to have been
// missed.
const missedWithin = 48 * time.Hour

// booking locks the appointment that an event is about; nil where that is not known. A
// product that told no id when it was made names it by its time. Where it tells an id
// later and no time, the appointment is known only where there is no other that can be
// meant: of those to come, or that just began where it was missed, the only one.
func (t *Tx) booking(ctx context.Context, n *news, patient uuid.UUID) (*dbgen.Appointment, error) {
	id := n.booking()
	if id != "" {
		a, err := t.LockExternalAppointment(ctx, dbgen.LockExternalAppointmentParams{ClinicID: n.at.Clinic, Env: n.at.Env, Source: &n.source, ExternalID: &id})
		if !errors.Is(err, pgx.ErrNoRows) {
			return &a, err
		}
	}
	a, err := t.nameless(ctx, n, patient)
	if err == nil && a != nil && id != "" {
		a.ExternalID = &id
	}
	return a, err
}

func (t *Tx) nameless(ctx context.Context, n *news, patient uuid.UUID) (*dbgen.Appointment, error) {
	if !n.when.IsZero() {
		a, err := t.LockNamelessAt(ctx, dbgen.LockNamelessAtParams{ClinicID: n.at.Clinic, Env: n.at.Env, Source: &n.source, PatientID: patient, StartsAt: n.when})
		if errors.Is(err, pgx.ErrNoRows) {
			return nil, nil
		}
		return &a, err
	}
	after, upto := n.time, n.time.AddDate(100, 0, 0)
	if n.kind == appointmentNoshow {
		after, upto = n.time.Add(-missedWithin), n.time
	}
	list, err := t.LockNamelessBetween(ctx, dbgen.LockNamelessBetweenParams{
		ClinicID: n.at.Clinic, Env: n.at.Env, Source: &n.source, PatientID: patient, After: after, Upto: upto,
	})
	if err != nil || len(list) != 1 {
		return nil, err
	}
	return &list[0], nil
}
