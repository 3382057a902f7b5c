package inbox

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/audit"
	"integrationhub/hub/internal/logid"
)

// Events that are stored together have their effects in the order in which they came,
// whatever their ids; one that came twice has it once, and the first body counts.
func TestEffectsInOrderOfArrival(t *testing.T) {
	t.Parallel()
	var effects []string
	b := &Inbox{pool: hubtest.Database(t), log: slog.New(slog.DiscardHandler), now: time.Now, handle: func(_ context.Context, _ pgx.Tx, e hub.Event) error {
		effects = append(effects, e.CorrelationID)
		return nil
	}}
	tenant, integration := uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7())
	came := func(id uint64, body string) *pendingEvent {
		return &pendingEvent{id: int64(id), seq: logid.NewSeq(time.Now()), Item: Item{
			IntegrationID: integration, Body: []byte(body), Hash: sha256.Sum256([]byte(body)), IsHandled: true,
			Event: hub.Event{ID: hub.FormatEventID(id), TenantID: tenant, Environment: hub.Live, Product: "messaging", Type: "a.b", CorrelationID: body},
			Audit: audit.Entry{ActorType: audit.ActorKey, Action: "integrations.webhook", Resource: "integrations", Status: 200},
		}}
	}
	batch := []*pendingEvent{came(9, "first"), came(3, "second"), came(7, "third"), came(3, "second"), came(7, "other"), came(1, "last")}
	require.NoError(t, (&writer{Inbox: b}).transact(batch, boundLockWaits, time.Now().Add(commitTimeout)))
	require.Equal(t, []string{"first", "second", "third", "last"}, effects)
	var outcomes []Outcome
	for _, r := range batch {
		outcomes = append(outcomes, r.outcome)
	}
	require.Equal(t, []Outcome{Accepted, Accepted, Accepted, Duplicate, "", Accepted}, outcomes)
	require.ErrorIs(t, batch[4].err, hub.ErrConflict)
}
