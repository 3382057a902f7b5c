package accounts

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
)

// Limits of emailed links.
const (
	resetLinkTTL  = time.Hour
	inviteLinkTTL = 7 * 24 * time.Hour
	linkWindow    = time.Hour
	maxLinks      = 5 // per account in linkWindow
)

// RateLimits returns the limits of a product with accounts. All except "users" are per IP
// address. They are generous, because an office may share an address and the guessed
// tokens have 256 bits.
func RateLimits() []module.RateLimit {
	return []module.RateLimit{
		{Name: "users", Max: 1200, Period: time.Minute},       // requests of a tenant's users
		{Name: "logins", Max: 300, Period: time.Minute},       // attempts for any account, because each hashes a password
		{Name: "sign-ups", Max: 100, Period: time.Hour},       // created tenants
		{Name: "password-links", Max: 100, Period: time.Hour}, // requested links
		{Name: "passwords", Max: 300, Period: time.Hour},      // passwords set, and visits of the page
	}
}

// Length of a password, in characters.
const (
	minPasswordLength = 8
	maxPasswordLength = 128
)

// jobForgottenPasswords emails the requested reset links.
const jobForgottenPasswords = "forgotten-passwords"

// LinkPurpose is the purpose of an emailed link.
type LinkPurpose string

// Purposes of links.
const (
	PurposeReset  LinkPurpose = "reset"  // the user forgot the password; valid for an hour
	PurposeInvite LinkPurpose = "invite" // an administrator created the account; valid for a week
)

// RequestPasswordReset enqueues an email with a link of [PurposeReset]. A job checks later
// whether the user exists, so that the response takes the same time for every address.
// It returns [hub.ErrRateLimited] for too many requests.
func (a *Authenticator) RequestPasswordReset(ctx context.Context, email string) error {
	if err := a.host.RateLimiter.Allow(ctx, "password-links", module.ClientIP(ctx)); err != nil {
		return err
	}
	err := pgx.BeginFunc(ctx, a.host.Pool, func(tx pgx.Tx) error {
		return a.host.Jobs.Enqueue(ctx, tx, module.JobRun{
			Job: jobForgottenPasswords, Key: hex.EncodeToString(a.accountHash(email)), Payload: a.host.Sealer.Seal([]byte(email), jobForgottenPasswords),
		})
	})
	return dberr.Wrap("requesting a password link", err)
}

// sendResetLink emails a reset link, if the address is an active user's with fewer than
// maxLinks recent links.
func (a *Authenticator) sendResetLink(ctx context.Context, payload []byte) error {
	email, err := a.host.Sealer.Open(payload, jobForgottenPasswords)
	if err != nil { // the master key has changed: a retry would fail too
		a.host.Log.ErrorContext(ctx, "a request for a link cannot be read", "error", err)
		return nil
	}
	user, err := a.users.FindByEmail(ctx, string(email))
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !user.Active {
		return nil
	}
	if err != nil {
		return err
	}
	err = pgx.BeginFunc(ctx, a.host.Pool, func(tx pgx.Tx) error {
		var sent int
		err := tx.QueryRow(ctx, `select count(*) from mailed_tokens where user_id = $1 and created_at > $2`, user.ID, a.host.Now().Add(-linkWindow)).Scan(&sent)
		if err != nil || sent >= maxLinks {
			return err
		}
		return a.EmailPasswordLink(ctx, tx, user, PurposeReset)
	})
	if errors.Is(err, hub.ErrInvalid) {
		a.host.Log.WarnContext(ctx, "an address that mail cannot go to", "user", user.ID)
		return nil
	}
	return err
}

// EmailPasswordLink emails a user a link to set a password, in the caller's transaction.
func (a *Authenticator) EmailPasswordLink(ctx context.Context, tx pgx.Tx, user User, purpose LinkPurpose) error {
	token, hash := NewSecret("")
	ttl := resetLinkTTL
	if purpose == PurposeInvite {
		ttl = inviteLinkTTL
	}
	now := a.host.Now()
	_, err := tx.Exec(ctx, `insert into mailed_tokens (hash, user_id, purpose, created_at, expires_at) values ($1, $2, $3, $4, $5)`,
		hash, user.ID, string(purpose), now, now.Add(ttl))
	if err != nil {
		return fmt.Errorf("creating a link: %w", err)
	}
	recipient, err := a.users.Recipient(ctx, tx, user.ID)
	if err != nil {
		return fmt.Errorf("loading the recipient of an email: %w", err)
	}
	return a.host.Mail.Send(ctx, tx, passwordLinkEmail(recipient, purpose, a.host.URLs.Public+a.options.PasswordPage+"?token="+url.QueryEscape(token)))
}

// errInvalidLink returns the error for an invalid link token.
func errInvalidLink() *hub.Error {
	return hub.Errorf(hub.ErrMalformed, "invalid_reset_token", "Invalid or expired token")
}

// findLink returns the user and the purpose of an emailed link without using it up. It
// returns [hub.ErrMalformed] for an invalid token. lockClause is "" or "for update".
func (a *Authenticator) findLink(ctx context.Context, db DB, token, lockClause string) (userID uuid.UUID, purpose LinkPurpose, err error) {
	var used *time.Time
	var expires time.Time
	err = db.QueryRow(ctx, `select user_id, purpose, used_at, expires_at from mailed_tokens where hash = $1 `+lockClause, HashSecret(token)).
		Scan(&userID, &purpose, &used, &expires)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return userID, purpose, fmt.Errorf("loading a link: %w", err)
	}
	if err != nil || used != nil || !expires.After(a.host.Now()) {
		return userID, purpose, errInvalidLink()
	}
	return userID, purpose, nil
}

// checkLink returns the purpose of a link without using it up. Its calls are rate limited
// per IP address.
func (a *Authenticator) checkLink(ctx context.Context, token string) (LinkPurpose, error) {
	if err := a.host.RateLimiter.Allow(ctx, "passwords", module.ClientIP(ctx)); err != nil {
		return "", err
	}
	_, purpose, err := a.findLink(ctx, a.host.Pool, token, "")
	return purpose, dberr.Wrap("loading a link", err)
}

// SetPassword sets the password of the link's user, revokes the user's logins and
// invalidates all of the user's links. It returns [hub.ErrMalformed] for an invalid
// token, [hub.ErrInvalid] for a password that is too short or too long, and
// [hub.ErrRateLimited] for too many attempts.
func (a *Authenticator) SetPassword(ctx context.Context, token, password string) error {
	if length := len([]rune(password)); length < minPasswordLength || length > maxPasswordLength {
		return hub.Invalid("body.new_password", fmt.Sprintf("must have %d to %d characters", minPasswordLength, maxPasswordLength))
	}
	if _, err := a.checkLink(ctx, token); err != nil { // hashing is expensive: only for valid tokens
		return err
	}
	hash, err := a.host.Credentials.HashPassword(ctx, password)
	if err != nil {
		return err
	}
	err = pgx.BeginFunc(ctx, a.host.Pool, func(tx pgx.Tx) error {
		userID, _, err := a.findLink(ctx, tx, token, "for update")
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `update mailed_tokens set used_at = $1 where user_id = $2 and used_at is null`, a.host.Now(), userID); err != nil {
			return err
		}
		if err := a.users.SetPassword(ctx, tx, userID, hash); err != nil {
			return err
		}
		return a.RevokeSessions(ctx, tx, userID)
	})
	return dberr.Wrap("setting a password", err)
}
