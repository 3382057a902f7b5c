package api

import (
	"context"
	"slices"
	"time"

	"integrationhub/hub"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store"
)

// messagesPerPage is the page size of a ticket's messages.
const messagesPerPage = 20

// TicketMessage is a message of a ticket.
type TicketMessage struct {
	ID          string         `json:"id" doc:"Id of the message"`
	CompanyID   int64          `json:"companyId" doc:"The company it belongs to"`
	TicketID    *int64         `json:"ticketId" doc:"null: a campaign's message whose contact has not answered"`
	ContactID   int64          `json:"contactId" doc:"The contact that it is from, or to"`
	WhatsappID  *int64         `json:"whatsappId" doc:"Its connection; null: the connection was deleted"`
	UserID      *int64         `json:"userId" doc:"Who wrote it; null: the contact or a program"`
	Body        string         `json:"body" doc:"The text; with a file, its caption"`
	FromMe      bool           `json:"fromMe" doc:"Sent by the company"`
	Read        bool           `json:"read" doc:"A user has seen it"`
	Ack         chat.Ack       `json:"ack" enum:"-1,0,1,2,3,4" doc:"-1 failed, 0 waits, 1 accepted by the network, 2 arrived, 3 read, 4 played"`
	MediaType   chat.MediaType `json:"mediaType" enum:"text,image,video,audio,document,sticker,location,contact" doc:"Kind of the message"`
	MediaURL    *string        `json:"mediaUrl" doc:"Of its file, for users of the company; null: none, or not fetched from the network yet"`
	MediaName   *string        `json:"mediaName" doc:"Name of its file" example:"map.png"`
	MimeType    *string        `json:"mimeType" doc:"Of its file" example:"image/png"`
	Size        *int64         `json:"size" doc:"Bytes"`
	Template    *chat.Template `json:"template" doc:"The template that was sent; null: an ordinary message"`
	QuotedMsgID *string        `json:"quotedMsgId" doc:"Message that it answers"`
	QuotedMsg   *QuotedMessage `json:"quotedMsg" doc:"The message that it answers, in the messages of a ticket; null: none, or elsewhere"`
	IsDeleted   bool           `json:"isDeleted" doc:"Always false: no driver reports deletions"`
	IsEdited    bool           `json:"isEdited" doc:"Always false: no driver reports changes"`
	IsPrivate   bool           `json:"isPrivate" doc:"A note among users: not sent"`
	Origin      chat.Origin    `json:"origin" enum:"agent,api,campaign,schedule,bot,phone,contact" doc:"Where it was written"`
	ErrorCode   *string        `json:"errorCode" doc:"Why it failed; unclear with ack 0: the network's response was lost, and its receipt is awaited for an hour"`
	Timestamp   time.Time      `json:"timestamp" doc:"When it was sent or received"`
	CreatedAt   time.Time      `json:"createdAt" doc:"When it was made"`
	UpdatedAt   time.Time      `json:"updatedAt" doc:"When it was last changed"`
}

// QuotedMessage is the message that another one answers.
type QuotedMessage struct {
	ID        string         `json:"id" doc:"Id of the message"`
	Body      string         `json:"body" doc:"The text; with a file, its caption"`
	FromMe    bool           `json:"fromMe" doc:"Sent by the company"`
	MediaType chat.MediaType `json:"mediaType" enum:"text,image,video,audio,document,sticker,location,contact" doc:"Kind of the message"`
	Timestamp time.Time      `json:"timestamp" doc:"When it was sent or received"`
}

// withQuoted adds the messages that others answer.
func (a *API) withQuoted(ctx context.Context, company int64, messages []TicketMessage) ([]TicketMessage, error) {
	var ids []string
	for _, message := range messages {
		if message.QuotedMsgID != nil {
			ids = append(ids, *message.QuotedMsgID)
		}
	}
	if len(ids) == 0 {
		return messages, nil
	}
	rows, err := a.store.MessagesByID(ctx, company, ids)
	if err != nil {
		return nil, err
	}
	quoted := make(map[string]*QuotedMessage, len(rows))
	for _, row := range rows {
		quoted[row.ID] = &QuotedMessage{row.ID, row.Body, row.FromMe, row.MediaType, row.SentAt.UTC()}
	}
	for i, message := range messages {
		if message.QuotedMsgID != nil {
			messages[i].QuotedMsg = quoted[*message.QuotedMsgID]
		}
	}
	return messages, nil
}

func (a *API) toMessage(m store.Message) TicketMessage { return toMessage(m, a.media.URL) }

// toMessage returns a message; addressOf returns the address of its file.
func toMessage(m store.Message, addressOf func(id string) string) TicketMessage {
	var mediaURL *string
	if m.MediaID != nil {
		mediaURL = new(addressOf(*m.MediaID))
	}
	return TicketMessage{
		ID: m.ID, CompanyID: m.CompanyID, TicketID: m.TicketID, ContactID: m.ContactID, WhatsappID: m.ConnectionID, UserID: m.UserID, Body: m.Body,
		FromMe: m.FromMe, Read: m.IsRead, Ack: m.Ack, MediaType: m.MediaType, MediaURL: mediaURL, MediaName: m.MediaName, MimeType: m.MimeType, Size: m.Size,
		Template: m.Template, QuotedMsgID: m.QuotedID, IsDeleted: m.IsDeleted, IsEdited: m.IsEdited, IsPrivate: m.IsPrivate, Origin: m.Origin, ErrorCode: m.ErrorCode,
		Timestamp: m.SentAt.UTC(), CreatedAt: m.CreatedAt.UTC(), UpdatedAt: m.UpdatedAt.UTC(),
	}
}

type listMessagesInput struct {
	IDParam
	PageNumber int `query:"pageNumber" minimum:"1" maximum:"100000" default:"1" doc:"From 1, the newest; a page has 20 messages"`
}

// MessageList is a page of a ticket's messages, the oldest of the page first.
type MessageList struct {
	Messages []TicketMessage `json:"messages" nullable:"false" doc:"A page of messages, oldest first"`
	Ticket   Ticket          `json:"ticket" doc:"Their ticket"`
	Count    int             `json:"count" doc:"Of all pages"`
	HasMore  bool            `json:"hasMore" doc:"There are older messages"`
}

// listMessages returns messages and marks all of the ticket as read.
func (a *API) listMessages(ctx context.Context, in *listMessagesInput) (*struct{ Body MessageList }, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	company := user.scope.Company
	found, err := a.requireTicket(ctx, user, in.ID)
	if err == nil {
		err = a.markRead(ctx, user, found)
	}
	if err != nil {
		return nil, err
	}
	ticket, err := a.ticketView(ctx, user.scope, in.ID)
	if err != nil {
		return nil, err
	}
	offset := (in.PageNumber - 1) * messagesPerPage
	rows, err := a.store.ListMessages(ctx, user.scope, in.ID, store.Page{Offset: offset, Limit: messagesPerPage})
	if err != nil {
		return nil, err
	}
	count, err := a.store.MessageCount(ctx, company, in.ID)
	if err != nil {
		return nil, err
	}
	slices.Reverse(rows)
	messages, err := a.withQuoted(ctx, company, rest.Map(rows, a.toMessage))
	if err != nil {
		return nil, err
	}
	return &struct{ Body MessageList }{MessageList{messages, ticket.Body, int(count), int(count) > offset+len(rows)}}, nil
}

// markRead marks the messages of a ticket as read. A job informs the network.
func (a *API) markRead(ctx context.Context, user userPrincipal, ticket store.Ticket) error {
	if ticket.UnreadMessages == 0 {
		return nil
	}
	return a.store.InTx(ctx, "marking messages as read", func(tx *store.Tx) error {
		locked, err := lockTicket(ctx, tx, user, ticket.ID)
		if err != nil {
			return err
		}
		ids, err := tx.MarkMessagesRead(ctx, tx.Now(), ticket.CompanyID, ticket.ID)
		if err != nil {
			return err
		}
		var remoteIDs []string
		for _, id := range ids {
			if id != nil {
				remoteIDs = append(remoteIDs, *id)
			}
		}
		if err := a.outbound.EnqueueRead(ctx, tx, locked, remoteIDs); err != nil {
			return err
		}
		return tx.MarkTicketRead(ctx, ticket.CompanyID, ticket.ID)
	})
}

// requireSendable returns the connection of a ticket. It returns a [hub.Error] (400
// invalid_transition, no_def_wapp_found, wapp_not_initialized) if nothing can be sent in the
// ticket.
func requireSendable(ctx context.Context, tx *store.Tx, ticket store.Ticket) (store.Connection, error) {
	if ticket.Status == chat.TicketClosed {
		return store.Connection{}, refused("invalid_transition", "The ticket is closed: reopen it first.")
	}
	if ticket.ConnectionID == nil {
		return store.Connection{}, refused("no_def_wapp_found", "The ticket's connection was deleted: give it another one first.")
	}
	connection, err := tx.Connection(ctx, ticket.CompanyID, *ticket.ConnectionID)
	if err == nil && connection.Status != chat.ConnectionConnected && connection.Status != chat.ConnectionTimeout {
		err = refused("wapp_not_initialized", "The connection is not connected: scan its QR code first.")
	}
	return connection, err
}

// checkQuoted returns a [hub.Error] (404 no_message_found) if a ticket has no message with the
// id that a draft quotes. For what is sent, notes are not there: the network shows what a
// message quotes.
func checkQuoted(ctx context.Context, tx *store.Tx, ticket store.Ticket, draft store.Message) error {
	if draft.QuotedID == nil {
		return nil
	}
	errNotQuotable := hub.Errorf(hub.ErrNotFound, "no_message_found", "The ticket has no message with the id of quotedMsgId.")
	quoted, err := tx.Message(ctx, ticket.CompanyID, *draft.QuotedID)
	if err != nil {
		return dberr.MapNoRows(err, errNotQuotable)
	}
	if quoted.TicketID == nil || *quoted.TicketID != ticket.ID || quoted.IsPrivate && !draft.IsPrivate {
		return errNotQuotable
	}
	return nil
}
