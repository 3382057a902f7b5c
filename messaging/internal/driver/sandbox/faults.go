package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
)

// Faults are what the network does wrong. The zero value is a network without faults.
type Faults struct {
	LatencyMS        int  // before each response
	DropPercent      int  // of messages that are lost on their way, in both directions
	DuplicatePercent int  // of received messages and receipts that come twice
	Reorder          bool // two received messages come in the wrong order
	LID              bool // after its first message a sender is named by its LID, not by its number
	ExactNumbers     bool // a Brazilian mobile number is registered as its phone has it, with the ninth digit or without
}

// Faults returns what is set.
func (n *Network) Faults(ctx context.Context) (f Faults, err error) {
	err = n.host.Pool.QueryRow(ctx, `select latency_ms, drop_percent, duplicate_percent, reorder, lid, exact_numbers from sandbox_faults`).Scan(f.columns()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return Faults{}, nil
	}
	return f, err
}

// columns returns where [faultColumns] go.
func (f *Faults) columns() []any {
	return []any{&f.LatencyMS, &f.DropPercent, &f.DuplicatePercent, &f.Reorder, &f.LID, &f.ExactNumbers}
}

// faultColumns are the columns of [Faults] where there may be no row of faults.
const faultColumns = `coalesce(latency_ms, 0), coalesce(drop_percent, 0), coalesce(duplicate_percent, 0), coalesce(reorder, false), coalesce(lid, false), coalesce(exact_numbers, false)`

// phoneFaults is [Network.Faults] for a phone, or an error for callers if there is none.
func (n *Network) phoneFaults(ctx context.Context, number string) (f Faults, err error) {
	err = n.host.Pool.QueryRow(ctx, `select `+faultColumns+` from sandbox_phones left join sandbox_faults on true where number = $1`, number).Scan(f.columns()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return f, hub.NotFound("Phone")
	}
	return f, err
}

// senderFaults is [Network.Faults] for a connection, with its number. Without an online
// session it returns [driver.ErrNotConnected].
func (n *Network) senderFaults(ctx context.Context, connectionID int64) (number string, f Faults, err error) {
	err = n.host.Pool.QueryRow(ctx, `select number, `+faultColumns+` from sandbox_sessions left join sandbox_faults on true where connection_id = $1 and state = $2`, connectionID, stateOnline).
		Scan(append([]any{&number}, f.columns()...)...)
	if errors.Is(err, pgx.ErrNoRows) {
		err = driver.ErrNotConnected
	}
	return number, f, err
}

// SetFaults sets the faults. Messages that wait for another one to overtake them are
// delivered when reordering ends.
func (n *Network) SetFaults(ctx context.Context, f Faults) error {
	_, err := n.host.Pool.Exec(ctx, `insert into sandbox_faults (latency_ms, drop_percent, duplicate_percent, reorder, lid, exact_numbers) values ($1, $2, $3, $4, $5, $6)
		on conflict (id) do update set latency_ms = $1, drop_percent = $2, duplicate_percent = $3, reorder = $4, lid = $5, exact_numbers = $6`,
		f.LatencyMS, f.DropPercent, f.DuplicatePercent, f.Reorder, f.LID, f.ExactNumbers)
	if err != nil || f.Reorder {
		return err
	}
	rows, err := n.host.Pool.Query(ctx, `select distinct number from sandbox_sessions where state = $1`, stateOnline)
	if err != nil {
		return err
	}
	numbers, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, number := range numbers {
		if err == nil {
			err = n.deliverWaiting(ctx, number)
		}
	}
	return err
}

// delay waits as long as the network needs.
func (f Faults) delay(ctx context.Context) error {
	if f.LatencyMS == 0 {
		return nil
	}
	timer := time.NewTimer(time.Duration(f.LatencyMS) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// happens reports whether something happens that does in so many percent of cases.
func happens(percent int) bool {
	return rand.IntN(100) < percent //nolint:gosec // a simulation
}

// copies returns how often something comes.
func (f Faults) copies() int {
	if happens(f.DuplicatePercent) {
		return 2
	}
	return 1
}

// LIDOf returns the LID of a number.
func LIDOf(number string) string {
	sum := sha256.Sum256([]byte(number))
	return hex.EncodeToString(sum[:8]) + "@lid"
}

// Action is what the network does to a connection.
type Action string

// Actions.
const (
	ActionBan     Action = "ban"
	ActionLogout  Action = "logout"
	ActionOffline Action = "offline"
	ActionOnline  Action = "online"
)

// Act changes the session of a connection, and returns the connection's state then. It
// returns a [hub.ErrNotFound] if the connection is not paired.
func (n *Network) Act(ctx context.Context, connectionID int64, action Action) (chat.ConnectionStatus, error) {
	number, _, err := n.session(ctx, connectionID)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", hub.Errorf(hub.ErrNotFound, "no_wapp_found", "There is no paired connection with this id.")
	}
	if err != nil {
		return "", err
	}
	if action == ActionLogout {
		if err := n.Stop(ctx, driver.Connection{ID: connectionID}); err != nil {
			return "", err
		}
		change := driver.ConnectionChange{ConnectionID: connectionID, Status: chat.ConnectionDisconnected, LastError: "The phone logged out."}
		return change.Status, n.sink.ChangeConnection(ctx, change)
	}
	state := map[Action]string{ActionBan: stateBanned, ActionOffline: stateOffline, ActionOnline: stateOnline}[action]
	if _, err := n.host.Pool.Exec(ctx, `update sandbox_sessions set state = $2 where connection_id = $1`, connectionID, state); err != nil {
		return "", err
	}
	change := driver.ConnectionChange{ConnectionID: connectionID, Status: statusOf(state), Number: number, LastError: reasons[state]}
	if err := n.sink.ChangeConnection(ctx, change); err != nil || state != stateOnline {
		return change.Status, err
	}
	return change.Status, n.deliverWaiting(ctx, number)
}

// Pair connects a connection with a number, as if a phone had scanned its QR code.
func (n *Network) Pair(ctx context.Context, connectionID int64, number, name string) error {
	if _, err := n.AddPhone(ctx, number, name); err != nil {
		return err
	}
	_, err := n.host.Pool.Exec(ctx, `insert into sandbox_sessions (connection_id, number, state, created_at) values ($1, $2, $3, $4)
		on conflict (connection_id) do update set number = excluded.number, state = excluded.state`, connectionID, number, stateOnline, n.host.Now())
	if err != nil {
		return err
	}
	return n.sink.ChangeConnection(ctx, driver.ConnectionChange{ConnectionID: connectionID, Status: chat.ConnectionConnected, Number: number})
}
