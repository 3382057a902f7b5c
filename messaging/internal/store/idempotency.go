package store

import (
	"context"
	"fmt"
	"time"

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

// IdempotencyRow is what is stored of an Idempotency-Key.
type IdempotencyRow = dbgen.IdempotencyKeyRow

// ClaimKey stores a message as that of a key. It waits for another transaction that claims
// the same key; isMine is false if the key has a message already.
func (t *Tx) ClaimKey(ctx context.Context, k RequestKey, messageID string) (isMine bool, err error) {
	claimed, err := t.ClaimIdempotencyKey(ctx, dbgen.ClaimIdempotencyKeyParams{
		CompanyID: k.Company, Caller: k.Caller, Key: k.Key, BodyHash: k.BodyHash, MessageID: messageID, At: t.Now(), ExpiredAt: t.Now().Add(-idempotencyLife),
	})
	if err != nil {
		return false, fmt.Errorf("claiming an idempotency key: %w", err)
	}
	return claimed > 0, nil
}

// FindKey returns what is stored of a key, or [pgx.ErrNoRows].
func (s *Store) FindKey(ctx context.Context, k RequestKey) (IdempotencyRow, error) {
	return s.IdempotencyKey(ctx, dbgen.IdempotencyKeyParams{CompanyID: k.Company, Caller: k.Caller, Key: k.Key, Since: s.host.Now().Add(-idempotencyLife)})
}

// SaveAnswer stores the answer to the request with a key, as JSON.
func (s *Store) SaveAnswer(ctx context.Context, k RequestKey, messageID string, answer []byte) error {
	return s.SetIdempotencyAnswer(ctx, dbgen.SetIdempotencyAnswerParams{Answer: answer, CompanyID: k.Company, Caller: k.Caller, Key: k.Key, MessageID: messageID})
}

// DeleteExpiredKeys is a background job: it deletes idempotency keys after a day.
func (s *Store) DeleteExpiredKeys(ctx context.Context, _ []byte) error {
	return s.DeleteOldIdempotencyKeys(ctx, s.host.Now().Add(-idempotencyLife))
}
