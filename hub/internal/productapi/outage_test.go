package productapi_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/notes"
	"integrationhub/hub/internal/connect"
	"integrationhub/hub/internal/egress"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/seal"
)

// prober is another process of a node's hub that probes peers by a clock of its own.
type prober struct {
	*connect.Service
	t     *testing.T
	clock *hubtest.Clock
}

func newProber(t *testing.T, n *node, peer hub.Connector) *prober {
	t.Helper()
	p := &prober{t: t, clock: hubtest.NewClock(time.Now())}
	box, err := seal.New(bytes.Repeat([]byte{7}, seal.KeySize))
	require.NoError(t, err)
	guard, err := egress.New(egress.Config{Development: true})
	require.NoError(t, err)
	p.Service = connect.New(connect.Config{
		DB: n.db, Box: box, Keys: keys.NewService(n.db, nil, "0", p.clock.Now), URLs: guard, Client: connect.NewDoer(guard.DialContext, "test"),
		Connectors: func(string) hub.Connector { return peer },
		Products: func(name string) (connect.Product, bool) {
			return connect.Product{Spec: notes.New("notes").Spec(), BaseURL: n.url + "/notes"}, name == "notes"
		},
		OnRecovered: func(uuid.UUID) {}, Random: func() float64 { return 0.5 }, Log: slog.New(slog.DiscardHandler), Now: p.clock.Now,
	})
	return p
}

// minute turns the clock and does what has come due.
func (p *prober) minute() {
	p.t.Helper()
	p.clock.Advance(time.Minute)
	require.NoError(p.t, p.RunDue(context.Background()))
}

// A peer is away for an hour by the probes' clock, with 500 events waiting: they are
// delivered in order of age, none is lost, and never are there more than the peer takes.
// What happens meanwhile does not wait for them. A minute of the peer's limit is a second
// here: it takes 100 in one.
func TestOutageOfAnHour(t *testing.T) {
	t.Parallel()
	const limit, waiting, live = 100, 500, 10
	o, p, id := connectCRM(t, 60*limit)
	probes := newProber(t, o.node, crm(60*limit))
	status := func() (s string) {
		require.NoError(t, o.db.QueryRow(t.Context(), `select status from hub.integrations where id = $1`, id).Scan(&s))
		return s
	}
	// The hub itself drew the moment of the first probe: up to 66 s from now.
	_, err := o.db.Exec(t.Context(), `update hub.integrations set next_probe_at = now() + interval '50 seconds' where id = $1`, id)
	require.NoError(t, err)
	p.answerStatus(503)
	for n := 1; n <= 60; n++ {
		probes.minute()
		want := "error"
		if n < 3 {
			want = "active"
		}
		require.Equal(t, want, status(), "after %d failed probes", n)
		if n > 3 && n <= 53 {
			for k := range waiting / 50 {
				require.Equal(t, 202, o.publish(fmt.Sprintf("old %03d", (n-4)*waiting/50+k)).status)
			}
		}
	}
	require.Eventually(t, func() bool {
		var parked int
		require.NoError(t, o.db.QueryRow(t.Context(),
			`select count(*) from hub.deliveries where target_id = $1 and status = 2 and reason = 'peer_unavailable' and attempts = 0`, id).Scan(&parked))
		return parked == waiting
	}, 2*soon, tick)
	require.Empty(t, p.arrivals())
	p.answerStatus(0)
	probes.minute()
	require.Equal(t, "error", status(), "one good probe is not enough")
	probes.minute()
	require.Equal(t, "active", status())

	require.Eventually(t, func() bool { return len(p.arrivals()) > 50 }, soon, tick)
	before := len(p.arrivals())
	for n := range live {
		require.Equal(t, 202, o.publish(fmt.Sprintf("live %d", n)).status)
	}
	isLive := func(a arrived) bool { return strings.HasPrefix(a.text, "live") }
	states := []string{""} // for the message
	require.Eventually(t, func() bool {
		require.NoError(t, o.db.QueryRow(t.Context(), `
			select coalesce(string_agg(s, ', '), '') from (
				select format('%s with status %s %s after %s', count(*), status, reason, attempts) as s from hub.deliveries
				where target_id = $1 group by status, reason, attempts) d`, id).Scan(&states[0]))
		return len(p.arrivals()) >= waiting+live
	}, 6*soon, 5*tick, "some are missing; in the log are %v", &states)
	got := p.arrivals()
	require.Empty(t, p.bad, "signatures and keys are valid")
	checkPaced(t, got, limit)
	seen := make(map[string]bool)
	lastLive := 0
	for i, a := range got {
		require.False(t, seen[a.text], "%s came twice", a.text)
		seen[a.text] = true
		if isLive(a) {
			lastLive = i
		}
	}
	require.Less(t, lastLive-before, waiting/2, "live events do not wait for the backlog")
	require.Eventually(t, func() bool {
		var unfinished int
		require.NoError(t, o.db.QueryRow(t.Context(), `select count(*) from hub.deliveries where target_id = $1 and status <> 1`, id).Scan(&unfinished))
		return unfinished == 0
	}, soon, tick)
	// Oldest first, by when they were sent: a few are in turn at once, and on a busy machine
	// one overtakes another there.
	rows, err := o.db.Query(t.Context(), `
		select (regexp_match(convert_from(e.body, 'UTF8'), 'old (\d+)'))[1]::int
		from hub.deliveries d join hub.events e on e.seq = (overlay(d.id::text placing '0000' from 33))::uuid
		where d.target_id = $1 and position('old'::bytea in e.body) > 0 order by d.started_at`, id)
	require.NoError(t, err)
	order, err := pgx.CollectRows(rows, pgx.RowTo[int])
	require.NoError(t, err)
	require.Len(t, order, waiting)
	for place, age := range order {
		require.InDelta(t, age, place, waiting/20, "sent as the %d. of all", place+1)
	}
	require.Eventually(t, func() bool {
		var draining bool
		require.NoError(t, o.db.QueryRow(t.Context(), `select exists (select from hub.drains where target_id = $1 and state = 'draining')`, id).Scan(&draining))
		return !draining
	}, soon, tick)
}

// checkPaced requires at most so many arrivals in any second.
func checkPaced(t *testing.T, arrivals []arrived, most int) {
	t.Helper()
	for first, last := 0, 0; last < len(arrivals); last++ {
		for arrivals[last].at.Sub(arrivals[first].at) >= time.Second {
			first++
		}
		require.LessOrEqual(t, last-first+1, most, "in one second")
	}
}
