package campaigns

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/outbound"
	"integrationhub/messaging/internal/store"
	"integrationhub/messaging/internal/store/dbgen"
)

// errEmptyParameter is the error for a contact without the value of a template's variable.
var errEmptyParameter = errors.New("a parameter of the template is empty or too long")

// writeShipments writes up to so many messages, or ends the campaign where none is left.
func (b *batch) writeShipments(ctx context.Context, allowed int) error {
	interval, now := b.interval(), b.tx.Now()
	shipments, err := b.tx.NextShipments(ctx, b.scope.Company, b.campaign.ID, allowed+1)
	if err != nil {
		return fmt.Errorf("loading a campaign's contacts: %w", err)
	}
	if len(shipments) == 0 {
		return b.finish(ctx)
	}
	isLast := len(shipments) <= allowed
	shipments = shipments[:min(len(shipments), allowed)]
	contacts, err := b.contactsOf(ctx, shipments)
	if err != nil {
		return err
	}
	earlier := b.campaign.Progress.Dispatched
	for _, shipment := range shipments {
		if err := b.writeShipment(ctx, shipment, contacts[shipment.ContactID]); err != nil {
			return err
		}
	}
	written := b.campaign.Progress.Dispatched - earlier
	next := now
	if written > 0 {
		if isLast && !b.campaign.Confirmation { // nothing can follow: the campaign ends once this is settled
			interval = min(interval, settlePause)
		}
		next = now.Add(interval)
		day := now.In(b.zone).Format("2006-01-02")
		err := b.tx.AddCampaignUsage(ctx, dbgen.AddCampaignUsageParams{Sent: written, CompanyID: b.scope.Company, ConnectionID: b.connection.ID, Day: day})
		if err != nil {
			return fmt.Errorf("counting the connection's usage: %w", err)
		}
	}
	return b.tx.SaveProgress(ctx, b.campaign.Progress, &next)
}

// contactsOf returns the contacts of shipments by their ids.
func (b *batch) contactsOf(ctx context.Context, shipments []store.Shipment) (map[int64]store.Contact, error) {
	rows, err := b.tx.ContactsByID(ctx, b.scope.Company, rest.Map(shipments, func(s store.Shipment) int64 { return s.ContactID }))
	if err != nil {
		return nil, fmt.Errorf("loading contacts: %w", err)
	}
	contacts := make(map[int64]store.Contact, len(rows))
	for _, contact := range rows {
		contacts[contact.ID] = contact
	}
	return contacts, nil
}

// writeShipment writes the message to a contact, or the question whether the contact wants
// it. Contacts that want no messages are skipped.
func (b *batch) writeShipment(ctx context.Context, shipment store.Shipment, contact store.Contact) error {
	skip := func(code string) error {
		shipment.Status, shipment.Error = store.ShipmentSkipped, &code
		return b.tx.SaveShipment(ctx, shipment)
	}
	switch {
	case contact.AnonymizedAt != nil:
		return skip(store.CodeAnonymized)
	case contact.Number == "":
		return skip(store.CodeNoNumber)
	case contact.Consent == chat.ConsentOptedOut:
		return skip(store.CodeOptedOut)
	}
	asks := b.campaign.Confirmation && shipment.Status == store.ShipmentPending
	texts := b.campaign.Messages
	if asks {
		texts = b.campaign.ConfirmationMessages
	}
	message, err := b.messageOf(ctx, shipment, contact, asks, b.nextText(texts))
	if errors.Is(err, errEmptyParameter) {
		return skip(outbound.CodeTemplateParameter)
	}
	if err != nil {
		return err
	}
	entry, err := b.tx.Enqueue(ctx, message, b.tx.Now().Add(leaseTime))
	if err != nil {
		return fmt.Errorf("adding a campaign's message to the outbox: %w", err)
	}
	b.entries = append(b.entries, entry)
	b.campaign.Progress.Dispatched++
	shipment.Number, shipment.Error = contact.Number, nil
	if asks {
		shipment.Status, shipment.ConfirmationID = store.ShipmentConfirming, &message.ID
	} else {
		shipment.Status, shipment.MessageID, shipment.Message = store.ShipmentQueued, &message.ID, message.Body
	}
	return b.tx.SaveShipment(ctx, shipment)
}

// messageOf returns the stored message of a shipment: the earlier one where it was taken back
// from the outbox, unless it was deleted meanwhile, else a new one. Questions have no file.
func (b *batch) messageOf(ctx context.Context, shipment store.Shipment, contact store.Contact, asks bool, text string) (store.Message, error) {
	earlier := shipment.MessageID
	if asks {
		earlier = shipment.ConfirmationID
	}
	if earlier != nil {
		message, err := b.tx.RequeueMessage(ctx, dbgen.RequeueMessageParams{ConnectionID: b.connection.ID, At: b.tx.Now(), CompanyID: b.scope.Company, ID: *earlier})
		if err == nil || !errors.Is(err, pgx.ErrNoRows) {
			return message, err
		}
	}
	variables := chat.Variables{Name: contact.Name, Email: contact.Email, Number: contact.Number, At: b.tx.Now().In(b.zone)}
	draft := store.Message{ID: store.NewMessageID(), Body: chat.Render(text, variables), MediaType: chat.MediaText}
	if b.campaign.Template != nil && !asks {
		template, ok := b.campaign.Template.Render(variables)
		if !ok {
			return draft, errEmptyParameter
		}
		draft = store.WithTemplate(draft, template)
	}
	if b.campaign.MediaID != nil && !asks {
		file, err := b.tx.MediaFile(ctx, *b.campaign.MediaID)
		if err != nil {
			return draft, fmt.Errorf("loading the campaign's file: %w", err)
		}
		draft = store.WithMedia(draft, file)
	}
	return b.tx.AddCampaignMessage(ctx, contact, b.connection.ID, draft)
}

// nextText returns the text whose turn it is: they rotate.
func (b *batch) nextText(texts []string) string {
	var used []string
	for _, text := range texts {
		if text != "" {
			used = append(used, text)
		}
	}
	if len(used) == 0 {
		return ""
	}
	return used[b.campaign.Progress.Dispatched%len(used)]
}

// finish ends the campaign, unless some of its messages are in the outbox or wait for the
// contact's agreement.
func (b *batch) finish(ctx context.Context) error {
	now := b.tx.Now()
	err := b.tx.ExpireConfirmations(ctx, dbgen.ExpireConfirmationsParams{At: now, CompanyID: b.scope.Company, CampaignID: b.campaign.ID, Before: now.Add(-confirmationTime)})
	if err != nil {
		return fmt.Errorf("ending confirmations: %w", err)
	}
	progress, err := b.tx.LockCampaignProgress(ctx, b.scope.Company, b.campaign.ID)
	if err != nil {
		return fmt.Errorf("loading a campaign's progress: %w", err)
	}
	if progress.Pending == 0 {
		return b.tx.StopCampaign(ctx, b.campaign.Campaign, store.CampaignFinished)
	}
	later := now.Add(settlePause)
	return b.tx.SaveProgress(ctx, progress, &later)
}
