// Package cloud calls the WhatsApp Cloud API over HTTP: it sends messages, reads the
// files of received ones, and reads the API's webhooks.
package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
)

// Name is the driver's name.
const Name = "cloud"

// messageWindow is how long after a contact's message texts are accepted.
const messageWindow = 24 * time.Hour

// maxResponse is how many bytes of a response of the API are read.
const maxResponse = 1 << 20

// Driver calls the API. It implements [driver.Driver].
type Driver struct {
	host module.Host
	sink driver.Sink
	base string // with the version, without a slash at the end
}

var _ driver.Driver = (*Driver)(nil)

// Settings are those of a connection.
type Settings struct {
	PhoneNumberID string `json:"phoneNumberId"`
	WABAID        string `json:"wabaId"`
	AccessToken   string `json:"accessToken"` // secret
	AppSecret     string `json:"appSecret"`   // secret: signs webhooks
	VerifyToken   string `json:"verifyToken"` // secret: of the webhook's verification
}

// New returns the driver for an API at an address and a version, such as
// https://graph.facebook.com and v23.0.
func New(host module.Host, sink driver.Sink, address, version string) (*Driver, error) {
	base, err := url.Parse(address)
	if err != nil || base.Host == "" {
		return nil, errors.New("the address of the Cloud API must be an absolute URL")
	}
	return &Driver{host, sink, base.JoinPath(version).String()}, nil
}

// Name implements [driver.Driver].
func (d *Driver) Name() string { return Name }

// Capabilities implements [driver.Driver].
func (d *Driver) Capabilities() driver.Capabilities {
	return driver.Capabilities{Templates: true, MessageWindow: messageWindow}
}

// ParseSettings returns the settings of a connection.
func ParseSettings(c driver.Connection) (s Settings, err error) {
	if err := json.Unmarshal(c.Settings, &s); err != nil {
		return s, fmt.Errorf("reading a connection's settings: %w", err)
	}
	return s, nil
}

// Start implements [driver.Driver]: it checks the account. A refused one is disconnected,
// with the API's reason; while the API cannot say, its state is unknown.
func (d *Driver) Start(ctx context.Context, c driver.Connection) error {
	settings, err := ParseSettings(c)
	if err != nil {
		return err
	}
	var account struct {
		DisplayPhoneNumber string `json:"display_phone_number"`
	}
	change := driver.ConnectionChange{ConnectionID: c.ID}
	err = d.call(ctx, http.MethodGet, "/"+url.PathEscape(settings.PhoneNumberID)+"?fields=display_phone_number", settings, nil, &account)
	if change.Status, change.LastError, err = accountState(err); err != nil {
		return err
	}
	change.Number = digits(account.DisplayPhoneNumber)
	return d.sink.ChangeConnection(ctx, change)
}

// accountState returns the state of a connection whose account was asked for, with the reason for
// people. Only what people have to mend disconnects it: nothing asks for the account again then. It
// returns the error if that is not about the account.
func accountState(err error) (status chat.ConnectionStatus, reason string, _ error) {
	if err == nil {
		return chat.ConnectionConnected, "", nil
	}
	err = mapError(err)
	var account *driver.AccountError
	var apiErr *APIError
	switch {
	case errors.As(err, &account):
		return chat.ConnectionDisconnected, account.Reason, nil
	case errors.Is(err, driver.ErrUnreachable):
		return chat.ConnectionTimeout, "The Cloud API does not respond.", nil
	case !errors.As(err, &apiErr):
		return "", "", err
	case errors.Is(err, driver.ErrRefused):
		return chat.ConnectionDisconnected, apiErr.text(), nil
	}
	return chat.ConnectionTimeout, apiErr.text(), nil
}

// Stop implements [driver.Driver]. There is no session to end.
func (d *Driver) Stop(context.Context, driver.Connection) error { return nil }

// Check implements [driver.Driver]. The API cannot be asked.
func (d *Driver) Check(context.Context, driver.Connection, string) (registered bool, err error) {
	return true, nil
}

// outgoing is a message as the API accepts it.
type outgoing struct {
	Product      string          `json:"messaging_product"`
	To           string          `json:"to,omitempty"`
	Type         string          `json:"type,omitempty"`
	Text         *textContent    `json:"text,omitempty"`
	Image        *fileContent    `json:"image,omitempty"`
	Video        *fileContent    `json:"video,omitempty"`
	Audio        *fileContent    `json:"audio,omitempty"`
	File         *fileContent    `json:"document,omitempty"`
	Template     *template       `json:"template,omitempty"`
	Context      *messageContext `json:"context,omitempty"`
	CallbackData string          `json:"biz_opaque_callback_data,omitempty"` // our id, which statuses repeat
	Status       string          `json:"status,omitempty"`                   // of a read receipt
	Message      string          `json:"message_id,omitempty"`               // of a read receipt
}

type textContent struct {
	Body string `json:"body"`
}

type fileContent struct {
	Link     string `json:"link"`
	Caption  string `json:"caption,omitempty"`
	Filename string `json:"filename,omitempty"`
}

type messageContext struct {
	MessageID string `json:"message_id"`
}

func toOutgoing(m driver.Outgoing) outgoing {
	out := outgoing{Product: "whatsapp", To: m.To, Type: "text", CallbackData: m.ID}
	if m.QuotedRemoteID != "" {
		out.Context = &messageContext{m.QuotedRemoteID}
	}
	switch {
	case m.Template != nil:
		out.Type, out.Template = "template", toTemplate(*m.Template)
		return out
	case m.Media == nil:
		out.Text = &textContent{m.Body}
		return out
	}
	file := &fileContent{Link: m.Media.URL, Caption: m.Body}
	switch out.Type = string(m.Media.Type); m.Media.Type {
	case chat.MediaImage:
		out.Image = file
	case chat.MediaVideo:
		out.Video = file
	case chat.MediaAudio: // has no caption
		file.Caption, out.Audio = "", file
	default:
		out.Type, file.Filename, out.File = "document", m.Media.Name, file
	}
	return out
}

// Send implements [driver.Driver]. The API cannot tell a repeated message: a lost response is
// [driver.ErrUnclear].
func (d *Driver) Send(ctx context.Context, c driver.Connection, m driver.Outgoing) (driver.Sent, error) {
	settings, err := ParseSettings(c)
	if err != nil {
		return driver.Sent{}, err
	}
	var result struct {
		Messages []struct {
			ID string `json:"id"`
		} `json:"messages"`
	}
	err = d.call(ctx, http.MethodPost, "/"+url.PathEscape(settings.PhoneNumberID)+"/messages", settings, toOutgoing(m), &result)
	if err != nil {
		return driver.Sent{}, mapError(err)
	}
	if len(result.Messages) != 1 || result.Messages[0].ID == "" || len(result.Messages[0].ID) > maxRemoteID {
		return driver.Sent{}, fmt.Errorf("%w: the Cloud API responded without its id", driver.ErrUnclear)
	}
	return driver.Sent{RemoteID: result.Messages[0].ID, At: d.host.Now().UTC().Truncate(time.Microsecond)}, nil
}

// MarkRead implements [driver.Driver]. The API marks what came before a message as well.
func (d *Driver) MarkRead(ctx context.Context, c driver.Connection, _ driver.Contact, remoteIDs []string) error {
	settings, err := ParseSettings(c)
	if err != nil || len(remoteIDs) == 0 {
		return err
	}
	receipt := outgoing{Product: "whatsapp", Status: "read", Message: remoteIDs[len(remoteIDs)-1]}
	return d.call(ctx, http.MethodPost, "/"+url.PathEscape(settings.PhoneNumberID)+"/messages", settings, receipt, nil)
}

// OpenMedia implements [driver.Driver]: the API answers with a short-lived address.
func (d *Driver) OpenMedia(ctx context.Context, c driver.Connection, reference string) (io.ReadCloser, error) {
	settings, err := ParseSettings(c)
	if err != nil {
		return nil, err
	}
	var file struct {
		URL string `json:"url"`
	}
	if err := d.call(ctx, http.MethodGet, "/"+url.PathEscape(reference), settings, nil, &file); err != nil {
		return nil, mapError(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, file.URL, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: its address cannot be read", driver.ErrRefused)
	}
	request.Header.Set("Authorization", "Bearer "+settings.AccessToken)
	response, err := d.host.Downloads.Do(request)
	if err != nil {
		return nil, fmt.Errorf("fetching a file: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		return nil, fmt.Errorf("fetching a file: status %d", response.StatusCode)
	}
	return response.Body, nil
}

// call makes a request to the API and decodes its response; into may be nil. A
// [lostResponseError] is the only error after which the API may have done what was asked.
func (d *Driver) call(ctx context.Context, method, path string, settings Settings, body, into any) error {
	var reader io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("encoding a request: %w", err)
		}
		reader = bytes.NewReader(raw)
	}
	var isOnItsWay atomic.Bool // written by the connection's own goroutine
	trace := &httptrace.ClientTrace{WroteHeaders: func() { isOnItsWay.Store(true) }}
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), method, d.base+path, reader)
	if err != nil {
		return fmt.Errorf("making a request: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+settings.AccessToken)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := d.host.HTTP.Do(request)
	if err != nil {
		err = fmt.Errorf("calling the Cloud API: %w", err)
		if !isOnItsWay.Load() {
			return unreachable(ctx, err)
		}
		return &lostResponseError{unreachable(ctx, err)}
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	if err != nil {
		return &lostResponseError{unreachable(ctx, fmt.Errorf("reading the Cloud API's response: %w", err))}
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		var result struct {
			Error struct {
				Code    int    `json:"code"`
				Message string `json:"message"`
			} `json:"error"`
		}
		if json.Unmarshal(raw, &result) != nil && response.StatusCode >= http.StatusInternalServerError {
			// It is not the API that answers, but what stands before it.
			return &lostResponseError{unreachable(ctx, fmt.Errorf("the Cloud API responded with %d and without an error of its own", response.StatusCode))}
		}
		// The message is shown to users and logged; the API may quote the token there.
		err := &APIError{response.StatusCode, result.Error.Code, strings.ReplaceAll(result.Error.Message, settings.AccessToken, "[access token]")}
		return driver.WithRetryAfter(err, response, d.host.Now())
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return &lostResponseError{unreachable(ctx, fmt.Errorf("decoding the Cloud API's response: %w", err))}
	}
	return nil
}

// digits returns the digits of a number as the API shows it.
func digits(text string) string {
	var out []byte
	for i := range len(text) {
		if text[i] >= '0' && text[i] <= '9' {
			out = append(out, text[i])
		}
	}
	return string(out)
}

// errMalformed is the error for a webhook that cannot be read.
func errMalformed() *hub.Error {
	return hub.Errorf(hub.ErrMalformed, "malformed", "The webhook does not have the form of the Cloud API.")
}
