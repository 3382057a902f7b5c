package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/registry"
)

// When a rotation changes X-Webhook-Signature.
const (
	switchNow = "now"
	switchEnd = "end"
)

// Signatures describes how an endpoint's deliveries are signed.
type Signatures struct {
	StandardSignature bool       `json:"standard_signature" doc:"Deliveries carry webhook-signature besides X-Webhook-Signature; false for a plain secret"`
	PreviousUntil     *time.Time `json:"previous_secret_until" doc:"Until then webhook-signature carries a signature with the previous secret too"`
	Switch            *string    `json:"switch" enum:"now,end" nullable:"true" doc:"X-Webhook-Signature has room for one signature. now: it is made with the new secret; end: with the previous one until previous_secret_until. null where no secret was rotated with an overlap"`
}

// EndpointWithSecret is an endpoint with its secret, which is shown once.
type EndpointWithSecret struct {
	Endpoint
	Secret  string   `json:"secret" example:"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" doc:"Signs the deliveries; shown now and never again"`
	Notices []string `json:"notices" nullable:"false" doc:"What receivers have to know about the signatures"`
}

type endpointSecretOutput struct{ Body EndpointWithSecret }

type rotateSecretInput struct {
	ID   uuid.UUID `path:"id" format:"uuid" doc:"Id of the endpoint"`
	Body *struct {
		OverlapSeconds *int   `json:"overlap_seconds,omitempty" minimum:"0" maximum:"604800" example:"86400" doc:"How long webhook-signature carries a signature with the old secret too: 0 forgets it at once, absent is 86400, a day"`
		Switch         string `json:"switch,omitempty" enum:"now,end" default:"now" doc:"When X-Webhook-Signature, which has room for one signature, changes to the new secret: now, or at the end of the overlap"`
		Secret         string `json:"secret,omitempty" minLength:"24" maxLength:"128" doc:"whsec_ and the padded base64 of 24 to 64 bytes; or a plain secret of 24 to 128 printable ASCII characters, which makes X-Webhook-Signature alone. Made when absent"`
	} `nameHint:"EndpointRotateSecret"`
}

func (a *API) rotateEndpointSecret(ctx context.Context, in *rotateSecretInput) (*endpointSecretOutput, error) {
	rotation := registry.Rotation{Overlap: registry.DefaultOverlap}
	if in.Body != nil {
		rotation.Secret, rotation.SwitchAtEnd = in.Body.Secret, in.Body.Switch == switchEnd
		if in.Body.OverlapSeconds != nil {
			rotation.Overlap = time.Duration(*in.Body.OverlapSeconds) * time.Second
		}
	}
	endpoint, secret, err := a.deps.Endpoints.RotateSecret(ctx, requestInfoOf(ctx).accessFilter(), in.ID, rotation)
	if err != nil {
		return nil, err
	}
	setAuditResource(ctx, endpoint.ID, endpoint.TenantID)
	return &endpointSecretOutput{a.withSecret(endpoint, secret)}, nil
}

func (a *API) withSecret(endpoint registry.Endpoint, secret string) EndpointWithSecret {
	return EndpointWithSecret{endpointOf(endpoint), secret, noticesOf(endpoint.Signing, a.deps.Now())}
}

// noticesOf returns what receivers have to know about a new secret.
func noticesOf(signing registry.Signing, now time.Time) []string {
	notices := []string{}
	if !signing.Standard {
		notices = append(notices, "This is a plain secret: it makes X-Webhook-Signature alone, and no "+hub.HeaderStdSignature+".")
	}
	if signing.PreviousUntil == nil || !now.Before(*signing.PreviousUntil) {
		return notices
	}
	until := signing.PreviousUntil.UTC().Format(time.RFC3339)
	if signing.SwitchAtEnd {
		notices = append(notices, "X-Webhook-Signature has room for one signature: it is made with the previous secret until "+until+", then with the new one.")
	} else {
		notices = append(notices, "X-Webhook-Signature has room for one signature: it is made with the new secret from now on.")
	}
	switch {
	case signing.Standard && signing.PreviousStandard:
		notices = append(notices, "webhook-signature carries signatures with both secrets until "+until+".")
	case signing.PreviousStandard:
		notices = append(notices, "webhook-signature is made with the previous secret until "+until+", and is not sent after that.")
	}
	return notices
}

func signaturesOf(signing registry.Signing) Signatures {
	signatures := Signatures{StandardSignature: signing.Standard, PreviousUntil: signing.PreviousUntil}
	if signing.PreviousUntil != nil {
		when := switchNow
		if signing.SwitchAtEnd {
			when = switchEnd
		}
		signatures.Switch = &when
	}
	return signatures
}
