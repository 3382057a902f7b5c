package productapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humafiber"
	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/audit"
	"integrationhub/hub/internal/auth"
	"integrationhub/hub/internal/connect"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
)

const (
	requestTimeout = 45 * time.Second // of a request: a handshake calls its peer three times at most
	auditTimeout   = 5 * time.Second  // of storing a request's audit entry
)

// HeaderEnvironment is the header with which a user asks for test data.
const HeaderEnvironment = "X-Environment"

// access is what an operation requires of its caller.
type access struct {
	rest.Credentials
	isHandshake bool // keys of inactive integrations may call it; they are checked against the newest configuration
	isSignUp    bool // it creates an account
}

// requestInfo is what the guard knows of a request and what handlers add for the audit
// log.
type requestInfo struct {
	caller     module.Caller
	isKnown    bool            // caller is set
	key        *keys.Principal // nil for users
	clientIP   string
	resourceID string // that the request was about, or ""
	subjectID  string // the person whose data it was about, or ""

	isUnverified bool           // a webhook whose signature was not verified: it is counted
	webhook      *signedWebhook // a webhook whose signature is valid; nil: the request is none

	operator      *auth.Operator // who creates an account; nil: the request is no such one
	createdTenant uuid.UUID      // of the account
}

type requestInfoKey struct{}

// requestInfoFrom returns what the guard knows of the request that a handler serves.
func requestInfoFrom(ctx context.Context) *requestInfo {
	return ctx.Value(requestInfoKey{}).(*requestInfo) //nolint:forcetypeassert // the guard puts it there
}

// setAuditResource sets which resource the audit log has for a request.
func setAuditResource(ctx context.Context, id uuid.UUID) {
	requestInfoFrom(ctx).resourceID = id.String()
}

// guard serves an operation if its caller may call it, as its Security says, and the body
// follows the rules. It records the outcome in the audit log. As a middleware of the API
// it covers every group of operations.
func (p *Product) guard(ctx huma.Context, serve func(huma.Context)) {
	op, c := ctx.Operation(), humafiber.Unwrap(ctx)
	info := &requestInfo{clientIP: httpx.ClientIP(c, p.deps.TrustedProxies)}
	audited, trail := module.WithAuditTrail(context.WithValue(ctx.Context(), requestInfoKey{}, info))
	bounded, cancel := context.WithTimeout(audited, requestTimeout)
	defer cancel()
	required := access{
		Credentials: rest.Access(op.Security).Credentials(),
		isHandshake: op.OperationID == actionStatus || op.OperationID == actionRegister || op.OperationID == actionUnregister,
		isSignUp:    op.Metadata[module.MetadataSignUp] == true,
	}
	err := p.authorize(bounded, c, required, info)
	bounded = module.WithClientIP(bounded, info.clientIP)
	if info.isKnown {
		bounded = module.WithCaller(bounded, info.caller)
	}
	ctx = huma.WithContext(ctx, bounded)
	if err == nil && info.isKnown {
		err = p.deps.Directory.CheckActive(info.caller.TenantID)
	}
	if check, ok := op.Metadata[module.MetadataCallerCheck].(module.CallerCheck); ok && err == nil {
		ctx, err = check(ctx)
	}
	if err == nil && info.isKnown && info.key == nil && strings.HasPrefix(op.Path, interfacePath) {
		err = p.deps.Limiter.AllowUsers(bounded, info.caller.TenantID, c.Set)
	}
	if err == nil {
		var leave func()
		if leave, err = p.gates.enter(ctx, info); err == nil {
			defer leave()
			err = p.checkBody(op, c)
		}
	}
	if err == nil {
		serve(ctx)
	} else {
		// The error has a status of its own; this one counts only if it has none.
		_ = huma.WriteErr(p.api, ctx, http.StatusInternalServerError, "", err)
	}
	info.subjectID = trail.Subject()
	p.identifyLogin(bounded, trail, info)
	if !strings.HasPrefix(op.Path, interfacePath) && info.key == nil && op.Method == http.MethodGet && !trail.Required() {
		return
	}
	if err := p.recordAudit(bounded, c, op.OperationID, info); err != nil && trail.Required() && (op.Method == http.MethodGet || trail.ReadOnly()) {
		c.Response().ResetBody() // a read that cannot be recorded is not answered
		c.Response().Header.Del(fiber.HeaderContentDisposition)
		_ = huma.WriteErr(p.api, huma.WithContext(ctx, bounded), http.StatusServiceUnavailable, "", store.Wrap("recording who read", err))
	}
}

// identifyLogin sets who logged in with a request, for the audit log.
func (p *Product) identifyLogin(ctx context.Context, trail *module.AuditTrail, info *requestInfo) {
	if trail.AccessToken() == "" || info.isKnown {
		return
	}
	caller, err := p.instance.Authenticate(ctx, trail.AccessToken())
	if err != nil {
		p.deps.Log.WarnContext(ctx, "a login is not in the audit log", "error", err)
		return
	}
	caller.Environment = "" // it is for both
	info.caller, info.isKnown = caller, true
}

// authorize identifies the caller and checks that it may call the operation.
func (p *Product) authorize(ctx context.Context, c *fiber.Ctx, required access, info *requestInfo) error {
	authorization, key := c.Get(fiber.HeaderAuthorization), c.Get(hub.HeaderKey)
	if key == "" && p.spec.KeyHeader != "" && strings.HasPrefix(c.Get(p.spec.KeyHeader), p.spec.KeyPrefix+"_") {
		key = c.Get(p.spec.KeyHeader)
	}
	switch {
	case required.isSignUp && p.deps.Operators != nil:
		return p.authorizeSignUp(ctx, authorization, info)
	case required.Bearer && authorization != "":
		return p.authorizeUser(ctx, c, authorization, required, info)
	case required.Key && key != "":
		return p.authorizeKey(ctx, c, key, required, info)
	case required.None:
		return nil
	case required.Bearer:
		return errNotLoggedIn()
	}
	return keys.InvalidKeyError()
}

func errNotLoggedIn() *hub.Error {
	return hub.Errorf(hub.ErrUnauthorized, "unauthorized", "Log in first, and send the access token as Authorization: Bearer.")
}

func (p *Product) authorizeUser(ctx context.Context, c *fiber.Ctx, authorization string, required access, info *requestInfo) error {
	token, err := bearerToken(authorization)
	if err != nil {
		return err
	}
	caller, err := p.instance.Authenticate(ctx, token)
	if err != nil {
		return err
	}
	caller.Environment = hub.Live
	switch c.Get(HeaderEnvironment) {
	case "", string(hub.Live):
	case string(hub.Test):
		caller.Environment = hub.Test
	default:
		return hub.Invalid("header."+HeaderEnvironment, "must be live or test")
	}
	info.caller, info.isKnown = caller, true
	if required.Admin && !caller.Admin {
		return hub.Errorf(hub.ErrForbidden, "admin_only", "Only administrators may do this.")
	}
	return nil
}

// bearerToken returns the token of an Authorization header; "" for other schemes.
func bearerToken(authorization string) (string, error) {
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", nil
	}
	if !isTokenText(token) {
		return "", errNotLoggedIn() // a product may ask its database, which refuses such text
	}
	return token, nil
}

// isTokenText reports whether a text has only printable ASCII characters.
func isTokenText(token string) bool {
	return !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
}

func (p *Product) authorizeKey(ctx context.Context, c *fiber.Ctx, key string, required access, info *requestInfo) error {
	if required.isHandshake {
		if err := p.deps.Directory.Refresh(ctx); err != nil {
			return store.Wrap("reading the configuration", err)
		}
	}
	principal, err := p.principalFor(ctx, c, key)
	if principal.KeyID != uuid.Nil {
		info.key, info.isKnown = &principal, true
		info.caller = module.Caller{
			TenantID: principal.TenantID, Environment: principal.Environment, Name: principal.Label,
			KeyID: principal.KeyID, Scopes: principal.Scopes, IntegrationID: principal.Integration,
		}
	}
	if err != nil {
		return err
	}
	for _, scope := range required.Scopes {
		if !keys.Allows(principal.Scopes, scope) {
			return hub.Errorf(hub.ErrForbidden, "missing_scope", "This key lacks the scope %s; issue a key that has it.", scope)
		}
	}
	if principal.Integration == uuid.Nil {
		return nil
	}
	return p.withRefresh(ctx, func() error {
		peer, err := p.deps.Directory.Integration(ctx, principal.Integration)
		if err != nil || peer == nil {
			return err
		}
		if peer.Product != connect.UnnamedProduct {
			info.caller.Peer = peer.Product
		}
		if peer.Status == integration.StatusInactive && !required.isHandshake {
			return errInactive()
		}
		return nil
	})
}

// withRefresh runs a check against the cached configuration. If the check refuses the
// caller and the configuration has changed since it was cached, it runs again: a handshake
// may have ended a moment ago.
func (p *Product) withRefresh(ctx context.Context, check func() error) error {
	version := p.deps.Directory.Version()
	err := check()
	if !errors.Is(err, hub.ErrUnauthorized) && !errors.Is(err, hub.ErrForbidden) {
		return err
	}
	if p.deps.Directory.Refresh(ctx) != nil || p.deps.Directory.Version() == version {
		return err
	}
	return check()
}

func errInactive() *hub.Error {
	return hub.Errorf(hub.ErrForbidden, "integration_inactive", "This integration is inactive; an administrator can enable it (hub integrations enable ID, or the console).")
}

// principalFor returns who a key belongs to, after counting the request against the rates
// of the key and of its integration. A valid key's principal is returned beside
// a [hub.ErrRateLimited] too.
func (p *Product) principalFor(ctx context.Context, c *fiber.Ctx, key string) (keys.Principal, error) {
	principal, err := p.deps.Directory.LookUp(ctx, key)
	if err != nil {
		return keys.Principal{}, err
	}
	if principal.Product != p.spec.Name { // another product's key is no key here
		return keys.Principal{}, keys.InvalidKeyError()
	}
	if err := p.deps.Limiter.Allow(ctx, principal, c.Set); err != nil {
		return principal, err
	}
	if principal.Integration == uuid.Nil {
		return principal, nil
	}
	return principal, p.deps.Limiter.AllowIntegration(ctx, principal, c.Set)
}

// checkBody checks the form of a body by what its operation takes. Where it takes a form or
// JSON, what is sent as multipart/… has to be a form.
func (p *Product) checkBody(op *huma.Operation, c *fiber.Ctx) error {
	switch {
	case op.RequestBody == nil:
	case op.RequestBody.Content[fiber.MIMEMultipartForm] != nil && op.RequestBody.Content[fiber.MIMEApplicationJSON] != nil:
		if media := c.Get(fiber.HeaderContentType); len(media) >= len("multipart/") && strings.EqualFold(media[:len("multipart/")], "multipart/") {
			return checkForm(fiber.MIMEMultipartForm)(c)
		}
	case op.RequestBody.Content[fiber.MIMEMultipartForm] != nil:
		return checkForm(fiber.MIMEMultipartForm)(c)
	case op.RequestBody.Content[fiber.MIMEApplicationForm] != nil:
		return checkForm(fiber.MIMEApplicationForm)(c)
	}
	return httpx.CheckBody(c, p.api.OpenAPI().Components.Schemas, op)
}

// recordAudit writes a request's outcome to the audit log. Requests of unknown callers and
// those over their rate are left out: strangers could fill the log. An entry that cannot
// be stored goes to the process's own log.
func (p *Product) recordAudit(ctx context.Context, c *fiber.Ctx, action string, info *requestInfo) error {
	status := c.Response().StatusCode()
	if !info.isKnown && info.operator == nil || status == http.StatusTooManyRequests {
		return nil
	}
	entry := p.auditEntry(ctx, action, info, status)
	if entry.ResourceID == "" {
		entry.ResourceID = resourceIDOf(c.Params("id"))
	}
	// The outcome is final, so it is recorded even if the request ran out of time.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTimeout)
	defer cancel()
	err := p.storeAudit(ctx, entry, info)
	if err != nil {
		p.deps.Log.ErrorContext(ctx, "audit entry lost", "error", err, "action", entry.Action, "actor_id", entry.ActorID,
			"resource_id", entry.ResourceID, "status", entry.Status, "request_id", entry.RequestID)
	}
	return err
}

// resourceIDOf returns the id in a path as the audit log has it: a UUID or a number. Other texts
// are left out: anything may be in a path.
func resourceIDOf(param string) string {
	if id, err := uuid.Parse(param); err == nil {
		return id.String()
	}
	if n, err := strconv.ParseInt(param, 10, 64); err == nil && n > 0 {
		return strconv.FormatInt(n, 10)
	}
	return ""
}

// storeAudit stores an audit entry, or counts it by key and address.
func (p *Product) storeAudit(ctx context.Context, entry audit.Entry, info *requestInfo) error {
	if !info.isUnverified {
		return p.deps.Audit.Record(ctx, entry) //nolint:wrapcheck // says what failed
	}
	return p.deps.Audit.RecordCounted(ctx, entry, []byte(entry.ActorID+" "+httpx.ClientNetwork(info.clientIP))) //nolint:wrapcheck // says what failed
}

func (p *Product) auditEntry(ctx context.Context, action string, info *requestInfo, status int) audit.Entry {
	resource, _, _ := strings.Cut(action, ".")
	entry := audit.Entry{
		ActorType: audit.ActorTenantUser, ActorID: info.caller.UserID.String(), ActorLabel: info.caller.Name,
		Action: action, Resource: resource, ResourceID: info.resourceID, TenantID: &info.caller.TenantID,
		IP: info.clientIP, RequestID: httpx.RequestID(ctx), Status: status,
		Environment: info.caller.Environment, SubjectID: info.subjectID,
	}
	if info.key != nil {
		entry.ActorType, entry.ActorID, entry.ActorLabel = audit.ActorKey, info.key.KeyID.String(), info.key.Label
	}
	if info.operator != nil {
		info.describeSignUp(&entry)
	}
	return entry
}
