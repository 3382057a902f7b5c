package chaos

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"integrationhub/cmd/bench/internal/receiver"
	"integrationhub/cmd/bench/internal/records"
	"integrationhub/hub/hubtest"
)

// clockShiftVariable is the environment variable that shifts the clock of a hub, in
// seconds. The hub does not know it: the test builds the hub with another time.Now, so
// every library sees the wrong time. Only the wall clock is shifted, not timers.
const clockShiftVariable = "CHAOS_CLOCK_SHIFT"

// shiftedClockSource is appended to the package time of the hub under test.
const shiftedClockSource = `
var chaosShift = chaosReadShift()

func chaosReadShift() int64 {
	text, _ := syscall.Getenv("` + clockShiftVariable + `")
	seconds, _ := atoi(text)
	return int64(seconds)
}

func chaosNow() (sec int64, nsec int32, mono int64) {
	sec, nsec, mono = runtimeNow()
	return sec + chaosShift, nsec, mono
}
`

// writeClockOverlay writes the files for `go build -overlay` that build a program with a
// shifted clock. It returns the path of the overlay's description.
func writeClockOverlay(dir string) (string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("asking where Go is: %w", err)
	}
	original := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	raw, err := os.ReadFile(original)
	if err != nil {
		return "", fmt.Errorf("reading Go's clock: %w", err)
	}
	const clockCall = "sec, nsec, mono := runtimeNow()"
	source := string(raw)
	if strings.Count(source, clockCall) != 1 || !strings.Contains(source, "\nimport (\n") {
		return "", errors.New("this Go's time.Now is not as the clock test knows it: adapt clockOverlay")
	}
	source = strings.Replace(source, clockCall, "sec, nsec, mono := chaosNow()", 1) + shiftedClockSource
	source = strings.Replace(source, "\nimport (\n", "\nimport (\n\t\"syscall\"\n", 1)
	changed := filepath.Join(dir, "time.go")
	if err := os.WriteFile(changed, []byte(source), 0o600); err != nil {
		return "", fmt.Errorf("writing a clock: %w", err)
	}
	description, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		return "", fmt.Errorf("writing an overlay: %w", err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, description, 0o600); err != nil {
		return "", fmt.Errorf("writing an overlay: %w", err)
	}
	return overlay, nil
}

// clockDifference is the difference between the hubs' clocks and the database's.
const clockDifference = time.Hour

// slowType is the event type of the endpoint that answers slowly.
const slowType = "chaos.slow"

// Of two replicas one is an hour ahead of the database and the other an hour
// behind. Leases and retries go by the database's clock: nothing is attempted
// twice or early, nothing waits for an hour, and what a killed
// replica held is delivered by the other when the lease ends.
func TestChaosClocksDisagree(t *testing.T) {
	t.Parallel()
	bed := newTestbed(t, receiver.Options{FailFirst: 0.2, FailStatus: 500})
	ahead, behind := bed.newReplica("ahead"), bed.newReplica("behind")
	ahead.clockOffset, behind.clockOffset = clockDifference, -clockDifference
	ahead.startReady()
	bed.setUp(ahead)
	behind.startReady()
	for _, h := range []*replica{ahead, behind} {
		h.requireClock()
		seen, err := h.command("doctor").Output()
		require.NoError(t, err, "a wrong clock is a warning: %s", seen)
		require.Regexp(t, `(?m)^clock +warning .*differ by -?(1h0m|59m59)`, string(seen))
	}
	_, number := bed.subscribe(slowType)
	var slow atomic.Int32
	bed.responders[number] = func(*fasthttp.RequestCtx, records.Arrival) uint16 { // nothing is sent yet, so the map has no readers
		slow.Add(1)
		time.Sleep(8 * time.Second) // the other replica looks for work many times meanwhile
		return http.StatusOK
	}
	first := bed.startPublisher(ahead.baseURL(), behind.baseURL())
	for n, h := range []*replica{ahead, behind} {
		event := newEventOfType(1<<40+uint64(n), slowType)
		first.post(&fasthttp.HostClient{Addr: h.address}, h.baseURL(), &event)
		require.EqualValues(t, http.StatusAccepted, event.sent.Status)
		first.record(event)
	}
	runLoad(4 * time.Second)
	sent := first.stop()
	// No replica died, so no lease has to end.
	t.Logf("settled after %s", bed.awaitSettled(recoveryTime).Round(time.Millisecond))
	require.EqualValues(t, 2, slow.Load(), "an attempt under way is nobody else's")
	gaps := bed.retryGaps()
	require.Greater(t, len(gaps), 20, "enough to see; a busy machine makes fewer")
	t.Logf("%d first retries, after %s (p50 %s) %s", len(gaps), gaps[0], gaps[len(gaps)/2], gaps[len(gaps)-1])
	require.GreaterOrEqual(t, gaps[0], time.Second, "a retry was early")
	require.Less(t, gaps[len(gaps)-1], 10*time.Second, "a retry was late")
	balance := bed.requireBalance(first, sent)
	require.Zero(t, balance.Duplicated)

	second := bed.startPublisherFrom(first.next.Load(), ahead.baseURL(), behind.baseURL())
	runLoad(time.Second)
	held := newEventOfType(1<<41, slowType)
	second.post(&fasthttp.HostClient{Addr: ahead.address}, ahead.baseURL(), &held)
	second.record(held)
	bed.await(recoveryTime, "it is being attempted", func() bool { return slow.Load() == 3 })
	ahead.process.Kill()
	killed := time.Now()
	runLoad(time.Second)
	sent = append(sent, second.stop()...)
	drained := bed.awaitSettled(leaseTime + recoveryTime)
	t.Logf("settled %s after the one ahead was killed", time.Since(killed).Round(time.Millisecond))
	require.Less(t, drained, time.Minute)
	require.EqualValues(t, 4, slow.Load(), "the other attempted what the dead one held")
	require.Greater(t, time.Since(killed), leaseTime/2, "not before the lease ended")
	balance = bed.requireBalance(second, sent)
	require.LessOrEqual(t, balance.Duplicated, maxUnstored)
}

// requireClock fails the test unless the hub's clock is shifted as intended.
func (h *replica) requireClock() {
	t := h.bed.t
	t.Helper()
	resp, err := hubtest.HTTPClient.Get(h.baseURL() + "/health")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	date, err := http.ParseTime(resp.Header.Get("Date"))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(h.clockOffset), date, 10*time.Second, "the hub's clock")
}

// retryGaps returns the sorted times from each refused arrival to the next of the same
// delivery.
func (bed *testbed) retryGaps() []time.Duration {
	refused := make(map[records.DeliveryKey]int64)
	var gaps []time.Duration
	for _, arrival := range bed.receiver.Arrivals() {
		key := arrival.Key()
		if at, again := refused[key]; again {
			gaps = append(gaps, time.Duration(arrival.ArrivedAt-at))
			delete(refused, key)
		}
		if !arrival.Delivered() && arrival.Endpoint < 2 {
			refused[key] = arrival.ArrivedAt
		}
	}
	slices.Sort(gaps)
	return gaps
}
