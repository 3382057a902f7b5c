package productapi

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/audit"
	"integrationhub/hub/internal/auth"
)

// Operators identifies operators.
type Operators interface {
	// Verify returns the operator of a bearer token, or a [hub.ErrUnauthorized].
	Verify(ctx context.Context, bearer string) (auth.Operator, error)
}

// authorizeSignUp admits only administrators of the hub to an operation that creates an account.
func (p *Product) authorizeSignUp(ctx context.Context, authorization string, info *requestInfo) error {
	if authorization == "" {
		return hub.Errorf(hub.ErrForbidden, "user_creation_disabled", "Sign-up is closed: only the hub's operators create accounts.")
	}
	token, err := bearerToken(authorization)
	if err != nil {
		return err
	}
	operator, err := p.deps.Operators.Verify(ctx, token)
	if err != nil {
		return err //nolint:wrapcheck // says what is wrong
	}
	info.operator = &operator
	if operator.Role != auth.RoleAdmin {
		return hub.Errorf(hub.ErrForbidden, "admin_only", "Only administrators may do this.")
	}
	return nil
}

// SetCreatedTenant sets which tenant the audit log has for the request if an operator creates an
// account with it. In other contexts it does nothing.
func SetCreatedTenant(ctx context.Context, tenant uuid.UUID) {
	if info, ok := ctx.Value(requestInfoKey{}).(*requestInfo); ok {
		info.createdTenant = tenant
	}
}

// describeSignUp sets the actor and, once it exists, the tenant of an account that an operator
// creates.
func (i *requestInfo) describeSignUp(entry *audit.Entry) {
	entry.SetActor(i.operator.Actor())
	entry.TenantID = nil
	if entry.Status < http.StatusBadRequest && i.createdTenant != uuid.Nil {
		entry.TenantID, entry.ResourceID = &i.createdTenant, i.createdTenant.String()
	}
}
