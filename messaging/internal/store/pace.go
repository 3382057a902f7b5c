package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub/module"
	"integrationhub/messaging/internal/store/dbgen"
)

// paceClock returns the clock of the connections' intervals: nil stands for the database's,
// which all processes share.
func paceClock(host module.Host) *time.Time {
	if !host.TestClock {
		return nil
	}
	now := host.Now().Truncate(time.Microsecond)
	return &now
}

// beginPace lets a connection with an interval send at once, unless it has sent before.
func (t *Tx) beginPace(ctx context.Context, c Connection) error {
	if c.SendIntervalMS == 0 {
		return nil
	}
	if err := t.BeginPace(ctx, c.CompanyID, c.ID, t.Now()); err != nil {
		return fmt.Errorf("beginning a connection's interval: %w", err)
	}
	return nil
}

// ClaimPaced leases the next message of programs of each connection whose interval has
// passed, of at most so many connections.
func (s *Store) ClaimPaced(ctx context.Context, until time.Time, limit int) ([]OutboxEntry, error) {
	return s.ClaimPacedOutbox(ctx, dbgen.ClaimPacedOutboxParams{Clock: paceClock(s.host), At: s.host.Now(), MaxRows: limit, Until: until})
}

// PacedTurn returns the time until some connection may send its next message of a program.
// isWaiting is false if no such message waits, or the clock is a test's, which stands still.
func (s *Store) PacedTurn(ctx context.Context) (wait time.Duration, isWaiting bool, err error) {
	if s.host.TestClock {
		return 0, false, nil
	}
	milliseconds, err := s.NextPacedTurn(ctx, paceClock(s.host), s.host.Now())
	return time.Duration(milliseconds * float64(time.Millisecond)), milliseconds >= 0, err
}

// PacedUntil returns when a connection with an interval may take the next message of a
// campaign: not while others wait for their turn.
func (t *Tx) PacedUntil(ctx context.Context, c Connection) (time.Time, error) {
	if c.SendIntervalMS == 0 {
		return t.Now(), nil
	}
	pace, err := t.PaceOfConnection(ctx, t.Now(), c.CompanyID, c.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		return t.Now(), nil
	}
	if err != nil {
		return t.Now(), fmt.Errorf("reading a connection's interval: %w", err)
	}
	later := t.Now().Add(time.Duration(c.SendIntervalMS) * time.Millisecond)
	switch isNear := !pace.NextSendAt.After(later); {
	case isNear && pace.NextSendAt.After(t.Now()):
		return pace.NextSendAt, nil
	case pace.IsBusy:
		return later, nil
	}
	return t.Now(), nil
}
