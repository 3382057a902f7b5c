package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"integrationhub/hub"
	"integrationhub/hub/module/names"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/filetype"
	"integrationhub/messaging/internal/media"
	"integrationhub/messaging/internal/outbound"
	"integrationhub/messaging/internal/store"
)

const (
	maxFiles        = 5                 // of a form
	maxMessageBytes = 100<<20 + 256<<10 // of a form: the largest file, and what is around it
)

// NewTicketMessage is the request for a message, as JSON.
type NewTicketMessage struct {
	Body        string         `json:"body,omitempty" maxLength:"4096" doc:"The text: required, not blank. With a file it is the caption, with a template what users read in the ticket; with either it may be absent" example:"Of course."`
	QuotedMsgID *string        `json:"quotedMsgId,omitempty" maxLength:"100" doc:"Message of the ticket that it answers; a note only by a note"`
	IsPrivate   bool           `json:"isPrivate,omitempty" doc:"A note among users: not sent"`
	MediaURL    string         `json:"mediaUrl,omitempty" maxLength:"2048" doc:"File to send: an address that the hub fetches, or the mediaUrl of another message" example:"https://example.com/map.png"`
	MediaType   chat.MediaType `json:"mediaType,omitempty" enum:"image,video,audio,document" doc:"What the file has to be; absent: what its content is"`
	Template    *chat.Template `json:"template,omitempty" doc:"Send a template that the network has approved, in place of a text. Not with a file, nor as a note"`
	MediaName   string         `json:"mediaName,omitempty" maxLength:"255" doc:"Name of the file; absent: as the address says" example:"map.png"`
}

type createMessageInput struct {
	IDParam
	message NewTicketMessage
	files   []*multipart.FileHeader
	err     error // of reading the body
}

// Resolve reads the body, which is a form or JSON.
func (in *createMessageInput) Resolve(ctx huma.Context) []error {
	if strings.HasPrefix(strings.ToLower(ctx.Header("Content-Type")), "multipart/") {
		in.err = in.readForm(ctx)
		return nil
	}
	raw, err := io.ReadAll(ctx.BodyReader())
	switch {
	case err != nil:
		in.err = err
	case len(raw) == 0:
		in.err = hub.Invalid("body", "is required")
	default:
		in.err = bodyError(json.Unmarshal(raw, &in.message))
	}
	return nil
}

// bodyError returns the error for callers of decoding a message.
func bodyError(err error) error {
	var public rest.PublicError
	var wrongType *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &public):
		return hub.Invalid("body.template", public.PublicMessage())
	case errors.As(err, &wrongType) && wrongType.Field != "":
		return hub.Invalid("body."+wrongType.Field, "must be "+jsonTypeOf(wrongType.Type))
	}
	return hub.Invalid("body", "does not have the documented form")
}

// jsonTypeOf returns the JSON type of members of a type, for people.
func jsonTypeOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "a number"
}

func (in *createMessageInput) readForm(ctx huma.Context) error {
	form, err := ctx.GetMultipartForm()
	if err != nil {
		return hub.Errorf(hub.ErrMalformed, "malformed", "The form cannot be read: it is cut or broken.")
	}
	value := func(name string) string {
		if values := form.Value[name]; len(values) > 0 {
			return values[0]
		}
		return ""
	}
	in.files = append(form.File["medias"], form.File["medias[]"]...)
	in.message = NewTicketMessage{Body: value("body"), MediaType: chat.MediaType(value("mediaType"))}
	if quoted := value("quotedMsgId"); quoted != "" {
		in.message.QuotedMsgID = &quoted
	}
	var errs rest.FieldErrors
	if text := value("isPrivate"); text != "" {
		in.message.IsPrivate, err = strconv.ParseBool(text)
		errs.Check(err == nil, "body.isPrivate", "must be true or false")
	}
	errs.Check(len(in.files) > 0, "body.medias", "must have a file: send a message without one as JSON")
	errs.Check(len(in.files) <= maxFiles, "body.medias", "must have at most 5 files")
	return errs.Err()
}

// validate returns a [hub.ErrInvalid] (empty_body, validation_failed), which the platform
// responds to with 400, if the message cannot be one of any ticket.
func (in *createMessageInput) validate() error {
	m := &in.message
	hasFile := len(in.files) > 0 || m.MediaURL != ""
	if !hasFile && m.Template == nil && !names.HasVisible(m.Body) {
		return invalidField("empty_body", "body.body", "The message body must not be empty.")
	}
	var errs rest.FieldErrors
	errs.Check(utf8.ValidString(m.Body) && !strings.ContainsRune(m.Body, 0), "body.body", "must be text")
	errs.CheckLength(m.Body, "body.body", 0, maxBody)
	if m.QuotedMsgID != nil {
		errs.Check(len(*m.QuotedMsgID) <= 100 && utf8.ValidString(*m.QuotedMsgID) && !strings.ContainsRune(*m.QuotedMsgID, 0), "body.quotedMsgId", "must be the id of a message")
	}
	checkMediaFields(&errs, mediaMembers{"mediaUrl", "mediaType", "mediaName"}, m.MediaURL, m.MediaType, m.MediaName)
	errs.Check(m.MediaType == "" || hasFile, "body.mediaUrl", "must be there with mediaType")
	checkTemplate(&errs, m.Template, hasFile)
	errs.Check(m.Template == nil || !m.IsPrivate, "body.template", "cannot be a note: it is sent")
	return errs.Err()
}

// mediaMembers are the members of a body that say something of a file.
type mediaMembers struct{ address, kind, name string }

// checkMediaFields checks what a request says of a file.
func checkMediaFields(errs *rest.FieldErrors, members mediaMembers, address string, kind chat.MediaType, name string) {
	errs.Check(len(address) <= 2048, "body."+members.address, "must have at most 2048 characters")
	errs.CheckLength(name, "body."+members.name, 0, 255)
	switch kind {
	case "", chat.MediaImage, chat.MediaVideo, chat.MediaAudio, chat.MediaDocument:
	default:
		errs.Check(false, "body."+members.kind, "must be image, video, audio or document")
	}
}

// bindCreateMessage binds the operation with its two kinds of body.
func (a *API) bindCreateMessage(api huma.API, op huma.Operation) {
	text := func(doc string, maxLength int) *huma.Schema {
		return &huma.Schema{Type: huma.TypeString, Description: doc, MaxLength: &maxLength}
	}
	op.MaxBodyBytes = maxMessageBytes
	body := &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
		"application/json": {Schema: api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[NewTicketMessage](), true, "NewTicketMessage")},
		"multipart/form-data": {Schema: &huma.Schema{Type: huma.TypeObject, Required: []string{"medias"}, Properties: map[string]*huma.Schema{
			"medias": {
				Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString, Format: "binary"}, MinItems: new(1), MaxItems: new(maxFiles),
				Description: "Files, each of which becomes a message: images (JPEG, PNG, WebP) of at most 5 MiB, audio and video of 16 MiB, documents of 100 MiB. The response is the first message.",
			},
			"body":        text("Caption of the first file", maxBody),
			"mediaType":   {Type: huma.TypeString, Enum: []any{"image", "video", "audio", "document"}, Description: "What the files have to be; absent: what their content is"},
			"quotedMsgId": text("Message of the ticket that the first one answers; a note only by a note", 100),
			"isPrivate":   {Type: huma.TypeBoolean, Description: "Notes among users: not sent"},
		}}},
	}}
	rest.WithRequestBody(rest.Handle(a.createMessage), body)(api, op)
}

func (a *API) createMessage(ctx context.Context, in *createMessageInput) (*struct{ Body TicketMessage }, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	if in.err != nil {
		return nil, in.err
	}
	if err := in.validate(); err != nil {
		return nil, err
	}
	if _, err := a.requireTicket(ctx, user, in.ID); err != nil {
		return nil, err
	}
	draft := store.Message{
		UserID: &user.user.ID, Body: in.message.Body, QuotedID: in.message.QuotedMsgID, IsPrivate: in.message.IsPrivate, MediaType: chat.MediaText, Origin: chat.OriginAgent,
	}
	if in.message.Template != nil {
		draft = store.WithTemplate(draft, *in.message.Template)
	}
	drafts, files, err := a.attach(ctx, user, in, draft)
	if err != nil {
		return nil, err
	}
	written, entries, err := a.writeMessages(ctx, user, in.ID, drafts)
	if err != nil {
		a.discard(ctx, files)
		return nil, err
	}
	message := written[0]
	if len(entries) > 0 { // the others follow by themselves
		message = a.sendStored(ctx, user.scope, message, entries[0])
	}
	shown, err := a.withQuoted(ctx, user.scope.Company, []TicketMessage{a.toMessage(message)})
	if err != nil {
		return nil, err
	}
	return &struct{ Body TicketMessage }{shown[0]}, nil
}

// attach stores the files of a request, and returns a draft for each of them. The first one
// has the text. files are those that are new.
func (a *API) attach(ctx context.Context, user userPrincipal, in *createMessageInput, draft store.Message) (drafts []store.Message, files []store.MediaFile, err error) {
	if len(in.files) == 0 && in.message.MediaURL == "" {
		return []store.Message{draft}, nil, nil
	}
	// Nothing is stored for a ticket that accepts no messages.
	err = a.store.InTx(ctx, "checking a ticket", func(tx *store.Tx) error {
		_, err := a.lockForMessage(ctx, tx, user, in.ID, draft)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if in.message.MediaURL != "" {
		file, err := a.media.Fetch(ctx, user.scope.Company, media.Link{URL: in.message.MediaURL, Media: in.message.MediaType, Name: in.message.MediaName, MayRead: a.mayRead(user), User: &user.user.ID})
		return []store.Message{store.WithMedia(draft, file)}, []store.MediaFile{file}, err
	}
	for _, header := range in.files {
		file, err := a.storeUpload(ctx, user, header, in.message.MediaType)
		if err != nil {
			a.discard(ctx, files)
			return nil, nil, err
		}
		files = append(files, file)
		drafts = append(drafts, store.WithMedia(draft, file))
		draft.Body, draft.QuotedID = "", nil
	}
	return drafts, files, nil
}

func (a *API) storeUpload(ctx context.Context, user userPrincipal, header *multipart.FileHeader, kind chat.MediaType) (store.MediaFile, error) {
	content, err := header.Open()
	if err != nil {
		return store.MediaFile{}, err
	}
	defer func() { _ = content.Close() }()
	return a.media.Store(ctx, user.scope.Company, media.Upload{
		Declared: filetype.Declared{Media: kind, Mime: header.Header.Get("Content-Type"), Name: header.Filename}, Content: content, User: &user.user.ID,
	})
}

// discard erases new files that no message has.
func (a *API) discard(ctx context.Context, files []store.MediaFile) {
	for _, file := range files {
		a.media.Discard(ctx, file)
	}
}

// writeMessages stores messages of a ticket, and outbox entries for those that are to be
// sent.
func (a *API) writeMessages(ctx context.Context, user userPrincipal, ticketID int64, drafts []store.Message) (written []store.Message, entries []store.OutboxEntry, err error) {
	err = a.store.InTx(ctx, "writing a message", func(tx *store.Tx) error {
		written, entries = nil, nil
		ticket, err := a.lockForMessage(ctx, tx, user, ticketID, drafts[0])
		if err != nil {
			return err
		}
		for _, draft := range drafts {
			var message store.Message
			if draft.IsPrivate {
				draft.FromMe, draft.SentAt = true, tx.Now()
				message, err = tx.AddMessage(ctx, ticket, draft)
			} else {
				var entry store.OutboxEntry
				message, entry, err = a.outbound.Write(ctx, tx, outbound.Draft{Ticket: ticket, Message: draft})
				entries = append(entries, entry)
			}
			if err != nil {
				return err
			}
			written = append(written, message)
		}
		return nil
	})
	return written, entries, err
}

// lockForMessage locks the ticket of a message. It returns a [hub.Error] if there is no such
// ticket (404 no_ticket_found), the user does not see it (403 no_permission), or it does not
// take the message: those of checkQuoted, requireSendable, [outbound.CheckConsent] and
// [outbound.Service.CheckContent].
func (a *API) lockForMessage(ctx context.Context, tx *store.Tx, user userPrincipal, id int64, draft store.Message) (store.Ticket, error) {
	ticket, err := lockTicket(ctx, tx, user, id)
	if err != nil {
		return ticket, err
	}
	if err := checkQuoted(ctx, tx, ticket, draft); err != nil || draft.IsPrivate {
		return ticket, err
	}
	connection, err := requireSendable(ctx, tx, ticket)
	if err != nil {
		return ticket, err
	}
	contact, err := tx.Contact(ctx, ticket.CompanyID, ticket.ContactID)
	if err != nil {
		return ticket, err
	}
	if contact.AnonymizedAt != nil {
		return ticket, errAnonymized()
	}
	if err := outbound.CheckConsent(contact, draft.Origin, tx.Now()); err != nil {
		return ticket, err
	}
	return ticket, a.outbound.CheckContent(ctx, tx.Queries, connection, contact, draft)
}
