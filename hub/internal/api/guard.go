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
	"integrationhub/hub/internal/ledger/maintain"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/module/rest"
)

// handlingTime is the deadline of a request, after which it is answered with a 503. A
// handshake calls its peer three times at most.
const handlingTime = 45 * time.Second

// recordingTime is the deadline for writing to the audit log after a request.
const recordingTime = 5 * time.Second

// caller made a request: an operator, a key, or neither.
type caller struct {
	operator *auth.Operator
	key      *keys.Principal
}

// accessFilter returns the tenant and environment to which the caller is limited.
func (c caller) accessFilter() registry.Scope {
	if c.key == nil {
		return registry.Scope{}
	}
	return registry.Scope{TenantID: &c.key.TenantID, Environment: c.key.Environment}
}

// owner is [caller.accessFilter] for the log.
func (c caller) owner() query.Owner {
	access := c.accessFilter()
	return query.Owner{TenantID: access.TenantID, Environment: string(access.Environment)}
}

// creator names the caller and what belongs to whom it starts.
func (c caller) creator() maintain.Creator {
	if c.key != nil {
		return maintain.Creator{Label: c.key.Label, Owner: c.owner()}
	}
	return maintain.Creator{Label: c.operator.Label()}
}

// requestInfo is what handlers know about their request besides its input, and what they
// set for the audit log.
type requestInfo struct {
	caller
	bearer     string               // the token as it came
	plainKey   string               // the key as it came
	session    *auth.BrowserSession // instead of a token
	clientIP   string
	resourceID string
	tenantID   *uuid.UUID
	unchanged  bool     // the write changed nothing: there is nothing to record
	changed    []string // names of the settings that the write changed
	attempt    []byte   // of a failed login: what it is counted by; nil = the client's address
}

type requestInfoKey struct{}

// requestInfoOf returns the info of the request that a handler serves.
func requestInfoOf(ctx context.Context) *requestInfo {
	return ctx.Value(requestInfoKey{}).(*requestInfo) //nolint:forcetypeassert // the guard sets it
}

// setAuditResource sets the resource that the audit log records for a write, and its
// tenant.
func setAuditResource(ctx context.Context, id uuid.UUID, tenantID uuid.UUID) {
	info := requestInfoOf(ctx)
	info.resourceID = id.String()
	if tenantID != uuid.Nil {
		info.tenantID = &tenantID
	}
}

// guard returns the middleware of a row. It checks credentials and body, and records the
// outcome in the audit log.
func (a *API) guard(row rest.Route) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		c := humafiber.Unwrap(ctx)
		info := &requestInfo{clientIP: httpx.ClientIP(c, a.deps.TrustedProxies)}
		bounded, cancel := context.WithTimeout(context.WithValue(ctx.Context(), requestInfoKey{}, info), handlingTime)
		defer cancel()
		ctx = huma.WithContext(ctx, bounded)
		err := a.admit(bounded, c, row, info)
		if err == nil {
			err = httpx.CheckBody(c, a.huma.OpenAPI().Components.Schemas, ctx.Operation())
		}
		if err == nil {
			next(ctx)
		} else {
			// The error brings its own status; this one is only the default.
			_ = huma.WriteErr(a.huma, ctx, http.StatusInternalServerError, "", err)
		}
		a.record(bounded, c, row, info)
	}
}

// admit identifies the caller and checks the row's access.
func (a *API) admit(ctx context.Context, c *fiber.Ctx, row rest.Route, info *requestInfo) error {
	accepted := row.Access.Credentials()
	authorization, key := c.Get(fiber.HeaderAuthorization), c.Get(hub.HeaderKey)
	switch {
	case accepted.None:
		return nil
	case accepted.Bearer && authorization != "":
		if err := a.admitBearer(ctx, authorization, info); err != nil {
			return err
		}
		return a.admitOperator(ctx, c, row, info)
	case accepted.Key && key != "":
		return a.admitKey(ctx, c, key, accepted.Scopes, info)
	case accepted.Bearer && c.Cookies(a.cookieName()) != "":
		if err := a.admitBrowser(ctx, c, c.Cookies(a.cookieName()), info); err != nil {
			return err
		}
		return a.admitOperator(ctx, c, row, info)
	case !accepted.Bearer:
		return keys.InvalidKeyError()
	}
	return hub.Errorf(hub.ErrUnauthorized, "unauthorized", "Log in first, and send the access token as Authorization: Bearer.")
}

func (a *API) admitBearer(ctx context.Context, authorization string, info *requestInfo) error {
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		token = ""
	}
	operator, err := a.deps.Auth.Verify(ctx, token)
	if err != nil {
		return err
	}
	info.operator, info.bearer = &operator, token
	return nil
}

// admitOperator checks what the identified operator may do.
func (a *API) admitOperator(ctx context.Context, c *fiber.Ctx, row rest.Route, info *requestInfo) error {
	operator := info.operator
	if row.Access.Credentials().Admin && operator.Role != auth.RoleAdmin {
		return hub.Errorf(hub.ErrForbidden, "admin_only", "Only administrators may do this.")
	}
	if err := requirePerson(row, operator); err != nil {
		return err
	}
	if isLookup(row.ID) && a.deps.LookupLimiter != nil {
		return a.deps.LookupLimiter.AllowLookup(ctx, operator.Label(), c.Set)
	}
	return nil
}

func (a *API) admitKey(ctx context.Context, c *fiber.Ctx, key string, scopes []string, info *requestInfo) error {
	principal, err := a.deps.KeyFinder.LookUp(ctx, key)
	if err != nil {
		return err
	}
	info.key, info.plainKey = &principal, key
	info.tenantID = &principal.TenantID
	if a.deps.KeyLimiter != nil {
		if err := a.deps.KeyLimiter.Allow(ctx, principal, c.Set); err != nil {
			return err
		}
	}
	for _, scope := range scopes {
		if !keys.Allows(principal.Scopes, scope) {
			return hub.Errorf(hub.ErrForbidden, "missing_scope", "This key lacks the scope %s; issue a key that has it.", scope)
		}
	}
	if a.deps.KeyLimiter != nil {
		return a.deps.KeyLimiter.Wait(ctx, principal)
	}
	return nil
}

// isRecorded reports whether the outcome of a request belongs in the audit log: that of a
// write or of a lookup. Requests without valid credentials are left out, except failed
// logins, and so are writes that changed nothing, which clients repeat.
func (i *requestInfo) isRecorded(row rest.Route, status int) bool {
	switch {
	case i.isStranger():
		return isLogin(row)
	case status == http.StatusTooManyRequests || i.unchanged:
		return false
	}
	return row.Method != http.MethodGet || isLookup(row.ID)
}

// isStranger reports whether the request came without valid credentials.
func (i *requestInfo) isStranger() bool { return i.operator == nil && i.key == nil }

// isLogin reports whether a row checks a password.
func isLogin(row rest.Route) bool { return row.ID == actionLogin || row.ID == actionSession }

// record writes the outcome of a request to the audit log, if it belongs there. What
// strangers did is counted by minute: they could fill the log.
func (a *API) record(ctx context.Context, c *fiber.Ctx, row rest.Route, info *requestInfo) {
	status := c.Response().StatusCode()
	if !info.isRecorded(row, status) {
		return
	}
	entry := audit.Entry{
		ActorType: audit.ActorAnonymous, Action: row.ID, Resource: row.Tag(), ResourceID: info.resourceID,
		TenantID: info.tenantID, IP: info.clientIP, RequestID: httpx.RequestID(ctx), Status: status, Changed: info.changed,
	}
	if id, err := uuid.Parse(c.Params("id")); err == nil && entry.ResourceID == "" {
		entry.ResourceID = id.String()
	}
	if info.operator != nil {
		entry.SetActor(info.operator.Actor())
	}
	if info.key != nil {
		entry.ActorType, entry.ActorID, entry.ActorLabel = audit.ActorKey, info.key.KeyID.String(), info.key.Label
	}
	// The outcome is recorded even if the request ran out of time.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordingTime)
	defer cancel()
	if err := a.store(ctx, entry, info); err != nil {
		a.deps.Log.ErrorContext(ctx, "audit entry lost", "error", err, "action", entry.Action, "actor_id", entry.ActorID,
			"resource_id", entry.ResourceID, "status", entry.Status, "request_id", entry.RequestID)
	}
}

// store stores an audit entry, or counts it.
func (a *API) store(ctx context.Context, entry audit.Entry, info *requestInfo) error {
	if !info.isStranger() {
		return a.deps.Audit.Record(ctx, entry) //nolint:wrapcheck // says what failed
	}
	if info.attempt == nil {
		info.attempt = a.deps.Auth.AttemptHash("", info.clientIP)
	}
	return a.deps.Audit.RecordCounted(ctx, entry, info.attempt) //nolint:wrapcheck // says what failed
}
