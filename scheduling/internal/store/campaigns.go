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

// Campaign is a row of scheduling.campaigns.
type Campaign = dbgen.Campaign

// CampaignProgress is a campaign with the number of messages sent.
type CampaignProgress = dbgen.ListCampaignsRow

// CampaignPage loads a page of an organization's campaigns, the newest first, and their
// total number.
func (d DB) CampaignPage(ctx context.Context, org uuid.UUID, page Page) (campaigns []CampaignProgress, total int, err error) {
	campaigns, err = d.ListCampaigns(ctx, dbgen.ListCampaignsParams{OrgID: org, RowLimit: page.Limit, RowOffset: page.Offset})
	if err != nil {
		return nil, 0, err
	}
	total, err = d.CountCampaigns(ctx, org)
	return campaigns, total, err
}

// NewCampaign is a message to consenting clients who have not come for a while.
type NewCampaign struct {
	Org          Org
	Message      string // "" = the standard text
	InactiveDays int    // since the last visit
	By           *uuid.UUID
	UseMessaging bool // clients with a phone get it through the messaging product
}

// quietPeriod returns the period in which a client gets one message: a message after
// since excludes the client, and a message sent now excludes the client until until.
func quietPeriod(org Org, now time.Time) (since, until time.Time) {
	days := org.Settings.RemarketingPeriodDays
	return now.AddDate(0, 0, -days), now.AddDate(0, 0, days)
}

// CountCampaignRecipients counts the clients a campaign would reach.
func (s *Store) CountCampaignRecipients(ctx context.Context, request NewCampaign) (int, error) {
	now := s.host.Now()
	since, _ := quietPeriod(request.Org, now)
	return s.CountReachableClients(ctx, dbgen.CountReachableClientsParams{OrgID: request.Org.ID, ByMessage: request.UseMessaging, Since: since, Now: now, Before: now.AddDate(0, 0, -request.InactiveDays)})
}

// StartCampaign stores a campaign with its recipients and enqueues sending it. Clients
// who received a message within the period are left out; a database constraint holds
// that for concurrent campaigns too.
func (s *Store) StartCampaign(ctx context.Context, request NewCampaign) (campaign Campaign, err error) {
	err = s.InTx(ctx, "starting a campaign", func(tx *Tx) error {
		id := NewID()
		err := tx.CreateCampaign(ctx, dbgen.CreateCampaignParams{OrgID: request.Org.ID, ID: id, Message: request.Message, Days: request.InactiveDays, CreatedBy: request.By, CreatedAt: tx.now})
		if err != nil {
			return err
		}
		since, until := quietPeriod(request.Org, tx.now)
		recipients, err := tx.InsertCampaignMessages(ctx, dbgen.InsertCampaignMessagesParams{
			OrgID: request.Org.ID, CampaignID: id, ByMessage: request.UseMessaging, Since: since, Until: until, Now: tx.now, Before: tx.now.AddDate(0, 0, -request.InactiveDays),
		})
		if err != nil {
			return err
		}
		if err := tx.SetCampaignRecipients(ctx, dbgen.SetCampaignRecipientsParams{Recipients: int(recipients), OrgID: request.Org.ID, ID: id}); err != nil {
			return err
		}
		if err := tx.enqueueCampaign(ctx, CampaignRun{Org: request.Org.ID, Campaign: id}, time.Time{}); err != nil {
			return err
		}
		campaign, err = tx.CampaignByID(ctx, request.Org.ID, id)
		return err
	})
	return campaign, err
}

// CampaignRun identifies a turn of a campaign to send. The turns go through the recipients by
// their ids; those whose message failed are left to the next pass.
type CampaignRun struct {
	Org      uuid.UUID `json:"org_id"`
	Campaign uuid.UUID `json:"campaign_id"`
	After    uuid.UUID `json:"after,omitzero"`     // the client that the turn before ended with
	Silent   bool      `json:"silent,omitzero"`    // no more texts in this pass
	NextPass time.Time `json:"next_pass,omitzero"` // when the messaging product takes texts again; zero: it did not say
}

// ContinueCampaign enqueues a turn of a campaign, behind the campaigns that wait. at is when it is
// due; zero: now.
func (s *Store) ContinueCampaign(ctx context.Context, run CampaignRun, at time.Time) error {
	return s.InTx(ctx, "continuing a campaign", func(tx *Tx) error { return tx.enqueueCampaign(ctx, run, at) })
}

func (t *Tx) enqueueCampaign(ctx context.Context, run CampaignRun, at time.Time) error {
	payload, err := json.Marshal(run)
	if err != nil {
		return err
	}
	return t.Host.Jobs.Enqueue(ctx, t.Raw, module.JobRun{Job: JobCampaigns, Key: run.Campaign.String(), Payload: payload, At: at})
}

// CampaignMessage is the message of a campaign to one client.
type CampaignMessage struct {
	Org      Org
	Campaign Campaign
	Client   uuid.UUID
}

// prepareCampaignMessage locks a message and loads its client. It drops the message and
// returns ok false where it must not be sent: it was sent, consent was withdrawn, or
// the client came or booked.
func (t *Tx) prepareCampaignMessage(ctx context.Context, message CampaignMessage) (client Client, row dbgen.CampaignRecipient, ok bool, err error) {
	row, err = t.LockCampaignMessage(ctx, dbgen.LockCampaignMessageParams{OrgID: message.Org.ID, CampaignID: message.Campaign.ID, ClientID: message.Client})
	if errors.Is(err, pgx.ErrNoRows) {
		return client, row, false, nil
	}
	if err != nil {
		return client, row, false, err
	}
	ok, err = t.IsStillReachable(ctx, dbgen.IsStillReachableParams{OrgID: message.Org.ID, ID: message.Client, Now: t.now, Before: t.now.AddDate(0, 0, -message.Campaign.Days)})
	if err != nil || !ok {
		return client, row, false, errors.Join(err, t.dropCampaignMessage(ctx, message))
	}
	client, err = t.ClientByID(ctx, message.Org.ID, message.Client)
	return client, row, err == nil, err
}

func (t *Tx) dropCampaignMessage(ctx context.Context, message CampaignMessage) error {
	return t.DeleteCampaignMessage(ctx, dbgen.DeleteCampaignMessageParams{OrgID: message.Org.ID, CampaignID: message.Campaign.ID, ClientID: message.Client})
}

func (t *Tx) markCampaignMessageSent(ctx context.Context, message CampaignMessage) error {
	_, until := quietPeriod(message.Org, t.now)
	return t.SetCampaignMessageSentAt(ctx, dbgen.SetCampaignMessageSentAtParams{Now: &t.now, Until: until, OrgID: message.Org.ID, CampaignID: message.Campaign.ID, ClientID: message.Client})
}

// SendCampaignMessage sends a message as part of the transaction, like
// [Store.SendReminder].
func (s *Store) SendCampaignMessage(ctx context.Context, message CampaignMessage, send func(tx *Tx, client Client) (bool, error)) error {
	return s.InTx(ctx, "sending a campaign message", func(tx *Tx) error {
		client, _, ok, err := tx.prepareCampaignMessage(ctx, message)
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

// ClaimCampaignMessage reserves a message that another product sends outside of any
// transaction; [Store.SettleCampaignMessage] records the outcome. A message that was
// claimed before may have arrived and counts as sent.
func (s *Store) ClaimCampaignMessage(ctx context.Context, message CampaignMessage) (client Client, claimed bool, err error) {
	err = s.InTx(ctx, "claiming a campaign message", func(tx *Tx) error {
		var row dbgen.CampaignRecipient
		if client, row, claimed, err = tx.prepareCampaignMessage(ctx, message); err != nil || !claimed {
			return err
		}
		if row.ClaimedAt != nil {
			claimed = false
			return tx.markCampaignMessageSent(ctx, message)
		}
		return tx.SetCampaignMessageClaim(ctx, dbgen.SetCampaignMessageClaimParams{ClaimedAt: &tx.now, OrgID: message.Org.ID, CampaignID: message.Campaign.ID, ClientID: message.Client})
	})
	return client, claimed && err == nil, err
}

// SettleCampaignMessage records the outcome of a claimed message. A message that was
// certainly not sent is retried; any other is never sent again.
func (s *Store) SettleCampaignMessage(ctx context.Context, message CampaignMessage, outcome Outcome) error {
	return s.InTx(ctx, "settling a campaign message", func(tx *Tx) error {
		if !outcome.Sent && outcome.RetryAfter > 0 {
			return tx.SetCampaignMessageClaim(ctx, dbgen.SetCampaignMessageClaimParams{OrgID: message.Org.ID, CampaignID: message.Campaign.ID, ClientID: message.Client})
		}
		return tx.markCampaignMessageSent(ctx, message)
	})
}

// recordConsent records consent to marketing given when booking. It applies only to a
// new client or one with the typed address, because others may know a phone number.
func (t *Tx) recordConsent(ctx context.Context, client Client, contact Contact) error {
	created := client.CreatedAt.Equal(t.now)
	isOwnAddress := client.Email != nil && (booking.Person{Email: contact.Email}).Agrees(booking.Person{Email: *client.Email})
	if !created && !isOwnAddress {
		return nil
	}
	source := "client"
	return t.SetMarketingConsent(ctx, dbgen.SetMarketingConsentParams{OrgID: client.OrgID, ID: client.ID, Now: t.now, Source: &source})
}
