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

// Finder is a hosted product that knows people by their phone.
type Finder struct {
	Product string
	Find    func(ctx context.Context, phone string) ([]module.PhoneMatch, error)
}

// Match is one thing that a product knows under a number.
type Match struct {
	Product string
	module.PhoneMatch
}

// Result is what is known about a number.
type Result struct {
	Phone      string  // in its usual international form
	Matches    []Match // by product
	Deliveries []query.Item
}

// Service answers lookups. It is safe for concurrent use.
type Service struct {
	finders []Finder
	log     *query.Reader
}

// New makes a service over the products that know phones, and the log.
func New(finders []Finder, log *query.Reader) *Service { return &Service{finders, log} }

// findingTime is how long a product may look.
const findingTime = 5 * time.Second

// matchesMax is how much is taken from one product for one form of a number.
const matchesMax = 100

// What is looked at for deliveries. The log has no index of what payloads are about,
// and none is read from end to end: only its newest deliveries are, and the newest of
// the tenants that know the number.
const (
	newestOfAll    = 1000
	newestOfTenant = 200
	tenantsMax     = 10
	deliveriesMax  = 50
)

// Look tells what is known about a phone number as people write it. Deliveries are
// those whose payload has the number, or the id of a match, among the newest ones; CPF
// numbers are masked. A number that is none is a [hub.ErrInvalid]; where a product
// cannot answer, there is no answer at all, for half of one would look like a whole.
func (s *Service) Look(ctx context.Context, text string) (Result, error) {
	phone, err := Parse(text)
	if err != nil {
		return Result{}, err
	}
	result := Result{Phone: phone.Forms[0]}
	if result.Matches, err = s.matches(ctx, phone.Forms); err != nil {
		return Result{}, err
	}
	result.Deliveries, err = s.deliveries(ctx, phone.Words, result.Matches)
	return result, err
}

// matches asks every product for every form of a number, all at once.
func (s *Service) matches(ctx context.Context, forms []string) ([]Match, error) {
	ctx, cancel := context.WithTimeout(ctx, findingTime)
	defer cancel()
	type answer struct {
		found []module.PhoneMatch
		err   error
	}
	answers := make([]answer, len(s.finders)*len(forms))
	var asking sync.WaitGroup
	for i := range answers {
		asking.Go(func() {
			finder, form := s.finders[i/len(forms)], forms[i%len(forms)]
			found, err := finder.Find(ctx, form)
			if err != nil {
				err = fmt.Errorf("asking %s: %w", finder.Product, err)
			}
			answers[i] = answer{found, err}
		})
	}
	asking.Wait()
	var all []Match
	seen := make(map[string]bool)
	for i, one := range answers {
		if one.err != nil {
			return nil, one.err
		}
		product := s.finders[i/len(forms)].Product
		for _, match := range one.found[:min(len(one.found), matchesMax)] {
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

// idMin is the shortest id that is looked for in payloads, in characters: short ones
// mean something else in most of them.
const idMin = 8

func (s *Service) deliveries(ctx context.Context, words []string, matches []Match) ([]query.Item, error) {
	var tenants []uuid.UUID
	for _, match := range matches {
		if len(match.ID) >= idMin && !slices.Contains(words, match.ID) {
			words = append(words, match.ID)
		}
		if !slices.Contains(tenants, match.TenantID) && len(tenants) < tenantsMax {
			tenants = append(tenants, match.TenantID)
		}
	}
	found, err := s.log.SearchPayloads(ctx, query.Filter{}, words, newestOfAll, deliveriesMax)
	if err != nil {
		return nil, err
	}
	for _, tenant := range tenants {
		more, err := s.log.SearchPayloads(ctx, query.Filter{TenantID: &tenant}, words, newestOfTenant, deliveriesMax)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	slices.SortFunc(found, func(a, b query.Item) int { return bytes.Compare(b.ID[:], a.ID[:]) })
	found = slices.CompactFunc(found, func(a, b query.Item) bool { return a.ID == b.ID })
	return found[:min(len(found), deliveriesMax)], nil
}
