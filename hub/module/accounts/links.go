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

// Links sent by mail.
const (
	resetTime   = time.Hour
	inviteTime  = 7 * 24 * time.Hour
	linkWindow  = time.Hour
	linksAtMost = 5 // in that time for one account
)

// RateLimits are those of a product whose users have accounts; all but the first are of one
// address, and wide, for a whole office may share one. What is guessed at has 256 bits.
func RateLimits() []module.RateLimit {
	return []module.RateLimit{
		{Name: "users", Max: 1200, Period: time.Minute},       // requests of one tenant's users
		{Name: "logins", Max: 300, Period: time.Minute},       // tried, whosesoever: each is hashed for
		{Name: "sign-ups", Max: 100, Period: time.Hour},       // tenants made
		{Name: "password-links", Max: 100, Period: time.Hour}, // asked for
		{Name: "passwords", Max: 300, Period: time.Hour},      // set, or the page for it opened
	}
}

// Length of a password, in characters.
const (
	shortestPassword = 8
	longestPassword  = 128
)

// jobForgotten sends links to those who forgot their passwords.
const jobForgotten = "forgotten-passwords"

// LinkPurpose is what a mailed link is for.
type LinkPurpose string

// The purposes of links.
const (
	PurposeReset  LinkPurpose = "reset"  // the user forgot the password; good for an hour
	PurposeInvite LinkPurpose = "invite" // somebody made the account; good for a week
)

// RequestPasswordReset has the link of [PurposeReset] sent to a user. Whether there is one is looked at
// later, by a job, so that every address is answered after the same work.
// [hub.ErrRateLimited] for who asks too often.
func (d *Authenticator) RequestPasswordReset(ctx context.Context, email string) error {
	if err := d.host.RateLimiter.Allow(ctx, "password-links", module.ClientIP(ctx)); err != nil {
		return err
	}
	err := pgx.BeginFunc(ctx, d.host.Pool, func(tx pgx.Tx) error {
		return d.host.Jobs.Enqueue(ctx, tx, module.JobRun{
			Job: jobForgotten, Key: hex.EncodeToString(d.accountHash(email)), Payload: d.host.Sealer.Seal([]byte(email), jobForgotten),
		})
	})
	return dberr.Wrap("asking for a link", err)
}

// answerForgotten sends a link, where the address is a user's who had not too many yet.
func (d *Authenticator) answerForgotten(ctx context.Context, payload []byte) error {
	email, err := d.host.Sealer.Open(payload, jobForgotten)
	if err != nil { // the master key is another now: trying again would not help
		d.host.Log.ErrorContext(ctx, "a request for a link cannot be read", "error", err)
		return nil
	}
	user, err := d.users.FindByEmail(ctx, string(email))
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !user.Active {
		return nil
	}
	if err != nil {
		return err
	}
	err = pgx.BeginFunc(ctx, d.host.Pool, func(tx pgx.Tx) error {
		var sent int
		err := tx.QueryRow(ctx, `select count(*) from mailed_tokens where user_id = $1 and created_at > $2`, user.ID, d.host.Now().Add(-linkWindow)).Scan(&sent)
		if err != nil || sent >= linksAtMost {
			return err
		}
		return d.EmailPasswordLink(ctx, tx, user, PurposeReset)
	})
	if errors.Is(err, hub.ErrInvalid) {
		d.host.Log.WarnContext(ctx, "an address that mail cannot go to", "user", user.ID)
		return nil
	}
	return err
}

// EmailPasswordLink sends a user a link to set a password, in the caller's transaction.
func (d *Authenticator) EmailPasswordLink(ctx context.Context, tx pgx.Tx, user User, purpose LinkPurpose) error {
	token, hash := newSecret("")
	valid := resetTime
	if purpose == PurposeInvite {
		valid = inviteTime
	}
	now := d.host.Now()
	_, err := tx.Exec(ctx, `insert into mailed_tokens (hash, user_id, purpose, created_at, expires_at) values ($1, $2, $3, $4, $5)`,
		hash, user.ID, string(purpose), now, now.Add(valid))
	if err != nil {
		return fmt.Errorf("making a link: %w", err)
	}
	reader, err := d.users.Recipient(ctx, tx, user.ID)
	if err != nil {
		return fmt.Errorf("addressing a letter: %w", err)
	}
	return d.host.Mail.Send(ctx, tx, write(reader, purpose, d.host.URLs.Public+d.place.PasswordPage+"?token="+url.QueryEscape(token)))
}

// refusedLink is the answer to the token of no good link.
func refusedLink() *hub.Error {
	return hub.Errorf(hub.ErrMalformed, "invalid_reset_token", "Invalid or expired token")
}

// link looks at the token of a mailed link and leaves it good: what it is for, and
// whose it is. [hub.ErrMalformed] for one that is not good.
func (d *Authenticator) link(ctx context.Context, db DB, token, lock string) (user uuid.UUID, purpose LinkPurpose, err error) {
	var used *time.Time
	var expires time.Time
	err = db.QueryRow(ctx, `select user_id, purpose, used_at, expires_at from mailed_tokens where hash = $1 `+lock, hashOf(token)).
		Scan(&user, &purpose, &used, &expires)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return user, purpose, fmt.Errorf("looking at a link: %w", err)
	}
	if err != nil || used != nil || !expires.After(d.host.Now()) {
		return user, purpose, refusedLink()
	}
	return user, purpose, nil
}

// look is link for who opens the page, or sets a password: as often as an address may.
func (d *Authenticator) look(ctx context.Context, token string) (LinkPurpose, error) {
	if err := d.host.RateLimiter.Allow(ctx, "passwords", module.ClientIP(ctx)); err != nil {
		return "", err
	}
	_, purpose, err := d.link(ctx, d.host.Pool, token, "")
	return purpose, dberr.Wrap("looking at a link", err)
}

// SetPassword sets the password of whom a mailed link was sent to, ends the user's
// logins, and makes all of the user's links useless. [hub.ErrMalformed] for a token that
// is not good, [hub.ErrInvalid] for a password that is too short or too long,
// [hub.ErrRateLimited] for who tries too often.
func (d *Authenticator) SetPassword(ctx context.Context, token, password string) error {
	if length := len([]rune(password)); length < shortestPassword || length > longestPassword {
		return hub.Invalid("body.new_password", fmt.Sprintf("must have %d to %d characters", shortestPassword, longestPassword))
	}
	if _, err := d.look(ctx, token); err != nil { // hashing is dear: not for tokens that are made up
		return err
	}
	stored, err := d.host.Credentials.HashPassword(ctx, password)
	if err != nil {
		return err
	}
	err = pgx.BeginFunc(ctx, d.host.Pool, func(tx pgx.Tx) error {
		user, _, err := d.link(ctx, tx, token, "for update")
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `update mailed_tokens set used_at = $1 where user_id = $2 and used_at is null`, d.host.Now(), user); err != nil {
			return err
		}
		if err := d.users.SetPassword(ctx, tx, user, stored); err != nil {
			return err
		}
		return d.RevokeSessions(ctx, tx, user)
	})
	return dberr.Wrap("setting a password", err)
}
