package usage

import (
	"os/exec"
	"syscall"
	"time"
)

// Reading is the CPU time used until a moment.
type Reading struct {
	At      time.Time
	Parts   map[string]time.Duration // by name of the process tree
	Machine time.Duration            // all processes of the machine
	Own     time.Duration            // this process and the children it waited for
}

// Read reads the CPU time of process trees, by name, and of the whole machine.
func Read(roots map[string]int) (Reading, error) {
	parts, err := processTreesCPU(roots)
	if err != nil {
		return Reading{}, err
	}
	machine, err := machineCPU()
	if err != nil {
		return Reading{}, err
	}
	return Reading{At: time.Now(), Parts: parts, Machine: machine, Own: ownCPU()}, nil
}

// ownCPU returns the CPU time of this process and of its children that have ended.
func ownCPU() time.Duration {
	var total time.Duration
	for _, target := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		if err := syscall.Getrusage(target, &usage); err == nil {
			total += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
		}
	}
	return total
}

// OtherLoad returns how many cores other processes kept busy between two readings.
func OtherLoad(before, after Reading) float64 {
	ours := after.Own - before.Own // includes the generator
	for part := range after.Parts {
		ours += after.Parts[part] - before.Parts[part]
	}
	other := (after.Machine - before.Machine) - ours
	return max(0, other.Seconds()/after.At.Sub(before.At).Seconds())
}

// Megabytes converts bytes to MB of 2^20 bytes.
func Megabytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// PeakOfExited returns the peak memory of a process that has ended, in bytes.
func PeakOfExited(cmd *exec.Cmd) int64 {
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return int64(usage.Maxrss) << 10 //nolint:unconvert // an int32 on some systems; Linux counts kilobytes
}
