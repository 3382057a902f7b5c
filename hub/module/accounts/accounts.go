// Package accounts logs users of hosted products in: access and refresh tokens,
// counted failures, links to set a password. A product that uses it has the tables
// refresh_tokens, login_failures and mailed_tokens in its schema.
package accounts

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
)

// Bad logins per account and address before further ones are refused unseen.
const (
	maxFailures   = 10
	failureWindow = 15 * time.Minute
)

// Links sent by mail.
const (
	resetTime   = time.Hour
	inviteTime  = 7 * 24 * time.Hour
	linkWindow  = time.Hour
	linksAtMost = 5 // in that time for one account
)

// Purpose is what a mailed link is for.
type Purpose string

// The purposes of links.
const (
	Reset  Purpose = "reset"  // the user forgot the password; good for an hour
	Invite Purpose = "invite" // somebody made the account; good for a week
)

// Users is where a product keeps its users.
type Users interface {
	// ByEmail finds a user; [pgx.ErrNoRows] where there is none.
	ByEmail(ctx context.Context, email string) (User, error)
	// Active tells whether a user exists and may log in.
	Active(ctx context.Context, tx pgx.Tx, user uuid.UUID) (bool, error)
	// Letter writes the mail that brings a user a link to set a password.
	Letter(ctx context.Context, tx pgx.Tx, user uuid.UUID, purpose Purpose, link string) (module.Mail, error)
}

// User is what logging in needs to know of one.
type User struct {
	ID       uuid.UUID
	Email    string
	Password string // stored form; "" = none was set yet
	Active   bool
}

// DB is the database or a transaction.
type DB interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Session is what a login hands out.
type Session struct {
	AccessToken  string `json:"access_token" doc:"Send it as Authorization: Bearer"`
	RefreshToken string `json:"refresh_token" doc:"Good for one use"`
	TokenType    string `json:"token_type" example:"bearer"`
	ExpiresIn    int    `json:"expires_in" doc:"Seconds until the access token expires" example:"1800"`
}

// Desk logs the users of one product in. It is safe for concurrent use.
type Desk struct {
	kit    module.Kit
	prefix string
	users  Users
}

// New makes the desk of an opened product; prefix begins its refresh tokens.
func New(kit module.Kit, prefix string, users Users) *Desk { return &Desk{kit, prefix, users} }

// Issue makes the tokens of a login, which has a new id or goes on.
func (d *Desk) Issue(ctx context.Context, db DB, user, login uuid.UUID) (Session, error) {
	access, err := d.kit.Accounts.SignAccess(user, login)
	if err != nil {
		return Session{}, err
	}
	refresh, hash := newSecret(d.prefix)
	now := d.kit.Now()
	_, err = db.Exec(ctx, `insert into refresh_tokens (hash, family_id, user_id, created_at, expires_at) values ($1, $2, $3, $4, $5)`,
		hash, login, user, now, now.Add(d.kit.Settings.RefreshTTL))
	if err != nil {
		return Session{}, fmt.Errorf("issuing a refresh token: %w", err)
	}
	return Session{AccessToken: access, RefreshToken: refresh, TokenType: "bearer", ExpiresIn: int(d.kit.Settings.AccessTTL.Seconds())}, nil
}

// newSecret makes 256 random bits as text; its hash is what is stored.
func newSecret(prefix string) (plain string, hash []byte) {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // never fails: crypto/rand ends the program instead
	plain = prefix + base64.RawURLEncoding.EncodeToString(raw[:])
	return plain, hashOf(plain)
}

func hashOf(plain string) []byte {
	sum := sha256.Sum256([]byte(plain))
	return sum[:]
}

// Login trades an address and a password for tokens. Both wrong answer alike, after
// the same time: [hub.ErrUnauthorized]; after ten failures [hub.ErrLimited].
func (d *Desk) Login(ctx context.Context, email, password string) (Session, error) {
	account, ip := d.accountHash(email), module.ClientIP(ctx)
	if err := d.throttled(ctx, account, ip); err != nil {
		return Session{}, err
	}
	user, err := d.users.ByEmail(ctx, email)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return Session{}, err
	}
	matches, err := d.kit.Accounts.CheckPassword(ctx, user.Password, password)
	if err != nil {
		return Session{}, err
	}
	if !matches || !user.Active {
		_, err := d.kit.Pool.Exec(ctx, `insert into login_failures (account_hash, ip, at) values ($1, $2, $3)`, account, ip, d.kit.Now())
		if err != nil {
			return Session{}, fmt.Errorf("counting a failed login: %w", err)
		}
		return Session{}, hub.Errorf(hub.ErrUnauthorized, "invalid_credentials", "Invalid credentials")
	}
	if _, err := d.kit.Pool.Exec(ctx, `delete from login_failures where account_hash = $1 and ip = $2`, account, ip); err != nil {
		return Session{}, fmt.Errorf("forgetting failed logins: %w", err)
	}
	return d.Issue(ctx, d.kit.Pool, user.ID, uuid.New())
}

// throttled refuses a login where too many failed lately.
func (d *Desk) throttled(ctx context.Context, account []byte, ip string) error {
	rows, err := d.kit.Pool.Query(ctx, `select at from login_failures where account_hash = $1 and ip = $2 and at > $3 order by at desc limit $4`,
		account, ip, d.kit.Now().Add(-failureWindow), maxFailures)
	if err != nil {
		return fmt.Errorf("counting failed logins: %w", err)
	}
	failures, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
	if err != nil {
		return fmt.Errorf("counting failed logins: %w", err)
	}
	if len(failures) < maxFailures {
		return nil
	}
	limited := hub.Errorf(hub.ErrLimited, "too_many_logins", "Too many failed logins for this account; wait and try again.")
	limited.RetryAfter = max(time.Second, failures[len(failures)-1].Add(failureWindow).Sub(d.kit.Now()))
	return limited
}

// accountHash is what failed logins are counted under: keyed, so that the table does
// not tell which addresses were tried.
func (d *Desk) accountHash(email string) []byte {
	mac := hmac.New(sha256.New, d.kit.Sealer.Derive("login failures"))
	mac.Write([]byte(strings.ToLower(email)))
	return mac.Sum(nil)
}

func refusedRefresh() *hub.Error {
	return hub.Errorf(hub.ErrUnauthorized, "invalid_refresh_token", "Invalid refresh token")
}

// Refresh trades a refresh token for new tokens. One that was used before ends the
// whole login: either its owner or a thief has the newer one. What is not good is a
// [hub.ErrUnauthorized].
func (d *Desk) Refresh(ctx context.Context, token string) (Session, error) {
	var session Session
	reused := false
	err := pgx.BeginFunc(ctx, d.kit.Pool, func(tx pgx.Tx) error {
		var family, user uuid.UUID
		var expires time.Time
		var used, revoked *time.Time
		hash, now := hashOf(token), d.kit.Now()
		err := tx.QueryRow(ctx, `select family_id, user_id, expires_at, used_at, revoked_at from refresh_tokens where hash = $1 for update`, hash).
			Scan(&family, &user, &expires, &used, &revoked)
		if errors.Is(err, pgx.ErrNoRows) {
			return refusedRefresh()
		}
		if err != nil {
			return err
		}
		if used != nil { // committed, although the answer is an error
			reused = true
			_, err := tx.Exec(ctx, `update refresh_tokens set revoked_at = $1 where family_id = $2 and revoked_at is null`, now, family)
			return err
		}
		if revoked != nil || !expires.After(now) {
			return refusedRefresh()
		}
		if active, err := d.users.Active(ctx, tx, user); err != nil || !active {
			return errors.Join(err, refusedRefresh())
		}
		if _, err := tx.Exec(ctx, `update refresh_tokens set used_at = $2 where hash = $1`, hash, now); err != nil {
			return err
		}
		session, err = d.Issue(ctx, tx, user, family)
		return err
	})
	if err == nil && reused {
		err = refusedRefresh()
	}
	return session, dberr.Failed("refreshing", err)
}

// Revoke ends all logins of a user.
func (d *Desk) Revoke(ctx context.Context, db DB, user uuid.UUID) error {
	_, err := db.Exec(ctx, `update refresh_tokens set revoked_at = $1 where user_id = $2 and revoked_at is null`, d.kit.Now(), user)
	if err != nil {
		return fmt.Errorf("ending logins: %w", err)
	}
	return nil
}

// Forgot sends the link of [Reset] to a user. It ends the same for every address,
// after the same work.
func (d *Desk) Forgot(ctx context.Context, email string) error {
	user, err := d.users.ByEmail(ctx, email)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	known := err == nil && user.Active
	if !known {
		user.ID = uuid.New()
	}
	var sent int
	err = d.kit.Pool.QueryRow(ctx, `select count(*) from mailed_tokens where user_id = $1 and created_at > $2`, user.ID, d.kit.Now().Add(-linkWindow)).Scan(&sent)
	if err != nil || sent >= linksAtMost {
		return err
	}
	err = pgx.BeginFunc(ctx, d.kit.Pool, func(tx pgx.Tx) error { return d.MailLink(ctx, tx, user, Reset) })
	if !known { // the database refused it
		return nil
	}
	return err
}

// MailLink sends a user a link to set a password.
func (d *Desk) MailLink(ctx context.Context, tx pgx.Tx, user User, purpose Purpose) error {
	token, hash := newSecret("")
	valid := resetTime
	if purpose == Invite {
		valid = inviteTime
	}
	now := d.kit.Now()
	_, err := tx.Exec(ctx, `insert into mailed_tokens (hash, user_id, purpose, created_at, expires_at) values ($1, $2, $3, $4, $5)`,
		hash, user.ID, string(purpose), now, now.Add(valid))
	if err != nil {
		return fmt.Errorf("making a link: %w", err)
	}
	link := d.kit.URLs.Public + "/reset-password?token=" + url.QueryEscape(token)
	mail, err := d.users.Letter(ctx, tx, user.ID, purpose, link)
	if err != nil {
		return fmt.Errorf("writing a letter: %w", err)
	}
	return d.kit.Mail.Send(ctx, tx, mail)
}

// UseLink takes the token of a mailed link, which with all others of its user is of
// no use afterwards, ends the user's logins and tells who it is: the caller sets the
// password. [hub.ErrMalformed] for a token that is not good.
func (d *Desk) UseLink(ctx context.Context, tx pgx.Tx, token string) (user uuid.UUID, err error) {
	var used *time.Time
	var expires time.Time
	now := d.kit.Now()
	err = tx.QueryRow(ctx, `select user_id, used_at, expires_at from mailed_tokens where hash = $1 for update`, hashOf(token)).Scan(&user, &used, &expires)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return user, err
	}
	if err != nil || used != nil || !expires.After(now) {
		return user, hub.Errorf(hub.ErrMalformed, "invalid_reset_token", "Invalid or expired token")
	}
	if _, err := tx.Exec(ctx, `update mailed_tokens set used_at = $1 where user_id = $2 and used_at is null`, now, user); err != nil {
		return user, err
	}
	return user, d.Revoke(ctx, tx, user)
}
