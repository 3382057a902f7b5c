package inbox

import (
	"context"
	"slices"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub/events"
)

// followerCheck decides which waiting entries a linking settles.
type followerCheck struct {
	*transaction
	linking  store.Linking
	patients map[string][]store.Patient // with the numbers so far, by phone key
}

// includes reports whether an entry is settled by the linking. One about the same ticket or
// appointment is, but a booking of another person only if a user began the linking. One with the
// same number is too, unless several patients have that number: then an entry with a name must
// be about the linking's patient by that name.
func (c *followerCheck) includes(ctx context.Context, entry store.InboxEntry) (bool, error) {
	isAboutSame := hasSameSubject(entry, c.linking)
	if entry.PhoneKey == nil || isAboutSame && (c.linking.SettledBy != nil || entry.EventType != events.TypeAppointmentCreated) {
		return true, nil
	}
	event, err := c.openEntry(entry)
	if err == nil && isAboutSame {
		return c.hasNumberOf(ctx, &event, *entry.PhoneKey)
	}
	if err != nil || !care.HasLetter(event.name()) {
		return err == nil, err
	}
	patients, err := c.patientsOf(ctx, &event, *entry.PhoneKey)
	if err != nil || len(patients) <= 1 {
		return err == nil, err
	}
	chosen, err := c.choosePatient(ctx, patients, &event)
	return chosen != nil && c.isLinked(*chosen), err
}

// hasSameSubject reports whether an entry is about the ticket or appointment of a linking.
func hasSameSubject(entry store.InboxEntry, linking store.Linking) bool {
	return entry.ExternalID != nil && linking.ExternalID != nil && *entry.ExternalID == *linking.ExternalID && entry.Source == linking.Source
}

// hasNumberOf reports whether the linking's patient has the number of an event, and its name
// does not mean another patient.
func (c *followerCheck) hasNumberOf(ctx context.Context, event *inboundEvent, phoneKey string) (bool, error) {
	patients, err := c.patientsOf(ctx, event, phoneKey)
	if err != nil || !slices.ContainsFunc(patients, c.isLinked) {
		return false, err
	}
	chosen, err := c.choosePatient(ctx, patients, event)
	return chosen == nil || c.isLinked(*chosen), err
}

func (c *followerCheck) isLinked(patient store.Patient) bool {
	return patient.ID == c.linking.PatientID
}

// patientsOf returns the patients with an event's number.
func (c *followerCheck) patientsOf(ctx context.Context, event *inboundEvent, phoneKey string) ([]store.Patient, error) {
	patients, ok := c.patients[phoneKey]
	if ok {
		return patients, nil
	}
	patients, err := c.FindByPhone(ctx, event.scope, event.phone())
	c.patients[phoneKey] = patients
	return patients, err
}
