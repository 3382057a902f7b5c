package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"integrationhub/hub"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
)

// tolerance is how far the timestamp of an event may be from the hub's clock.
const tolerance = 5 * time.Minute

// Bounds of events.
const (
	maxBody       = 65_536 // characters of a message
	maxName       = 255    // characters of names and kinds of files
	maxReference  = 2_000  // bytes
	maxReceiptIDs = 1_000
	maxQRCode     = 1_000 // bytes; longer ones make no picture
)

// statuses are the states that a bridge may report.
var statuses = []chat.ConnectionStatus{
	chat.ConnectionOpening, chat.ConnectionQRCode, chat.ConnectionPairing, chat.ConnectionConnected,
	chat.ConnectionTimeout, chat.ConnectionDisconnected, chat.ConnectionBanned, chat.ConnectionOutdated,
}

// Receive passes an event of a connection's bridge to the sink. It returns a
// [hub.ErrUnauthorized] unless the connection's secret signed exactly this body within the
// last minutes, and a [hub.ErrMalformed] for what is no event. A connection without settings
// has no bridge.
func (d *Driver) Receive(ctx context.Context, c driver.Connection, body []byte, signature string) error {
	unauthorized := hub.Errorf(hub.ErrUnauthorized, "unauthorized", "There is no connection with this id whose secret signed this body within the last five minutes.")
	if c.Settings == nil {
		return unauthorized
	}
	settings, err := ParseSettings(c)
	if err != nil {
		return err
	}
	if !hub.VerifyBody(signature, body, settings.Secret) {
		return unauthorized
	}
	var e event
	if err := json.Unmarshal(body, &e); err != nil {
		return malformed("it is not JSON of the documented form")
	}
	if e.Connection != strconv.FormatInt(c.ID, 10) || d.host.Now().Sub(e.Timestamp).Abs() > tolerance {
		return unauthorized
	}
	switch e.Event {
	case eventState:
		return receive(ctx, e.Data, d.sink.ChangeConnection, func(s state) (driver.ConnectionChange, error) { return s.toChange(c.ID) })
	case eventMessage:
		return receive(ctx, e.Data, d.sink.ReceiveMessage, func(m incoming) (driver.Incoming, error) { return m.toIncoming(c.ID, d.host.Now()) })
	case eventReceipt:
		return receive(ctx, e.Data, d.sink.ReceiveReceipt, func(r receipt) (driver.Receipt, error) { return r.toReceipt(c.ID) })
	}
	return malformed("event must be state, message or receipt")
}

// receive decodes the data of an event, checks it, and passes it on.
func receive[Data, Change any](ctx context.Context, raw json.RawMessage, pass func(context.Context, Change) error, convert func(Data) (Change, error)) error {
	var data Data
	if json.Unmarshal(raw, &data) != nil {
		return malformed("data does not have the documented form")
	}
	change, err := convert(data)
	if err != nil {
		return err
	}
	return pass(ctx, change)
}

// malformed is the error for an event that has to be changed before it comes again.
func malformed(problem string) *hub.Error {
	return hub.Errorf(hub.ErrMalformed, "malformed", "The event cannot be read: %s.", problem)
}

// check returns the first rule that is broken, as an error.
func check(rules ...rule) error {
	for _, r := range rules {
		if !r.isKept {
			return malformed(r.text)
		}
	}
	return nil
}

type rule struct {
	isKept bool
	text   string
}

func hasLength(s string, maximum int) bool { return s != "" && len(s) <= maximum }

func (s state) toChange(connection int64) (driver.ConnectionChange, error) {
	isQRCode := s.Status == chat.ConnectionQRCode
	return driver.ConnectionChange{
			ConnectionID: connection, Status: s.Status, Sequence: s.Sequence, QRCode: s.QRCode, QRExpiresAt: s.QRExpiresAt.UTC(), Number: s.Number, LastError: chat.Truncate(s.Error, maxError),
		}, check(
			rule{slices.Contains(statuses, s.Status), "status must be a state of connections"},
			rule{s.Sequence > 0, "sequence must be greater than 0"},
			rule{!isQRCode || hasLength(s.QRCode, maxQRCode), fmt.Sprintf("qrcode must have 1 to %d bytes in the state qrcode", maxQRCode)},
			rule{!isQRCode || !s.QRExpiresAt.IsZero(), "qrExpiresAt is required in the state qrcode"},
			rule{s.Number == "" || chat.IsNumber(s.Number), "number must be digits with the country code"},
		)
}

func (m incoming) toIncoming(connection int64, now time.Time) (driver.Incoming, error) {
	in := driver.Incoming{
		ConnectionID: connection, RemoteID: m.RemoteID, From: m.From, LID: m.LID, FromMe: m.FromMe, Name: chat.Truncate(strings.TrimSpace(m.Name), maxName), Body: m.Body, Kind: m.Kind,
		QuotedRemoteID: m.QuotedID, At: m.At.UTC(),
	}
	if in.At.After(now) {
		in.At = now.UTC()
	}
	rules := []rule{
		{hasLength(m.RemoteID, maxRemoteID), fmt.Sprintf("remoteId must have 1 to %d bytes", maxRemoteID)},
		{chat.IsNumber(m.From) || m.From == "" && m.LID != "", "from must be digits with the country code; it may be empty beside a lid"},
		{len(m.LID) <= maxName && len(m.QuotedID) <= maxRemoteID, "lid and quotedId must not be longer"},
		{len([]rune(m.Body)) <= maxBody, fmt.Sprintf("body must have at most %d characters", maxBody)},
		{m.Kind == "" || m.Kind == chat.MediaText || m.Kind == chat.MediaLocation || m.Kind == chat.MediaContact, "kind must be text, location or contact"},
		{m.Media != nil || strings.TrimSpace(m.Body) != "", "a message needs a body or media"},
		{!m.At.IsZero(), "at is required"},
	}
	if m.Media != nil {
		f := m.Media
		in.Kind, in.Media = "", &driver.IncomingMedia{Type: f.Type, MimeType: f.MimeType, Name: f.Name, Reference: f.Reference}
		rules = append(rules,
			rule{slices.Contains([]chat.MediaType{chat.MediaImage, chat.MediaVideo, chat.MediaAudio, chat.MediaDocument, chat.MediaSticker}, f.Type), "media.type must be image, video, audio, document or sticker"},
			rule{hasLength(f.Reference, maxReference), fmt.Sprintf("media.reference must have 1 to %d bytes", maxReference)},
			rule{len(f.MimeType) <= maxName && len(f.Name) <= maxName, "media.mimeType and media.name must not be longer"})
	}
	return in, check(rules...)
}

func (r receipt) toReceipt(connection int64) (driver.Receipt, error) {
	areValid := !slices.ContainsFunc(r.RemoteIDs, func(id string) bool { return !hasLength(id, maxRemoteID) })
	return driver.Receipt{ConnectionID: connection, RemoteIDs: r.RemoteIDs, MessageID: r.MessageID, Ack: r.Ack, ErrorCode: chat.Truncate(r.ErrorCode, maxName)}, check(
		rule{areValid && len(r.RemoteIDs) > 0 && len(r.RemoteIDs) <= maxReceiptIDs, fmt.Sprintf("remoteIds must have 1 to %d ids of 1 to %d bytes", maxReceiptIDs, maxRemoteID)},
		rule{r.MessageID == "" || len(r.RemoteIDs) == 1, "messageId belongs to a single remote id"},
		rule{r.Ack == chat.AckFailed || r.Ack >= chat.AckServer && r.Ack <= chat.AckPlayed, "ack must be -1, 1, 2, 3 or 4"},
	)
}
