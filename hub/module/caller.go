package module

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"integrationhub/hub"
)

// Names of the security schemes in huma.Operation.Security. The hub answers for
// callers by what an operation names there, before its handler runs:
//
//	nil                                      anybody, without asking
//	{{SchemeBearer: {}}}                     a user of the product
//	{{SchemeBearer: {RoleAdmin}}}            an administrator, else 403
//	{{SchemeKey: {"patient.search"}}}        an API key with that scope, else 403
//	{{SchemeBearer: {}}, {SchemeKey: {…}}}   either
//	{{}, {SchemeBearer: {}}}                 anybody; a token that is sent must be good
//
// Keys are limited to their rate and every call of one is audited. The handler finds
// the caller with [CallerFrom].
const (
	SchemeBearer = "bearer" // Authorization: Bearer, by [Instance]'s Authenticate
	SchemeKey    = "key"    // X-Integration-Key
	RoleAdmin    = "admin"  // "scope" of SchemeBearer
	scopeAll     = "*"      // of keys without a list
)

// ScopeInteraction is a scope that keys of every product can have, beside its features:
// for actions that log what a connected product did.
const ScopeInteraction = "interaction.write"

// Caller is who makes a request: a user of the product, or a key of one of its
// tenants, which may be bound to an integration.
type Caller struct {
	TenantID      uuid.UUID
	Environment   hub.Environment // of a key; for users live, or test with X-Environment: test
	UserID        uuid.UUID       // zero for a key
	Name          string          // of the user, or of the key; for the audit log
	Role          string          // of the user, in the product's words
	Admin         bool            // the user may administer the tenant
	KeyID         uuid.UUID       // zero for a user
	Scopes        []string        // of the key; "*" = all
	IntegrationID uuid.UUID       // the key is bound to it; zero: to none
	Peer          string          // product of that integration, or ""
}

// HasScope tells whether a key has a scope.
func (c Caller) HasScope(scope string) bool {
	return slices.Contains(c.Scopes, scope) || slices.Contains(c.Scopes, scopeAll)
}

type (
	callerKey   struct{}
	clientIPKey struct{}
)

// WithClientIP returns a context that carries the address of who is at the other
// end, which the hub tells apart from its proxies.
func WithClientIP(ctx context.Context, ip string) context.Context {
	return context.WithValue(ctx, clientIPKey{}, ip)
}

// ClientIP gives the address a request came from; "" where nobody put it there.
func ClientIP(ctx context.Context) string {
	ip, _ := ctx.Value(clientIPKey{}).(string)
	return ip
}

// WithCaller returns a context that carries the caller.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerFrom gives the caller of a request; false where nobody was asked.
func CallerFrom(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok
}
