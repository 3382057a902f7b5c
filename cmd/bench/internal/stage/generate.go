package stage

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"integrationhub/cmd/bench/internal/load"
	"integrationhub/cmd/bench/internal/process"
	"integrationhub/cmd/bench/internal/records"
	"integrationhub/cmd/bench/internal/usage"
)

// Generated is the result of a generator process.
type Generated struct {
	Sent    []records.Sent
	CPU     time.Duration // user and system
	Peak    int64         // bytes
	Summary load.Summary
}

// Generate runs a generator process to its end. The target is the service unless the
// load names another.
func (st *Stage) Generate(ctx context.Context, l load.Spec) (Generated, error) {
	var g Generated
	out := filepath.Join(st.dir, "sent.bin")
	cmd := st.Run.Programs.BenchCommand("generate", "--url", cmp.Or(l.URL, st.target.URL), "--out", out,
		"--connections", strconv.Itoa(l.Connections), "--events", strconv.Itoa(l.Events),
		"--rate", strconv.FormatFloat(l.Rate, 'f', -1, 64), "--size", strconv.Itoa(l.Size),
		"--first", strconv.FormatUint(l.First, 10), "--event-type", l.EventType, "--duration", l.Duration.String(), "--ordering-keys", strconv.Itoa(l.OrderingKeys))
	keys := l.Keys
	if len(keys) == 0 {
		keys = []string{st.target.Key}
	}
	cmd.Env = append(os.Environ(), "BENCH_KEY="+strings.Join(keys, ","), "BENCH_SECRET="+l.Secret)
	var printed strings.Builder
	cmd.Stdout = &printed
	p, err := process.Start("generator", st.dir, cmd, syscall.SIGTERM)
	if err != nil {
		return g, err
	}
	defer p.Stop()
	if err := p.Wait(ctx); err != nil {
		return g, err
	}
	g.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	g.Peak = usage.PeakOfExited(cmd)
	if err := json.Unmarshal([]byte(printed.String()), &g.Summary); err != nil {
		return g, fmt.Errorf("reading the generator's summary: %w", err)
	}
	g.Sent, err = records.Load[records.Sent](out)
	return g, err
}

// GenerateAccepted is Generate; an event that is not accepted is an error.
func (st *Stage) GenerateAccepted(ctx context.Context, l load.Spec) (Generated, error) {
	g, err := st.Generate(ctx, l)
	if err == nil && g.Summary.Accepted != l.Events {
		err = fmt.Errorf("only %d of %d were accepted; statuses: %v", g.Summary.Accepted, l.Events, g.Summary.Statuses)
	}
	return g, err
}
