package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

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
		sum := sha256.Sum256(append(slices.Clone(key), id...))
		both = append(both, erasedRemoteID+hex.EncodeToString(sum[:]))
	}
	return both
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
