package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// phonesPath is where the simulated chat network of the messaging platform lies unless
// HUB_PRODUCT_PATHS says otherwise.
const phonesPath = "/messaging/sandbox"

// Phone is a phone of the simulated chat network.
type Phone struct {
	Number    string    `json:"number"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"createdAt"`
}

// PhoneMessage is a message that a phone has received.
type PhoneMessage struct {
	ID       string    `json:"id"`
	From     string    `json:"from"`
	Body     string    `json:"body"`
	MediaURL string    `json:"mediaUrl"`
	At       time.Time `json:"at"`
	Ack      int       `json:"ack"`
}

// PhoneInbox are the messages that a phone has received.
type PhoneInbox struct {
	Messages []PhoneMessage `json:"messages"`
}

// Pairing is the state of a connection of the messaging platform.
type Pairing struct {
	ConnectionID int64  `json:"connectionId"`
	Status       string `json:"status"`
}

func phonePath(number, action string) string { return phonesPath + "/phones/" + id(number) + action }

// Phones returns the phones.
func (c *Client) Phones(ctx context.Context) (Reply[[]Phone], error) {
	return send[[]Phone](ctx, c, call{method: http.MethodGet, path: phonesPath + "/phones", public: true})
}

// AddPhone makes a phone, or renames it.
func (c *Client) AddPhone(ctx context.Context, number, name string) (Reply[Phone], error) {
	return send[Phone](ctx, c, call{method: http.MethodPost, path: phonesPath + "/phones", body: map[string]string{"number": number, "name": name}, public: true})
}

// ScanCode has a phone scan the text of a QR code.
func (c *Client) ScanCode(ctx context.Context, number, code string) (Reply[Pairing], error) {
	return send[Pairing](ctx, c, call{method: http.MethodPost, path: phonePath(number, "/scan"), body: map[string]string{"code": code}, public: true})
}

// SendFromPhone sends a message from a phone; mediaURL may be empty.
func (c *Client) SendFromPhone(ctx context.Context, number, to, body, mediaURL string) (Reply[PhoneMessage], error) {
	message := map[string]string{"to": to, "body": body}
	if mediaURL != "" {
		message["mediaUrl"] = mediaURL
	}
	return send[PhoneMessage](ctx, c, call{method: http.MethodPost, path: phonePath(number, "/send"), body: message, public: true})
}

// PhoneInbox returns what a phone has received.
func (c *Client) PhoneInbox(ctx context.Context, number string) (Reply[PhoneInbox], error) {
	return send[PhoneInbox](ctx, c, call{method: http.MethodGet, path: phonePath(number, "/inbox"), query: url.Values{}, public: true})
}

// ReadPhone marks what a phone has received as read; no ids means everything.
func (c *Client) ReadPhone(ctx context.Context, number string, ids []string) (Reply[json.RawMessage], error) {
	body := map[string][]string{}
	if len(ids) > 0 {
		body["ids"] = ids
	}
	return send[json.RawMessage](ctx, c, call{method: http.MethodPost, path: phonePath(number, "/read"), body: body, public: true})
}

// ActOnConnection has the network ban a connection, log it out, or take it offline or online.
func (c *Client) ActOnConnection(ctx context.Context, connection int64, action string) (Reply[Pairing], error) {
	return send[Pairing](ctx, c, call{method: http.MethodPost, path: phonesPath + "/connections/" + strconv.FormatInt(connection, 10) + "/" + id(action), public: true})
}
