// Package campaigns sends messages to many contacts, each of them once. A job writes the next
// messages of the campaigns that are due, in one transaction with what they are due for
// next, and sends them through the outbox. A process that dies loses and repeats nothing.
package campaigns

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"integrationhub/hub/module"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/outbound"
	"integrationhub/messaging/internal/store"
)

const (
	batchSize        = 50               // messages of a campaign without an interval that one transaction writes
	leaseTime        = 30 * time.Second // of a batch's messages: longer than batchTime and a driver's call
	connectionPause  = 10 * time.Second // until a connection is looked at again that is not connected
	settlePause      = time.Second      // until a campaign is looked at again that waits for its last messages
	confirmationTime = 24 * time.Hour   // in which a contact has to answer
)

// Service sends campaigns.
type Service struct {
	host     module.Host
	store    *store.Store
	outbound *outbound.Service
}

// New returns the service of an opened product.
func New(host module.Host, s *store.Store, outboundService *outbound.Service) *Service {
	return &Service{host, s, outboundService}
}

// batch is the writing of a campaign's next messages in one transaction. The transaction
// has locked the campaign.
type batch struct {
	tx       *store.Tx
	campaign store.CampaignView

	scope      store.Scope
	zone       *time.Location
	connection store.Connection
	entries    []store.OutboxEntry
}

// write writes the next messages, if the campaign may send now, and stores when it is due
// again.
func (b *batch) write(ctx context.Context) error {
	company, err := b.tx.Company(ctx, b.campaign.CompanyID)
	if err != nil {
		return fmt.Errorf("loading the company: %w", err)
	}
	b.scope, b.zone = store.Scope{Company: company.ID, Tenant: company.TenantID}, chat.LoadZone(company.Timezone)
	if b.campaign.ConnectionID == nil { // it was deleted; the campaign continues once it is started with another one
		return b.tx.StopCampaign(ctx, b.campaign.Campaign, store.CampaignCancelled)
	}
	if b.connection, err = b.tx.Connection(ctx, company.ID, *b.campaign.ConnectionID); err != nil {
		return fmt.Errorf("loading the campaign's connection: %w", err)
	}
	now := b.tx.Now()
	later, err := b.earliestSend()
	if err == nil && !later.After(now) {
		later, err = b.tx.CampaignWaitUntil(ctx, b.connection, batchSize)
	}
	if err != nil {
		return err
	}
	if later.After(now) {
		return b.saveLater(ctx, later)
	}
	allowed, tomorrow, err := b.allowance(ctx)
	if err != nil {
		return err
	}
	if allowed == 0 {
		return b.saveLater(ctx, tomorrow)
	}
	return b.writeShipments(ctx, allowed)
}

// saveLater stores that the campaign is due later: in a second at least, so that it does not come
// again at once, whatever was computed.
func (b *batch) saveLater(ctx context.Context, later time.Time) error {
	if soonest := b.tx.Now().Add(time.Second); later.Before(soonest) {
		later = soonest
	}
	return b.tx.SaveProgress(ctx, b.campaign.Progress, &later)
}

// earliestSend returns when the campaign may send: now, or later if its connection is not
// connected or its window is closed.
func (b *batch) earliestSend() (time.Time, error) {
	now := b.tx.Now()
	if b.connection.Status != chat.ConnectionConnected {
		return now.Add(connectionPause), nil
	}
	if b.campaign.SendWindow == nil {
		return now, nil
	}
	var window chat.SendWindow
	if err := json.Unmarshal(b.campaign.SendWindow, &window); err != nil {
		return now, fmt.Errorf("decoding a campaign's window: %w", err)
	}
	return window.Next(now.In(b.zone)), nil
}

// allowance returns how many messages the campaign may write now, and when the next day of
// the connection's limit begins.
func (b *batch) allowance(ctx context.Context) (allowed int, tomorrow time.Time, err error) {
	allowed = batchSize
	if b.interval() > 0 {
		allowed = 1
	}
	local := b.tx.Now().In(b.zone)
	sent, err := b.tx.LockCampaignUsage(ctx, b.scope.Company, b.connection.ID, local.Format(time.DateOnly))
	if err != nil {
		return 0, tomorrow, fmt.Errorf("reading the connection's usage: %w", err)
	}
	if b.connection.DailyLimit == 0 {
		return allowed, tomorrow, nil
	}
	tomorrow = chat.ClockOn(time.Date(local.Year(), local.Month(), local.Day()+1, 12, 0, 0, 0, b.zone), 0, 0)
	return max(0, min(allowed, b.connection.DailyLimit-sent)), tomorrow, nil
}

// interval returns the time from the next message to the one after it.
func (b *batch) interval() time.Duration {
	seconds := b.campaign.MessageInterval
	if after := b.campaign.LongerIntervalAfter; after > 0 && b.campaign.Progress.Dispatched+1 >= after {
		seconds = b.campaign.GreaterInterval
	}
	return max(time.Duration(seconds)*time.Second, time.Duration(b.connection.SendIntervalMS)*time.Millisecond)
}
