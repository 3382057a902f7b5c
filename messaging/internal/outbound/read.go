package outbound

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub/module"
	"integrationhub/hub/module/pointer"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
	"integrationhub/messaging/internal/lane"
	"integrationhub/messaging/internal/store"
)

// ReadJob is the name of the job that informs networks of messages that users have read.
// Connections are divided among its lanes.
const ReadJob = "read-messages"

// readMessages is the payload of [ReadJob].
type readMessages struct {
	Company    int64    `json:"company"`
	Connection int64    `json:"connection"`
	Contact    int64    `json:"contact"`
	RemoteIDs  []string `json:"remoteIds"`
}

// EnqueueRead has the job inform the network of a ticket that messages were read: whoever reads
// them does not wait for the network.
func (s *Service) EnqueueRead(ctx context.Context, tx *store.Tx, ticket store.Ticket, remoteIDs []string) error {
	if len(remoteIDs) == 0 || ticket.ConnectionID == nil {
		return nil
	}
	payload, err := json.Marshal(readMessages{ticket.CompanyID, *ticket.ConnectionID, ticket.ContactID, remoteIDs})
	if err != nil {
		return fmt.Errorf("encoding a job: %w", err)
	}
	return s.host.Jobs.Enqueue(ctx, tx.Raw, module.JobRun{Job: lane.Of(ReadJob, *ticket.ConnectionID), Payload: payload})
}

// MarkRead is a background job: it informs a network that messages were read. It tries once: after
// a failure the contact does not learn that they were, and nothing else is lost.
func (s *Service) MarkRead(ctx context.Context, payload []byte) error {
	var job readMessages
	if err := json.Unmarshal(payload, &job); err != nil {
		return fmt.Errorf("reading a job: %w", err)
	}
	connection, err := s.store.Connection(ctx, job.Company, job.Connection)
	var contact store.Contact
	if err == nil {
		contact, err = s.store.Contact(ctx, job.Company, job.Contact)
	}
	if errors.Is(err, pgx.ErrNoRows) || err == nil && connection.Status != chat.ConnectionConnected {
		return nil
	}
	if err != nil {
		return fmt.Errorf("loading whose messages were read: %w", err)
	}
	network, err := s.drivers.ByName(connection.Driver)
	var opened driver.Connection
	if err == nil {
		opened, err = s.store.DriverConnection(connection)
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		err = network.MarkRead(ctx, opened, driver.Contact{Number: store.NetworkNumberOf(contact), LID: pointer.ValueOrZero(contact.LID)}, job.RemoteIDs)
	}
	if err != nil {
		s.host.Log.WarnContext(ctx, "read messages could not be marked at the network", "connection_id", connection.ID, "error", err)
	}
	return nil
}
