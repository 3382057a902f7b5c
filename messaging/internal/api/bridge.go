package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/driver"
	"integrationhub/messaging/internal/driver/bridge"
)

// BridgeAccount is the session service of a connection. It is stored encrypted and in no
// response.
type BridgeAccount struct {
	URL    rest.Optional[string] `json:"url,omitempty" writeOnly:"true" maxLength:"500" doc:"Address that the hub calls: https, in development also http; the egress rules apply" example:"https://bridge.example.com/hub"`
	Secret rest.Optional[string] `json:"secret,omitempty" writeOnly:"true" minLength:"32" maxLength:"200" pattern:"^[!-~]+$" doc:"Signs what the hub and the bridge send to one another: 32 to 200 printable characters without spaces, such as the output of openssl rand -hex 32"`
}

var bridgeSecret = regexp.MustCompile(`^[!-~]{32,200}$`)

// applyTo returns settings with the changes of a request.
func (b BridgeAccount) applyTo(s bridge.Settings, isDevelopment bool) (bridge.Settings, error) {
	b.URL.ApplyTo(&s.URL)
	b.Secret.ApplyTo(&s.Secret)
	var errs rest.FieldErrors
	address, err := url.Parse(s.URL)
	isAddress := err == nil && address.Host != "" && address.User == nil && address.Fragment == "" && len(s.URL) <= 500 &&
		(address.Scheme == "https" || address.Scheme == "http" && isDevelopment)
	errs.Check(isAddress, "body.bridge.url", "is required: an absolute https URL of at most 500 characters, without a password")
	errs.Check(bridgeSecret.MatchString(s.Secret), "body.bridge.secret", "is required: 32 to 200 printable characters without spaces")
	return s, errs.Err()
}

type bridgeEventInput struct {
	ConnectionID int64  `path:"connectionId" minimum:"1" maximum:"9007199254740991" doc:"Names the connection that the bridge serves" example:"2"`
	Signature    string `header:"X-Webhook-Signature" maxLength:"100" doc:"sha256= and the HMAC-SHA256 of the body's bytes with the connection's secret, in hex"`
	RawBody      []byte
}

type bridgeEventOutput struct {
	Body struct {
		Received bool `json:"received" doc:"true: what it says is stored"`
	} `nameHint:"BridgeEventReceived"`
}

// withSignedBody returns the binder of an operation whose body is signed as bytes, so that
// nothing looks at it before the handler. description is the body's in the document.
func withSignedBody(bind rest.Binder, description string) rest.Binder {
	return func(api huma.API, op huma.Operation) {
		op.SkipValidateBody = true
		schema := &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true, Description: description}
		body := &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
		rest.WithRequestBody(rest.WithErrors(bind, http.StatusUnauthorized), body)(api, op)
	}
}

// receiveBridgeEvent stores what an event of a bridge says. The response is the same for an
// event that comes again, and for connections that are not there and not a bridge's.
func (a *API) receiveBridgeEvent(ctx context.Context, in *bridgeEventInput) (*bridgeEventOutput, error) {
	opened := driver.Connection{ID: in.ConnectionID}
	row, err := a.store.ConnectionByID(ctx, in.ConnectionID)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
	case err != nil:
		return nil, err
	case row.Driver == bridge.Name:
		if opened, err = a.store.DriverConnection(row); err != nil {
			return nil, err
		}
	}
	out := &bridgeEventOutput{}
	out.Body.Received = true
	return out, a.bridge.Receive(ctx, opened, in.RawBody, in.Signature)
}
