package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"strings"
	"time"

	"integrationhub/hub"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
)

// loginAttempt is one attempt to log in.
type loginAttempt struct {
	account []byte // keyed hash
	network string // of the client
}

// requester returns how the attempt takes its turn for a password hash.
func (l loginAttempt) requester(isKnown bool) requester {
	if isKnown {
		return requester{isKnown: true, name: string(l.account) + l.network}
	}
	return requester{name: l.network}
}

// admitLogin reports whether the account has logged in from the address before. It returns a
// [hub.ErrRateLimited] above the limits of failed logins.
func (s *Service) admitLogin(ctx context.Context, login loginAttempt) (isKnown bool, err error) {
	leave, err := s.enterCheck(ctx, login)
	if err != nil {
		return false, err
	}
	defer leave()
	return s.checkLimits(ctx, login)
}

func (s *Service) checkLimits(ctx context.Context, login loginAttempt) (isKnown bool, err error) {
	now := s.config.Now()
	limits, err := dbgen.New(s.db).LoginLimits(ctx, dbgen.LoginLimitsParams{
		AccountHash: login.account, Ip: login.network, Since: now.Add(-loginWindow), AccountLimit: maxLoginFailures, AddressLimit: maxAddressFailures,
	})
	switch {
	case err != nil:
		return false, store.Wrap("counting failed logins", err)
	case limits.AccountReached.Unix() > 0:
		return false, tooManyLogins("account", limits.AccountReached.Add(loginWindow).Sub(now))
	case limits.AddressReached.Unix() > 0 && !limits.Known:
		return false, tooManyLogins("address", limits.AddressReached.Add(loginWindow).Sub(now))
	}
	return limits.Known, nil
}

func tooManyLogins(scope string, wait time.Duration) error {
	limited := hub.Errorf(hub.ErrRateLimited, "too_many_logins", "Too many failed logins for this %s; wait and try again.", scope)
	limited.RetryAfter = max(time.Second, wait)
	return limited
}

// enterCheck waits until the login may look at the database. Addresses take turns. Only a
// share of the connections is for logins before their turn, so that nothing else waits behind
// a flood of them.
func (s *Service) enterCheck(ctx context.Context, login loginAttempt) (leave func(), err error) {
	return s.checks.acquire(ctx, requester{isKnown: true, name: login.network})
}

// isKnown reports whether the account has logged in from the address before.
func (s *Service) isKnown(ctx context.Context, login loginAttempt) (bool, error) {
	leave, err := s.enterCheck(ctx, login)
	if err != nil {
		return false, err
	}
	defer leave()
	isKnownLogin, err := dbgen.New(s.db).IsKnownLogin(ctx, login.account, login.network)
	return isKnownLogin, store.Wrap("looking for earlier logins", err)
}

// saveKnown remembers that the account logged in from the address.
func (s *Service) saveKnown(ctx context.Context, login loginAttempt) error {
	return store.Wrap("remembering a login", dbgen.New(s.db).SaveKnownLogin(ctx, dbgen.SaveKnownLoginParams{
		AccountHash: login.account, Ip: login.network, At: s.config.Now(),
	}))
}

// WaitingLogins returns how many logins wait in this process for their password to be checked.
func (s *Service) WaitingLogins() int { return s.hasher.gate.length() }

// accountHash is the key under which failed logins are counted.
func (s *Service) accountHash(email string) []byte {
	return s.keyedHash("account:" + strings.ToLower(email))
}

// AttemptHash returns a hash of who tried to log in: the account, or "" for any, and the
// client's network. It does not reveal the account.
func (s *Service) AttemptHash(email, clientIP string) []byte {
	return s.keyedHash("attempt:" + httpx.ClientNetwork(clientIP) + " " + strings.ToLower(email))
}

// keyedHash returns a hash that does not reveal what was hashed, so that the tables of logins
// do not contain which accounts were tried.
func (s *Service) keyedHash(text string) []byte {
	mac := hmac.New(sha256.New, s.config.SigningKey)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
