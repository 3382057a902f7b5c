package accounts

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
)

// Limits of failed logins.
const (
	maxFailures        = 10 // of an account in a network
	maxNetworkFailures = 30 // of a network, for any account
	failureWindow      = 15 * time.Minute
	undoTimeout        = 5 * time.Second // to uncount an attempt after the request was canceled
)

// Login exchanges an email address and a password for tokens. An unknown address and a
// wrong password return [hub.ErrUnauthorized] after the same time. It returns
// [hub.ErrRateLimited] after too many failures of the account in the client's network, of
// that network, or too many logins from there. Failures of others in the network do not
// count for an account that logged in from there before.
func (a *Authenticator) Login(ctx context.Context, email, password string) (Session, error) {
	if err := a.host.RateLimiter.Allow(ctx, "logins", module.ClientIP(ctx)); err != nil {
		return Session{}, err
	}
	login := attempt{a.accountHash(email), module.ClientNetwork(ctx), a.host.Now().Truncate(time.Microsecond)}
	// One at a time: concurrent valid logins count as failures until they succeed.
	unlock, err := a.loginQueue.lock(ctx, string(login.account)+login.network)
	if err != nil {
		return Session{}, err
	}
	defer unlock()
	if err := a.countAttempt(ctx, login); err != nil {
		return Session{}, err
	}
	user, valid, err := a.checkPassword(ctx, email, password)
	var session Session
	if err == nil && valid {
		session, valid, err = a.startSession(ctx, user, login)
	}
	switch {
	case err != nil: // the attempt had no result
		a.uncountAttempt(ctx, login)
		return Session{}, err
	case !valid:
		return Session{}, hub.Errorf(hub.ErrUnauthorized, "invalid_credentials", "Invalid credentials")
	}
	module.SetAccessToken(ctx, session.AccessToken)
	return session, nil
}

// checkPassword returns the user of an email address and reports whether the password is
// valid. It takes as long for an unknown address.
func (a *Authenticator) checkPassword(ctx context.Context, email, password string) (user User, valid bool, err error) {
	user, err = a.users.FindByEmail(ctx, email)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return user, false, err
	}
	matches, err := a.host.Credentials.CheckPassword(ctx, user.Password, password)
	return user, matches && user.Active, err
}

// startSession creates the tokens of a login, unless the user was changed since the
// password was checked. started reports whether it did.
func (a *Authenticator) startSession(ctx context.Context, user User, login attempt) (session Session, started bool, err error) {
	err = pgx.BeginFunc(ctx, a.host.Pool, func(tx pgx.Tx) error {
		lockedUser, err := a.lockUser(ctx, tx, user.ID)
		if err != nil || !lockedUser.Active || lockedUser.Password != user.Password {
			return err
		}
		started = true
		if err := a.checkTenant(ctx, tx, user.ID); err != nil {
			return err
		}
		if err := forgetFailures(ctx, tx, login); err != nil {
			return err
		}
		session, err = a.IssueSession(ctx, tx, user.ID, uuid.New())
		return err
	})
	return session, started, dberr.Wrap("logging in", err)
}

// attempt is one attempt to log in.
type attempt struct {
	account []byte
	network string // of the client
	at      time.Time
}

// forgetFailures deletes the account's failures in a network, and remembers that the account
// logged in from there.
func forgetFailures(ctx context.Context, tx pgx.Tx, login attempt) error {
	if _, err := tx.Exec(ctx, `delete from login_failures where account_hash = $1 and ip = $2`, login.account, login.network); err != nil {
		return fmt.Errorf("deleting failed logins: %w", err)
	}
	_, err := tx.Exec(ctx, `insert into known_logins as k (account_hash, ip, at) values ($1, $2, $3)
		on conflict (account_hash, ip) do update set at = excluded.at where k.at < excluded.at - interval '1 day'`, login.account, login.network, login.at)
	if err != nil {
		return fmt.Errorf("remembering a login: %w", err)
	}
	return nil
}

// countAttempt counts an attempt as failed before the password is checked, so that
// concurrent attempts in several processes cannot exceed the limits. It returns
// [hub.ErrRateLimited] after too many recent failures.
func (a *Authenticator) countAttempt(ctx context.Context, login attempt) error {
	// One of a network at a time: those that wait for the database's lock occupy connections.
	unlock, err := a.countQueue.lock(ctx, login.network)
	if err != nil {
		return err
	}
	defer unlock()
	var counted bool
	var ofAccount, ofNetwork *time.Time // the failure that reaches the limit
	err = pgx.BeginFunc(ctx, a.host.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended(current_schema() || ' logins ' || $1, 0))`, login.network); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `
			with reached as (select
				(select at from login_failures where account_hash = $1 and ip = $2 and at > $3 order by at desc offset $5::int - 1 limit 1) as of_account,
				(select at from login_failures where ip = $2 and at > $3
					and not exists (select from known_logins where account_hash = $1 and ip = $2)
					order by at desc offset $6::int - 1 limit 1) as of_network),
			counted as (insert into login_failures (account_hash, ip, at)
				select $1, $2, $4 from reached where of_account is null and of_network is null returning at)
			select exists (select from counted), of_account, of_network from reached`,
			login.account, login.network, login.at.Add(-failureWindow), login.at, maxFailures, maxNetworkFailures).Scan(&counted, &ofAccount, &ofNetwork)
	})
	switch {
	case err != nil:
		return fmt.Errorf("counting failed logins: %w", err)
	case counted:
		return nil
	case ofAccount != nil:
		return tooManyLogins("account", ofAccount.Add(failureWindow).Sub(login.at))
	}
	return tooManyLogins("address", ofNetwork.Add(failureWindow).Sub(login.at))
}

func tooManyLogins(scope string, wait time.Duration) *hub.Error {
	limited := hub.Errorf(hub.ErrRateLimited, "too_many_logins", "Too many failed logins for this %s; wait and try again.", scope)
	limited.RetryAfter = max(time.Second, wait)
	return limited
}

// uncountAttempt removes an attempt that ended without a result.
func (a *Authenticator) uncountAttempt(ctx context.Context, login attempt) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	_, err := a.host.Pool.Exec(ctx, `delete from login_failures where ctid = (
		select ctid from login_failures where account_hash = $1 and ip = $2 and at = $3 limit 1)`, login.account, login.network, login.at)
	if err != nil {
		a.host.Log.WarnContext(ctx, "an attempt to log in stays counted", "error", err)
	}
}

// accountHash returns the key of an account's failed logins. It is a keyed hash, so that
// the table does not reveal the attempted addresses.
func (a *Authenticator) accountHash(email string) []byte {
	mac := hmac.New(sha256.New, a.host.Sealer.Derive("login failures"))
	mac.Write([]byte(strings.ToLower(email)))
	return mac.Sum(nil)
}

// keyedMutex is a set of mutexes by key, in this process.
type keyedMutex struct {
	mu    sync.Mutex
	byKey map[string]*countedMutex
}

type countedMutex struct {
	token chan struct{} // full while locked
	users int           // holder and waiters
}

// lock locks the mutex of a key. The caller calls unlock.
func (m *keyedMutex) lock(ctx context.Context, key string) (unlock func(), err error) {
	m.mu.Lock()
	mutex := m.byKey[key]
	if mutex == nil {
		if m.byKey == nil {
			m.byKey = make(map[string]*countedMutex)
		}
		mutex = &countedMutex{token: make(chan struct{}, 1)}
		m.byKey[key] = mutex
	}
	mutex.users++
	m.mu.Unlock()
	release := func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if mutex.users--; mutex.users == 0 {
			delete(m.byKey, key)
		}
	}
	select {
	case mutex.token <- struct{}{}:
		return func() { <-mutex.token; release() }, nil
	case <-ctx.Done():
		release()
		return nil, fmt.Errorf("waiting for a login before this one: %w", ctx.Err())
	}
}
