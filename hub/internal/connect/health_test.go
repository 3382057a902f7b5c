package connect_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/connect"
	"integrationhub/hub/internal/integration"
)

// connection is the integration as the hub would use it now.
func (b *bundle) connection(id uuid.UUID) hub.Connection {
	b.t.Helper()
	stored, err := integration.NewRepository(b.db).Get(context.Background(), id, integration.Filter{})
	require.NoError(b.t, err)
	secrets, err := stored.OpenSecrets(b.Box)
	require.NoError(b.t, err)
	return secrets.Connection(&stored, "clinic", b.clock.Now())
}

// Probes come every minute, give or take a tenth.
func TestProbesAreSpread(t *testing.T) {
	t.Parallel()
	for random, wait := range map[float64]time.Duration{0: 54 * time.Second, 0.5: time.Minute, 0.999999: 66 * time.Second} {
		b, p := setup(t), newPeer(t)
		b.Service = b.service(func(cfg *connect.Config) { cfg.Random = func() float64 { return random } })
		b.connected(p)
		for n := 1; n < 4; n++ {
			b.later(wait - 20*time.Millisecond)
			require.Len(t, p.seen("/status"), n)
			b.later(20 * time.Millisecond)
			require.Len(t, p.seen("/status"), n+1)
		}
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	id := b.connected(p).ID
	status := func() string { b.later(time.Minute); return b.get(id).Status }
	answers := func(handler http.HandlerFunc) { p.set(func(p *plainPeer) { p.status = handler }) }
	bad, good := answering(500, `{}`), answering(200, goodStatus)

	require.Equal(t, statusActive, status())
	require.WithinDuration(t, b.clock.Now(), b.get(id).LastHealthCheck, 0)
	answers(bad)
	require.Equal(t, statusActive, status())
	require.Equal(t, statusActive, status())
	answers(good)
	require.Equal(t, statusActive, status(), "failures count in a row")
	require.Empty(t, b.get(id).LastError)
	answers(bad)
	require.Equal(t, statusActive, status())
	require.Equal(t, statusActive, status())
	require.Equal(t, statusError, status(), "after three")
	require.NotEmpty(t, b.get(id).LastError)

	answers(good)
	require.Equal(t, statusError, status())
	answers(bad)
	require.Equal(t, statusError, status())
	answers(good)
	require.Equal(t, statusError, status(), "successes count in a row")
	require.Empty(t, b.recovered)
	require.Equal(t, statusActive, status(), "after two")
	require.Equal(t, []uuid.UUID{id}, b.recovered)
	require.Empty(t, b.get(id).LastError)

	for name, handler := range map[string]http.HandlerFunc{
		"another product": answering(200, strings.Replace(goodStatus, "messaging", "shop", 1)),
		"not active":      answering(200, strings.Replace(goodStatus, "active", "inactive", 1)),
		"HTML":            answering(200, "<html>"),
	} {
		answers(handler)
		require.Equal(t, statusActive, status(), name)
		require.Equal(t, statusActive, status(), name)
		require.Equal(t, statusError, status(), name)
		answers(good)
		require.Equal(t, statusError, status(), name)
		require.Equal(t, statusActive, status(), name)
	}
	answers(answering(429, `{}`))
	for range 5 {
		require.Equal(t, statusActive, status(), "busy is not ill")
	}
	answers(answering(200, strings.Replace(goodStatus, "message.send", "message.read", 1)))
	require.Equal(t, statusActive, status())
	require.Equal(t, []string{"message.read"}, b.get(id).Features, "features are discovered anew")
}

// A key that is refused counts at once, and for good after a day.
func TestRefusedKey(t *testing.T) {
	t.Parallel()
	for _, code := range []int{401, 403} {
		b, p := setup(t), newPeer(t)
		id := b.connected(p).ID
		p.set(func(p *plainPeer) { p.status = answering(code, `{}`) })
		b.later(time.Minute)
		require.Equal(t, statusError, b.get(id).Status, "at once")
		b.later(23 * time.Hour)
		require.Equal(t, statusError, b.get(id).Status)
		b.later(time.Hour)
		require.Equal(t, statusInactive, b.get(id).Status, "after a day")
		asked := len(p.seen("/status"))
		b.later(time.Hour)
		b.later(time.Hour)
		require.Len(t, p.seen("/status"), asked, "no probes")
	}
}

// Where the peer refuses the newer of its keys, the one before is taken back.
func TestFormerKeyIsTried(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	made := b.connected(p)
	request := b.request(p)
	request.Key = "msg_live_newer"
	_, err := b.Connect(context.Background(), request)
	require.NoError(t, err)
	p.set(func(p *plainPeer) {
		p.status = func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Integration-Key") == "msg_live_newer" {
				answering(401, `{}`)(w, r)
				return
			}
			answering(200, goodStatus)(w, r)
		}
	})
	b.later(time.Minute)
	require.Equal(t, statusActive, b.get(made.ID).Status)
	require.Equal(t, "msg_live_somethingElseThatTheyMade", b.connection(made.ID).Key)
}

// An administrator's test is a probe like any other.
func TestCheck(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	made := b.connected(p)
	found, err := b.Probe(context.Background(), made.ID, integration.Filter{TenantID: &b.tenant})
	require.NoError(t, err)
	require.NoError(t, found.Err)
	require.Equal(t, "2.0.1", found.Peer.Version)
	p.set(func(p *plainPeer) { p.status = answering(401, `{}`) })
	found, err = b.Probe(context.Background(), made.ID, integration.Filter{})
	require.NoError(t, err)
	refused(t, hub.ErrInvalid, "remote_key_rejected", found.Err)
	require.Equal(t, statusError, found.Integration.Status)

	// It makes nothing active that was never registered, or that was switched off.
	p.set(func(p *plainPeer) { p.status, p.register = answering(200, goodStatus), answering(500, `{}`) })
	_, err = b.Connect(context.Background(), b.request(p))
	require.NoError(t, err)
	for range 3 {
		found, err = b.Probe(context.Background(), made.ID, integration.Filter{})
		require.NoError(t, err)
		require.NoError(t, found.Err)
		require.Equal(t, statusError, found.Integration.Status)
	}
	_, err = b.Disable(context.Background(), made.ID, integration.Filter{})
	require.NoError(t, err)
	for range 3 {
		found, err = b.Probe(context.Background(), made.ID, integration.Filter{})
		require.NoError(t, err)
		require.Equal(t, statusInactive, found.Integration.Status)
	}
}

// A process that dies inside the handshake leaves an integration that another one
// completes.
func TestHandshakeIsTakenOver(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	// What the database holds between the third and the fourth step: the row says when
	// to try again.
	p.set(func(p *plainPeer) { p.register = answering(500, `{}`) })
	made, err := b.Connect(context.Background(), b.request(p))
	require.NoError(t, err)
	_, err = b.db.Exec(context.Background(), `update hub.integrations set status = 'inactive', register_tries = 0, last_error = null`)
	require.NoError(t, err)
	p.set(func(p *plainPeer) { p.register = answering(200, `{}`) })
	other := b.service(nil)
	b.clock.Advance(time.Minute)
	require.NoError(t, other.RunDue(context.Background()))
	require.Equal(t, statusActive, b.get(made.ID).Status)
	require.Equal(t, 1, b.count("integrations"))
	require.Equal(t, p.seen("/register")[0].fields, p.seen("/register")[1].fields)
}
