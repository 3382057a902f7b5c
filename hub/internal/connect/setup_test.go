package connect_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/connect"
	"integrationhub/hub/internal/egress"
	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/seal"
	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/module"
)

// The statuses as views have them.
const (
	statusActive   = string(integration.StatusActive)
	statusInactive = string(integration.StatusInactive)
	statusError    = string(integration.StatusError)
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// bundle is a service with one tenant of the hosted product "clinic".
type bundle struct {
	*connect.Service
	t         *testing.T
	db        *pgxpool.Pool
	clock     *hubtest.Clock
	keys      *keys.Service
	tenant    uuid.UUID
	mu        sync.Mutex
	recovered []uuid.UUID
	failed    []string // products and the steps at which handshakes failed
}

const ownBase = "http://127.0.0.1:9/clinic"

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, db: hubtest.Database(t), clock: hubtest.NewClock(time.Now().UTC().Truncate(time.Second)), tenant: uuid.Must(uuid.NewV7())}
	b.keys = keys.NewService(b.db, nil, "100-M", b.clock.Now)
	b.Service = b.service(nil)
	ctx := context.Background()
	queries := dbgen.New(b.db)
	require.NoError(t, queries.UpsertHostedProduct(ctx, dbgen.UpsertHostedProductParams{Name: "clinic", Prefix: "cli", Title: "Clinic"}))
	put, err := queries.UpsertTenant(ctx, dbgen.UpsertTenantParams{ID: b.tenant, Product: "clinic", Name: "Some Clinic"})
	require.NoError(t, err)
	require.EqualValues(t, 1, put)
	return b
}

// service makes another process's service over the same database.
func (b *bundle) service(change func(*connect.Config)) *connect.Service {
	b.t.Helper()
	box, err := seal.New(bytes.Repeat([]byte{7}, seal.KeySize))
	require.NoError(b.t, err)
	guard, err := egress.New(egress.Config{Development: true})
	require.NoError(b.t, err)
	cfg := connect.Config{
		DB: b.db, Box: box, Keys: b.keys, URLs: guard, Client: connect.NewDoer(guard.DialContext, "test"),
		Connectors: func(product string) hub.Connector { return hub.NewPeerConnector(product, product) },
		Products: func(name string) (connect.Product, bool) {
			return connect.Product{Spec: module.Spec{
				Name: "clinic", KeyPrefix: "cli", Features: []string{"patient.search"}, Receives: []string{"message.received"},
			}, BaseURL: ownBase}, name == "clinic"
		},
		OnHandshakeFailed: func(own, step string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.failed = append(b.failed, own+" "+step)
		},
		OnRecovered: func(id uuid.UUID) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.recovered = append(b.recovered, id)
		},
		Random: func() float64 { return 0.5 }, Log: slog.New(slog.DiscardHandler), Now: b.clock.Now,
	}
	if change != nil {
		change(&cfg)
	}
	return connect.New(cfg)
}

// request is what an administrator asks for to connect a peer.
func (b *bundle) request(p *plainPeer) connect.Request {
	return connect.Request{
		TenantID: b.tenant, LocalProduct: "clinic", Environment: hub.Live, Product: "messaging",
		Key: "msg_live_somethingElseThatTheyMade", APIURL: p.URL + "/api/v1", Uses: []string{"reminders"},
	}
}

func (b *bundle) connected(p *plainPeer) connect.View {
	b.t.Helper()
	made, err := b.Connect(context.Background(), b.request(p))
	require.NoError(b.t, err)
	require.Equal(b.t, statusActive, made.Status, made.LastError)
	return made
}

// later turns the clock and does what has come due.
func (b *bundle) later(d time.Duration) {
	b.t.Helper()
	b.clock.Advance(d)
	require.NoError(b.t, b.RunDue(context.Background()))
}

func (b *bundle) get(id uuid.UUID) connect.View {
	b.t.Helper()
	row, err := b.Get(context.Background(), id, integration.Filter{})
	require.NoError(b.t, err)
	return row
}

// count counts rows of a table of the hub.
func (b *bundle) count(table string) (n int) {
	b.t.Helper()
	require.NoError(b.t, b.db.QueryRow(context.Background(), `select count(*) from hub.`+table).Scan(&n))
	return n
}

// refused requires an error of a kind with a code.
func refused(t *testing.T, kind error, code string, err error) {
	t.Helper()
	var entry *hub.Error
	require.ErrorAs(t, err, &entry)
	require.ErrorIs(t, err, kind)
	require.Equal(t, code, entry.Code)
}

// plainPeer is another product: an HTTP server that knows only what the documents say.
type plainPeer struct {
	*httptest.Server
	mu       sync.Mutex
	calls    []peerCall
	status   http.HandlerFunc
	register http.HandlerFunc
	leave    http.HandlerFunc
}

type peerCall struct {
	path   string
	key    string
	agent  string
	fields map[string]any
}

const goodStatus = `{"product":"messaging","version":"2.0.1","clinic_id":7,"clinic_name":"x","features":["message.send"],"status":"active"}`

func answering(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func newPeer(t *testing.T) *plainPeer {
	t.Helper()
	p := &plainPeer{status: answering(200, goodStatus), register: answering(200, `{}`), leave: answering(404, `{}`)}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	return p
}

func (p *plainPeer) serve(w http.ResponseWriter, r *http.Request) {
	call := peerCall{path: r.Method + " " + r.URL.Path, key: r.Header.Get("X-Integration-Key"), agent: r.UserAgent()}
	raw, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(raw, &call.fields)
	p.mu.Lock()
	p.calls = append(p.calls, call)
	status, register, leave := p.status, p.register, p.leave
	p.mu.Unlock()
	switch strings.TrimPrefix(call.path, "GET /api/v1/integrations") {
	case "/status":
		status(w, r)
		return
	}
	switch strings.TrimPrefix(call.path, "POST /api/v1/integrations") {
	case "/webhook/register":
		register(w, r)
	case "/webhook/unregister":
		leave(w, r)
	default:
		http.NotFound(w, r)
	}
}

// set changes how the peer answers.
func (p *plainPeer) set(change func(*plainPeer)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

// seen returns the calls to a path so far.
func (p *plainPeer) seen(path string) []peerCall {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []peerCall
	for _, call := range p.calls {
		if strings.HasSuffix(call.path, path) {
			list = append(list, call)
		}
	}
	return list
}
