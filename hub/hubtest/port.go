//go:build unix

package hubtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"integrationhub/hub/internal/filelock"
)

// Ports that systems do not use for outgoing connections: the port of a server that is
// stopped for a while can only be taken by a program that asks for it.
const (
	firstPort = 10_000
	lastPort  = 29_999
)

// portLocks are this process's reservations. Nothing else refers to them, and a
// lock that is collected is a lock that is dropped.
var portLocks struct {
	mu   sync.Mutex
	held []*filelock.Lock
}

// FreeAddress reserves a loopback address for a server, which may stop and start
// again on it: no other test process is given it while this one lives.
func FreeAddress() (string, error) {
	dir := filepath.Join(machineTemp, fmt.Sprintf("hub-ports-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("reserving a port: %w", err)
	}
	portLocks.mu.Lock()
	defer portLocks.mu.Unlock()
	for range 200 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		lock, err := filelock.Try(filepath.Join(dir, strconv.Itoa(port)))
		var held *filelock.HeldError
		if errors.As(err, &held) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("reserving a port: %w", err)
		}
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		if !refuses(address) { // another program's
			lock.Release()
			continue
		}
		portLocks.held = append(portLocks.held, lock)
		return address, nil
	}
	return "", fmt.Errorf("reserving a port: none of 200 between %d and %d is free", firstPort, lastPort)
}

// refuses reports whether no process listens on an address. It does not listen itself to find
// out: a process that is just being started keeps a copy of such a listener for some
// milliseconds, and the server could not have the port yet.
func refuses(address string) bool {
	connection, err := net.DialTimeout("tcp", address, time.Second)
	if err == nil {
		_ = connection.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}
