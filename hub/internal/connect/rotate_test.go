package connect_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/connect"
	"integrationhub/hub/internal/integration"
)

func TestRotateSecret(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	made := b.connected(p)
	first := p.seen("/register")[0].fields["webhook_secret"].(string)
	row, secret, err := b.RotateSecret(context.Background(), made.ID, integration.Filter{}, time.Hour)
	require.NoError(t, err)
	require.Equal(t, statusActive, row.Status)
	require.Equal(t, secret, p.seen("/register")[1].fields["webhook_secret"])
	require.Equal(t, secret, b.connection(made.ID).Secret())
	require.True(t, b.verifies(made.ID, first))
	b.clock.Advance(time.Hour + time.Second)
	require.False(t, b.verifies(made.ID, first))

	p.set(func(p *plainPeer) { p.register = answering(503, `{}`) })
	_, _, err = b.RotateSecret(context.Background(), made.ID, integration.Filter{}, time.Hour)
	refused(t, hub.ErrPeer, "peer_failed", err)
	require.Equal(t, secret, b.connection(made.ID).Secret())
	calls := p.seen("/register")
	vain := calls[len(calls)-1].fields["webhook_secret"].(string)
	require.True(t, b.verifies(made.ID, vain), "the peer may have taken it")
	require.Equal(t, statusActive, b.get(made.ID).Status)
	_, _, err = b.RotateSecret(context.Background(), made.ID, integration.Filter{}, 8*24*time.Hour)
	refused(t, hub.ErrInvalid, "validation_failed", err)
}

// A peer that stored a rotated secret and failed to respond signs with it: it is registered with
// again, with the secret in force, before the overlap is over. The integration stays in use
// meanwhile. A peer that refused the secret has not stored it.
func TestRotationWithoutAResponse(t *testing.T) {
	t.Parallel()
	for status, mayHaveStored := range map[int]bool{503: true, 408: true, 400: false, 401: false, 429: false} {
		b, p := setup(t), newPeer(t)
		made := b.connected(p)
		before := b.connection(made.ID).Secret()
		p.set(func(p *plainPeer) { p.register = answering(status, `{}`) })
		_, _, err := b.RotateSecret(context.Background(), made.ID, integration.Filter{}, time.Hour)
		require.Error(t, err)
		calls := len(p.seen("/register"))
		for range 3 {
			b.later(time.Hour)
			require.Equal(t, statusActive, b.get(made.ID).Status)
		}
		require.Equal(t, mayHaveStored, len(p.seen("/register")) > calls, status)
		p.set(func(p *plainPeer) { p.register = answering(200, `{}`) })
		b.later(time.Hour)
		if mayHaveStored {
			seen := p.seen("/register")
			require.Equal(t, before, seen[len(seen)-1].fields["webhook_secret"])
		}
		require.Equal(t, before, b.connection(made.ID).Secret())
		require.Nil(t, b.get(made.ID).NextRegistrationAt)
	}
}

// A process that dies after the peer has stored a rotated secret leaves the rotation to another,
// which completes it.
func TestRotationIsCompletedByAnother(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	made := b.connected(p)
	hide := func(from, to string) {
		_, err := b.db.Exec(context.Background(), `alter table hub.`+from+` rename to `+to)
		require.NoError(t, err)
	}
	p.set(func(p *plainPeer) {
		p.register = func(w http.ResponseWriter, r *http.Request) {
			hide("integrations", "hidden") // the process can store nothing any more
			answering(200, `{}`)(w, r)
		}
	})
	_, _, err := b.RotateSecret(context.Background(), made.ID, integration.Filter{}, time.Hour)
	require.Error(t, err)
	hide("hidden", "integrations")
	calls := p.seen("/register")
	stored := calls[len(calls)-1].fields["webhook_secret"].(string)
	require.NotEqual(t, stored, b.connection(made.ID).Secret())
	p.set(func(p *plainPeer) { p.register = answering(200, `{}`) })
	b.later(2 * time.Minute)
	require.Equal(t, stored, b.connection(made.ID).Secret())
	require.Equal(t, statusActive, b.get(made.ID).Status)
}

// The peer registered a moment ago and may take a rotation of ours for the other half of
// that handshake: every new secret wins over the one before, however many follow each other.
func TestRotationsWinAtThePeer(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	made := b.connected(p)
	who := b.lookUp(p.seen("/register")[0].fields["api_key"].(string))
	_, err := b.Accept(context.Background(), who, registration(p, someSecret))
	require.NoError(t, err)
	before := b.connection(made.ID).Secret()
	for range 50 {
		_, secret, err := b.RotateSecret(context.Background(), made.ID, integration.Filter{}, time.Hour)
		require.NoError(t, err)
		require.True(t, connect.WinsOver(secret, before))
		require.Equal(t, secret, b.connection(made.ID).Secret())
		calls := p.seen("/register")
		require.Equal(t, secret, calls[len(calls)-1].fields["webhook_secret"])
		before = secret
	}
}

// Where no secret can be made that wins, the rotation is refused, and nothing has
// changed; a little later the peer takes any.
func TestRotationThatCannotWin(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	who := b.issuePrincipal(hub.Live)
	accepted, err := b.Accept(context.Background(), who, registration(p, unbeatable))
	require.NoError(t, err)
	_, secret, err := b.RotateSecret(context.Background(), accepted.IntegrationID, integration.Filter{}, time.Hour)
	refused(t, hub.ErrRateLimited, "rotated_too_often", err)
	require.Empty(t, secret)
	require.Empty(t, p.seen("/register"))
	require.Equal(t, unbeatable, b.connection(accepted.IntegrationID).Secret())
	require.Equal(t, 1, b.count("keys"))

	var entry *hub.Error
	require.ErrorAs(t, err, &entry)
	require.Positive(t, entry.RetryAfter)
	b.clock.Advance(entry.RetryAfter)
	_, secret, err = b.RotateSecret(context.Background(), accepted.IntegrationID, integration.Filter{}, time.Hour)
	require.NoError(t, err)
	require.Equal(t, secret, b.connection(accepted.IntegrationID).Secret())
}

// A connect of another process overtakes a rotation: what the rotation sent the peer is
// not in force, so it says that it failed, and the peer is sent once more what is.
func TestRotationIsOvertaken(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	made := b.connected(p)
	other := b.service(nil)
	var begun atomic.Bool
	p.set(func(p *plainPeer) {
		p.register = func(w http.ResponseWriter, r *http.Request) {
			if begun.CompareAndSwap(false, true) {
				if _, err := other.Connect(context.Background(), b.request(p)); err != nil {
					t.Errorf("connecting: %v", err)
				}
			}
			answering(200, `{}`)(w, r)
		}
	})
	_, secret, err := b.RotateSecret(context.Background(), made.ID, integration.Filter{}, time.Hour)
	refused(t, hub.ErrConflict, "handshake_overtook", err)
	require.Empty(t, secret)
	require.Len(t, p.seen("/register"), 3)
	b.later(0)
	calls := p.seen("/register")
	require.Len(t, calls, 4)
	require.Equal(t, calls[2].fields["webhook_secret"], calls[3].fields["webhook_secret"], "the connect's")
	require.Equal(t, b.connection(made.ID).Secret(), calls[3].fields["webhook_secret"])
	require.Nil(t, b.get(made.ID).NextRegistrationAt)
	require.Equal(t, statusActive, b.get(made.ID).Status)
}

// Another process registers with the peer while the rotation waits for its response, and puts the
// new secret into force: the rotation has succeeded.
func TestRotationThatAnotherCompletesSucceeds(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	made := b.connected(p)
	other := b.service(nil)
	var begun atomic.Bool
	p.set(func(p *plainPeer) {
		p.register = func(w http.ResponseWriter, r *http.Request) {
			if begun.CompareAndSwap(false, true) {
				b.clock.Advance(2 * time.Minute)
				if err := other.RunDue(context.Background()); err != nil {
					t.Errorf("registering: %v", err)
				}
			}
			answering(200, `{}`)(w, r)
		}
	})
	_, secret, err := b.RotateSecret(context.Background(), made.ID, integration.Filter{}, time.Hour)
	require.NoError(t, err)
	require.Equal(t, secret, b.connection(made.ID).Secret())
	calls := p.seen("/register")
	require.Len(t, calls, 3)
	require.Equal(t, secret, calls[2].fields["webhook_secret"])
	require.Nil(t, b.get(made.ID).NextRegistrationAt)
	require.Equal(t, statusActive, b.get(made.ID).Status)
}

// A peer that left and comes back brings its secret, whatever was registered before.
func TestSecretOfAPeerThatCameBack(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	made := b.connected(p)
	require.True(t, connect.WinsOver(b.connection(made.ID).Secret(), beatable))
	who := b.lookUp(p.seen("/register")[0].fields["api_key"].(string))
	_, err := b.Unregister(context.Background(), who)
	require.NoError(t, err)
	_, err = b.Accept(context.Background(), who, registration(p, beatable))
	require.NoError(t, err)
	require.Equal(t, beatable, b.connection(made.ID).Secret(), "it knows no other")
}

// A peer stored a rotated secret and failed to respond, and refuses the next rotation: what heals
// the first one stays due, and its secret stays acceptable until then.
func TestRefusedRotationKeepsWhatHealsTheOneBefore(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 429} {
		b, p := setup(t), newPeer(t)
		made := b.connected(p)
		inForce := b.connection(made.ID).Secret()
		rotate := func(status int) (sent string) {
			p.set(func(p *plainPeer) { p.register = answering(status, `{}`) })
			_, _, err := b.RotateSecret(t.Context(), made.ID, integration.Filter{}, time.Hour)
			require.Error(t, err)
			calls := p.seen("/register")
			return calls[len(calls)-1].fields["webhook_secret"].(string)
		}
		stored := rotate(503)
		b.clock.Advance(10 * time.Second)
		rotate(status)
		require.True(t, b.verifies(made.ID, stored))
		_, _, err := b.service(func(c *connect.Config) {
			c.Client = connect.NewDoer(func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("no route to host")}
			}, "test")
		}).RotateSecret(t.Context(), made.ID, integration.Filter{}, time.Hour)
		require.Error(t, err)
		require.True(t, b.verifies(made.ID, stored), "nothing was sent")
		p.set(func(p *plainPeer) { p.register = answering(200, `{}`) })
		b.later(2 * time.Minute)
		calls := p.seen("/register")
		require.Equal(t, inForce, calls[len(calls)-1].fields["webhook_secret"], status)
		require.Equal(t, inForce, b.connection(made.ID).Secret())
	}
}

// A rotation that the peer refuses leaves the retries of a registration that failed as they were.
func TestRefusedRotationKeepsRetries(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	made := b.connected(p)
	p.set(func(p *plainPeer) { p.register = answering(500, `{}`) })
	_, err := b.Connect(t.Context(), b.request(p))
	require.NoError(t, err)
	b.clock.Advance(25 * time.Hour)
	require.NoError(t, b.RunDue(t.Context()))
	require.Equal(t, statusError, b.get(made.ID).Status)
	p.set(func(p *plainPeer) { p.register = answering(401, `{}`) })
	_, _, err = b.RotateSecret(t.Context(), made.ID, integration.Filter{}, time.Hour)
	require.Error(t, err)
	require.NotNil(t, b.get(made.ID).NextRegistrationAt)
	p.set(func(p *plainPeer) { p.register = answering(200, `{}`) })
	b.later(20 * time.Minute)
	require.Equal(t, statusActive, b.get(made.ID).Status)
}

// A registration that another process began before a rotation may reach the peer after it, with
// the secret from before: the peer is registered with once more.
func TestRegistrationAcrossARotation(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	made := b.connected(p)
	p.set(func(p *plainPeer) { p.register = answering(503, `{}`) })
	_, _, err := b.RotateSecret(t.Context(), made.ID, integration.Filter{}, time.Hour)
	require.Error(t, err)
	isCalled, release := make(chan struct{}), make(chan struct{})
	p.set(func(p *plainPeer) {
		p.register = func(w http.ResponseWriter, r *http.Request) {
			close(isCalled)
			<-release
			answering(200, `{}`)(w, r)
		}
	})
	b.clock.Advance(2 * time.Minute)
	isDone := make(chan error, 1)
	go func() { isDone <- b.service(nil).RunDue(context.WithoutCancel(t.Context())) }()
	<-isCalled
	p.set(func(p *plainPeer) { p.register = answering(200, `{}`) })
	_, secret, err := b.RotateSecret(t.Context(), made.ID, integration.Filter{}, time.Hour)
	require.NoError(t, err)
	close(release)
	require.NoError(t, <-isDone)
	require.Equal(t, secret, b.connection(made.ID).Secret())
	require.NoError(t, b.RunDue(t.Context()))
	calls := p.seen("/register")
	require.Len(t, calls, 5, "connected, rotated in vain, registered by another process, rotated, once more")
	require.Equal(t, secret, calls[4].fields["webhook_secret"])
}

// Whoever completes the rotation of a process that died keeps the overlap that was asked for. Until
// the peer takes the secret the integration stays in use.
func TestRotationOfADeadProcess(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	made := b.connected(p)
	leaked := b.connection(made.ID).Secret()
	hide := func(from, to string) {
		_, err := b.db.Exec(context.Background(), `alter table hub.`+from+` rename to `+to)
		require.NoError(t, err)
	}
	p.set(func(p *plainPeer) {
		p.register = func(w http.ResponseWriter, r *http.Request) {
			hide("integrations", "hidden") // the process can store nothing any more
			answering(200, `{}`)(w, r)
		}
	})
	_, _, err := b.RotateSecret(t.Context(), made.ID, integration.Filter{}, 0)
	require.Error(t, err)
	hide("hidden", "integrations")
	calls := p.seen("/register")
	sent := calls[len(calls)-1].fields["webhook_secret"].(string)
	for _, status := range []int{503, 401, 429} {
		p.set(func(p *plainPeer) { p.register = answering(status, `{}`) })
		b.later(time.Hour)
		require.Equal(t, statusActive, b.get(made.ID).Status, status)
		require.True(t, b.verifies(made.ID, sent), "the peer may have stored it")
	}
	p.set(func(p *plainPeer) { p.register = answering(200, `{}`) })
	b.later(time.Hour)
	require.Equal(t, sent, b.connection(made.ID).Secret())
	require.False(t, b.verifies(made.ID, leaked), "no overlap was asked for")
}
