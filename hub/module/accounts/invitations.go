package accounts

import (
	"context"
	"encoding/hex"
	"errors"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/module"
)

// Names of the limits of invitations.
const (
	limitInvitations      = "invitations"
	limitInvitedAddresses = "invited-addresses"
)

// InvitationLimits returns the limits of a product whose administrators invite users. An
// administrator can name any address, also a stranger's.
func InvitationLimits() []module.RateLimit {
	return []module.RateLimit{
		{Name: limitInvitations, Max: 50, Period: time.Hour},          // of a tenant
		{Name: limitInvitedAddresses, Max: 5, Period: 24 * time.Hour}, // to an email address, of all tenants
	}
}

// AllowInvitation counts an invitation before it is sent. It returns [hub.ErrRateLimited]
// above [InvitationLimits]. It may wait for the network, so it is called outside a
// transaction.
func (a *Authenticator) AllowInvitation(ctx context.Context, tenant uuid.UUID, email string) error {
	if err := a.host.RateLimiter.Allow(ctx, limitInvitations, tenant.String()); err != nil {
		return invitationError(err, "Too many invitations; wait and try again.")
	}
	err := a.host.RateLimiter.Allow(ctx, limitInvitedAddresses, hex.EncodeToString(a.accountHash(email)))
	return invitationError(err, "This address got too many invitations; wait and try again.")
}

// invitationError says of a refusal what was limited. Other errors stay.
func invitationError(err error, text string) error {
	var refusal *hub.Error
	if !errors.Is(err, hub.ErrRateLimited) || !errors.As(err, &refusal) {
		return err
	}
	limited := hub.Errorf(hub.ErrRateLimited, refusal.Code, "%s", text)
	limited.RetryAfter = refusal.RetryAfter
	return limited
}
