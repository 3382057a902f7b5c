// Package accounts logs users of hosted products in: access and refresh tokens,
// counted failures, links to set a password and the page behind them. A product that
// uses it has the tables refresh_tokens, login_failures and mailed_tokens in its
// schema, runs [Authenticator.Jobs] and serves [Authenticator.Pages].
package accounts

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
)

// UserStore is where a product keeps its users.
type UserStore interface {
	// FindByEmail finds a user; [pgx.ErrNoRows] where there is none.
	FindByEmail(ctx context.Context, email string) (User, error)
	// Lock finds a user and keeps everybody else from changing or locking the row until
	// the transaction ends (for no key update); [pgx.ErrNoRows] where there is none.
	Lock(ctx context.Context, tx pgx.Tx, user uuid.UUID) (User, error)
	// SetPassword keeps the stored form of a user's new password.
	SetPassword(ctx context.Context, tx pgx.Tx, user uuid.UUID, stored string) error
	// Recipient says how to write to a user.
	Recipient(ctx context.Context, tx pgx.Tx, user uuid.UUID) (Recipient, error)
}

// User is what logging in needs to know of one.
type User struct {
	ID       uuid.UUID
	Email    string
	Password string // stored form; "" = none was set yet
	Active   bool
}

// Recipient is who a letter is for.
type Recipient struct {
	Name, Email string
	Tenant      module.Tenant // whose user it is
	ReplyTo     string        // an address of the tenant's, or ""
	Locale      string        // to write in, such as pt-BR
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

// Authenticator logs the users of one product in. It is safe for concurrent use.
type Authenticator struct {
	host   module.Host
	place  Options
	users  UserStore
	logins queue
}

// Options is what sets a product's accounts apart from those of others.
type Options struct {
	Product            string // for people: "Scheduling"
	RefreshTokenPrefix string // of its refresh tokens
	PasswordPage       string // path of the page behind mailed links, at the hub's own root: "/reset-password"
}

// New makes the desk of an opened product.
func New(host module.Host, place Options, users UserStore) *Authenticator {
	return &Authenticator{host: host, place: place, users: users}
}

// Jobs is what the desk does in the background.
func (d *Authenticator) Jobs() []module.Job {
	return []module.Job{
		{Name: jobForgotten, Run: d.answerForgotten},
		{Name: "expired-logins", Every: time.Hour, Timeout: 10 * time.Minute, Run: d.forgetExpired},
	}
}

// IssueSession makes the tokens of a login, which has a new id or goes on.
func (d *Authenticator) IssueSession(ctx context.Context, db DB, user, login uuid.UUID) (Session, error) {
	access, err := d.host.Credentials.SignAccessToken(user, login)
	if err != nil {
		return Session{}, err
	}
	refresh, hash := newSecret(d.place.RefreshTokenPrefix)
	now := d.host.Now()
	_, err = db.Exec(ctx, `insert into refresh_tokens (hash, family_id, user_id, created_at, expires_at) values ($1, $2, $3, $4, $5)`,
		hash, login, user, now, now.Add(d.host.Settings.RefreshTTL))
	if err != nil {
		return Session{}, fmt.Errorf("issuing a refresh token: %w", err)
	}
	return Session{AccessToken: access, RefreshToken: refresh, TokenType: "bearer", ExpiresIn: int(d.host.Settings.AccessTTL.Seconds())}, nil
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

func refusedRefresh() *hub.Error {
	return hub.Errorf(hub.ErrUnauthorized, "invalid_refresh_token", "Invalid refresh token")
}

// lock is what comes first wherever the tokens of a user that exists are made or ended:
// whoever ends them would else miss those that are being made.
func (d *Authenticator) lock(ctx context.Context, tx pgx.Tx, user uuid.UUID) (User, error) {
	found, err := d.users.Lock(ctx, tx, user)
	if errors.Is(err, pgx.ErrNoRows) {
		return User{}, nil
	}
	return found, err // not a refusal: who is told that a token is bad throws it away
}

// Refresh trades a refresh token for new tokens. One that was used before ends the
// whole login: either its owner or a thief has the newer one. What is not good is a
// [hub.ErrUnauthorized].
func (d *Authenticator) Refresh(ctx context.Context, token string) (Session, error) {
	var session Session
	reused := false
	err := pgx.BeginFunc(ctx, d.host.Pool, func(tx pgx.Tx) error {
		var family, user uuid.UUID
		var expires time.Time
		var used, revoked *time.Time
		hash, now := hashOf(token), d.host.Now()
		err := tx.QueryRow(ctx, `select user_id from refresh_tokens where hash = $1`, hash).Scan(&user)
		if errors.Is(err, pgx.ErrNoRows) {
			return refusedRefresh()
		}
		if err != nil {
			return err
		}
		owner, err := d.lock(ctx, tx, user)
		if err != nil {
			return err
		}
		err = tx.QueryRow(ctx, `select family_id, expires_at, used_at, revoked_at from refresh_tokens where hash = $1 for update`, hash).
			Scan(&family, &expires, &used, &revoked)
		if errors.Is(err, pgx.ErrNoRows) { // removed with its user, meanwhile
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
		if revoked != nil || !expires.After(now) || !owner.Active {
			return refusedRefresh()
		}
		if _, err = tx.Exec(ctx, `update refresh_tokens set used_at = $2 where hash = $1`, hash, now); err != nil {
			return err
		}
		session, err = d.IssueSession(ctx, tx, user, family)
		return err
	})
	if err == nil && reused {
		err = refusedRefresh()
	}
	return session, dberr.Wrap("refreshing", err)
}

// RevokeSessions ends all logins of a user, those included that are being renewed at this moment.
func (d *Authenticator) RevokeSessions(ctx context.Context, tx pgx.Tx, user uuid.UUID) error {
	if _, err := d.lock(ctx, tx, user); err != nil {
		return fmt.Errorf("ending logins: %w", err)
	}
	_, err := tx.Exec(ctx, `update refresh_tokens set revoked_at = $1 where user_id = $2 and revoked_at is null`, d.host.Now(), user)
	if err != nil {
		return fmt.Errorf("ending logins: %w", err)
	}
	return nil
}
