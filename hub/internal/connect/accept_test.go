package connect_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/connect"
	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/keys"
)

// issuePrincipal issues a key and returns the principal that authenticates with it.
func (b *bundle) issuePrincipal(environment hub.Environment) keys.Principal {
	b.t.Helper()
	_, plain, err := b.keys.Create(context.Background(), keys.Draft{TenantID: b.tenant, Environment: environment})
	require.NoError(b.t, err)
	return b.lookUp(plain)
}

func (b *bundle) lookUp(plain string) keys.Principal {
	b.t.Helper()
	who, err := b.keys.LookUp(context.Background(), plain)
	require.NoError(b.t, err)
	return who
}

// registration is the registration of a peer like us.
func registration(p *plainPeer, secret string) connect.Registration {
	return connect.Registration{
		ID: "theirs", Product: "messaging", Environment: hub.Live, WebhookURL: p.URL + "/api/v1/integrations/webhook",
		Secret: secret, Key: "msg_live_theirKeyForUs", Events: []string{"patient.*"}, Features: []string{"message.send"},
	}
}

const (
	someSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	// Between two secrets of one moment the greater SHA-256 decides: these were searched for. A
	// rotation draws 65,536 secrets: one of 30,000 would find a greater one than the first.
	unbeatable = "whsec_drawnUntilItWins206606388"
	beatable   = "whsec_drawnUntilItWins19509292"
)

// verifies reports whether a signature by a secret is accepted from the peer.
func (b *bundle) verifies(id uuid.UUID, secret string) bool {
	b.t.Helper()
	c := b.connection(id)
	header := http.Header{"X-Webhook-Signature": {hub.SignBody(secret, []byte("body"))}}
	return c.VerifySignature(hub.Inbound{Header: header, Body: []byte("body")}) == nil
}

func TestAccept(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	who := b.issuePrincipal(hub.Live)
	got, err := b.Accept(context.Background(), who, registration(p, someSecret))
	require.NoError(t, err)
	require.Equal(t, connect.Accepted{
		IntegrationID: got.IntegrationID, WebhookURL: ownBase + "/api/v1/integrations/webhook", Features: []string{"patient.search"}, Status: statusActive,
	}, got)
	row := b.get(got.IntegrationID)
	require.Equal(t, "messaging", row.Product)
	require.Equal(t, p.URL+"/api/v1", row.APIURL)
	require.Equal(t, "theirs", row.PeerIntegrationID)
	require.Equal(t, []string{"message.send"}, row.Features)
	require.True(t, b.verifies(row.ID, someSecret))
	require.Equal(t, "msg_live_theirKeyForUs", b.connection(row.ID).Key)

	// The same again changes nothing; another secret leaves the old one its overlap.
	again, err := b.Accept(context.Background(), who, registration(p, someSecret))
	require.NoError(t, err)
	require.Equal(t, got, again)
	const other = "whsec_anotherSecretOfThePeer"
	_, err = b.Accept(context.Background(), who, registration(p, other))
	require.NoError(t, err)
	require.True(t, b.verifies(row.ID, other))
	require.True(t, b.verifies(row.ID, someSecret))
	b.clock.Advance(24*time.Hour + time.Second)
	require.True(t, b.verifies(row.ID, other))
	require.False(t, b.verifies(row.ID, someSecret))

	// Probes begin: the peer is called with its key.
	require.NotEmpty(t, other)
	b.later(0)
	require.Equal(t, "msg_live_theirKeyForUs", p.seen("/status")[0].key)
}

// A peer by the documents alone says where it receives, and nothing else.
func TestAcceptOfWebhookURLAlone(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	who := b.issuePrincipal(hub.Live)
	got, err := b.Accept(context.Background(), who, connect.Registration{WebhookURL: p.URL + "/hooks"})
	require.NoError(t, err)
	require.Equal(t, statusActive, got.Status)
	require.Regexp(t, `^whsec_`, got.Secret, "somebody has to know it")
	require.True(t, b.verifies(got.IntegrationID, got.Secret))
	again, err := b.Accept(context.Background(), who, connect.Registration{WebhookURL: p.URL + "/elsewhere"})
	require.NoError(t, err)
	require.Equal(t, got.IntegrationID, again.IntegrationID)
	require.Empty(t, again.Secret, "it has one")
	require.Equal(t, p.URL+"/elsewhere", b.get(got.IntegrationID).PeerWebhookURL)

	// One that was connected from here before is known by its key.
	made := b.connected(p)
	bound := b.lookUp(p.seen("/register")[0].fields["api_key"].(string))
	other, err := b.Accept(context.Background(), bound, connect.Registration{WebhookURL: p.URL + "/hooks"})
	require.NoError(t, err)
	require.Equal(t, made.ID, other.IntegrationID)
	require.Empty(t, other.Secret)
}

func TestAcceptRefuses(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	who := b.issuePrincipal(hub.Live)
	for name, c := range map[string]struct {
		code   string
		change func(*connect.Registration)
	}{
		"metadata":     {"url_not_allowed", func(r *connect.Registration) { r.WebhookURL = "http://169.254.169.254/" }},
		"no address":   {"url_not_allowed", func(r *connect.Registration) { r.WebhookURL = "" }},
		"environment":  {"environment_mismatch", func(r *connect.Registration) { r.Environment = hub.Test }},
		"test key":     {"environment_mismatch", func(r *connect.Registration) { r.Key = "msg_test_x" }},
		"key":          {"validation_failed", func(r *connect.Registration) { r.Key = "a b" }},
		"short secret": {"validation_failed", func(r *connect.Registration) { r.Secret = "short" }},
		"product":      {"validation_failed", func(r *connect.Registration) { r.Product = "A B" }},
		"ours":         {"unexpected_product", func(r *connect.Registration) { r.Product = "clinic" }},
	} {
		r := registration(p, someSecret)
		c.change(&r)
		_, err := b.Accept(context.Background(), who, r)
		refused(t, hub.ErrInvalid, c.code, err)
		require.Zero(t, b.count("integrations"), name)
	}
	_, err := b.Accept(context.Background(), who, registration(p, someSecret))
	require.NoError(t, err)
	r := registration(p, someSecret)
	r.Product = "scheduling"
	_, err = b.Accept(context.Background(), who, r)
	refused(t, hub.ErrConflict, "key_in_use", err)
	require.Equal(t, 1, b.count("integrations"))
}

// Both sides connect at once: whichever way their steps fall, both end with the same
// secret to sign with, and accept the other's for the overlap.
func TestBothConnectAtOnce(t *testing.T) {
	t.Parallel()
	for _, theirsComes := range []string{"while ours is under way", "after ours"} {
		for _, theirs := range []string{unbeatable, beatable} {
			t.Run(theirsComes+" "+theirs, func(t *testing.T) {
				t.Parallel()
				b, p := setup(t), newPeer(t)
				who := b.issuePrincipal(hub.Live)
				var ours string
				accept := func() {
					_, err := b.Accept(context.Background(), who, registration(p, theirs))
					require.NoError(t, err)
				}
				p.set(func(p *plainPeer) {
					p.register = func(w http.ResponseWriter, _ *http.Request) {
						calls := p.seen("/register")
						ours = calls[len(calls)-1].fields["webhook_secret"].(string)
						if theirsComes == "while ours is under way" {
							accept()
						}
						answering(200, `{}`)(w, nil)
					}
				})
				made := b.connected(p)
				if theirsComes == "after ours" {
					b.clock.Advance(time.Second)
					accept()
				}
				require.True(t, b.verifies(made.ID, ours))
				require.True(t, b.verifies(made.ID, theirs))
				winner := ours
				if theirs == unbeatable {
					winner = theirs
				}
				require.Equal(t, winner, b.connection(made.ID).Secret())
				require.Equal(t, statusActive, b.get(made.ID).Status)
			})
		}
	}
}

// A registration of the peer's that is no part of a handshake of ours brings its
// secret, and ends our vain tries.
func TestPeerRegistersWhereOursFailed(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	p.set(func(p *plainPeer) { p.register = answering(500, `{}`) })
	made, err := b.Connect(context.Background(), b.request(p))
	require.NoError(t, err)
	require.Equal(t, statusError, made.Status)
	_, err = b.Accept(context.Background(), b.issuePrincipal(hub.Live), registration(p, someSecret))
	require.NoError(t, err)
	got := b.get(made.ID)
	require.Equal(t, statusActive, got.Status)
	require.Equal(t, someSecret, b.connection(made.ID).Secret())
	b.later(time.Hour)
	require.Len(t, p.seen("/register"), 1)
}

// What either side ends the other sees.
func TestRevoke(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	made := b.connected(p)
	key := p.seen("/register")[0].fields["api_key"].(string)
	ended, err := b.Revoke(context.Background(), made.ID, integration.Filter{TenantID: &b.tenant})
	require.NoError(t, err)
	require.Equal(t, statusInactive, ended.Status)
	require.NotNil(t, ended.RevokedAt)
	calls := p.seen("/unregister")
	require.Len(t, calls, 1)
	require.Equal(t, "msg_live_somethingElseThatTheyMade", calls[0].key)
	_, err = b.keys.LookUp(context.Background(), key)
	refused(t, hub.ErrUnauthorized, "invalid_key", err)
	require.Empty(t, b.connection(made.ID).Secrets)
	require.Empty(t, b.connection(made.ID).Key)

	again, err := b.Revoke(context.Background(), made.ID, integration.Filter{})
	require.NoError(t, err)
	require.Equal(t, ended.RevokedAt, again.RevokedAt)
	require.Len(t, p.seen("/unregister"), 1)
	b.later(time.Hour)
	require.Len(t, p.seen("/status"), 1, "no probes")
	_, err = b.Enable(context.Background(), made.ID, integration.Filter{})
	refused(t, hub.ErrConflict, "integration_revoked", err)
	stranger := uuid.New()
	_, err = b.Revoke(context.Background(), made.ID, integration.Filter{TenantID: &stranger})
	refused(t, hub.ErrNotFound, "not_found", err)

	require.Equal(t, made.ID, b.connected(p).ID, "connecting again revives it")
}

func TestUnregister(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	made := b.connected(p)
	who := b.lookUp(p.seen("/register")[0].fields["api_key"].(string))
	left, err := b.Unregister(context.Background(), who)
	require.NoError(t, err)
	require.Equal(t, statusInactive, left.Status)
	require.NotEmpty(t, left.LastError)
	b.later(time.Hour)
	require.Len(t, p.seen("/status"), 1, "no probes")
	_, err = b.Unregister(context.Background(), b.issuePrincipal(hub.Live))
	refused(t, hub.ErrNotFound, "not_registered", err)

	_, err = b.Accept(context.Background(), who, registration(p, someSecret))
	require.NoError(t, err)
	require.Equal(t, statusActive, b.get(made.ID).Status, "the peer is back")
}

// The peer cannot undo what our administrator did.
func TestDisable(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	made := b.connected(p)
	who := b.lookUp(p.seen("/register")[0].fields["api_key"].(string))
	off, err := b.Disable(context.Background(), made.ID, integration.Filter{})
	require.NoError(t, err)
	require.Equal(t, statusInactive, off.Status)
	require.True(t, off.Disabled)
	got, err := b.Accept(context.Background(), who, registration(p, someSecret))
	require.NoError(t, err)
	require.Equal(t, statusInactive, got.Status)
	b.later(time.Hour)
	require.Len(t, p.seen("/status"), 1)
	on, err := b.Enable(context.Background(), made.ID, integration.Filter{})
	require.NoError(t, err)
	require.Equal(t, statusActive, on.Status)
	require.Len(t, p.seen("/register"), 2, "the peer is notified again")
}

// Searches and actions at the peer.
func TestCallReachesThePeerByItsName(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	made := b.connected(p)
	p.set(func(p *plainPeer) {
		p.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answering(200, `{"path":"`+r.URL.Path+`"}`)(w, r) })
	})
	got, err := b.Call(context.Background(), made.ID, "clinic", hub.Call{Name: "search/contacts"})
	require.NoError(t, err)
	require.JSONEq(t, `{"path":"/api/v1/integrations/search/contacts"}`, string(got))
	require.True(t, json.Valid(got))
	_, err = b.Call(context.Background(), made.ID, "scheduling", hub.Call{Name: "search/contacts"})
	refused(t, hub.ErrNotFound, "not_found", err)
}
