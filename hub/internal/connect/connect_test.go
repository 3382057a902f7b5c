package connect_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/connect"
	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/keys"
)

// The order of the documents: status with the key, then the registration, which
// brings an address, a secret and a key of ours.
func TestConnect(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	made := b.connected(p)
	require.Equal(t, []string{"message.send"}, made.Features)
	require.Equal(t, []string{"reminders"}, made.EnabledUses)
	require.Equal(t, p.URL+"/api/v1", made.APIURL)
	require.Equal(t, ownBase+"/api/v1/integrations/webhook", made.WebhookURL)
	require.Equal(t, "Made", made.RemoteKeyLast4[len(made.RemoteKeyLast4)-4:])
	asked := p.seen("/status")
	require.Len(t, asked, 1)
	require.Equal(t, "msg_live_somethingElseThatTheyMade", asked[0].key)
	calls := p.seen("/register")
	require.Len(t, calls, 1)
	require.Equal(t, asked[0].key, calls[0].key)
	fields := calls[0].fields
	require.Equal(t, made.ID.String(), fields["registration_id"])
	require.Equal(t, "clinic", fields["product"])
	require.Equal(t, "live", fields["environment"])
	require.Equal(t, made.WebhookURL, fields["webhook_url"])
	require.Regexp(t, `^whsec_[A-Za-z0-9+/]{43}=$`, fields["webhook_secret"])
	require.Regexp(t, `^cli_live_[0-9A-Za-z]{36}$`, fields["api_key"])
	require.Equal(t, []any{"message.received"}, fields["events"])
	require.Equal(t, []any{"patient.search"}, fields["features"])

	who, err := b.keys.LookUp(context.Background(), fields["api_key"].(string))
	require.NoError(t, err)
	require.Equal(t, made.ID, who.Integration, "the key is bound to the integration")
	require.Equal(t, made.LocalKeyLast4, fields["api_key"].(string)[len(fields["api_key"].(string))-4:])
	var plain int
	require.NoError(t, b.db.QueryRow(context.Background(), `select count(*) from hub.integrations i
		where i::text like '%' || $1 || '%' or i::text like '%' || $2 || '%'`, asked[0].key, fields["webhook_secret"]).Scan(&plain))
	require.Zero(t, plain, "secrets are stored encrypted")
}

// Every failure of the first two steps has its status, and nothing is stored.
func TestConnectFailures(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Service = b.service(nil)
	hang := func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(30 * time.Second):
		}
	}
	far, err := hubtest.FreeAddress() // nobody listens there
	require.NoError(t, err)
	closed := "http://" + far
	for name, c := range map[string]struct {
		kind   error
		code   string
		change func(*connect.Request)
		status http.HandlerFunc
	}{
		"no URL":             {hub.ErrInvalid, "url_not_allowed", func(r *connect.Request) { r.APIURL = "peer" }, nil},
		"metadata":           {hub.ErrInvalid, "url_not_allowed", func(r *connect.Request) { r.APIURL = "http://169.254.169.254/api/v1" }, nil},
		"private":            {hub.ErrInvalid, "url_not_allowed", func(r *connect.Request) { r.APIURL = "http://10.0.0.1/api/v1" }, nil},
		"user in URL":        {hub.ErrInvalid, "url_not_allowed", func(r *connect.Request) { r.APIURL = "http://a:b@127.0.0.1/api/v1" }, nil},
		"query in URL":       {hub.ErrInvalid, "validation_failed", func(r *connect.Request) { r.APIURL += "?a=b" }, nil},
		"bad webhook_url":    {hub.ErrInvalid, "url_not_allowed", func(r *connect.Request) { r.WebhookURL = "ftp://x" }, nil},
		"bad product":        {hub.ErrInvalid, "validation_failed", func(r *connect.Request) { r.Product = "Messaging!" }, nil},
		"itself":             {hub.ErrInvalid, "unexpected_product", func(r *connect.Request) { r.Product = "clinic" }, nil},
		"a tenant elsewhere": {hub.ErrInvalid, "product_not_hosted", func(r *connect.Request) { r.LocalProduct = "shop" }, nil},
		"header in key":      {hub.ErrInvalid, "validation_failed", func(r *connect.Request) { r.Key = "a\r\nX: b" }, nil},
		"test key for live":  {hub.ErrInvalid, "environment_mismatch", func(r *connect.Request) { r.Key = "msg_test_abc" }, nil},
		"live key for test":  {hub.ErrInvalid, "environment_mismatch", func(r *connect.Request) { r.Environment = hub.Test }, nil},
		"unmarked for test":  {hub.ErrInvalid, "environment_mismatch", func(r *connect.Request) { r.Environment, r.Key = hub.Test, "plainkey" }, nil},
		"nobody there":       {hub.ErrPeer, "peer_unreachable", func(r *connect.Request) { r.APIURL = closed }, nil},
		"hangs":              {hub.ErrPeerTimeout, "peer_timeout", nil, hang},
		"401":                {hub.ErrInvalid, "remote_key_rejected", nil, answering(401, `{}`)},
		"403":                {hub.ErrInvalid, "remote_key_rejected", nil, answering(403, `{}`)},
		"500":                {hub.ErrPeer, "peer_failed", nil, answering(500, `{}`)},
		"404":                {hub.ErrPeer, "peer_failed", nil, answering(404, `{}`)},
		"redirect": {hub.ErrPeer, "peer_failed", nil, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/api/v1/integrations/elsewhere", http.StatusFound)
		}},
		"HTML":          {hub.ErrPeer, "peer_answer", nil, answering(200, `<html>`)},
		"empty":         {hub.ErrPeer, "peer_answer", nil, answering(200, ``)},
		"an array":      {hub.ErrPeer, "peer_answer", nil, answering(200, `[]`)},
		"too long":      {hub.ErrPeer, "peer_answer", nil, answering(200, `{"product":"`+strings.Repeat("x", 64<<10)+`"}`)},
		"wrong product": {hub.ErrInvalid, "unexpected_product", nil, answering(200, strings.Replace(goodStatus, "messaging", "scheduling", 1))},
		"no product":    {hub.ErrInvalid, "unexpected_product", nil, answering(200, `{"status":"active"}`)},
		"not active":    {hub.ErrInvalid, "peer_not_active", nil, answering(200, strings.Replace(goodStatus, "active", "inactive", 1))},
		"other data":    {hub.ErrInvalid, "environment_mismatch", nil, answering(200, strings.Replace(goodStatus, `"status"`, `"environment":"test","status"`, 1))},
		"cut": {hub.ErrPeer, "peer_unreachable", nil, func(w http.ResponseWriter, _ *http.Request) {
			panic(http.ErrAbortHandler)
		}},
		"drips": {hub.ErrPeerTimeout, "peer_timeout", nil, func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte(" "))
				_ = http.NewResponseController(w).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(500 * time.Millisecond):
				}
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t)
			if c.status != nil {
				p.set(func(p *plainPeer) { p.status = c.status })
			}
			request := b.request(p)
			if c.change != nil {
				c.change(&request)
			}
			began := time.Now()
			_, err := b.Connect(context.Background(), request)
			refused(t, c.kind, c.code, err)
			var refusal *hub.Error
			require.ErrorAs(t, err, &refusal)
			isAmbiguous := c.code == "unexpected_product" || c.code == "environment_mismatch"
			require.Equal(t, isAmbiguous && c.status == nil, refusal.Extensions[hub.ReasonMember] == hub.ReasonNotAsked, "whether the peer was asked")
			if c.code == "peer_timeout" {
				require.GreaterOrEqual(t, time.Since(began), 10*time.Second)
			}
			require.Empty(t, p.seen("/register"))
			require.Empty(t, p.seen("/elsewhere"))
			require.Zero(t, b.count("integrations"))
			require.Zero(t, b.count("keys"))
		})
	}
}

// The interface may lie below /api/v1 of what was given.
func TestConnectFindsTheBase(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	request := b.request(p)
	request.APIURL = p.URL + "/"
	made, err := b.Connect(context.Background(), request)
	require.NoError(t, err)
	require.Equal(t, statusActive, made.Status)
	require.Equal(t, p.URL+"/api/v1", made.APIURL)
}

// A registration that fails in any way leaves an integration in error, which tries
// again with the same id, after 1 minute growing to 15.
func TestRegistrationIsRetried(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]http.HandlerFunc{
		"500": answering(500, `{}`), "404": answering(404, `{}`), "401": answering(401, `{}`),
		"cut":                    func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"redirect":               func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/x", http.StatusFound) },
		"an address not allowed": answering(200, `{"webhook_url":"http://169.254.169.254/hook"}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, p := setup(t), newPeer(t)
			p.set(func(p *plainPeer) { p.register = fail })
			made, err := b.Connect(context.Background(), b.request(p))
			require.NoError(t, err)
			require.Equal(t, statusError, made.Status)
			require.NotEmpty(t, made.LastError)
			tries := 1
			for _, wait := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 15 * time.Minute, 15 * time.Minute} {
				b.later(wait - time.Second)
				require.Len(t, p.seen("/register"), tries, "not before %s", wait)
				b.later(time.Second)
				tries++
				require.Len(t, p.seen("/register"), tries, "after %s", wait)
				require.Equal(t, statusError, b.get(made.ID).Status)
			}
			require.Len(t, p.seen("/status"), 1, "no probe makes it active before")
			p.set(func(p *plainPeer) { p.register = answering(200, `{"integration_id":"theirs","features":["a","b"]}`) })
			b.later(15 * time.Minute)
			got := b.get(made.ID)
			require.Equal(t, statusActive, got.Status)
			require.Empty(t, got.LastError)
			require.Equal(t, "theirs", got.PeerIntegrationID)
			require.Equal(t, []string{"a", "b"}, got.Features)
			calls := p.seen("/register")
			for _, call := range calls {
				require.Equal(t, calls[0].fields, call.fields, "the same registration every time")
			}
			b.later(time.Hour)
			require.Len(t, p.seen("/register"), tries+1)
		})
	}
}

// Connecting again keeps the id and replaces key and secret with an overlap.
func TestReconnect(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	first := b.connected(p)
	b.clock.Advance(time.Hour)
	request := b.request(p)
	request.Key = "msg_live_another"
	second, err := b.Connect(context.Background(), request)
	require.NoError(t, err)
	require.Equal(t, first.ID, second.ID)
	require.Equal(t, 1, b.count("integrations"))
	calls := p.seen("/register")
	require.Len(t, calls, 2)
	require.Equal(t, "msg_live_another", calls[1].key)
	require.NotEqual(t, calls[0].fields["webhook_secret"], calls[1].fields["webhook_secret"])
	oldKey, newKey := calls[0].fields["api_key"].(string), calls[1].fields["api_key"].(string)
	for _, key := range []string{oldKey, newKey} {
		_, err := b.keys.LookUp(context.Background(), key)
		require.NoError(t, err)
	}
	b.clock.Advance(24*time.Hour + time.Second)
	_, err = b.keys.LookUp(context.Background(), oldKey)
	refused(t, hub.ErrUnauthorized, "invalid_key", err)
	_, err = b.keys.LookUp(context.Background(), newKey)
	require.NoError(t, err)
}

// A reconnect whose registration fails takes nothing away: the old key stays good.
func TestFailedReconnectKeepsWhatWorks(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	b.connected(p)
	p.set(func(p *plainPeer) { p.register = answering(500, `{}`) })
	made, err := b.Connect(context.Background(), b.request(p))
	require.NoError(t, err)
	require.Equal(t, statusError, made.Status)
	b.clock.Advance(48 * time.Hour)
	_, err = b.keys.LookUp(context.Background(), p.seen("/register")[0].fields["api_key"].(string))
	require.NoError(t, err)
}

// Connects at once, of one process and of two, make one row, and the peer was notified
// last what is in force.
func TestConcurrentConnects(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	other := b.service(nil)
	var all sync.WaitGroup
	ids := make(chan uuid.UUID, 20)
	for i := range 20 {
		service := b.Service
		if i%2 == 0 {
			service = other
		}
		all.Go(func() {
			if made, err := service.Connect(context.Background(), b.request(p)); err == nil {
				ids <- made.ID
			}
		})
	}
	all.Wait()
	close(ids)
	require.Len(t, ids, 20)
	entry := <-ids
	for id := range ids {
		require.Equal(t, entry, id)
	}
	require.Equal(t, 1, b.count("integrations"))
	b.later(time.Minute + time.Second)
	got := b.get(entry)
	require.Equal(t, statusActive, got.Status)
	require.Nil(t, got.NextRegistrationAt)
	calls := p.seen("/register")
	registered := calls[len(calls)-1].fields
	require.Equal(t, registered["webhook_secret"].(string)[len(registered["webhook_secret"].(string))-4:], got.SecretLast4)
	_, err := b.keys.LookUp(context.Background(), registered["api_key"].(string))
	require.NoError(t, err)
}

// The form of docs/interfaces/scheduling.md: the key for the peer was issued before.
func TestConnectWithALocalKey(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	key, plain, err := b.keys.Create(context.Background(), keys.Draft{TenantID: b.tenant, Environment: hub.Live})
	require.NoError(t, err)
	request := b.request(p)
	request.LocalKey = plain
	made, err := b.Connect(context.Background(), request)
	require.NoError(t, err)
	require.Equal(t, plain, p.seen("/register")[0].fields["api_key"])
	require.Equal(t, key.Last4, made.LocalKeyLast4)
	require.Equal(t, 1, b.count("keys"))

	_, test, err := b.keys.Create(context.Background(), keys.Draft{TenantID: b.tenant, Environment: hub.Test})
	require.NoError(t, err)
	for _, wrong := range []string{"cli_live_unknown", test} {
		request.LocalKey = wrong
		_, err = b.Connect(context.Background(), request)
		refused(t, hub.ErrInvalid, "validation_failed", err)
	}
	request.LocalKey, request.Product = plain, "scheduling"
	p.set(func(p *plainPeer) {
		p.status = answering(200, strings.Replace(goodStatus, "messaging", "scheduling", 1))
	})
	_, err = b.Connect(context.Background(), request)
	refused(t, hub.ErrConflict, "key_in_use", err)
	require.Equal(t, 1, b.count("integrations"))
}

// Live and test are different connections.
func TestEnvironmentsAreApart(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	live := b.connected(p)
	request := b.request(p)
	request.Environment, request.Key = hub.Test, "msg_test_abc"
	test, err := b.Connect(context.Background(), request)
	require.NoError(t, err)
	require.NotEqual(t, live.ID, test.ID)
	calls := p.seen("/register")
	require.Equal(t, "test", calls[1].fields["environment"])
	require.Regexp(t, `^cli_test_`, calls[1].fields["api_key"])
	_, err = b.Get(context.Background(), live.ID, integration.Filter{TenantID: &b.tenant, Environment: hub.Test})
	refused(t, hub.ErrNotFound, "not_found", err)
}

// Another process connects while ours waits for the peer: whose registration the peer
// saw last is not known, so it is sent once more what is in force.
func TestOvertakenHandshake(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	other := b.service(nil)
	var begun atomic.Bool
	p.set(func(p *plainPeer) {
		p.register = func(w http.ResponseWriter, r *http.Request) {
			if begun.CompareAndSwap(false, true) {
				overtaking, err := other.Connect(context.Background(), b.request(p))
				if err != nil || overtaking.Status != statusActive {
					t.Errorf("connecting: %v %v", overtaking.Status, err)
				}
			}
			answering(200, `{}`)(w, r)
		}
	})
	made, err := b.Connect(context.Background(), b.request(p))
	require.NoError(t, err)
	require.Len(t, p.seen("/register"), 2)
	b.later(0)
	calls := p.seen("/register")
	require.Len(t, calls, 3)
	require.Equal(t, b.connection(made.ID).Secret(), calls[2].fields["webhook_secret"])
	require.Equal(t, calls[1].fields["webhook_secret"], calls[2].fields["webhook_secret"])
	require.Nil(t, b.get(made.ID).NextRegistrationAt)
}

// The peer applies the registration of one process last, which also ends first: the other
// process, which overtook it, changes nothing: the peer is notified once more.
func TestOvertakenHandshakeEndsFirst(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	other := b.service(nil)
	var calls atomic.Int32
	second, firstEnded, secondEnded := make(chan struct{}), make(chan struct{}), make(chan struct{})
	p.set(func(p *plainPeer) {
		p.register = func(w http.ResponseWriter, r *http.Request) {
			switch calls.Add(1) {
			case 1:
				go func() {
					defer close(secondEnded)
					if _, err := other.Connect(context.Background(), b.request(p)); err != nil {
						t.Errorf("connecting: %v", err)
					}
				}()
				<-second
			case 2:
				close(second)
				<-firstEnded
			}
			answering(200, `{}`)(w, r)
		}
	})
	made, err := b.Connect(context.Background(), b.request(p))
	require.NoError(t, err)
	close(firstEnded)
	<-secondEnded
	require.Equal(t, statusActive, b.get(made.ID).Status)
	b.later(0)
	entry := p.seen("/register")
	require.Len(t, entry, 3)
	require.Equal(t, b.connection(made.ID).Secret(), entry[2].fields["webhook_secret"])
	require.Nil(t, b.get(made.ID).NextRegistrationAt)
}
