package main_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReplay(t *testing.T) {
	t.Parallel()
	p := newTenant(t).withKey()
	receiver := newReceiver(t, 200, "")
	endpoint := p.subscribe(receiver.URL)
	p.publishBatch(12, "a.b")
	p.awaitSettled(12, "delivered")
	require.Equal(t, "12", p.run("replay", "--tenant", p.tenant, "--status", "delivered", "--dry-run").requireOK())
	require.JSONEq(t, `{"count":0}`, p.run("replay", "--tenant", p.tenant, "--status", "failed", "--dry-run", "-o", "json").requireOK())
	p.run("replay", "--yes").requireFails(2, "at least one filter")
	p.run("replay", "--tenant", p.tenant).requireFails(2, "--yes is needed")
	require.Equal(t, 12, receiver.count())

	id := p.run("replay", "--tenant", p.tenant, "--status", "delivered", "--yes", "--detach", "-q").requireOK()
	require.Len(t, id, 36)
	var replay struct {
		Status string `json:"status"`
		Total  int    `json:"total"`
		Done   int    `json:"done"`
	}
	require.Eventually(t, func() bool {
		p.hub.callInto(t, &replay, 200, "GET", "/api/v1/replays/"+id, "")
		return replay.Status == "done"
	}, waitTimeout, pollInterval)
	require.Equal(t, 12, replay.Done)
	p.awaitSettled(12, "delivered")
	require.Equal(t, 24, receiver.count())

	watched := p.run("replay", "--endpoint", endpoint, "--status-code", "200", "--since", "2026-01-01", "--yes")
	require.Contains(t, watched.requireOK(), "status     done\ntotal      12\ndone       12\ndelivered  12\nparked     0\nfailed     0")
	require.Regexp(t, `\S{36}: \d+ of 12, 0 parked, 0 failed`, watched.stderr)
	p.awaitSettled(12, "delivered")
	require.Equal(t, 36, receiver.count())

	// An endpoint that was added late is sent what it missed.
	late := newReceiver(t, 200, "")
	missed := p.subscribe(late.URL)
	require.Equal(t, "12", p.run("endpoints", "recover", missed, "--since", "1h", "--dry-run").requireOK())
	p.run("endpoints", "recover", missed, "--yes").requireFails(2, "--since is needed")
	require.Contains(t, p.run("endpoints", "recover", missed, "--since", "1h", "--events", "a.*", "--yes").requireOK(), "delivered  12")
	require.Equal(t, 12, late.count())
	require.Contains(t, p.run("replay", "list").requireOK(), "recover")
	require.Contains(t, p.run("replay", "show", id).requireOK(), "delivered  12")
	require.Contains(t, p.run("replay", "cancel", id).requireOK(), "done", "what has ended stays as it is")
	p.run("endpoints", "delete", missed).requireOK()

	// Deliveries that cannot be sent again are counted, and the exit code is not 0.
	p.run("endpoints", "update", endpoint, "--enabled=false").requireOK()
	partly := p.run("replay", "--endpoint", endpoint, "--yes")
	require.Equal(t, 6, partly.code, partly.stderr)
	require.Contains(t, partly.stderr, "of 12, 0 were delivered, 0 parked, 12 failed")
}
