package chaos

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/cmd/bench/internal/hubapi"
	"integrationhub/cmd/bench/internal/receiver"
	"integrationhub/cmd/bench/internal/usage"
	"integrationhub/hub"
)

const (
	backlogEvents     = 100_000 // behind one key
	backlogBatch      = 500     // events of one request
	backlogPublishers = 4
	backlogBytes      = 400 // of each event's data: kept in memory, the events would take 100 MB
	backlogGrowth     = 48 << 20
)

// publishBacklog publishes one batch after the other with one ordering key.
func (bed *testbed) publishBacklog(apiKey string, batches int) {
	bed.t.Helper()
	baseURL, header := bed.api.BaseURL, http.Header{hub.HeaderKey: {apiKey}}
	event := map[string]any{"event_type": "chaos.order", "ordering_key": "stuck", "data": map[string]any{"filler": strings.Repeat("x", backlogBytes)}}
	events := make([]any, backlogBatch)
	for i := range events {
		events[i] = event
	}
	var publishers sync.WaitGroup
	errs := make([]error, backlogPublishers)
	for p := range backlogPublishers {
		publishers.Go(func() {
			for n := p; n < batches && errs[p] == nil; n += backlogPublishers {
				errs[p] = (&hubapi.Client{BaseURL: baseURL}).CallPath(bed.t.Context(), http.MethodPost, "/api/v1/events/batch", header, map[string]any{"events": events}, nil)
			}
		})
	}
	publishers.Wait()
	for _, err := range errs {
		require.NoError(bed.t, err)
	}
}

// memory returns the memory that a replica's process has, and the most that it had since the
// call before, in bytes.
func (h *replica) memory() (resident, peak int64) {
	h.bed.t.Helper()
	memory, ok := usage.ReadMemory(h.process.Pid())
	require.True(h.bed.t, ok)
	require.NoError(h.bed.t, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", h.process.Pid()), []byte("5"), 0)) // proc(5): resets the peak
	return memory.Resident, memory.Peak
}

// While the first event of a key fails, 100,000 behind it wait in the database. They take no
// memory: neither of the process that accepted them, nor of one that starts with them, nor
// while they are sent.
func TestChaosOrderBacklog(t *testing.T) {
	t.Parallel()
	bed := newTestbed(t, receiver.Options{})
	bed.hubSettings = []string{"GOGC=20"} // what is garbage counts little
	replica := bed.newReplica("a")
	replica.startReady()
	bed.setUp(replica)
	tenant, apiKey := bed.newTenant()
	var works atomic.Bool
	var accepted atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if !works.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		accepted.Add(1)
	}))
	t.Cleanup(server.Close)
	require.NoError(t, bed.api.Call(t.Context(), http.MethodPost, "/endpoints", map[string]any{"tenant_id": tenant, "url": server.URL, "event_types": []string{"*"}, "ordered": true}, nil))

	bed.publishBacklog(apiKey, 2*backlogPublishers) // memory of the first requests
	before, _ := replica.memory()
	bed.publishBacklog(apiKey, backlogEvents/backlogBatch)
	_, peak := replica.memory()
	queued := func() int { return bed.queryInt(`select count(*) from hub.ordering_queue`) }
	require.Greater(t, queued(), backlogEvents)
	require.Less(t, peak-before, int64(backlogGrowth), "memory grew with what waits")

	replica.process.Kill()
	bed.endLeases()
	replica.startReady()
	_, started := replica.memory()
	works.Store(true)
	head := ""
	bed.await(leaseTime, "the first is sent again", func() bool {
		return bed.pool.QueryRow(t.Context(), `select head from hub.ordering_keys`).Scan(&head) == nil && bed.api.Call(t.Context(), http.MethodPost, "/deliveries/"+head+"/retry", nil, nil) == nil
	})
	took := bed.await(leaseTime, "those behind follow", func() bool { return accepted.Load() >= 100 })
	_, sending := replica.memory()
	t.Logf("%d behind one key: %d MB before, %d MB at most while they were published; %d MB at the start of the next process, %d MB while it sends; 100 sent in %s",
		queued(), before>>20, peak>>20, started>>20, sending>>20, took.Round(time.Millisecond))
	require.Less(t, max(started, sending)-before, int64(backlogGrowth), "memory of a process that starts with what waits")
}
