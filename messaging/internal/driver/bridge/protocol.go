package bridge

import (
	"encoding/json"
	"time"

	"integrationhub/messaging/internal/chat"
)

// The JSON of docs/bridge.md.

// Calls of the hub.
const (
	callStart = "start"
	callStop  = "stop"
	callState = "state"
	callSend  = "send"
	callRead  = "read"
	callCheck = "check"
	callMedia = "media"
)

// Events of a bridge.
const (
	eventState   = "state"
	eventMessage = "message"
	eventReceipt = "receipt"
)

// call is the body of a request to a bridge.
type call struct {
	ID         string `json:"id"`
	Call       string `json:"call"`
	Connection string `json:"connection"`
	Timestamp  string `json:"timestamp"` // RFC 3339
	WebhookURL string `json:"webhookUrl"`
	Data       any    `json:"data"`
}

// refusal is the body of a response that is an error.
type refusal struct {
	Error   string `json:"error"`
	Message string `json:"message"`
}

// Errors that a bridge may name.
const (
	errorNotConnected  = "not_connected"
	errorNotRegistered = "not_registered"
	errorRefused       = "refused"
)

// outgoing is a message to send.
type outgoing struct {
	ID       string        `json:"id"`
	To       string        `json:"to"`
	LID      string        `json:"lid,omitempty"`
	Body     string        `json:"body"`
	QuotedID string        `json:"quotedId,omitempty"`
	Media    *outgoingFile `json:"media,omitempty"`
}

type outgoingFile struct {
	Type     chat.MediaType `json:"type"`
	MimeType string         `json:"mimeType"`
	Name     string         `json:"name"`
	URL      string         `json:"url"`
}

// sent is the response to an outgoing message.
type sent struct {
	RemoteID string    `json:"remoteId"`
	At       time.Time `json:"at"`
}

// state is the state of a session.
type state struct {
	Status      chat.ConnectionStatus `json:"status"`
	Sequence    int64                 `json:"sequence"`
	QRCode      string                `json:"qrcode"`
	QRExpiresAt time.Time             `json:"qrExpiresAt"`
	Number      string                `json:"number"`
	Error       string                `json:"error"`
}

// event is the body of a request of a bridge.
type event struct {
	ID         string          `json:"id"`
	Event      string          `json:"event"`
	Connection string          `json:"connection"`
	Timestamp  time.Time       `json:"timestamp"`
	Data       json.RawMessage `json:"data"`
}

// incoming is a received message.
type incoming struct {
	RemoteID string         `json:"remoteId"`
	From     string         `json:"from"`
	LID      string         `json:"lid"`
	FromMe   bool           `json:"fromMe"`
	Name     string         `json:"name"`
	Body     string         `json:"body"`
	Kind     chat.MediaType `json:"kind"`
	QuotedID string         `json:"quotedId"`
	At       time.Time      `json:"at"`
	Media    *incomingFile  `json:"media"`
}

type incomingFile struct {
	Type      chat.MediaType `json:"type"`
	MimeType  string         `json:"mimeType"`
	Name      string         `json:"name"`
	Reference string         `json:"reference"`
}

// receipt says how far sent messages have come.
type receipt struct {
	RemoteIDs []string `json:"remoteIds"`
	MessageID string   `json:"messageId"`
	Ack       chat.Ack `json:"ack"`
	ErrorCode string   `json:"errorCode"`
}
