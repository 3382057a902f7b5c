package chaos

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/cmd/bench/internal/receiver"
	"integrationhub/hub/hubtest"
)

// While the database's disk is full nothing is accepted that could be lost; when
// there is room again everything goes on without anybody's help. Who may not mount
// a small disk tries in a namespace, and without those lets no file grow.
func TestChaosDiskFull(t *testing.T) {
	t.Parallel()
	disk, ok := hubtest.SmallDisk(t, 256)
	if !ok && hubtest.RunInMountNamespace(t) {
		return
	}
	if !ok {
		filesCannotGrow(t)
		return
	}
	ballast := filepath.Join(disk, "ballast")
	w := newWorldOn(t, hubtest.StartPostgresIn(t, disk), receiver.Options{FailFirst: 0.05, FailStatus: 500})
	w.withoutRoom(func() { fill(t, disk, ballast, 4<<20) }, func() { require.NoError(t, os.Remove(ballast)) })
}

// The same where it is not the disk that is full but a quota or a limit of the
// size of files that stops tables from growing. It takes no rights.
func TestChaosFilesCannotGrow(t *testing.T) {
	t.Parallel()
	filesCannotGrow(t)
}

func filesCannotGrow(t *testing.T) {
	t.Helper()
	const limit = 16 << 20 // a segment of PostgreSQL's own log must fit
	w := newWorld(t, receiver.Options{FailFirst: 0.05, FailStatus: 500})
	w.eventBytes = 1800 // else tables take long to reach it; more would be stored apart
	w.withoutRoom(func() { w.postgres.LimitFiles(strconv.Itoa(limit)) }, func() { w.postgres.LimitFiles(hubtest.UnlimitedFileSize) })
}

// withoutRoom takes the room away from the database under load and gives it back.
func (w *world) withoutRoom(take, giveBack func()) {
	t := w.t
	t.Helper()
	h := w.newHub("a")
	h.ready()
	w.furnish(h)
	p := w.publish(h.base())
	loadFor(time.Second)
	take()
	before := p.answered(h.base())[http.StatusServiceUnavailable]
	full := w.await(2*leaseTime, "there is no room", func() bool {
		return p.answered(h.base())[http.StatusServiceUnavailable] > before+100
	})
	loadFor(2 * time.Second)
	giveBack()
	loadFor(500 * time.Millisecond)
	ended := w.postgres.RestartIfEnded()
	healed := time.Now()
	took := w.await(10*time.Second, "events are accepted again", func() bool {
		_, again := p.acceptedAfter(healed)
		return again
	})
	t.Logf("full after %s; PostgreSQL ended over it: %v; accepting %s after there was room again",
		full.Round(time.Millisecond), ended, took.Round(time.Millisecond))
	sent := p.stop()
	t.Logf("answers: %v; settled after %s", p.answered(h.base()), w.drain(leaseTime+recoverTime).Round(time.Millisecond))
	b := w.balance(p, sent)
	require.LessOrEqual(t, b.Duplicated, unstored)
}

// fill writes a file until only so many bytes of a disk are free.
func fill(t *testing.T, disk, path string, free int64) {
	t.Helper()
	var stat syscall.Statfs_t
	require.NoError(t, syscall.Statfs(disk, &stat))
	size := int64(stat.Bavail)*stat.Bsize - free
	require.Positive(t, size)
	file, err := os.Create(path)
	require.NoError(t, err)
	defer file.Close()
	if _, err := io.CopyN(file, zeros{}, size); !errors.Is(err, syscall.ENOSPC) {
		require.NoError(t, err)
	}
}
