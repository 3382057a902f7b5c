package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store/dbgen"
)

type (
	// Campaign is a row of messaging.campaigns.
	Campaign = dbgen.Campaign
	// CampaignProgress is how far a campaign is, with its exact counters.
	CampaignProgress = dbgen.CampaignProgress
	// Shipment is a contact of a campaign.
	Shipment = dbgen.Shipment
	// NamedShipment is a shipment with the name of its contact.
	NamedShipment = dbgen.ShipmentsPageRow
	// ContactShipment is a shipment with the name of its campaign.
	ContactShipment = dbgen.ShipmentsOfContactRow
)

// CampaignView is a campaign with its progress.
type CampaignView struct {
	Campaign
	Progress  CampaignProgress
	MediaName *string // of its file; nil: none
}

// States of campaigns.
const (
	CampaignDraft     = "draft"
	CampaignScheduled = "scheduled"
	CampaignRunning   = "running"
	CampaignFinished  = "finished"
	CampaignCancelled = "cancelled"
)

// States of shipments.
const (
	ShipmentPending    = "pending"
	ShipmentConfirming = "confirming" // the contact was asked
	ShipmentConfirmed  = "confirmed"  // the contact agreed
	ShipmentQueued     = "queued"     // in the outbox
	ShipmentSent       = "sent"
	ShipmentDelivered  = "delivered"
	ShipmentRead       = "read"
	ShipmentFailed     = "failed"
	ShipmentSkipped    = "skipped"
)

// CampaignView returns a campaign, or [pgx.ErrNoRows].
func (s *Store) CampaignView(ctx context.Context, company, id int64) (CampaignView, error) {
	row, err := s.Campaign(ctx, company, id)
	return CampaignView{row.Campaign, row.CampaignProgress, row.MediaName}, err
}

// CampaignViews returns campaigns by their ids, in any order. Unknown ids are left out.
func (s *Store) CampaignViews(ctx context.Context, company int64, ids []int64) ([]CampaignView, error) {
	rows, err := s.CampaignsByID(ctx, company, ids)
	views := make([]CampaignView, len(rows))
	for i, row := range rows {
		views[i] = CampaignView{row.Campaign, row.CampaignProgress, row.MediaName}
	}
	return views, err
}

// ListCampaigns returns a page of a company's campaigns whose name contains a text, the newest
// first, and how many there are on all pages. An empty status selects every state.
func (s *Store) ListCampaigns(ctx context.Context, company int64, status, search string, page Page) ([]CampaignView, int, error) {
	count, err := s.CampaignCount(ctx, company, status, search)
	if err != nil {
		return nil, 0, fmt.Errorf("counting campaigns: %w", err)
	}
	rows, err := s.CampaignsPage(ctx, dbgen.CampaignsPageParams{CompanyID: company, Status: status, Search: search, Skip: page.Offset, MaxRows: page.Limit})
	views := make([]CampaignView, len(rows))
	for i, row := range rows {
		views[i] = CampaignView{row.Campaign, row.CampaignProgress, row.MediaName}
	}
	return views, int(count), err
}

// ListShipments returns a page of a campaign's contacts in the order of sending, and how many
// there are on all pages. Without statuses it returns those in every state.
func (s *Store) ListShipments(ctx context.Context, campaign CampaignView, statuses []string, page Page) ([]NamedShipment, int, error) {
	count := int64(campaign.Progress.Total)
	if len(statuses) > 0 {
		var err error
		if count, err = s.ShipmentCount(ctx, campaign.CompanyID, campaign.ID, statuses); err != nil {
			return nil, 0, fmt.Errorf("counting a campaign's contacts: %w", err)
		}
	}
	rows, err := s.ShipmentsPage(ctx, dbgen.ShipmentsPageParams{
		CompanyID: campaign.CompanyID, CampaignID: campaign.ID, Statuses: append([]string{}, statuses...), Skip: page.Offset, MaxRows: page.Limit,
	})
	return rows, int(count), err
}

// CreateCampaign inserts a campaign without contacts. It sets the id and the times.
func (t *Tx) CreateCampaign(ctx context.Context, c Campaign) (Campaign, error) {
	created, err := t.InsertCampaign(ctx, dbgen.InsertCampaignParams{
		CompanyID: c.CompanyID, Name: c.Name, Status: c.Status, Messages: c.Messages, Confirmation: c.Confirmation, ConfirmationMessages: c.ConfirmationMessages,
		MediaID: c.MediaID, ScheduledAt: c.ScheduledAt, ConnectionID: c.ConnectionID, ContactListID: c.ContactListID, TagIDs: c.TagIDs,
		MessageInterval: c.MessageInterval, LongerIntervalAfter: c.LongerIntervalAfter, GreaterInterval: c.GreaterInterval, SendWindow: c.SendWindow, Template: c.Template, CreatedAt: t.Now(),
	})
	if err != nil {
		return c, err
	}
	return created, t.InsertCampaignProgress(ctx, created.CompanyID, created.ID)
}

// SaveCampaign stores a campaign that the transaction has locked.
func (t *Tx) SaveCampaign(ctx context.Context, c Campaign) error {
	return t.UpdateCampaign(ctx, dbgen.UpdateCampaignParams{
		CompanyID: c.CompanyID, ID: c.ID, Name: c.Name, Status: c.Status, Messages: c.Messages, Confirmation: c.Confirmation, ConfirmationMessages: c.ConfirmationMessages,
		MediaID: c.MediaID, ScheduledAt: c.ScheduledAt, StartedAt: c.StartedAt, CompletedAt: c.CompletedAt, ConnectionID: c.ConnectionID,
		ContactListID: c.ContactListID, TagIDs: c.TagIDs, MessageInterval: c.MessageInterval, LongerIntervalAfter: c.LongerIntervalAfter,
		GreaterInterval: c.GreaterInterval, SendWindow: c.SendWindow, Template: c.Template, UpdatedAt: t.Now(),
	})
}

// SetCampaignContacts replaces the contacts of a campaign that never ran; the ids are
// different ones. found is false if one of them is not the company's; then the caller rolls
// back.
func (t *Tx) SetCampaignContacts(ctx context.Context, c Campaign, contacts []int64) (found bool, err error) {
	if err := t.DeleteShipments(ctx, c.CompanyID, c.ID); err != nil {
		return false, fmt.Errorf("removing a campaign's contacts: %w", err)
	}
	inserted, err := t.InsertShipments(ctx, dbgen.InsertShipmentsParams{CampaignID: c.ID, At: t.Now(), CompanyID: c.CompanyID, Contacts: contacts})
	return inserted == int64(len(contacts)), err
}

// StartCampaign makes a campaign that the transaction has locked run from now on. At its first
// start it gets the contacts of its list and tags.
func (t *Tx) StartCampaign(ctx context.Context, c Campaign) error {
	now := t.Now()
	if c.StartedAt == nil {
		if c.ContactListID != nil {
			err := t.InsertShipmentsOfList(ctx, dbgen.InsertShipmentsOfListParams{CampaignID: c.ID, At: now, CompanyID: c.CompanyID, ListID: *c.ContactListID})
			if err != nil {
				return fmt.Errorf("adding the contacts of a list: %w", err)
			}
		}
		if len(c.TagIDs) > 0 {
			err := t.InsertShipmentsOfTags(ctx, dbgen.InsertShipmentsOfTagsParams{CampaignID: c.ID, At: now, CompanyID: c.CompanyID, Tags: c.TagIDs})
			if err != nil {
				return fmt.Errorf("adding the contacts of tags: %w", err)
			}
		}
		c.StartedAt = &now
	}
	c.Status, c.CompletedAt = CampaignRunning, nil
	if err := t.SaveCampaign(ctx, c); err != nil {
		return fmt.Errorf("starting a campaign: %w", err)
	}
	progress, err := t.LockCampaignProgress(ctx, c.CompanyID, c.ID)
	if err != nil {
		return fmt.Errorf("loading a campaign's progress: %w", err)
	}
	return t.SaveProgress(ctx, progress, &now)
}

// StopCampaign stores a state in which a campaign does not run. The transaction has locked
// the campaign. Messages that wait in the outbox are removed from it and become pending shipments again.
func (t *Tx) StopCampaign(ctx context.Context, c Campaign, status string) error {
	now := t.Now()
	progress, err := t.LockCampaignProgress(ctx, c.CompanyID, c.ID)
	if err != nil {
		return fmt.Errorf("loading a campaign's progress: %w", err)
	}
	if err := t.SaveProgress(ctx, progress, nil); err != nil {
		return fmt.Errorf("stopping a campaign: %w", err)
	}
	if c.Status = status; status == CampaignFinished {
		c.CompletedAt = &now
	} else if err := t.DequeueShipments(ctx, dbgen.DequeueShipmentsParams{CompanyID: c.CompanyID, CampaignID: c.ID, Code: CodeCampaignCancelled, At: now}); err != nil {
		return fmt.Errorf("taking unsent messages back: %w", err)
	}
	return t.SaveCampaign(ctx, c)
}

// SaveProgress stores how many messages a campaign has written, and when the next is due.
func (t *Tx) SaveProgress(ctx context.Context, p CampaignProgress, next *time.Time) error {
	return t.SetCampaignProgress(ctx, dbgen.SetCampaignProgressParams{CompanyID: p.CompanyID, CampaignID: p.CampaignID, Dispatched: p.Dispatched, NextSendAt: next})
}

// ClaimCampaign locks a running campaign that is due. found is false if it is not any more, or
// another process holds it.
func (t *Tx) ClaimCampaign(ctx context.Context, company, id int64) (view CampaignView, found bool, err error) {
	view.Progress, err = t.LockDueCampaign(ctx, company, id, t.Now())
	if errors.Is(err, pgx.ErrNoRows) {
		return view, false, nil
	}
	if err != nil {
		return view, false, err
	}
	row, err := t.Campaign(ctx, view.Progress.CompanyID, view.Progress.CampaignID)
	view.Campaign = row.Campaign
	return view, err == nil, err
}

// SaveShipment stores a shipment that the transaction has locked.
func (t *Tx) SaveShipment(ctx context.Context, s Shipment) error {
	return t.UpdateShipment(ctx, dbgen.UpdateShipmentParams{
		CompanyID: s.CompanyID, CampaignID: s.CampaignID, ContactID: s.ContactID, Number: s.Number, Message: s.Message, Status: s.Status,
		ConfirmationID: s.ConfirmationID, MessageID: s.MessageID, Error: s.Error, UpdatedAt: t.Now(),
	})
}

// AddCampaignMessage stores a message to a contact without a ticket.
func (t *Tx) AddCampaignMessage(ctx context.Context, contact Contact, connection int64, m Message) (Message, error) {
	stored, err := t.InsertMessage(ctx, dbgen.InsertMessageParams{
		CompanyID: contact.CompanyID, ID: m.ID, ContactID: contact.ID, ConnectionID: &connection, Body: m.Body, FromMe: true, IsRead: true,
		MediaType: m.MediaType, MediaID: m.MediaID, MediaName: m.MediaName, MimeType: m.MimeType, Size: m.Size, Origin: chat.OriginCampaign, Template: m.Template,
		SentAt: t.Now(), CreatedAt: t.Now(),
	})
	if err != nil {
		return m, fmt.Errorf("storing a campaign's message: %w", err)
	}
	return stored, nil
}

// settleShipment stores how far the message of a campaign has come.
func (t *Tx) settleShipment(ctx context.Context, m Message, ack chat.Ack, errorCode *string) error {
	settled := dbgen.SettleShipmentParams{CompanyID: m.CompanyID, MessageID: m.ID, At: t.Now()}
	switch {
	case ack == chat.AckFailed:
		settled.Status, settled.Error = ShipmentFailed, errorCode
		if err := t.FailConfirmation(ctx, dbgen.FailConfirmationParams{CompanyID: m.CompanyID, ConfirmationID: m.ID, Error: errorCode, At: t.Now()}); err != nil {
			return fmt.Errorf("storing a failed confirmation: %w", err)
		}
	case ack == chat.AckServer:
		settled.Status = ShipmentSent
	case ack == chat.AckDevice:
		settled.Status = ShipmentDelivered
	case ack > chat.AckDevice:
		settled.Status = ShipmentRead
	default:
		return nil
	}
	return t.SettleShipment(ctx, settled)
}

// AttachCampaignMessages moves messages of campaigns that have no ticket to the contact's. It
// is called for each message of a contact. isAsked is true if a campaign waits for the contact's
// answer.
func (t *Tx) AttachCampaignMessages(ctx context.Context, ticket Ticket, connection int64) (isAsked bool, err error) {
	state, err := t.CampaignStateOfContact(ctx, ticket.CompanyID, ticket.ContactID)
	if err != nil || !state.HasMessages {
		return state.IsAsked, err
	}
	err = t.AttachMessages(ctx, dbgen.AttachMessagesParams{TicketID: ticket.ID, At: t.Now(), CompanyID: ticket.CompanyID, ContactID: ticket.ContactID, ConnectionID: connection})
	if err != nil {
		return state.IsAsked, fmt.Errorf("giving campaigns' messages a ticket: %w", err)
	}
	return state.IsAsked, nil
}

// CampaignQuestion is the question of a campaign whether a contact wants its message.
type CampaignQuestion = dbgen.CampaignQuestionsRow

// AnswerCampaign stores a contact's answer to the question of a campaign, which goes on with it.
func (t *Tx) AnswerCampaign(ctx context.Context, contact Contact, campaign int64, declines bool) error {
	answer := dbgen.AnswerConfirmationParams{Status: ShipmentConfirmed, At: t.Now(), CompanyID: contact.CompanyID, CampaignID: campaign, ContactID: contact.ID}
	if declines {
		code := "declined"
		answer.Status, answer.Error = ShipmentSkipped, &code
	}
	if err := t.AnswerConfirmation(ctx, answer); err != nil {
		return fmt.Errorf("storing the answer to a campaign: %w", err)
	}
	if err := t.MakeCampaignDue(ctx, t.Now(), contact.CompanyID, campaign); err != nil {
		return fmt.Errorf("waking a campaign: %w", err)
	}
	return nil
}
