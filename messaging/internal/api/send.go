package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/accounts"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/names"
	"integrationhub/hub/module/pointer"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver/sandbox"
	"integrationhub/messaging/internal/media"
	"integrationhub/messaging/internal/outbound"
	"integrationhub/messaging/internal/store"
)

// limitSends names the limit of the send API's requests.
const limitSends = "sends"

// maxBody is the length of a message, in characters.
const maxBody = 4096

// recipientNumber is a phone number as a request has it. A JSON value other than a text is
// an invalid number, and not an invalid body: the response names the format.
type recipientNumber string

// UnmarshalJSON implements [json.Unmarshaler].
func (n *recipientNumber) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) != nil {
		text = ""
	}
	*n = recipientNumber(text)
	return nil
}

type sendInput struct {
	Authorization  string `header:"Authorization" doc:"Bearer and an API token" example:"Bearer msgt_…"`
	APIKey         string `header:"apikey" doc:"An API token, in place of Authorization"`
	IdempotencyKey string `header:"Idempotency-Key" minLength:"1" maxLength:"200" doc:"Unique for the message: a request that comes again within a day gets the first response, and sends nothing" example:"reminder-8151"`
	Body           struct {
		Number      recipientNumber              `json:"number" maxLength:"15" pattern:"^[1-9][0-9]{7,14}$" doc:"Digits with the country code" example:"5511987654321"`
		Body        string                       `json:"body,omitempty" maxLength:"4096" doc:"The text: required, not blank. With a template it may be absent, and is what users read in the ticket" example:"Your appointment is tomorrow at 10."`
		Template    rest.Nullable[chat.Template] `json:"template,omitempty,omitzero" doc:"Send a template that the network has approved, in place of a text; outside of the 24 hours after the contact's last message the WhatsApp Cloud API takes nothing else. Not with a file. null: none"`
		WhatsappID  *int64                       `json:"whatsappId,omitempty" nullable:"true" minimum:"1" maximum:"9007199254740991" doc:"Connection to send on; absent or null: the default one"`
		QueueID     *int64                       `json:"queueId,omitempty" nullable:"true" minimum:"1" maximum:"9007199254740991" doc:"Queue of a new ticket; absent or null: none"`
		CloseTicket bool                         `json:"closeTicket,omitempty" doc:"Close the ticket after the message"`
		MediaURL    string                       `json:"mediaUrl,omitempty" maxLength:"2048" doc:"File to send with the text: an address that the hub fetches within 15 s; images 5 MiB, audio and video 16 MiB, documents 100 MiB" example:"https://example.com/map.png"`
		Media       string                       `json:"media,omitempty" maxLength:"2048" doc:"The same as mediaUrl"`
		MediaType   chat.MediaType               `json:"mediaType,omitempty" enum:"image,video,audio,document" doc:"What the file has to be; absent: what its content is"`
		Mediatype   chat.MediaType               `json:"mediatype,omitempty" enum:"image,video,audio,document" doc:"The same as mediaType"`
		FileName    string                       `json:"fileName,omitempty" maxLength:"255" doc:"Name of the file; absent: as the address says" example:"map.png"`
		ExternalKey string                       `json:"externalKey,omitempty" maxLength:"200" doc:"The caller's own id of the message"`
		Appointment *AppointmentQuestion         `json:"appointment,omitempty" doc:"Asks the contact to confirm or cancel an appointment; for keys of connected products, not with a template; absent: no question"`
	} `nameHint:"SendMessage"`
}

// SentMessage is the response of the send API.
type SentMessage struct {
	ID        string    `json:"id" doc:"Id of the message"`
	MessageID string    `json:"messageId" doc:"The same as id"`
	Status    string    `json:"status" enum:"sent,queued,unclear" doc:"queued: the connection's sendIntervalMs has not passed, or the network does not respond, and the hub tries again; unclear: the network's response was lost, so that it may have accepted the message, which is not sent again by itself"`
	Ack       chat.Ack  `json:"ack" doc:"0 queued or unclear, 1 accepted by the network"`
	Number    string    `json:"number" doc:"Of the contact"`
	TicketID  int64     `json:"ticketId" doc:"Ticket that the message is in"`
	ContactID int64     `json:"contactId" doc:"Contact with the number"`
	Timestamp time.Time `json:"timestamp" doc:"When it was sent"`
}

type sendOutput struct{ Body SentMessage }

// sendCaller is the caller of the send API.
type sendCaller struct {
	scope        store.Scope
	subject      string    // of its rate limit
	connectionID *int64    // the only connection it may send on; nil: any
	integration  uuid.UUID // of a connected product's key; zero: none
	isTest       bool      // a key of the test environment, for sandbox connections only
}

type sendCallerKey struct{}

// bindSend binds the send API. Callers are authenticated and counted before the body is
// looked at.
func (a *API) bindSend(api huma.API, op huma.Operation) {
	op.SkipValidateBody = true
	op.Errors = append(op.Errors, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound)
	metadata := map[string]any{module.MetadataHandledNulls: []string{"body.number"}, module.MetadataCallerCheck: module.CallerCheck(func(ctx huma.Context) (huma.Context, error) {
		from, err := a.authenticateSender(ctx.Context(), senderHeaders{ctx.Header("Authorization"), ctx.Header("apikey"), ctx.Header(hub.HeaderKey)})
		if err == nil {
			err = a.host.RateLimiter.Allow(ctx.Context(), limitSends, from.subject)
		}
		return huma.WithValue(ctx, sendCallerKey{}, from), dberr.Wrap("authenticating", err)
	})}
	maps.Copy(metadata, op.Metadata)
	op.Metadata = metadata
	rest.Handle(a.send)(api, op)
}

// takeAliases sets the members of a file from their other names, and returns the names that the
// request has. Both names of a member must not say different things.
func (in *sendInput) takeAliases(errs *rest.FieldErrors) mediaMembers {
	b, members := &in.Body, mediaMembers{"mediaUrl", "mediaType", "fileName"}
	errs.Check(b.Media == "" || b.MediaURL == "" || b.Media == b.MediaURL, "body.media", "must be the same as mediaUrl, or absent")
	errs.Check(b.Mediatype == "" || b.MediaType == "" || b.Mediatype == b.MediaType, "body.mediatype", "must be the same as mediaType, or absent")
	if b.MediaURL == "" && b.Media != "" {
		b.MediaURL, members.address = b.Media, "media"
	}
	if b.MediaType == "" && b.Mediatype != "" {
		b.MediaType, members.kind = b.Mediatype, "mediatype"
	}
	return members
}

func (a *API) send(ctx context.Context, in *sendInput) (*sendOutput, error) {
	from, _ := ctx.Value(sendCallerKey{}).(sendCaller)
	b := &in.Body
	var errs rest.FieldErrors
	members := in.takeAliases(&errs)
	switch {
	case !chat.IsNumber(string(b.Number)):
		return nil, invalidField("invalid_number", "body.number", "Invalid number format: digits with country code")
	case !names.HasVisible(b.Body) && !b.Template.HasValue():
		return nil, invalidField("empty_body", "body.body", "The message body must not be empty.")
	case len([]rune(b.Body)) > maxBody:
		return nil, hub.Invalid("body.body", "must have at most 4096 characters")
	case from.connectionID != nil && b.WhatsappID != nil && *b.WhatsappID != *from.connectionID:
		return nil, hub.Errorf(hub.ErrForbidden, "no_permission", "This token may send on its own connection only.")
	}
	errs.Check(b.QueueID == nil || *b.QueueID > 0, "body.queueId", "must be the id of a queue")
	checkMediaFields(&errs, members, b.MediaURL, b.MediaType, b.FileName)
	errs.Check(b.MediaType == "" || b.MediaURL != "", "body.mediaUrl", "must be there with "+members.kind)
	checkTemplate(&errs, b.Template.Pointer(), b.MediaURL != "")
	errs.Check(len([]rune(b.ExternalKey)) <= 200, "body.externalKey", "must have at most 200 characters")
	b.Appointment.check(&errs, from, b.Body, a.host.Now())
	errs.Check(b.Appointment == nil || !b.Template.HasValue(), "body.appointment", "cannot be asked about with a template")
	if err := errs.Err(); err != nil {
		return nil, err
	}
	key, err := requestKey(from, in)
	if err != nil {
		return nil, err
	}
	if key != nil {
		if response, isKnown, err := a.repeatResponse(ctx, *key, string(b.Number)); isKnown || err != nil {
			return response, err
		}
	}
	if from.connectionID != nil {
		b.WhatsappID = from.connectionID
	}
	if b.QueueID != nil {
		if _, err := a.store.Queue(ctx, from.scope.Company, *b.QueueID); err != nil {
			return nil, dberr.MapNoRows(err, hub.Errorf(hub.ErrNotFound, "queue_not_found", "There is no queue with the id of queueId."))
		}
	}
	connection, err := a.outbound.PickConnection(ctx, from.scope.Company, b.WhatsappID)
	if err != nil {
		return nil, err
	}
	if from.isTest && connection.Driver != sandbox.Name {
		return nil, errTestKey()
	}
	registered, err := a.outbound.CheckNumber(ctx, connection, string(b.Number))
	if err != nil {
		return nil, err
	}
	response, err := a.writeAndSend(ctx, from, in, connection, registered, key)
	if errors.Is(err, errKeyTaken) { // by a request that came at the same time
		response, _, err = a.repeatResponse(ctx, *key, string(b.Number))
	}
	return response, err
}

// writeAndSend stores the message on the contact's ticket, and sends it. registered is the number
// as the network has it; "" = unknown.
func (a *API) writeAndSend(ctx context.Context, from sendCaller, in *sendInput, connection store.Connection, registered string, key *store.RequestKey) (*sendOutput, error) {
	var contact store.Contact
	var message store.Message
	var entry store.OutboxEntry
	draft := store.Message{ID: store.NewMessageID(), Body: in.Body.Body, MediaType: chat.MediaText, Origin: chat.OriginAPI}
	if in.Body.Template.HasValue() {
		draft = store.WithTemplate(draft, in.Body.Template.Value)
	}
	var files []store.MediaFile
	if in.Body.MediaURL != "" {
		file, err := a.media.Fetch(ctx, from.scope.Company, media.Link{URL: in.Body.MediaURL, Media: in.Body.MediaType, Name: in.Body.FileName})
		if err != nil {
			return nil, err
		}
		files, draft = append(files, file), store.WithMedia(draft, file)
	}
	if in.Body.ExternalKey != "" {
		draft.ExternalKey = &in.Body.ExternalKey
	}
	err := a.store.InTx(ctx, "sending a message", func(tx *store.Tx) error {
		if key != nil {
			if isMine, err := tx.ClaimKey(ctx, *key, draft.ID); err != nil || !isMine {
				return cmp.Or(err, errKeyTaken)
			}
		}
		var err error
		contact, err = tx.FindOrCreateContact(ctx, from.scope, string(in.Body.Number), "")
		if err == nil && registered != "" {
			contact, err = tx.StoreNetworkNumber(ctx, contact, registered)
		}
		if err != nil {
			return err
		}
		if err := outbound.CheckConsent(contact, draft.Origin, tx.Now()); err != nil {
			return err
		}
		if err := a.outbound.CheckContent(ctx, tx.Queries, connection, contact, draft); err != nil {
			return err
		}
		ticket, err := tx.FindOrCreateTicket(ctx, from.scope, contact, connection.ID, store.NewTicket{Status: chat.TicketPending, QueueID: in.Body.QueueID, Reopens: true})
		if err != nil {
			return err
		}
		message, entry, err = a.writeSent(ctx, tx, from, in.Body.Appointment, outbound.Draft{Contact: contact, Ticket: ticket, Message: draft, ClosesTicket: in.Body.CloseTicket})
		return err
	})
	if err != nil {
		a.discard(ctx, files)
		return nil, err
	}
	message = a.sendStored(ctx, from.scope, message, entry)
	if key != nil {
		a.saveResponse(ctx, *key, message)
	}
	return toSent(message, contact)
}

// sendStored sends a stored message and returns it as it is stored then. The message is
// accepted: where that cannot be found out, it is sent by the outbox, and callers are not to
// send it again.
func (a *API) sendStored(ctx context.Context, scope store.Scope, message store.Message, entry store.OutboxEntry) store.Message {
	sent, err := a.outbound.Send(ctx, scope, entry)
	if err != nil {
		a.host.Log.WarnContext(ctx, "a message waits in the outbox", "message_id", message.ID, "error", err)
		return message
	}
	return sent
}

// toSent returns the response to a request whose message was stored.
func toSent(message store.Message, contact store.Contact) (*sendOutput, error) {
	if message.Ack == chat.AckFailed {
		return nil, outbound.RefusalError(message.ErrorCode)
	}
	return &sendOutput{SentMessage{
		ID: message.ID, MessageID: message.ID, Status: sentStatus(message), Ack: message.Ack, Number: contact.Number,
		TicketID: *message.TicketID, ContactID: contact.ID, Timestamp: message.SentAt.UTC(),
	}}, nil
}

func sentStatus(message store.Message) string {
	switch {
	case message.Ack == chat.AckPending && pointer.ValueOrZero(message.ErrorCode) == outbound.CodeUnclear:
		return "unclear"
	case message.Ack == chat.AckPending:
		return "queued"
	}
	return "sent"
}

// senderHeaders are the headers of a request that may name its caller.
type senderHeaders struct{ authorization, apiKey, integrationKey string }

// tokens returns the API tokens among them. With hasKey the hub has checked a key of a connected
// product, which may stand in apikey.
func (h senderHeaders) tokens(hasKey bool) (tokens []string) {
	if h.authorization != "" {
		scheme, token, _ := strings.Cut(h.authorization, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			token = ""
		}
		tokens = append(tokens, token)
	}
	isKey := hasKey && (h.integrationKey == "" || h.integrationKey == h.apiKey)
	if h.apiKey != "" && !isKey {
		tokens = append(tokens, h.apiKey)
	}
	return tokens
}

// authenticateSender returns the caller of the send API: a key of a connected product, or the
// holder of an API token. Where a request has several of them, each has to be valid and of one
// company; beside a key a user's access token may be one of them.
func (a *API) authenticateSender(ctx context.Context, headers senderHeaders) (from sendCaller, err error) {
	caller, hasKey := module.CallerFrom(ctx)
	tokens := headers.tokens(hasKey)
	switch {
	case hasKey:
		company, err := a.store.CompanyByTenant(ctx, caller.TenantID)
		if err != nil {
			return sendCaller{}, err
		}
		from = sendCaller{scope: store.Scope{Company: company.ID, Tenant: company.TenantID}, subject: caller.KeyID.String(), integration: caller.IntegrationID, isTest: caller.Environment == hub.Test}
	case len(tokens) == 0:
		return sendCaller{}, hub.Errorf(hub.ErrUnauthorized, "unauthorized", "Send an API token as Authorization: Bearer, or in the header apikey.")
	}
	for _, token := range tokens {
		row, err := a.store.APITokenByHash(ctx, accounts.HashSecret(token), a.host.Now())
		isFirst := from.subject == ""
		if errors.Is(err, pgx.ErrNoRows) && hasKey && a.isUserOf(ctx, from.scope, token) {
			continue
		}
		if errors.Is(err, pgx.ErrNoRows) || err == nil && !isFirst && row.APIToken.CompanyID != from.scope.Company {
			return sendCaller{}, hub.Errorf(hub.ErrUnauthorized, "invalid_token", "This is not a valid API token, or not one of the same company.")
		}
		if err != nil {
			return sendCaller{}, err
		}
		if isFirst {
			from = sendCaller{scope: store.Scope{Company: row.APIToken.CompanyID, Tenant: row.TenantID}, subject: "token-" + chat.FormatID(row.APIToken.ID), connectionID: row.APIToken.ConnectionID}
			if err := a.host.Tenants.CheckActive(row.TenantID); err != nil {
				return sendCaller{}, err
			}
			if used := row.APIToken.LastUsedAt; used != nil && a.host.Now().Sub(*used) < time.Minute {
				continue
			}
			if err := a.store.TouchAPIToken(ctx, a.host.Now(), row.APIToken.CompanyID, row.APIToken.ID); err != nil {
				return sendCaller{}, err
			}
		}
	}
	return from, nil
}

// isUserOf reports whether an access token is that of a user of a company.
func (a *API) isUserOf(ctx context.Context, scope store.Scope, token string) bool {
	caller, err := a.Authenticate(ctx, token)
	return err == nil && caller.TenantID == scope.Tenant
}

// invalidField returns the error of one field with a code of the platform.
func invalidField(code, location, message string) *hub.Error {
	err := hub.Invalid(location, message)
	err.Code, err.Detail = code, message
	return err
}
