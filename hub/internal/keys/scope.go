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
)

// scopeAll is stored for a key that was made without a list: it has every scope,
// those of features that come later included.
const scopeAll = "*"

// Features gives the feature names of a product, which are scopes of its keys.
type Features func(product string) []string

// known lists the scopes that a product's keys can have.
func (f Features) known(product string) []string {
	list := []string{ScopePublish, ScopeEndpoints, ScopeInteraction}
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

// ofPeers lists the scopes that another product gets: the features, and telling of
// interactions; neither publishing in the tenant's name nor its endpoints.
func (f Features) ofPeers(product string) []string {
	return slices.DeleteFunc(f.known(product), func(scope string) bool { return scope == ScopePublish || scope == ScopeEndpoints })
}

// shown turns stored scopes into the list people see.
func (f Features) shown(product string, stored []string) []string {
	if slices.Contains(stored, scopeAll) {
		return f.known(product)
	}
	return stored
}

// stored turns a requested list into what is stored: nil means every scope.
func (f Features) stored(product string, wanted []string) ([]string, error) {
	if wanted == nil {
		return []string{scopeAll}, nil
	}
	known := f.known(product)
	list := make([]string, 0, len(wanted))
	for i, scope := range wanted {
		if !slices.Contains(known, scope) {
			return nil, hub.Invalid("body.scopes["+strconv.Itoa(i)+"]", "is not a scope of this product; known are "+strings.Join(known, ", "))
		}
		if !slices.Contains(list, scope) {
			list = append(list, scope)
		}
	}
	return list, nil
}

// Allows tells whether stored scopes include one; "" is needed by nobody.
func Allows(stored []string, scope string) bool {
	return scope == "" || slices.Contains(stored, scope) || slices.Contains(stored, scopeAll)
}
