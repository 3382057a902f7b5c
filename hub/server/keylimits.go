package server

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/limit"
)

// keyLimits counts the requests of keys and operators, for the gateway and the APIs.
type keyLimits struct {
	limiter *limit.Limiter
	changes *limit.Pace // of tenants' calls that do not publish
}

// newKeyLimits returns the limits of a process. Besides the rates of its keys, a tenant's
// calls that do not publish are spaced: 500 at once, then 100 a second, so that one in a
// loop costs the others little. At most 100 of them wait.
func newKeyLimits(limiter *limit.Limiter) keyLimits {
	return keyLimits{limiter, limit.NewPace(100, 500, 100)}
}

// Count implements the limiter of the gateway.
func (k keyLimits) Count(c *fiber.Ctx, key *directory.Key) error {
	return k.Allow(c.UserContext(), key.Principal, c.Set)
}

// Allow implements api.KeyLimiter.
func (k keyLimits) Allow(ctx context.Context, key keys.Principal, setHeader func(name, value string)) error {
	if key.Rate.Limit == 0 {
		return nil
	}
	result := k.limiter.Allow(ctx, "key", key.KeyID.String(), key.Rate)
	limit.SetHeaders(setHeader, result)
	return result.Err() //nolint:wrapcheck // says what was exceeded
}

// Wait implements api.KeyLimiter.
func (k keyLimits) Wait(ctx context.Context, key keys.Principal) error {
	return k.changes.Wait(ctx, key.TenantID.String()) //nolint:wrapcheck // says what was exceeded
}

// AllowIntegration counts a request of a peer, which has one rate for all of its keys.
func (k keyLimits) AllowIntegration(ctx context.Context, key keys.Principal, setHeader func(name, value string)) error {
	if key.Rate.Limit == 0 {
		return nil
	}
	result := k.limiter.Allow(ctx, "integration", key.Integration.String(), key.Rate)
	if err := result.Err(); err != nil {
		limit.SetHeaders(setHeader, result)
		return err
	}
	return nil
}

// usersRate limits the requests of a tenant's users on the hub's routes of a product: enough for
// the pages that a company's people have open. Each is stored in the audit log.
var usersRate = limit.Rate{Limit: 600, Period: time.Minute}

// AllowUsers counts a request of a tenant's users on the hub's routes of a product.
func (k keyLimits) AllowUsers(ctx context.Context, tenant uuid.UUID, setHeader func(name, value string)) error {
	result := k.limiter.Allow(ctx, "users", tenant.String(), usersRate)
	limit.SetHeaders(setHeader, result)
	return result.Err() //nolint:wrapcheck // says what was exceeded
}

// KeyUse implements api.KeyUse: requests of a key in the present period. A peer's keys have
// one rate.
func (k keyLimits) KeyUse(ctx context.Context, keyID uuid.UUID, integration *uuid.UUID, rate limit.Rate) limit.Result {
	result := k.limiter.Peek(ctx, "key", keyID.String(), rate)
	if integration == nil {
		return result
	}
	if shared := k.limiter.Peek(ctx, "integration", integration.String(), rate); shared.Remaining < result.Remaining {
		return shared
	}
	return result
}

// lookupRate limits the lookups of an operator: enough for people, too few to enumerate
// phone numbers.
var lookupRate = limit.Rate{Limit: 30, Period: time.Minute}

// AllowLookup implements api.LookupLimiter.
func (k keyLimits) AllowLookup(ctx context.Context, operator string, setHeader func(name, value string)) error {
	result := k.limiter.Allow(ctx, "lookup", operator, lookupRate)
	limit.SetHeaders(setHeader, result)
	return result.Err() //nolint:wrapcheck // says what was exceeded
}
