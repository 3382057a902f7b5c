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

// Bad logins per account and address before further ones are refused unseen.
const (
	maxFailures   = 10
	failureWindow = 15 * time.Minute
	settlingTime  = 5 * time.Second // to take an attempt back when the request is over already
)

// Login trades an address and a password for tokens. Both wrong answer alike, after
// the same time: [hub.ErrUnauthorized]; after ten failures, or far too many logins of one
// address, [hub.ErrRateLimited].
func (d *Authenticator) Login(ctx context.Context, email, password string) (Session, error) {
	if err := d.host.RateLimiter.Allow(ctx, "logins", module.ClientIP(ctx)); err != nil {
		return Session{}, err
	}
	one := attempt{d.accountHash(email), module.ClientIP(ctx), d.host.Now().Truncate(time.Microsecond)}
	// In line: good logins at the same moment would else be refused for each other's sake.
	leave, err := d.logins.enter(ctx, string(one.account)+one.ip)
	if err != nil {
		return Session{}, err
	}
	defer leave()
	if err := d.begin(ctx, one); err != nil {
		return Session{}, err
	}
	user, good, err := d.check(ctx, email, password)
	var session Session
	if err == nil && good {
		session, good, err = d.admit(ctx, user, one)
	}
	switch {
	case err != nil: // nobody learned anything
		d.takeBack(ctx, one)
		return Session{}, err
	case !good:
		return Session{}, hub.Errorf(hub.ErrUnauthorized, "invalid_credentials", "Invalid credentials")
	}
	return session, nil
}

// check tells whose address and password these are. It takes as long for an address
// that nobody has.
func (d *Authenticator) check(ctx context.Context, email, password string) (user User, good bool, err error) {
	user, err = d.users.FindByEmail(ctx, email)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return user, false, err
	}
	matches, err := d.host.Credentials.CheckPassword(ctx, user.Password, password)
	return user, matches && user.Active, err
}

// admit hands out the tokens of a login, unless the user was changed while the password
// was checked.
func (d *Authenticator) admit(ctx context.Context, user User, one attempt) (session Session, good bool, err error) {
	err = pgx.BeginFunc(ctx, d.host.Pool, func(tx pgx.Tx) error {
		now, err := d.lock(ctx, tx, user.ID)
		if err != nil || !now.Active || now.Password != user.Password {
			return err
		}
		good = true
		if _, err := tx.Exec(ctx, `delete from login_failures where account_hash = $1 and ip = $2`, one.account, one.ip); err != nil {
			return fmt.Errorf("forgetting failed logins: %w", err)
		}
		session, err = d.IssueSession(ctx, tx, user.ID, uuid.New())
		return err
	})
	return session, good, dberr.Wrap("logging in", err)
}

// attempt is one login that is tried.
type attempt struct {
	account []byte
	ip      string
	at      time.Time
}

// begin counts an attempt as failed before anything is looked at, so that attempts at
// the same moment cannot outrun the count, whichever process they reach; or refuses it
// where too many failed lately.
func (d *Authenticator) begin(ctx context.Context, one attempt) error {
	since := one.at.Add(-failureWindow)
	var counted bool
	var oldest *time.Time
	err := pgx.BeginFunc(ctx, d.host.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended(encode($1::bytea, 'hex') || $2, 0))`, one.account, one.ip); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `
			with recent as (select at from login_failures where account_hash = $1 and ip = $2 and at > $3 order by at desc limit $5),
			counted as (insert into login_failures (account_hash, ip, at) select $1, $2, $4 where (select count(*) from recent) < $5 returning at)
			select exists (select from counted), (select min(at) from recent)`, one.account, one.ip, since, one.at, maxFailures).Scan(&counted, &oldest)
	})
	if err != nil {
		return fmt.Errorf("counting failed logins: %w", err)
	}
	if counted {
		return nil
	}
	limited := hub.Errorf(hub.ErrRateLimited, "too_many_logins", "Too many failed logins for this account; wait and try again.")
	limited.RetryAfter = max(time.Second, oldest.Add(failureWindow).Sub(one.at))
	return limited
}

// takeBack uncounts an attempt that came to nothing.
func (d *Authenticator) takeBack(ctx context.Context, one attempt) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settlingTime)
	defer cancel()
	_, err := d.host.Pool.Exec(ctx, `delete from login_failures where ctid = (
		select ctid from login_failures where account_hash = $1 and ip = $2 and at = $3 limit 1)`, one.account, one.ip, one.at)
	if err != nil {
		d.host.Log.WarnContext(ctx, "an attempt to log in stays counted", "error", err)
	}
}

// accountHash is what failed logins are counted under: keyed, so that the table does
// not tell which addresses were tried.
func (d *Authenticator) accountHash(email string) []byte {
	mac := hmac.New(sha256.New, d.host.Sealer.Derive("login failures"))
	mac.Write([]byte(strings.ToLower(email)))
	return mac.Sum(nil)
}

// queue lets one request with the same key in at a time, in this process.
type queue struct {
	mu    sync.Mutex
	lines map[string]*line
}

type line struct {
	turn chan struct{} // has room for the one who is in
	n    int           // of those in it or in
}

// enter waits for one's turn, which ends with leave.
func (q *queue) enter(ctx context.Context, key string) (leave func(), err error) {
	q.mu.Lock()
	one := q.lines[key]
	if one == nil {
		if q.lines == nil {
			q.lines = make(map[string]*line)
		}
		one = &line{turn: make(chan struct{}, 1)}
		q.lines[key] = one
	}
	one.n++
	q.mu.Unlock()
	out := func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if one.n--; one.n == 0 {
			delete(q.lines, key)
		}
	}
	select {
	case one.turn <- struct{}{}:
		return func() { <-one.turn; out() }, nil
	case <-ctx.Done():
		out()
		return nil, fmt.Errorf("waiting for a login before this one: %w", ctx.Err())
	}
}
