//go:build failpoint

// Package failpoint lets a test build end the process at a named instruction, to
// show that nothing accepted is lost there. Build with -tags failpoint and set
// HUB_FAILPOINT=name:n to be killed (SIGKILL) the n-th time a place is reached.
package failpoint

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

var (
	name, count = parse(os.Getenv("HUB_FAILPOINT"))
	reached     atomic.Int64
)

// Here marks a named place.
func Here(place string) {
	if place == name && reached.Add(1) == count {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way; go no further
	}
}

func parse(setting string) (string, int64) {
	place, n, _ := strings.Cut(setting, ":")
	times, err := strconv.ParseInt(n, 10, 64)
	if err != nil {
		times = 1
	}
	return place, times
}
