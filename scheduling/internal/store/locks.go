package store

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"integrationhub/scheduling/internal/booking"
)

// The order of locks. Every transaction takes these locks in this order; this prevents
// deadlocks:
//
//  1. what identifies a repeated request: its Idempotency-Key, its source_id
//     ([Tx.findRepeatedBooking]), its own hold ([Tx.claimRequestHold]), its proof of work;
//     then the network address of a hold ([Tx.checkHoldsOfAddress])
//  2. the client's contacts: [Tx.lockContacts]
//  3. a hold that a booking or another hold replaces
//  4. professionals' time ([Tx.LockProfessionalTime]), the lowest id first; if any
//     professional will do, one at a time, released before the next: [Tx.tryPlacement]
//  5. the recipient of an e-mail about a booking ([Tx.AdmitEmailToStranger])
//  6. the appointment's row
//  7. rows of payments, charges and refunds
//  8. the client's row
//
// Rows that others refer to are locked "for no key update". A plain "for update" also
// waits for transactions that only inserted a reference to the row, and that may be
// waiting in turn. Holds, reminders, schedule rules and exceptions, and the loyalty
// program are locked "for update".

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
