package publicbooking

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/proofofwork"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

// JoinWaitlist adds a client to the waitlist for a range of days. A repeated request
// returns the same entry. Where the organization requires one, a new entry takes a proof of work.
func (s *Service) JoinWaitlist(ctx context.Context, org store.Org, choice Choice, contact store.Contact, first, last booking.Date, proof string) (id uuid.UUID, err error) {
	today := booking.DateOf(s.host.Now(), org.Zone)
	switch {
	case !org.Settings.BookingEnabled:
		return id, bookingDisabledError()
	case !org.Settings.WaitlistEnabled:
		return id, hub.Errorf(hub.ErrForbidden, "waitlist_disabled", "This business keeps no waiting list.")
	case last < first:
		return id, hub.Invalid("body.last_date", "must not be before first_date")
	case last < today:
		return id, hub.Invalid("body.last_date", "must not be in the past")
	case last-first > maxWaitlistDays:
		return id, hub.Invalid("body.last_date", "must be at most 92 days after first_date")
	}
	solved, err := s.verifyProof(org, proof)
	if err != nil {
		return id, err
	}
	err = s.store.InTx(ctx, "joining the waitlist", func(tx *store.Tx) error {
		offers, err := store.LoadOffers(ctx, tx.DB, org.ID, store.ServiceChoice{Service: choice.Service, Professional: choice.Professional, Online: true})
		if err != nil {
			return err
		}
		if len(offers) == 0 {
			return hub.Invalid("body.service_id", "is not offered by anybody")
		}
		spent := spendProof(ctx, tx, org, solved) // in the order of locks; a repeated request has spent it before
		if spent != nil && !hub.HasCode(spent, proofofwork.CodeRequired) {
			return spent
		}
		client, err := tx.FindOrCreateClient(ctx, org.ID, contact)
		if err != nil {
			return err
		}
		if err := CheckNotBlocked(client); err != nil {
			return err
		}
		// The client's contacts are locked, so concurrent repeats find the first entry.
		id, err = tx.FindWaitlistEntry(ctx, dbgen.FindWaitlistEntryParams{
			OrgID: org.ID, ServiceID: choice.Service, ClientID: client.ID, ProfessionalID: choice.Professional, FirstDate: first.Time(), LastDate: last.Time(), ContactEmail: &contact.Email,
		})
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if spent != nil {
			return spent
		}
		entries, err := tx.CountWaitlistEntries(ctx, org.ID, client.ID)
		if err != nil {
			return err
		}
		if entries >= maxWaitlistEntries {
			return hub.Errorf(hub.ErrConflict, "too_many_waiting", "There are too many waiting list entries under this phone number.")
		}
		id = store.NewID()
		return tx.CreateWaitlistEntry(ctx, dbgen.CreateWaitlistEntryParams{
			OrgID: org.ID, ID: id, ServiceID: choice.Service, ProfessionalID: choice.Professional, ClientID: client.ID,
			FirstDate: first.Time(), LastDate: last.Time(), CreatedAt: tx.Now(), ContactName: &contact.Name, ContactEmail: &contact.Email,
		})
	})
	return id, err
}

// Limits of the waitlist.
const (
	maxWaitlistDays    = 92 // days between the first and the last
	maxWaitlistEntries = 20
)
