// Package erasure removes the data that identifies a patient when the patient asks for it, and
// has the connected products do the same. Records and payments stay, because the law requires
// them: without the patient's identity, but with the encrypted content of records. A deletion
// request follows the peers until all have acknowledged. See docs/erasure.md.
package erasure

import (
	"context"

	"integrationhub/clinic/internal/store"
	"integrationhub/hub/module"
)

// Service erases patients of all clinics.
type Service struct {
	host  module.Host
	store *store.Store
	inbox Inbox
}

// Inbox is the part of the inbox that an erasure needs.
type Inbox interface {
	// Erase deletes the entries about a patient and returns tombstones of their tickets.
	Erase(ctx context.Context, tx *store.Tx, scope store.Scope, patient *store.PatientIdentity) (ticketTombstones [][]byte, err error)
}

// New returns the erasure service of an opened product.
func New(host module.Host, s *store.Store, inbox Inbox) *Service { return &Service{host, s, inbox} }
