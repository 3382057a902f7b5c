package api

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store"
)

// Bounds of campaigns.
const (
	maxCampaignInterval = 86_400 // seconds
	maxIntervalAfter    = 1_000_000
	maxCampaignTags     = 100
)

// CampaignFields are the settings of a campaign.
type CampaignFields struct {
	Name                 rest.Optional[string]          `json:"name,omitempty" minLength:"3" maxLength:"120" doc:"Text shown to users" example:"Offers of March"`
	Message1             rest.Optional[string]          `json:"message1,omitempty" maxLength:"4096" doc:"First text; variables are {nome}, {email} and {numero}" example:"Hello {nome}"`
	Message2             rest.Optional[string]          `json:"message2,omitempty" maxLength:"4096" doc:"Second text; the texts take turns"`
	Message3             rest.Optional[string]          `json:"message3,omitempty" maxLength:"4096" doc:"Third text"`
	Message4             rest.Optional[string]          `json:"message4,omitempty" maxLength:"4096" doc:"Fourth text"`
	Message5             rest.Optional[string]          `json:"message5,omitempty" maxLength:"4096" doc:"Fifth text"`
	Confirmation         rest.Optional[bool]            `json:"confirmation,omitempty" doc:"Ask contacts first; they get the message when they answer anything but no, within a day"`
	ConfirmationMessage1 rest.Optional[string]          `json:"confirmationMessage1,omitempty" maxLength:"4096" doc:"First question"`
	ConfirmationMessage2 rest.Optional[string]          `json:"confirmationMessage2,omitempty" maxLength:"4096" doc:"Second question"`
	ConfirmationMessage3 rest.Optional[string]          `json:"confirmationMessage3,omitempty" maxLength:"4096" doc:"Third question"`
	ConfirmationMessage4 rest.Optional[string]          `json:"confirmationMessage4,omitempty" maxLength:"4096" doc:"Fourth question"`
	ConfirmationMessage5 rest.Optional[string]          `json:"confirmationMessage5,omitempty" maxLength:"4096" doc:"Fifth question"`
	ScheduledAt          rest.Nullable[string]          `json:"scheduledAt,omitempty" maxLength:"40" format:"date-time" doc:"When it starts by itself: in the future; null: it does not" example:"2027-03-02T09:00:00-03:00"`
	WhatsappID           rest.Optional[int64]           `json:"whatsappId,omitempty" minimum:"1" maximum:"9007199254740991" doc:"Connection to send on"`
	ContactListID        rest.Nullable[int64]           `json:"contactListId,omitempty" minimum:"1" maximum:"9007199254740991" doc:"List of its contacts; they are taken at the first start"`
	TagIDs               rest.Optional[[]int64]         `json:"tagIds,omitempty" maxItems:"100" doc:"Tags of its contacts; they are taken at the first start"`
	ContactIDs           rest.Optional[[]int64]         `json:"contactIds,omitempty" maxItems:"50000" doc:"Its contacts; replaces what was. A list or tags add more"`
	MessageInterval      rest.Optional[int]             `json:"messageInterval,omitempty" minimum:"0" maximum:"86400" doc:"Seconds between two messages; absent: 20"`
	LongerIntervalAfter  rest.Optional[int]             `json:"longerIntervalAfter,omitempty" minimum:"0" maximum:"1000000" doc:"Messages after which greaterInterval counts; 0: never; absent: 20"`
	GreaterInterval      rest.Optional[int]             `json:"greaterInterval,omitempty" minimum:"0" maximum:"86400" doc:"Seconds between two later messages; absent: 60"`
	MediaURL             rest.Nullable[string]          `json:"mediaUrl,omitempty" maxLength:"2048" doc:"File to send with the texts: an address that the hub fetches now, or the mediaUrl of a message; null: none" example:"https://example.com/map.png"`
	MediaName            rest.Nullable[string]          `json:"mediaName,omitempty" maxLength:"255" doc:"Name of the file that mediaUrl brings, where it is not of a message already; absent or null: as the address says" example:"map.png"`
	Template             rest.Nullable[chat.Template]   `json:"template,omitempty" doc:"Send a template that the network has approved, in place of the texts, which are then what users read. Variables in its texts and payloads are replaced. Not with a file or confirmation. null: none"`
	SendWindow           rest.Nullable[chat.SendWindow] `json:"sendWindow,omitempty" doc:"When it sends, on the company's clock; null: always"`
}

// changesContacts reports whether the fields say who gets the campaign.
func (f CampaignFields) changesContacts() bool {
	return f.ContactIDs.Set || f.TagIDs.Set || f.ContactListID.Set
}

// applyTo sets the fields but for the contacts.
func (f CampaignFields) applyTo(c *store.Campaign, now time.Time) error {
	f.Name.ApplyTo(&c.Name)
	c.Name = strings.TrimSpace(c.Name)
	var errs rest.FieldErrors
	errs.CheckName(c.Name, "body.name", 120)
	switch length := len([]rune(c.Name)); {
	case length == 0:
		return invalidField("campaign_required", "body.name", "A campaign needs a name.")
	case length < 3 || len(errs) > 0:
		return invalidField("campaign_invalid_name", "body.name", "The name must have 3 to 120 characters.")
	}
	f.applyTexts(c, &errs)
	f.Confirmation.ApplyTo(&c.Confirmation)
	f.Template.ApplyTo(&c.Template)
	checkTemplate(&errs, c.Template, f.MediaURL.HasValue() || c.MediaID != nil && !f.MediaURL.Set)
	errs.Check(c.Template == nil || !c.Confirmation, "body.confirmation", "cannot be true with a template: the question would be a text")
	errs.Check(c.Template != nil || slices.ContainsFunc(c.Messages, isNotBlank), "body.message1", "must not be empty: a campaign needs a message")
	errs.Check(!c.Confirmation || slices.ContainsFunc(c.ConfirmationMessages, isNotBlank), "body.confirmationMessage1", "must not be empty with confirmation")
	f.MessageInterval.ApplyTo(&c.MessageInterval)
	f.LongerIntervalAfter.ApplyTo(&c.LongerIntervalAfter)
	f.GreaterInterval.ApplyTo(&c.GreaterInterval)
	errs.Check(c.MessageInterval >= 0 && c.MessageInterval <= maxCampaignInterval, "body.messageInterval", "must be from 0 to 86400")
	errs.Check(c.GreaterInterval >= 0 && c.GreaterInterval <= maxCampaignInterval, "body.greaterInterval", "must be from 0 to 86400")
	errs.Check(c.LongerIntervalAfter >= 0 && c.LongerIntervalAfter <= maxIntervalAfter, "body.longerIntervalAfter", "must be from 0 to 1000000")
	errs.Check(len(f.TagIDs.Value) <= maxCampaignTags, "body.tagIds", "must have at most 100 entries")
	errs.Check(len(f.ContactIDs.Value) <= maxContactListIDs, "body.contactIds", "must have at most 50000 entries")
	if err := f.applyWindow(c, &errs); err != nil {
		return err
	}
	if f.WhatsappID.Set {
		c.ConnectionID = &f.WhatsappID.Value
	}
	if c.ConnectionID == nil {
		errs.Check(false, "body.whatsappId", "must be the id of a connection")
	}
	if err := errs.Err(); err != nil {
		return err
	}
	return f.applySchedule(c, now)
}

func isNotBlank(text string) bool { return strings.TrimSpace(text) != "" }

// applyTexts sets the texts. A text of spaces is none.
func (f CampaignFields) applyTexts(c *store.Campaign, errs *rest.FieldErrors) {
	for i, text := range []rest.Optional[string]{f.Message1, f.Message2, f.Message3, f.Message4, f.Message5} {
		setText(&c.Messages[i], text, fmt.Sprintf("body.message%d", i+1), errs)
	}
	for i, text := range []rest.Optional[string]{f.ConfirmationMessage1, f.ConfirmationMessage2, f.ConfirmationMessage3, f.ConfirmationMessage4, f.ConfirmationMessage5} {
		setText(&c.ConfirmationMessages[i], text, fmt.Sprintf("body.confirmationMessage%d", i+1), errs)
	}
}

func setText(target *string, text rest.Optional[string], location string, errs *rest.FieldErrors) {
	if !text.Set {
		return
	}
	errs.CheckLength(text.Value, location, 0, maxBody)
	if *target = text.Value; !isNotBlank(text.Value) {
		*target = ""
	}
}

func (f CampaignFields) applyWindow(c *store.Campaign, errs *rest.FieldErrors) error {
	switch {
	case f.SendWindow.HasValue():
		window := f.SendWindow.Value
		problem := window.Problem()
		errs.Check(problem == "", "body.sendWindow", problem)
		raw, err := json.Marshal(window)
		if err != nil {
			return fmt.Errorf("encoding a window: %w", err)
		}
		c.SendWindow = raw
	case f.SendWindow.Set:
		c.SendWindow = nil
	}
	return nil
}

// applySchedule sets when the campaign starts by itself.
func (f CampaignFields) applySchedule(c *store.Campaign, now time.Time) error {
	switch {
	case !f.ScheduledAt.Set:
		return nil
	case f.ScheduledAt.Null:
		c.ScheduledAt = nil
		if c.Status == store.CampaignScheduled {
			c.Status = store.CampaignDraft
		}
		return nil
	}
	var errs rest.FieldErrors
	at := errs.ParseTime(f.ScheduledAt.Value, "body.scheduledAt")
	if err := errs.Err(); err != nil {
		return err
	}
	if !at.After(now) {
		return invalidField("schedule_past", "body.scheduledAt", "The start must be in the future.")
	}
	c.ScheduledAt, c.Status = &at, store.CampaignScheduled
	return nil
}

// checkCampaignReferences returns a [hub.ErrNotFound] for what is not the company's.
func (a *API) checkCampaignReferences(ctx context.Context, tx *store.Tx, f CampaignFields, c *store.Campaign) error {
	if f.WhatsappID.Set || f.Template.HasValue() {
		connection, err := tx.Connection(ctx, c.CompanyID, *c.ConnectionID)
		if err == nil && c.Template != nil {
			err = a.outbound.CheckTemplates(connection)
		}
		if err != nil {
			return dberr.MapNoRows(err, notFound("no_wapp_found", "connection"))
		}
	}
	if f.ContactListID.ApplyTo(&c.ContactListID); f.ContactListID.HasValue() {
		if _, err := tx.ContactList(ctx, c.CompanyID, *c.ContactListID); err != nil {
			return dberr.MapNoRows(err, errNoContactList())
		}
	}
	if f.TagIDs.Set {
		c.TagIDs = append([]int64{}, uniqueIDs(f.TagIDs.Value)...)
		count, err := tx.CountTags(ctx, c.CompanyID, c.TagIDs)
		if err != nil {
			return err
		}
		if count != int64(len(c.TagIDs)) {
			return errNoTag()
		}
	}
	return nil
}

// saveContacts replaces the contacts, where they are present.
func (f CampaignFields) saveContacts(ctx context.Context, tx *store.Tx, c store.Campaign) error {
	if !f.ContactIDs.Set {
		return nil
	}
	found, err := tx.SetCampaignContacts(ctx, c, uniqueIDs(f.ContactIDs.Value))
	if err == nil && !found {
		err = errNoContact()
	}
	return err
}

type createCampaignInput struct {
	Body struct{ CampaignFields } `nameHint:"CampaignFields"`
}

func (a *API) createCampaign(ctx context.Context, in *createCampaignInput) (*campaignOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	draft := store.Campaign{
		CompanyID: user.scope.Company, Status: store.CampaignDraft, Messages: make([]string, 5), ConfirmationMessages: make([]string, 5), TagIDs: []int64{},
		MessageInterval: 20, LongerIntervalAfter: 20, GreaterInterval: 60,
	}
	if err := in.Body.applyTo(&draft, a.host.Now()); err != nil {
		return nil, err
	}
	files, err := a.fetchMedia(ctx, user, in.Body.MediaURL, in.Body.MediaName, &draft.MediaID)
	if err != nil {
		return nil, err
	}
	var created store.Campaign
	err = a.store.InTx(ctx, "making a campaign", func(tx *store.Tx) error {
		if err := a.checkCampaignReferences(ctx, tx, in.Body.CampaignFields, &draft); err != nil {
			return err
		}
		if created, err = tx.CreateCampaign(ctx, draft); err != nil {
			return err
		}
		return in.Body.saveContacts(ctx, tx, created)
	})
	if err != nil {
		a.discard(ctx, files)
		return nil, err
	}
	return a.loadCampaignOutput(ctx, user.scope, created.ID)
}

type updateCampaignInput struct {
	IDParam
	Body struct{ CampaignFields } `nameHint:"CampaignFields"`
}

// updateCampaign changes a campaign that does not run. Who gets it cannot be changed any more
// once it has run, nor when it starts.
func (a *API) updateCampaign(ctx context.Context, in *updateCampaignInput) (*campaignOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	var mediaID *string
	files, err := a.fetchMedia(ctx, user, in.Body.MediaURL, in.Body.MediaName, &mediaID)
	if err != nil {
		return nil, err
	}
	err = a.withLockedCampaign(ctx, user, in.ID, func(tx *store.Tx, c store.Campaign) error {
		switch {
		case c.Status == store.CampaignRunning || c.Status == store.CampaignFinished:
			return refused("invalid_transition", "The campaign is "+c.Status+": only one that does not run can be changed.")
		case c.StartedAt != nil && (in.Body.changesContacts() || in.Body.ScheduledAt.Set):
			return refused("invalid_transition", "The campaign has run: its contacts and its start cannot be changed any more.")
		}
		if err := in.Body.applyTo(&c, tx.Now()); err != nil {
			return err
		}
		if err := a.checkCampaignReferences(ctx, tx, in.Body.CampaignFields, &c); err != nil {
			return err
		}
		if in.Body.MediaURL.Set {
			c.MediaID = mediaID
		}
		if err := tx.SaveCampaign(ctx, c); err != nil {
			return err
		}
		return in.Body.saveContacts(ctx, tx, c)
	})
	if err != nil {
		a.discard(ctx, files)
		return nil, err
	}
	return a.loadCampaignOutput(ctx, user.scope, in.ID)
}
