package api_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/delivery"
)

// waitTest has three deliveries to one endpoint, oldest first, that no process works on.
type waitTest struct {
	*bundle
	endpoint string
	ids      []string
}

func newWaitTest(t *testing.T) *waitTest {
	t.Helper()
	w := &waitTest{bundle: setup(t).tenants()}
	w.endpoint = w.bundle.endpoint(w.live[0], anywhere)["id"].(string)
	for range 3 {
		event := w.publish(w.live[0], "a.b", "{}")
		w.ids = append(w.ids, w.settled(event, "delivered")["id"].(string))
	}
	slices.Sort(w.ids) // the clock stands: their order is not that of publishing
	w.exec(`delete from hub.drains`)
	return w
}

func (w *waitTest) exec(statement string, args ...any) {
	w.t.Helper()
	_, err := w.db.Exec(w.t.Context(), statement, args...)
	require.NoError(w.t, err)
	require.NoError(w.t, w.engine.directory.Refresh(w.t.Context()))
}

// waiting returns what the API answers for the last delivery.
func (w *waitTest) waiting() map[string]any {
	w.t.Helper()
	waiting, _ := w.ok(200, "GET", "/deliveries/"+w.ids[2], w.support, "")["waiting"].(map[string]any)
	return waiting
}

// requireCause requires why the last delivery waits, since when, until when, and what releases it.
func (w *waitTest) requireCause(cause, since, until string, release ...any) map[string]any {
	w.t.Helper()
	waiting := w.waiting()
	require.Equal(w.t, cause, waiting["cause"], waiting)
	for name, column := range map[string]string{"since": since, "until": until} {
		if column == "" {
			require.Nil(w.t, waiting[name], name)
			continue
		}
		var want time.Time
		require.NoError(w.t, w.db.QueryRow(w.t.Context(), `select `+column).Scan(&want))
		got, err := time.Parse(time.RFC3339, waiting[name].(string))
		require.NoError(w.t, err)
		require.WithinDuration(w.t, want, got, 30*time.Second, name)
	}
	require.ElementsMatch(w.t, release, waiting["release"])
	require.NotEmpty(w.t, waiting["explanation"])
	return waiting
}

func TestWhyAPendingDeliveryWaits(t *testing.T) {
	t.Parallel()
	w := newWaitTest(t)
	require.Nil(t, w.waiting(), "it was delivered")
	w.exec(`update hub.deliveries set status = 0, finished_at = null, round_at = now(), next_attempt_at = now() + interval '1 hour', due_at = now() + interval '1 hour' where id = $1`, w.ids[2])
	w.requireCause("retry_scheduled", "now()", "now() + interval '1 hour'", "time", "retry")
	w.exec(`update hub.deliveries set inbound = true where id = $1`, w.ids[2])
	require.Nil(t, w.waiting(), "it was received")

	leased := `update hub.deliveries set inbound = false, status = 0, finished_at = null, round_at = now(), next_attempt_at = null, due_at = now() + interval '30 s', attempts = 0 where id = any($1::uuid[])`
	w.exec(leased, w.ids[2:])
	w.requireCause("attempt_under_way", "now()", "", "time")
	w.exec(leased, w.ids)
	require.EqualValues(t, 2, w.requireCause("behind_others", "now()", "", "time")["ahead"])
	w.exec(`update hub.deliveries set due_at = now() - interval '1 s' where id = $1`, w.ids[0])
	require.EqualValues(t, 1, w.requireCause("behind_others", "now()", "", "time")["ahead"], "what is not claimed goes behind what is")
	w.exec(`update hub.deliveries set due_at = now() - interval '1 s' where id = $1`, w.ids[2])
	require.EqualValues(t, 2, w.requireCause("behind_others", "now()", "", "time")["ahead"])

	w.exec(leased, w.ids)
	w.exec(`update hub.deliveries set priority = 1 where id = $1`, w.ids[0])
	require.EqualValues(t, 1, w.requireCause("behind_others", "now()", "", "time")["ahead"], "what is bulk goes after it")
	w.exec(`update hub.deliveries set priority = priority - 1`)
	require.EqualValues(t, 1, w.requireCause("behind_others", "now()", "", "time")["ahead"])
	w.exec(`update hub.deliveries set priority = 1 where id = $1`, w.ids[2])
	bulk := w.requireCause("behind_others", "now()", "", "time")
	require.EqualValues(t, 2, bulk["ahead"])
	require.Equal(t, "2 deliveries, all that are not bulk and earlier bulk ones, to the same receiver go first.", bulk["explanation"])
	require.Equal(t, "bulk", w.ok(200, "GET", "/deliveries/"+w.ids[2], w.support, "")["priority"])
	w.exec(`update hub.deliveries set priority = 0`)
	w.exec(`update hub.deliveries set due_at = now() - interval '1 s' where id <> $1`, w.ids[1])

	w.exec(`update hub.endpoints set rate_per_minute = 2 where id = $1`, w.endpoint)
	paced := w.requireCause("paced", "now()", "now() + interval '1 minute'", "time")
	require.EqualValues(t, 2, paced["rate_per_minute"])
	fail := `insert into hub.attempts (delivery_id, started_at, number, queue_us, dns_us, connect_us, tls_us, first_byte_us, total_us, status_code, signature)
		select $1, now(), n, 0, 0, 0, 0, 0, 0, 500, '' from generate_series($2::int, $3::int) n`
	w.exec(`update hub.deliveries set attempts = 10 where id = $1`, w.ids[0]) // its first attempt is in its own row
	w.exec(fail, w.ids[0], 2, delivery.BreakerAfter-1)
	require.EqualValues(t, 9, w.requireCause("paced", "now()", "now() + interval '1 minute'", "time")["failures"])
	w.exec(fail, w.ids[0], delivery.BreakerAfter, delivery.BreakerAfter)
	require.EqualValues(t, 10, w.requireCause("breaker_open", "now()", "", "receiver_answers")["failures"])
}

func TestWhyAParkedDeliveryWaits(t *testing.T) {
	t.Parallel()
	w := newWaitTest(t)
	w.exec(`update hub.deliveries set status = 2, finished_at = now(), parked_at = now() - interval '1 day', reason = 'retries_exhausted' where id = any($1::uuid[])`, w.ids)
	waiting := w.requireCause("not_scheduled", "now() - interval '1 day'", "", "retry")
	expires, err := time.Parse(time.RFC3339, waiting["expires_at"].(string))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(14*24*time.Hour), expires, time.Minute)
	w.exec(`insert into hub.drains (target_id, integration, state, due_at) values ($1, false, 'waiting', now() + interval '2 minutes')`, w.endpoint)
	w.requireCause("trial_scheduled", "now() - interval '1 day'", "now() + interval '2 minutes'", "time", "receiver_answers", "retry")
	w.exec(`update hub.drains set state = 'trying'`)
	w.requireCause("trial_under_way", "now() - interval '1 day'", "", "receiver_answers", "retry")
	w.exec(`update hub.drains set state = 'draining', since = now() - interval '5 minutes'`)
	require.EqualValues(t, 2, w.requireCause("draining", "now() - interval '5 minutes'", "now() + interval '2 minutes'", "time", "retry")["ahead"])
	w.exec(`update hub.deliveries set priority = 1 where id = $1`, w.ids[0])
	require.EqualValues(t, 1, w.waiting()["ahead"], "what is bulk drains after it")
	w.exec(`update hub.deliveries set priority = -1 where id = $1`, w.ids[2])
	require.EqualValues(t, 0, w.waiting()["ahead"])
	w.exec(`update hub.deliveries set reason = $2 where id = $1`, w.ids[2], delivery.ReasonReplayCancelled)
	w.requireCause("replay_cancelled", "now() - interval '1 day'", "", "retry")

	w.exec(`update hub.deliveries set reason = 'disabled' where id = $1`, w.ids[2])
	w.exec(`update hub.endpoints set enabled = false`)
	w.requireCause("receiver_disabled", "now()", "", "enable_receiver")
	w.exec(`update hub.endpoints set disabled_reason = 'gone'`)
	w.requireCause("receiver_gone", "now()", "", "enable_receiver")
	w.exec(`update hub.endpoints set deleted_at = now()`)
	w.requireCause("receiver_deleted", "", "")

	peer := uuid.New()
	w.exec(`insert into hub.integrations (id, tenant_id, environment, product, status, webhook_url, last_error, next_probe_at) values ($1, $2, 'live', 'till', 'inactive', 'http://x', 'refused', now() + interval '1 minute')`, peer, w.tenant[0])
	w.exec(`update hub.deliveries set integration = true, target_id = $1`, peer)
	w.requireCause("integration_inactive", "now()", "", "activate_integration")
	w.exec(`update hub.integrations set disabled = true`)
	w.requireCause("receiver_disabled", "now()", "", "enable_receiver")
	w.exec(`update hub.integrations set disabled = false, status = 'error'`)
	require.Equal(t, "refused", w.requireCause("peer_down", "now()", "now() + interval '1 minute'", "receiver_answers", "activate_integration")["last_error"])
	w.exec(`update hub.integrations set error_at = now() - interval '1 hour'`)
	w.exec(`update hub.integrations set last_error = 'timeout', status = 'error'`)
	w.requireCause("peer_down", "now() - interval '1 hour'", "now() + interval '1 minute'", "receiver_answers", "activate_integration")
	w.exec(`update hub.integrations set revoked_at = now()`)
	w.requireCause("receiver_deleted", "", "")
}

// A delivery that the receiver refuses waits for the second attempt, as a real hub has it.
func TestWhyARefusedDeliveryWaits(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	b.endpoint(b.live[0], anywhere)
	b.engine.hook.status.Store(http.StatusServiceUnavailable)
	event := b.publish(b.live[0], "a.b", "{}")
	var detail map[string]any
	var waiting map[string]any
	require.Eventually(t, func() bool { // between two attempts, however slow the machine is
		id := items(b.ok(200, "GET", "/deliveries?event_id="+event, b.admin, ""))[0]["id"].(string)
		detail = b.ok(200, "GET", "/deliveries/"+id, b.support, "")
		waiting, _ = detail["waiting"].(map[string]any)
		return waiting["cause"] == "retry_scheduled"
	}, soon, tick)
	attempts := detail["attempts"].([]any)
	require.Equal(t, attempts[len(attempts)-1].(map[string]any)["started_at"], waiting["since"])
	require.EqualValues(t, len(attempts), waiting["failures"])
	require.Equal(t, []any{"time", "retry"}, waiting["release"])
}
