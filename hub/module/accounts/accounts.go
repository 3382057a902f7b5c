// Package accounts authenticates the users of hosted products: access and refresh
// tokens, a limit of failed logins, emailed links to set a password, and the page of
// those links. A product that uses it has the tables refresh_tokens, login_failures,
// known_logins and mailed_tokens in its schema, runs [Authenticator.Jobs] and serves
// [Authenticator.Pages].
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

// UserStore reads and writes a product's users.
type UserStore interface {
	// FindByEmail returns a user, or [pgx.ErrNoRows].
	FindByEmail(ctx context.Context, email string) (User, error)
	// Lock returns a user, or [pgx.ErrNoRows], and locks the row until the transaction
	// ends (for no key update).
	Lock(ctx context.Context, tx pgx.Tx, userID uuid.UUID) (User, error)
	// SetPassword stores the hash of a user's new password.
	SetPassword(ctx context.Context, tx pgx.Tx, userID uuid.UUID, hash string) error
	// Recipient returns a user's email address and the details for the email's text.
	Recipient(ctx context.Context, tx pgx.Tx, userID uuid.UUID) (Recipient, error)
}

// User is the part of a user that authentication needs.
type User struct {
	ID       uuid.UUID
	Email    string
	Password string // hash; "" = not set yet
	Active   bool
}

// Recipient is the recipient of an email.
type Recipient struct {
	Name, Email string
	Tenant      module.Tenant // the tenant of the user
	ReplyTo     string        // the tenant's email address, or ""
	Locale      string        // language of the email, such as pt-BR
}

// DB is the database or a transaction.
type DB interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Session is the pair of tokens that a login returns.
type Session struct {
	AccessToken  string `json:"access_token" doc:"Send it as Authorization: Bearer"`
	RefreshToken string `json:"refresh_token" doc:"Good for one use"`
	TokenType    string `json:"token_type" doc:"Always Bearer" example:"bearer"`
	ExpiresIn    int    `json:"expires_in" doc:"Seconds until the access token expires" example:"1800"`
}

// Authenticator authenticates the users of one product. It is safe for concurrent use.
type Authenticator struct {
	host       module.Host
	options    Options
	users      UserStore
	loginQueue keyedMutex // by account and network
	countQueue keyedMutex // by network
}

// Options are the differences between the products' accounts.
type Options struct {
	Product            string // for people: "Scheduling"
	RefreshTokenPrefix string // of its refresh tokens
	PasswordPage       string // path of the page of emailed links, at the hub's root: "/reset-password"
}

// New returns the authenticator of an opened product.
func New(host module.Host, options Options, users UserStore) *Authenticator {
	return &Authenticator{host: host, options: options, users: users}
}

// Jobs returns the background jobs.
func (a *Authenticator) Jobs() []module.Job {
	return []module.Job{
		{Name: jobForgottenPasswords, Run: a.sendResetLink},
		{Name: "expired-logins", Every: time.Hour, Timeout: 10 * time.Minute, Run: a.deleteExpired},
	}
}

// IssueSession creates the tokens of a login. loginID is new, or that of a login to
// continue.
func (a *Authenticator) IssueSession(ctx context.Context, db DB, userID, loginID uuid.UUID) (Session, error) {
	access, err := a.host.Credentials.SignAccessToken(userID, loginID)
	if err != nil {
		return Session{}, err
	}
	refresh, hash := NewSecret(a.options.RefreshTokenPrefix)
	now := a.host.Now()
	_, err = db.Exec(ctx, `insert into refresh_tokens (hash, family_id, user_id, created_at, expires_at) values ($1, $2, $3, $4, $5)`,
		hash, loginID, userID, now, now.Add(a.host.Settings.RefreshTTL))
	if err != nil {
		return Session{}, fmt.Errorf("issuing a refresh token: %w", err)
	}
	return Session{AccessToken: access, RefreshToken: refresh, TokenType: "bearer", ExpiresIn: int(a.host.Settings.AccessTTL.Seconds())}, nil
}

// checkTenant is a [hub.ErrForbidden] if the tenant of a user is suspended.
func (a *Authenticator) checkTenant(ctx context.Context, tx pgx.Tx, user uuid.UUID) error {
	if len(a.host.Tenants.Suspended()) == 0 {
		return nil
	}
	recipient, err := a.users.Recipient(ctx, tx, user)
	if err != nil {
		return fmt.Errorf("finding the tenant of a user: %w", err)
	}
	return a.host.Tenants.CheckActive(recipient.Tenant.ID)
}

// NewSecret returns a prefix with 256 random bits as text, and the hash to store.
func NewSecret(prefix string) (plain string, hash []byte) {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // never fails: crypto/rand ends the program instead
	plain = prefix + base64.RawURLEncoding.EncodeToString(raw[:])
	return plain, HashSecret(plain)
}

// HashSecret returns the hash of a secret of [NewSecret]: its SHA-256. Nothing slower is
// needed, because 256 random bits cannot be guessed. Passwords are not hashed with it.
func HashSecret(plain string) []byte {
	sum := sha256.Sum256([]byte(plain))
	return sum[:]
}

func errInvalidRefreshToken() *hub.Error {
	return hub.Errorf(hub.ErrUnauthorized, "invalid_refresh_token", "Invalid refresh token")
}

// lockUser locks the user before a transaction creates or revokes tokens. Otherwise a
// revocation could miss tokens that are being created. It returns a zero User if there is
// none.
func (a *Authenticator) lockUser(ctx context.Context, tx pgx.Tx, userID uuid.UUID) (User, error) {
	user, err := a.users.Lock(ctx, tx, userID)
	if errors.Is(err, pgx.ErrNoRows) {
		return User{}, nil
	}
	return user, err // not a 401, after which the client would discard its token
}

// Refresh exchanges a refresh token for new tokens. Reuse of a token revokes the whole
// login, because the newer token may be stolen. An invalid token is a
// [hub.ErrUnauthorized].
func (a *Authenticator) Refresh(ctx context.Context, token string) (Session, error) {
	var session Session
	reused := false
	err := pgx.BeginFunc(ctx, a.host.Pool, func(tx pgx.Tx) error {
		var loginID, userID uuid.UUID
		var expires time.Time
		var used, revoked *time.Time
		hash, now := HashSecret(token), a.host.Now()
		err := tx.QueryRow(ctx, `select user_id from refresh_tokens where hash = $1`, hash).Scan(&userID)
		if errors.Is(err, pgx.ErrNoRows) {
			return errInvalidRefreshToken()
		}
		if err != nil {
			return err
		}
		owner, err := a.lockUser(ctx, tx, userID)
		if err != nil {
			return err
		}
		err = tx.QueryRow(ctx, `select family_id, expires_at, used_at, revoked_at from refresh_tokens where hash = $1 for update`, hash).
			Scan(&loginID, &expires, &used, &revoked)
		if errors.Is(err, pgx.ErrNoRows) { // deleted with its user in the meantime
			return errInvalidRefreshToken()
		}
		if err != nil {
			return err
		}
		if used != nil { // committed, although the result is an error
			reused = true
			_, err := tx.Exec(ctx, `update refresh_tokens set revoked_at = $1 where family_id = $2 and revoked_at is null`, now, loginID)
			return err
		}
		if revoked != nil || !expires.After(now) || !owner.Active {
			return errInvalidRefreshToken()
		}
		if err := a.checkTenant(ctx, tx, userID); err != nil {
			return err
		}
		if _, err = tx.Exec(ctx, `update refresh_tokens set used_at = $2 where hash = $1`, hash, now); err != nil {
			return err
		}
		session, err = a.IssueSession(ctx, tx, userID, loginID)
		return err
	})
	if err == nil && reused {
		err = errInvalidRefreshToken()
	}
	return session, dberr.Wrap("refreshing", err)
}

// RevokeSessions revokes all logins of a user, including those that are being refreshed
// concurrently.
func (a *Authenticator) RevokeSessions(ctx context.Context, tx pgx.Tx, userID uuid.UUID) error {
	if _, err := a.lockUser(ctx, tx, userID); err != nil {
		return fmt.Errorf("revoking logins: %w", err)
	}
	_, err := tx.Exec(ctx, `update refresh_tokens set revoked_at = $1 where user_id = $2 and revoked_at is null`, a.host.Now(), userID)
	if err != nil {
		return fmt.Errorf("revoking logins: %w", err)
	}
	return nil
}

// RevokeLogin ends one login of a user: its access tokens and its refresh token.
func (a *Authenticator) RevokeLogin(ctx context.Context, userID, loginID uuid.UUID) error {
	return pgx.BeginFunc(ctx, a.host.Pool, func(tx pgx.Tx) error {
		if _, err := a.lockUser(ctx, tx, userID); err != nil {
			return fmt.Errorf("ending a login: %w", err)
		}
		_, err := tx.Exec(ctx, `update refresh_tokens set revoked_at = $1 where user_id = $2 and family_id = $3 and revoked_at is null`, a.host.Now(), userID, loginID)
		if err != nil {
			return fmt.Errorf("ending a login: %w", err)
		}
		return nil
	})
}
