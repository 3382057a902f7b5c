package provider_test

import (
	"context"
	"database/sql"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the "pgx" driver goose works through
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/scheduling/internal/payment/provider"
	"integrationhub/scheduling/migrations"
)

func TestMain(m *testing.M) {
	hubtest.Main(m, func() {
		if shared.pool != nil {
			shared.pool.Close()
		}
	})
}

// shared is one migrated database for all tests; each has orders of its own.
var shared struct {
	once sync.Once
	pool *pgxpool.Pool
}

func database(t *testing.T) *pgxpool.Pool {
	t.Helper()
	shared.once.Do(func() {
		address := hubtest.DatabaseURL(hubtest.ForProcess(t))
		db, err := sql.Open("pgx", address)
		require.NoError(t, err)
		defer db.Close()
		_, err = db.ExecContext(t.Context(), `create schema scheduling`)
		require.NoError(t, err)
		provider, err := goose.NewProvider(goose.DialectPostgres, db, migrations.FS())
		require.NoError(t, err)
		_, err = provider.Up(t.Context())
		require.NoError(t, err)
		shared.pool, err = pgxpool.New(context.Background(), address)
		require.NoError(t, err)
	})
	require.NotNil(t, shared.pool)
	return shared.pool
}

// notices is where the sandbox's webhooks go.
type notices struct {
	url    string
	mu     sync.Mutex
	list   []provider.Inbound
	status int
}

func startNotices(t *testing.T) *notices {
	t.Helper()
	n := &notices{status: 200}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		n.mu.Lock()
		defer n.mu.Unlock()
		n.list = append(n.list, provider.Inbound{Header: r.Header, Query: r.URL.Query(), Body: body})
		w.WriteHeader(n.status)
	}))
	t.Cleanup(server.Close)
	n.url = server.URL
	return n
}

func sandbox(t *testing.T, clock *hubtest.Clock) *provider.Sandbox {
	t.Helper()
	return provider.NewSandbox(provider.SandboxConfig{DB: database(t), Secret: "sandbox-secret", Do: &http.Client{Timeout: time.Second}, Now: clock.Now})
}

func sandboxOrder(clock *hubtest.Clock, notify string) provider.Order {
	order := anOrder()
	order.ExpiresAt, order.NotifyURL = clock.Now().Add(30*time.Minute), notify
	return order
}

func TestSandboxCollects(t *testing.T) {
	t.Parallel()
	clock, n := hubtest.NewClock(time.Now().Truncate(time.Second)), startNotices(t)
	client, order := sandbox(t, clock), sandboxOrder(clock, n.url)
	charge, err := client.Create(t.Context(), order)
	require.NoError(t, err)
	require.Equal(t, provider.Pending, charge.Status)
	require.NoError(t, charge.Check(order.ID, order.Amount, order.Currency))
	require.True(t, charge.ExpiresAt.Equal(order.ExpiresAt))
	require.Regexp(t, `^[0-9a-f]{25}$`, charge.TxID)
	require.Contains(t, charge.Code, "5406100.50")
	require.Contains(t, charge.Code, "5916Clinica Sao Joao6009Sao Paulo")
	require.Contains(t, charge.Code, charge.TxID)
	same, err := client.Create(t.Context(), order)
	require.NoError(t, err)
	require.Equal(t, charge, same)
	order.Amount++
	_, err = client.Create(t.Context(), order)
	requireProviderError(t, err)

	clock.Advance(time.Minute)
	paid, err := client.Pay(t.Context(), charge.TxID)
	require.NoError(t, err)
	require.Equal(t, provider.Paid, paid.Status)
	require.True(t, paid.PaidAt.Equal(clock.Now()))
	_, err = client.Pay(t.Context(), charge.TxID)
	require.NoError(t, err)
	require.Len(t, n.list, 2, "notified twice")
	first, err := client.DecodeEvent(n.list[0])
	require.NoError(t, err)
	require.Equal(t, charge.ID, first.ChargeID)
	second, err := client.DecodeEvent(n.list[1])
	require.NoError(t, err)
	require.Equal(t, first, second)
	again, err := sandbox(t, clock).Read(t.Context(), charge.ID)
	require.NoError(t, err)
	require.Equal(t, paid, again, "it outlives the process")

	part := provider.Refund{ID: uuid.New(), Amount: 40_00}
	require.NoError(t, client.Refund(t.Context(), charge.ID, part))
	require.NoError(t, client.Refund(t.Context(), charge.ID, part))
	again, err = client.Read(t.Context(), charge.ID)
	require.NoError(t, err)
	require.Equal(t, provider.Paid, again.Status)
	require.EqualValues(t, 40_00, again.Refunded)
	require.ErrorIs(t, client.Refund(t.Context(), charge.ID, provider.Refund{ID: uuid.New(), Amount: 60_51}), hub.ErrConflict)
	require.ErrorIs(t, client.Refund(t.Context(), charge.ID, provider.Refund{ID: uuid.New()}), hub.ErrInvalid)
	require.NoError(t, client.Refund(t.Context(), charge.ID, provider.Refund{ID: uuid.New(), Amount: 60_50}))
	again, err = client.Read(t.Context(), charge.ID)
	require.NoError(t, err)
	require.Equal(t, provider.Refunded, again.Status)
	require.ErrorIs(t, client.Cancel(t.Context(), charge.ID), hub.ErrConflict)
	_, err = client.Pay(t.Context(), charge.TxID)
	require.ErrorIs(t, err, hub.ErrConflict)
}

func TestSandboxChargesExpire(t *testing.T) {
	t.Parallel()
	clock, n := hubtest.NewClock(time.Now().Truncate(time.Second)), startNotices(t)
	client := sandbox(t, clock)
	cancelled, err := client.Create(t.Context(), sandboxOrder(clock, n.url))
	require.NoError(t, err)
	require.NoError(t, client.Cancel(t.Context(), cancelled.ID))
	require.ErrorIs(t, client.Refund(t.Context(), cancelled.ID, provider.Refund{ID: uuid.New(), Amount: 1}), hub.ErrConflict)
	expired, err := client.Create(t.Context(), sandboxOrder(clock, n.url))
	require.NoError(t, err)
	clock.Advance(30 * time.Minute)
	for id, want := range map[string]provider.Status{cancelled.ID: provider.Cancelled, expired.ID: provider.Expired} {
		charge, err := client.Read(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, want, charge.Status)
		_, err = client.Pay(t.Context(), charge.TxID)
		require.ErrorIs(t, err, hub.ErrConflict)
	}
	require.Empty(t, n.list)
	_, err = client.Read(t.Context(), "sbx_unknown")
	require.ErrorIs(t, err, hub.ErrNotFound)
	_, err = client.Pay(t.Context(), "unknown")
	require.ErrorIs(t, err, hub.ErrNotFound)
	_, err = client.Create(t.Context(), sandboxOrder(hubtest.NewClock(clock.Now().Add(-time.Hour)), n.url))
	require.ErrorIs(t, err, hub.ErrInvalid, "expired when ordered")
	_, err = client.Create(t.Context(), provider.Order{ID: uuid.New(), Amount: 1, Currency: "JPY", ExpiresAt: clock.Now().Add(time.Hour)})
	require.ErrorIs(t, err, hub.ErrInvalid)
}

// A webhook that is not accepted is shown to the payer; paying again sends it again.
func TestSandboxRepeatsWebhook(t *testing.T) {
	t.Parallel()
	clock, n := hubtest.NewClock(time.Now()), startNotices(t)
	client := sandbox(t, clock)
	charge, err := client.Create(t.Context(), sandboxOrder(clock, n.url))
	require.NoError(t, err)
	n.status = 503
	_, err = client.Pay(t.Context(), charge.TxID)
	requireProviderError(t, err)
	n.status = 200
	_, err = client.Pay(t.Context(), charge.TxID)
	require.NoError(t, err)
	require.Len(t, n.list, 2)

	good := n.list[1]
	signature := good.Header.Get(hub.HeaderSignature)
	for name, change := range map[string]func(*provider.Inbound){
		"missing": func(webhook *provider.Inbound) { webhook.Header.Del(hub.HeaderSignature) },
		"no prefix": func(webhook *provider.Inbound) {
			webhook.Header.Set(hub.HeaderSignature, strings.TrimPrefix(signature, "sha256="))
		},
		"cut": func(webhook *provider.Inbound) { webhook.Header.Set(hub.HeaderSignature, signature[:40]) },
		"upper case": func(webhook *provider.Inbound) {
			webhook.Header.Set(hub.HeaderSignature, "sha256="+strings.ToUpper(signature[7:]))
		},
		"two":          func(webhook *provider.Inbound) { webhook.Header.Add(hub.HeaderSignature, signature) },
		"another body": func(webhook *provider.Inbound) { webhook.Body = append([]byte(" "), webhook.Body...) },
		"their own key": func(webhook *provider.Inbound) {
			webhook.Header.Set(hub.HeaderSignature, hub.SignBody("wrong", webhook.Body))
		},
	} {
		webhook := provider.Inbound{Header: good.Header.Clone(), Body: good.Body}
		change(&webhook)
		_, err := client.DecodeEvent(webhook)
		require.ErrorIs(t, err, hub.ErrUnauthorized, name)
	}
	for body, want := range map[string]error{"x": hub.ErrMalformed, `{"type":"charge.paid"}`: hub.ErrMalformed, `{"id":"e","type":"other","charge":"c"}`: nil} {
		notice, err := client.DecodeEvent(provider.Inbound{Header: http.Header{hub.HeaderSignature: {hub.SignBody("sandbox-secret", []byte(body))}}, Body: []byte(body)})
		if want != nil {
			require.ErrorIs(t, err, want)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, provider.Event{ID: "e"}, notice)
	}
	unsigned := provider.NewSandbox(provider.SandboxConfig{})
	_, err = unsigned.DecodeEvent(provider.Inbound{Header: http.Header{hub.HeaderSignature: {hub.SignBody("", good.Body)}}, Body: good.Body})
	require.ErrorIs(t, err, hub.ErrUnauthorized)
}

// Many at once pay, cancel and refund: one outcome.
func TestSandboxRaces(t *testing.T) {
	t.Parallel()
	clock := hubtest.NewClock(time.Now())
	client, order := sandbox(t, clock), sandboxOrder(clock, "")
	var work sync.WaitGroup
	ids := make(chan string, 20)
	for range 20 {
		work.Go(func() {
			charge, err := client.Create(context.Background(), order)
			if err == nil {
				ids <- charge.ID
			}
		})
	}
	work.Wait()
	close(ids)
	var id string
	for line := range ids {
		require.True(t, id == "" || id == line, "one charge")
		id = line
	}
	charge, err := client.Read(t.Context(), id)
	require.NoError(t, err)
	_, err = client.Pay(t.Context(), charge.TxID)
	require.NoError(t, err)
	done := make(chan struct{}, 20)
	for range 20 {
		work.Go(func() {
			if client.Refund(context.Background(), id, provider.Refund{ID: uuid.New(), Amount: 10_05}) == nil {
				done <- struct{}{}
			}
		})
	}
	work.Wait()
	require.Len(t, done, 10, "never more than was paid")
}

func TestOpen(t *testing.T) {
	t.Parallel()
	for _, name := range []string{provider.NameSandbox, provider.NameMercadoPago} {
		client, err := provider.Open(provider.Config{Provider: name})
		require.NoError(t, err)
		require.Equal(t, name, client.Name())
	}
	none, err := provider.Open(provider.Config{})
	require.NoError(t, err)
	require.Nil(t, none)
	require.ErrorIs(t, provider.NotConfiguredError(), hub.ErrConflict)
	_, err = provider.Open(provider.Config{Provider: "paypal"})
	require.ErrorContains(t, err, "paypal")
}
