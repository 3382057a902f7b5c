package chaos

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"integrationhub/cmd/bench/internal/benchtest"
	"integrationhub/cmd/bench/internal/hubapi"
	"integrationhub/cmd/bench/internal/process"
	"integrationhub/cmd/bench/internal/receiver"
	"integrationhub/cmd/bench/internal/records"
	"integrationhub/hub/hubtest"
)

// Limits of the hubs under test, small so that queues are full at a kill.
const (
	attemptsInFlight = 16 // HUB_DELIVERY_CONCURRENCY
	endpointInFlight = 8  // HUB_ENDPOINT_CONCURRENCY
)

// How long chaos may last. A test says in its log how long it did.
const (
	leaseTime    = 30 * time.Second // after which other hubs get what a killed one held
	recoveryTime = time.Minute      // for what follows, on a busy machine
)

// goneType is the event type of the endpoint that answers 410.
const goneType = "chaos.gone"

// hubBinary builds the hub once, with failpoints and a clock that can be shifted.
var hubBinary = sync.OnceValues(func() (string, error) {
	dir, err := hubtest.SharedDir("clock")
	if err != nil {
		return "", err
	}
	overlay, err := writeClockOverlay(dir)
	if err != nil {
		return "", err
	}
	return hubtest.BuildProgram("hub-chaos", "integrationhub/cmd/hub", "-tags", "failpoint", "-overlay", overlay)
})

// testbed is what one test uses: a durable PostgreSQL, a Redis, a recording receiver, and
// hubs that share them.
type testbed struct {
	t            *testing.T
	dir          string
	postgres     *hubtest.PostgresServer
	redis        *hubtest.OwnedRedisServer
	pool         *pgxpool.Pool
	receiver     *receiver.Receiver
	receiverURL  string               // base URL of the receiver's endpoints
	responders   map[uint32]responder // of endpoints that do not answer like the receiver
	hubSettings  []string             // more settings of the hubs, "HUB_…=…"
	masterKey    string               // master key all hubs share
	password     string               // of the operator
	api          hubapi.Client
	apiKey       string
	tenant       string
	goneEndpoint string // id of the endpoint that answers 410
	eventBytes   int    // of each event's data
	unparked     int    // deliveries that were parked and later settled
	isResending  bool   // delivered ones are sent again during the test
	isDraining   bool   // parked deliveries drain by themselves during the test
	replicas     []*replica
}

// newTestbed starts everything but hubs. The options are the receiver's; its
// endpoint 2 answers 410.
func newTestbed(t *testing.T, options receiver.Options) *testbed {
	t.Helper()
	return newTestbedOn(t, hubtest.StartPostgres(t), options)
}

func newTestbedOn(t *testing.T, postgres *hubtest.PostgresServer, options receiver.Options) *testbed {
	t.Helper()
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	bed := &testbed{
		t: t, eventBytes: defaultEventBytes, dir: t.TempDir(), postgres: postgres, redis: hubtest.StartRedis(t),
		responders: map[uint32]responder{2: answerGone}, masterKey: base64.StdEncoding.EncodeToString(key), password: rand.Text(),
	}
	var err error
	bed.pool, err = pgxpool.New(t.Context(), bed.postgres.URL())
	require.NoError(t, err)
	t.Cleanup(bed.pool.Close)
	options.VerifyEvery = 1
	bed.receiver = receiver.New(options)
	bed.receiverURL = benchtest.ServeHTTP(t, bed.handle)
	return bed
}

// responder answers one request of an endpoint and returns the status to record.
type responder func(c *fasthttp.RequestCtx, a records.Arrival) uint16

func answerGone(c *fasthttp.RequestCtx, _ records.Arrival) uint16 {
	c.SetStatusCode(fasthttp.StatusGone)
	return fasthttp.StatusGone
}

// handle serves the endpoints of responders, and passes the others to the receiver.
func (bed *testbed) handle(request *fasthttp.RequestCtx) {
	number, _ := strings.CutPrefix(string(request.Path()), "/hook/")
	endpoint, err := strconv.ParseUint(number, 10, 32)
	behave, odd := bed.responders[uint32(endpoint)]
	if err != nil || !odd {
		bed.receiver.Handle(request)
		return
	}
	arrival := bed.receiver.NewArrival(request, uint32(endpoint))
	arrival.Status = behave(request, arrival)
	bed.receiver.Record(arrival)
}

// replica is one hub process. Its address stays the same over restarts.
type replica struct {
	bed         *testbed
	name        string
	address     string
	clockOffset time.Duration // how far its clock is ahead of the database's, whole seconds
	process     *hubtest.Process
}

// newReplica makes a replica that is not started yet.
func (bed *testbed) newReplica(name string) *replica {
	bed.t.Helper()
	address, err := hubtest.FreeAddress()
	require.NoError(bed.t, err)
	h := &replica{bed: bed, name: name, address: address}
	bed.replicas = append(bed.replicas, h)
	return h
}

func (h *replica) baseURL() string { return "http://" + h.address }

// start starts the replica; it is killed when it reaches the failpoint
// ("name:n"), if one is given.
func (h *replica) start(failpoint string) {
	h.bed.t.Helper()
	cmd := h.command("serve")
	cmd.Env = append(cmd.Env, "HUB_FAILPOINT="+failpoint)
	h.process = hubtest.RunProcess(h.bed.t, h.name, h.bed.dir, cmd)
}

// command returns a command of the hub's program with the replica's settings and clock.
func (h *replica) command(args ...string) *exec.Cmd {
	bed := h.bed
	bed.t.Helper()
	binary, err := hubBinary()
	require.NoError(bed.t, err)
	cmd := exec.Command(binary, args...)
	cmd.Dir = bed.dir
	cmd.Env = append(process.WithoutHubSettings(os.Environ()),
		"HUB_ENV=development",
		"HUB_LISTEN="+h.address,
		"HUB_DATA_DIR="+filepath.Join(bed.dir, h.name),
		"HUB_DATABASE_URL="+bed.postgres.URL(),
		"HUB_REDIS_URL="+bed.redis.URL(),
		"HUB_MASTER_KEY="+bed.masterKey,
		"HUB_ADMIN_EMAIL="+hubapi.AdminEmail,
		"HUB_ADMIN_PASSWORD="+bed.password,
		"HUB_DELIVERY_CONCURRENCY="+strconv.Itoa(attemptsInFlight),
		"HUB_ENDPOINT_CONCURRENCY="+strconv.Itoa(endpointInFlight),
		clockShiftVariable+"="+strconv.Itoa(int(h.clockOffset/time.Second)),
	)
	cmd.Env = append(cmd.Env, bed.hubSettings...) // of two values the last one counts
	return cmd
}

// startReady starts the replica and returns when it answers.
func (h *replica) startReady() time.Duration {
	h.bed.t.Helper()
	_, err := hubBinary() // building it does not count
	require.NoError(h.bed.t, err)
	began := time.Now()
	h.start("")
	h.awaitReady()
	return time.Since(began)
}

func (h *replica) awaitReady() {
	h.bed.t.Helper()
	check := process.RespondsOK(h.baseURL() + "/ready")
	h.bed.await(leaseTime, "hub "+h.name+" is ready", func() bool {
		select {
		case <-h.process.Exited():
			require.Fail(h.bed.t, "hub "+h.name+" ended", h.process.LogTail())
		default:
		}
		return check() == nil
	})
}

// awaitKilled waits until the replica was killed at a failpoint.
func (h *replica) awaitKilled(place string) {
	h.bed.t.Helper()
	select {
	case <-h.process.Exited():
	case <-time.After(leaseTime + recoveryTime):
		require.Fail(h.bed.t, "never reached "+place, h.process.LogTail())
	}
	require.True(h.bed.t, h.process.Killed(), "at %s the hub ended by itself: %s", place, h.process.LogTail())
}

// await polls until a condition holds, and returns how long that took.
func (bed *testbed) await(limit time.Duration, what string, holds func() bool) time.Duration {
	bed.t.Helper()
	began := time.Now()
	for !holds() {
		if time.Since(began) > limit {
			for _, replica := range bed.replicas {
				if replica.process != nil {
					bed.t.Logf("hub %s says:\n%s", replica.name, replica.process.LogTail())
				}
			}
			require.Fail(bed.t, "waited in vain", "%s, within %s", what, limit)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(began)
}

// setUp makes the product, the tenant, the key and the endpoints through the
// API of a ready hub: two that are subscribed to everything, and one that answers 410.
func (bed *testbed) setUp(h *replica) {
	bed.t.Helper()
	ctx := bed.t.Context()
	bed.api.BaseURL = h.baseURL()
	var err error
	hooks := []string{bed.receiverURL + "/hook/0", bed.receiverURL + "/hook/1"}
	require.NoError(bed.t, bed.api.SignIn(ctx, bed.password))
	var secrets []string
	bed.apiKey, secrets, err = bed.api.SetUp(ctx, hooks)
	require.NoError(bed.t, err)
	var tenants struct {
		Items []struct {
			ID string `json:"id"`
		} `json:"items"`
	}
	require.NoError(bed.t, bed.api.Call(ctx, http.MethodGet, "/tenants", nil, &tenants))
	require.Len(bed.t, tenants.Items, 1)
	bed.tenant = tenants.Items[0].ID
	bed.receiver.SetSecrets(secrets)
	bed.goneEndpoint, _ = bed.subscribe(goneType)
}

// subscribe subscribes the receiver's next endpoint to event types; it returns its
// id and its number.
func (bed *testbed) subscribe(types ...string) (id string, number uint32) {
	bed.t.Helper()
	secrets := bed.receiver.Secrets()
	number = uint32(len(secrets))
	var made struct {
		ID     string `json:"id"`
		Secret string `json:"secret"`
	}
	body := map[string]any{"tenant_id": bed.tenant, "url": fmt.Sprintf("%s/hook/%d", bed.receiverURL, number), "event_types": types}
	require.NoError(bed.t, bed.api.Call(bed.t.Context(), http.MethodPost, "/endpoints", body, &made))
	bed.receiver.SetSecrets(append(slices.Clip(secrets), made.Secret))
	return made.ID, number
}

// reenableEndpoints keeps enabling endpoints that were disabled by a 410, until stop is called.
func (bed *testbed) reenableEndpoints() (stop func()) {
	ctx, cancel := context.WithCancel(bed.t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				// By SQL: the hubs are down half of the time. An error is tried again.
				_, _ = bed.pool.Exec(ctx, `update hub.endpoints set enabled = true, disabled_reason = null where not enabled`)
			}
		}
	})
	return func() {
		cancel()
		done.Wait()
	}
}

// queryInt runs a query that returns one number.
func (bed *testbed) queryInt(query string, args ...any) int {
	bed.t.Helper()
	var n int
	require.NoError(bed.t, bed.pool.QueryRow(bed.t.Context(), query, args...).Scan(&n))
	return n
}

// awaitSettled waits until no delivery is pending, and returns how long that took.
func (bed *testbed) awaitSettled(limit time.Duration) time.Duration {
	bed.t.Helper()
	return bed.await(limit, "no delivery is pending", func() bool {
		return bed.queryInt(`select count(*) from ((select from hub.deliveries where status = 0 limit 1) union all (select from hub.leases limit 1)) d`) == 0
	})
}

// requireNotLogged fails the test when a hub's log has one of the words.
func (bed *testbed) requireNotLogged(words ...string) {
	bed.t.Helper()
	for _, replica := range bed.replicas {
		raw, err := os.ReadFile(filepath.Join(bed.dir, replica.name+".log"))
		require.NoError(bed.t, err)
		for _, word := range words {
			if at := strings.Index(string(raw), word); at >= 0 {
				line, _, _ := strings.Cut(string(raw[at:]), "\n")
				require.Fail(bed.t, "hub "+replica.name+" logged", line)
			}
		}
	}
}

func statusOf(url string) (int, error) {
	client := &http.Client{Timeout: 5 * time.Second}
	resp, err := client.Get(url)
	if err != nil {
		return 0, fmt.Errorf("asking %s: %w", url, err)
	}
	return resp.StatusCode, resp.Body.Close()
}

// runLoad waits while the publisher goes on: a fault lasts for some time under load.
func runLoad(d time.Duration) { time.Sleep(d) }
