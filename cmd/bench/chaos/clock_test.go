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
)

// clockShift names the variable, in seconds, by which the clock of a hub under
// test is wrong. Nothing in the hub knows of it: the test's build of the hub has
// a time.Now of its own, so that every library in it is fooled as by a machine's
// wrong clock. Only the wall clock is shifted; timers run as they do.
const clockShift = "CHAOS_CLOCK_SHIFT"

// shiftedClock is appended to the package time of the hub under test.
const shiftedClock = `
var chaosShift = chaosReadShift()

func chaosReadShift() int64 {
	text, _ := syscall.Getenv("` + clockShift + `")
	seconds, _ := atoi(text)
	return int64(seconds)
}

func chaosNow() (sec int64, nsec int32, mono int64) {
	sec, nsec, mono = runtimeNow()
	return sec + chaosShift, nsec, mono
}
`

// clockOverlay writes what `go build -overlay` needs to build a program with a
// clock that can be wrong, and gives the path of the overlay's description.
func clockOverlay(dir string) (string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("asking where Go is: %w", err)
	}
	original := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	raw, err := os.ReadFile(original)
	if err != nil {
		return "", fmt.Errorf("reading Go's clock: %w", err)
	}
	const asks = "sec, nsec, mono := runtimeNow()"
	source := string(raw)
	if strings.Count(source, asks) != 1 || !strings.Contains(source, "\nimport (\n") {
		return "", errors.New("this Go's time.Now is not as the clock test knows it: adapt clockOverlay")
	}
	source = strings.Replace(source, asks, "sec, nsec, mono := chaosNow()", 1) + shiftedClock
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

// clockError is how far the clocks of the hubs are from the database's.
const clockError = time.Hour

// slowType is the type of the events for the endpoint that answers slowly.
const slowType = "chaos.slow"

// Of two replicas one is an hour ahead of the database and the other an hour
// behind. Leases and retries go by the database's clock: nothing is attempted
// twice or early, nothing waits for an hour, and what one of them held when it
// was killed is taken over when its lease ends.
func TestChaosClocksDisagree(t *testing.T) {
	t.Parallel()
	w := newWorld(t, receiver.Options{FailFirst: 0.2, FailStatus: 500})
	ahead, behind := w.newHub("ahead"), w.newHub("behind")
	ahead.clock, behind.clock = clockError, -clockError
	ahead.ready()
	w.furnish(ahead)
	behind.ready()
	for _, h := range []*hubUnderTest{ahead, behind} {
		h.requireClock()
		seen, err := h.command("doctor").Output()
		require.NoError(t, err, "a wrong clock is a warning")
		require.Regexp(t, `(?m)^clock +warning .*differ by -?(1h0m|59m59)`, string(seen))
	}
	_, number := w.endpoint(slowType)
	var slow atomic.Int32
	w.odd[number] = func(*fasthttp.RequestCtx, records.Arrival) uint16 { // nothing is sent yet, so the map has no readers
		slow.Add(1)
		time.Sleep(8 * time.Second) // the other replica looks for work many times meanwhile
		return http.StatusOK
	}
	first := w.publish(ahead.base(), behind.base())
	for n, h := range []*hubUnderTest{ahead, behind} {
		e := chaosEventOf(1<<40+uint64(n), slowType)
		first.post(&fasthttp.HostClient{Addr: h.address}, h.base(), &e)
		require.EqualValues(t, http.StatusAccepted, e.sent.Status)
		first.keep(e)
	}
	loadFor(4 * time.Second)
	sent := first.stop()
	// Nobody died, so no lease has to end.
	t.Logf("settled after %s", w.drain(recoverTime).Round(time.Millisecond))
	require.EqualValues(t, 2, slow.Load(), "an attempt under way is nobody else's")
	gaps := w.retryGaps()
	require.Greater(t, len(gaps), 100)
	t.Logf("%d first retries, after %s (p50 %s) %s", len(gaps), gaps[0], gaps[len(gaps)/2], gaps[len(gaps)-1])
	require.GreaterOrEqual(t, gaps[0], time.Second, "a retry was early")
	require.Less(t, gaps[len(gaps)-1], 10*time.Second, "a retry was late")
	b := w.balance(first, sent)
	require.Zero(t, b.Duplicated)

	second := w.publishFrom(first.next.Load(), ahead.base(), behind.base())
	loadFor(time.Second)
	held := chaosEventOf(1<<41, slowType)
	second.post(&fasthttp.HostClient{Addr: ahead.address}, ahead.base(), &held)
	second.keep(held)
	w.await(recoverTime, "it is being attempted", func() bool { return slow.Load() == 3 })
	ahead.process.Kill()
	killed := time.Now()
	loadFor(time.Second)
	sent = append(sent, second.stop()...)
	drained := w.drain(leaseTime + recoverTime)
	t.Logf("settled %s after the one ahead was killed", time.Since(killed).Round(time.Millisecond))
	require.Less(t, drained, time.Minute)
	require.EqualValues(t, 4, slow.Load(), "the other attempted what the dead one held")
	require.Greater(t, time.Since(killed), leaseTime/2, "not before the lease ended")
	b = w.balance(second, sent)
	require.LessOrEqual(t, b.Duplicated, unstored)
}

// requireClock shows that the hub's clock is as wrong as it should be.
func (h *hubUnderTest) requireClock() {
	t := h.world.t
	t.Helper()
	resp, err := http.Get(h.base() + "/health")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	date, err := http.ParseTime(resp.Header.Get("Date"))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(h.clock), date, 10*time.Second, "the hub's clock")
}

// retryGaps gives the times from each refused arrival to the next one of the same
// delivery, in order.
func (w *world) retryGaps() []time.Duration {
	refused := make(map[records.DeliveryKey]int64)
	var gaps []time.Duration
	for _, a := range w.receiver.Arrivals() {
		key := a.Key()
		if at, again := refused[key]; again {
			gaps = append(gaps, time.Duration(a.ArrivedAt-at))
			delete(refused, key)
		}
		if !a.Delivered() && a.Endpoint < 2 {
			refused[key] = a.ArrivedAt
		}
	}
	slices.Sort(gaps)
	return gaps
}
