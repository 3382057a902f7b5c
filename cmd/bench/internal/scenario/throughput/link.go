package throughput

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/cmd/bench/internal/hubapi"
	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/stage"
	"integrationhub/hub"
)

// linkSizes are the sizes of the scenario of a link.
type linkSizes struct {
	events    int           // that wait, in two requests
	settle    time.Duration // until the link has its pace
	window    time.Duration // that is measured
	deletions int           // published in it, one after the other
}

// deletionLimit is how long a deletion may take before the scenario fails.
const deletionLimit = 30 * time.Second

// MeasureLink links two accounts of a hub, at the rate that links have without a setting. One
// publishes 20,000 events with the priority of an import. While they are sent, it measures the
// rate for 30 s, and how long events with the priority of a deletion take.
func MeasureLink(ctx context.Context, run *stage.Run) (*report.Result, error) {
	gateway := newNotesGateway(run)
	st, err := stage.Open(ctx, run, gateway, 1)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	return measureLink(ctx, st, &gateway.API, linkSizes{events: 20_000, settle: 5 * time.Second, window: 30 * time.Second, deletions: 5})
}

func measureLink(ctx context.Context, st *stage.Stage, api *hubapi.Client, sizes linkSizes) (*report.Result, error) {
	l := &link{api: api}
	var err error
	if l.db, err = pgx.Connect(ctx, st.Cluster.DatabaseURL); err != nil {
		return nil, fmt.Errorf("connecting to the gateway's database: %w", err)
	}
	defer l.db.Close(ctx)
	if err := l.setUp(ctx, sizes.events); err != nil {
		return nil, fmt.Errorf("setting up a link: %w", err)
	}
	if err := st.Process.WaitUntil(ctx, deletionLimit, func() error { return l.requireReceived(ctx) }); err != nil {
		return nil, err
	}
	time.Sleep(sizes.settle)
	began := time.Now()
	former, err := l.received(ctx)
	if err != nil {
		return nil, err
	}
	var slowest time.Duration
	for n := range sizes.deletions {
		time.Sleep(time.Until(began.Add(sizes.window * time.Duration(n+1) / time.Duration(sizes.deletions+1))))
		took, err := l.publishDeletion(ctx, st)
		if err != nil {
			return nil, err
		}
		slowest = max(slowest, took)
	}
	time.Sleep(time.Until(began.Add(sizes.window)))
	received, err := l.received(ctx)
	if err != nil {
		return nil, err
	}
	elapsed := time.Since(began)
	if received >= sizes.events {
		return nil, errors.New("measuring a link: nothing waits any more at the end")
	}
	return &report.Result{Figures: map[string]float64{
		report.FigureLinkRate:     float64(received-former) / elapsed.Minutes(),
		report.FigureLinkDeletion: float64(slowest.Microseconds()) / 1000,
	}}, nil
}

// link is a connection of two accounts of one hub.
type link struct {
	api              *hubapi.Client
	db               *pgx.Conn
	sender, receiver string // ids of the tenants
	token            string // of the sender's administrator
}

// setUp links two tenants, and publishes events that wait.
func (l *link) setUp(ctx context.Context, events int) (err error) {
	if l.sender, l.token, err = signUp(ctx, l.api, "notes"); err != nil {
		return err
	}
	if l.receiver, _, err = signUp(ctx, l.api, "board"); err != nil {
		return err
	}
	tenants := map[string]any{"tenant_id": l.sender, "peer_tenant_id": l.receiver}
	if err := l.api.Call(ctx, http.MethodPost, "/integrations/link", tenants, nil); err != nil {
		return err
	}
	for range 2 {
		if _, err := l.publish(ctx, hub.PriorityBulk, events/2); err != nil {
			return err
		}
	}
	var bulk int
	if err := l.db.QueryRow(ctx, `select count(*) from hub.deliveries where tenant_id = $1 and priority = $2`, l.sender, int16(hub.PriorityBulk)).Scan(&bulk); err != nil {
		return fmt.Errorf("counting what waits: %w", err)
	}
	if bulk != events {
		return fmt.Errorf("%d events with the priority of imports were stored, not %d", bulk, events)
	}
	return nil
}

// publish has the sender publish events, and returns the id of the first.
func (l *link) publish(ctx context.Context, priority hub.Priority, count int) (id string, err error) {
	var published struct {
		ID string `json:"id"`
	}
	path := "/notes/api/v1/publish?priority=" + strconv.Itoa(int(priority)) + "&count=" + strconv.Itoa(count)
	err = l.api.CallPath(ctx, http.MethodPost, path, hubapi.Bearer(l.token), map[string]any{"author": "", "text": "note "}, &published)
	return published.ID, err
}

// publishDeletion publishes an event with the priority of deletions, and waits until the
// receiver has stored it. It returns the time from the request on.
func (l *link) publishDeletion(ctx context.Context, st *stage.Stage) (time.Duration, error) {
	began := time.Now()
	id, err := l.publish(ctx, hub.PriorityHigh, 1)
	if err != nil {
		return 0, err
	}
	number, ok := hub.ParseEventID(id)
	if !ok {
		return 0, fmt.Errorf("publishing a deletion: %q is no id of an event", id)
	}
	err = st.Process.WaitUntil(ctx, deletionLimit, func() error {
		var stored int
		err := l.db.QueryRow(ctx, `select count(*) from hub.received where event_id = $1 and tenant_id = $2`, int64(number), l.receiver).Scan(&stored)
		if err == nil && stored == 0 {
			err = errors.New("the other account has not received a deletion")
		}
		return err
	})
	return time.Since(began), err
}

// received returns how many events the receiver has stored.
func (l *link) received(ctx context.Context) (n int, err error) {
	if err := l.db.QueryRow(ctx, `select count(*) from hub.received where tenant_id = $1`, l.receiver).Scan(&n); err != nil {
		return 0, fmt.Errorf("counting what was received: %w", err)
	}
	return n, nil
}

func (l *link) requireReceived(ctx context.Context) error {
	n, err := l.received(ctx)
	if err == nil && n == 0 {
		err = errors.New("nothing was received")
	}
	return err
}
