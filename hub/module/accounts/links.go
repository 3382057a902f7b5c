package accounts

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
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
		// Locked, so that a concurrent change of the address revokes this link, too.
		current, err := a.lockUser(ctx, tx, user.ID)
		if err != nil || !current.Active || current.Email != user.Email {
			return err
		}
		var sent int
		err = tx.QueryRow(ctx, `select count(*) from mailed_tokens where user_id = $1 and created_at > $2`, user.ID, a.host.Now().Add(-linkWindow)).Scan(&sent)
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

// lockLink returns the user and the purpose of an emailed link without using it up. It locks
// the user and then the link, as changes of users do. It returns [hub.ErrMalformed] for an
// invalid token and for a user who may not log in.
func (a *Authenticator) lockLink(ctx context.Context, tx pgx.Tx, token string) (user User, purpose LinkPurpose, err error) {
	hash := HashSecret(token)
	var userID uuid.UUID
	err = tx.QueryRow(ctx, `select user_id from mailed_tokens where hash = $1`, hash).Scan(&userID)
	if errors.Is(err, pgx.ErrNoRows) {
		return user, purpose, errInvalidLink()
	}
	if err != nil {
		return user, purpose, fmt.Errorf("loading a link: %w", err)
	}
	if user, err = a.lockUser(ctx, tx, userID); err != nil {
		return user, purpose, fmt.Errorf("loading the user of a link: %w", err)
	}
	var used *time.Time
	var expires time.Time
	err = tx.QueryRow(ctx, `select purpose, used_at, expires_at from mailed_tokens where hash = $1 for update`, hash).Scan(&purpose, &used, &expires)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) { // no row: deleted with its user in the meantime
		return user, purpose, fmt.Errorf("loading a link: %w", err)
	}
	if err != nil || used != nil || !expires.After(a.host.Now()) || !user.Active {
		return user, purpose, errInvalidLink()
	}
	return user, purpose, nil
}

// checkLink returns the purpose of a link without using it up. Its calls are rate limited
// per IP address.
func (a *Authenticator) checkLink(ctx context.Context, token string) (purpose LinkPurpose, err error) {
	if err := a.host.RateLimiter.Allow(ctx, "passwords", module.ClientIP(ctx)); err != nil {
		return "", err
	}
	err = pgx.BeginFunc(ctx, a.host.Pool, func(tx pgx.Tx) error {
		_, purpose, err = a.lockLink(ctx, tx, token)
		return err
	})
	return purpose, dberr.Wrap("loading a link", err)
}

// RevokeLinks invalidates all emailed links of a user, who is locked.
func (a *Authenticator) RevokeLinks(ctx context.Context, tx pgx.Tx, userID uuid.UUID) error {
	_, err := tx.Exec(ctx, `update mailed_tokens set used_at = $1 where user_id = $2 and used_at is null`, a.host.Now(), userID)
	if err != nil {
		return fmt.Errorf("revoking links: %w", err)
	}
	return nil
}

// RevokeChanged revokes what a change of a user makes invalid, in the transaction of the
// change, which has locked the user. Another email address, another password and a change of
// Active end the user's links: they went to the earlier address, or are older than the
// password. The last two also end the user's logins.
func (a *Authenticator) RevokeChanged(ctx context.Context, tx pgx.Tx, before, after User) error {
	endsLogins := before.Password != after.Password || before.Active != after.Active
	if endsLogins || !strings.EqualFold(before.Email, after.Email) {
		if err := a.RevokeLinks(ctx, tx, after.ID); err != nil {
			return err
		}
	}
	if !endsLogins {
		return nil
	}
	return a.RevokeSessions(ctx, tx, after.ID)
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
		user, _, err := a.lockLink(ctx, tx, token)
		if err != nil {
			return err
		}
		if err := a.RevokeLinks(ctx, tx, user.ID); err != nil {
			return err
		}
		if err := a.users.SetPassword(ctx, tx, user.ID, hash); err != nil {
			return err
		}
		return a.RevokeSessions(ctx, tx, user.ID)
	})
	return dberr.Wrap("setting a password", err)
}
