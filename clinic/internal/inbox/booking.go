package inbox

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub/events"
)

// saveBooking creates the appointment of an event, or updates it, and returns the summary
// for the history. An event that is older than the stored description leaves it as it is.
// The status that the event says counts unless a later one is stored: so a cancelled or
// missed appointment is scheduled again, in whatever order the events come. If the appointment
// is another person's by now, saveBooking changes nothing.
func (t *transaction) saveBooking(ctx context.Context, event *inboundEvent, patient uuid.UUID) (summary string, err error) {
	service, professional := care.Truncate(care.RedactCPFs(event.data.Service), 200), care.Truncate(care.RedactCPFs(event.data.Professional), 120)
	var a store.Appointment
	if event.isOutdated, err = t.isBookingOutdated(ctx, event); err != nil || event.isOutdated {
		return describeBooking(service, professional, event.startsAt), err
	}
	if event.data.AppointmentID == "" {
		a, err = t.UpsertUnidentifiedBooking(ctx, dbgen.UpsertUnidentifiedBookingParams{
			ClinicID: event.scope.Clinic, Env: event.scope.Env, ID: store.NewID(), PatientID: patient, StartsAt: event.startsAt, Service: service, Professional: professional,
			Source: &event.source, DetailsAt: &event.time, CreatedAt: t.Now(),
		})
	} else {
		id := event.storedAppointmentID()
		a, err = t.UpsertBooking(ctx, dbgen.UpsertBookingParams{
			ClinicID: event.scope.Clinic, Env: event.scope.Env, ID: store.NewID(), PatientID: patient, StartsAt: event.startsAt, Service: service, Professional: professional,
			Source: &event.source, ExternalID: &id, DetailsAt: &event.time, CreatedAt: t.Now(),
		})
		if err == nil { // the payments of the former patient stay there
			err = t.ReleasePaymentsOfFormerPatients(ctx, dbgen.ReleasePaymentsOfFormerPatientsParams{
				ClinicID: a.ClinicID, Env: a.Env, AppointmentID: &a.ID, PatientID: a.PatientID, UpdatedAt: t.Now(),
			})
		}
	}
	isStored := err == nil
	if errors.Is(err, pgx.ErrNoRows) {
		a, isStored, err = t.lockDescribed(ctx, event, patient)
	}
	if err == nil && isStored && event.changesStatus(a) {
		a.Status, a.Reason, a.StateAt = care.AppointmentStatus(event.data.Status), nil, &event.time
		_, err = t.SaveAppointment(ctx, a)
	}
	summary = describeBooking(service, professional, event.startsAt)
	if event.data.Status == string(care.Confirmed) {
		summary += ": confirmed"
	}
	return summary, err
}

// removeMovedBooking deletes the appointment of an event that says that its client is another
// now, who is unknown: it is the former patient's no more. It is stored again when a user links
// the event. If a newer description is stored, the appointment stays.
func (t *transaction) removeMovedBooking(ctx context.Context, event *inboundEvent) error {
	if event.movedFrom == nil {
		return nil
	}
	if _, err := t.LockPatientShared(ctx, event.scope.Clinic, event.scope.Env, *event.movedFrom); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	id := event.storedAppointmentID()
	a, err := t.LockAppointmentByExternalID(ctx, dbgen.LockAppointmentByExternalIDParams{ClinicID: event.scope.Clinic, Env: event.scope.Env, Source: &event.source, ExternalID: &id})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil || a.DetailsAt != nil && a.DetailsAt.After(event.time) {
		return err
	}
	if err := t.ReleasePaymentsOfAppointment(ctx, dbgen.ReleasePaymentsOfAppointmentParams{ClinicID: a.ClinicID, Env: a.Env, AppointmentID: &a.ID, UpdatedAt: t.Now()}); err != nil {
		return err
	}
	return t.DeleteAppointment(ctx, a.ClinicID, a.Env, a.ID)
}

// isBookingOutdated reports whether a newer event with another number waits for its patient: the
// appointment is that person's.
func (t *transaction) isBookingOutdated(ctx context.Context, event *inboundEvent) (bool, error) {
	subject := event.subject()
	if subject == nil {
		return false, nil
	}
	return t.HasNewerWaitingBooking(ctx, dbgen.HasNewerWaitingBookingParams{
		ClinicID: event.scope.Clinic, Env: event.scope.Env, Source: event.source, ExternalID: *subject, OccurredAt: event.time, PhoneKey: event.phoneKey(),
	})
}

// lockDescribed locks the patient's appointment that an event describes. ok is false if it is
// another patient's by now.
func (t *transaction) lockDescribed(ctx context.Context, event *inboundEvent, patient uuid.UUID) (a store.Appointment, ok bool, err error) {
	id := event.storedAppointmentID()
	if id == "" {
		a, err = t.LockUnidentifiedBookingAt(ctx, dbgen.LockUnidentifiedBookingAtParams{
			ClinicID: event.scope.Clinic, Env: event.scope.Env, Source: &event.source, PatientID: patient, StartsAt: event.startsAt,
		})
	} else {
		a, err = t.LockAppointmentByExternalID(ctx, dbgen.LockAppointmentByExternalIDParams{ClinicID: event.scope.Clinic, Env: event.scope.Env, Source: &event.source, ExternalID: &id})
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return a, false, nil
	}
	return a, a.PatientID == patient, err
}

// updateBooking changes the appointment of an event and returns it, nil if it is not known.
// A later change stays as it is.
func (t *transaction) updateBooking(ctx context.Context, event *inboundEvent, patient uuid.UUID) (*store.Appointment, error) {
	a, err := t.lockBooking(ctx, event, patient)
	if err != nil || a == nil {
		return nil, err
	}
	isNewer := event.isNewerThan(*a)
	switch {
	case event.eventType == events.TypeAppointmentReminded && (a.RemindedAt == nil || event.time.After(*a.RemindedAt)):
		a.RemindedAt = &event.time
	case event.eventType == events.TypeAppointmentCancelled && isNewer:
		reason := care.Truncate(care.Redact(event.data.Reason), 500)
		a.Status, a.Reason, a.StateAt = care.Cancelled, &reason, &event.time
	case event.eventType == events.TypeAppointmentNoShow && isNewer:
		a.Status, a.StateAt = care.NoShow, &event.time
	}
	saved, err := t.SaveAppointment(ctx, *a)
	return &saved, err
}

// noShowWindow is how long after its start an appointment without an external id can still
// become a no-show.
const noShowWindow = 48 * time.Hour

// lockBooking locks the appointment of an event; nil if it is not known. An appointment
// without an external id gets the event's.
func (t *transaction) lockBooking(ctx context.Context, event *inboundEvent, patient uuid.UUID) (*store.Appointment, error) {
	id := event.storedAppointmentID()
	if id != "" {
		a, err := t.LockAppointmentByExternalID(ctx, dbgen.LockAppointmentByExternalIDParams{ClinicID: event.scope.Clinic, Env: event.scope.Env, Source: &event.source, ExternalID: &id})
		if !errors.Is(err, pgx.ErrNoRows) {
			return &a, err
		}
	}
	a, err := t.lockUnidentifiedBooking(ctx, event, patient)
	if err == nil && a != nil && id != "" {
		a.ExternalID = &id
	}
	return a, err
}

// lockUnidentifiedBooking locks the appointment of an event among the patient's bookings
// without an external id: some products do not send one. The time identifies it. If the
// event has no time, it is the only booking in the future, or, for a no-show, the only one
// of the last two days; nil if there are several.
func (t *transaction) lockUnidentifiedBooking(ctx context.Context, event *inboundEvent, patient uuid.UUID) (*store.Appointment, error) {
	if !event.startsAt.IsZero() {
		a, err := t.LockUnidentifiedBookingAt(ctx, dbgen.LockUnidentifiedBookingAtParams{
			ClinicID: event.scope.Clinic, Env: event.scope.Env, Source: &event.source, PatientID: patient, StartsAt: event.startsAt,
		})
		if errors.Is(err, pgx.ErrNoRows) {
			return nil, nil
		}
		return &a, err
	}
	after, until := event.time, event.time.AddDate(100, 0, 0)
	if event.eventType == events.TypeAppointmentNoShow {
		after, until = event.time.Add(-noShowWindow), event.time
	}
	bookings, err := t.LockUnidentifiedBookings(ctx, dbgen.LockUnidentifiedBookingsParams{
		ClinicID: event.scope.Clinic, Env: event.scope.Env, Source: &event.source, PatientID: patient, After: after, Until: until,
	})
	if err != nil || len(bookings) != 1 {
		return nil, err
	}
	return &bookings[0], nil
}
