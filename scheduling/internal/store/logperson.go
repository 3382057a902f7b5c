package store

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
)

// LogPerson returns the identifiers by which events name a client, for searches of the
// log of webhooks. The error is a [hub.ErrNotFound] if there is no such client.
func (s *Store) LogPerson(ctx context.Context, org, id uuid.UUID) (module.Person, error) {
	person := module.Person{}
	client, err := s.ClientByID(ctx, org, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return person, hub.NotFound("Client")
	}
	if err != nil {
		return person, dberr.Wrap("loading the client", err)
	}
	if client.PhoneE164 != nil {
		person.Phones = append(person.Phones, *client.PhoneE164)
	}
	appointments, err := s.ClientAppointmentIDs(ctx, org, id)
	for _, appointment := range appointments {
		person.AppointmentIDs = append(person.AppointmentIDs, appointment.String())
	}
	return person, dberr.Wrap("loading appointments", err)
}
