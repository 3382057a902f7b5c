package inbound

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/messaging/internal/autoreply"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
	"integrationhub/messaging/internal/store"
)

const (
	maxBatch     = 64 // messages that one transaction stores
	batchTimeout = 30 * time.Second
)

// batches are the messages that wait to be stored. Those of one connection that come while
// others are being stored are stored together, in one transaction.
type batches struct {
	mu      sync.Mutex
	waiting map[int64][]*arrival // by connection: one goroutine stores them while there is an entry
}

// arrival is a received message that waits to be stored.
type arrival struct {
	driver.Incoming
	stored chan bool // gets one value: whether the message is stored durably
}

// storeInBatch stores a message together with others of its connection. It returns false for
// a message that needs more than to be stored, and if the batch failed: then the caller
// stores the message in a transaction of its own.
func (s *Service) storeInBatch(ctx context.Context, in driver.Incoming) (stored bool, err error) {
	if in.From == "" || in.FromMe || in.Media != nil || in.QuotedRemoteID != "" || !chat.IsNumber(in.From) {
		return false, nil
	}
	waiting := &arrival{in, make(chan bool, 1)}
	b := &s.batches
	b.mu.Lock()
	_, isRunning := b.waiting[in.ConnectionID]
	b.waiting[in.ConnectionID] = append(b.waiting[in.ConnectionID], waiting)
	b.mu.Unlock()
	if !isRunning {
		go s.storeBatches(context.Background(), in.ConnectionID) //nolint:contextcheck,gosec // for other callers, too
	}
	select {
	case stored = <-waiting.stored:
		return stored, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// storeBatches stores the messages that wait for a connection until there are none.
func (s *Service) storeBatches(ctx context.Context, connection int64) {
	for {
		batch := s.batches.take(connection)
		if len(batch) == 0 {
			return
		}
		bounded, cancel := context.WithTimeout(ctx, batchTimeout)
		stored, err := s.storeTexts(bounded, connection, batch)
		cancel()
		if err != nil { // each is tried by itself, and has an error of its own
			stored = nil
		}
		for _, waiting := range batch {
			waiting.stored <- stored[waiting]
		}
	}
}

// take returns messages of a connection, the oldest first. After none the connection's
// goroutine ends.
func (b *batches) take(connection int64) []*arrival {
	b.mu.Lock()
	defer b.mu.Unlock()
	waiting := b.waiting[connection]
	if len(waiting) == 0 {
		delete(b.waiting, connection)
		return nil
	}
	batch := waiting[:min(len(waiting), maxBatch)]
	b.waiting[connection] = waiting[len(batch):]
	return batch
}

// storeTexts stores those messages of a connection that only have to be stored: texts of known
// contacts for their live tickets, which nothing answers. It returns which are stored, now or
// before; after an error none is. Once a message of a contact is left out, so are its later
// ones.
func (s *Service) storeTexts(ctx context.Context, connectionID int64, batch []*arrival) (stored map[*arrival]bool, err error) {
	receiving, err := s.store.ReceivingConnection(ctx, connectionID)
	if errors.Is(err, pgx.ErrNoRows) { // the connection was deleted, and its messages with it
		return storedAll(batch), nil
	}
	if err != nil {
		return nil, err
	}
	scope := store.Scope{Company: receiving.Company.ID, Tenant: receiving.Company.TenantID}
	replyCheck := &autoreply.ReplyCheck{Company: receiving.Company, Connection: receiving.Connection, HasQueues: receiving.HasQueues}
	err = s.store.InTx(ctx, "receiving messages", func(tx *store.Tx) error {
		stored = make(map[*arrival]bool, len(batch))
		senders, err := tx.LockAvailableSenders(ctx, scope, connectionID, incomingOf(batch))
		if err != nil {
			return err
		}
		var texts []store.ReceivedText
		for _, waiting := range batch {
			sender := senders.ByNumber(waiting.From)
			switch {
			case sender == nil:
				continue
			case senders.IsStored(waiting.RemoteID):
				stored[waiting] = true
				continue
			}
			text := textOf(waiting.Incoming, *sender)
			isPlain := sender.Matches(waiting.Incoming)
			if isPlain {
				isPlain, err = replyCheck.NeedsNoReply(ctx, tx, autoreply.Received{
					Company: receiving.Company, Connection: receiving.Connection, Contact: sender.Contact, Ticket: sender.Ticket, Body: waiting.Body, At: waiting.At,
				})
			}
			if err != nil {
				return err
			}
			if !isPlain {
				senders.Drop(waiting.From)
				continue
			}
			texts, stored[waiting] = append(texts, text), true
			senders.MarkStored(waiting.RemoteID)
		}
		if len(texts) == 0 {
			return nil
		}
		return tx.AddReceivedTexts(ctx, scope, connectionID, texts)
	})
	return stored, err
}

func storedAll(batch []*arrival) map[*arrival]bool {
	stored := make(map[*arrival]bool, len(batch))
	for _, waiting := range batch {
		stored[waiting] = true
	}
	return stored
}

func incomingOf(batch []*arrival) []driver.Incoming {
	list := make([]driver.Incoming, len(batch))
	for i, waiting := range batch {
		list[i] = waiting.Incoming
	}
	return list
}

// textOf returns a message as it is stored.
func textOf(in driver.Incoming, sender store.Sender) store.ReceivedText {
	text := store.ReceivedText{Contact: sender.Contact, Ticket: sender.Ticket, RemoteID: in.RemoteID, Body: in.Body, MediaType: chat.MediaText, SentAt: in.At}
	if in.Kind != "" {
		text.MediaType = in.Kind
	}
	return text
}
