package lookup

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/mask"
	"integrationhub/hub/module"
)

// Searcher is a hosted product that finds people by phone number.
type Searcher struct {
	Product string
	Search  func(ctx context.Context, phone string) ([]module.PhoneMatch, error)
}

// Match is a record that a product has under a number.
type Match struct {
	Product string
	module.PhoneMatch
}

// Result is what was found under a number.
type Result struct {
	Phone      string  // in the usual international form
	Matches    []Match // by product
	Deliveries []query.Item
}

// Service answers lookups. It is safe for concurrent use.
type Service struct {
	searchers []Searcher
	log       *query.Reader
}

// New returns a service over the products' searchers and the log.
func New(searchers []Searcher, log *query.Reader) *Service { return &Service{searchers, log} }

// searchTimeout bounds the search of the products.
const searchTimeout = 5 * time.Second

// maxMatches bounds the matches of one product for one form of a number.
const maxMatches = 100

// Bounds of the search of the log. Payloads have no index, so only the newest deliveries
// are read, and the newest ones of the tenants that have the number.
const (
	newestOfAll    = 1000
	newestOfTenant = 200
	maxTenants     = 10
	maxDeliveries  = 50
)

// Search finds what the products have under a phone number as people write it, and the
// newest deliveries whose payload has the number or the id of a match. CPF numbers are
// masked. A text that is no phone number is a [hub.ErrInvalid]. If a product fails there
// is no result: a partial one would look complete.
func (s *Service) Search(ctx context.Context, text string) (Result, error) {
	phone, err := Parse(text)
	if err != nil {
		return Result{}, err
	}
	result := Result{Phone: phone.Forms[0]}
	if result.Matches, err = s.searchProducts(ctx, phone.Forms); err != nil {
		return Result{}, err
	}
	result.Deliveries, err = s.searchLog(ctx, phone.Spellings, result.Matches)
	return result, err
}

// searchProducts searches every product for every form of a number, concurrently.
func (s *Service) searchProducts(ctx context.Context, forms []string) ([]Match, error) {
	ctx, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	type result struct {
		matches []module.PhoneMatch
		err     error
	}
	results := make([]result, len(s.searchers)*len(forms))
	var searches sync.WaitGroup
	for i := range results {
		searches.Go(func() {
			searcher, form := s.searchers[i/len(forms)], forms[i%len(forms)]
			matches, err := searcher.Search(ctx, form)
			if err != nil {
				err = fmt.Errorf("asking %s: %w", searcher.Product, err)
			}
			results[i] = result{matches, err}
		})
	}
	searches.Wait()
	var all []Match
	seen := make(map[string]bool)
	for i, result := range results {
		if result.err != nil {
			return nil, result.err
		}
		product := s.searchers[i/len(forms)].Product
		for _, match := range result.matches[:min(len(result.matches), maxMatches)] {
			key := fmt.Sprintf("%s/%s/%s/%s", product, match.TenantID, match.Kind, match.ID)
			if !seen[key] {
				seen[key] = true
				match.Name = mask.Text(match.Name)
				all = append(all, Match{product, match})
			}
		}
	}
	return all, nil
}

// minIDLength is the shortest id that is searched for in payloads, in bytes: a short one
// is something else in most of them.
const minIDLength = 8

// searchLog returns the newest deliveries whose payload has one of the words or the id of
// a match.
func (s *Service) searchLog(ctx context.Context, words []string, matches []Match) ([]query.Item, error) {
	var tenants []uuid.UUID
	for _, match := range matches {
		if len(match.ID) >= minIDLength && !slices.Contains(words, match.ID) {
			words = append(words, match.ID)
		}
		if !slices.Contains(tenants, match.TenantID) && len(tenants) < maxTenants {
			tenants = append(tenants, match.TenantID)
		}
	}
	deliveries, err := s.log.SearchPayloads(ctx, query.Filter{}, words, newestOfAll, maxDeliveries)
	if err != nil {
		return nil, err
	}
	for _, tenant := range tenants {
		ofTenant, err := s.log.SearchPayloads(ctx, query.Filter{TenantID: &tenant}, words, newestOfTenant, maxDeliveries)
		if err != nil {
			return nil, err
		}
		deliveries = append(deliveries, ofTenant...)
	}
	slices.SortFunc(deliveries, func(a, b query.Item) int { return bytes.Compare(b.ID[:], a.ID[:]) })
	deliveries = slices.CompactFunc(deliveries, func(a, b query.Item) bool { return a.ID == b.ID })
	return deliveries[:min(len(deliveries), maxDeliveries)], nil
}
