package keys

import (
	"slices"
	"strconv"
	"strings"

	"integrationhub/hub"
	"integrationhub/hub/module"
)

// Scopes that every product has; a product's features are scopes as well.
const (
	ScopePublish     = "events.publish"
	ScopeEndpoints   = "endpoints.manage"
	ScopeInteraction = module.ScopeInteraction
	ScopeReadLog     = "deliveries.read"  // the tenant's events, deliveries and replays
	ScopeRetry       = "deliveries.retry" // sending them again
)

// scopeAll is stored for a key created without a list of scopes: it has every scope,
// including those of features that are added later, but for those of the log.
const scopeAll = "*"

// isLogScope reports whether a scope has to be named when a key is made: keys without a list
// were made before there was access to the log.
func isLogScope(scope string) bool { return scope == ScopeReadLog || scope == ScopeRetry }

// Features returns the feature names of a product, which are scopes of its keys.
type Features func(product string) []string

// scopes lists the scopes that a product's keys can have.
func (f Features) scopes(product string) []string {
	list := []string{ScopePublish, ScopeEndpoints, ScopeReadLog, ScopeRetry, ScopeInteraction}
	if f == nil {
		return list
	}
	for _, feature := range f(product) {
		if !slices.Contains(list, feature) {
			list = append(list, feature)
		}
	}
	return list
}

// peerScopes lists the scopes of a key for another product: the features, and logging
// interactions. A peer neither publishes for the tenant, nor manages its endpoints, nor reads
// its log.
func (f Features) peerScopes(product string) []string {
	return slices.DeleteFunc(f.scopes(product), func(scope string) bool {
		return scope == ScopePublish || scope == ScopeEndpoints || isLogScope(scope)
	})
}

// expand replaces the stored [scopeAll] by the list of the scopes it has.
func (f Features) expand(product string, stored []string) []string {
	if slices.Contains(stored, scopeAll) {
		return slices.DeleteFunc(f.scopes(product), isLogScope)
	}
	return stored
}

// normalize checks requested scopes and removes duplicates; nil means every scope but those of
// the log.
func (f Features) normalize(product string, requested []string) ([]string, error) {
	if requested == nil {
		return []string{scopeAll}, nil
	}
	available := f.scopes(product)
	list := make([]string, 0, len(requested))
	for i, scope := range requested {
		if !slices.Contains(available, scope) {
			return nil, hub.Invalid("body.scopes["+strconv.Itoa(i)+"]", "is not a scope of this product; known are "+strings.Join(available, ", "))
		}
		if !slices.Contains(list, scope) {
			list = append(list, scope)
		}
	}
	return list, nil
}

// Allows reports whether stored scopes include scope; "" is always allowed.
func Allows(stored []string, scope string) bool {
	return scope == "" || slices.Contains(stored, scope) || slices.Contains(stored, scopeAll) && !isLogScope(scope)
}
