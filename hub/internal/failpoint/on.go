//go:build failpoint

// Package failpoint lets a test end or stop the process at a named instruction, to show that
// nothing accepted is lost there and that others go on. Build with -tags failpoint and set
// HUB_FAILPOINT=name:n to be killed (SIGKILL) the n-th time a place is reached, or name:n:stop
// to be stopped (SIGSTOP) until SIGCONT.
package failpoint

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

var (
	name, count, stops = parse(os.Getenv("HUB_FAILPOINT"))
	reached            atomic.Int64
)

// Here marks a named place.
func Here(place string) {
	if place != name || reached.Add(1) != count {
		return
	}
	if stops {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal is on its way; go no further
}

func parse(setting string) (place string, times int64, stops bool) {
	place, rest, _ := strings.Cut(setting, ":")
	n, action, _ := strings.Cut(rest, ":")
	times, err := strconv.ParseInt(n, 10, 64)
	if err != nil {
		times = 1
	}
	return place, times, action == "stop"
}
