package erasure

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

// An erasure whose deletion event has left the log erases nothing, and says so: it ends without
// being erased, with an error in the log of the process and in the audit log.
func TestErasureWithoutItsEventIsNoSuccess(t *testing.T) {
	t.Parallel()
	h := newHoldTest(t)
	h.event("a.b", `{"email":"ana@example.com"}`, "now()", h.targets[0])
	deletion := h.delete(`{"email":"ana@example.com"}`)
	h.exec(`delete from hub.events where seq = $1`, deletion)
	var log bytes.Buffer
	e := h.eraser()
	e.log = slog.New(slog.NewTextHandler(&log, nil))
	h.work(e)
	for range 10 {
		h.exec(`update hub.erasures set due_at = now()`)
		_, err := e.step(t.Context())
		require.NoError(t, err)
	}
	var isFinished, isErased bool
	var status int
	var resource, id string
	require.NoError(t, h.pool.QueryRow(t.Context(), `
		select finished_at is not null, erased_at is not null, (select status from hub.audit where action = 'payloads.erase') from hub.erasures`).Scan(&isFinished, &isErased, &status))
	require.Equal(t, []any{true, false, 410}, []any{isFinished, isErased, status})
	require.Contains(t, log.String(), "level=ERROR")
	require.Contains(t, log.String(), "erasure="+deletion.String())
	require.NoError(t, h.pool.QueryRow(t.Context(), `select resource, resource_id from hub.audit where action = 'payloads.erase'`).Scan(&resource, &id))
	require.Equal(t, []any{"erasures", deletion.String()}, []any{resource, id}, "the event's id is not known any more")
}
