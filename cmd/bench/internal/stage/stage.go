// Package stage runs a service together with its databases, the generator and the receiver.
package stage

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"integrationhub/cmd/bench/internal/cluster"
	"integrationhub/cmd/bench/internal/process"
	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/service"
	"integrationhub/cmd/bench/internal/usage"
	"integrationhub/hub/hubtest"
)

// Stage is a service under test with its own PostgreSQL, Redis and receiver.
type Stage struct {
	Run         *Run
	dir         string
	Cluster     *cluster.Cluster
	receiver    *process.Process
	receiverURL string
	Service     service.Service
	Process     *process.Process // of the service
	target      service.Target
}

// Open starts PostgreSQL, Redis, the receiver and the service in a new directory.
// The caller closes the stage.
func Open(ctx context.Context, run *Run, s service.Service, endpoints int, receiverArgs ...string) (*Stage, error) {
	dir, err := os.MkdirTemp(run.Dir, "stage-")
	if err != nil {
		return nil, fmt.Errorf("creating directory: %w", err)
	}
	if err := os.Chmod(dir, 0o711); err != nil { // PostgreSQL may run as another user
		return nil, fmt.Errorf("opening directory: %w", err)
	}
	st := &Stage{Run: run, dir: dir, Service: s}
	if err := st.open(ctx, endpoints, receiverArgs); err != nil {
		st.Close()
		return nil, err
	}
	return st, nil
}

func (st *Stage) open(ctx context.Context, endpoints int, receiverArgs []string) (err error) {
	if st.Cluster, err = cluster.Start(ctx, st.dir); err != nil {
		return err
	}
	address, err := hubtest.FreeAddress()
	if err != nil {
		return err
	}
	st.receiverURL = "http://" + address
	receive := st.Run.Programs.BenchCommand(append([]string{"receive", "--listen", address}, receiverArgs...)...)
	if st.receiver, err = process.Start("receiver", st.dir, receive, syscall.SIGTERM); err != nil {
		return err
	}
	if err := st.receiver.WaitUntil(ctx, 10*time.Second, process.RespondsOK(st.receiverURL+"/control/count")); err != nil {
		return err
	}
	hooks := make([]string, endpoints)
	for i := range hooks {
		hooks[i] = st.HookURL(i)
	}
	if st.Process, st.target, err = st.Service.Start(ctx, service.Environment{Dir: st.dir, Cluster: st.Cluster, Hooks: hooks}); err != nil {
		return err
	}
	secrets, err := json.Marshal(st.target.Secrets)
	if err != nil {
		return fmt.Errorf("writing secrets: %w", err)
	}
	_, err = st.control(ctx, "/control/secrets", secrets)
	return err
}

// Close stops every process and removes the directory, unless it is to be kept.
func (st *Stage) Close() {
	if st.Process != nil {
		st.Process.Stop()
	}
	if st.receiver != nil {
		st.receiver.Stop()
	}
	if st.Cluster != nil {
		st.Cluster.Stop()
	}
	if !st.Run.Options.Keep {
		_ = os.RemoveAll(st.dir) // a temporary directory may stay
	}
}

// ProcessTrees returns the process trees whose CPU and memory are measured, by part.
func (st *Stage) ProcessTrees() map[string]int {
	return map[string]int{
		report.PartService:  st.Process.PID(),
		report.PartPostgres: st.Cluster.Postgres.PID(),
		report.PartRedis:    st.Cluster.Redis.PID(),
		report.PartReceiver: st.receiver.PID(),
	}
}

// ReadCPU reads the CPU time of the stage's processes and of the machine.
func (st *Stage) ReadCPU() (usage.Reading, error) { return usage.Read(st.ProcessTrees()) }

// Secret returns the signing secret of the receiver's n-th endpoint.
func (st *Stage) Secret(n int) string { return st.target.Secrets[n] }

// HookURL returns the URL of the receiver's n-th endpoint.
func (st *Stage) HookURL(n int) string { return st.receiverURL + "/hook/" + strconv.Itoa(n) }
