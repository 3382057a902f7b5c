package moduletest_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/hubtest/notes"
	"integrationhub/hub/module"
)

// envBroken names the broken product that a process of this test's own runs.
const envBroken = "MODULETEST_BREAKS"

func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv(envBroken) != "" {
		if err := flag.Set("test.run", "^TestSuite$"); err != nil {
			panic(err)
		}
	}
	hubtest.Main(m)
}

// post calls the product and reads its answer.
func post(t *testing.T, url, token, body string, into any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := hubtest.HTTPClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Less(t, res.StatusCode, 300, string(raw))
	require.NoError(t, json.Unmarshal(raw, into))
}

func validCase() moduletest.Case {
	return moduletest.Case{
		Module: notes.New("notes"), Public: []string{"auth.register", "notes.echo", "notes.use"},
		SignUp: func(t *testing.T, base string) moduletest.Account {
			t.Helper()
			var account struct {
				TenantID uuid.UUID `json:"tenant_id"`
				Token    string    `json:"token"`
			}
			post(t, base+"/api/v1/auth/register", "", `{"name":"Somebody"}`, &account)
			return moduletest.Account{Tenant: account.TenantID, Token: account.Token}
		},
		Resources: func(t *testing.T, base string, a moduletest.Account) map[string]string {
			t.Helper()
			text := uuid.NewString()
			post(t, base+"/api/v1/publish", a.Token, `{"author":"","text":"`+text+`"}`, &struct{}{})
			return map[string]string{"/api/v1/notes/{text}": "/api/v1/notes/" + text}
		},
		Events: []hub.Event{{Type: notes.EventCreated, Data: []byte(`{"text":"x"}`)}, {Type: notes.EventIgnored, Data: []byte(`{"text":"x"}`)}},
		State: func(t *testing.T, host module.Host, tenant uuid.UUID) string {
			t.Helper()
			var n int
			require.NoError(t, host.Pool.QueryRow(t.Context(), `select count(*) from notes where tenant_id = $1`, tenant).Scan(&n))
			return fmt.Sprint(n)
		},
	}
}

// brokenModule is the intact product but for what is set.
type brokenModule struct {
	module.Module
	spec   func(*module.Spec)
	handle func(ctx context.Context, host module.Host, tx pgx.Tx, e hub.Event, intact module.Instance) error
	routes func(huma.API)
	accept bool // any token
}

// keepValidEvents leaves out the types of events that notes are not meant to survive.
func keepValidEvents(s *module.Spec) { s.Receives = []string{notes.EventCreated, notes.EventIgnored} }

func (c brokenModule) Spec() module.Spec {
	s := c.Module.Spec()
	keepValidEvents(&s)
	if c.spec != nil {
		c.spec(&s)
	}
	return s
}

func (c brokenModule) Open(ctx context.Context, host module.Host) (module.Instance, error) {
	instance, err := c.Module.Open(ctx, host)
	return &product{instance, c, host}, err
}

type product struct {
	module.Instance
	changed brokenModule
	host    module.Host
}

func (p *product) Handle(ctx context.Context, tx pgx.Tx, e hub.Event) error {
	if p.changed.handle != nil {
		return p.changed.handle(ctx, p.host, tx, e, p.Instance)
	}
	return p.Instance.Handle(ctx, tx, e)
}

func (p *product) RegisterRoutes(api huma.API) {
	p.Instance.RegisterRoutes(api)
	if p.changed.routes != nil {
		p.changed.routes(api)
	}
}

func (p *product) Authenticate(ctx context.Context, token string) (module.Caller, error) {
	caller, err := p.Instance.Authenticate(ctx, token)
	if p.changed.accept {
		return caller, nil
	}
	return caller, err
}

// extra is one more operation, which answers all callers alike.
func extra(path string, security ...map[string][]string) func(huma.API) {
	return func(api huma.API) {
		huma.Register(api, huma.Operation{OperationID: "extra", Method: http.MethodGet, Path: path, Security: security},
			func(context.Context, *struct {
				Text string `path:"text"`
			}) (*struct{ Body string }, error) {
				return &struct{ Body string }{"x"}, nil
			})
	}
}

func broken() map[string]struct {
	change brokenModule
	output string
} {
	return map[string]struct {
		change brokenModule
		output string
	}{
		"writes beside the transaction": {brokenModule{handle: func(ctx context.Context, host module.Host, tx pgx.Tx, e hub.Event, intact module.Instance) error {
			_, err := host.Pool.Exec(ctx, `insert into notes (tenant_id, environment, author, event_id, text) values ($1, 'live', 'x', '', 'y')`, e.TenantID)
			return err
		}}, "what is rolled back has no effect"},
		"everybody's notes": {brokenModule{handle: func(ctx context.Context, _ module.Host, tx pgx.Tx, e hub.Event, intact module.Instance) error {
			_, err := tx.Exec(ctx, `insert into notes (tenant_id, environment, author, event_id, text) select distinct tenant_id, 'live', 'x', '', 'y' from users`)
			return err
		}}, "another tenant's data"},
		"does nothing": {brokenModule{handle: func(context.Context, module.Host, pgx.Tx, hub.Event, module.Instance) error { return nil }}, "has no effect and is not ignored"},
		"open door":    {brokenModule{routes: extra("/api/v1/extra")}, "names no security scheme"},
		"one for all":  {brokenModule{routes: extra("/api/v1/extra/{text}", map[string][]string{module.SchemeBearer: {}})}, "has no resource"},
		"open sign-up": {brokenModule{routes: func(api huma.API) {
			delete(api.OpenAPI().Paths["/api/v1/auth/register"].Post.Metadata, module.MetadataSignUp)
		}}, "TestSuite/sign-up"},
		"any token":   {brokenModule{accept: true}, "TestSuite/tokens"},
		"bad version": {brokenModule{spec: func(s *module.Spec) { s.Version = "1" }}, "TestSuite/spec"},
		"more than it handles": {brokenModule{spec: func(s *module.Spec) {
			s.Receives = append(s.Receives, "note.lost")
		}}, "has no event note.lost"},
	}
}

// TestSuite is the suite itself: with the intact product, or in a process of
// TestSuiteFindsWhatIsBroken's with a broken one.
func TestSuite(t *testing.T) {
	t.Parallel()
	c := validCase()
	change := brokenModule{}
	if name := os.Getenv(envBroken); name != "" {
		change = broken()[name].change
	}
	change.Module = c.Module
	c.Module = change
	moduletest.Run(t, c)
}

func TestSuiteFindsWhatIsBroken(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	require.NoError(t, err)
	for name, b := range broken() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := exec.CommandContext(t.Context(), program, "-test.count=1")
			command.Env = append(os.Environ(), envBroken+"="+name)
			output, err := command.CombinedOutput()
			var failed *exec.ExitError
			require.ErrorAs(t, err, &failed, "the suite lets it pass:\n%s", output)
			require.Contains(t, string(output), b.output)
		})
	}
}
