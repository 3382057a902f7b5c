package productapi

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"integrationhub/hub"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/inbox"
	"integrationhub/hub/internal/integration"
)

// codeIDReused is the code of an event whose id another event had.
const codeIDReused = "event_id_reused"

// signedWebhook is a webhook whose signature is valid.
type signedWebhook struct {
	peer     *integration.Peer
	body     []byte
	events   []hub.Event // none if the body could not be read
	isLogged bool        // the inbox stores its outcome, but not that its id was taken
}

// refusedStatuses are the statuses of refusals that stand in the log. Webhooks that are
// too large or too many do not.
var refusedStatuses = []int{http.StatusBadRequest, http.StatusForbidden, http.StatusConflict, http.StatusUnprocessableEntity}

// logRefusal stores a signed webhook that was refused in the log, where the administrators
// of both sides look for it. Its own failure is logged only: the peer gets its answer.
func (p *Product) logRefusal(ctx context.Context, webhook *signedWebhook, problem httpx.Problem, err error) {
	if webhook == nil || !slices.Contains(refusedStatuses, problem.Status) || webhook.isLogged && !hub.HasCode(err, codeIDReused) {
		return
	}
	answer, err := json.Marshal(&problem)
	if err == nil {
		err = p.deps.Inbox.LogRefusal(ctx, inbox.Refusal{
			IntegrationID: webhook.peer.ID, Event: webhook.event(), Body: webhook.body, Status: problem.Status, Answer: answer,
		})
	}
	if err != nil {
		p.deps.Log.WarnContext(ctx, "a refused webhook is missing in the log", "error", err, "integration_id", webhook.peer.ID)
	}
}

// event returns what the log has of a refused event: of several its first, and of a body
// that was not decoded what can be read of it.
func (w *signedWebhook) event() hub.Event {
	var event hub.Event
	if len(w.events) > 0 {
		event = w.events[0]
	} else {
		var envelope struct {
			ID   string          `json:"id"`
			Type string          `json:"event_type"`
			Data json.RawMessage `json:"data"`
		}
		if json.Unmarshal(w.body, &envelope) == nil {
			event.ID, event.Type, event.Data = envelope.ID, envelope.Type, envelope.Data
		}
	}
	if !hub.ValidEventType(event.Type) {
		event.Type = ""
	}
	event.TenantID, event.Environment, event.Product = w.peer.TenantID, w.peer.Environment, w.peer.Product
	return event
}
