package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humafiber"
	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/audit"
	"integrationhub/hub/internal/auth"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/module/rest"
)

// handlingTime is how long a request may take; then it is answered with a 503. A
// handshake calls its peer three times at most.
const handlingTime = 45 * time.Second

// recordingTime is how long the audit log is waited for after a request.
const recordingTime = 5 * time.Second

// caller is who made a request: an operator, a key, or nobody.
type caller struct {
	operator *auth.Operator
	key      *keys.Principal
}

// reach is what the caller may touch.
func (c caller) reach() registry.Scope {
	if c.key == nil {
		return registry.Scope{}
	}
	return registry.Scope{TenantID: &c.key.TenantID, Environment: c.key.Environment}
}

// request is what handlers know of their request besides its input, and what they
// tell the audit log.
type request struct {
	caller
	bearer     string // the token as it came
	clientIP   string
	resourceID string
	tenantID   *uuid.UUID
}

type requestKey struct{}

// requestOf gives the request a handler serves.
func requestOf(ctx context.Context) *request {
	return ctx.Value(requestKey{}).(*request) //nolint:forcetypeassert // the guard puts it there
}

// touched tells the audit log which resource, and whose, a write was about.
func touched(ctx context.Context, id uuid.UUID, tenantID uuid.UUID) {
	about := requestOf(ctx)
	about.resourceID = id.String()
	if tenantID != uuid.Nil {
		about.tenantID = &tenantID
	}
}

// guard lets through to a row who may call it with a body that keeps the rules, and
// records in the audit log what came of it.
func (a *API) guard(row rest.Route) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		c := humafiber.Unwrap(ctx)
		about := &request{clientIP: httpx.ClientIP(c, a.deps.TrustedProxies)}
		bounded, cancel := context.WithTimeout(context.WithValue(ctx.Context(), requestKey{}, about), handlingTime)
		defer cancel()
		ctx = huma.WithContext(ctx, bounded)
		err := a.admit(bounded, c, row, about)
		if err == nil {
			err = checkBody(c)
		}
		if err == nil {
			next(ctx)
		} else {
			// The status is the error's own; this one only counts where it has none.
			_ = huma.WriteErr(a.huma, ctx, http.StatusInternalServerError, "", err)
		}
		a.record(bounded, c, row, about)
	}
}

// admit finds out who calls and whether they may.
func (a *API) admit(ctx context.Context, c *fiber.Ctx, row rest.Route, about *request) error {
	accepted := row.Access.Credentials()
	authorization, key := c.Get(fiber.HeaderAuthorization), c.Get(hub.HeaderKey)
	switch {
	case accepted.None:
		return nil
	case accepted.Bearer && authorization != "":
		return a.admitOperator(ctx, c, authorization, row, about)
	case accepted.Key && key != "":
		return a.admitKey(ctx, c, key, accepted.Scopes, about)
	case !accepted.Bearer:
		return keys.Refused()
	}
	return hub.Errorf(hub.ErrUnauthorized, "unauthorized", "Log in first, and send the access token as Authorization: Bearer.")
}

func (a *API) admitOperator(ctx context.Context, c *fiber.Ctx, authorization string, row rest.Route, about *request) error {
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		token = ""
	}
	operator, err := a.deps.Auth.Verify(ctx, token)
	if err != nil {
		return err
	}
	about.operator, about.bearer = &operator, token
	if row.Access.Credentials().Admin && operator.Role != auth.RoleAdmin {
		return hub.Errorf(hub.ErrForbidden, "admin_only", "Only administrators may do this.")
	}
	if row.ID == actionLookup && a.deps.LookupLimiter != nil {
		return a.deps.LookupLimiter.AllowLookup(ctx, operator.Label(), c.Set)
	}
	return nil
}

func (a *API) admitKey(ctx context.Context, c *fiber.Ctx, key string, scopes []string, about *request) error {
	principal, err := a.deps.KeyFinder.LookUp(ctx, key)
	if err != nil {
		return err
	}
	about.key = &principal
	about.tenantID = &principal.TenantID
	if a.deps.KeyLimiter != nil {
		if err := a.deps.KeyLimiter.Allow(ctx, principal, c.Set); err != nil {
			return err
		}
	}
	for _, scope := range scopes {
		if !keys.Allows(principal.Scopes, scope) {
			return hub.Errorf(hub.ErrForbidden, "missing_scope", "This key lacks the scope %s.", scope)
		}
	}
	return nil
}

// checkBody applies the rules for bodies to every request that has one.
func checkBody(c *fiber.Ctx) error {
	body, err := httpx.JSONBody(c)
	if err != nil || len(body) == 0 {
		return err
	}
	return httpx.CheckJSON(body, httpx.JSONRules{UniqueKeys: true})
}

// record writes the outcome of a write, or of a lookup, to the audit log. What was refused for lack
// of credentials is not recorded, except bad logins: strangers could fill the log.
func (a *API) record(ctx context.Context, c *fiber.Ctx, row rest.Route, about *request) {
	status := c.Response().StatusCode()
	unknown := about.operator == nil && about.key == nil
	if row.Method == http.MethodGet && row.ID != actionLookup || status == http.StatusTooManyRequests || unknown && row.ID != actionLogin {
		return
	}
	entry := audit.Entry{
		ActorType: audit.ActorAnonymous, Action: row.ID, Resource: row.Tag(), ResourceID: about.resourceID,
		TenantID: about.tenantID, IP: about.clientIP, RequestID: httpx.RequestID(ctx), Status: status,
	}
	if id, err := uuid.Parse(c.Params("id")); err == nil && entry.ResourceID == "" {
		entry.ResourceID = id.String()
	}
	if about.operator != nil {
		entry.ActorType, entry.ActorLabel = audit.ActorOperator, about.operator.Label()
		if about.operator.ID != uuid.Nil {
			entry.ActorID = about.operator.ID.String()
		}
	}
	if about.key != nil {
		entry.ActorType, entry.ActorID, entry.ActorLabel = audit.ActorKey, about.key.KeyID.String(), about.key.Label
	}
	// The outcome stands, so it is recorded even where the request ran out of time.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordingTime)
	defer cancel()
	if err := a.deps.Audit.Record(ctx, entry); err != nil {
		a.deps.Log.ErrorContext(ctx, "audit entry lost", "error", err, "action", entry.Action, "actor_id", entry.ActorID,
			"resource_id", entry.ResourceID, "status", entry.Status, "request_id", entry.RequestID)
	}
}
