package connect_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// A probe falls due while another peer keeps its caller waiting: it does not wait for that one.
func TestProbesDoNotWaitForSlowPeers(t *testing.T) {
	t.Parallel()
	b, slow, other := setup(t), newPeer(t), newPeer(t)
	b.connected(slow)
	b.clock.Advance(30 * time.Second)
	request := b.request(other)
	request.Environment, request.Key = hub.Test, "msg_test_somethingElseThatTheyMade"
	_, err := b.Connect(t.Context(), request)
	require.NoError(t, err)

	isAsked, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	slow.set(func(p *plainPeer) {
		p.status = func(http.ResponseWriter, *http.Request) {
			close(isAsked)
			<-release
		}
	})
	isProbed := make(chan struct{}, 1)
	other.set(func(p *plainPeer) {
		p.status = func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, goodStatus)
			isProbed <- struct{}{}
		}
	})
	running, stop := context.WithCancel(t.Context())
	isStopped := make(chan struct{})
	go func() {
		defer close(isStopped)
		b.Run(running)
	}()
	defer func() {
		stop()
		<-isStopped
	}()
	b.clock.Advance(40 * time.Second) // 70 s after the first, 40 s after the second
	<-isAsked
	require.Empty(t, isProbed)
	b.clock.Advance(25 * time.Second)
	select {
	case <-isProbed:
	case <-time.After(8 * time.Second): // a probe ends after 10 s
		t.Fatal("the second peer was not probed while the first did not respond")
	}
}
