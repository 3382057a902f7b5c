package store

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/store/dbgen"
)

// IdempotencyKey identifies a request that must take effect once.
type IdempotencyKey struct {
	Operation, Key string
	RequestHash    []byte
}

// idempotencyTTL is how long an Idempotency-Key is stored.
const idempotencyTTL = 24 * time.Hour

// hashKey returns what is stored of a key: callers put names, numbers and addresses into keys,
// which an erasure would not find.
func (t *Tx) hashKey(org uuid.UUID, key IdempotencyKey) string {
	mac := hmac.New(sha256.New, t.Host.Sealer.Derive("idempotency keys"))
	mac.Write(org[:])
	mac.Write([]byte(key.Key))
	return "hmac:" + hex.EncodeToString(mac.Sum(nil))
}

// findKey returns what is stored of a key, however old, or [pgx.ErrNoRows].
func (t *Tx) findKey(ctx context.Context, org uuid.UUID, key IdempotencyKey) (dbgen.Idempotency, error) {
	return t.IdempotentAnswer(ctx, dbgen.IdempotentAnswerParams{OrgID: org, Operation: key.Operation, Key: t.hashKey(org, key), ClearKey: key.Key})
}

// claimIdempotencyKey reserves the key for this request, or decodes the answer stored
// under it and returns found. A key used for another request is a [hub.ErrConflict].
func (t *Tx) claimIdempotencyKey(ctx context.Context, org uuid.UUID, key IdempotencyKey, stored any) (found bool, err error) {
	inserted, err := t.InsertIdempotencyKey(ctx, dbgen.InsertIdempotencyKeyParams{
		OrgID: org, Operation: key.Operation, Key: t.hashKey(org, key), ClearKey: key.Key, RequestHash: key.RequestHash, CreatedAt: t.now, Expired: t.now.Add(-idempotencyTTL),
	})
	if err != nil || inserted > 0 {
		return false, err
	}
	answer, err := t.findKey(ctx, org, key)
	if err != nil {
		return false, err
	}
	return true, decodeStoredAnswer(answer, key, stored)
}

// decodeStoredAnswer decodes the answer to an earlier request with the same key.
func decodeStoredAnswer(stored dbgen.Idempotency, key IdempotencyKey, result any) error {
	if !bytes.Equal(stored.RequestHash, key.RequestHash) {
		return hub.Errorf(hub.ErrConflict, "idempotency_key_reused", "This Idempotency-Key was used for another request.")
	}
	return json.Unmarshal(stored.Answer, result)
}

// storeAnswer stores the answer to a request under its key.
func (t *Tx) storeAnswer(ctx context.Context, org uuid.UUID, key IdempotencyKey, answer any) error {
	encoded, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	created := 201
	return t.StoreIdempotentAnswer(ctx, dbgen.StoreIdempotentAnswerParams{OrgID: org, Operation: key.Operation, Key: t.hashKey(org, key), Status: &created, Answer: encoded})
}
