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

// Limits of failed logins per account and IP address.
const (
	maxFailures   = 10
	failureWindow = 15 * time.Minute
	undoTimeout   = 5 * time.Second // to uncount an attempt after the request was canceled
)

// Login exchanges an email address and a password for tokens. An unknown address and a
// wrong password return [hub.ErrUnauthorized] after the same time. After ten failures, or
// too many logins from an IP address, it returns [hub.ErrRateLimited].
func (a *Authenticator) Login(ctx context.Context, email, password string) (Session, error) {
	if err := a.host.RateLimiter.Allow(ctx, "logins", module.ClientIP(ctx)); err != nil {
		return Session{}, err
	}
	login := attempt{a.accountHash(email), module.ClientIP(ctx), a.host.Now().Truncate(time.Microsecond)}
	// One at a time: concurrent valid logins count as failures until they succeed.
	unlock, err := a.loginQueue.lock(ctx, string(login.account)+login.ip)
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
		if _, err := tx.Exec(ctx, `delete from login_failures where account_hash = $1 and ip = $2`, login.account, login.ip); err != nil {
			return fmt.Errorf("deleting failed logins: %w", err)
		}
		session, err = a.IssueSession(ctx, tx, user.ID, uuid.New())
		return err
	})
	return session, started, dberr.Wrap("logging in", err)
}

// attempt is one attempt to log in.
type attempt struct {
	account []byte
	ip      string
	at      time.Time
}

// countAttempt counts an attempt as failed before the password is checked, so that
// concurrent attempts in several processes cannot exceed the limit. It returns
// [hub.ErrRateLimited] after too many recent failures.
func (a *Authenticator) countAttempt(ctx context.Context, login attempt) error {
	since := login.at.Add(-failureWindow)
	var counted bool
	var oldest *time.Time
	err := pgx.BeginFunc(ctx, a.host.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended(encode($1::bytea, 'hex') || $2, 0))`, login.account, login.ip); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `
			with recent as (select at from login_failures where account_hash = $1 and ip = $2 and at > $3 order by at desc limit $5),
			counted as (insert into login_failures (account_hash, ip, at) select $1, $2, $4 where (select count(*) from recent) < $5 returning at)
			select exists (select from counted), (select min(at) from recent)`, login.account, login.ip, since, login.at, maxFailures).Scan(&counted, &oldest)
	})
	if err != nil {
		return fmt.Errorf("counting failed logins: %w", err)
	}
	if counted {
		return nil
	}
	limited := hub.Errorf(hub.ErrRateLimited, "too_many_logins", "Too many failed logins for this account; wait and try again.")
	limited.RetryAfter = max(time.Second, oldest.Add(failureWindow).Sub(login.at))
	return limited
}

// uncountAttempt removes an attempt that ended without a result.
func (a *Authenticator) uncountAttempt(ctx context.Context, login attempt) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	_, err := a.host.Pool.Exec(ctx, `delete from login_failures where ctid = (
		select ctid from login_failures where account_hash = $1 and ip = $2 and at = $3 limit 1)`, login.account, login.ip, login.at)
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
