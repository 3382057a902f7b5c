package auth

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/module"
)

// Accounts hashes the passwords and signs the access tokens of one hosted product's
// users. It implements [module.Credentials].
type Accounts struct {
	hasher *hasher
	signer signer
	ttl    time.Duration
	now    func() time.Time
}

var _ module.Credentials = (*Accounts)(nil)

// NewAccounts returns the accounts of a product. key signs its access tokens, which
// last for ttl; no other product accepts them. Hashing shares the slots of s.
func (s *Service) NewAccounts(product string, key []byte, ttl time.Duration, now func() time.Time) *Accounts {
	return &Accounts{hasher: s.hasher, signer: newSigner(key, product), ttl: ttl, now: now}
}

// HashPassword implements [module.Credentials].
func (a *Accounts) HashPassword(ctx context.Context, password string) (string, error) {
	return a.hasher.hash(ctx, password)
}

// CheckPassword implements [module.Credentials].
func (a *Accounts) CheckPassword(ctx context.Context, stored, password string) (bool, error) {
	release, err := a.hasher.acquire(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	if stored == "" {
		a.hasher.matches(a.hasher.dummy, password)
		return false, nil
	}
	return a.hasher.matches(stored, password), nil
}

// SignAccessToken implements [module.Credentials].
func (a *Accounts) SignAccessToken(user, login uuid.UUID) (string, error) {
	return a.signer.sign(user, login, a.now(), a.ttl)
}

// VerifyAccessToken implements [module.Credentials].
func (a *Accounts) VerifyAccessToken(token string) (user, login uuid.UUID, ok bool) {
	return a.signer.verify(token, a.now())
}
