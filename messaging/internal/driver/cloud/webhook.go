package cloud

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

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
	Statuses []struct {
		ID           string `json:"id"`
		Status       string `json:"status"`
		CallbackData string `json:"biz_opaque_callback_data"` // our id of the message
		Errors       []struct {
			Code int `json:"code"`
		} `json:"errors"`
	} `json:"statuses"`
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
		ack, isKnown := acks[status.Status]
		if !isKnown || status.ID == "" || len(status.ID) > maxRemoteID {
			continue
		}
		receipt := driver.Receipt{ConnectionID: c.ID, RemoteIDs: []string{status.ID}, MessageID: status.CallbackData, Ack: ack}
		if ack == chat.AckFailed && len(status.Errors) > 0 {
			receipt.ErrorCode = codeOf(status.Errors[0].Code)
		}
		if err := d.sink.ReceiveReceipt(ctx, receipt); err != nil {
			return err
		}
	}
	return nil
}
