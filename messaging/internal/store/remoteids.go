package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"integrationhub/messaging/internal/store/dbgen"
)

// erasedRemoteID begins what takes the place of a message's id at its network once the contact is
// anonymized: ids of the Cloud API have the contact's number in them.
const erasedRemoteID = "anonymized:"

// remoteIDKey returns the key of the hashes that take the place of a company's remote ids.
func (t *Tx) remoteIDKey(company int64) []byte {
	mac := hmac.New(sha256.New, t.Host.Sealer.Derive("erased remote ids"))
	fmt.Fprint(mac, company)
	return mac.Sum(nil)
}

// bothRemoteIDs returns ids of a network, then in the same order what takes their places once the
// contacts of the messages are anonymized. EraseMessagesOfContact makes the same hashes.
func (t *Tx) bothRemoteIDs(company int64, ids ...string) []string {
	key, both := t.remoteIDKey(company), slices.Clone(ids)
	for _, id := range ids {
		both = append(both, hashRemoteID(key, id))
	}
	return both
}

// erasedRemoteIDOf returns what takes the place of an id of a network.
func (t *Tx) erasedRemoteIDOf(company int64, id string) string {
	return hashRemoteID(t.remoteIDKey(company), id)
}

func hashRemoteID(key []byte, id string) string {
	sum := sha256.Sum256(append(slices.Clone(key), id...))
	return erasedRemoteID + hex.EncodeToString(sum[:])
}

// knowErased stores the hash of the id at the network of a message that was being sent while its
// contact was anonymized: it is not in the outbox any more, but the network has accepted it, and may
// report it and send receipts. A message that was taken out for another reason stays as it is.
func (t *Tx) knowErased(ctx context.Context, m Message, remoteID string) (Message, error) {
	stored, err := t.SetErasedRemoteID(ctx, dbgen.SetErasedRemoteIDParams{ErasedRemoteID: t.erasedRemoteIDOf(m.CompanyID, remoteID), At: t.Now(), CompanyID: m.CompanyID, ID: m.ID})
	if errors.Is(err, pgx.ErrNoRows) {
		return m, nil
	}
	if err != nil {
		return m, fmt.Errorf("storing a message to an anonymized contact: %w", err)
	}
	return t.applyEarlyReceipt(ctx, stored, remoteID)
}

// IsRemoteIDStored reports whether a message of a connection is stored, by its id at the network. It
// is also found when its contact was anonymized since: a network may report a message again.
func (t *Tx) IsRemoteIDStored(ctx context.Context, company, connection int64, id string) (bool, error) {
	return t.RemoteMessageExists(ctx, company, connection, t.bothRemoteIDs(company, id))
}

// eraseMessagesOf erases what the messages of a contact say, and to whom.
func (t *Tx) eraseMessagesOf(ctx context.Context, company, contact int64) error {
	return t.EraseMessagesOfContact(ctx, dbgen.EraseMessagesOfContactParams{Key: t.remoteIDKey(company), At: t.Now(), CompanyID: company, ContactID: contact})
}

// Rows of one transaction of [Store.HashRemoteIDs].
const (
	checkedContacts = 50
	hashedMessages  = 500
)

// HashRemoteIDs is a background job: it puts hashes in the places of remote ids of contacts that were
// anonymized without it. When all are checked it does nothing. What fails for a company holds up
// nothing else.
func (s *Store) HashRemoteIDs(ctx context.Context, _ []byte) error {
	companies, err := s.CompaniesWithRemoteIDChecks(ctx)
	if err != nil {
		return fmt.Errorf("loading the companies with anonymized contacts to check: %w", err)
	}
	var failed failures
	for _, company := range companies {
		for isDone := false; !isDone; {
			if err := ctx.Err(); err != nil {
				failed.add(err)
				return failed.joined()
			}
			if isDone, err = s.hashSomeRemoteIDs(ctx, company); err != nil {
				failed.add(fmt.Errorf("company %d: %w", company, err))
				isDone = true
			}
		}
	}
	return failed.joined()
}

// hashSomeRemoteIDs checks some anonymized contacts of a company. isDone is true if none is left that no
// other process checks. Contacts with more messages than one transaction changes are checked again.
func (s *Store) hashSomeRemoteIDs(ctx context.Context, company int64) (isDone bool, err error) {
	err = s.InTx(ctx, "removing remote ids of anonymized contacts", func(tx *Tx) error {
		contacts, err := tx.ClaimRemoteIDChecks(ctx, company, checkedContacts)
		if isDone = len(contacts) == 0; isDone || err != nil {
			return err
		}
		hashed, err := tx.HashRemoteIDs(ctx, dbgen.HashRemoteIDsParams{Key: tx.remoteIDKey(company), CompanyID: company, Contacts: contacts, MaxRows: hashedMessages})
		if err != nil || hashed == hashedMessages {
			return err
		}
		return tx.DeleteRemoteIDChecks(ctx, company, contacts)
	})
	return isDone, err
}
