// Package usage reads the CPU time and memory of process trees from /proc.
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

// procStat holds the used fields of /proc/<pid>/stat.
type procStat struct {
	parent int
	cpu    time.Duration // own user and system time, and that of children it waited for
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

// processTree returns the ids of root and all its descendants.
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

// processTreesCPU returns the CPU time of process trees, by name. A process
// includes the time of children it waited for: backends of PostgreSQL that have ended
// stay counted in the postmaster.
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

// machineCPU returns the CPU time of all processes since the machine started: user, nice, system, irq and softirq of /proc/stat.
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

// Memory is the memory of one process from /proc/<pid>/status, in bytes.
type Memory struct {
	Peak, Resident, Anonymous, FileBacked, Shared int64
}

// ReadMemory reads the memory of a process. ok is false when it has ended.
func ReadMemory(pid int) (m Memory, ok bool) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return Memory{}, false
	}
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

// ResetPeak makes [Memory.Peak] of a process what it has now.
func ResetPeak(pid int) error {
	if err := os.WriteFile("/proc/"+strconv.Itoa(pid)+"/clear_refs", []byte("5"), 0); err != nil { // proc(5)
		return fmt.Errorf("resetting the peak memory: %w", err)
	}
	return nil
}

// MemoryMonitor finds the peak memory of process trees. The kernel keeps a high-water
// mark for a single process (VmHWM), but none for processes that share memory. Those are
// sampled every 250 ms: the sum of their private memory, plus the largest shared and the
// largest file-backed part of any of them.
type MemoryMonitor struct {
	roots map[string]int
	stop  chan struct{}
	done  sync.WaitGroup
	peaks map[string]int64 // bytes; read after Stop
}

// MonitorMemory starts sampling process trees, given by name and root id.
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

// sample reads every tree once.
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

// Stop ends the sampling and returns the peaks in bytes, by name.
func (w *MemoryMonitor) Stop() map[string]int64 {
	close(w.stop)
	w.done.Wait()
	return w.peaks
}
