package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/module"
	"integrationhub/messaging/internal/store/dbgen"
)

// How long the result of a connected product's search counts.
const (
	linkedTime   = 90 * 24 * time.Hour // its search finds the number
	unlinkedTime = 24 * time.Hour      // it does not, and has published nothing about the number since
)

// heldTime is how long events wait for a search's result: the 15 days after which the hub
// abandons an integration that is not in use.
const heldTime = 15 * 24 * time.Hour

// ContactLink is a row of messaging.contact_links: whether a connected product knows a contact.
type ContactLink = dbgen.ContactLink

// publishToLinked publishes an event of a contact to the connected products whose search finds
// the contact's number. Where that is not known yet, the event waits for a search, which
// searchPriority orders: [hub.PriorityBulk] for what no person waits for.
func publishToLinked[D events.Data](ctx context.Context, t *Tx, scope Scope, contact int64, searchPriority hub.Priority, data D) error {
	subscribers, err := t.subscribedProducts(ctx, scope, data.EventType())
	if err != nil {
		return err
	}
	if len(subscribers) == 0 {
		return publishToProducts(ctx, t, scope, data)
	}
	return t.publishToLinkedAmong(ctx, scope, subscribers, contact, searchPriority, data)
}

// subscribedProducts returns the integrations that receive events of a type.
func (t *Tx) subscribedProducts(ctx context.Context, scope Scope, eventType string) ([]uuid.UUID, error) {
	probe := hub.Event{TenantID: scope.Tenant, Environment: environment, Type: eventType}
	subscribers, err := t.Host.Events.Subscribers(ctx, t.Raw, connectedProducts(), probe)
	if err != nil {
		return nil, fmt.Errorf("finding the receivers of %s: %w", eventType, err)
	}
	return subscribers, nil
}

// publishToLinkedAmong is [publishToLinked] for the integrations that receive the event.
func (t *Tx) publishToLinkedAmong(ctx context.Context, scope Scope, subscribers []uuid.UUID, contact int64, searchPriority hub.Priority, data events.Data) error {
	links, err := t.contactLinks(ctx, scope.Company, contact, subscribers)
	if err != nil {
		return err
	}
	linked := []uuid.UUID{}
	for _, link := range links {
		switch isLinked, isKnown := knownLink(link, t.Now()); {
		case isKnown && isLinked:
			linked = append(linked, link.IntegrationID)
		case !isKnown:
			if err := t.holdEvent(ctx, link, searchPriority, data); err != nil {
				return err
			}
		}
	}
	if len(linked) == 0 {
		return nil
	}
	return t.publishToIntegrations(ctx, linked, hub.Event{TenantID: scope.Tenant, Environment: environment, Type: data.EventType(), Priority: t.Priority, OrderingKey: data.OrderingKey()}, data)
}

// publishToIntegrations publishes an event to some integrations.
func (t *Tx) publishToIntegrations(ctx context.Context, integrations []uuid.UUID, event hub.Event, data any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", event.Type, err)
	}
	event.Data = raw
	_, err = t.Host.Events.PublishTo(ctx, t.Raw, module.Audience{Receivers: module.IntegrationsOnly, Integrations: integrations}, []hub.Event{event})
	return err
}

// contactLinks returns the links of a contact with integrations, locked. Missing ones are
// added.
func (t *Tx) contactLinks(ctx context.Context, company, contact int64, integrations []uuid.UUID) ([]ContactLink, error) {
	links, err := t.LockContactLinks(ctx, company, contact, integrations)
	if err == nil && len(links) < len(integrations) {
		if err = t.AddContactLinks(ctx, company, contact, integrations); err == nil {
			links, err = t.LockContactLinks(ctx, company, contact, integrations)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("loading a contact's links: %w", err)
	}
	return links, nil
}

// knownLink returns what is known of a link at a time.
func knownLink(link ContactLink, at time.Time) (isLinked, isKnown bool) {
	if link.IsLinked == nil || link.CheckedAt == nil {
		return false, false
	}
	valid := unlinkedTime
	if *link.IsLinked {
		valid = linkedTime
	}
	return *link.IsLinked, at.Sub(*link.CheckedAt) < valid
}

func (t *Tx) holdEvent(ctx context.Context, link ContactLink, searchPriority hub.Priority, data events.Data) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", data.EventType(), err)
	}
	err = t.HoldEvent(ctx, dbgen.HoldEventParams{
		CompanyID: link.CompanyID, ContactID: link.ContactID, IntegrationID: link.IntegrationID, EventType: data.EventType(), Data: raw, OccurredAt: t.Now(),
	})
	if err == nil {
		err = t.RequestContactLink(ctx, dbgen.RequestContactLinkParams{At: t.Now(), IsBulk: searchPriority == hub.PriorityBulk, CompanyID: link.CompanyID, ContactID: link.ContactID, IntegrationID: link.IntegrationID})
	}
	if err != nil {
		return fmt.Errorf("holding %s: %w", data.EventType(), err)
	}
	return nil
}

// SettleLink stores whether a connected product knows a contact, and publishes what waited for
// that or drops it.
func (t *Tx) SettleLink(ctx context.Context, scope Scope, contact int64, integration uuid.UUID, isLinked bool) error {
	links, err := t.LockContactLinks(ctx, scope.Company, contact, []uuid.UUID{integration})
	if err != nil || len(links) == 0 { // the contact was erased
		return err
	}
	held, err := t.TakeHeldEvents(ctx, scope.Company, contact, integration)
	if err != nil {
		return fmt.Errorf("loading events that wait: %w", err)
	}
	if isLinked && len(held) > 0 {
		priority := t.Priority
		if links[0].IsBulk {
			priority = hub.PriorityBulk
		}
		batch := make([]hub.Event, len(held))
		for i, row := range held {
			var reference struct { // a message or a ticket
				TicketID string `json:"ticket_id"`
			}
			if err := json.Unmarshal(row.Data, &reference); err != nil {
				return fmt.Errorf("decoding an event that waited: %w", err)
			}
			batch[i] = hub.Event{TenantID: scope.Tenant, Environment: environment, Type: row.EventType, Data: row.Data, Time: row.OccurredAt, Priority: priority, OrderingKey: reference.TicketID}
		}
		if _, err := t.Host.Events.PublishTo(ctx, t.Raw, module.Audience{Receivers: module.IntegrationsOnly, Integrations: []uuid.UUID{integration}}, batch); err != nil {
			return fmt.Errorf("publishing events that waited: %w", err)
		}
	}
	return t.SettleContactLink(ctx, dbgen.SettleContactLinkParams{IsLinked: isLinked, At: t.Now(), CompanyID: scope.Company, ContactID: contact, IntegrationID: integration})
}

// DeleteOldHeld is a background job: it drops events that have waited for too long.
func (s *Store) DeleteOldHeld(ctx context.Context, _ []byte) error {
	before := s.host.Now().Add(-heldTime)
	if err := s.DeleteOldHeldEvents(ctx, before); err != nil {
		return fmt.Errorf("dropping old events: %w", err)
	}
	return s.CancelOldLinkRequests(ctx, before)
}
