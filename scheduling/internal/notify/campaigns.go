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
	lettersAtOnce = 100
	// campaignTime is after how long what could not be sent of a campaign is not sent
	// any more.
	campaignTime = 7 * 24 * time.Hour
)

// Messaged tells whether an organization's campaigns go through a messaging product.
func (o *Office) Messaged(ctx context.Context, org uuid.UUID) (bool, error) {
	_, found, err := o.messenger(ctx, org, useRemarketing)
	return found, err
}

// campaigns sends what waits of a campaign. Each letter is settled by itself: whoever
// comes after a process that died goes on where it stopped.
func (o *Office) campaigns(ctx context.Context, payload []byte) error {
	var s store.Sending
	if len(payload) == 0 {
		return nil
	}
	if err := json.Unmarshal(payload, &s); err != nil {
		return err
	}
	org, err := o.store.Org(ctx, s.Org)
	if errors.Is(err, hub.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	campaign, err := o.store.Campaign(ctx, s.Org, s.Campaign)
	if err != nil {
		return store.Ignored(err)
	}
	over := o.host.Now().Sub(campaign.CreatedAt) > campaignTime
	peer, found, err := o.messenger(ctx, org.ID, useRemarketing)
	if err != nil {
		return err
	}
	failed := 0
	for after := uuid.Nil; ; {
		list, err := o.store.WaitingLetters(ctx, dbgen.WaitingLettersParams{OrgID: org.ID, CampaignID: campaign.ID, After: after, RowLimit: lettersAtOnce})
		if err != nil {
			return err
		}
		for _, client := range list {
			l := store.CampaignLetter{Org: org, Campaign: campaign, Client: client}
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case over:
				err = o.store.DropLetter(ctx, dbgen.DropLetterParams{OrgID: org.ID, CampaignID: campaign.ID, ClientID: client})
			default:
				err = o.campaignLetter(ctx, l, peer, found)
			}
			if err != nil {
				failed++
				o.host.Log.Warn("a letter of a campaign could not be sent", "organization", org.ID, "campaign", campaign.ID, "error", err)
			}
			after = client
		}
		if len(list) < lettersAtOnce {
			break
		}
	}
	if failed > 0 {
		return fmt.Errorf("sending a campaign: %d letters could not be sent", failed)
	}
	return o.store.CampaignDone(ctx, dbgen.CampaignDoneParams{Now: o.host.Now(), OrgID: org.ID, ID: campaign.ID})
}

// campaignLetter sends one letter: by message where that is how the organization reaches
// its clients, and this one has a phone, else by mail.
func (o *Office) campaignLetter(ctx context.Context, l store.CampaignLetter, peer uuid.UUID, messaged bool) error {
	if messaged {
		c, err := o.store.ClientByID(ctx, l.Org.ID, l.Client)
		if err == nil && c.PhoneE164 != nil {
			return o.campaignMessage(ctx, l, peer)
		}
	}
	return o.campaignMail(ctx, l)
}

func (o *Office) campaignMail(ctx context.Context, l store.CampaignLetter) error {
	return o.store.SendLetter(ctx, l, func(tx *store.Tx, c dbgen.Client) (bool, error) {
		f := o.invitation(l, c)
		return o.send(ctx, tx, l.Org, envelope{to: text(c.Email), about: c.ID, leave: f.Leave}, emails.Campaign, f)
	})
}

func (o *Office) invitation(l store.CampaignLetter, c dbgen.Client) emails.Facts {
	return emails.Facts{
		Business: l.Org.Name, Phone: text(l.Org.Phone), Client: c.Name, Message: l.Campaign.Message,
		Link: o.host.URLs.Public + "/book/" + url.PathEscape(l.Org.Slug), Leave: o.desk.LeaveURL(l.Org, c.ID),
	}
}

// campaignMessage sends a letter through the messaging product. One that it refuses goes
// by mail; where there is no address for that, the client is in no campaign.
func (o *Office) campaignMessage(ctx context.Context, l store.CampaignLetter, peer uuid.UUID) error {
	c, claimed, err := o.store.ClaimedLetter(ctx, l)
	if err != nil || !claimed {
		return err
	}
	came := store.Outcome{}
	words, err := emails.Write(emails.CampaignMessage, l.Org.Locale, o.invitation(l, c))
	if err == nil {
		came, err = o.hand(ctx, peer, booking.Digits(text(c.PhoneE164)), words.Text)
	}
	if refused(err) {
		o.host.Log.Warn("the messaging product refuses a letter of a campaign", "organization", l.Org.ID, "campaign", l.Campaign.ID, "error", err)
		if err = o.campaignMail(ctx, l); err == nil {
			return nil
		}
		came.Again = time.Minute
	}
	settled := o.store.LetterCame(context.WithoutCancel(ctx), l, came)
	if err != nil && came.Again == 0 { // never known
		o.host.Log.Warn("a letter of a campaign may not have been sent", "organization", l.Org.ID, "campaign", l.Campaign.ID, "error", err)
		err = nil
	}
	return errors.Join(err, settled)
}

// hand hands a text over to the messaging product.
func (o *Office) hand(ctx context.Context, peer uuid.UUID, number, words string) (store.Outcome, error) {
	body, err := json.Marshal(map[string]string{"number": number, "body": words})
	if err != nil {
		return store.Outcome{}, err
	}
	if _, err = o.host.Peers.Call(ctx, peer, hub.Call{Name: sendMessage, Body: body}); err != nil {
		return store.Outcome{Again: surelyNotSent(err)}, err
	}
	return store.Outcome{Sent: true}, nil
}
