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

// Bounds of the hubs under test, small so that a kill finds queues filled.
const (
	attemptsInFlight = 16 // HUB_DELIVERY_CONCURRENCY
	endpointInFlight = 8  // HUB_ENDPOINT_CONCURRENCY
)

// Times of the design that the tests hold the hub to.
const (
	leaseTime   = 30 * time.Second // then what a killed hub held belongs to the others
	recoverTime = 15 * time.Second // for the retries of what was taken up again
)

// goneType is the type of the events that the endpoint answering 410 subscribed to.
const goneType = "chaos.gone"

// chaosBinary builds the hub with its failpoints and a clock that can be wrong, once.
var chaosBinary = sync.OnceValues(func() (string, error) {
	dir, err := hubtest.SharedDir("hub")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "hub")
	overlay, err := clockOverlay(dir)
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-tags", "failpoint", "-overlay", overlay, "-o", binary, "integrationhub/cmd/hub")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the hub: %w\n%s", err, out)
	}
	return binary, nil
})

// world is what one test torments: a durable PostgreSQL and a Redis of its own,
// a receiver that records, and hubs that share them.
type world struct {
	t          *testing.T
	dir        string
	postgres   *hubtest.PostgresServer
	redis      *hubtest.OwnedRedisServer
	pool       *pgxpool.Pool
	receiver   *receiver.Receiver
	hooks      string               // base URL of the receiver's endpoints
	odd        map[uint32]behaviour // endpoints that answer something else than the receiver would
	settings   []string             // more settings of the hubs, "HUB_…=…"
	master     string               // master key all hubs share
	password   string               // of the operator
	api        hubapi.Client
	apiKey     string
	tenant     string
	gone       string // id of the endpoint that answers 410
	eventBytes int    // of each event's data
	released   int    // deliveries that left the park again
	hubs       []*hubUnderTest
}

// newWorld starts everything but hubs. The receiver behaves as o says; its
// endpoint 2 answers 410.
func newWorld(t *testing.T, o receiver.Options) *world {
	t.Helper()
	return newWorldOn(t, hubtest.StartPostgres(t), o)
}

func newWorldOn(t *testing.T, postgres *hubtest.PostgresServer, o receiver.Options) *world {
	t.Helper()
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	w := &world{
		t: t, eventBytes: publisherBytes, dir: t.TempDir(), postgres: postgres, redis: hubtest.StartRedis(t),
		odd: map[uint32]behaviour{2: answerGone}, master: base64.StdEncoding.EncodeToString(key), password: rand.Text(),
	}
	var err error
	w.pool, err = pgxpool.New(t.Context(), w.postgres.URL())
	require.NoError(t, err)
	t.Cleanup(w.pool.Close)
	o.VerifyEvery = 1
	w.receiver = receiver.New(o)
	w.hooks = benchtest.ServeHTTP(t, w.handle)
	return w
}

// behaviour answers one request of an endpoint and gives the status it counts as.
type behaviour func(c *fasthttp.RequestCtx, a records.Arrival) uint16

func answerGone(c *fasthttp.RequestCtx, _ records.Arrival) uint16 {
	c.SetStatusCode(fasthttp.StatusGone)
	return fasthttp.StatusGone
}

// handle is the receiver with the odd endpoints among its own.
func (w *world) handle(c *fasthttp.RequestCtx) {
	number, _ := strings.CutPrefix(string(c.Path()), "/hook/")
	endpoint, err := strconv.ParseUint(number, 10, 32)
	behave, odd := w.odd[uint32(endpoint)]
	if err != nil || !odd {
		w.receiver.Handle(c)
		return
	}
	arrival := w.receiver.NewArrival(c, uint32(endpoint))
	arrival.Status = behave(c, arrival)
	w.receiver.Record(arrival)
}

// hubUnderTest is one replica: its address stays over restarts.
type hubUnderTest struct {
	world   *world
	name    string
	address string
	clock   time.Duration // how far its clock is ahead of the database's, whole seconds
	process *hubtest.Process
}

// newHub makes a replica that is not started yet.
func (w *world) newHub(name string) *hubUnderTest {
	w.t.Helper()
	address, err := hubtest.FreeAddress()
	require.NoError(w.t, err)
	h := &hubUnderTest{world: w, name: name, address: address}
	w.hubs = append(w.hubs, h)
	return h
}

func (h *hubUnderTest) base() string { return "http://" + h.address }

// start starts the replica; it is killed when it reaches the failpoint
// ("name:n"), if one is given.
func (h *hubUnderTest) start(failpoint string) {
	h.world.t.Helper()
	cmd := h.command("serve")
	cmd.Env = append(cmd.Env, "HUB_FAILPOINT="+failpoint)
	h.process = hubtest.RunProcess(h.world.t, h.name, h.world.dir, cmd)
}

// command makes a command of the hub's program with the replica's settings and clock.
func (h *hubUnderTest) command(args ...string) *exec.Cmd {
	w := h.world
	w.t.Helper()
	binary, err := chaosBinary()
	require.NoError(w.t, err)
	cmd := exec.Command(binary, args...)
	cmd.Dir = w.dir
	cmd.Env = append(process.WithoutHubSettings(os.Environ()),
		"HUB_ENV=development",
		"HUB_LISTEN="+h.address,
		"HUB_DATA_DIR="+filepath.Join(w.dir, h.name),
		"HUB_DATABASE_URL="+w.postgres.URL(),
		"HUB_REDIS_URL="+w.redis.URL(),
		"HUB_MASTER_KEY="+w.master,
		"HUB_ADMIN_EMAIL="+hubapi.AdminEmail,
		"HUB_ADMIN_PASSWORD="+w.password,
		"HUB_DELIVERY_CONCURRENCY="+strconv.Itoa(attemptsInFlight),
		"HUB_ENDPOINT_CONCURRENCY="+strconv.Itoa(endpointInFlight),
		clockShift+"="+strconv.Itoa(int(h.clock/time.Second)),
	)
	cmd.Env = append(cmd.Env, w.settings...) // of two values the last one counts
	return cmd
}

// ready starts the replica and returns when it answers.
func (h *hubUnderTest) ready() time.Duration {
	h.world.t.Helper()
	_, err := chaosBinary() // building it is no part of the time
	require.NoError(h.world.t, err)
	began := time.Now()
	h.start("")
	h.awaitReady()
	return time.Since(began)
}

func (h *hubUnderTest) awaitReady() {
	h.world.t.Helper()
	check := process.RespondsOK(h.base() + "/ready")
	h.world.await(leaseTime, "hub "+h.name+" is ready", func() bool {
		select {
		case <-h.process.Exited():
			require.Fail(h.world.t, "hub "+h.name+" ended", h.process.LogTail())
		default:
		}
		return check() == nil
	})
}

// await polls until a condition of the outside world holds.
func (w *world) await(limit time.Duration, what string, holds func() bool) time.Duration {
	w.t.Helper()
	began := time.Now()
	for !holds() {
		if time.Since(began) > limit {
			for _, h := range w.hubs {
				if h.process != nil {
					w.t.Logf("hub %s says:\n%s", h.name, h.process.LogTail())
				}
			}
			require.Fail(w.t, "waited in vain", "%s, within %s", what, limit)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(began)
}

// furnish makes the product, the tenant, the key and the endpoints through the
// API of a ready hub: two that take everything and one that is gone.
func (w *world) furnish(h *hubUnderTest) {
	w.t.Helper()
	ctx := w.t.Context()
	w.api.BaseURL = h.base()
	var err error
	hooks := []string{w.hooks + "/hook/0", w.hooks + "/hook/1"}
	require.NoError(w.t, w.api.SignIn(ctx, w.password))
	var secrets []string
	w.apiKey, secrets, err = w.api.SetUp(ctx, hooks)
	require.NoError(w.t, err)
	var tenants struct {
		Items []struct {
			ID string `json:"id"`
		} `json:"items"`
	}
	require.NoError(w.t, w.api.Call(ctx, http.MethodGet, "/tenants", nil, &tenants))
	require.Len(w.t, tenants.Items, 1)
	w.tenant = tenants.Items[0].ID
	w.receiver.SetSecrets(secrets)
	w.gone, _ = w.endpoint(goneType)
}

// endpoint subscribes the receiver's next endpoint to event types; it returns its
// id and its number.
func (w *world) endpoint(types ...string) (id string, number uint32) {
	w.t.Helper()
	secrets := w.receiver.Secrets()
	number = uint32(len(secrets))
	var made struct {
		ID     string `json:"id"`
		Secret string `json:"secret"`
	}
	body := map[string]any{"tenant_id": w.tenant, "url": fmt.Sprintf("%s/hook/%d", w.hooks, number), "event_types": types}
	require.NoError(w.t, w.api.Call(w.t.Context(), http.MethodPost, "/endpoints", body, &made))
	w.receiver.SetSecrets(append(slices.Clip(secrets), made.Secret))
	return made.ID, number
}

// revive enables the endpoints that answered 410 again and again until stop is called.
func (w *world) revive() (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
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
				_, _ = w.pool.Exec(ctx, `update hub.endpoints set enabled = true, disabled_reason = null where not enabled`)
			}
		}
	})
	return func() {
		cancel()
		done.Wait()
	}
}

// count asks the database for one number.
func (w *world) count(query string, args ...any) int {
	w.t.Helper()
	var n int
	require.NoError(w.t, w.pool.QueryRow(w.t.Context(), query, args...).Scan(&n))
	return n
}

// drain waits until no delivery is pending, and tells how long that took.
func (w *world) drain(limit time.Duration) time.Duration {
	w.t.Helper()
	return w.await(limit, "no delivery is pending", func() bool {
		return w.count(`select count(*) from ((select from hub.deliveries where status = 0 limit 1) union all (select from hub.leases limit 1)) d`) == 0
	})
}

// failIfLogged fails when the hubs wrote something to their logs they never should.
func (w *world) failIfLogged(words ...string) {
	w.t.Helper()
	for _, h := range w.hubs {
		raw, err := os.ReadFile(filepath.Join(w.dir, h.name+".log"))
		require.NoError(w.t, err)
		for _, word := range words {
			if at := strings.Index(string(raw), word); at >= 0 {
				line, _, _ := strings.Cut(string(raw[at:]), "\n")
				require.Fail(w.t, "hub "+h.name+" logged", line)
			}
		}
	}
}
