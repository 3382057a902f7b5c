package outbound_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A message that is not handed to the network uses no turn of the connection: the next one is
// sent at once.
func TestTurnIsReturned(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]string{
		"opted out":  `update contacts set consent = 'opted_out' where number = $1`,
		"anonymized": `update contacts set anonymized_at = now() where number = $1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLine(t)
			bia, carla := l.AddPhone("Bia"), l.AddPhone("Carla")
			require.Equal(t, "sent", l.send(l.ana, "first"))
			require.Equal(t, "queued", l.send(bia, "never"))
			require.Equal(t, "queued", l.send(carla, "next"))
			require.Equal(t, "queued", l.send(l.ana, "last"))
			_, err := l.Hub.Host.Pool.Exec(t.Context(), refuse, bia)
			require.NoError(t, err)
			l.Advance(5 * time.Second)
			l.runUntil(func() bool { return len(l.Inbox(carla)) == 1 }, "the turn is taken by the next message")
			l.after(0)
			l.after(4 * time.Second)
			require.Len(t, l.Inbox(l.ana), 1, "the interval holds again")
			l.Advance(time.Second)
			l.runUntil(func() bool { return len(l.Inbox(l.ana)) == 2 }, "after the interval")
			require.Empty(t, l.Inbox(bia))
			require.Equal(t, 1, count(l.Company, `select count(*) from messages where ack = -1`))
		})
	}
}

// runUntil runs the jobs that send until a condition holds: the hub itself may be running them.
func (l *line) runUntil(isMet func() bool, why string) {
	l.T.Helper()
	require.Eventually(l.T, func() bool { l.after(0); return isMet() }, 20*time.Second, 100*time.Millisecond, why)
}

// A message that expired while its connection was away uses no turn either.
func TestExpiredMessageReturnsTurn(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	bia := l.AddPhone("Bia")
	l.SetNetwork("offline")
	require.Equal(t, "queued", l.send(bia, "old"))
	l.Advance(24 * time.Hour)
	l.runUntil(func() bool {
		return count(l.Company, `select count(*) from messages where error_code = 'expired'`) == 1
	}, "it is given up")
	l.SetNetwork("online")
	require.Equal(t, "sent", l.send(l.ana, "new"), "the turn is free")
}

// A message that is taken back after a process has taken the turn for it returns the turn.
func TestCancelledMessageReturnsTurn(t *testing.T) {
	t.Parallel()
	for name, cancel := range map[string]string{
		"taken out of the outbox": `delete from outbox where message_id = $1`,
		"deleted":                 `delete from messages where id = $1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLine(t)
			bia := l.AddPhone("Bia")
			require.Equal(t, "sent", l.send(l.ana, "first"))
			require.Equal(t, "queued", l.send(bia, "never"))
			var waiting string
			require.NoError(t, l.Hub.Host.Pool.QueryRow(t.Context(), `select message_id from outbox`).Scan(&waiting))
			// The process that takes the turn stops where it loads the message.
			lock, err := l.Hub.Host.Pool.Begin(t.Context())
			require.NoError(t, err)
			defer func() { _ = lock.Rollback(t.Context()) }()
			_, err = lock.Exec(t.Context(), `lock table messages in access exclusive mode`)
			require.NoError(t, err)
			l.Advance(5 * time.Second)
			done := make(chan error, 1)
			go func() { done <- l.Hub.Job("outbox").Run(t.Context(), nil) }()
			require.Eventually(t, func() bool {
				return count(l.Company, `select count(*) from outbox where leased_until is not null`) == 1
			}, time.Minute, 10*time.Millisecond)
			_, err = lock.Exec(t.Context(), cancel, waiting)
			require.NoError(t, err)
			require.NoError(t, lock.Commit(t.Context()))
			require.NoError(t, <-done)
			require.Eventually(t, func() bool {
				return count(l.Company, `select count(*) from connection_paces where next_send_at <= $1`, l.Hub.Clock.Now()) == 1
			}, time.Minute, 10*time.Millisecond, "the hub itself may have taken it")
			require.Equal(t, "sent", l.send(l.ana, "second"), "the turn is free")
			require.Empty(t, l.Inbox(bia))
		})
	}
}

// A message that goes back to the outbox untried returns the turn that it took.
func TestReleasedMessageReturnsTurn(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	bia := l.AddPhone("Bia")
	require.Equal(t, "sent", l.send(l.ana, "first"))
	require.Equal(t, "queued", l.send(bia, "second"))
	// Between the claim and the message the connection is found to be down.
	lock, err := l.Hub.Host.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = lock.Rollback(t.Context()) }()
	_, err = lock.Exec(t.Context(), `lock table messages in access exclusive mode`)
	require.NoError(t, err)
	l.Advance(5 * time.Second)
	done := make(chan error, 1)
	go func() { done <- l.Hub.Job("outbox").Run(t.Context(), nil) }()
	require.Eventually(t, func() bool {
		return count(l.Company, `select count(*) from outbox where leased_until is not null`) == 1
	}, time.Minute, 10*time.Millisecond)
	_, err = lock.Exec(t.Context(), `update connections set status = 'DISCONNECTED' where id = $1`, l.connection.ID)
	require.NoError(t, err)
	require.NoError(t, lock.Commit(t.Context()))
	require.NoError(t, <-done)
	require.Eventually(t, func() bool {
		return count(l.Company, `select count(*) from outbox where leased_until is null and attempts = 0`) == 1
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, 1, count(l.Company, `select count(*) from connection_paces where next_send_at <= $1`, l.Hub.Clock.Now()), "the turn is free")
	_, err = l.Hub.Host.Pool.Exec(t.Context(), `update connections set status = 'CONNECTED' where id = $1`, l.connection.ID)
	require.NoError(t, err)
	l.runUntil(func() bool { return len(l.Inbox(bia)) == 1 }, "it is sent")
}
