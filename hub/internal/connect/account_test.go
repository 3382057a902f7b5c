package connect_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/connect"
	"integrationhub/hub/internal/integration"
)

// account makes a peer that says which account its keys belong to, "" for none.
func account(t *testing.T, id string) *plainPeer {
	t.Helper()
	p := newPeer(t)
	said := strings.Replace(goodStatus, `"clinic_id":7,`, id, 1)
	p.set(func(p *plainPeer) { p.status = answering(200, said) })
	return p
}

const (
	seven  = `"clinic_id":7,`
	eight  = `"clinic_id":8,`
	nobody = ``
)

// with is a request to connect a peer with a key of its own.
func (b *bundle) with(p *plainPeer, key string) connect.Request {
	r := b.request(p)
	r.Key = key
	return r
}

// stored is all that is kept of an integration and of the keys, but for what probes change.
func (b *bundle) stored() (text string) {
	b.t.Helper()
	require.NoError(b.t, b.db.QueryRow(context.Background(), `
		select (select string_agg(to_jsonb(i)::text, ' ') from hub.integrations i) || (select string_agg(to_jsonb(k)::text, ' ' order by id) from hub.keys k)`).Scan(&text))
	return text
}

// The account is what the status says, not the address: it may move.
func TestAccountOfAnIntegration(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, second string
		refused       bool
	}{
		"another": {seven, eight, true}, "the same elsewhere": {seven, seven, false},
		"none named": {nobody, nobody, false}, "no more named": {seven, nobody, false}, "named since": {nobody, eight, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, first, second := setup(t), account(t, c.first), account(t, c.second)
			made := b.connected(first)
			before := b.stored()
			again, err := b.Connect(context.Background(), b.with(second, "msg_live_other"))
			if c.refused {
				refused(t, hub.ErrConflict, hub.CodeOtherAccountConnected, err)
				require.Empty(t, second.seen("/register"))
				require.Equal(t, before, b.stored())
				return
			}
			require.NoError(t, err)
			require.Equal(t, made.ID, again.ID)
			require.Equal(t, statusActive, again.Status)
			require.Equal(t, second.URL+"/api/v1", again.APIURL)
			_, err = b.keys.LookUp(context.Background(), first.seen("/register")[0].fields["api_key"].(string))
			require.NoError(t, err, "what was replaced has its overlap")
		})
	}
}

// An integration that does not work, or not yet, is connected all the same: its peer may
// know more of it. Only revoking it ends that.
func TestAccountOfAnIntegrationThatDoesNotWork(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*bundle, *plainPeer, connect.View){
		"disabled": func(b *bundle, _ *plainPeer, made connect.View) {
			_, err := b.Disable(context.Background(), made.ID, integration.Filter{})
			require.NoError(b.t, err)
		},
		"away": func(b *bundle, p *plainPeer, _ connect.View) { p.Close() },
		"refused for a day": func(b *bundle, p *plainPeer, made connect.View) {
			p.set(func(p *plainPeer) { p.status = answering(401, `{}`) })
			b.later(time.Minute)
			b.later(24 * time.Hour)
			require.Equal(b.t, statusInactive, b.get(made.ID).Status)
		},
		"not registered yet": func(b *bundle, p *plainPeer, made connect.View) {
			_, err := b.Revoke(context.Background(), made.ID, integration.Filter{})
			require.NoError(b.t, err)
			p.set(func(p *plainPeer) { p.register = answering(500, `{}`) })
			made, err = b.Connect(context.Background(), b.request(p))
			require.NoError(b.t, err)
			require.Equal(b.t, statusError, made.Status)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, first, second := setup(t), account(t, seven), account(t, eight)
			made := b.connected(first)
			spoil(b, first, made)
			_, err := b.Connect(context.Background(), b.with(second, "msg_live_other"))
			refused(t, hub.ErrConflict, hub.CodeOtherAccountConnected, err)
			_, err = b.Revoke(context.Background(), made.ID, integration.Filter{})
			require.NoError(t, err)
			again, err := b.Connect(context.Background(), b.with(second, "msg_live_other"))
			require.NoError(t, err)
			require.Equal(t, statusActive, again.Status)
		})
	}
}

// Integrations made before accounts were kept: a probe finds out, or the connect itself.
func TestAccountIsFoundOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(*bundle, *plainPeer)
		refused   bool
	}{
		"by a probe": {func(b *bundle, p *plainPeer) { b.later(time.Minute); p.Close() }, true},
		"when asked": {func(*bundle, *plainPeer) {}, true},
		"never":      {func(_ *bundle, p *plainPeer) { p.Close() }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, first, second := setup(t), account(t, seven), account(t, eight)
			b.connected(first)
			_, err := b.db.Exec(t.Context(), `update hub.integrations set peer_account = null`)
			require.NoError(t, err)
			c.meanwhile(b, first)
			_, err = b.Connect(context.Background(), b.with(second, "msg_live_other"))
			if c.refused {
				refused(t, hub.ErrConflict, hub.CodeOtherAccountConnected, err)
				return
			}
			require.NoError(t, err)
		})
	}
}

// Another account begins with nothing of the one before: nothing goes to its address, and
// its secret and keys are worth nothing.
func TestAccountBeginsAnew(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*bundle, connect.View, string) error{
		"revoked here": func(b *bundle, made connect.View, _ string) error {
			_, err := b.Revoke(context.Background(), made.ID, integration.Filter{})
			return err
		},
		"ended there": func(b *bundle, _ connect.View, key string) error {
			_, err := b.Unregister(context.Background(), b.lookUp(key))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, first, second := setup(t), account(t, seven), account(t, eight)
			made := b.connected(first)
			fields := first.seen("/register")[0].fields
			key, secret := fields["api_key"].(string), fields["webhook_secret"].(string)
			request := registration(first, secret)
			request.WebhookURL = first.URL + "/its/own/hook"
			_, err := b.Accept(context.Background(), b.lookUp(key), request)
			require.NoError(t, err)
			require.True(t, b.verifies(made.ID, secret))
			require.NoError(t, end(b, made, key))

			again, err := b.Connect(context.Background(), b.with(second, "msg_live_other"))
			require.NoError(t, err)
			require.Equal(t, made.ID, again.ID)
			require.Empty(t, again.PeerWebhookURL)
			require.Empty(t, again.PeerIntegrationID)
			require.False(t, b.verifies(made.ID, secret))
			_, err = b.keys.LookUp(context.Background(), key)
			refused(t, hub.ErrUnauthorized, "invalid_key", err)
			var types []string
			require.NoError(t, b.db.QueryRow(t.Context(), `select event_types from hub.integrations`).Scan(&types))
			require.Equal(t, []string{"*"}, types)
		})
	}
}

// The key of a handshake under way ends the integration too: the peer may have taken it
// and failed to say so.
func TestUnregisterWithThePendingKey(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	made := b.connected(p)
	p.set(func(p *plainPeer) { p.register = answering(500, `{}`) })
	_, err := b.Connect(context.Background(), b.request(p))
	require.NoError(t, err)
	calls := p.seen("/register")
	left, err := b.Unregister(context.Background(), b.lookUp(calls[1].fields["api_key"].(string)))
	require.NoError(t, err)
	require.Equal(t, statusInactive, left.Status)
	require.Equal(t, made.ID, left.ID)
	b.later(time.Hour)
	require.Len(t, p.seen("/register"), 2, "nothing is tried again")

	// The one that it was to replace has not been replaced.
	_, err = b.Unregister(context.Background(), b.lookUp(calls[0].fields["api_key"].(string)))
	require.NoError(t, err)
}

// Where two handshakes crossed, the peer may count on the key before.
func TestLeavingWithTheKeyBefore(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	made := b.connected(p)
	_, err := b.Connect(context.Background(), b.with(p, "msg_live_newer"))
	require.NoError(t, err)
	p.set(func(p *plainPeer) {
		p.leave = func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Integration-Key") == "msg_live_newer" {
				answering(401, `{}`)(w, r)
				return
			}
			answering(200, `{}`)(w, r)
		}
	})
	_, err = b.Revoke(context.Background(), made.ID, integration.Filter{})
	require.NoError(t, err)
	calls := p.seen("/unregister")
	require.Len(t, calls, 2)
	require.Equal(t, "msg_live_somethingElseThatTheyMade", calls[1].key)
}

// What a peer calls its account may be anything.
func TestAccountNamesThatCannotBeKept(t *testing.T) {
	t.Parallel()
	for _, id := range []string{`"clinic_id":"a\u0000b",`, `"clinic_id":"` + strings.Repeat("x", 101) + `",`, `"clinic_id":null,`, `"clinic_id":"",`} {
		b, p := setup(t), account(t, id)
		b.connected(p)
		var kept *string
		require.NoError(t, b.db.QueryRow(t.Context(), `select peer_account from hub.integrations`).Scan(&kept))
		require.Nil(t, kept)
	}
}
