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

// Searcher is a hosted product that finds people. A function is nil if the product does not
// support the search. Each returns at most [MaxMatches].
type Searcher struct {
	Product string
	Phone   func(ctx context.Context, phone string) ([]module.PersonMatch, error)
	Email   func(ctx context.Context, email string) ([]module.PersonMatch, error)
	CPFEnd  func(ctx context.Context, lastTwo string) ([]module.PersonMatch, error)
}

// Match is a record that a product found.
type Match struct {
	Product string
	module.PersonMatch
}

// Result is what was found.
type Result struct {
	Phone      string  // in the usual international form; "" = not asked for
	Email      string  // in lower case; "" = not asked for
	CPF        string  // masked, with its last two digits; "" = not asked for
	Matches    []Match // by product
	Truncated  bool    // a product may have more matches
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

// MaxMatches bounds the matches of one product, and of each form of a number.
const MaxMatches = 100

// Bounds of the search of the log. Payloads have no index, so only the newest deliveries
// are read, and the newest ones of the tenants that have the number.
const (
	newestOfAll    = 1000
	newestOfTenant = 200
	maxTenants     = 10
	maxDeliveries  = 50
)

// Search finds what the products have under a phone number, an e-mail address or the last two
// digits of a CPF, and the newest deliveries whose payload has the number, the address or the
// id of a match. CPF numbers are masked; people found by two digits are named by first name
// and initials. An invalid query is a [hub.ErrInvalid]. If a product fails there is no
// result: a partial one would look complete.
func (s *Service) Search(ctx context.Context, q Query) (Result, error) {
	target, err := q.parse()
	if err != nil {
		return Result{}, err
	}
	result := Result{Email: target.email, CPF: masked(target.cpfEnd)}
	if len(target.phone.Forms) > 0 {
		result.Phone = target.phone.Forms[0]
	}
	if result.Matches, result.Truncated, err = s.searchProducts(ctx, target); err != nil {
		return Result{}, err
	}
	result.Deliveries, err = s.searchLog(ctx, target.words, result.Matches)
	return result, err
}

// search is one search in one product.
type search struct {
	product string
	find    func(ctx context.Context, text string) ([]module.PersonMatch, error)
	text    string
}

// searches returns the searches in all products that support the query.
func (s *Service) searches(target target) []search {
	var list []search
	for _, searcher := range s.searchers {
		find, texts := searcher.Phone, target.phone.Forms
		if target.email != "" {
			find, texts = searcher.Email, []string{target.email}
		} else if target.cpfEnd != "" {
			find, texts = searcher.CPFEnd, []string{target.cpfEnd}
		}
		for _, text := range texts {
			if find != nil {
				list = append(list, search{searcher.Product, find, text})
			}
		}
	}
	return list
}

// searchProducts asks every product concurrently, for every form of a number.
func (s *Service) searchProducts(ctx context.Context, target target) (all []Match, truncated bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	type result struct {
		matches []module.PersonMatch
		err     error
	}
	list := s.searches(target)
	results := make([]result, len(list))
	var running sync.WaitGroup
	for i, search := range list {
		running.Go(func() {
			matches, err := search.find(ctx, search.text)
			if err != nil {
				err = fmt.Errorf("asking %s: %w", search.product, err)
			}
			results[i] = result{matches, err}
		})
	}
	running.Wait()
	seen := make(map[string]bool)
	for i, result := range results {
		if result.err != nil {
			return nil, false, result.err
		}
		truncated = truncated || len(result.matches) >= MaxMatches
		product := list[i].product
		for _, match := range result.matches[:min(len(result.matches), MaxMatches)] {
			key := fmt.Sprintf("%s/%s/%s/%s", product, match.TenantID, match.Kind, match.ID)
			if !seen[key] {
				seen[key] = true
				if match.Name = mask.Text(match.Name); target.cpfEnd != "" {
					match.Name = shortName(match.Name)
				}
				all = append(all, Match{product, match})
			}
		}
	}
	return all, truncated, nil
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
	if len(words) == 0 {
		return nil, nil
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
