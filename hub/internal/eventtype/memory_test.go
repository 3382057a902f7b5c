package eventtype_test

import (
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/eventtype"
)

// Every item of a large array can be an error, of hundreds of bytes. Few such checks run at once,
// whatever their schemas are. It is not parallel: it measures the memory of the process.
func TestMemoryOfLargeData(t *testing.T) { //nolint:paralleltest // see above
	defer debug.SetGCPercent(debug.SetGCPercent(25))
	data := []byte("[" + strings.Repeat("1,", 200_000) + "1]")
	var peak atomic.Uint64
	done := make(chan struct{})
	var sampling, checks sync.WaitGroup
	sampling.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			peak.Store(max(peak.Load(), now.HeapAlloc))
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	})
	found := make([][]eventtype.Violation, 6)
	for i := range found {
		schema := compile(t, `{"items":{"type":"string"}}`)
		checks.Go(func() { found[i] = schema.Check(data) })
	}
	checks.Wait()
	close(done)
	sampling.Wait()
	for _, violations := range found {
		require.Len(t, violations, 10)
	}
	t.Logf("at most %d MB", peak.Load()>>20)
	require.Less(t, peak.Load(), uint64(200<<20))
}
