package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store/dbgen"
)

// NewCampaign is a letter to clients who agreed to such and have not come for long.
type NewCampaign struct {
	Org          Org
	Message      string // "" = words of ours
	InactiveDays int    // for which they have not come
	By           *uuid.UUID
	UseMessaging bool // who has a phone is reached through the messaging product
}

// quietPeriod is when a letter falls into the period of another, and until when it is the
// client's only one.
func quietPeriod(org Org, now time.Time) (since, until time.Time) {
	days := org.Settings.RemarketingPeriodDays
	return now.AddDate(0, 0, -days), now.AddDate(0, 0, days)
}

// CountCampaignRecipients counts those to whom a campaign would go.
func (s *Store) CountCampaignRecipients(ctx context.Context, request NewCampaign) (int, error) {
	now := s.host.Now()
	since, _ := quietPeriod(request.Org, now)
	return s.CountReachable(ctx, dbgen.CountReachableParams{OrgID: request.Org.ID, ByMessage: request.UseMessaging, Since: since, Now: now, Before: now.AddDate(0, 0, -request.InactiveDays)})
}

// StartCampaign notes whom a campaign goes to, and has it sent once that is committed.
// Whoever was written to within the period is left out: the database sees to it that
// two campaigns at once do not meet.
func (s *Store) StartCampaign(ctx context.Context, request NewCampaign) (campaign dbgen.Campaign, err error) {
	err = s.InTx(ctx, "starting a campaign", func(tx *Tx) error {
		id := NewID()
		err := tx.AddCampaign(ctx, dbgen.AddCampaignParams{OrgID: request.Org.ID, ID: id, Message: request.Message, Days: request.InactiveDays, CreatedBy: request.By, CreatedAt: tx.now})
		if err != nil {
			return err
		}
		since, until := quietPeriod(request.Org, tx.now)
		recipients, err := tx.AddCampaignLetters(ctx, dbgen.AddCampaignLettersParams{
			OrgID: request.Org.ID, CampaignID: id, ByMessage: request.UseMessaging, Since: since, Until: until, Now: tx.now, Before: tx.now.AddDate(0, 0, -request.InactiveDays),
		})
		if err != nil {
			return err
		}
		if err := tx.CountRecipients(ctx, dbgen.CountRecipientsParams{Recipients: int(recipients), OrgID: request.Org.ID, ID: id}); err != nil {
			return err
		}
		if err := tx.enqueueCampaign(ctx, request.Org.ID, id); err != nil {
			return err
		}
		campaign, err = tx.Campaign(ctx, request.Org.ID, id)
		return err
	})
	return campaign, err
}

// Sending is a campaign that is under way.
type Sending struct {
	Org      uuid.UUID `json:"org_id"`
	Campaign uuid.UUID `json:"campaign_id"`
}

func (t *Tx) enqueueCampaign(ctx context.Context, org, campaign uuid.UUID) error {
	payload, err := json.Marshal(Sending{org, campaign})
	if err != nil {
		return err
	}
	return t.host.Jobs.Enqueue(ctx, t.Raw, module.JobRun{Job: JobCampaigns, Key: campaign.String(), Payload: payload})
}

// CampaignLetter is one letter of a campaign.
type CampaignLetter struct {
	Org      Org
	Campaign dbgen.Campaign
	Client   uuid.UUID
}

// lockCampaignMessage loads whom a letter goes to, while nobody else sends it. Where it is not to be
// sent any more it is dropped: it was sent, consent was withdrawn, or the client has
// come or is about to.
func (t *Tx) lockCampaignMessage(ctx context.Context, message CampaignLetter) (client dbgen.Client, row dbgen.CampaignLetter, ok bool, err error) {
	row, err = t.LockLetter(ctx, dbgen.LockLetterParams{OrgID: message.Org.ID, CampaignID: message.Campaign.ID, ClientID: message.Client})
	if errors.Is(err, pgx.ErrNoRows) {
		return client, row, false, nil
	}
	if err != nil {
		return client, row, false, err
	}
	ok, err = t.StillInactive(ctx, dbgen.StillInactiveParams{OrgID: message.Org.ID, ID: message.Client, Now: t.now, Before: t.now.AddDate(0, 0, -message.Campaign.Days)})
	if err != nil || !ok {
		return client, row, false, errors.Join(err, t.dropCampaignMessage(ctx, message))
	}
	client, err = t.ClientByID(ctx, message.Org.ID, message.Client)
	return client, row, err == nil, err
}

func (t *Tx) dropCampaignMessage(ctx context.Context, message CampaignLetter) error {
	return t.DropLetter(ctx, dbgen.DropLetterParams{OrgID: message.Org.ID, CampaignID: message.Campaign.ID, ClientID: message.Client})
}

func (t *Tx) markCampaignMessageSent(ctx context.Context, message CampaignLetter) error {
	_, until := quietPeriod(message.Org, t.now)
	return t.LetterSent(ctx, dbgen.LetterSentParams{Now: &t.now, Until: until, OrgID: message.Org.ID, CampaignID: message.Campaign.ID, ClientID: message.Client})
}

// SendCampaignMessage sends a letter of a campaign with the transaction, as [Store.SendReminder] does.
func (s *Store) SendCampaignMessage(ctx context.Context, message CampaignLetter, send func(tx *Tx, client dbgen.Client) (bool, error)) error {
	return s.InTx(ctx, "sending a letter of a campaign", func(tx *Tx) error {
		client, _, ok, err := tx.lockCampaignMessage(ctx, message)
		if err != nil || !ok {
			return err
		}
		sent, err := send(tx, client)
		switch {
		case err != nil:
			return err
		case !sent:
			return tx.dropCampaignMessage(ctx, message)
		}
		return tx.markCampaignMessageSent(ctx, message)
	})
}

// ClaimCampaignMessage takes a letter that goes through another product, outside of every
// transaction; [Store.SettleCampaignMessage] says what came of it. One that was claimed before may
// have arrived: it counts as sent.
func (s *Store) ClaimCampaignMessage(ctx context.Context, message CampaignLetter) (client dbgen.Client, claimed bool, err error) {
	err = s.InTx(ctx, "claiming a letter of a campaign", func(tx *Tx) error {
		var row dbgen.CampaignLetter
		if client, row, claimed, err = tx.lockCampaignMessage(ctx, message); err != nil || !claimed {
			return err
		}
		if row.ClaimedAt != nil {
			claimed = false
			return tx.markCampaignMessageSent(ctx, message)
		}
		return tx.ClaimLetter(ctx, dbgen.ClaimLetterParams{ClaimedAt: &tx.now, OrgID: message.Org.ID, CampaignID: message.Campaign.ID, ClientID: message.Client})
	})
	return client, claimed && err == nil, err
}

// SettleCampaignMessage notes what came of a claimed letter: one that surely was not sent waits
// again, any other is never sent again.
func (s *Store) SettleCampaignMessage(ctx context.Context, message CampaignLetter, outcome Outcome) error {
	return s.InTx(ctx, "settling a letter of a campaign", func(tx *Tx) error {
		if !outcome.Sent && outcome.RetryAfter > 0 {
			return tx.ClaimLetter(ctx, dbgen.ClaimLetterParams{OrgID: message.Org.ID, CampaignID: message.Campaign.ID, ClientID: message.Client})
		}
		return tx.markCampaignMessageSent(ctx, message)
	})
}

// recordConsent notes that somebody who booked agreed to be written to. That is theirs to say
// where the client is new, or has the address they typed: others may know a phone.
func (t *Tx) recordConsent(ctx context.Context, client dbgen.Client, contact Contact) error {
	created := client.CreatedAt.Equal(t.now)
	mine := client.Email != nil && (booking.Person{Email: contact.Email}).Agrees(booking.Person{Email: *client.Email})
	if !created && !mine {
		return nil
	}
	source := "client"
	return t.Consent(ctx, dbgen.ConsentParams{OrgID: client.OrgID, ID: client.ID, Now: t.now, Source: &source})
}
