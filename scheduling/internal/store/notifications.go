package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/booking"
)

// Jobs that transactions enqueue.
const (
	JobNotifications    = "letters"  // a [Notification]; the job picks the e-mail by the current state of the appointment. Waiting runs have this earlier name
	JobWaitlist         = "waitlist" // a [FreedTime]
	JobAmbiguousErasure = "unclear"  // an [AmbiguousErasure]
	JobPatientRefresh   = "patients" // a [PatientChange]

	JobCampaigns = "campaigns" // a [CampaignRun]
)

// Notification is a change of an appointment that people are notified of.
type Notification struct {
	Org           uuid.UUID         `json:"org_id"`
	Appointment   uuid.UUID         `json:"appointment_id"`
	Change        string            `json:"what"` // one of the constants below
	By            booking.ActorKind `json:"by"`
	PreviousStart time.Time         `json:"before,omitzero"` // the start before rescheduling
	SkipClient    bool              `json:"quiet,omitempty"` // the client gets no e-mail
}

// Values of [Notification.Change].
const (
	ChangeBooked      = "booked"
	ChangeConfirmed   = "confirmed"
	ChangeCancelled   = "cancelled"
	ChangeRescheduled = "moved"
)

// enqueueNotification leaves the e-mails about a change to a job. Enqueueing costs the
// transaction less than rendering them.
func (t *Tx) enqueueNotification(ctx context.Context, notification Notification) error {
	payload, err := json.Marshal(notification)
	if err != nil {
		return err
	}
	return t.Host.Jobs.Enqueue(ctx, t.Raw, module.JobRun{Job: JobNotifications, Payload: payload})
}

// FreedTime is a time that became available again.
type FreedTime struct {
	ID           uuid.UUID `json:"id"` // by which an offer is recorded; zero: of an earlier version
	Org          uuid.UUID `json:"org_id"`
	Professional uuid.UUID `json:"professional_id"`
	Start        time.Time `json:"start"`
}

// enqueueFreedTime leaves it to a job to offer the appointment's time to the waitlist.
func (t *Tx) enqueueFreedTime(ctx context.Context, org Org, appointment Appointment) error {
	if !org.Settings.WaitlistEnabled || !appointment.StartAt.After(t.now) {
		return nil
	}
	payload, err := json.Marshal(FreedTime{NewID(), org.ID, appointment.ProfessionalID, appointment.StartAt})
	if err != nil {
		return err
	}
	return t.Host.Jobs.Enqueue(ctx, t.Raw, module.JobRun{Job: JobWaitlist, Payload: payload})
}
