package eventtype_test

import (
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/eventtype"
)

// Every item of a large array can be an error, of hundreds of bytes. Few such checks run at once,
// whatever their schemas are. It is not parallel: it measures the memory of the process.
func TestMemoryOfLargeData(t *testing.T) { //nolint:paralleltest // see above
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	data := []byte("[" + strings.Repeat("1,", 500_000) + "1]")
	var peak atomic.Uint64
	done := make(chan struct{})
	var sampling, checks sync.WaitGroup
	sampling.Go(func() {
		for {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			peak.Store(max(peak.Load(), now.HeapAlloc))
			select {
			case <-done:
				return
			default:
				runtime.Gosched()
			}
		}
	})
	found := make([][]eventtype.Violation, 10)
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
	require.Less(t, peak.Load(), uint64(500<<20))
}
