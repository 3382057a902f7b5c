package client

import (
	"sync"
	"time"
)

// pool keeps idle connections by key. One lock guards it all: it is held for
// tens of nanoseconds, twice for each POST.
type pool struct {
	perKey int           // idle connections kept of one key
	total  int           // idle connections kept in all
	idle   time.Duration // how long one is kept

	mu     sync.Mutex
	conns  map[string][]*conn // oldest first
	count  int
	closed bool
	done   chan struct{}
	ended  sync.WaitGroup
}

func newPool(perKey, total int, idle time.Duration) *pool {
	p := &pool{perKey: perKey, total: total, idle: idle, conns: map[string][]*conn{}, done: make(chan struct{})}
	p.ended.Go(p.expire)
	return p
}

// get takes the connection that was used last, nil when there is none: it is the
// least likely to have been closed by the peer, and the others expire.
func (p *pool) get(key string) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.conns[key]
	if len(list) == 0 {
		return nil
	}
	last := len(list) - 1
	connection := list[last]
	list[last] = nil
	p.conns[key] = list[:last]
	p.count--
	return connection
}

// put keeps a connection, or closes it when there are enough.
func (p *pool) put(connection *conn) {
	p.mu.Lock()
	list := p.conns[connection.key]
	if p.closed || len(list) >= p.perKey || p.count >= p.total {
		p.mu.Unlock()
		connection.close()
		return
	}
	p.conns[connection.key] = append(list, connection)
	p.count++
	p.mu.Unlock()
}

// isClosed reports whether close was called.
func (p *pool) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// expire closes connections that were idle for too long, until close is called.
func (p *pool) expire() {
	tick := time.NewTicker(max(p.idle/2, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-p.done:
			return
		case now := <-tick.C:
			closeAll(p.takeOlder(now.Add(-p.idle)))
		}
	}
}

// takeOlder removes the connections idle since before limit, and empty keys.
func (p *pool) takeOlder(limit time.Time) []*conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	var old []*conn
	for key, list := range p.conns {
		n := 0
		for n < len(list) && list[n].idleAt.Before(limit) {
			n++
		}
		old = append(old, list[:n]...)
		if n == len(list) {
			delete(p.conns, key)
			continue
		}
		if n > 0 {
			rest := copy(list, list[n:])
			clear(list[rest:])
			p.conns[key] = list[:rest]
		}
	}
	p.count -= len(old)
	return old
}

// close ends the goroutine and closes every idle connection; those in use are
// closed when they come back. It may be called more than once.
func (p *pool) close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	var all []*conn
	for _, list := range p.conns {
		all = append(all, list...)
	}
	p.conns, p.count = nil, 0
	p.mu.Unlock()
	close(p.done)
	p.ended.Wait()
	closeAll(all)
}

func closeAll(conns []*conn) {
	for _, connection := range conns {
		connection.close()
	}
}
