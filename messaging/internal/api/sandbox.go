package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"integrationhub/hub"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver/sandbox"
	"integrationhub/messaging/internal/store"
)

// inSandbox binds a route of the simulated network. It is not in the OpenAPI document, and
// outside of development there is nothing at its path.
func (a *API) inSandbox(bind rest.Binder) rest.Binder {
	return rest.WithoutDocument(func(api huma.API, op huma.Operation) {
		op.Middlewares = append(op.Middlewares, func(ctx huma.Context, next func(huma.Context)) {
			if a.sandbox == nil {
				_ = huma.WriteErr(api, ctx, http.StatusNotFound, "There is nothing here.")
				return
			}
			next(ctx)
		})
		bind(api, op)
	})
}

// Phone is a phone of the simulated network.
type Phone struct {
	Number    string    `json:"number" example:"5511987654321"`
	Name      string    `json:"name" example:"Ana Souza"`
	CreatedAt time.Time `json:"createdAt"`
}

func toPhone(p sandbox.Phone) Phone { return Phone{p.Number, p.Name, p.CreatedAt.UTC()} }

// PhoneParam is the path parameter of a phone.
type PhoneParam struct {
	Number string `path:"number" maxLength:"15" doc:"Digits with the country code" example:"5511987654321"`
}

type createPhoneInput struct {
	Body struct {
		Number string `json:"number" doc:"Digits with the country code" example:"5511987654321"`
		Name   string `json:"name" minLength:"1" maxLength:"120" example:"Ana Souza"`
	} `nameHint:"NewPhone"`
}

func (a *API) createPhone(ctx context.Context, in *createPhoneInput) (*struct{ Body Phone }, error) {
	if !chat.IsNumber(in.Body.Number) {
		return nil, invalidField("invalid_number", "body.number", "Invalid number format: digits with country code")
	}
	var errs rest.FieldErrors
	errs.CheckName(in.Body.Name, "body.name", 120)
	if err := errs.Err(); err != nil {
		return nil, err
	}
	phone, err := a.sandbox.AddPhone(ctx, in.Body.Number, in.Body.Name)
	return &struct{ Body Phone }{toPhone(phone)}, err
}

func (a *API) listPhones(ctx context.Context, _ *struct{}) (*struct{ Body []Phone }, error) {
	phones, err := a.sandbox.Phones(ctx)
	return &struct{ Body []Phone }{rest.Map(phones, toPhone)}, err
}

type scanInput struct {
	PhoneParam
	Body struct {
		Code string `json:"code" maxLength:"1000" doc:"Text of the connection's QR code"`
	} `nameHint:"Scan"`
}

// Pairing is the result of a scanned QR code.
type Pairing struct {
	ConnectionID int64                 `json:"connectionId" example:"2"`
	Status       chat.ConnectionStatus `json:"status" example:"CONNECTED"`
}

func (a *API) scan(ctx context.Context, in *scanInput) (*struct{ Body Pairing }, error) {
	id, err := a.sandbox.Scan(ctx, in.Number, in.Body.Code)
	if err != nil {
		return nil, err
	}
	connection, err := a.store.ConnectionByID(ctx, id)
	return &struct{ Body Pairing }{Pairing{id, connection.Status}}, dberr.MapNoRows(err, notFound("no_wapp_found", "connection"))
}

type phoneSendInput struct {
	PhoneParam
	Body struct {
		To       string  `json:"to" doc:"Number of a connection" example:"5511900000001"`
		Body     string  `json:"body" maxLength:"4096"`
		MediaURL *string `json:"mediaUrl,omitempty" maxLength:"900000" doc:"File of the message: an http(s) or a data URL"`
		QuotedID *string `json:"quotedId,omitempty" maxLength:"100" doc:"Message that it answers"`
	} `nameHint:"NewPhoneMessage"`
}

type phoneSendOutput struct {
	Body struct {
		ID string `json:"id" doc:"Of the message, at the network"`
	} `nameHint:"PhoneSent"`
}

func (a *API) sendFromPhone(ctx context.Context, in *phoneSendInput) (*phoneSendOutput, error) {
	if !chat.IsNumber(in.Body.To) {
		return nil, invalidField("invalid_number", "body.to", "Invalid number format: digits with country code")
	}
	if in.Body.Body == "" && in.Body.MediaURL == nil {
		return nil, invalidField("empty_body", "body.body", "The message body must not be empty.")
	}
	if in.Body.MediaURL != nil && !strings.HasPrefix(*in.Body.MediaURL, "data:") {
		var errs rest.FieldErrors
		errs.CheckURL(in.Body.MediaURL, "body.mediaUrl")
		if err := errs.Err(); err != nil {
			return nil, err
		}
	}
	sent, err := a.sandbox.SendFromPhone(ctx, in.Number, sandbox.Message{To: in.Body.To, Body: in.Body.Body, MediaURL: in.Body.MediaURL, QuotedID: in.Body.QuotedID})
	out := &phoneSendOutput{}
	out.Body.ID = sent.ID
	return out, err
}

type phoneInboxInput struct {
	PhoneParam
	After string `query:"after" maxLength:"60" doc:"Only messages after this cursor, or after the message with this id"`
}

// cursor returns the cursor that the caller names, 0 if it names none.
func (a *API) cursor(ctx context.Context, in *phoneInboxInput) (int64, error) {
	if in.After == "" {
		return 0, nil
	}
	if cursor, err := strconv.ParseInt(in.After, 10, 64); err == nil && cursor >= 0 {
		return cursor, nil
	}
	cursor, err := a.sandbox.CursorOf(ctx, in.Number, in.After)
	return cursor, dberr.MapNoRows(err, hub.Invalid("query.after", "must be a cursor, or the id of a message of the phone"))
}

// PhoneInbox are messages that a phone has received, oldest first.
type PhoneInbox struct {
	Messages []PhoneMessage `json:"messages" nullable:"false"`
	Cursor   int64          `json:"cursor" doc:"For the next call"`
}

// PhoneMessage is a message that a phone has received.
type PhoneMessage struct {
	ID       string    `json:"id"`
	From     string    `json:"from" doc:"Number of the connection"`
	Body     string    `json:"body"`
	MediaURL *string   `json:"mediaUrl"`
	At       time.Time `json:"at"`
	Ack      chat.Ack  `json:"ack"`
}

func (a *API) phoneInbox(ctx context.Context, in *phoneInboxInput) (*struct{ Body PhoneInbox }, error) {
	after, err := a.cursor(ctx, in)
	if err != nil {
		return nil, err
	}
	messages, err := a.sandbox.Inbox(ctx, in.Number, after)
	out := PhoneInbox{Cursor: after, Messages: rest.Map(messages, func(m sandbox.Message) PhoneMessage {
		return PhoneMessage{m.ID, m.From, m.Body, m.MediaURL, m.At.UTC(), m.Ack}
	})}
	if len(messages) > 0 {
		out.Cursor = messages[len(messages)-1].Seq
	}
	return &struct{ Body PhoneInbox }{out}, err
}

type phoneReadInput struct {
	PhoneParam
	Body *struct {
		IDs []string `json:"ids,omitempty" maxItems:"1000" doc:"Absent: all messages"`
	} `nameHint:"PhoneRead"`
}

func (a *API) markPhoneRead(ctx context.Context, in *phoneReadInput) (*messageOutput, error) {
	var ids []string
	if in.Body != nil {
		ids = in.Body.IDs
	}
	return &messageOutput{Message{"Messages read"}}, a.sandbox.MarkInboxRead(ctx, in.Number, ids)
}

// NetworkFaults are what the simulated network does wrong.
type NetworkFaults struct {
	LatencyMS        int  `json:"latencyMs,omitempty" minimum:"0" maximum:"10000" doc:"Milliseconds before each response"`
	DropPercent      int  `json:"dropPercent,omitempty" minimum:"0" maximum:"100" doc:"Of messages that are lost on their way"`
	DuplicatePercent int  `json:"duplicatePercent,omitempty" minimum:"0" maximum:"100" doc:"Of received messages and receipts that come twice"`
	Reorder          bool `json:"reorder,omitempty" doc:"Each received message waits for one that overtakes it"`
	LID              bool `json:"lid,omitempty" doc:"After its first message a sender is named by its LID, not by its number"`
	ExactNumbers     bool `json:"exactNumbers,omitempty" doc:"A Brazilian mobile number is registered as its phone has it: with the ninth digit, or without"`
}

func (a *API) setFaults(ctx context.Context, in *struct{ Body NetworkFaults }) (*struct{ Body NetworkFaults }, error) {
	return &struct{ Body NetworkFaults }{in.Body}, a.sandbox.SetFaults(ctx, sandbox.Faults(in.Body))
}

type networkActionInput struct {
	IDParam
	Action sandbox.Action `path:"action" enum:"ban,logout,offline,online" doc:"What the network does to the connection"`
}

func (a *API) actOnConnection(ctx context.Context, in *networkActionInput) (*struct{ Body Pairing }, error) {
	status, err := a.sandbox.Act(ctx, in.ID, in.Action)
	return &struct{ Body Pairing }{Pairing{in.ID, status}}, err
}

// ChatMessage is a message that a phone has sent or received.
type ChatMessage struct {
	PhoneMessage
	To      string `json:"to" doc:"Number of the recipient"`
	IsOwn   bool   `json:"isOwn" doc:"The phone sent it"`
	Quoted  string `json:"quotedId,omitempty" doc:"Message that it answers"`
	Cursor  int64  `json:"cursor" doc:"For ?after="`
	Waiting bool   `json:"waiting" doc:"It waits at the network for its recipient"`
}

type phoneChatOutput struct {
	Body struct {
		Messages []ChatMessage `json:"messages" nullable:"false"`
	}
}

func (a *API) phoneChat(ctx context.Context, in *phoneInboxInput) (*phoneChatOutput, error) {
	after, err := a.cursor(ctx, in)
	if err != nil {
		return nil, err
	}
	messages, err := a.sandbox.Conversation(ctx, in.Number, after)
	out := &phoneChatOutput{}
	out.Body.Messages = rest.Map(messages, func(m sandbox.Message) ChatMessage {
		message := ChatMessage{PhoneMessage: PhoneMessage{m.ID, m.From, m.Body, m.MediaURL, m.At.UTC(), m.Ack}, To: m.To, IsOwn: m.From == in.Number, Cursor: m.Seq, Waiting: m.IsWaiting}
		if m.QuotedID != nil {
			message.Quoted = *m.QuotedID
		}
		return message
	})
	return out, err
}

// connectSandbox makes a new company a connection that is paired with a phone of its own.
func (a *API) connectSandbox(ctx context.Context, company int64) error {
	var connection store.Connection
	err := a.store.InTx(ctx, "making a connection", func(tx *store.Tx) (err error) {
		connection, err = tx.CreateConnection(ctx, store.Connection{CompanyID: company, Name: "Sandbox", Driver: sandbox.Name, MaxUseBotQueues: defaultWrongAnswers})
		return err
	})
	if err != nil {
		return err
	}
	return a.sandbox.Pair(ctx, connection.ID, fmt.Sprintf("55119%08d", connection.ID%100_000_000), "Sandbox "+chat.FormatID(connection.ID))
}
