package store

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"integrationhub/scheduling/internal/booking"
)

// The order of locks. Every transaction takes what it needs of these from the top to
// the bottom and never goes back up, so that none of them wait for each other in a
// circle:
//
//  1. what makes a request count once: its Idempotency-Key, its own hold ([Tx.claimRequestHold]), its
//     proof of work
//  2. who books: [Tx.lockContacts]
//  3. a hold that is given up for a booking or another hold
//  4. professionals' time ([Tx.LockProfessionalTime]), of several the lowest id first; with
//     "anybody" one at a time, let go of before the next: [Tx.tryPlacement]
//  5. the appointment's row
//  6. rows of payments, charges and refunds
//  7. the client's row
//
// Rows are locked "for no key update". A plain "for update" also waits for those who
// have only inserted something that refers to the row, and who may be waiting in turn.

// lockContacts prevents other transactions from finding or creating clients with the
// same phone number, in any form, or without a phone the same e-mail address. All
// locks are taken at once.
func (t *Tx) lockContacts(ctx context.Context, org uuid.UUID, list ...Contact) error {
	var keys []string
	for _, contact := range list {
		if contact.Phone != "" {
			keys = append(keys, booking.PhoneForms(contact.Phone)...)
		} else if contact.Email != "" {
			keys = append(keys, strings.ToLower(contact.Email))
		}
	}
	for i := range keys {
		keys[i] = org.String() + " " + keys[i]
	}
	slices.Sort(keys)
	return t.LockAdvisoryKeys(ctx, keys)
}
