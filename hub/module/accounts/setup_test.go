package accounts_test

import (
	"context"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/module"
	"integrationhub/hub/module/accounts"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

const (
	password = "correct horse"
	tick     = 20 * time.Millisecond
	soon     = time.Minute
)

// club is a small product whose users can only log in.
type club struct {
	host module.Host
	auth *accounts.Authenticator
	db   *pgxpool.Pool // of host, with every statement on record

	locale string // of emails

	hashed atomic.Int64 // passwords so far

	mu         sync.Mutex
	statements map[any][]string // by actor: see [as]
}

var (
	_ module.JobProvider  = (*club)(nil)
	_ module.PageProvider = (*club)(nil)
)

type actorKey struct{}

// as returns a context whose statements are recorded under an actor.
func as(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, actorKey{}, name)
}

// TraceQueryStart implements pgx.QueryTracer.
func (c *club) TraceQueryStart(ctx context.Context, _ *pgx.Conn, query pgx.TraceQueryStartData) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.statements[ctx.Value(actorKey{})] = append(c.statements[ctx.Value(actorKey{})], query.SQL)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (*club) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// hashing counts what is hashed.
type hashing struct {
	module.Credentials
	n *atomic.Int64
}

// HashPassword implements [module.Credentials].
func (h hashing) HashPassword(ctx context.Context, password string) (string, error) {
	h.n.Add(1)
	return h.Credentials.HashPassword(ctx, password)
}

// statementsOf returns the statements of an actor.
func (c *club) statementsOf(name string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.statements[name]
}

// Spec implements [module.Module].
func (*club) Spec() module.Spec {
	return module.Spec{Name: "club", Title: "Club", KeyPrefix: "clu", TenantPrefix: "club", Version: "1.0.0", Receives: []string{}, Sends: []string{}, Limits: accounts.RateLimits()}
}

// Migrations implements [module.Module].
func (*club) Migrations() fs.FS { return os.DirFS("testdata/migrations") }

// Open implements [module.Module].
func (c *club) Open(ctx context.Context, host module.Host) (module.Instance, error) {
	settings := host.Pool.Config()
	settings.ConnConfig.Tracer = c
	settings.MaxConns = 4 // for many of them at one database
	var err error
	if c.db, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), settings); err != nil {
		return nil, err
	}
	host.Pool, host.Credentials = c.db, hashing{host.Credentials, &c.hashed}
	c.host, c.statements = host, make(map[any][]string)
	c.auth = accounts.New(host, accounts.Options{Product: "Club", RefreshTokenPrefix: "clur_", PasswordPage: "/club/password"}, c)
	return c, nil
}

// Jobs implements [module.JobProvider].
func (c *club) Jobs() []module.Job { return c.auth.Jobs() }

// Pages implements [module.PageProvider].
func (c *club) Pages() map[string]http.Handler { return c.auth.Pages() }

// Handle implements [module.Instance].
func (*club) Handle(context.Context, pgx.Tx, hub.Event) error { return module.ErrIgnored }

// RegisterRoutes implements [module.Instance].
func (*club) RegisterRoutes(huma.API) {}

// Authenticate implements [module.Instance].
func (*club) Authenticate(context.Context, string) (module.Caller, error) {
	return module.Caller{}, hub.Errorf(hub.ErrUnauthorized, "invalid_token", "Nobody is let in.")
}

// FindByEmail implements [accounts.UserStore].
func (c *club) FindByEmail(ctx context.Context, email string) (u accounts.User, err error) {
	err = c.host.Pool.QueryRow(ctx, `select id, email, password, active from users where email = lower($1)`, email).Scan(&u.ID, &u.Email, &u.Password, &u.Active)
	pause(ctx, found{})
	return u, err
}

// Lock implements [accounts.UserStore].
func (c *club) Lock(ctx context.Context, tx pgx.Tx, user uuid.UUID) (u accounts.User, err error) {
	err = tx.QueryRow(ctx, `select id, email, password, active from users where id = $1 for no key update`, user).Scan(&u.ID, &u.Email, &u.Password, &u.Active)
	pause(ctx, locked{})
	return u, err
}

// Contexts have functions under these that are called when a user was found, or locked,
// on their behalf.
type (
	found  struct{}
	locked struct{}
)

func pause(ctx context.Context, when any) {
	if then, ok := ctx.Value(when).(func()); ok {
		then()
	}
}

// SetPassword implements [accounts.UserStore].
func (c *club) SetPassword(ctx context.Context, tx pgx.Tx, user uuid.UUID, stored string) error {
	_, err := tx.Exec(ctx, `update users set password = $2 where id = $1`, user, stored)
	return err
}

// Recipient implements [accounts.UserStore].
func (c *club) Recipient(ctx context.Context, tx pgx.Tx, user uuid.UUID) (r accounts.Recipient, err error) {
	r.Tenant.ID = user
	r.Name, r.Tenant.Name, r.ReplyTo, r.Locale = "Zoe <b>", "Club & Co", "desk@example.com", c.locale
	return r, tx.QueryRow(ctx, `select email from users where id = $1`, user).Scan(&r.Email)
}

// running is a hub with a club that has one member.
type running struct {
	*club
	t     *testing.T
	hub   *moduletest.Hub
	ana   accounts.User
	other accounts.User // who is switched off
}

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func start(t *testing.T, settings ...string) *running {
	t.Helper()
	return startWith(t, moduletest.Options{Start: noon, Settings: settings})
}

func startWith(t *testing.T, options moduletest.Options) *running {
	t.Helper()
	c := &club{}
	r := &running{club: c, t: t, hub: moduletest.Start(t, c, options)}
	t.Cleanup(c.db.Close)
	stored, err := c.host.Credentials.HashPassword(t.Context(), password)
	require.NoError(t, err)
	r.ana = accounts.User{ID: uuid.New(), Email: "ana@example.com", Password: stored, Active: true}
	r.other = accounts.User{ID: uuid.New(), Email: "bob@example.com", Password: stored}
	for _, user := range []accounts.User{r.ana, r.other} {
		r.sql(`insert into users values ($1, $2, $3, $4)`, user.ID, user.Email, user.Password, user.Active)
	}
	return r
}

// sql runs a statement of the test's own.
func (r *running) sql(statement string, args ...any) {
	r.t.Helper()
	_, err := r.db.Exec(r.t.Context(), statement, args...)
	require.NoError(r.t, err)
}

func (r *running) count(query string, args ...any) (n int) {
	r.t.Helper()
	require.NoError(r.t, r.db.QueryRow(r.t.Context(), query, args...).Scan(&n))
	return n
}

// from is the context of a request from an address.
func (r *running) from(ip string) context.Context { return module.WithClientIP(r.t.Context(), ip) }

// runJob runs a job directly.
func (r *running) runJob(name string, payload []byte) {
	r.t.Helper()
	for _, job := range r.auth.Jobs() {
		if job.Name == name {
			require.NoError(r.t, job.Run(r.t.Context(), payload))
			return
		}
	}
	require.Fail(r.t, "no job "+name)
}

// emailedLink waits until the member has n emails and returns the link in the last one.
func (r *running) emailedLink(n int) string {
	r.t.Helper()
	var emails []string
	require.Eventually(r.t, func() bool { emails = r.hub.Emails(r.ana.Email); return len(emails) >= n }, soon, tick)
	require.Len(r.t, emails, n)
	start := strings.Index(emails[0], r.hub.URL+"/club/password?token=")
	require.Positive(r.t, start, emails[0])
	link, _, _ := strings.Cut(emails[0][start:], "\n")
	return link
}

// newLink emails a link to set a password and returns it.
func (r *running) newLink(purpose accounts.LinkPurpose) string {
	r.t.Helper()
	before := len(r.hub.Emails(r.ana.Email))
	require.NoError(r.t, pgx.BeginFunc(r.t.Context(), r.db, func(tx pgx.Tx) error {
		return r.auth.EmailPasswordLink(r.t.Context(), tx, r.ana, purpose)
	}))
	return r.emailedLink(before + 1)
}

func tokenOf(t *testing.T, link string) string {
	t.Helper()
	u, err := url.Parse(link)
	require.NoError(t, err)
	return u.Query().Get("token")
}

// page is a response of the page.
type page struct {
	status int
	header http.Header
	text   string
}

// visit opens a page, or posts a form to it.
func (r *running) visit(method, address string, form url.Values, headers ...string) page {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, address, strings.NewReader(form.Encode()))
	require.NoError(r.t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := hubtest.HTTPClient.Do(req)
	require.NoError(r.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(r.t, err)
	return page{res.StatusCode, res.Header, string(text)}
}

// login tries to log in.
func (r *running) login(ip, email, password string) (accounts.Session, error) {
	return r.auth.Login(r.from(ip), email, password)
}

func requireKind(t *testing.T, kind error, code string, err error) {
	t.Helper()
	require.ErrorIs(t, err, kind)
	var hubErr *hub.Error
	require.ErrorAs(t, err, &hubErr)
	require.Equal(t, code, hubErr.Code)
}
