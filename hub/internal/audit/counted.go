package audit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/internal/logid"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/bulk"
)

// countedTimeout is the deadline of storing counted entries.
const countedTimeout = 5 * time.Second

// RecordCounted records what strangers can repeat at will. All entries of one source,
// action, resource and status within a minute are one row with their count; its other
// columns are those of the first. The source says who it was: it is hashed, and must not be
// guessable from its hash where it is secret.
//
// It returns when the entry is stored. Entries that arrive while others are being stored
// are stored together, so that a flood occupies one connection.
func (r *Recorder) RecordCounted(ctx context.Context, entry Entry, source []byte) error {
	entry.ID = countedID(r.now(), entry, source)
	batch := r.counted.add(entry, r.storeCounted)
	select {
	case <-batch.done:
		return store.Wrap("counting in the audit log", batch.err)
	case <-ctx.Done():
		return store.Wrap("counting in the audit log", ctx.Err())
	}
}

// countedID returns the id of the row that counts an entry: a UUIDv7 of the minute's
// beginning with a hash in the place of the random bits.
func countedID(now time.Time, entry Entry, source []byte) uuid.UUID {
	hash := sha256.New()
	fmt.Fprintf(hash, "%s %s %d ", entry.Action, entry.ResourceID, entry.Status)
	hash.Write(source)
	id := logid.Floor(now.Truncate(time.Minute))
	copy(id[6:], hash.Sum(nil))
	binary.BigEndian.PutUint16(id[6:], binary.BigEndian.Uint16(id[6:])&0x0fff|0x7000)
	id[8] = id[8]&0x3f | 0x80
	return id
}

// countedWriter collects counted entries while others are being stored.
type countedWriter struct {
	mu        sync.Mutex
	next      *countedBatch // nil: nothing waits
	isStoring bool
}

// countedBatch is a set of counted entries that are stored together.
type countedBatch struct {
	entries map[uuid.UUID]Entry
	done    chan struct{} // closed when err is final
	err     error
}

// add adds an entry to the next batch, which storeBatch stores after the one before.
func (w *countedWriter) add(entry Entry, storeBatch func([]Entry) error) *countedBatch {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.next == nil {
		w.next = &countedBatch{entries: make(map[uuid.UUID]Entry, 1), done: make(chan struct{})}
	}
	if before, exists := w.next.entries[entry.ID]; exists {
		entry = before
	}
	entry.Count++
	w.next.entries[entry.ID] = entry
	if !w.isStoring {
		w.isStoring = true
		go w.storeAll(storeBatch)
	}
	return w.next
}

// storeAll stores batches until none waits.
func (w *countedWriter) storeAll(storeBatch func([]Entry) error) {
	for {
		w.mu.Lock()
		batch := w.next
		w.next, w.isStoring = nil, batch != nil
		w.mu.Unlock()
		if batch == nil {
			return
		}
		entries := make([]Entry, 0, len(batch.entries))
		for _, entry := range batch.entries {
			entries = append(entries, entry)
		}
		// Processes that count the same rows take their locks in one order.
		slices.SortFunc(entries, func(a, b Entry) int { return slices.Compare(a.ID[:], b.ID[:]) })
		batch.err = storeBatch(entries)
		close(batch.done)
	}
}

// storeCounted adds entries to the rows that count them.
func (r *Recorder) storeCounted(entries []Entry) error {
	ctx, cancel := context.WithTimeout(context.Background(), countedTimeout)
	defer cancel()
	conn, err := r.db.Acquire(ctx)
	if err != nil {
		return err //nolint:wrapcheck // RecordCounted wraps it
	}
	defer conn.Release()
	statements := &bulk.Batch{}
	queue(statements, &bulk.Columns{}, entries, insertSQL+` on conflict (id) do update set count = audit.count + excluded.count`)
	return statements.RunOn(ctx, conn.Conn()) //nolint:wrapcheck // RecordCounted wraps it
}
