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
func (s *Store) CountCampaignRecipients(ctx context.Context, n NewCampaign) (int, error) {
	now := s.host.Now()
	since, _ := quietPeriod(n.Org, now)
	return s.CountReachable(ctx, dbgen.CountReachableParams{OrgID: n.Org.ID, ByMessage: n.UseMessaging, Since: since, Now: now, Before: now.AddDate(0, 0, -n.InactiveDays)})
}

// StartCampaign notes whom a campaign goes to, and has it sent once that is committed.
// Whoever was written to within the period is left out: the database sees to it that
// two campaigns at once do not meet.
func (s *Store) StartCampaign(ctx context.Context, n NewCampaign) (c dbgen.Campaign, err error) {
	err = s.InTx(ctx, "starting a campaign", func(tx *Tx) error {
		id := NewID()
		err := tx.AddCampaign(ctx, dbgen.AddCampaignParams{OrgID: n.Org.ID, ID: id, Message: n.Message, Days: n.InactiveDays, CreatedBy: n.By, CreatedAt: tx.now})
		if err != nil {
			return err
		}
		since, until := quietPeriod(n.Org, tx.now)
		recipients, err := tx.AddCampaignLetters(ctx, dbgen.AddCampaignLettersParams{
			OrgID: n.Org.ID, CampaignID: id, ByMessage: n.UseMessaging, Since: since, Until: until, Now: tx.now, Before: tx.now.AddDate(0, 0, -n.InactiveDays),
		})
		if err != nil {
			return err
		}
		if err := tx.CountRecipients(ctx, dbgen.CountRecipientsParams{Recipients: int(recipients), OrgID: n.Org.ID, ID: id}); err != nil {
			return err
		}
		if err := tx.enqueueCampaign(ctx, n.Org.ID, id); err != nil {
			return err
		}
		c, err = tx.Campaign(ctx, n.Org.ID, id)
		return err
	})
	return c, err
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
func (t *Tx) lockCampaignMessage(ctx context.Context, l CampaignLetter) (c dbgen.Client, row dbgen.CampaignLetter, ok bool, err error) {
	row, err = t.LockLetter(ctx, dbgen.LockLetterParams{OrgID: l.Org.ID, CampaignID: l.Campaign.ID, ClientID: l.Client})
	if errors.Is(err, pgx.ErrNoRows) {
		return c, row, false, nil
	}
	if err != nil {
		return c, row, false, err
	}
	ok, err = t.StillInactive(ctx, dbgen.StillInactiveParams{OrgID: l.Org.ID, ID: l.Client, Now: t.now, Before: t.now.AddDate(0, 0, -l.Campaign.Days)})
	if err != nil || !ok {
		return c, row, false, errors.Join(err, t.dropCampaignMessage(ctx, l))
	}
	c, err = t.ClientByID(ctx, l.Org.ID, l.Client)
	return c, row, err == nil, err
}

func (t *Tx) dropCampaignMessage(ctx context.Context, l CampaignLetter) error {
	return t.DropLetter(ctx, dbgen.DropLetterParams{OrgID: l.Org.ID, CampaignID: l.Campaign.ID, ClientID: l.Client})
}

func (t *Tx) markCampaignMessageSent(ctx context.Context, l CampaignLetter) error {
	_, until := quietPeriod(l.Org, t.now)
	return t.LetterSent(ctx, dbgen.LetterSentParams{Now: &t.now, Until: until, OrgID: l.Org.ID, CampaignID: l.Campaign.ID, ClientID: l.Client})
}

// SendCampaignMessage sends a letter of a campaign with the transaction, as [Store.SendReminder] does.
func (s *Store) SendCampaignMessage(ctx context.Context, l CampaignLetter, send func(tx *Tx, c dbgen.Client) (bool, error)) error {
	return s.InTx(ctx, "sending a letter of a campaign", func(tx *Tx) error {
		c, _, ok, err := tx.lockCampaignMessage(ctx, l)
		if err != nil || !ok {
			return err
		}
		sent, err := send(tx, c)
		switch {
		case err != nil:
			return err
		case !sent:
			return tx.dropCampaignMessage(ctx, l)
		}
		return tx.markCampaignMessageSent(ctx, l)
	})
}

// ClaimCampaignMessage takes a letter that goes through another product, outside of every
// transaction; [Store.SettleCampaignMessage] says what came of it. One that was claimed before may
// have arrived: it counts as sent.
func (s *Store) ClaimCampaignMessage(ctx context.Context, l CampaignLetter) (c dbgen.Client, claimed bool, err error) {
	err = s.InTx(ctx, "claiming a letter of a campaign", func(tx *Tx) error {
		var row dbgen.CampaignLetter
		if c, row, claimed, err = tx.lockCampaignMessage(ctx, l); err != nil || !claimed {
			return err
		}
		if row.ClaimedAt != nil {
			claimed = false
			return tx.markCampaignMessageSent(ctx, l)
		}
		return tx.ClaimLetter(ctx, dbgen.ClaimLetterParams{ClaimedAt: &tx.now, OrgID: l.Org.ID, CampaignID: l.Campaign.ID, ClientID: l.Client})
	})
	return c, claimed && err == nil, err
}

// SettleCampaignMessage notes what came of a claimed letter: one that surely was not sent waits
// again, any other is never sent again.
func (s *Store) SettleCampaignMessage(ctx context.Context, l CampaignLetter, came Outcome) error {
	return s.InTx(ctx, "settling a letter of a campaign", func(tx *Tx) error {
		if !came.Sent && came.RetryAfter > 0 {
			return tx.ClaimLetter(ctx, dbgen.ClaimLetterParams{OrgID: l.Org.ID, CampaignID: l.Campaign.ID, ClientID: l.Client})
		}
		return tx.markCampaignMessageSent(ctx, l)
	})
}

// recordConsent notes that somebody who booked agreed to be written to. That is theirs to say
// where the client is new, or has the address they typed: others may know a phone.
func (t *Tx) recordConsent(ctx context.Context, client dbgen.Client, c Contact) error {
	made := client.CreatedAt.Equal(t.now)
	mine := client.Email != nil && (booking.Person{Email: c.Email}).Agrees(booking.Person{Email: *client.Email})
	if !made && !mine {
		return nil
	}
	source := "client"
	return t.Consent(ctx, dbgen.ConsentParams{OrgID: client.OrgID, ID: client.ID, Now: t.now, Source: &source})
}
