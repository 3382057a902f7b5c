// Package contactlinks asks connected products which contacts they know: they get messages and new
// tickets of linked contacts only. It uses a share of each product's rate limit, and asks for
// contacts of users before those of campaigns.
package contactlinks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store"
	"integrationhub/messaging/internal/store/dbgen"
)

// A product allows 100 calls a minute in all; webhooks, bookings and answers need the rest.
const (
	ratePeriod = time.Minute
	rate       = 30 // searches in a period
	bulkRate   = 20 // of them for campaigns and programs
)

const (
	firstPause   = 30 * time.Second
	maxPause     = 15 * time.Minute
	defaultLimit = time.Minute // of a product that limits its rate without saying for how long
)

// Service asks connected products.
type Service struct {
	host  module.Host
	store *store.Store
}

// New returns the service of an opened product.
func New(host module.Host, s *store.Store) *Service { return &Service{host, s} }

// askIntegration asks one product, as far as its share goes, for askTime.
func (s *Service) askIntegration(ctx context.Context, companyID int64, id uuid.UUID) error {
	company, err := s.store.Company(ctx, companyID)
	if err != nil {
		return fmt.Errorf("loading the company: %w", err)
	}
	integrations, err := s.host.Peers.List(ctx, company.TenantID, hub.Live)
	if err != nil {
		return fmt.Errorf("loading the integrations: %w", err)
	}
	i := slices.IndexFunc(integrations, func(i module.Integration) bool { return i.ID == id })
	if i < 0 {
		return s.store.DeleteLinksOfIntegration(ctx, companyID, id)
	}
	scope, search := store.Scope{Company: company.ID, Tenant: company.TenantID}, searchOf(integrations[i].Features)
	attempts, err := s.store.CountLinkAttempts(ctx, companyID, id, s.host.Now().Add(-ratePeriod))
	if err != nil {
		return fmt.Errorf("counting searches: %w", err)
	}
	contacts, err := s.store.ContactsToAsk(ctx, companyID, id, rate)
	if err != nil {
		return fmt.Errorf("finding contacts to ask for: %w", err)
	}
	end := time.Now().Add(askTime)
	for _, contact := range contacts {
		if time.Now().After(end) {
			return nil
		}
		isLinked := true // a product without a search gets every contact
		if search != "" {
			if attempts >= rate || contact.IsBulk && attempts >= bulkRate {
				return nil
			}
			attempts++
			now := s.host.Now()
			err := s.store.SetLinkAttempt(ctx, dbgen.SetLinkAttemptParams{At: now, CompanyID: companyID, ContactID: contact.ContactID, IntegrationID: id})
			if err != nil {
				return fmt.Errorf("storing a search: %w", err)
			}
			if isLinked, err = s.ask(ctx, id, search, contact.Number); err != nil {
				return s.pause(ctx, companyID, id, err)
			}
		}
		err := s.store.InTx(ctx, "storing whether a contact is linked", func(tx *store.Tx) error { return tx.SettleLink(ctx, scope, contact.ContactID, id, isLinked) })
		if err != nil {
			return err
		}
	}
	return s.store.EndLinkPause(ctx, companyID, id)
}

// searchOf returns the search that finds a person by phone, among the features of a product;
// "" = it has none.
func searchOf(features []string) string {
	for _, search := range []struct{ feature, call string }{
		{"patient.search", "search/patients"}, {"client.search", "search/clients"}, {"contact.search", "search/contacts"},
	} {
		if slices.Contains(features, search.feature) {
			return search.call
		}
	}
	return ""
}

// ask returns whether a product's search finds a number.
func (s *Service) ask(ctx context.Context, integration uuid.UUID, search, number string) (found bool, err error) {
	raw, err := s.host.Peers.Call(ctx, integration, hub.Call{Name: search, Query: url.Values{"phone": {chat.FormatE164(number)}}})
	if err != nil {
		return false, err
	}
	var response struct {
		Found bool `json:"found"`
	}
	if err := json.Unmarshal(raw, &response); err != nil {
		return false, hub.Errorf(hub.ErrPeer, hub.CodePeerResponse, "The product did not respond with what was asked for.")
	}
	return response.Found, nil
}

// pause stores that a product is not asked for a while: for as long as it says, or longer
// after each failure.
func (s *Service) pause(ctx context.Context, company int64, integration uuid.UUID, cause error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	failures, err := s.store.LinkFailures(ctx, company, integration)
	if err != nil {
		return fmt.Errorf("loading earlier failures: %w", err)
	}
	wait := firstPause
	for range failures {
		wait = min(2*wait, maxPause)
	}
	var problem *hub.Error
	if errors.As(cause, &problem) && problem.Code == hub.CodePeerRateLimited {
		if wait = problem.RetryAfter; wait == 0 {
			wait = defaultLimit
		}
	}
	s.host.Log.WarnContext(ctx, "a connected product cannot be asked for contacts; their events wait", "company_id", company, "integration_id", integration, "again", wait.String(), "error", cause)
	return s.store.PauseLinks(ctx, company, integration, s.host.Now().Add(wait))
}
