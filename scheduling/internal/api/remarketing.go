package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/module/pointer"
	"integrationhub/hub/module/rest"
	"integrationhub/scheduling/internal/store"
)

type inactiveClientsInput struct {
	Paging
	Days      int  `query:"days" minimum:"1" maximum:"3650" doc:"Absent: as the settings say"`
	Consented bool `query:"consented" doc:"Only those who agreed to be written to"`
}

// listInactiveClients lists clients without a recent appointment.
func (a *API) listInactiveClients(ctx context.Context, in *inactiveClientsInput) (*struct{ Body Page[InactiveClient] }, error) {
	list, err := a.findInactive(ctx, &inactiveInput{in.Paging, in.Days}, in.Consented)
	return &struct{ Body Page[InactiveClient] }{list.Page}, err
}

type startCampaignInput struct {
	Body struct {
		Message optional[string] `json:"message,omitempty" maxLength:"2000" doc:"Absent: the settings' remarketing_message, or the standard text"`
		Days    optional[int]    `json:"days,omitempty" minimum:"7" maximum:"3650" doc:"Since the last visit. Absent: the settings' inactive_after_days"`
		DryRun  optional[bool]   `json:"dry_run,omitempty" doc:"Only count"`
	} `nameHint:"CampaignFields"`
}

// Campaign is an email to inactive clients with marketing consent.
type Campaign struct {
	ID         *uuid.UUID `json:"id" doc:"null for a dry run"`
	Status     string     `json:"status" enum:"dry_run,sending,done" doc:"Whether it only counted, sends, or is done"`
	Message    string     `json:"message" doc:"Empty: the standard text"`
	Days       int        `json:"days" doc:"Since the last visit"`
	Recipients int        `json:"recipients" doc:"How many clients it is for"`
	Sent       int        `json:"sent" doc:"How many were written to so far"`
	CreatedAt  *time.Time `json:"created_at" doc:"When it was started; null for a dry run"`
	DoneAt     *time.Time `json:"done_at" doc:"When the last e-mail was sent; null: not yet"`
}

func toCampaign(row store.Campaign, sent int, zone *time.Location) Campaign {
	campaign := Campaign{
		ID: &row.ID, Status: "sending", Message: row.Message, Days: row.Days, Recipients: row.Recipients, Sent: sent,
		CreatedAt: inZone(&row.CreatedAt, zone), DoneAt: inZone(row.DoneAt, zone),
	}
	if row.DoneAt != nil {
		campaign.Status = "done"
	}
	return campaign
}

type campaignOutput struct {
	Status int
	Body   Campaign
}

// startCampaign sends to inactive clients with marketing consent, in the background.
func (a *API) startCampaign(ctx context.Context, in *startCampaignInput) (*campaignOutput, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	caller, err := requireCaller(ctx)
	if err != nil {
		return nil, err
	}
	campaign := store.NewCampaign{Org: org, Message: pointer.ValueOrZero(org.Settings.RemarketingMessage), InactiveDays: org.Settings.InactiveAfterDays}
	if caller.UserID != uuid.Nil {
		campaign.By = &caller.UserID
	}
	in.Body.Message.ApplyTo(&campaign.Message)
	in.Body.Days.ApplyTo(&campaign.InactiveDays)
	campaign.Message = strings.TrimSpace(campaign.Message)
	var errs fieldErrors
	errs.CheckLength(campaign.Message, "body.message", 0, 2000)
	errs.Check(campaign.InactiveDays >= 7 && campaign.InactiveDays <= 3650, "body.days", "must be 7 to 3650")
	if err := errs.Err(); err != nil {
		return nil, err
	}
	if campaign.UseMessaging, err = a.notifier.UsesMessagingForCampaigns(ctx, org.ID); err != nil {
		return nil, err
	}
	if in.Body.DryRun.Value {
		count, err := a.store.CountCampaignRecipients(ctx, campaign)
		return &campaignOutput{http.StatusOK, Campaign{Status: "dry_run", Message: campaign.Message, Days: campaign.InactiveDays, Recipients: count}}, err
	}
	started, err := a.store.StartCampaign(ctx, campaign)
	return &campaignOutput{http.StatusAccepted, toCampaign(started, 0, org.Zone)}, err
}

func (a *API) listCampaigns(ctx context.Context, in *Paging) (*struct{ Body Page[Campaign] }, error) {
	org, err := a.loadOrg(ctx)
	if err != nil {
		return nil, err
	}
	rows, total, err := a.store.CampaignPage(ctx, org.ID, toPage(*in))
	if err != nil {
		return nil, err
	}
	items := rest.Map(rows, func(row store.CampaignProgress) Campaign { return toCampaign(row.Campaign, row.Sent, org.Zone) })
	return &struct{ Body Page[Campaign] }{rest.NewPage(items, total, *in)}, nil
}

// applyConsent records or withdraws the client's marketing consent.
func (f *clientFields) applyConsent(client *store.Client, now time.Time) {
	switch {
	case !f.MarketingConsent.Set:
	case !f.MarketingConsent.Value:
		client.MarketingConsentAt, client.MarketingConsentSource = nil, nil
	case client.MarketingConsentAt == nil:
		source := "staff"
		client.MarketingConsentAt, client.MarketingConsentSource = &now, &source
	}
}
