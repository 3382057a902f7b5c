package usage

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// clockTick is the unit of CPU times in /proc: USER_HZ is 100 on every Linux.
const clockTick = 10 * time.Millisecond

// procStat is what the bench reads from one /proc/<pid>/stat.
type procStat struct {
	parent int
	cpu    time.Duration // own user and system time, and that of children it has waited for
}

// readProcStats reads all processes. One that ends meanwhile is left out.
func readProcStats() (map[int]procStat, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("reading /proc: %w", err)
	}
	stats := make(map[int]procStat)
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		raw, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue
		}
		if stat, ok := parseStat(raw); ok {
			stats[pid] = stat
		}
	}
	return stats, nil
}

// parseStat reads one stat line (proc(5)). The command in parentheses may hold
// spaces and parentheses itself, so fields count from the last one.
func parseStat(raw []byte) (procStat, bool) {
	fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
	const state, parent, userTime, waitedSystem = 0, 1, 11, 14
	if len(fields) <= waitedSystem || len(fields[state]) != 1 {
		return procStat{}, false
	}
	var stat procStat
	stat.parent, _ = strconv.Atoi(string(fields[parent]))
	for _, field := range fields[userTime : waitedSystem+1] {
		ticks, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return procStat{}, false
		}
		stat.cpu += time.Duration(ticks) * clockTick
	}
	return stat, true
}

// processTree gives root and all its descendants.
func processTree(stats map[int]procStat, root int) []int {
	var tree []int
	for pid := range stats {
		for at := pid; at > 1; at = stats[at].parent {
			if at == root {
				tree = append(tree, pid)
				break
			}
		}
	}
	return tree
}

// processTreesCPU sums the CPU time of several process trees by name, in one look. A
// process carries the time of the children it has waited for, so the backends
// PostgreSQL has ended stay counted in the postmaster.
func processTreesCPU(roots map[string]int) (map[string]time.Duration, error) {
	stats, err := readProcStats()
	if err != nil {
		return nil, err
	}
	cpu := make(map[string]time.Duration, len(roots))
	for name, root := range roots {
		for _, pid := range processTree(stats, root) {
			cpu[name] += stats[pid].cpu
		}
	}
	return cpu, nil
}

// machineCPU is the CPU time all processes of the machine have used since it
// started: user, nice, system, irq and softirq of /proc/stat.
func machineCPU() (time.Duration, error) {
	raw, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("reading /proc/stat: %w", err)
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	fields := strings.Fields(line)
	var busy time.Duration
	for _, i := range []int{1, 2, 3, 6, 7} {
		if i >= len(fields) {
			break
		}
		ticks, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading /proc/stat: %w", err)
		}
		busy += time.Duration(ticks) * clockTick
	}
	return busy, nil
}

// Memory is what /proc/<pid>/status says, in bytes.
type Memory struct {
	Peak, Resident, Anonymous, FileBacked, Shared int64
}

// ReadMemory reads one process; false when it has ended.
func ReadMemory(pid int) (Memory, bool) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return Memory{}, false
	}
	var m Memory
	fields := map[string]*int64{
		"VmHWM": &m.Peak, "VmRSS": &m.Resident, "RssAnon": &m.Anonymous, "RssFile": &m.FileBacked, "RssShmem": &m.Shared,
	}
	for line := range strings.Lines(string(raw)) {
		name, rest, _ := strings.Cut(line, ":")
		if into, wanted := fields[name]; wanted {
			kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				return Memory{}, false
			}
			*into = kilobytes << 10
		}
	}
	return m, true
}

// MemoryMonitor follows the peak memory of process trees. A single process has a
// high-water mark of its own (VmHWM); a tree of processes that share memory has
// none, so its peak is looked for every 250 ms: the sum of what is private to
// each, plus the largest shared and the largest file-backed part of any of them.
type MemoryMonitor struct {
	roots map[string]int
	stop  chan struct{}
	done  sync.WaitGroup
	peaks map[string]int64 // bytes; read after end
}

// MonitorMemory starts following the trees.
func MonitorMemory(roots map[string]int) *MemoryMonitor {
	w := &MemoryMonitor{roots: roots, stop: make(chan struct{}), peaks: make(map[string]int64)}
	w.done.Go(func() {
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for {
			w.sample()
			select {
			case <-tick.C:
			case <-w.stop:
				w.sample()
				return
			}
		}
	})
	return w
}

// sample takes one reading of every tree.
func (w *MemoryMonitor) sample() {
	stats, err := readProcStats()
	if err != nil {
		return // the reading before and after count
	}
	for name, root := range w.roots {
		tree := processTree(stats, root)
		var sum Memory
		for _, pid := range tree {
			m, ok := ReadMemory(pid)
			if !ok {
				continue
			}
			sum.Anonymous += m.Anonymous
			sum.FileBacked = max(sum.FileBacked, m.FileBacked)
			sum.Shared = max(sum.Shared, m.Shared)
			sum.Peak = m.Peak
		}
		peak := sum.Anonymous + sum.FileBacked + sum.Shared
		if len(tree) == 1 {
			peak = sum.Peak
		}
		w.peaks[name] = max(w.peaks[name], peak)
	}
}

// Stop stops following and gives the peaks in bytes.
func (w *MemoryMonitor) Stop() map[string]int64 {
	close(w.stop)
	w.done.Wait()
	return w.peaks
}
