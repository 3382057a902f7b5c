// Package dberr maps errors of PostgreSQL to errors for callers of an API.
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

// Codes of PostgreSQL's errors (SQLSTATE).
const (
	UniqueViolation      = "23505"
	InvalidCatalogName   = "3D000" // there is no such database
	SerializationFailure = "40001"
	DeadlockDetected     = "40P01"
	UndefinedFunction    = "42883"
	LockTimeout          = "55P03" // a statement waited for a lock longer than lock_timeout
	QueryCanceled        = "57014" // also by a statement timeout
)

// Code returns the SQLSTATE of an error of PostgreSQL, "" for any other error.
func Code(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return ""
}

// IsConflict reports whether PostgreSQL aborted a transaction because of another one: it may
// succeed when it runs again.
func IsConflict(err error) bool {
	code := Code(err)
	return code == SerializationFailure || code == DeadlockDetected
}

// IsLockTimeout reports whether a statement waited for a lock longer than lock_timeout.
func IsLockTimeout(err error) bool { return Code(err) == LockTimeout }

// Wrap maps an error of a database operation to an error for callers: no row is a
// [hub.ErrNotFound], text that PostgreSQL cannot store is a [hub.ErrMalformed], and a
// database that is unreachable, full or shutting down is a [hub.ErrUnavailable]. Any
// other error is wrapped and stays an internal failure. A *[hub.Error] and nil are
// returned unchanged. operation names what failed, for the log: a gerund such as
// "loading the client", or an operation id.
func Wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	var hubErr *hub.Error
	if errors.As(err, &hubErr) {
		return err
	}
	cause := fmt.Errorf("%s: %w", operation, err)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return hub.Errorf(hub.ErrNotFound, "not_found", "There is nothing with this id.").WithCause(cause)
	case isUnstorableText(err):
		return hub.Errorf(hub.ErrMalformed, "malformed", "The request contains text that cannot be stored.").WithCause(cause)
	case isUnavailable(err):
		return hub.Errorf(hub.ErrUnavailable, "database_unavailable", "The database does not respond right now; try again.").WithCause(cause)
	}
	return cause
}

// MapNoRows returns notFound if no row was found ([pgx.ErrNoRows]), and other errors and
// nil unchanged.
func MapNoRows(err error, notFound *hub.Error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return notFound
	}
	return err
}

// ConstraintName returns the name of the violated constraint (a unique index, a foreign
// key or a check), or "" for any other error.
func ConstraintName(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && strings.HasPrefix(pgErr.Code, "23") {
		return pgErr.ConstraintName
	}
	return ""
}

// isUnstorableText reports whether PostgreSQL rejected a text: NUL or invalid UTF-8.
func isUnstorableText(err error) bool {
	code := Code(err)
	return code == "22021" || code == "22P05"
}

// isUnavailable reports whether the database is unreachable or cannot work at the moment:
// connection exceptions (08), serialization failures and deadlocks (40), insufficient
// resources such as a full disk (53), operator intervention such as a restart (57), and
// system errors (58).
func isUnavailable(err error) bool {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		for _, class := range []string{"08", "40", "53", "57", "58"} {
			if strings.HasPrefix(pgErr.Code, class) {
				return true
			}
		}
		return false
	}
	var connectErr *pgconn.ConnectError
	var netErr net.Error
	return errors.As(err, &connectErr) || errors.As(err, &netErr) || pgconn.SafeToRetry(err) ||
		errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "conn closed") ||
		strings.Contains(err.Error(), "unexpected EOF") || strings.Contains(err.Error(), "closed pool")
}
