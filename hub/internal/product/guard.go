package product

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humafiber"
	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/audit"
	"integrationhub/hub/internal/connect"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
)

// handlingTime is how long a request may take; a handshake calls its peer three
// times at most.
const handlingTime = 45 * time.Second

// recordingTime is how long the audit log is waited for after a request.
const recordingTime = 5 * time.Second

// HeaderEnvironment lets a user work on test data.
const HeaderEnvironment = "X-Environment"

// access is what an operation's Security accepts.
type access struct {
	rest.Credentials
	// The call is about connecting: keys of integrations that are not in use may make
	// it, and what this process knows of the key has to be up to date.
	connecting bool
}

// about is what the guard knows of a request, and what handlers tell the audit log.
type about struct {
	caller     module.Caller
	key        *keys.Principal
	known      bool
	clientIP   string
	resourceID string
	subjectID  string // the person it turned out to be about
}

type aboutKey struct{}

// aboutOf gives what the guard knows of the request that a handler serves.
func aboutOf(ctx context.Context) *about {
	return ctx.Value(aboutKey{}).(*about) //nolint:forcetypeassert // the guard puts it there
}

// touched tells the audit log which resource a request was about.
func touched(ctx context.Context, id uuid.UUID) { aboutOf(ctx).resourceID = id.String() }

// guard lets through to an operation who may call it, as its Security says, with a
// body that keeps the rules, and records in the audit log what came of it. It is a
// middleware of the API, so that no group of operations goes around it.
func (p *Product) guard(ctx huma.Context, serve func(huma.Context)) {
	op, c := ctx.Operation(), humafiber.Unwrap(ctx)
	who := &about{clientIP: httpx.ClientIP(c, p.deps.TrustedProxies)}
	trailed, trail := module.WithAuditTrail(context.WithValue(ctx.Context(), aboutKey{}, who))
	bounded, cancel := context.WithTimeout(trailed, handlingTime)
	defer cancel()
	needs := access{
		Credentials: rest.Access(op.Security).Credentials(),
		connecting:  op.OperationID == actionStatus || op.OperationID == actionRegister || op.OperationID == actionUnregister,
	}
	err := p.admit(bounded, c, needs, who)
	if err == nil {
		err = checkOf(op)(c)
	}
	if err == nil {
		bounded = module.WithClientIP(bounded, who.clientIP)
		if who.known {
			bounded = module.WithCaller(bounded, who.caller)
		}
		serve(huma.WithContext(ctx, bounded))
	} else {
		// The status is the error's own; this one only counts where it has none.
		_ = huma.WriteErr(p.api, huma.WithContext(ctx, bounded), http.StatusInternalServerError, "", err)
	}
	who.subjectID = trail.Subject()
	if !strings.HasPrefix(op.Path, integrations) && who.key == nil && op.Method == http.MethodGet && !trail.Required() {
		return
	}
	if err := p.record(bounded, c, op.OperationID, who); err != nil && trail.Required() && (op.Method == http.MethodGet || trail.ReadOnly()) {
		c.Response().ResetBody() // what is not on record is not shown
		c.Response().Header.Del(fiber.HeaderContentDisposition)
		_ = huma.WriteErr(p.api, huma.WithContext(ctx, bounded), http.StatusServiceUnavailable, "", store.Failed("recording who read", err))
	}
}

// admit finds out who calls and whether they may.
func (p *Product) admit(ctx context.Context, c *fiber.Ctx, needs access, who *about) error {
	authorization, key := c.Get(fiber.HeaderAuthorization), c.Get(hub.HeaderKey)
	switch {
	case needs.Bearer && authorization != "":
		return p.admitUser(ctx, c, authorization, needs, who)
	case needs.Key && key != "":
		return p.admitKey(ctx, c, key, needs, who)
	case needs.None:
		return nil
	case needs.Bearer:
		return loggedOut()
	}
	return keys.Refused()
}

func loggedOut() *hub.Error {
	return hub.Errorf(hub.ErrUnauthorized, "unauthorized", "Log in first, and send the access token as Authorization: Bearer.")
}

func (p *Product) admitUser(ctx context.Context, c *fiber.Ctx, authorization string, needs access, who *about) error {
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		token = ""
	}
	if !plainToken(token) {
		return loggedOut() // a product may ask its database, which refuses such text
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
	who.caller, who.known = caller, true
	if needs.Admin && !caller.Admin {
		return hub.Errorf(hub.ErrForbidden, "admin_only", "Only administrators may do this.")
	}
	return nil
}

// plainToken tells whether a text has only characters that tokens are made of.
func plainToken(token string) bool {
	return !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
}

func (p *Product) admitKey(ctx context.Context, c *fiber.Ctx, key string, needs access, who *about) error {
	if needs.connecting {
		if err := p.deps.Directory.Refresh(ctx); err != nil {
			return store.Failed("reading the configuration", err)
		}
	}
	principal, err := p.speaker(ctx, c, key)
	if principal.KeyID != uuid.Nil {
		who.key, who.known = &principal, true
		who.caller = module.Caller{
			TenantID: principal.TenantID, Environment: principal.Environment, Name: principal.Label,
			KeyID: principal.KeyID, Scopes: principal.Scopes, IntegrationID: principal.Integration,
		}
	}
	if err != nil {
		return err
	}
	for _, scope := range needs.Scopes {
		if !keys.Allows(principal.Scopes, scope) {
			return hub.Errorf(hub.ErrForbidden, "missing_scope", "This key lacks the scope %s.", scope)
		}
	}
	if principal.Integration == uuid.Nil {
		return nil
	}
	return p.fresh(ctx, func() error {
		integration, err := p.deps.Directory.Integration(ctx, principal.Integration)
		if err != nil || integration == nil {
			return err
		}
		who.caller.Peer = integration.Product
		if integration.Status == connect.Inactive && !needs.connecting {
			return inactive()
		}
		return nil
	})
}

// fresh asks again where something was refused by a configuration that this process
// had not seen changing yet: a handshake may have ended a moment ago.
func (p *Product) fresh(ctx context.Context, ask func() error) error {
	version := p.deps.Directory.Version()
	err := ask()
	if !errors.Is(err, hub.ErrUnauthorized) && !errors.Is(err, hub.ErrForbidden) {
		return err
	}
	if p.deps.Directory.Refresh(ctx) != nil || p.deps.Directory.Version() == version {
		return err
	}
	return ask()
}

func inactive() *hub.Error {
	return hub.Errorf(hub.ErrForbidden, "integration_inactive", "This integration is not in use.")
}

// speaker is who a key belongs to, once its rate and its integration's allow another
// request. A principal is given for every key that is good, also beside an error.
func (p *Product) speaker(ctx context.Context, c *fiber.Ctx, key string) (keys.Principal, error) {
	principal, err := p.deps.Directory.LookUp(ctx, key)
	if err != nil {
		return keys.Principal{}, err
	}
	if principal.Product != p.spec.Name { // another product's key is no key here
		return keys.Principal{}, keys.Refused()
	}
	if err := p.deps.Limiter.Allow(ctx, principal, c.Set); err != nil {
		return principal, err
	}
	if principal.Integration == uuid.Nil {
		return principal, nil
	}
	return principal, p.deps.Limiter.AllowIntegration(ctx, principal, c.Set)
}

// checkOf are the rules for the bodies that an operation takes.
func checkOf(op *huma.Operation) func(*fiber.Ctx) error {
	switch {
	case op.RequestBody == nil:
	case op.RequestBody.Content[fiber.MIMEMultipartForm] != nil:
		return checkForm(fiber.MIMEMultipartForm)
	case op.RequestBody.Content[fiber.MIMEApplicationForm] != nil:
		return checkForm(fiber.MIMEApplicationForm)
	}
	return checkBody
}

// checkBody applies the rules for bodies to every request that has one.
func checkBody(c *fiber.Ctx) error {
	body, err := httpx.JSONBody(c)
	if err != nil || len(body) == 0 {
		return err
	}
	return httpx.CheckJSON(body, httpx.JSONRules{UniqueKeys: true})
}

// record writes what came of a request to the audit log, unless nobody known made
// it, or it was over its rate: strangers could fill the log. What cannot be written
// goes to the process's own log.
func (p *Product) record(ctx context.Context, c *fiber.Ctx, action string, who *about) error {
	status := c.Response().StatusCode()
	if !who.known || status == http.StatusTooManyRequests {
		return nil
	}
	entry := p.entry(ctx, action, who, status)
	if id, err := uuid.Parse(c.Params("id")); err == nil && entry.ResourceID == "" {
		entry.ResourceID = id.String()
	}
	// The outcome stands, so it is recorded even where the request ran out of time.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordingTime)
	defer cancel()
	err := p.deps.Audit.Record(ctx, entry)
	if err != nil {
		p.deps.Log.ErrorContext(ctx, "audit entry lost", "error", err, "action", entry.Action, "actor_id", entry.ActorID,
			"resource_id", entry.ResourceID, "status", entry.Status, "request_id", entry.RequestID)
	}
	return err
}

func (p *Product) entry(ctx context.Context, action string, who *about, status int) audit.Entry {
	resource, _, _ := strings.Cut(action, ".")
	entry := audit.Entry{
		ActorType: audit.ActorTenantUser, ActorID: who.caller.UserID.String(), ActorLabel: who.caller.Name,
		Action: action, Resource: resource, ResourceID: who.resourceID, TenantID: &who.caller.TenantID,
		IP: who.clientIP, RequestID: httpx.RequestID(ctx), Status: status,
		Environment: who.caller.Environment, SubjectID: who.subjectID,
	}
	if who.key != nil {
		entry.ActorType, entry.ActorID, entry.ActorLabel = audit.ActorKey, who.key.KeyID.String(), who.key.Label
	}
	return entry
}
