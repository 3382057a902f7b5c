package rest

import "integrationhub/hub/module"

// Access lists the callers of a route, as huma.Operation.Security does: each element
// is an alternative, and an empty list admits everyone.
type Access []map[string][]string

// The usual callers.
var (
	Anyone Access                                              // no credentials are read
	User   = Access{{module.SchemeBearer: {}}}                 // every user
	Admin  = Access{{module.SchemeBearer: {module.RoleAdmin}}} // administrators only
)

// Key admits only API keys with a scope.
func Key(scope string) Access { return Access{{module.SchemeKey: {scope}}} }

// OrKey also admits API keys with a scope.
func (a Access) OrKey(scope string) Access {
	return append(a[:len(a):len(a)], map[string][]string{module.SchemeKey: {scope}})
}

// Credentials are what a route accepts from its callers.
type Credentials struct {
	Bearer bool     // access tokens
	Admin  bool     // access tokens of administrators only
	Key    bool     // API keys
	Scopes []string // that an API key needs, all of them
	None   bool     // requests without credentials
}

// Credentials returns what a request to the route may bring.
func (a Access) Credentials() Credentials {
	accepted := Credentials{None: len(a) == 0}
	for _, alternative := range a {
		roles, bearer := alternative[module.SchemeBearer]
		scopes, key := alternative[module.SchemeKey]
		switch {
		case bearer:
			accepted.Bearer, accepted.Admin = true, len(roles) > 0
		case key:
			accepted.Key, accepted.Scopes = true, scopes
		case len(alternative) == 0:
			accepted.None = true
		}
	}
	return accepted
}
