package api

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/sigcheck"
)

type checkSignatureInput struct {
	ID   uuid.UUID `path:"id" format:"uuid" doc:"Id of the endpoint"`
	Body struct {
		Signature        string     `json:"signature,omitempty" maxLength:"200" doc:"Header X-Webhook-Signature as it was received" example:"sha256=0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0"`
		WebhookID        string     `json:"webhook_id,omitempty" maxLength:"200" doc:"Header webhook-id" example:"evt_0123456789abcdef"`
		WebhookTimestamp string     `json:"webhook_timestamp,omitempty" maxLength:"20" doc:"Header webhook-timestamp, in unix seconds" example:"1767323045"`
		WebhookSignature string     `json:"webhook_signature,omitempty" maxLength:"1000" doc:"Header webhook-signature" example:"v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="`
		Body             string     `json:"body" maxLength:"1048576" doc:"Body exactly as it was received" example:"{}"`
		Secret           string     `json:"secret,omitempty" maxLength:"128" doc:"Secret that the receiver verifies with; it is compared, and neither stored nor logged. Absent: the endpoint's own secrets alone are tried"`
		ReceivedAt       *time.Time `json:"received_at,omitempty" doc:"What the receiver's clock said; absent: the clock is not checked"`
	} `nameHint:"SignatureCheckRequest"`
}

// SignatureCheck says which step of verifying a webhook fails.
type SignatureCheck struct {
	Valid bool            `json:"valid" doc:"No step failed, and the body and the secret were found"`
	Steps []sigcheck.Step `json:"steps" nullable:"false" minItems:"4" maxItems:"4" doc:"Headers, body, secret and clock, in this order"`
}

type checkSignatureOutput struct{ Body SignatureCheck }

func (a *API) checkSignature(ctx context.Context, in *checkSignatureInput) (*checkSignatureOutput, error) {
	access := requestInfoOf(ctx).accessFilter()
	endpoint, current, previous, err := a.deps.Endpoints.Secrets(ctx, access, in.ID)
	if err != nil {
		return nil, err
	}
	setAuditResource(ctx, endpoint.ID, endpoint.TenantID)
	requestInfoOf(ctx).unchanged = true
	var stored []byte
	if _, ok := hub.ParseEventID(in.Body.WebhookID); ok {
		owner := query.Owner{TenantID: &endpoint.TenantID, Environment: string(endpoint.Environment)}
		event, err := a.deps.Ledger.Event(ctx, in.Body.WebhookID, owner)
		if err != nil && !errors.Is(err, hub.ErrNotFound) {
			return nil, err
		}
		if err == nil {
			stored = event.Payload
		}
	}
	request := sigcheck.Request{
		Signature: in.Body.Signature, ID: in.Body.WebhookID, Timestamp: in.Body.WebhookTimestamp, StdSignature: in.Body.WebhookSignature, Body: []byte(in.Body.Body),
	}
	var receivedAt time.Time
	if in.Body.ReceivedAt != nil {
		receivedAt = *in.Body.ReceivedAt
	}
	steps := sigcheck.Check(request, sigcheck.Secrets{Current: current, Previous: previous, Receiver: in.Body.Secret}, stored, receivedAt)
	valid := steps[1].Outcome == sigcheck.Passed && steps[2].Outcome == sigcheck.Passed && steps[3].Outcome != sigcheck.Failed
	return &checkSignatureOutput{SignatureCheck{Valid: valid, Steps: steps}}, nil
}
