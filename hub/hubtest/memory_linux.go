package hubtest

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// memoryNeeded is how much room and how much memory must be free for databases in
// memory, in bytes. A package's took 0.3 GiB at most; two run at a time, or more.
const memoryNeeded = 2 << 30

// memoryDir returns the directory for files in memory, or "" where there is none or too
// little room: a container's has 64 MiB unless more is asked for.
func memoryDir() string {
	const dir, tmpfs = "/dev/shm", 0x01021994
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil || stat.Type != tmpfs {
		return ""
	}
	if stat.Bavail*uint64(stat.Bsize) < memoryNeeded || memoryAvailable() < memoryNeeded {
		return ""
	}
	return dir
}

// memoryAvailable returns how many bytes programs can still have without swapping.
func memoryAvailable() uint64 {
	raw, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(raw), "\nMemAvailable:")
	kib, err := strconv.ParseUint(strings.TrimSpace(strings.SplitN(after, "kB", 2)[0]), 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}
