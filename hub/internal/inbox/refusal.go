package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/logid"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/bulk"
)

// reasonRefused is the reason in the log of a webhook that was refused.
const reasonRefused = "refused"

// Bounds of a refused body in the log, in bytes: of one that is JSON, and of the text that
// stands for another one.
const (
	maxRefusedBody = 64 << 10
	maxRefusedText = 4 << 10
)

// Refusal is a webhook that its peer signed and that was refused. Event has what could be
// read of it; the id, the type and the data may be missing.
type Refusal struct {
	IntegrationID uuid.UUID
	Event         hub.Event
	Body          []byte // as it was received
	Status        int    // HTTP
	Answer        []byte // to the peer
}

// LogRefusal stores a refused webhook in the log. The peer may send the event again: its id
// is not taken.
func (b *Inbox) LogRefusal(ctx context.Context, refusal Refusal) error {
	bits, _ := hub.ParseEventID(refusal.Event.ID) // 0 where there is none
	event := &pendingEvent{
		Item: Item{IntegrationID: refusal.IntegrationID, Event: refusal.Event, Body: displayableBody(refusal.Body)},
		id:   int64(bits), seq: logid.NewSeq(b.now()),
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), failureTimeout)
	defer cancel()
	return store.InTx(ctx, b.pool, func(tx pgx.Tx) error {
		if bits != 0 {
			if _, err := tx.Exec(ctx, `insert into hub.refused (seq, event_id) values ($1, $2)`, event.seq, event.id); err != nil {
				return fmt.Errorf("storing the id of a refused webhook: %w", err)
			}
		}
		statements, w := &bulk.Batch{}, &writer{Inbox: b}
		w.queueLog(statements, []logEntry{{pendingEvent: event, status: statusFailed, code: refusal.Status, reason: reasonRefused, answer: refusal.Answer}})
		if err := statements.RunOn(ctx, tx.Conn()); err != nil {
			return fmt.Errorf("logging a refused webhook: %w", err)
		}
		return nil
	})
}

// displayableBody returns a body as the log can show it: JSON. A body that is something
// else, or long, is replaced by its beginning as a text.
func displayableBody(body []byte) []byte {
	if len(body) <= maxRefusedBody && utf8.Valid(body) && json.Valid(body) {
		return body
	}
	displayed, err := json.Marshal(map[string]string{"refused_body": string(body[:min(len(body), maxRefusedText)])})
	if err != nil { // strings can always be written
		return []byte(`{}`)
	}
	return displayed
}
