package write

import (
	"context"
	"time"
)

// slowStore is how long the writer may wait for the database before it counts as away.
const slowStore = 2 * time.Second

// stall is a time in which the database does not take what is recorded. It ends when the
// database has what was recorded until it was back.
type stall struct {
	ended        chan struct{} // closed at the end; nil: there is none
	isRecovering bool          // the database has responded since
	target       int64         // attempts that were recorded when it did
	handled      int64         // attempts that were stored, deferred or refused
	turn         int64         // number of the writer's work under way
}

// begin begins a stall, or goes back to the beginning of one. It reports whether there was none.
func (s *stall) begin() bool {
	s.isRecovering = false
	if s.ended != nil {
		return false
	}
	s.ended = make(chan struct{})
	return true
}

// noteAway notes that the database does not take a batch, and reports whether that is new.
func (w *Writer) noteAway() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stall.begin()
}

// runWatched runs work, which handles that many recorded attempts. A stall begins if it takes
// longer than slowStore, as it does while the database is away without refusing connections. A
// stall may end with the work.
func (w *Writer) runWatched(work func(), attempts int) {
	w.mu.Lock()
	w.stall.turn++
	turn := w.stall.turn
	w.mu.Unlock()
	slow := time.AfterFunc(slowStore, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.stall.turn == turn && w.stall.ended == nil { // slow work does not lengthen a recovery
			w.stall.begin()
		}
	})
	work()
	slow.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &w.stall
	s.turn++
	s.handled += int64(attempts)
	if s.ended == nil {
		return
	}
	if !s.isRecovering {
		s.isRecovering, s.target = true, w.recorded.Load()
	}
	if s.handled >= s.target {
		close(s.ended)
		s.ended, s.isRecovering = nil, false
	}
}

// AwaitStored waits while attempts cannot be stored because the database is away, or until
// ctx ends. Their deliveries seem due when their leases have ended meanwhile.
func (w *Writer) AwaitStored(ctx context.Context) {
	w.mu.Lock()
	ended := w.stall.ended
	w.mu.Unlock()
	if ended == nil {
		return
	}
	select {
	case <-ended:
	case <-ctx.Done():
	}
}
