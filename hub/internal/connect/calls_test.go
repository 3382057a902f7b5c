package connect_test

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/connect"
	"integrationhub/hub/internal/egress"
	"integrationhub/hub/internal/integration"
)

// No transaction is open while a peer is spoken to, whatever it is spoken to about; and
// until it has answered the registration the integration is not in use.
func TestNoTransactionWhileAPeerIsSpokenTo(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	calls := 0
	watched := func(answer http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			calls++
			var open int
			err := b.db.QueryRow(context.Background(), `
				select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null`).Scan(&open)
			if err != nil || open > 0 {
				t.Errorf("%s: %d transactions are open, %v", r.URL.Path, open, err)
			}
			answer(w, r)
		}
	}
	p.set(func(p *plainPeer) {
		p.status, p.leave = watched(answering(200, goodStatus)), watched(answering(404, `{}`))
		p.register = watched(func(w http.ResponseWriter, r *http.Request) {
			if calls == 2 { // the first
				list, err := b.List(context.Background(), integration.Filter{TenantID: &b.tenant}, nil, 10)
				if err != nil || len(list) != 1 || list[0].Status != statusInactive {
					t.Errorf("before it is registered: %v %v", list, err)
				}
			}
			answering(200, `{}`)(w, r)
		})
	})
	ctx := context.Background()
	id := b.connected(p).ID
	b.connected(p)
	_, _, err := b.RotateSecret(ctx, id, integration.Filter{}, time.Hour)
	require.NoError(t, err)
	b.later(time.Minute)
	_, err = b.Probe(ctx, id, integration.Filter{})
	require.NoError(t, err)
	_, err = b.Disable(ctx, id, integration.Filter{})
	require.NoError(t, err)
	_, err = b.Enable(ctx, id, integration.Filter{})
	require.NoError(t, err)
	_, err = b.Revoke(ctx, id, integration.Filter{})
	require.NoError(t, err)
	require.Equal(t, 9, calls, "twice two of a connect, a rotation, a probe, a test, a registration, and the end")
	b.connected(p)
	p.set(func(p *plainPeer) { p.Config.Handler = watched(answering(200, `{}`)) })
	_, err = b.Call(ctx, id, "clinic", hub.Call{Name: "search/contacts"})
	require.NoError(t, err)
	require.Equal(t, 12, calls)
}

// "A foreign key need not carry our checksum; without _live_ or _test_ it counts as live."
func TestForeignKeys(t *testing.T) {
	t.Parallel()
	for key, environment := range map[string]hub.Environment{
		"plainkey": hub.Live, "3f1c9a": hub.Live, "msg_live_x": hub.Live, "msg_test_x": hub.Test, "x_live_test_x": hub.Live, strings.Repeat("k", 512): hub.Live,
	} {
		b, p := setup(t), newPeer(t)
		request := b.request(p)
		request.Key, request.Environment = key, environment
		made, err := b.Connect(context.Background(), request)
		require.NoError(t, err, key)
		require.Equal(t, statusActive, made.Status)
		require.Equal(t, key, p.seen("/status")[0].key)
	}
}

// names resolves every name to one address.
type names netip.Addr

func (n names) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.Addr(n)}, nil
}

// A peer whose name leads to where webhooks may not go is never connected to, and looks
// like one that cannot be reached.
func TestNamesThatLeadInside(t *testing.T) {
	t.Parallel()
	b := setup(t)
	inside, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = inside.Close() })
	_, port, err := net.SplitHostPort(inside.Addr().String())
	require.NoError(t, err)
	reached := make(chan struct{}, 1)
	go func() {
		if conn, err := inside.Accept(); err == nil {
			_ = conn.Close()
			reached <- struct{}{}
		}
	}()
	for _, address := range []string{"127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "::ffff:127.0.0.1"} {
		guard, err := egress.New(egress.Config{Resolver: names(netip.MustParseAddr(address))})
		require.NoError(t, err)
		service := b.service(func(cfg *connect.Config) { cfg.URLs, cfg.Client = guard, connect.NewDoer(guard.DialContext, "test") })
		_, err = service.Connect(context.Background(), connect.Request{
			TenantID: b.tenant, LocalProduct: "clinic", Environment: hub.Live, Product: "messaging", Key: "msg_live_x", APIURL: "https://peer.example:" + port + "/api/v1",
			WebhookURL: "https://here.example/hook",
		})
		refused(t, hub.ErrPeer, "peer_unreachable", err)
		require.NotContains(t, err.Error(), address)
	}
	require.Zero(t, b.count("integrations"))
	require.Empty(t, reached)
}
