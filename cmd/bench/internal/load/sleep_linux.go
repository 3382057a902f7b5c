package load

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// sleepUntil sleeps until t. It calls the kernel: the runtime's timers are up to a
// millisecond late on an idle machine, which would count as latency of the service.
func sleepUntil(t time.Time) {
	for {
		left := time.Until(t)
		if left <= 0 {
			return
		}
		pause := unix.NsecToTimespec(int64(left))
		if err := unix.Nanosleep(&pause, nil); err != nil && !errors.Is(err, unix.EINTR) {
			time.Sleep(left)
		}
	}
}
