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
// there is room again everything goes on by itself. Where the user may not mount a small
// disk, it is mounted in a namespace; else the size of files is limited instead.
func TestChaosDiskFull(t *testing.T) {
	t.Parallel()
	disk, ok := hubtest.SmallDisk(t, 256)
	if !ok && hubtest.RunInMountNamespace(t) {
		return
	}
	if !ok {
		requireSurvivesFileLimit(t)
		return
	}
	ballast := filepath.Join(disk, "ballast")
	bed := newTestbedOn(t, hubtest.StartPostgresIn(t, disk), receiver.Options{FailFirst: 0.05, FailStatus: 500})
	bed.requireSurvivesFullDisk(func() { fillDisk(t, disk, ballast, 4<<20) }, func() { require.NoError(t, os.Remove(ballast)) })
}

// The same with a limit of the size of files instead of a full disk. It needs no
// privileges.
func TestChaosFilesCannotGrow(t *testing.T) {
	t.Parallel()
	requireSurvivesFileLimit(t)
}

func requireSurvivesFileLimit(t *testing.T) {
	t.Helper()
	const limit = 16 << 20 // a segment of PostgreSQL's own log must fit
	bed := newTestbed(t, receiver.Options{FailFirst: 0.05, FailStatus: 500})
	bed.eventBytes = 1800 // else tables take long to reach it; more would be stored apart
	bed.requireSurvivesFullDisk(func() { bed.postgres.LimitFiles(strconv.Itoa(limit)) }, func() { bed.postgres.LimitFiles(hubtest.UnlimitedFileSize) })
}

// requireSurvivesFullDisk fills the database's disk under load and empties it again.
func (bed *testbed) requireSurvivesFullDisk(take, giveBack func()) {
	t := bed.t
	t.Helper()
	replica := bed.newReplica("a")
	replica.startReady()
	bed.setUp(replica)
	publisher := bed.startPublisher(replica.baseURL())
	runLoad(time.Second)
	take()
	before := publisher.responseCounts(replica.baseURL())[http.StatusServiceUnavailable]
	full := bed.await(6*leaseTime, "there is no room", func() bool {
		return publisher.responseCounts(replica.baseURL())[http.StatusServiceUnavailable] > before+100
	})
	runLoad(2 * time.Second)
	giveBack()
	runLoad(500 * time.Millisecond)
	ended := bed.postgres.RestartIfEnded()
	healed := time.Now()
	took := bed.await(10*time.Second, "events are accepted again", func() bool {
		_, again := publisher.firstAcceptedAfter(healed)
		return again
	})
	t.Logf("full after %s; PostgreSQL ended over it: %v; accepting %s after there was room again",
		full.Round(time.Millisecond), ended, took.Round(time.Millisecond))
	sent := publisher.stop()
	t.Logf("answers: %v; settled after %s", publisher.responseCounts(replica.baseURL()), bed.awaitSettled(leaseTime+recoveryTime).Round(time.Millisecond))
	balance := bed.requireBalance(publisher, sent)
	require.LessOrEqual(t, balance.Duplicated, maxUnstored)
}

// fillDisk writes a file until only free bytes of a disk are left.
func fillDisk(t *testing.T, disk, path string, free int64) {
	t.Helper()
	var stat syscall.Statfs_t
	require.NoError(t, syscall.Statfs(disk, &stat))
	size := int64(stat.Bavail)*stat.Bsize - free
	require.Positive(t, size)
	file, err := os.Create(path)
	require.NoError(t, err)
	defer file.Close()
	if _, err := io.CopyN(file, zeroReader{}, size); !errors.Is(err, syscall.ENOSPC) {
		require.NoError(t, err)
	}
}
