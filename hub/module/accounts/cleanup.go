package accounts

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Retention of rows that are no longer valid.
const (
	tokenRetention   = 24 * time.Hour      // linkWindow counts recent links
	failureRetention = time.Hour           // longer than failureWindow
	knownRetention   = 90 * 24 * time.Hour // of the networks that an account logged in from
)

// deleteBatch is the number of rows that one statement deletes, so that it holds locks
// only briefly.
const deleteBatch = 1000

// deleteExpired deletes expired tokens, links, login failures and networks of earlier logins.
func (a *Authenticator) deleteExpired(ctx context.Context, _ []byte) error {
	var errs []error
	for _, table := range []struct {
		name, sql string
		retention time.Duration
	}{
		{"refresh tokens", `delete from refresh_tokens where hash = any(array(select hash from refresh_tokens where expires_at < $1 limit $2))`, tokenRetention},
		{"links", `delete from mailed_tokens where hash = any(array(select hash from mailed_tokens where expires_at < $1 limit $2))`, tokenRetention},
		{"failed logins", `delete from login_failures where ctid = any(array(select ctid from login_failures where at < $1 limit $2))`, failureRetention},
		{"earlier logins", `delete from known_logins where ctid = any(array(select ctid from known_logins where at < $1 limit $2))`, knownRetention},
	} {
		if err := a.deleteBefore(ctx, table.sql, a.host.Now().Add(-table.retention)); err != nil {
			errs = append(errs, fmt.Errorf("deleting expired %s: %w", table.name, err))
		}
	}
	return errors.Join(errs...)
}

// deleteBefore deletes rows older than a time in batches until there are none.
func (a *Authenticator) deleteBefore(ctx context.Context, sql string, before time.Time) error {
	for {
		result, err := a.host.Pool.Exec(ctx, sql, before, deleteBatch)
		if err != nil || result.RowsAffected() < deleteBatch {
			return err
		}
	}
}
