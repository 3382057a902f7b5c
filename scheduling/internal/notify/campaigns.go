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
	"integrationhub/hub/module/pointer"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/emails"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

const (
	// campaignBatch is how many messages a campaign sends before the next one has its turn.
	campaignBatch = 25
	// maxSilentTexts is how many texts of a turn may be lost on a messaging product that does
	// not respond. Each took its whole time, in which no campaign sends anything. One that limits
	// the texts gets no more at all.
	maxSilentTexts = 3
	// campaignRetry is the time between two passes through a campaign of several turns.
	campaignRetry = 5 * time.Minute
	// minCampaignPause and maxCampaignPause bound the pause that a messaging product asks for.
	minCampaignPause, maxCampaignPause = time.Minute, time.Hour
	// campaignTTL is how long sending the messages of a campaign is retried.
	campaignTTL = 7 * 24 * time.Hour
)

// UsesMessagingForCampaigns reports whether an organization's campaigns go through a
// messaging product.
func (n *Notifier) UsesMessagingForCampaigns(ctx context.Context, org uuid.UUID) (bool, error) {
	_, found, err := n.findMessagingIntegration(ctx, org, useRemarketing)
	return found, err
}

// errNoTurn means that a text waits for the next pass of its campaign.
var errNoTurn = errors.New("the messaging product does not respond or limits the texts")

// campaignTurn is what a turn of a campaign remembers.
type campaignTurn struct {
	peer          uuid.UUID // the integration with the messaging product
	usesMessaging bool
	silentTexts   int
	failed        int
	nextPass      time.Time // when the messaging product takes texts again; zero: it did not say
}

// SendCampaign sends waiting messages of a campaign: those of one turn. Each message is settled
// on its own, so a later run continues where a stopped one ended. The payload is a
// [store.CampaignRun].
func (n *Notifier) SendCampaign(ctx context.Context, payload []byte) error {
	var run store.CampaignRun
	if len(payload) == 0 {
		return nil
	}
	if err := json.Unmarshal(payload, &run); err != nil {
		return err
	}
	org, err := n.store.LoadOrg(ctx, run.Org)
	if errors.Is(err, hub.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	campaign, err := n.store.CampaignByID(ctx, run.Org, run.Campaign)
	if err != nil {
		return store.IgnoreNotFound(err)
	}
	if n.host.Tenants.CheckActive(org.ID) != nil {
		return n.store.ContinueCampaign(ctx, run, n.host.Now().Add(maxCampaignPause))
	}
	expired := n.host.Now().Sub(campaign.CreatedAt) > campaignTTL
	turn := campaignTurn{nextPass: run.NextPass}
	if turn.peer, turn.usesMessaging, err = n.findMessagingIntegration(ctx, org.ID, useRemarketing); err != nil {
		return err
	}
	if run.Silent {
		turn.silentTexts = maxSilentTexts
	}
	clients, err := n.store.PendingCampaignMessages(ctx, dbgen.PendingCampaignMessagesParams{OrgID: org.ID, CampaignID: campaign.ID, After: run.After, RowLimit: campaignBatch})
	if err != nil {
		return err
	}
	for _, client := range clients {
		message := store.CampaignMessage{Org: org, Campaign: campaign, Client: client}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case expired:
			err = n.store.DeleteCampaignMessage(ctx, dbgen.DeleteCampaignMessageParams{OrgID: org.ID, CampaignID: campaign.ID, ClientID: client})
		default:
			err = n.sendCampaignMessage(ctx, message, &turn)
		}
		if err != nil {
			turn.failed++
		}
		if err != nil && !errors.Is(err, errNoTurn) {
			n.host.Log.Warn("sending a campaign message failed", "organization", org.ID, "campaign", campaign.ID, "error", err)
		}
	}
	return n.endTurn(ctx, run, clients, turn)
}

// requestedPause returns how long the messaging product asks to wait, 0 where it does not say.
func requestedPause(err error) time.Duration {
	var limited *hub.Error
	if !errors.As(err, &limited) {
		return 0
	}
	return limited.RetryAfter
}

// endTurn has the next turn of a campaign follow, which goes on behind the last client of this
// one. After the last turn of a pass, what failed is sent in another pass, after a while
// or when the messaging product takes texts again.
func (n *Notifier) endTurn(ctx context.Context, run store.CampaignRun, clients []uuid.UUID, turn campaignTurn) error {
	if len(clients) == campaignBatch {
		run.After, run.Silent, run.NextPass = clients[campaignBatch-1], turn.silentTexts >= maxSilentTexts, turn.nextPass
		return n.store.ContinueCampaign(ctx, run, time.Time{})
	}
	pass := store.CampaignRun{Org: run.Org, Campaign: run.Campaign}
	switch {
	case run.After != uuid.Nil: // the job would repeat only this turn
		failed, err := n.store.PendingCampaignMessages(ctx, dbgen.PendingCampaignMessagesParams{OrgID: run.Org, CampaignID: run.Campaign, RowLimit: 1})
		if err != nil {
			return err
		}
		if len(failed) > 0 {
			if turn.nextPass.IsZero() {
				turn.nextPass = n.host.Now().Add(campaignRetry)
			}
			return n.store.ContinueCampaign(ctx, pass, turn.nextPass)
		}
	case turn.failed > 0 && !turn.nextPass.IsZero():
		return n.store.ContinueCampaign(ctx, pass, turn.nextPass)
	case turn.failed > 0:
		return fmt.Errorf("sending a campaign: %d messages failed", turn.failed)
	}
	return n.store.SetCampaignDoneAt(ctx, dbgen.SetCampaignDoneAtParams{Now: n.host.Now(), OrgID: run.Org, ID: run.Campaign})
}

// sendCampaignMessage sends one message: through the messaging product where the
// organization uses one and the client has a phone, else by e-mail.
func (n *Notifier) sendCampaignMessage(ctx context.Context, message store.CampaignMessage, turn *campaignTurn) error {
	if turn.usesMessaging {
		client, err := n.store.ClientByID(ctx, message.Org.ID, message.Client)
		if err == nil && client.PhoneE164 != nil {
			return n.sendCampaignText(ctx, message, turn)
		}
	}
	return n.sendCampaignEmail(ctx, message)
}

func (n *Notifier) sendCampaignEmail(ctx context.Context, message store.CampaignMessage) error {
	return n.store.SendCampaignMessage(ctx, message, func(tx *store.Tx, client store.Client) (bool, error) {
		data := n.campaignData(message, client)
		return n.sendEmail(ctx, tx, message.Org, envelope{to: pointer.ValueOrZero(client.Email), clientID: client.ID, unsubscribe: data.UnsubscribeURL}, emails.Campaign, data)
	})
}

func (n *Notifier) campaignData(message store.CampaignMessage, client store.Client) emails.Data {
	return emails.Data{
		Business: message.Org.Name, Phone: pointer.ValueOrZero(message.Org.Phone), Client: client.Name, Message: message.Campaign.Message,
		Link: n.host.URLs.Public + "/book/" + url.PathEscape(message.Org.Slug), UnsubscribeURL: n.publicBooking.UnsubscribeURL(message.Org, client.ID),
	}
}

// sendCampaignText sends a message through the messaging product. A refused message is
// sent by e-mail instead.
func (n *Notifier) sendCampaignText(ctx context.Context, message store.CampaignMessage, turn *campaignTurn) error {
	if turn.silentTexts >= maxSilentTexts {
		return errNoTurn
	}
	client, claimed, err := n.store.ClaimCampaignMessage(ctx, message)
	if err != nil || !claimed {
		return err
	}
	outcome := store.Outcome{}
	text, err := emails.Render(emails.CampaignMessage, message.Org.Locale, n.campaignData(message, client))
	if err == nil {
		outcome, err = n.sendText(ctx, turn.peer, textMessage{Number: booking.Digits(pointer.ValueOrZero(client.PhoneE164)), Body: text.Text})
	}
	if errors.Is(err, hub.ErrPeerTimeout) || hub.HasCode(err, hub.CodePeerUnreachable) {
		turn.silentTexts++
	}
	if outcome.Limited {
		turn.silentTexts = maxSilentTexts
		if asked := requestedPause(err); asked > 0 {
			turn.nextPass = n.host.Now().Add(min(max(asked, minCampaignPause), maxCampaignPause))
		}
	}
	if isRefusal(err) {
		n.host.Log.Warn("the messaging product refuses a campaign message", "organization", message.Org.ID, "campaign", message.Campaign.ID, "error", err)
		if err = n.sendCampaignEmail(ctx, message); err == nil {
			return nil
		}
		outcome.RetryAfter = time.Minute
	}
	settleErr := n.store.SettleCampaignMessage(context.WithoutCancel(ctx), message, outcome)
	if err != nil && outcome.RetryAfter == 0 { // the outcome is unknown
		n.host.Log.Warn("a campaign message may not have been sent", "organization", message.Org.ID, "campaign", message.Campaign.ID, "error", err)
		err = nil
	}
	return errors.Join(err, settleErr)
}

// textMessage is a text for the messaging product.
type textMessage struct {
	Number      string      `json:"number"` // digits with the country code
	Body        string      `json:"body"`
	Appointment *askedAbout `json:"appointment,omitempty"` // nil: no question
}

// askedAbout is the appointment that a reminder asks the client to confirm or cancel. The
// messaging product calls action/confirm or action/cancel with the answer.
type askedAbout struct {
	ID     string    `json:"id"`
	Title  string    `json:"title"`
	Locale string    `json:"locale"`
	Until  time.Time `json:"until"`
}

// sendText passes a text to the messaging product.
func (n *Notifier) sendText(ctx context.Context, peer uuid.UUID, message textMessage) (store.Outcome, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return store.Outcome{}, err
	}
	if _, err = n.host.Peers.Call(ctx, peer, hub.Call{Name: callSendMessage, Body: body}); err != nil {
		return failedOutcome(err), err
	}
	return store.Outcome{Sent: true}, nil
}
