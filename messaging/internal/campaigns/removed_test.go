package campaigns_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// count returns a number from the database of the hub.
func (a *audience) count(sql string, args ...any) (n int) {
	a.T.Helper()
	require.NoError(a.T, a.Hub.Host.Pool.QueryRow(a.T.Context(), sql, args...).Scan(&n))
	return n
}

func (a *audience) exec(sql string, args ...any) {
	a.T.Helper()
	_, err := a.Hub.Host.Pool.Exec(a.T.Context(), sql, args...)
	require.NoError(a.T, err)
}

// strand starts campaigns whose messages to all contacts are written, and wait, because the
// network has gone away.
func (a *audience) strand(paths ...string) {
	a.T.Helper()
	a.exec(`update sandbox_sessions set state = 'offline' where connection_id = $1`, a.connection.ID)
	for _, path := range paths {
		a.OK(200, "POST", path+"/start", nil)
	}
	require.Eventually(a.T, func() bool {
		// Where the first message was tried already, the connection waits for its network.
		a.exec(`update connections set status = 'CONNECTED' where id = $1`, a.connection.ID)
		a.exec(`update campaign_progress set next_send_at = $1 where next_send_at is not null`, a.Hub.Clock.Now())
		a.RunJob("campaigns")
		return a.count(`select count(*) from outbox where company_id = $1 and leased_until is null`, a.ID) == a.count(`select sum(total) from campaign_progress where next_send_at is not null`)
	}, time.Minute, 10*time.Millisecond)
}

// report returns a member of the rows of a campaign's report.
func (a *audience) report(path, member string) (values []any) {
	a.T.Helper()
	for _, row := range a.Get(path + "/report")["records"].([]any) {
		values = append(values, row.(object)[member])
	}
	return values
}

// What waits on a connection that is deleted is not sent on it. The campaign is cancelled, and
// goes on with another connection: each contact gets its message once.
func TestConnectionIsDeleted(t *testing.T) {
	t.Parallel()
	a := newAudience(t, 4)
	path := a.create(nil)
	asking := a.create(object{"name": "Questions", "confirmation": true, "confirmationMessage1": "May we?", "message1": "Offer", "contactIds": a.contacts[:3]})
	a.strand(path, asking)
	a.exec(`update outbox set leased_until = $1, handed_at = case contact_id when $2 then now() end where contact_id >= $3`, a.Hub.Clock.Now().Add(time.Minute), a.contacts[3], a.contacts[2])
	a.OK(200, "DELETE", messagingtest.ConnectionPath(a.connection), nil)
	require.Equal(t, object{"total": 4.0, "pending": 3.0, "failed": 1.0}, a.counters(path))
	require.Equal(t, []any{"pending", "pending", "pending", "failed"}, a.report(path, "status"), "the last was being sent")
	require.Equal(t, []any{nil, nil, nil, "connection_deleted"}, a.report(path, "error"))
	require.Equal(t, []any{"pending", "pending", "pending"}, a.report(asking, "status"), "they are asked again")
	require.Equal(t, 7, a.count(`select count(*) from messages where ack = -1 and error_code = 'connection_deleted'`))
	require.Equal(t, []any{"cancelled", "cancelled"}, []any{a.Get(path)["status"], a.Get(asking)["status"]})

	a.connection = a.Connect()
	for _, campaign := range []string{path, asking} {
		a.OK(200, "PUT", campaign, object{"whatsappId": a.connection.ID})
		a.OK(200, "POST", campaign+"/start", nil)
	}
	a.run()
	require.Equal(t, []string{"Hi|May we?", "Hi|May we?", "Hi|May we?", ""}, a.received())
	require.Equal(t, 6, a.count(`select count(*) from sandbox_messages where sender = $1`, a.connection.Number))
	a.SendFromPhone(a.numbers[0], a.connection, "Sim")
	a.Advance(25 * time.Hour)
	a.run()
	require.Equal(t, []any{"finished", "finished"}, []any{a.Get(path)["status"], a.Get(asking)["status"]})
	require.Equal(t, object{"total": 4.0, "sent": 3.0, "delivered": 3.0, "failed": 1.0}, a.counters(path))
	require.Equal(t, object{"total": 3.0, "sent": 1.0, "delivered": 1.0, "skipped": 2.0}, a.counters(asking))
	require.Equal(t, 7, a.count(`select count(*) from messages where from_me and ack = 2 and error_code is null`), "the same messages")
	require.Equal(t, 1, a.count(`select count(*) from messages where from_me and ack < 1`))
}

// sendUntilHeld runs the job until the network holds so many messages, which it has begun to accept.
// They are accepted, and the job ends, when the caller calls release.
func (a *audience) sendUntilHeld(messages int) (release func()) {
	a.T.Helper()
	held, err := a.Hub.Host.Pool.Begin(a.T.Context())
	require.NoError(a.T, err)
	a.T.Cleanup(func() { _ = held.Rollback(context.WithoutCancel(a.T.Context())) })
	_, err = held.Exec(a.T.Context(), `lock table sandbox_messages in share mode`)
	require.NoError(a.T, err)
	done := make(chan error, 1)
	go func() { done <- a.Hub.Job("campaigns").Run(a.T.Context(), nil) }()
	require.Eventually(a.T, func() bool {
		return a.count(`select count(*) from pg_locks l join pg_database d on d.oid = l.database where d.datname = current_database() and l.relation = 'sandbox_messages'::regclass and not l.granted`) == messages
	}, time.Minute, 10*time.Millisecond)
	return func() {
		require.NoError(a.T, held.Commit(a.T.Context()))
		require.NoError(a.T, <-done)
	}
}

// A connection is deleted in the middle of a batch: only what was handed to the network is in
// doubt. The rest of the batch is sent on another connection, and nobody gets it twice.
func TestConnectionIsDeletedInMidBatch(t *testing.T) {
	t.Parallel()
	const contacts = 20
	for name, test := range map[string]struct {
		fields object
		begun  int
	}{
		"at once":     {nil, 4},
		"an interval": {object{"messageInterval": 1}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAudience(t, contacts)
			path := a.create(test.fields)
			a.OK(200, "POST", path+"/start", nil)
			release := a.sendUntilHeld(test.begun)
			a.OK(200, "DELETE", messagingtest.ConnectionPath(a.connection), nil)
			require.Equal(t, object{"total": float64(contacts), "pending": float64(contacts - test.begun), "failed": float64(test.begun)}, a.counters(path))

			a.connection = a.Connect()
			a.OK(200, "PUT", path, object{"whatsappId": a.connection.ID})
			a.OK(200, "POST", path+"/start", nil)
			release()
			for range contacts {
				a.sent(path, time.Second)
			}
			a.sent(path, 2*time.Second)
			require.Equal(t, "finished", a.Get(path)["status"])
			require.Equal(t, object{"total": float64(contacts), "sent": float64(contacts - test.begun), "delivered": float64(contacts - test.begun), "failed": float64(test.begun)}, a.counters(path))
			require.Equal(t, slices.Repeat([]string{"Hi"}, contacts), a.received())
			require.Equal(t, contacts-test.begun, a.count(`select count(*) from sandbox_messages where sender = $1`, a.connection.Number))
		})
	}
}

// A campaign is cancelled in the middle of a batch: what was not begun is not sent, until the
// campaign goes on.
func TestCancelInMidBatch(t *testing.T) {
	t.Parallel()
	const contacts, begun = 12, 4
	a := newAudience(t, contacts)
	path := a.create(nil)
	a.OK(200, "POST", path+"/start", nil)
	release := a.sendUntilHeld(begun)
	require.Equal(t, "cancelled", a.OK(200, "POST", path+"/cancel", nil)["status"])
	require.Equal(t, begun, a.count(`select count(*) from outbox`), "the network has these")
	release()
	require.Equal(t, begun, a.sent(path, time.Hour))
	require.Equal(t, contacts-begun, a.count(`select count(*) from messages where ack = -1 and error_code = 'campaign_cancelled'`))
	a.OK(200, "POST", path+"/start", nil)
	require.Equal(t, contacts, a.sent(path, 0))
	require.Equal(t, slices.Repeat([]string{"Hi"}, contacts), a.received(), "each once")
}

// A message that was begun when its campaign was cancelled, and that the network then failed to
// accept, is not tried again. It may have arrived: the campaign goes on without it.
func TestBegunMessageOfCancelledCampaign(t *testing.T) {
	t.Parallel()
	a := newAudience(t, 2)
	path := a.create(object{"messageInterval": 60})
	a.exec(`create function sandbox_fails() returns trigger language plpgsql as $$ begin raise 'the network has failed'; end $$`)
	a.exec(`create trigger fails before insert on sandbox_messages for each statement execute function sandbox_fails()`)
	a.OK(200, "POST", path+"/start", nil)
	release := a.sendUntilHeld(1)
	a.OK(200, "POST", path+"/cancel", nil)
	require.Equal(t, 1, a.count(`select count(*) from outbox`), "the network has it")
	release()
	a.exec(`drop trigger fails on sandbox_messages`)
	a.Advance(time.Hour)
	a.FlushOutbox()
	require.Equal(t, []string{"", ""}, a.received())
	require.Equal(t, []any{"failed", "pending"}, a.report(path, "status"))
	require.Equal(t, []any{"campaign_cancelled", nil}, a.report(path, "error"))
	a.OK(200, "POST", path+"/start", nil)
	a.run()
	require.Equal(t, []string{"", "Hi"}, a.received())
}

// What the network may have accepted before it went away is not sent on another connection.
func TestUnansweredMessageStaysInDoubt(t *testing.T) {
	t.Parallel()
	a := newAudience(t, 2)
	path := a.create(object{"messageInterval": 60})
	a.OK(200, "POST", path+"/start", nil)
	a.exec(`create function sandbox_fails() returns trigger language plpgsql as $$ begin raise 'the network has failed'; end $$`)
	a.exec(`create trigger fails before insert on sandbox_messages for each row execute function sandbox_fails()`)
	a.RunJob("campaigns")
	require.Equal(t, 1, a.count(`select count(*) from outbox where company_id = $1 and leased_until is null and handed_at is not null`, a.ID))
	a.OK(200, "DELETE", messagingtest.ConnectionPath(a.connection), nil)
	require.Equal(t, object{"total": 2.0, "pending": 1.0, "failed": 1.0}, a.counters(path))
}

// A contact that is anonymized is left out, and a message that is deleted with its ticket has
// failed: the campaign ends without them.
func TestContactAndTicketAreRemoved(t *testing.T) {
	t.Parallel()
	a := newAudience(t, 5)
	path := a.create(nil)
	a.strand(path)
	// The contacts write while the messages wait: these become the first of their tickets.
	a.exec(`update outbox set due_at = due_at + interval '1 hour'`)
	a.SetNetwork("online")
	for _, i := range []int{1, 2} {
		a.SendFromPhone(a.numbers[i], a.connection, "Hello")
	}
	unclear := fmt.Sprintf(`select message_id from campaign_shipments where contact_id = %d`, a.contacts[2])
	a.exec(`with removed as (delete from outbox where message_id in (` + unclear + `) returning company_id, message_id, due_at)
		insert into unclear_messages (company_id, message_id, due_at) select company_id, message_id, due_at from removed`)
	for _, i := range []int{1, 2} {
		ticket := messagingtest.TicketPath(a.Tickets("searchParam=" + a.numbers[i])[0])
		require.Len(t, a.Get(ticket + "/messages")["messages"], 2)
		a.OK(200, "DELETE", ticket, nil)
	}
	a.OK(200, "POST", fmt.Sprintf("/contacts/%d/anonymize", a.contacts[0]), nil)
	a.OK(200, "DELETE", fmt.Sprintf("/contacts/%d", a.contacts[3]), nil)
	require.Equal(t, object{"total": 4.0, "pending": 1.0, "skipped": 1.0, "failed": 2.0}, a.counters(path))
	require.Equal(t, []any{"anonymized", "ticket_deleted", "ticket_deleted", nil}, a.report(path, "error"))
	require.Equal(t, 1, a.count(`select count(*) from messages where ack = -1 and error_code = 'anonymized'`))
	a.Advance(time.Hour)
	a.run()
	a.sent(path, 2*time.Second)
	require.Equal(t, "finished", a.Get(path)["status"])
	require.Equal(t, object{"total": 4.0, "skipped": 1.0, "failed": 2.0, "sent": 1.0, "delivered": 1.0}, a.counters(path))
	require.Equal(t, []string{"Hi"}, a.Inbox(a.numbers[4]))
}
