package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"integrationhub/hub"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store"
)

const campaignsPerPage = 20

// Campaign is a message to many contacts.
type Campaign struct {
	ID        int64  `json:"id" doc:"Id of the campaign" example:"11"`
	CompanyID int64  `json:"companyId" doc:"Company that owns it" example:"1"`
	Name      string `json:"name" doc:"Text shown to users" example:"Offers of March"`
	Status    string `json:"status" enum:"draft,scheduled,running,finished,cancelled" doc:"A cancelled campaign goes on when it is started again"`
	CampaignTexts
	Confirmation        bool             `json:"confirmation" doc:"Contacts are asked first, and get the message when they answer anything but no"`
	ScheduledAt         *time.Time       `json:"scheduledAt" doc:"When it starts by itself; null: it does not"`
	StartedAt           *time.Time       `json:"startedAt" doc:"First start; null: never"`
	CompletedAt         *time.Time       `json:"completedAt" doc:"When it was finished; null: it is not"`
	WhatsappID          *int64           `json:"whatsappId" doc:"Connection to send on; null: it was deleted"`
	ContactListID       *int64           `json:"contactListId" doc:"List whose contacts it gets at its first start; null: none"`
	TagIDs              []int64          `json:"tagIds" nullable:"false" doc:"Tags whose contacts it gets at its first start"`
	MessageInterval     int              `json:"messageInterval" doc:"Seconds between two messages"`
	LongerIntervalAfter int              `json:"longerIntervalAfter" doc:"Messages after which greaterInterval counts; 0: never"`
	GreaterInterval     int              `json:"greaterInterval" doc:"Seconds between two later messages"`
	MediaURL            *string          `json:"mediaUrl" doc:"File that is sent with the texts; null: none"`
	MediaName           *string          `json:"mediaName" doc:"Name of the file; null: none" example:"map.png"`
	Template            *chat.Template   `json:"template" doc:"Template that is sent in place of the texts; null: none"`
	SendWindow          *chat.SendWindow `json:"sendWindow" doc:"When it sends, on the company's clock; null: always"`
	Counters            CampaignCounters `json:"counters" doc:"Of its contacts"`
	NextSendAt          *time.Time       `json:"nextSendAt" doc:"When it looks for the next contact; null: it does not run"`
	CreatedAt           time.Time        `json:"createdAt" doc:"When it was made"`
	UpdatedAt           time.Time        `json:"updatedAt" doc:"Last change"`
}

// CampaignTexts are the texts of a campaign. Each message takes the next one that is not
// empty.
type CampaignTexts struct {
	Message1             string `json:"message1" doc:"First text; variables are {nome}, {email} and {numero}" example:"Hello {nome}"`
	Message2             string `json:"message2" doc:"Second text; empty: none"`
	Message3             string `json:"message3" doc:"Third text; empty: none"`
	Message4             string `json:"message4" doc:"Fourth text; empty: none"`
	Message5             string `json:"message5" doc:"Fifth text; empty: none"`
	ConfirmationMessage1 string `json:"confirmationMessage1" doc:"First question; empty: none"`
	ConfirmationMessage2 string `json:"confirmationMessage2" doc:"Second question; empty: none"`
	ConfirmationMessage3 string `json:"confirmationMessage3" doc:"Third question; empty: none"`
	ConfirmationMessage4 string `json:"confirmationMessage4" doc:"Fourth question; empty: none"`
	ConfirmationMessage5 string `json:"confirmationMessage5" doc:"Fifth question; empty: none"`
}

// CampaignCounters count a campaign's contacts. total is pending + sent + failed + skipped.
type CampaignCounters struct {
	Total     int `json:"total" doc:"All contacts"`
	Pending   int `json:"pending" doc:"Without a result yet"`
	Sent      int `json:"sent" doc:"Taken by the network, with those delivered and read"`
	Delivered int `json:"delivered" doc:"Arrived, with those read"`
	Read      int `json:"read" doc:"Read by the contact"`
	Failed    int `json:"failed" doc:"Not accepted by the network"`
	Skipped   int `json:"skipped" doc:"Left out: opted out, declined, no answer to the question, anonymized, or without a number"`
}

// CampaignDetail is a campaign with its contacts.
type CampaignDetail struct {
	Campaign
	ContactIDs []int64 `json:"contactIds" nullable:"false" doc:"Its contacts, in the order of sending, the first 50,000; from its first start on with those of its list and tags"`
}

type campaignOutput struct{ Body CampaignDetail }

func errNoCampaign() *hub.Error { return notFound("no_campaign_found", "campaign") }

func (a *API) toCampaign(v store.CampaignView) (Campaign, error) {
	m, q, p := v.Messages, v.ConfirmationMessages, v.Progress
	c := Campaign{
		ID: v.ID, CompanyID: v.CompanyID, Name: v.Name, Status: v.Status, CampaignTexts: CampaignTexts{m[0], m[1], m[2], m[3], m[4], q[0], q[1], q[2], q[3], q[4]},
		Confirmation: v.Confirmation, ScheduledAt: v.ScheduledAt, StartedAt: v.StartedAt, CompletedAt: v.CompletedAt, WhatsappID: v.ConnectionID,
		ContactListID: v.ContactListID, TagIDs: v.TagIDs, MessageInterval: v.MessageInterval, LongerIntervalAfter: v.LongerIntervalAfter,
		GreaterInterval: v.GreaterInterval, MediaURL: a.mediaURLOf(v.MediaID), MediaName: v.MediaName, Template: v.Template, NextSendAt: p.NextSendAt, CreatedAt: v.CreatedAt.UTC(), UpdatedAt: v.UpdatedAt.UTC(),
		Counters: CampaignCounters{p.Total, p.Pending, p.Sent, p.Delivered, p.Read, p.Failed, p.Skipped},
	}
	if v.SendWindow != nil {
		c.SendWindow = new(chat.SendWindow)
		if err := json.Unmarshal(v.SendWindow, c.SendWindow); err != nil {
			return c, fmt.Errorf("decoding a campaign's window: %w", err)
		}
	}
	return c, nil
}

type listCampaignsInput struct {
	PageNumber  int    `query:"pageNumber" minimum:"1" maximum:"100000" default:"1" doc:"From 1; a page has 20 campaigns"`
	SearchParam string `query:"searchParam" maxLength:"200" doc:"Part of the name"`
	Status      string `query:"status" enum:"draft,scheduled,running,finished,cancelled,INATIVA,PROGRAMADA,EM_ANDAMENTO,FINALIZADA,CANCELADA" doc:"Only campaigns in this state"`
}

// campaignStatuses are the platform's other names of states.
var campaignStatuses = map[string]string{
	"INATIVA": store.CampaignDraft, "PROGRAMADA": store.CampaignScheduled, "EM_ANDAMENTO": store.CampaignRunning, "FINALIZADA": store.CampaignFinished, "CANCELADA": store.CampaignCancelled,
}

// campaignStatus returns a state by either of its names.
func campaignStatus(name string) string { return cmp.Or(campaignStatuses[name], name) }

// CampaignList is a page of campaigns, the newest first.
type CampaignList struct {
	Records []Campaign `json:"records" nullable:"false" doc:"The page"`
	Count   int        `json:"count" doc:"Of all pages"`
	HasMore bool       `json:"hasMore" doc:"There is another page"`
}

func (a *API) listCampaigns(ctx context.Context, in *listCampaignsInput) (*struct{ Body CampaignList }, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	page := store.Page{Offset: (in.PageNumber - 1) * campaignsPerPage, Limit: campaignsPerPage}
	views, count, err := a.store.ListCampaigns(ctx, user.scope.Company, campaignStatus(in.Status), in.SearchParam, page)
	if err != nil {
		return nil, err
	}
	records := make([]Campaign, len(views))
	for i, view := range views {
		if records[i], err = a.toCampaign(view); err != nil {
			return nil, err
		}
	}
	return &struct{ Body CampaignList }{CampaignList{records, count, count > page.Offset+len(records)}}, nil
}

// requireCampaign returns a campaign of the company, or a [hub.ErrNotFound].
func (a *API) requireCampaign(ctx context.Context, scope store.Scope, id int64) (store.CampaignView, error) {
	view, err := a.store.CampaignView(ctx, scope.Company, id)
	return view, dberr.MapNoRows(err, errNoCampaign())
}

// loadCampaignOutput returns the response for one campaign.
func (a *API) loadCampaignOutput(ctx context.Context, scope store.Scope, id int64) (*campaignOutput, error) {
	view, err := a.requireCampaign(ctx, scope, id)
	if err != nil {
		return nil, err
	}
	contacts, err := a.store.ContactIDsOfCampaign(ctx, scope.Company, id, maxContactListIDs)
	if err != nil {
		return nil, fmt.Errorf("loading a campaign's contacts: %w", err)
	}
	campaign, err := a.toCampaign(view)
	return &campaignOutput{CampaignDetail{campaign, contacts}}, err
}

func (a *API) getCampaign(ctx context.Context, in *IDParam) (*campaignOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	return a.loadCampaignOutput(ctx, user.scope, in.ID)
}

// withLockedCampaign calls work with a campaign of the company.
func (a *API) withLockedCampaign(ctx context.Context, user userPrincipal, id int64, work func(tx *store.Tx, c store.Campaign) error) error {
	return a.store.InTx(ctx, "changing a campaign", func(tx *store.Tx) error {
		row, err := tx.LockCampaign(ctx, user.scope.Company, id)
		if err != nil {
			return dberr.MapNoRows(err, errNoCampaign())
		}
		return work(tx, row)
	})
}

func (a *API) deleteCampaign(ctx context.Context, in *IDParam) (*messageOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	err = a.withLockedCampaign(ctx, user, in.ID, func(tx *store.Tx, c store.Campaign) error {
		if c.Status == store.CampaignRunning {
			return refused("invalid_transition", "The campaign is running: cancel it first.")
		}
		return tx.DeleteCampaign(ctx, c.CompanyID, c.ID)
	})
	return &messageOutput{Message{"Campaign deleted"}}, err
}

// startCampaign starts a campaign, or goes on with one that was cancelled.
func (a *API) startCampaign(ctx context.Context, in *IDParam) (*campaignOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	err = a.withLockedCampaign(ctx, user, in.ID, func(tx *store.Tx, c store.Campaign) error {
		switch {
		case c.Status == store.CampaignRunning || c.Status == store.CampaignFinished:
			return refused("invalid_transition", "The campaign is "+c.Status+" already.")
		case c.ConnectionID == nil:
			return refused("no_def_wapp_found", "The campaign's connection was deleted: give it another one first.")
		}
		if err := tx.StartCampaign(ctx, c); err != nil {
			return err
		}
		view, err := tx.Campaign(ctx, c.CompanyID, c.ID)
		if err == nil && view.CampaignProgress.Total == 0 {
			err = refused("campaign_required", "The campaign has no contacts.")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return a.loadCampaignOutput(ctx, user.scope, in.ID)
}

// cancelCampaign stops a campaign. What the network has not accepted yet is not sent.
func (a *API) cancelCampaign(ctx context.Context, in *IDParam) (*campaignOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	err = a.withLockedCampaign(ctx, user, in.ID, func(tx *store.Tx, c store.Campaign) error {
		if c.Status != store.CampaignRunning && c.Status != store.CampaignScheduled {
			return refused("invalid_transition", "Only a running or scheduled campaign can be cancelled; this one is "+c.Status+".")
		}
		return tx.StopCampaign(ctx, c, store.CampaignCancelled)
	})
	if err != nil {
		return nil, err
	}
	return a.loadCampaignOutput(ctx, user.scope, in.ID)
}

// CampaignShipment is a contact of a campaign in its report.
type CampaignShipment struct {
	ContactID   int64     `json:"contactId" doc:"Whom it was for" example:"5"`
	ContactName string    `json:"contactName" doc:"Display name of the contact" example:"Ana Souza"`
	Number      string    `json:"number" doc:"That it was sent to; empty: not yet" example:"5511987654321"`
	Message     string    `json:"message" doc:"That was sent; empty: not yet"`
	Status      string    `json:"status" enum:"pending,confirming,confirmed,queued,sent,delivered,read,failed,skipped" doc:"confirming: the contact was asked; queued: waits for the network"`
	MessageID   *string   `json:"messageId" doc:"The message; null: none yet"`
	Error       *string   `json:"error" doc:"Why it failed or was skipped"`
	UpdatedAt   time.Time `json:"updatedAt" doc:"Last change"`
}

// CampaignReport is a page of a campaign's contacts, in the order of sending.
type CampaignReport struct {
	Records  []CampaignShipment `json:"records" nullable:"false" doc:"The page"`
	Counters CampaignCounters   `json:"counters" doc:"Of all its contacts"`
	Count    int                `json:"count" doc:"Of all pages"`
	HasMore  bool               `json:"hasMore" doc:"There is another page"`
}

type campaignReportInput struct {
	IDParam
	PageNumber int    `query:"pageNumber" minimum:"1" maximum:"100000" default:"1" doc:"From 1; a page has 20 contacts"`
	Status     string `query:"status" enum:"pending,confirming,confirmed,queued,sent,delivered,read,failed,skipped" doc:"Only contacts in this state"`
}

func (a *API) getCampaignReport(ctx context.Context, in *campaignReportInput) (*struct{ Body CampaignReport }, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	view, err := a.requireCampaign(ctx, user.scope, in.ID)
	if err != nil {
		return nil, err
	}
	var statuses []string
	if in.Status != "" {
		statuses = []string{in.Status}
	}
	page := store.Page{Offset: (in.PageNumber - 1) * campaignsPerPage, Limit: campaignsPerPage}
	rows, count, err := a.store.ListShipments(ctx, view, statuses, page)
	if err != nil {
		return nil, err
	}
	records := rest.Map(rows, func(row store.NamedShipment) CampaignShipment {
		s := row.Shipment
		return CampaignShipment{s.ContactID, row.Name, s.Number, s.Message, s.Status, s.MessageID, s.Error, s.UpdatedAt.UTC()}
	})
	p := view.Progress
	counters := CampaignCounters{p.Total, p.Pending, p.Sent, p.Delivered, p.Read, p.Failed, p.Skipped}
	return &struct{ Body CampaignReport }{CampaignReport{records, counters, count, count > page.Offset+len(records)}}, nil
}
