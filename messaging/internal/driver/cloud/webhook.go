package cloud

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
)

// IsSigned reports whether X-Hub-Signature-256 is that of a webhook's bytes.
func (s Settings) IsSigned(body []byte, signature string) bool {
	mac := hmac.New(sha256.New, []byte(s.AppSecret))
	mac.Write(body)
	return s.AppSecret != "" && hmac.Equal([]byte(signature), []byte("sha256="+hex.EncodeToString(mac.Sum(nil))))
}

// IsVerified reports whether hub.verify_token is that of a connection.
func (s Settings) IsVerified(token string) bool {
	return s.VerifyToken != "" && hmac.Equal([]byte(token), []byte(s.VerifyToken))
}

// webhook is the body of a webhook.
type webhook struct {
	Entry []struct {
		Changes []struct {
			Value struct {
				Metadata struct {
					PhoneNumberID string `json:"phone_number_id"`
				} `json:"metadata"`
				Contacts []struct {
					WaID    string `json:"wa_id"`
					Profile struct {
						Name string `json:"name"`
					} `json:"profile"`
				} `json:"contacts"`
				Messages []incoming `json:"messages"`
				Statuses []struct {
					ID     string `json:"id"`
					Status string `json:"status"`
					Errors []struct {
						Code int `json:"code"`
					} `json:"errors"`
				} `json:"statuses"`
			} `json:"value"`
		} `json:"changes"`
	} `json:"entry"`
}

// incoming is a received message.
type incoming struct {
	ID        string `json:"id"`
	From      string `json:"from"`
	Timestamp string `json:"timestamp"` // Unix seconds
	Type      string `json:"type"`
	Text      struct {
		Body string `json:"body"`
	} `json:"text"`
	Image    *incomingFile        `json:"image"`
	Video    *incomingFile        `json:"video"`
	Audio    *incomingFile        `json:"audio"`
	Document *incomingFile        `json:"document"`
	Sticker  *incomingFile        `json:"sticker"`
	Context  *struct{ ID string } `json:"context"`
}

type incomingFile struct {
	ID       string `json:"id"`
	MimeType string `json:"mime_type"`
	Caption  string `json:"caption"`
	Filename string `json:"filename"`
}

// maxRemoteID is the length of the API's ids, in bytes; they have 128 at most today.
const maxRemoteID = 500

// acks are the API's states of sent messages.
var acks = map[string]chat.Ack{"sent": chat.AckServer, "delivered": chat.AckDevice, "read": chat.AckRead, "played": chat.AckPlayed, "failed": chat.AckFailed}

// Receive passes what a webhook of a connection says to the sink. The caller has checked its
// signature. It returns a [hub.ErrMalformed] for what is no webhook. What is about other
// numbers is left out.
func (d *Driver) Receive(ctx context.Context, c driver.Connection, body []byte) error {
	settings, err := ParseSettings(c)
	if err != nil {
		return err
	}
	var hook webhook
	if json.Unmarshal(body, &hook) != nil {
		return errMalformed()
	}
	for _, entry := range hook.Entry {
		for _, change := range entry.Changes {
			value := change.Value
			if value.Metadata.PhoneNumberID != settings.PhoneNumberID {
				continue
			}
			names := make(map[string]string)
			for _, contact := range value.Contacts {
				names[contact.WaID] = contact.Profile.Name
			}
			for _, message := range value.Messages {
				if message.ID == "" || len(message.ID) > maxRemoteID {
					return errMalformed()
				}
				if err := d.sink.ReceiveMessage(ctx, d.toIncoming(c.ID, message, names[message.From])); err != nil {
					return err
				}
			}
			for _, status := range value.Statuses {
				ack, isKnown := acks[status.Status]
				if !isKnown {
					continue
				}
				receipt := driver.Receipt{ConnectionID: c.ID, RemoteIDs: []string{status.ID}, Ack: ack}
				if ack == chat.AckFailed && len(status.Errors) > 0 {
					receipt.ErrorCode = codeOf(status.Errors[0].Code)
				}
				if err := d.sink.ReceiveReceipt(ctx, receipt); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (d *Driver) toIncoming(connection int64, m incoming, name string) driver.Incoming {
	in := driver.Incoming{ConnectionID: connection, RemoteID: m.ID, From: m.From, Name: strings.TrimSpace(name), Body: m.Text.Body, At: d.host.Now().UTC()}
	if seconds, err := strconv.ParseInt(m.Timestamp, 10, 64); err == nil {
		in.At = time.Unix(seconds, 0).UTC()
	}
	if m.Context != nil {
		in.QuotedRemoteID = m.Context.ID
	}
	if kind, file := m.file(); file != nil {
		in.Body = file.Caption
		in.Media = &driver.IncomingMedia{Type: kind, MimeType: file.MimeType, Name: file.Filename, Reference: file.ID}
	}
	return in
}

// file returns the file of a message and its kind, or nil.
func (m incoming) file() (chat.MediaType, *incomingFile) {
	switch {
	case m.Image != nil:
		return chat.MediaImage, m.Image
	case m.Video != nil:
		return chat.MediaVideo, m.Video
	case m.Audio != nil:
		return chat.MediaAudio, m.Audio
	case m.Document != nil:
		return chat.MediaDocument, m.Document
	case m.Sticker != nil:
		return chat.MediaSticker, m.Sticker
	}
	return chat.MediaText, nil
}
