package auth

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/module"
)

// Accounts hashes the passwords and signs the access tokens of one hosted product's
// users. It implements [module.Credentials].
type Accounts struct {
	service *Service
	signer  signer
	ttl     time.Duration
	now     func() time.Time
}

var _ module.Credentials = (*Accounts)(nil)

// NewAccounts returns the accounts of a product. key signs its access tokens, which
// last for ttl; no other product accepts them. Hashing shares the slots of s.
func (s *Service) NewAccounts(product string, key []byte, ttl time.Duration, now func() time.Time) *Accounts {
	return &Accounts{service: s, signer: newSigner(key, product), ttl: ttl, now: now}
}

// HashPassword implements [module.Credentials]. Logged-in users go before strangers.
func (a *Accounts) HashPassword(ctx context.Context, password string) (string, error) {
	from := requester{name: httpx.ClientNetwork(module.ClientIP(ctx))}
	if caller, ok := module.CallerFrom(ctx); ok {
		from = requester{isKnown: true, name: caller.UserID.String()}
	}
	return a.service.hasher.hash(ctx, from, password)
}

// CheckPassword implements [module.Credentials]. Accounts at an address from which they
// logged in before, with the same password, go before strangers.
func (a *Accounts) CheckPassword(ctx context.Context, stored, password string) (bool, error) {
	hasher := a.service.hasher
	login := loginAttempt{a.service.keyedHash("password:" + stored), httpx.ClientNetwork(module.ClientIP(ctx))}
	isKnown, err := a.service.isKnown(ctx, login)
	if err != nil {
		return false, err
	}
	release, err := hasher.gate.acquire(ctx, login.requester(isKnown))
	if err != nil {
		return false, err
	}
	if stored == "" {
		hasher.matches(hasher.dummy, password)
		release()
		return false, nil
	}
	matches := hasher.matches(stored, password)
	release()
	if !matches {
		return false, nil
	}
	return true, a.service.saveKnown(ctx, login)
}

// SignAccessToken implements [module.Credentials].
func (a *Accounts) SignAccessToken(user, login uuid.UUID) (string, error) {
	return a.signer.sign(user, login, a.now(), a.ttl)
}

// VerifyAccessToken implements [module.Credentials].
func (a *Accounts) VerifyAccessToken(token string) (user, login uuid.UUID, ok bool) {
	return a.signer.verify(token, a.now())
}
