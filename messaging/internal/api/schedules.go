package api

import (
	"context"
	"time"

	"integrationhub/hub"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/names"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/media"
	"integrationhub/messaging/internal/store"
)

// schedulesPerPage is the page size of the list.
const schedulesPerPage = 20

// Schedule is a message that is sent at a time.
type Schedule struct {
	ID         int64          `json:"id" doc:"Id of the scheduled message" example:"15"`
	CompanyID  int64          `json:"companyId" doc:"Company that owns it" example:"1"`
	Body       string         `json:"body" doc:"The text; empty: made of the template when it is sent" example:"Happy birthday!"`
	SendAt     time.Time      `json:"sendAt" doc:"When it is due"`
	SentAt     *time.Time     `json:"sentAt" doc:"When the network accepted it; null: it has not"`
	Status     string         `json:"status" enum:"pending,queued,sent,error" doc:"queued: waits for the network"`
	ContactID  int64          `json:"contactId" doc:"Who gets it" example:"5"`
	TicketID   *int64         `json:"ticketId" doc:"Its ticket; null: the contact's live one, or a new one"`
	UserID     *int64         `json:"userId" doc:"Who made it; null: the user was deleted"`
	WhatsappID *int64         `json:"whatsappId" doc:"Connection to send on; null: the ticket's, or the default one"`
	MessageID  *string        `json:"messageId" doc:"The message, once it is queued"`
	MediaURL   *string        `json:"mediaUrl" doc:"File that is sent with it; null: none"`
	Template   *chat.Template `json:"template" doc:"Template that is sent in place of the text; null: none"`
	Attempts   int            `json:"attempts" doc:"How often sending was begun"`
	Error      *string        `json:"error" doc:"Why it was not sent"`
	CreatedAt  time.Time      `json:"createdAt" doc:"When it was made"`
	UpdatedAt  time.Time      `json:"updatedAt" doc:"Last change"`
}

type scheduleOutput struct{ Body Schedule }

func errNoSchedule() *hub.Error { return notFound("no_schedule_found", "scheduled message") }

func (a *API) toSchedule(s store.Schedule) Schedule {
	return Schedule{
		ID: s.ID, CompanyID: s.CompanyID, Body: s.Body, SendAt: s.SendAt.UTC(), SentAt: s.SentAt, Status: s.Status, ContactID: s.ContactID, TicketID: s.TicketID,
		UserID: s.UserID, WhatsappID: s.ConnectionID, MessageID: s.MessageID, MediaURL: a.mediaURLOf(s.MediaID), Template: s.Template, Attempts: s.Attempts, Error: s.Error,
		CreatedAt: s.CreatedAt.UTC(), UpdatedAt: s.UpdatedAt.UTC(),
	}
}

type listSchedulesInput struct {
	PageNumber  int    `query:"pageNumber" minimum:"1" maximum:"100000" default:"1" doc:"From 1; a page has 20 scheduled messages"`
	SearchParam string `query:"searchParam" maxLength:"200" doc:"Part of the text"`
	ContactID   int64  `query:"contactId" minimum:"1" maximum:"9007199254740991" doc:"Only messages to this contact"`
	UserID      int64  `query:"userId" minimum:"1" maximum:"9007199254740991" doc:"Only messages of this user; users that are no administrators see their own"`
	Status      string `query:"status" enum:"pending,queued,sent,error,PENDENTE,AGENDADA,ENVIADA,ERRO" doc:"Only messages in this state"`
}

// scheduleStatuses are the platform's other names of states.
var scheduleStatuses = map[string]string{"PENDENTE": store.SchedulePending, "AGENDADA": store.ScheduleQueued, "ENVIADA": store.ScheduleSent, "ERRO": store.ScheduleError}

// ScheduleList is a page of scheduled messages, the latest first.
type ScheduleList struct {
	Schedules []Schedule `json:"schedules" nullable:"false" doc:"The page"`
	Count     int        `json:"count" doc:"Of all pages"`
	HasMore   bool       `json:"hasMore" doc:"There is another page"`
}

func (a *API) listSchedules(ctx context.Context, in *listSchedulesInput) (*struct{ Body ScheduleList }, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	filter := store.ScheduleFilter{Status: in.Status, Search: in.SearchParam, Page: store.Page{Offset: (in.PageNumber - 1) * schedulesPerPage, Limit: schedulesPerPage}}
	if status, ok := scheduleStatuses[in.Status]; ok {
		filter.Status = status
	}
	if in.ContactID != 0 {
		filter.ContactID = &in.ContactID
	}
	switch {
	case !user.isAdmin():
		filter.UserID = &user.user.ID
	case in.UserID != 0:
		filter.UserID = &in.UserID
	}
	rows, count, err := a.store.ListSchedules(ctx, user.scope.Company, filter)
	return &struct{ Body ScheduleList }{ScheduleList{rest.Map(rows, a.toSchedule), count, count > filter.Offset+len(rows)}}, err
}

// checkScheduleAccess is a [hub.ErrForbidden] for a scheduled message of another user.
func (u userPrincipal) checkScheduleAccess(s store.Schedule) error {
	if u.isAdmin() || s.UserID != nil && *s.UserID == u.user.ID {
		return nil
	}
	return errNoPermission()
}

func (a *API) getSchedule(ctx context.Context, in *IDParam) (*scheduleOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	row, err := a.store.Schedule(ctx, user.scope.Company, in.ID)
	if err != nil {
		return nil, dberr.MapNoRows(err, errNoSchedule())
	}
	return &scheduleOutput{a.toSchedule(row)}, user.checkScheduleAccess(row)
}

// ScheduleFields are the settings of a scheduled message.
type ScheduleFields struct {
	Body       rest.Optional[string]        `json:"body,omitempty" maxLength:"4096" doc:"The text: not blank. With a template it may be empty, and is what users read in the ticket. Variables such as {{firstName}} are replaced when it is sent" example:"Happy birthday, {{firstName}}!"`
	SendAt     rest.Optional[string]        `json:"sendAt,omitempty" maxLength:"40" format:"date-time" doc:"When to send it: in the future" example:"2027-03-02T09:00:00-03:00"`
	ContactID  rest.Optional[int64]         `json:"contactId,omitempty" minimum:"1" maximum:"9007199254740991" doc:"Who gets it" example:"5"`
	TicketID   rest.Nullable[int64]         `json:"ticketId,omitempty" minimum:"1" maximum:"9007199254740991" doc:"Ticket of the contact, used while it is not closed; null: the contact's live one, or a new one"`
	WhatsappID rest.Nullable[int64]         `json:"whatsappId,omitempty" minimum:"1" maximum:"9007199254740991" doc:"Connection to send on; null: the ticket's, or the default one"`
	Template   rest.Nullable[chat.Template] `json:"template,omitempty" doc:"Send a template that the network has approved, in place of a text. Variables in its texts and payloads are replaced when it is sent. Not with a file. null: none"`
	MediaURL   rest.Nullable[string]        `json:"mediaUrl,omitempty" maxLength:"2048" doc:"File to send with the text: an address that the hub fetches now, or the mediaUrl of a message; null: none" example:"https://example.com/map.png"`
}

func (f ScheduleFields) applyTo(s *store.Schedule, now time.Time) error {
	f.Body.ApplyTo(&s.Body)
	f.ContactID.ApplyTo(&s.ContactID)
	f.TicketID.ApplyTo(&s.TicketID)
	f.WhatsappID.ApplyTo(&s.ConnectionID)
	f.Template.ApplyTo(&s.Template)
	if !names.HasVisible(s.Body) && s.Template == nil {
		return invalidField("empty_body", "body.body", "The message body must not be empty.")
	}
	var errs rest.FieldErrors
	if s.Template == nil {
		errs.CheckLength(s.Body, "body.body", 1, maxBody)
	} else {
		errs.CheckLength(s.Body, "body.body", 0, maxBody)
	}
	hasFile := f.MediaURL.HasValue() || s.MediaID != nil && !f.MediaURL.Set
	checkTemplate(&errs, s.Template, hasFile)
	errs.Check(s.ContactID > 0, "body.contactId", "must be the id of a contact")
	if f.SendAt.Set || s.SendAt.IsZero() { // a new one needs it
		s.SendAt = errs.ParseTime(f.SendAt.Value, "body.sendAt")
	}
	if err := errs.Err(); err != nil {
		return err
	}
	if f.SendAt.Set && !s.SendAt.After(now) {
		return invalidField("schedule_past", "body.sendAt", "The time to send it must be in the future.")
	}
	return nil
}

// referenceReader reads what a scheduled message refers to: the store, or a transaction, which
// must not wait for a second connection to the database.
type referenceReader interface {
	contactReader
	ticketReader
	connectionReader
}

// checkScheduleReferences returns a [hub.ErrNotFound] for what is not the company's, or not the
// contact's, and a [hub.ErrForbidden] for what the user does not see.
func (a *API) checkScheduleReferences(ctx context.Context, reader referenceReader, user userPrincipal, s store.Schedule) error {
	contact, err := requireContactIn(ctx, reader, user, s.ContactID)
	if err != nil {
		return err
	}
	if contact.AnonymizedAt != nil {
		return errAnonymized()
	}
	if s.TicketID != nil {
		ticket, err := requireTicketIn(ctx, reader, user, *s.TicketID)
		if err != nil {
			return err
		}
		if ticket.ContactID != s.ContactID {
			return errNoTicket()
		}
	}
	if s.ConnectionID != nil {
		connection, err := requireConnectionIn(ctx, reader, user.scope, *s.ConnectionID)
		if err != nil || s.Template == nil {
			return err
		}
		return a.outbound.CheckTemplates(connection)
	}
	return nil
}

// mediaURLOf returns the address of a file for users of the company, or nil for none.
func (a *API) mediaURLOf(id *string) *string {
	if id == nil {
		return nil
	}
	address := a.media.URL(*id)
	return &address
}

// fetchMedia stores the file at an address and sets its id, or nil for null. It returns the
// files to discard when the request fails.
func (a *API) fetchMedia(ctx context.Context, user userPrincipal, address, name rest.Nullable[string], id **string) ([]store.MediaFile, error) {
	if !address.HasValue() {
		if name.HasValue() {
			return nil, hub.Invalid("body.mediaName", "must not be there without mediaUrl")
		}
		if address.Set {
			*id = nil
		}
		return nil, nil
	}
	var errs rest.FieldErrors
	checkMediaFields(&errs, mediaMembers{address: "mediaUrl", name: "mediaName"}, address.Value, "", name.Value)
	if err := errs.Err(); err != nil {
		return nil, err
	}
	file, err := a.media.Fetch(ctx, user.scope.Company, media.Link{URL: address.Value, Name: name.Value, MayRead: a.mayRead(user), User: &user.user.ID})
	if err != nil {
		return nil, err
	}
	*id = &file.ID
	return []store.MediaFile{file}, nil
}

type createScheduleInput struct {
	Body struct{ ScheduleFields } `nameHint:"ScheduleFields"`
}

func (a *API) createSchedule(ctx context.Context, in *createScheduleInput) (*scheduleOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	draft := store.Schedule{CompanyID: user.scope.Company, UserID: &user.user.ID}
	if err := in.Body.applyTo(&draft, a.host.Now()); err != nil {
		return nil, err
	}
	if err := a.checkScheduleReferences(ctx, a.store, user, draft); err != nil {
		return nil, err
	}
	files, err := a.fetchMedia(ctx, user, in.Body.MediaURL, rest.Nullable[string]{}, &draft.MediaID)
	if err != nil {
		return nil, err
	}
	var created store.Schedule
	err = a.store.InTx(ctx, "scheduling a message", func(tx *store.Tx) error {
		created, err = tx.CreateSchedule(ctx, draft)
		return err
	})
	if err != nil {
		a.discard(ctx, files)
		return nil, err
	}
	return &scheduleOutput{a.toSchedule(created)}, nil
}

type updateScheduleInput struct {
	IDParam
	Body struct{ ScheduleFields } `nameHint:"ScheduleFields"`
}

// withLockedSchedule calls work with a scheduled message that the user may change.
func (a *API) withLockedSchedule(ctx context.Context, id int64, work func(tx *store.Tx, user userPrincipal, s store.Schedule) error) error {
	user, err := a.requireUser(ctx)
	if err != nil {
		return err
	}
	return a.store.InTx(ctx, "changing a scheduled message", func(tx *store.Tx) error {
		row, err := tx.LockSchedule(ctx, user.scope.Company, id)
		if err != nil {
			return dberr.MapNoRows(err, errNoSchedule())
		}
		if err := user.checkScheduleAccess(row); err != nil {
			return err
		}
		return work(tx, user, row)
	})
}

// updateSchedule changes a message that waits. One that failed waits again with a new time.
func (a *API) updateSchedule(ctx context.Context, in *updateScheduleInput) (*scheduleOutput, error) {
	caller, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	var mediaID *string
	files, err := a.fetchMedia(ctx, caller, in.Body.MediaURL, rest.Nullable[string]{}, &mediaID)
	if err != nil {
		return nil, err
	}
	var saved store.Schedule
	err = a.withLockedSchedule(ctx, in.ID, func(tx *store.Tx, user userPrincipal, s store.Schedule) error {
		isAgain := s.Status == store.ScheduleError && in.Body.SendAt.Set
		if s.Status != store.SchedulePending && !isAgain {
			return refused("invalid_transition", "The message was sent, or failed: a failed one needs a new sendAt.")
		}
		if err := in.Body.applyTo(&s, tx.Now()); err != nil {
			return err
		}
		if err := a.checkScheduleReferences(ctx, tx, user, s); err != nil {
			return err
		}
		if isAgain {
			s.Status, s.MessageID, s.Error = store.SchedulePending, nil, nil
		}
		var replaced []string
		if in.Body.MediaURL.Set {
			if s.MediaID != nil {
				replaced = append(replaced, *s.MediaID)
			}
			s.MediaID = mediaID
		}
		var err error
		if saved, err = tx.SaveSchedule(ctx, s); err != nil {
			return err
		}
		return tx.EraseMedia(ctx, s.CompanyID, replaced)
	})
	if err != nil {
		a.discard(ctx, files)
		return nil, err
	}
	return &scheduleOutput{a.toSchedule(saved)}, nil
}

func (a *API) deleteSchedule(ctx context.Context, in *IDParam) (*messageOutput, error) {
	err := a.withLockedSchedule(ctx, in.ID, func(tx *store.Tx, _ userPrincipal, s store.Schedule) error {
		return tx.RemoveSchedule(ctx, s)
	})
	return &messageOutput{Message{"Scheduled message deleted"}}, err
}
