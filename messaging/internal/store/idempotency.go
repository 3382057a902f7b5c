package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"integrationhub/hub/module"
	"integrationhub/messaging/internal/store/dbgen"
)

// idempotencyLife is how long an Idempotency-Key is remembered.
const idempotencyLife = 24 * time.Hour

// RequestKey is the Idempotency-Key of a request of the send API.
type RequestKey struct {
	Company  int64
	Caller   string // whose key it is: the same key of another caller is another key
	Key      string
	BodyHash []byte
}

// hash returns what is stored of a key: callers put names and numbers into keys, which an erasure
// would not find.
func (k RequestKey) hash(host module.Host) string {
	mac := hmac.New(sha256.New, host.Sealer.Derive("idempotency keys"))
	fmt.Fprintf(mac, "%d/%s", k.Company, k.Key)
	return "hmac:" + hex.EncodeToString(mac.Sum(nil))
}

// IdempotencyRow is what is stored of an Idempotency-Key.
type IdempotencyRow = dbgen.IdempotencyKeyRow

// ClaimKey stores a message as that of a key. It waits for another transaction that claims
// the same key; isMine is false if the key has a message already.
func (t *Tx) ClaimKey(ctx context.Context, k RequestKey, messageID string) (isMine bool, err error) {
	claimed, err := t.ClaimIdempotencyKey(ctx, dbgen.ClaimIdempotencyKeyParams{
		CompanyID: k.Company, Caller: k.Caller, Key: k.hash(t.Host), ClearKey: k.Key, BodyHash: k.BodyHash, MessageID: messageID, At: t.Now(), ExpiredAt: t.Now().Add(-idempotencyLife),
	})
	if err != nil {
		return false, fmt.Errorf("claiming an idempotency key: %w", err)
	}
	return claimed > 0, nil
}

// FindKey returns what is stored of a key, or [pgx.ErrNoRows].
func (s *Store) FindKey(ctx context.Context, k RequestKey) (IdempotencyRow, error) {
	return s.IdempotencyKey(ctx, dbgen.IdempotencyKeyParams{CompanyID: k.Company, Caller: k.Caller, Key: k.hash(s.host), ClearKey: k.Key, Since: s.host.Now().Add(-idempotencyLife)})
}

// SaveResponse stores the response to the request with a key, as JSON.
func (s *Store) SaveResponse(ctx context.Context, k RequestKey, messageID string, response []byte) error {
	return s.SetIdempotencyResponse(ctx, dbgen.SetIdempotencyResponseParams{Response: response, CompanyID: k.Company, Caller: k.Caller, Key: k.hash(s.host), MessageID: messageID})
}

// DeleteExpiredKeys is a background job: it deletes idempotency keys after a day.
func (s *Store) DeleteExpiredKeys(ctx context.Context, _ []byte) error {
	return s.DeleteOldIdempotencyKeys(ctx, s.host.Now().Add(-idempotencyLife))
}
