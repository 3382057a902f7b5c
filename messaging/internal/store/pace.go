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

// PaceClock returns the clock of the connections' intervals for queries.
func (s *Store) PaceClock() *time.Time { return paceClock(s.host) }

// ClaimPaced takes the turn of a connection with an interval and leases its next message of a
// program until a time. It returns nil if none is due, or if it is not the connection's turn.
// Messages that were written before expired are claimed while it is not connected, too.
func (s *Store) ClaimPaced(ctx context.Context, c Connection, until, expired time.Time) (*OutboxEntry, error) {
	var claimed *OutboxEntry
	err := s.InTx(ctx, "claiming a message of a program", func(tx *Tx) error {
		claimed = nil
		turn, err := tx.ReservePaceTurn(ctx, paceClock(s.host), c.CompanyID, c.ID)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("taking a connection's turn: %w", err)
		}
		entries, err := tx.ClaimOutbox(ctx, dbgen.ClaimOutboxParams{CompanyID: c.CompanyID, ConnectionID: c.ID, At: s.host.Now(), Until: until, Expired: expired, MaxRows: 1, TurnUntil: &turn})
		if err != nil {
			return fmt.Errorf("claiming a message: %w", err)
		}
		if len(entries) == 0 {
			return errNoneDue
		}
		claimed = &entries[0]
		return nil
	})
	if errors.Is(err, errNoneDue) { // the turn is not taken
		return nil, nil
	}
	return claimed, err
}

// ReturnPaceTurn returns the turn that a message has taken, because it is not handed to its
// network. It does nothing for a message that took none.
func (s *Store) ReturnPaceTurn(ctx context.Context, queries *dbgen.Queries, entry OutboxEntry) error {
	if entry.TurnUntil == nil {
		return nil
	}
	err := queries.ReturnPaceTurn(ctx, dbgen.ReturnPaceTurnParams{Clock: s.PaceClock(), CompanyID: entry.CompanyID, ConnectionID: entry.ConnectionID, TurnUntil: *entry.TurnUntil})
	if err != nil {
		return fmt.Errorf("returning a connection's turn: %w", err)
	}
	return nil
}

// errNoneDue rolls a turn back that no message needs.
var errNoneDue = errors.New("no message is due")

// TimeToPaceTurn returns the time until a connection may send its next message of a program.
// isWaiting is false if no such message waits, or the clock is a test's, which stands still.
func (s *Store) TimeToPaceTurn(ctx context.Context, c Connection) (wait time.Duration, isWaiting bool, err error) {
	if s.host.TestClock {
		return 0, false, nil
	}
	pace, err := s.PaceOfConnection(ctx, dbgen.PaceOfConnectionParams{At: s.host.Now(), CompanyID: c.CompanyID, ConnectionID: c.ID})
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, false, nil
	}
	return time.Duration(pace.Milliseconds * float64(time.Millisecond)), pace.IsBusy, err
}

// backlogPause is until a connection is looked at again that has a backlog.
const backlogPause = time.Second

// CampaignWaitUntil returns when a connection may take the next messages of a campaign: with an
// interval not while others wait for their turn, else not while it has a backlog of so many,
// because its network is slow.
func (t *Tx) CampaignWaitUntil(ctx context.Context, c Connection, backlog int) (time.Time, error) {
	if c.SendIntervalMS == 0 {
		isBehind, err := t.HasBacklog(ctx, dbgen.HasBacklogParams{Least: backlog, CompanyID: c.CompanyID, ConnectionID: c.ID, At: t.Now()})
		if err != nil {
			return t.Now(), fmt.Errorf("looking for messages that wait: %w", err)
		}
		if isBehind {
			return t.Now().Add(backlogPause), nil
		}
		return t.Now(), nil
	}
	pace, err := t.PaceOfConnection(ctx, dbgen.PaceOfConnectionParams{Clock: paceClock(t.Host), At: t.Now(), CompanyID: c.CompanyID, ConnectionID: c.ID})
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
