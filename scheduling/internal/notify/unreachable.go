package notify

import (
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
)

// unreachablePause is how long a peer that could not be reached is not called.
const unreachablePause = time.Minute

// errPaused means that a peer was not called, because it could not be reached just before.
var errPaused = hub.Errorf(hub.ErrUnavailable, "peer_paused", "The product could not be reached a moment ago; it is called again within a minute.")

// isUnreachable reports whether a call to a peer failed for a reason that may pass.
func isUnreachable(err error) bool {
	return errors.Is(err, hub.ErrPeer) || errors.Is(err, hub.ErrPeerTimeout) || errors.Is(err, hub.ErrUnavailable)
}

// peerKey is a product that an organization is connected to.
type peerKey struct {
	org     uuid.UUID
	product string
}

// unreachablePeers are the peers that could not be reached a moment ago. Each process has its
// own list: a process that lacks an entry makes a single call more.
type unreachablePeers struct {
	mu    sync.Mutex
	until map[peerKey]time.Time
}

// check returns [errPaused] for a peer that is not to be called yet.
func (u *unreachablePeers) check(peer peerKey, now time.Time) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if now.Before(u.until[peer]) {
		return errPaused
	}
	return nil
}

// add notes that a peer could not be reached, and drops the entries that are over.
func (u *unreachablePeers) add(peer peerKey, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for other, until := range u.until {
		if !now.Before(until) {
			delete(u.until, other)
		}
	}
	if u.until == nil {
		u.until = make(map[peerKey]time.Time)
	}
	u.until[peer] = now.Add(unreachablePause)
}
