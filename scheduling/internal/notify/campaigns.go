package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/emails"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

const (
	campaignBatch = 100
	// campaignTTL is after how long what could not be sent of a campaign is not sent
	// any more.
	campaignTTL = 7 * 24 * time.Hour
)

// UsesMessagingForCampaigns reports whether an organization's campaigns go through a
// messaging product.
func (o *Notifier) UsesMessagingForCampaigns(ctx context.Context, org uuid.UUID) (bool, error) {
	_, found, err := o.findMessagingIntegration(ctx, org, useRemarketing)
	return found, err
}

// SendCampaign sends the waiting messages of a campaign. Each message is settled on its
// own, so a later run continues where a stopped one ended. The payload is a
// [store.CampaignRun].
func (o *Notifier) SendCampaign(ctx context.Context, payload []byte) error {
	var run store.CampaignRun
	if len(payload) == 0 {
		return nil
	}
	if err := json.Unmarshal(payload, &run); err != nil {
		return err
	}
	org, err := o.store.LoadOrg(ctx, run.Org)
	if errors.Is(err, hub.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	campaign, err := o.store.CampaignByID(ctx, run.Org, run.Campaign)
	if err != nil {
		return store.IgnoreNotFound(err)
	}
	finished := o.host.Now().Sub(campaign.CreatedAt) > campaignTTL
	peer, found, err := o.findMessagingIntegration(ctx, org.ID, useRemarketing)
	if err != nil {
		return err
	}
	failed := 0
	for after := uuid.Nil; ; {
		list, err := o.store.PendingCampaignMessages(ctx, dbgen.PendingCampaignMessagesParams{OrgID: org.ID, CampaignID: campaign.ID, After: after, RowLimit: campaignBatch})
		if err != nil {
			return err
		}
		for _, client := range list {
			message := store.CampaignMessage{Org: org, Campaign: campaign, Client: client}
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case finished:
				err = o.store.DeleteCampaignMessage(ctx, dbgen.DeleteCampaignMessageParams{OrgID: org.ID, CampaignID: campaign.ID, ClientID: client})
			default:
				err = o.sendCampaignMessage(ctx, message, peer, found)
			}
			if err != nil {
				failed++
				o.host.Log.Warn("a letter of a campaign could not be sent", "organization", org.ID, "campaign", campaign.ID, "error", err)
			}
			after = client
		}
		if len(list) < campaignBatch {
			break
		}
	}
	if failed > 0 {
		return fmt.Errorf("sending a campaign: %d letters could not be sent", failed)
	}
	return o.store.SetCampaignDoneAt(ctx, dbgen.SetCampaignDoneAtParams{Now: o.host.Now(), OrgID: org.ID, ID: campaign.ID})
}

// sendCampaignMessage sends one message: through the messaging product where the
// organization uses one and the client has a phone, else by e-mail.
func (o *Notifier) sendCampaignMessage(ctx context.Context, message store.CampaignMessage, peer uuid.UUID, messaged bool) error {
	if messaged {
		client, err := o.store.ClientByID(ctx, message.Org.ID, message.Client)
		if err == nil && client.PhoneE164 != nil {
			return o.sendCampaignText(ctx, message, peer)
		}
	}
	return o.sendCampaignEmail(ctx, message)
}

func (o *Notifier) sendCampaignEmail(ctx context.Context, message store.CampaignMessage) error {
	return o.store.SendCampaignMessage(ctx, message, func(tx *store.Tx, client dbgen.Client) (bool, error) {
		facts := o.campaignFacts(message, client)
		return o.sendEmail(ctx, tx, message.Org, recipient{to: valueOrEmpty(client.Email), subject: client.ID, unsubscribe: facts.Leave}, emails.Campaign, facts)
	})
}

func (o *Notifier) campaignFacts(message store.CampaignMessage, client dbgen.Client) emails.Data {
	return emails.Data{
		Business: message.Org.Name, Phone: valueOrEmpty(message.Org.Phone), Client: client.Name, Message: message.Campaign.Message,
		Link: o.host.URLs.Public + "/book/" + url.PathEscape(message.Org.Slug), Leave: o.publicBooking.UnsubscribeURL(message.Org, client.ID),
	}
}

// sendCampaignText sends a message through the messaging product. A refused message is
// sent by e-mail instead.
func (o *Notifier) sendCampaignText(ctx context.Context, message store.CampaignMessage, peer uuid.UUID) error {
	client, claimed, err := o.store.ClaimCampaignMessage(ctx, message)
	if err != nil || !claimed {
		return err
	}
	outcome := store.Outcome{}
	text, err := emails.Render(emails.CampaignMessage, message.Org.Locale, o.campaignFacts(message, client))
	if err == nil {
		outcome, err = o.sendText(ctx, peer, booking.Digits(valueOrEmpty(client.PhoneE164)), text.Text)
	}
	if isRefusal(err) {
		o.host.Log.Warn("the messaging product refuses a letter of a campaign", "organization", message.Org.ID, "campaign", message.Campaign.ID, "error", err)
		if err = o.sendCampaignEmail(ctx, message); err == nil {
			return nil
		}
		outcome.RetryAfter = time.Minute
	}
	settled := o.store.SettleCampaignMessage(context.WithoutCancel(ctx), message, outcome)
	if err != nil && outcome.RetryAfter == 0 { // never known
		o.host.Log.Warn("a letter of a campaign may not have been sent", "organization", message.Org.ID, "campaign", message.Campaign.ID, "error", err)
		err = nil
	}
	return errors.Join(err, settled)
}

// sendText passes a text to the messaging product.
func (o *Notifier) sendText(ctx context.Context, peer uuid.UUID, number, words string) (store.Outcome, error) {
	body, err := json.Marshal(map[string]string{"number": number, "body": words})
	if err != nil {
		return store.Outcome{}, err
	}
	if _, err = o.host.Peers.Call(ctx, peer, hub.Call{Name: callSendMessage, Body: body}); err != nil {
		return store.Outcome{RetryAfter: retryDelay(err)}, err
	}
	return store.Outcome{Sent: true}, nil
}
