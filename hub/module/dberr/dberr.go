// Package dberr turns what PostgreSQL refuses into errors for callers. The hub and
// the products it hosts share it.
package dberr

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"integrationhub/hub"
)

// Wrap tells what went wrong while doing something in the database, as an error
// that can be returned to a caller: no row is a [hub.ErrNotFound], text PostgreSQL
// cannot hold is a [hub.ErrMalformed], a database that is away, full or shutting
// down is a [hub.ErrUnavailable]; anything else stays an internal failure. An error
// that already is a *[hub.Error] passes unchanged, and nil stays nil.
func Wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	var told *hub.Error
	if errors.As(err, &told) {
		return err
	}
	cause := fmt.Errorf("%s: %w", doing, err)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return hub.Errorf(hub.ErrNotFound, "not_found", "There is nothing with this id.").WithCause(cause)
	case unstorable(err):
		return hub.Errorf(hub.ErrMalformed, "malformed", "The request contains text that cannot be stored.").WithCause(cause)
	case away(err):
		return hub.Errorf(hub.ErrUnavailable, "database_unavailable", "The database does not answer right now; try again.").WithCause(cause)
	}
	return cause
}

// ConstraintName gives the name of the constraint that a write broke, "" where err is
// something else: a unique index, a foreign key or a check.
func ConstraintName(err error) string {
	var refused *pgconn.PgError
	if errors.As(err, &refused) && strings.HasPrefix(refused.Code, "23") {
		return refused.ConstraintName
	}
	return ""
}

// unstorable tells whether PostgreSQL refused the bytes of a text: NUL or broken UTF-8.
func unstorable(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && (refused.Code == "22021" || refused.Code == "22P05")
}

// away tells whether the database could not be reached or cannot work right now:
// connection exceptions (08), no resources, a full disk among them (53), operator
// intervention such as a restart (57), serialisation and deadlocks (40).
func away(err error) bool {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		for _, class := range []string{"08", "40", "53", "57", "58"} {
			if strings.HasPrefix(refused.Code, class) {
				return true
			}
		}
		return false
	}
	var unreachable *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &unreachable) || errors.As(err, &network) || pgconn.SafeToRetry(err) ||
		errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "conn closed") ||
		strings.Contains(err.Error(), "unexpected EOF") || strings.Contains(err.Error(), "closed pool")
}
