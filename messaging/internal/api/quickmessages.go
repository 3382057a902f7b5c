package api

import (
	"context"
	"strings"
	"time"

	"integrationhub/hub"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/store"
)

// quickMessagesPerPage is the page size of the list.
const quickMessagesPerPage = 20

// QuickMessage is a text that users send often.
type QuickMessage struct {
	ID        int64     `json:"id" doc:"Id of the quick message" example:"6"`
	CompanyID int64     `json:"companyId" doc:"Company that owns it" example:"1"`
	UserID    *int64    `json:"userId" doc:"Who made it; null: the user was deleted"`
	Shortcode string    `json:"shortcode" doc:"What users type to find it" example:"address"`
	Message   string    `json:"message" doc:"The text" example:"We are at Rua Augusta, 100."`
	Shared    bool      `json:"shared" doc:"Every user of the company reads it; else its owner and administrators"`
	MediaURL  *string   `json:"mediaUrl" doc:"File to send with it; null: none"`
	MediaName *string   `json:"mediaName" doc:"Name of the file; null: none"`
	CreatedAt time.Time `json:"createdAt" doc:"When it was made"`
	UpdatedAt time.Time `json:"updatedAt" doc:"Last change"`
}

type quickMessageOutput struct{ Body QuickMessage }

func toQuickMessage(q store.QuickMessage) QuickMessage {
	return QuickMessage{q.ID, q.CompanyID, q.UserID, q.Shortcode, q.Message, q.Shared, q.MediaURL, q.MediaName, q.CreatedAt.UTC(), q.UpdatedAt.UTC()}
}

func errNoQuickMessage() *hub.Error { return notFound("no_quickmessage_found", "quick message") }

type listQuickMessagesInput struct {
	PageNumber  int    `query:"pageNumber" minimum:"1" maximum:"100000" default:"1" doc:"From 1; a page has 20 quick messages"`
	SearchParam string `query:"searchParam" maxLength:"200" doc:"Part of the shortcode or text"`
}

// QuickMessageList is a page of quick messages, ordered by shortcode.
type QuickMessageList struct {
	Records []QuickMessage `json:"records" nullable:"false" doc:"The page"`
	Count   int            `json:"count" doc:"Of all pages"`
	HasMore bool           `json:"hasMore" doc:"There is another page"`
}

func (a *API) listQuickMessages(ctx context.Context, in *listQuickMessagesInput) (*struct{ Body QuickMessageList }, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	var reader *int64
	if !user.isAdmin() {
		reader = &user.user.ID
	}
	page := store.Page{Offset: (in.PageNumber - 1) * quickMessagesPerPage, Limit: quickMessagesPerPage}
	rows, count, err := a.store.ListQuickMessages(ctx, user.scope.Company, reader, in.SearchParam, page)
	return &struct{ Body QuickMessageList }{QuickMessageList{rest.Map(rows, toQuickMessage), count, count > page.Offset+len(rows)}}, err
}

// isOwner reports whether a quick message is the user's own, or the user is an administrator.
func (u userPrincipal) isOwner(q store.QuickMessage) bool {
	return u.isAdmin() || q.UserID != nil && *q.UserID == u.user.ID
}

// checkAccess is a [hub.ErrNotFound] for a quick message that the user may not read, and a
// [hub.ErrForbidden] for one that it may only read.
func (u userPrincipal) checkAccess(q store.QuickMessage, toChange bool) error {
	switch {
	case u.isOwner(q) || q.Shared && !toChange:
		return nil
	case q.Shared:
		return errNoPermission()
	}
	return errNoQuickMessage()
}

func (a *API) getQuickMessage(ctx context.Context, in *IDParam) (*quickMessageOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	row, err := a.store.QuickMessage(ctx, user.scope.Company, in.ID)
	if err != nil {
		return nil, dberr.MapNoRows(err, errNoQuickMessage())
	}
	return &quickMessageOutput{toQuickMessage(row)}, user.checkAccess(row, false)
}

// QuickMessageFields are the settings of a quick message.
type QuickMessageFields struct {
	Shortcode rest.Optional[string] `json:"shortcode,omitempty" minLength:"3" maxLength:"60" doc:"What users type to find it" example:"address"`
	Message   rest.Optional[string] `json:"message,omitempty" minLength:"3" maxLength:"4096" doc:"The text" example:"We are at Rua Augusta, 100."`
	Shared    rest.Optional[bool]   `json:"shared,omitempty" doc:"Absent: true, every user of the company reads it"`
	MediaURL  rest.Nullable[string] `json:"mediaUrl,omitempty" maxLength:"2048" doc:"File to send with it: any address, or the mediaUrl of a message; null: none" example:"https://example.com/map.png"`
	MediaName rest.Nullable[string] `json:"mediaName,omitempty" maxLength:"255" doc:"Name of the file; null: none" example:"map.png"`
}

func (f QuickMessageFields) applyTo(q *store.QuickMessage) error {
	f.Shortcode.ApplyTo(&q.Shortcode)
	f.Message.ApplyTo(&q.Message)
	f.Shared.ApplyTo(&q.Shared)
	f.MediaURL.ApplyTo(&q.MediaURL)
	f.MediaName.ApplyTo(&q.MediaName)
	q.Shortcode = strings.TrimSpace(q.Shortcode)
	for location, text := range map[string]string{"body.shortcode": q.Shortcode, "body.message": strings.TrimSpace(q.Message)} {
		switch length := len([]rune(text)); {
		case length == 0:
			return invalidField("quickmessage_required", location, "A quick message needs a shortcode and a message.")
		case length < 3:
			return invalidField("quickmessage_invalid_name", location, "The shortcode and the message need at least 3 characters.")
		}
	}
	var errs rest.FieldErrors
	errs.CheckName(q.Shortcode, "body.shortcode", 60)
	errs.CheckLength(q.Message, "body.message", 1, maxBody)
	errs.CheckURL(q.MediaURL, "body.mediaUrl")
	if q.MediaName != nil {
		errs.CheckName(*q.MediaName, "body.mediaName", 255)
	}
	return errs.Err()
}

// checkQuickMessageMedia returns a [hub.ErrNotFound] for the address of a file that is not
// the company's, and a [hub.ErrForbidden] for that of a file which the user must not read.
func (a *API) checkQuickMessageMedia(ctx context.Context, user userPrincipal, address rest.Nullable[string]) error {
	if !address.HasValue() {
		return nil
	}
	return a.media.CheckAddress(ctx, user.scope.Company, address.Value, a.mayRead(user))
}

type createQuickMessageInput struct {
	Body struct{ QuickMessageFields } `nameHint:"QuickMessageFields"`
}

func (a *API) createQuickMessage(ctx context.Context, in *createQuickMessageInput) (*quickMessageOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	draft := store.QuickMessage{CompanyID: user.scope.Company, UserID: &user.user.ID, Shared: true}
	if err := in.Body.applyTo(&draft); err != nil {
		return nil, err
	}
	if err := a.checkQuickMessageMedia(ctx, user, in.Body.MediaURL); err != nil {
		return nil, err
	}
	var created store.QuickMessage
	err = a.store.InTx(ctx, "making a quick message", func(tx *store.Tx) error {
		created, err = tx.CreateQuickMessage(ctx, draft)
		return err
	})
	return &quickMessageOutput{toQuickMessage(created)}, err
}

type updateQuickMessageInput struct {
	IDParam
	Body struct{ QuickMessageFields } `nameHint:"QuickMessageFields"`
}

// withLockedQuickMessage calls work with a quick message that the user may change.
func (a *API) withLockedQuickMessage(ctx context.Context, user userPrincipal, id int64, work func(tx *store.Tx, q store.QuickMessage) error) error {
	return a.store.InTx(ctx, "changing a quick message", func(tx *store.Tx) error {
		row, err := tx.LockQuickMessage(ctx, user.scope.Company, id)
		if err != nil {
			return dberr.MapNoRows(err, errNoQuickMessage())
		}
		if err := user.checkAccess(row, true); err != nil {
			return err
		}
		return work(tx, row)
	})
}

func (a *API) updateQuickMessage(ctx context.Context, in *updateQuickMessageInput) (*quickMessageOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.checkQuickMessageMedia(ctx, user, in.Body.MediaURL); err != nil {
		return nil, err
	}
	var saved store.QuickMessage
	err = a.withLockedQuickMessage(ctx, user, in.ID, func(tx *store.Tx, q store.QuickMessage) error {
		if err := in.Body.applyTo(&q); err != nil {
			return err
		}
		saved, err = tx.SaveQuickMessage(ctx, q)
		return err
	})
	return &quickMessageOutput{toQuickMessage(saved)}, err
}

func (a *API) deleteQuickMessage(ctx context.Context, in *IDParam) (*messageOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	err = a.withLockedQuickMessage(ctx, user, in.ID, func(tx *store.Tx, q store.QuickMessage) error {
		return tx.DeleteQuickMessage(ctx, q.CompanyID, q.ID)
	})
	return &messageOutput{Message{"Quick message deleted"}}, err
}
