package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"integrationhub/hub/hubtest"
)

// bench is one run: what all scenarios share.
type bench struct {
	options    runOptions
	dir        string // temporary; a directory in it for each scenario
	executable string // this program
	notes      io.Writer

	hubOnce sync.Once
	hubPath string
	hubErr  error
}

// stage is one service under test with everything around it, all of it fresh.
type stage struct {
	bench    *bench
	dir      string
	cluster  *cluster
	receiver *process
	base     string // of the receiver
	service  service
	program  *process // the service's
	intake   intake
}

// openStage starts PostgreSQL, Redis, the receiver and the service, in a new
// directory. The caller closes the stage.
func openStage(ctx context.Context, b *bench, s service, endpoints int, receiverArgs ...string) (*stage, error) {
	dir, err := os.MkdirTemp(b.dir, "stage-")
	if err != nil {
		return nil, fmt.Errorf("creating directory: %w", err)
	}
	if err := os.Chmod(dir, 0o711); err != nil { // PostgreSQL may run as another user
		return nil, fmt.Errorf("opening directory: %w", err)
	}
	st := &stage{bench: b, dir: dir, service: s}
	if err := st.open(ctx, endpoints, receiverArgs); err != nil {
		st.close()
		return nil, err
	}
	return st, nil
}

func (st *stage) open(ctx context.Context, endpoints int, receiverArgs []string) (err error) {
	if st.cluster, err = startCluster(ctx, st.dir); err != nil {
		return err
	}
	address, err := hubtest.FreeAddress()
	if err != nil {
		return err
	}
	st.base = "http://" + address
	receive := st.bench.self(append([]string{"receive", "--listen", address}, receiverArgs...)...)
	if st.receiver, err = startProcess("receiver", st.dir, receive, syscall.SIGTERM); err != nil {
		return err
	}
	if err := st.receiver.until(ctx, 10*time.Second, answers(st.base+"/control/count")); err != nil {
		return err
	}
	hooks := make([]string, endpoints)
	for i := range hooks {
		hooks[i] = st.base + "/hook/" + strconv.Itoa(i)
	}
	if st.program, st.intake, err = st.service.start(ctx, surroundings{st.dir, st.cluster, hooks}); err != nil {
		return err
	}
	secrets, err := json.Marshal(st.intake.secrets)
	if err != nil {
		return fmt.Errorf("writing secrets: %w", err)
	}
	_, err = st.control(ctx, "/control/secrets", secrets)
	return err
}

// close ends every process and removes the directory, unless it is to be kept.
func (st *stage) close() {
	if st.program != nil {
		st.program.end()
	}
	if st.receiver != nil {
		st.receiver.end()
	}
	if st.cluster != nil {
		st.cluster.end()
	}
	if !st.bench.options.keep {
		_ = os.RemoveAll(st.dir) // what is left of a temporary directory harms nobody
	}
}

// roots gives the process trees whose CPU and memory are counted, by name.
func (st *stage) roots() map[string]int {
	return map[string]int{
		partService:  st.program.pid(),
		partPostgres: st.cluster.postgres.pid(),
		partRedis:    st.cluster.redis.pid(),
		partReceiver: st.receiver.pid(),
	}
}

// control calls the receiver's control interface; a body makes it a POST.
func (st *stage) control(ctx context.Context, path string, body []byte) ([]byte, error) {
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, st.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("making request: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("calling the receiver: %w", err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the receiver's answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("calling the receiver: %s %s: %s", path, resp.Status, raw)
	}
	return raw, nil
}

// count asks the receiver how far it is.
func (st *stage) count(ctx context.Context) (receiverCount, error) {
	var c receiverCount
	raw, err := st.control(ctx, "/control/count", nil)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, fmt.Errorf("reading the receiver's count: %w", err)
	}
	return c, nil
}

// arrivals fetches the receiver's record.
func (st *stage) arrivals(ctx context.Context) ([]Arrival, error) {
	raw, err := st.control(ctx, "/control/record", nil)
	if err != nil {
		return nil, err
	}
	return readRecords[Arrival](raw)
}

// generated is what a generator process left behind.
type generated struct {
	sent    []Sent
	cpu     time.Duration
	peak    int64 // bytes
	summary loadSummary
}

// generate runs a generator process to its end.
func (st *stage) generate(ctx context.Context, l load) (generated, error) {
	var g generated
	out := filepath.Join(st.dir, "sent.bin")
	cmd := st.bench.self("generate", "--url", cmp.Or(l.url, st.intake.url), "--out", out,
		"--connections", strconv.Itoa(l.connections), "--events", strconv.Itoa(l.events),
		"--rate", strconv.FormatFloat(l.rate, 'f', -1, 64), "--size", strconv.Itoa(l.size),
		"--first", strconv.FormatUint(l.first, 10), "--event-type", l.eventType)
	cmd.Env = append(os.Environ(), "BENCH_KEY="+cmp.Or(l.key, st.intake.key), "BENCH_SECRET="+l.secret)
	var printed strings.Builder
	cmd.Stdout = &printed
	p, err := startProcess("generator", st.dir, cmd, syscall.SIGTERM)
	if err != nil {
		return g, err
	}
	defer p.end()
	if err := p.wait(ctx); err != nil {
		return g, err
	}
	g.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	g.peak = peakOf(cmd)
	if err := json.Unmarshal([]byte(printed.String()), &g.summary); err != nil {
		return g, fmt.Errorf("reading the generator's summary: %w", err)
	}
	g.sent, err = loadRecords[Sent](out)
	return g, err
}

// peakOf gives the high-water mark of a process that has ended, in bytes.
func peakOf(cmd *exec.Cmd) int64 {
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return int64(usage.Maxrss) << 10 //nolint:unconvert // an int32 on some systems; Linux counts kilobytes
}

// patience is how long nothing may arrive before waiting for the rest is given
// up: longer than the longest pause between two attempts.
const patience = 40 * time.Second

// arriveAll waits until every promised delivery has arrived, or nothing has for
// the time of patience, and gives the ledger's view and the record behind it.
func (st *stage) arriveAll(ctx context.Context, sent []Sent) (*Balance, []Arrival, error) {
	expected := int64(0)
	for _, s := range sent {
		if s.Accepted() {
			expected += int64(s.Deliveries)
		}
	}
	seen, since := int64(-1), time.Now()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		c, err := st.count(ctx)
		if err != nil {
			return nil, nil, err
		}
		if c.Attempts != seen {
			seen, since = c.Attempts, time.Now()
		}
		stalled := time.Since(since) > patience
		if c.Delivered >= expected || stalled {
			arrivals, err := st.arrivals(ctx)
			if err != nil {
				return nil, nil, err
			}
			if balance := Reckon(sent, arrivals); balance.Lost == 0 || stalled {
				return balance, arrivals, nil
			}
		}
		select {
		case <-tick.C:
		case <-st.program.ended:
			return nil, nil, st.program.failure(errors.New("it ended during the measurement"))
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// settle waits until the service's own log is complete, so that the work of
// writing it is counted.
func (st *stage) settle(ctx context.Context) error {
	c, err := st.count(ctx)
	if err != nil {
		return err
	}
	return st.program.until(ctx, patience, func() error { return st.service.settled(ctx, int(c.Attempts)) })
}
