package api

import (
	"context"
	"time"

	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store"
)

type searchCampaignsInput struct {
	Status string `query:"status" enum:"draft,scheduled,running,finished,cancelled,INATIVA,PROGRAMADA,EM_ANDAMENTO,FINALIZADA,CANCELADA" doc:"Only campaigns in this state"`
	Name   string `query:"name" maxLength:"200" doc:"Part of the name"`
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"How many at most"`
}

// FoundCampaign is a campaign as connected products see it: without its texts and contacts.
type FoundCampaign struct {
	ID          string     `json:"id" doc:"Id of the campaign" example:"11"`
	Name        string     `json:"name" doc:"Text shown to users" example:"Offers of March"`
	Status      string     `json:"status" enum:"draft,scheduled,running,finished,cancelled" doc:"A cancelled campaign may go on"`
	ScheduledAt *time.Time `json:"scheduled_at" doc:"When it starts by itself; null: it does not"`
	StartedAt   *time.Time `json:"started_at" doc:"First start; null: never"`
	CompletedAt *time.Time `json:"completed_at" doc:"When it was finished; null: it is not"`
	CampaignCounters
}

type foundCampaignsOutput struct {
	Body struct {
		Campaigns []FoundCampaign `json:"campaigns" nullable:"false" doc:"The newest first"`
	} `nameHint:"CampaignSearch"`
}

func (a *API) searchCampaignsForPeer(ctx context.Context, in *searchCampaignsInput) (*foundCampaignsOutput, error) {
	scope, err := a.peerScope(ctx)
	if err != nil {
		return nil, err
	}
	module.RequireAudit(ctx)
	views, _, err := a.store.ListCampaigns(ctx, scope.Company, campaignStatus(in.Status), in.Name, store.Page{Limit: in.Limit})
	out := &foundCampaignsOutput{}
	out.Body.Campaigns = rest.Map(views, func(v store.CampaignView) FoundCampaign {
		p := v.Progress
		return FoundCampaign{
			chat.FormatID(v.ID), v.Name, v.Status, v.ScheduledAt, v.StartedAt, v.CompletedAt,
			CampaignCounters{p.Total, p.Pending, p.Sent, p.Delivered, p.Read, p.Failed, p.Skipped},
		}
	})
	return out, err
}
