package moduletest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/migrations"
	"integrationhub/hub/module"
)

var (
	productName = regexp.MustCompile(`^[a-z][a-z0-9]*$`)
	keyPrefix   = regexp.MustCompile(`^[a-z]{2,8}$`)
	semver      = regexp.MustCompile(`^\d+\.\d+\.\d+$`)
)

func checkSpec(t *testing.T, c Case) {
	spec := c.Module.Spec()
	require.Regexp(t, productName, spec.Name)
	require.Regexp(t, keyPrefix, spec.KeyPrefix)
	require.Regexp(t, semver, spec.Version)
	require.Regexp(t, productName, spec.TenantPrefix)
	require.NotEmpty(t, spec.Title)
	for name, list := range map[string][]string{"features": spec.Features, "receives": spec.Receives, "sends": spec.Sends} {
		sorted := slices.Sorted(slices.Values(list))
		require.Len(t, slices.Compact(sorted), len(list), "%s: twice the same", name)
		require.NotContains(t, list, "", name)
	}
	for _, kind := range slices.Concat(spec.Receives, spec.Sends) {
		require.True(t, hub.ValidEventType(kind), "%q is no event type", kind)
	}
	for _, e := range c.Events {
		require.Contains(t, spec.Receives, e.Type, "the case has an event that the product does not receive")
	}
}

// checkMigrations applies the migrations a second time, and looks for what they made outside
// the product's own schema.
func checkMigrations(t *testing.T, c Case, h *Hub) {
	applied, err := migrations.UpProduct(t.Context(), h.DatabaseURL, c.Module.Spec().Name, c.Module.Migrations())
	require.NoError(t, err)
	require.Empty(t, applied, "applied twice")
	var outside []string
	require.NoError(t, h.Host.Pool.QueryRow(t.Context(), `
		select coalesce(array_agg(schemaname || '.' || tablename), '{}') from pg_tables
		where schemaname not in ('hub', 'pg_catalog', 'information_schema', $1) and tablename not like 'goose%'`, c.Module.Spec().Name).Scan(&outside))
	require.Empty(t, outside, "tables outside the product's schema")
}

// ownOperation is an operation of the product's OpenAPI document.
type ownOperation struct {
	id, method, path string
	security         []map[string][]string
}

// ownOperations returns the product's own operations.
func (h *Hub) ownOperations(t *testing.T) []ownOperation {
	t.Helper()
	status, raw := h.call(t, "GET", "/openapi.json", nil)
	require.Equal(t, 200, status)
	var read struct {
		Paths map[string]map[string]struct {
			OperationID string                `json:"operationId"`
			Security    []map[string][]string `json:"security"`
		} `json:"paths"`
	}
	require.NoError(t, json.Unmarshal(raw, &read))
	var list []ownOperation
	for path, methods := range read.Paths {
		below, common := strings.CutPrefix(path, "/api/v1/integrations")
		if path == "/health" || common && !strings.HasPrefix(below, "/search/") && !strings.HasPrefix(below, "/action/") {
			continue // the hub's, with tests of its own
		}
		for method, op := range methods {
			list = append(list, ownOperation{op.OperationID, strings.ToUpper(method), path, op.Security})
		}
	}
	require.NotEmpty(t, list, "the document has no operation of the product")
	return list
}

var parameter = regexp.MustCompile(`\{[^}]+\}`)

// randomPath returns the path with random ids for its parameters.
func (o ownOperation) randomPath() string {
	return parameter.ReplaceAllString(o.path, uuid.NewString())
}

func (h *Hub) call(t *testing.T, method, path string, header http.Header) (status int, body []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, h.Base+path, nil)
	require.NoError(t, err)
	for name, values := range header {
		req.Header[name] = values
	}
	res, err := hubtest.HTTPClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, body
}

// checkOperations requires that everything is documented with who may call it, and that nobody
// else may.
func checkOperations(t *testing.T, c Case, h *Hub) {
	ids := map[string]bool{}
	for _, op := range h.ownOperations(t) {
		require.NotEmpty(t, op.id, "%s %s has no operation id", op.method, op.path)
		require.False(t, ids[op.id], "%s: two operations", op.id)
		ids[op.id] = true
		if slices.Contains(c.Public, op.id) {
			continue
		}
		require.NotEmpty(t, op.security, "%s %s (%s) names no security scheme and is not public", op.method, op.path, op.id)
		for _, requirement := range op.security {
			for scheme := range requirement {
				require.Contains(t, []string{module.SchemeBearer, module.SchemeKey}, scheme, op.id)
			}
			for _, scope := range requirement[module.SchemeKey] {
				require.Contains(t, append(c.Module.Spec().Features, module.ScopeInteraction), scope, "%s: a scope that is no feature", op.id)
			}
		}
		if slices.ContainsFunc(op.security, func(requirement map[string][]string) bool { return len(requirement) == 0 }) {
			continue // public
		}
		for name, header := range map[string]http.Header{
			"nothing": {}, "an unknown token": {"Authorization": {"Bearer " + uuid.NewString()}}, "an unknown key": {hub.HeaderKey: {"garbage"}},
		} {
			status, _ := h.call(t, op.method, op.randomPath(), header)
			require.Equal(t, 401, status, "%s with %s", op.id, name)
		}
	}
	for _, id := range c.Public {
		require.True(t, ids[id], "%s is no operation of the product", id)
	}
}

// checkTokens requires that what is no token is unauthorized, and nothing worse.
func checkTokens(t *testing.T, c Case, h *Hub) {
	for _, token := range []string{"", "x", uuid.NewString(), "'; select 1 --", strings.Repeat("x", 10_000), "eyJhbGciOiJub25lIn0.e30."} {
		_, err := h.Instance.Authenticate(t.Context(), token)
		require.ErrorIs(t, err, hub.ErrUnauthorized, "token %.20q", token)
	}
	for _, op := range h.ownOperations(t) {
		if slices.ContainsFunc(op.security, func(requirement map[string][]string) bool {
			_, ok := requirement[module.SchemeBearer]
			return ok && len(op.security) == 1
		}) {
			status, _ := h.call(t, op.method, op.randomPath(), http.Header{"Authorization": {"Bearer \xff\xfe"}})
			require.Equal(t, 401, status, op.id)
		}
	}
	a := c.SignUp(t, h.Base)
	caller, err := h.Instance.Authenticate(t.Context(), a.Token)
	require.NoError(t, err)
	require.Equal(t, a.Tenant, caller.TenantID)
	require.True(t, caller.Admin)
	require.NotEmpty(t, caller.Name, "for the audit log")
	tenant, err := h.Host.Tenants.Get(t.Context(), a.Tenant)
	require.NoError(t, err, "the hub knows the tenant")
	require.NotEmpty(t, tenant.Name)
}

// checkTenants requires that what is another tenant's is not there.
func checkTenants(t *testing.T, c Case, h *Hub) {
	owner, other := c.SignUp(t, h.Base), c.SignUp(t, h.Base)
	var paths map[string]string
	if c.Resources != nil {
		paths = c.Resources(t, h.Base, owner)
	}
	bearer := func(a Account) http.Header { return http.Header{"Authorization": {"Bearer " + a.Token}} }
	for _, op := range h.ownOperations(t) {
		if !parameter.MatchString(op.path) || slices.Contains(c.Public, op.id) {
			continue
		}
		path, ok := paths[op.path]
		require.True(t, ok, "the case has no resource for %s", op.path)
		if op.method != http.MethodGet {
			continue // their bodies are the product's own tests
		}
		status, _ := h.call(t, op.method, path, bearer(owner))
		require.Equal(t, 200, status, "%s %s", op.method, path)
		status, _ = h.call(t, op.method, path, bearer(other))
		require.Equal(t, 404, status, "%s %s of another tenant", op.method, path)
	}
}

var errUndo = errors.New("undo")

// checkHandle requires that an event has its effect in the transaction that is handed over,
// and on its own tenant only.
func checkHandle(t *testing.T, c Case, h *Hub) {
	handled := map[string]bool{}
	for _, e := range c.Events {
		handled[e.Type] = true
		owner, other := c.SignUp(t, h.Base), c.SignUp(t, h.Base)
		e.ID, e.TenantID, e.Environment, e.Product, e.Time = hub.NewEventID(), owner.Tenant, hub.Live, "peer", time.Now()
		before, others := c.State(t, h.Host, owner.Tenant), c.State(t, h.Host, other.Tenant)
		for range 2 { // the same event again, after a rollback
			err := pgx.BeginFunc(t.Context(), h.Host.Pool, func(tx pgx.Tx) error {
				if err := h.Instance.Handle(t.Context(), tx, e); err != nil && !errors.Is(err, module.ErrIgnored) {
					return err
				}
				return errUndo
			})
			require.ErrorIs(t, err, errUndo, e.Type)
			require.Equal(t, before, c.State(t, h.Host, owner.Tenant), "%s: what is rolled back has no effect", e.Type)
		}
		var outcome error
		require.NoError(t, pgx.BeginFunc(t.Context(), h.Host.Pool, func(tx pgx.Tx) error {
			if outcome = h.Instance.Handle(t.Context(), tx, e); errors.Is(outcome, module.ErrIgnored) {
				return nil
			}
			return outcome
		}), e.Type)
		if outcome == nil {
			require.NotEqual(t, before, c.State(t, h.Host, owner.Tenant), "%s has no effect and is not ignored", e.Type)
		}
		require.Equal(t, others, c.State(t, h.Host, other.Tenant), "%s: another tenant's data", e.Type)

		e.ID, e.Data = hub.NewEventID(), json.RawMessage(`{}`)
		require.NotPanics(t, func() {
			_ = pgx.BeginFunc(t.Context(), h.Host.Pool, func(tx pgx.Tx) error { _ = h.Instance.Handle(t.Context(), tx, e); return errUndo })
		}, "%s without its fields", e.Type)
	}
	for _, kind := range c.Module.Spec().Receives {
		require.True(t, handled[kind], "the case has no event %s", kind)
	}
}

// checkPresenter requires JSON of the shapes that are a product's own.
func checkPresenter(t *testing.T, _ Case, h *Hub) {
	shapes, ok := h.Instance.(module.Presenter)
	if !ok {
		return
	}
	integration := module.Integration{ID: uuid.New(), TenantID: uuid.New(), Environment: hub.Live, Product: "peer", Status: "active", LocalKeyLast4: "abcd"}
	raw, err := json.Marshal(shapes.PresentConnect(integration))
	require.NoError(t, err)
	require.Regexp(t, `^\{.+\}$`, string(raw), "connect responds with an object")
	for _, list := range [][]module.Integration{nil, {}, {integration}} {
		raw, err := json.Marshal(shapes.PresentStatus(list))
		require.NoError(t, err)
		require.Regexp(t, `^[\[{]`, string(raw), "status responds with a list or an object, also of nothing")
	}
}

func checkJobsAndPages(t *testing.T, _ Case, h *Hub) {
	if provider, ok := h.Instance.(module.JobProvider); ok {
		names := map[string]bool{}
		for _, job := range provider.Jobs() {
			require.NotEmpty(t, job.Name)
			require.False(t, names[job.Name], "two jobs %s", job.Name)
			require.NotNil(t, job.Run, job.Name)
			names[job.Name] = true
		}
	}
	if pages, ok := h.Instance.(module.PageProvider); ok {
		for path, page := range pages.Pages() {
			require.True(t, strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "/api"), path)
			require.NotNil(t, page, path)
		}
	}
	if searcher, ok := h.Instance.(module.PhoneSearcher); ok {
		found, err := searcher.SearchPhone(t.Context(), "+5511987654321")
		require.NoError(t, err)
		require.LessOrEqual(t, len(found), 100)
	}
	if searcher, ok := h.Instance.(module.EmailSearcher); ok {
		found, err := searcher.SearchEmail(t.Context(), "ana@example.com")
		require.NoError(t, err)
		require.LessOrEqual(t, len(found), 100)
	}
	if searcher, ok := h.Instance.(module.CPFSearcher); ok {
		found, err := searcher.SearchCPFEnd(t.Context(), "09")
		require.NoError(t, err)
		require.LessOrEqual(t, len(found), 100)
	}
}
