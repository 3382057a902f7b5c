// Package inbox receives the events of connected products. An event that matches a patient
// changes the patient's history; any other waits in the inbox until a user links it to a
// patient or dismisses it. A linking also settles the entries with the same phone number,
// ticket or appointment. The section "Events" of docs/interfaces/clinic.md lists the events.
package inbox

import (
	"integrationhub/clinic/internal/store"
	"integrationhub/hub/module"
)

// Service is the inbox of all clinics.
type Service struct {
	host  module.Host
	store *store.Store
}

// New returns the inbox of an opened product.
func New(host module.Host, s *store.Store) *Service { return &Service{host, s} }

// transaction is the inbox's part of a transaction.
type transaction struct {
	*store.Tx
	host module.Host
}

func (s *Service) join(tx *store.Tx) *transaction { return &transaction{tx, s.host} }

// openEntry decrypts and parses the event of an open entry.
func (t *transaction) openEntry(entry store.InboxEntry) (inboundEvent, error) {
	event, err := openEntry(t.host.Sealer, entry)
	event.maskIDs(t.MaskSubjectID)
	return event, err
}
