package cloud

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
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
			Value change `json:"value"`
		} `json:"changes"`
	} `json:"entry"`
}

// change is what happened at one number.
type change struct {
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
	Statuses []status   `json:"statuses"`
}

// status is how far a sent message has come.
type status struct {
	ID           string `json:"id"`
	Status       string `json:"status"`
	Timestamp    string `json:"timestamp"`                // Unix, in seconds
	CallbackData string `json:"biz_opaque_callback_data"` // our id of the message
	Errors       []struct {
		Code    int    `json:"code"`
		Title   string `json:"title"`
		Message string `json:"message"`
	} `json:"errors"`
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
			if err := d.receiveChange(ctx, c, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// receiveChange passes the messages and states of one change to the sink.
func (d *Driver) receiveChange(ctx context.Context, c driver.Connection, value change) error {
	names := make(map[string]string)
	for _, contact := range value.Contacts {
		names[contact.WaID] = contact.Profile.Name
	}
	for _, message := range value.Messages {
		if message.ID == "" || len(message.ID) > maxRemoteID {
			return errMalformed()
		}
		in, isMessage := d.toIncoming(c.ID, message, names[message.From])
		if !isMessage {
			continue
		}
		if err := d.sink.ReceiveMessage(ctx, in); err != nil {
			return err
		}
	}
	for _, status := range value.Statuses {
		if err := d.receiveStatus(ctx, c, status); err != nil {
			return err
		}
	}
	return nil
}

// receiveStatus passes a state of a sent message to the sink, and the connection's where the
// message failed for the account. States that are not known are left out.
func (d *Driver) receiveStatus(ctx context.Context, c driver.Connection, s status) error {
	ack, isKnown := acks[s.Status]
	if !isKnown || s.ID == "" || len(s.ID) > maxRemoteID {
		return nil
	}
	receipt := driver.Receipt{ConnectionID: c.ID, RemoteIDs: []string{s.ID}, MessageID: s.CallbackData, Ack: ack}
	hasFailed := ack == chat.AckFailed && len(s.Errors) > 0
	if hasFailed {
		receipt.ErrorCode = codeOf(s.Errors[0].Code)
	}
	if err := d.sink.ReceiveReceipt(ctx, receipt); err != nil || !hasFailed || !isAccountError(s.Errors[0].Code) {
		return err
	}
	seconds, err := strconv.ParseInt(s.Timestamp, 10, 64)
	if err != nil {
		return nil //nolint:nilerr // an old one would stop a connection that works again
	}
	reason := cmp.Or(s.Errors[0].Message, s.Errors[0].Title, fmt.Sprintf("The Cloud API reports error %d.", s.Errors[0].Code))
	return d.sink.ChangeConnection(ctx, driver.ConnectionChange{ConnectionID: c.ID, Status: chat.ConnectionDisconnected, LastError: reason, At: time.Unix(seconds, 0)})
}
