package module

import (
	"context"
	"net/netip"
	"slices"

	"github.com/google/uuid"

	"integrationhub/hub"
)

// Names of the security schemes in huma.Operation.Security. The hub authenticates
// callers by the schemes of an operation before its handler runs:
//
//	nil                                      anybody, without authentication
//	{{SchemeBearer: {}}}                     a user of the product
//	{{SchemeBearer: {RoleAdmin}}}            an administrator, else 403
//	{{SchemeKey: {"patient.search"}}}        an API key with that scope, else 403
//	{{SchemeBearer: {}}, {SchemeKey: {…}}}   either
//	{{}, {SchemeBearer: {}}}                 anybody; a token is optional but has to be valid
//
// Calls with API keys are rate limited and audited. The handler gets the caller from
// [CallerFrom].
const (
	SchemeBearer = "bearer" // Authorization: Bearer, by [Instance]'s Authenticate
	SchemeKey    = "key"    // X-Integration-Key
	RoleAdmin    = "admin"  // "scope" of SchemeBearer
	scopeAll     = "*"      // of keys without a list
)

// ScopeInteraction is a scope of every product's keys, in addition to its features. It
// allows actions that log what a connected product did.
const ScopeInteraction = "interaction.write"

// Caller is the authenticated principal of a request: a user of the product, or an API
// key of a tenant, which may be bound to an integration.
type Caller struct {
	TenantID      uuid.UUID
	Environment   hub.Environment // of a key; for users live, or test with X-Environment: test
	UserID        uuid.UUID       // zero for a key
	Name          string          // of the user, or of the key; for the audit log
	Role          string          // of the user, as the product names it
	Admin         bool            // the user may administer the tenant
	KeyID         uuid.UUID       // zero for a user
	Scopes        []string        // of the key; "*" = all
	IntegrationID uuid.UUID       // integration of the key; zero = none
	Peer          string          // product of that integration, or "" while the peer has not named it
}

// HasScope reports whether a key has a scope.
func (c Caller) HasScope(scope string) bool {
	return slices.Contains(c.Scopes, scope) || slices.Contains(c.Scopes, scopeAll)
}

type (
	callerKey   struct{}
	clientIPKey struct{}
)

// WithClientIP returns a context with the client's IP address, which the hub
// determines from the connection and its trusted proxies.
func WithClientIP(ctx context.Context, ip string) context.Context {
	return context.WithValue(ctx, clientIPKey{}, ip)
}

// ClientIP returns the client's IP address, or "" if the context has none.
func ClientIP(ctx context.Context) string {
	ip, _ := ctx.Value(clientIPKey{}).(string)
	return ip
}

// ipv6Network is how many bits of an IPv6 address name one client, which has all of the rest.
const ipv6Network = 64

// Network returns what counts as one client: its IP address, or for IPv6 its network.
func Network(ip string) string {
	address, err := netip.ParseAddr(ip)
	if err != nil || address.Is4() {
		return ip
	}
	prefix, err := address.WithZone("").Prefix(ipv6Network)
	if err != nil {
		return ip
	}
	return prefix.String()
}

// ClientNetwork returns the [Network] of the client, or "" if the context has no address.
// Limits count by it: the owner of an IPv6 network has a new address for each attempt.
func ClientNetwork(ctx context.Context) string { return Network(ClientIP(ctx)) }

// WithCaller returns a context with the caller.
func WithCaller(ctx context.Context, caller Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, caller)
}

// CallerFrom returns the caller of a request. ok is false if the operation needs no
// authentication.
func CallerFrom(ctx context.Context) (caller Caller, ok bool) {
	caller, ok = ctx.Value(callerKey{}).(Caller)
	return caller, ok
}
