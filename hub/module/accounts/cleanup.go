package accounts

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// How long things are kept once they are of no use.
const (
	keepTokens   = 24 * time.Hour // links sent lately are counted
	keepFailures = time.Hour      // they count for a quarter of one
)

// forgottenAtOnce is how many rows one statement removes: none holds much for long.
const forgottenAtOnce = 1000

// forgetExpired removes tokens, links and failures that are of no use any more.
func (d *Authenticator) forgetExpired(ctx context.Context, _ []byte) error {
	var failed []error
	for _, one := range []struct {
		what, sql string
		kept      time.Duration
	}{
		{"refresh tokens", `delete from refresh_tokens where hash = any(array(select hash from refresh_tokens where expires_at < $1 limit $2))`, keepTokens},
		{"links", `delete from mailed_tokens where hash = any(array(select hash from mailed_tokens where expires_at < $1 limit $2))`, keepTokens},
		{"failed logins", `delete from login_failures where ctid = any(array(select ctid from login_failures where at < $1 limit $2))`, keepFailures},
	} {
		if err := d.forget(ctx, one.sql, d.host.Now().Add(-one.kept)); err != nil {
			failed = append(failed, fmt.Errorf("forgetting %s: %w", one.what, err))
		}
	}
	return errors.Join(failed...)
}

// forget removes rows from before some time, until there are none.
func (d *Authenticator) forget(ctx context.Context, sql string, before time.Time) error {
	for {
		done, err := d.host.Pool.Exec(ctx, sql, before, forgottenAtOnce)
		if err != nil || done.RowsAffected() < forgottenAtOnce {
			return err
		}
	}
}
