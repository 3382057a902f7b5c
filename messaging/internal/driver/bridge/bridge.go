// Package bridge calls session services by signed JSON over HTTP: the protocol of
// docs/bridge.md. A session service is a program of its own that keeps the sessions of a
// network, so that its library and license are no part of this one.
package bridge

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
)

// Name is the driver's name.
const Name = "bridge"

const (
	maxResponse = 64 << 10 // bytes of a response that are read
	maxError    = 300      // characters of a bridge's error that are shown
	maxRemoteID = 500      // bytes of an id of the network
)

// Driver calls bridges. It implements [driver.Driver].
type Driver struct {
	host module.Host
	sink driver.Sink
}

var (
	_ driver.Driver           = (*Driver)(nil)
	_ driver.SessionRefresher = (*Driver)(nil)
)

// Settings are those of a connection.
type Settings struct {
	URL    string `json:"url"`
	Secret string `json:"secret"` // signs both directions
}

// New returns the driver of an opened product.
func New(host module.Host, sink driver.Sink) *Driver { return &Driver{host, sink} }

// Name implements [driver.Driver].
func (d *Driver) Name() string { return Name }

// Capabilities implements [driver.Driver].
func (d *Driver) Capabilities() driver.Capabilities {
	return driver.Capabilities{Idempotent: true, Sessions: true, NumberCheck: true, LIDs: true, QRCode: true}
}

// ParseSettings returns the settings of a connection.
func ParseSettings(c driver.Connection) (s Settings, err error) {
	if err := json.Unmarshal(c.Settings, &s); err != nil {
		return s, fmt.Errorf("reading a connection's settings: %w", err)
	}
	return s, nil
}

// WebhookURL returns the address for the events of a connection.
func WebhookURL(base string, connection int64) string {
	return fmt.Sprintf("%s/webhooks/bridge/%d", base, connection)
}

// Start implements [driver.Driver]. A bridge that does not answer, or refuses, leaves the
// connection in [chat.ConnectionTimeout].
func (d *Driver) Start(ctx context.Context, c driver.Connection) error {
	return d.passState(ctx, c, callStart)
}

// Refresh implements [driver.SessionRefresher].
func (d *Driver) Refresh(ctx context.Context, c driver.Connection) error {
	return d.passState(ctx, c, callState)
}

// passState makes a call that is answered with the session's state, and passes that on.
func (d *Driver) passState(ctx context.Context, c driver.Connection, name string) error {
	change, err := d.callState(ctx, c, name)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		d.host.Log.WarnContext(ctx, "a bridge does not report a state", "connection_id", c.ID, "error", err)
		change = driver.ConnectionChange{Status: chat.ConnectionTimeout, LastError: "The bridge does not respond."}
		if refused, isRefusal := errors.AsType[*Refusal](err); isRefusal {
			change.LastError = refused.text()
		}
	}
	change.ConnectionID = c.ID
	return d.sink.ChangeConnection(ctx, change)
}

// callState makes a call that is answered with the session's state.
func (d *Driver) callState(ctx context.Context, c driver.Connection, name string) (change driver.ConnectionChange, err error) {
	var result struct {
		State *state `json:"state"`
	}
	if err := d.call(ctx, c, name, struct{}{}, &result); err != nil {
		return change, err
	}
	if result.State == nil {
		return change, errors.New("the bridge responded without the state")
	}
	return result.State.toChange(c.ID)
}

// Stop implements [driver.Driver]. A bridge that does not answer is a [hub.ErrUnavailable]:
// the session may go on there.
func (d *Driver) Stop(ctx context.Context, c driver.Connection) error {
	change, err := d.callState(ctx, c, callStop)
	if err != nil {
		return hub.Errorf(hub.ErrUnavailable, "wapp_not_reached", "The bridge does not respond; the session may go on there. Try again.").WithCause(err)
	}
	return d.sink.ChangeConnection(ctx, change)
}

// Send implements [driver.Driver].
func (d *Driver) Send(ctx context.Context, c driver.Connection, m driver.Outgoing) (driver.Sent, error) {
	message := outgoing{ID: m.ID, To: m.To, LID: m.LID, Body: m.Body, QuotedID: m.QuotedRemoteID}
	if m.Media != nil {
		message.Media = &outgoingFile{m.Media.Type, m.Media.MimeType, m.Media.Name, m.Media.URL}
	}
	var result sent
	if err := d.call(ctx, c, callSend, message, &result); err != nil {
		return driver.Sent{}, mapError(err)
	}
	if result.RemoteID == "" || len(result.RemoteID) > maxRemoteID {
		return driver.Sent{}, errors.New("the bridge responded without the message's id at the network")
	}
	if result.At.IsZero() || result.At.After(d.host.Now()) {
		result.At = d.host.Now()
	}
	return driver.Sent{RemoteID: result.RemoteID, At: result.At.UTC().Truncate(time.Microsecond)}, nil
}

// MarkRead implements [driver.Driver].
func (d *Driver) MarkRead(ctx context.Context, c driver.Connection, contact driver.Contact, remoteIDs []string) error {
	if len(remoteIDs) == 0 {
		return nil
	}
	data := map[string]any{"number": contact.Number, "remoteIds": remoteIDs}
	if contact.Number == "" {
		data["lid"] = contact.LID
	}
	return d.call(ctx, c, callRead, data, nil)
}

// Check implements [driver.Driver].
func (d *Driver) Check(ctx context.Context, c driver.Connection, number string) (registered bool, err error) {
	var result struct {
		Registered *bool `json:"registered"`
	}
	err = d.call(ctx, c, callCheck, map[string]any{"number": number}, &result)
	if err == nil && result.Registered == nil {
		err = errors.New("the bridge responded without registered")
	}
	if err != nil {
		return false, mapError(err)
	}
	return *result.Registered, nil
}

// OpenMedia implements [driver.Driver]: the response's body is the file.
func (d *Driver) OpenMedia(ctx context.Context, c driver.Connection, reference string) (io.ReadCloser, error) {
	response, err := d.do(ctx, d.host.Downloads, c, callMedia, map[string]any{"reference": reference})
	if err != nil {
		return nil, mapError(err)
	}
	return response.Body, nil
}

// Refusal is an error that a bridge answered with.
type Refusal struct {
	Status  int
	Code    string
	Message string
}

// Error implements error.
func (r *Refusal) Error() string {
	return fmt.Sprintf("the bridge responded with %d %s: %s", r.Status, r.Code, r.Message)
}

// isFinal reports whether the same call will be refused again.
func (r *Refusal) isFinal() bool {
	return r.Status >= 400 && r.Status < 500 && r.Status != http.StatusTooManyRequests && r.Status != http.StatusRequestTimeout
}

// text returns the refusal for people.
func (r *Refusal) text() string {
	if r.Status == http.StatusUnauthorized {
		return "The bridge refuses the signature: it has another secret, or its clock is wrong."
	}
	return cmp.Or(r.Message, fmt.Sprintf("The bridge responded with %d.", r.Status))
}

// isUnread reports whether the bridge has refused a call without doing anything, for a time: the
// signature is wrong, or there are too many calls.
func (r *Refusal) isUnread() bool {
	return r.Status >= 400 && r.Status < 500 && r.Status != http.StatusRequestTimeout
}

// mapError returns the driver's error for a refusal. Any other error is temporary.
func mapError(err error) error {
	refused, isRefusal := errors.AsType[*Refusal](err)
	if !isRefusal || !refused.isUnread() {
		return err
	}
	kind := driver.ErrNotTaken
	if refused.isFinal() {
		switch refused.Code {
		case errorNotConnected:
			kind = driver.ErrNotConnected
		case errorNotRegistered:
			kind = driver.ErrNotRegistered
		case errorRefused:
			kind = driver.ErrRefused
		}
	}
	return fmt.Errorf("%w: %w", kind, err)
}

// call makes a call and decodes its response; into may be nil.
func (d *Driver) call(ctx context.Context, c driver.Connection, name string, data, into any) error {
	response, err := d.do(ctx, d.host.HTTP, c, name, data)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	if err != nil {
		return fmt.Errorf("reading the bridge's response: %w", err)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("decoding the bridge's response: %w", err)
	}
	return nil
}

// do makes a signed call. The caller closes the response's body.
func (d *Driver) do(ctx context.Context, client hub.Doer, c driver.Connection, name string, data any) (*http.Response, error) {
	settings, err := ParseSettings(c)
	if err != nil {
		return nil, err
	}
	if settings.URL == "" || settings.Secret == "" {
		return nil, errors.New("the connection has no bridge")
	}
	body, err := json.Marshal(call{
		ID: rand.Text(), Call: name, Connection: strconv.FormatInt(c.ID, 10), Timestamp: d.host.Now().UTC().Format(time.RFC3339),
		WebhookURL: WebhookURL(d.host.URLs.Base, c.ID), Data: data,
	})
	if err != nil {
		return nil, fmt.Errorf("encoding a call: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, settings.URL, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("making a request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(hub.HeaderSignature, hub.SignBody(settings.Secret, body))
	response, err := client.Do(request)
	if err != nil {
		if ctx.Err() == nil { // else the caller gave it up
			err = fmt.Errorf("%w: %w", driver.ErrUnreachable, err)
		}
		return nil, fmt.Errorf("calling the bridge: %w", err)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }()
	var result refusal
	_ = json.NewDecoder(io.LimitReader(response.Body, maxResponse)).Decode(&result) // a response without a reason has none
	switch response.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return nil, fmt.Errorf("%w: it responded with %d", driver.ErrUnreachable, response.StatusCode)
	}
	refused := &Refusal{response.StatusCode, result.Error, chat.Truncate(result.Message, maxError)}
	return nil, driver.WithRetryAfter(refused, response, d.host.Now())
}
