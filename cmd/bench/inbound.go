package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// What the inbound scenario finds out beside the rate and the cost of webhooks. CPU is
// in milliseconds per 1,000 events; publishing to one endpoint includes the delivery.
const (
	figurePublish        = "publish_per_s"
	figurePublishCPU     = "publish_cpu_ms_per_1000"
	figureUnsent         = "publish_without_endpoint_per_s"
	figureUnsentCPU      = "publish_without_endpoint_cpu_ms_per_1000"
	figureInboundCPU     = "received_cpu_ms_per_1000"
	figureInboundPercent = "received_percent_of_published"
	figureUnsentPercent  = "received_percent_of_published_without_endpoint"
	figureCPUPercent     = "received_cpu_percent_of_publishing"
	figureNoted          = "received_with_an_insert_per_s"
	figureNotedCPU       = "received_with_an_insert_cpu_ms_per_1000"
	figureNotedPercent   = "received_with_an_insert_percent_of_published"
)

// inboundSlices is into how many turns the two loads of the inbound scenario are cut: they
// alternate, so that what else the machine does falls on both.
const inboundSlices = 5

// newNotes is the gateway with a hosted product whose Handle is one insert, or none.
func newNotes(b *bench) *gatewayService { return &gatewayService{bench: b, notes: true} }

// buildNotes compiles the hub with the product that takes webhooks.
func (b *bench) buildNotes(ctx context.Context) (string, error) {
	binary := filepath.Join(b.dir, "hubnotes")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "integrationhub/hub/hubtest/notes/hubnotes")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the hub with a product: %w\n%s", err, out)
	}
	return binary, nil
}

// measureInbound sends genuine webhooks to a hosted product, and publishes events of the
// same size, with one endpoint and with none. A webhook is verified, stored with its one
// delivery, handed to the product, and audited; a published event is stored, and with an
// endpoint sent and logged as well. What the product does with an event is its own: the
// hub's work is measured with one that needs no statement, and beside it with one insert.
// The next turn begins when all is done.
func measureInbound(ctx context.Context, b *bench) (*Result, error) {
	g := newNotes(b)
	st, err := openStage(ctx, b, g, 1)
	if err != nil {
		return nil, err
	}
	defer st.close()
	publications, err := g.furnishPublisher(ctx)
	if err != nil {
		return nil, err
	}
	published, unsent := &turn{load: load{}}, &turn{load: publications}
	received, noted := &turn{}, &turn{}
	for eventType, t := range map[string]*turn{seenEvent: received, notedEvent: noted} {
		if t.load, err = g.furnishPeer(ctx, st.base+"/hook/0", eventType); err != nil {
			return nil, err
		}
	}
	if err := st.takeTurns(ctx, []*turn{published, unsent, received, noted}); err != nil {
		return nil, err
	}
	if err := g.countEffects(ctx, st.cluster.databaseURL, received.events+noted.events+2*warmUpEvents, noted.events+warmUpEvents); err != nil {
		return nil, err
	}
	result := &Result{
		Events: received.events, Connections: b.options.connections, PayloadBytes: b.options.size,
		Statuses: map[string]int{strconv.Itoa(http.StatusOK): received.events},
		Answer:   newLatency(received.answers), Accepted: received.rate(),
		CPU: received.cost(),
	}
	result.Ledger.Accepted = received.events
	result.Delivered = result.Accepted // into the product; medians go by it
	result.Figures = map[string]float64{
		figurePublish: published.rate(), figurePublishCPU: 1000 * published.cost()[partCompared],
		figureUnsent: unsent.rate(), figureUnsentCPU: 1000 * unsent.cost()[partCompared],
		figureInboundCPU:     1000 * received.cost()[partCompared],
		figureInboundPercent: 100 * received.rate() / published.rate(), figureUnsentPercent: 100 * received.rate() / unsent.rate(),
		figureCPUPercent: 100 * received.cost()[partCompared] / published.cost()[partCompared],
		figureNoted:      noted.rate(), figureNotedCPU: 1000 * noted.cost()[partCompared], figureNotedPercent: 100 * noted.rate() / published.rate(),
	}
	return result, nil
}

// turn is one of the loads that alternate, and what came of it so far.
type turn struct {
	load    load
	events  int
	seconds float64
	answers []int64 // nanoseconds
	cpu     map[string]time.Duration
}

func (t *turn) rate() float64 { return float64(t.events) / t.seconds }

// cost is CPU seconds per 1,000 events, by part.
func (t *turn) cost() map[string]float64 {
	per := make(map[string]float64, len(t.cpu)+1)
	for part, used := range t.cpu {
		per[part] = used.Seconds() * 1000 / float64(t.events)
	}
	per[partCompared] = per[partService] + per[partPostgres] + per[partRedis]
	return per
}

// takeTurns warms up and runs the loads in turn.
func (st *stage) takeTurns(ctx context.Context, turns []*turn) error {
	o := st.bench.options
	for _, t := range turns {
		t.cpu = make(map[string]time.Duration)
		t.load.connections, t.load.size = o.connections, o.size
		t.load.first, t.load.events = warmUpFirst, warmUpEvents
		if _, err := st.generateAll(ctx, t.load); err != nil {
			return fmt.Errorf("warming up: %w", err)
		}
		t.load.first, t.load.events = 0, max(1, o.events/inboundSlices)
	}
	syscall.Sync() // nor are the warm-up's dirty pages counted
	for range inboundSlices {
		for _, t := range turns {
			if err := st.take(ctx, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// take runs one slice of a load.
func (st *stage) take(ctx context.Context, t *turn) error {
	before, err := st.readCPU()
	if err != nil {
		return err
	}
	g, err := st.generateAll(ctx, t.load)
	if err != nil {
		return err
	}
	if err := st.program.until(ctx, patience, func() error { return st.service.settled(ctx, 0) }); err != nil {
		return err
	}
	after, err := st.readCPU()
	if err != nil {
		return err
	}
	for part := range after.parts {
		t.cpu[part] += after.parts[part] - before.parts[part]
	}
	t.cpu[partGenerator] += g.cpu
	t.load.first += uint64(t.load.events)
	t.events += len(g.sent)
	t.seconds += g.summary.Seconds
	for _, s := range g.sent {
		t.answers = append(t.answers, s.Acked-s.At)
	}
	return nil
}

// generateAll sends a load of which everything has to be accepted.
func (st *stage) generateAll(ctx context.Context, l load) (generated, error) {
	g, err := st.generate(ctx, l)
	if err == nil && g.summary.Accepted != l.events {
		err = fmt.Errorf("only %d of %d were accepted; statuses: %v", g.summary.Accepted, l.events, g.summary.Statuses)
	}
	return g, err
}

// signUp makes a tenant of the hosted product and gives its id and its administrator's
// token.
func (g *gatewayService) signUp(ctx context.Context) (tenant, token string, err error) {
	var made struct {
		TenantID string `json:"tenant_id"`
		Token    string `json:"token"`
	}
	err = g.callAt(ctx, http.MethodPost, "/notes/api/v1/auth/register", nil, map[string]any{"name": "Bench"}, &made)
	return made.TenantID, made.Token, err
}

// furnishPublisher makes a tenant that publishes without any subscriber.
func (g *gatewayService) furnishPublisher(ctx context.Context) (load, error) {
	tenant, _, err := g.signUp(ctx)
	if err != nil {
		return load{}, err
	}
	var key struct {
		APIKey string `json:"api_key"`
	}
	err = g.call(ctx, http.MethodPost, "/keys", map[string]any{"tenant_id": tenant, "rate": "0"}, &key)
	return load{url: g.base + "/api/v1/events", key: key.APIKey}, err
}

// furnishPeer makes a tenant of the hosted product whose peer sends webhooks.
func (g *gatewayService) furnishPeer(ctx context.Context, hook, eventType string) (load, error) {
	_, token, err := g.signUp(ctx)
	if err != nil {
		return load{}, err
	}
	var key struct {
		APIKey string `json:"api_key"`
	}
	if err := g.callAt(ctx, http.MethodPost, "/notes/api/v1/integrations/api-keys", bearer(token), nil, &key); err != nil {
		return load{}, err
	}
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails
	webhooks := load{
		url: g.base + "/notes/api/v1/integrations/webhook", key: key.APIKey, eventType: eventType,
		secret: "whsec_" + base64.StdEncoding.EncodeToString(raw),
	}
	register := map[string]any{
		"registration_id": "bench", "product": peerProduct, "environment": "live", "webhook_url": hook,
		"webhook_secret": webhooks.secret, "api_key": "brd_live_bench", "events": []string{}, "features": []string{},
	}
	err = g.callAt(ctx, http.MethodPost, "/notes/api/v1/integrations/webhook/register", http.Header{"X-Integration-Key": {key.APIKey}}, register, nil)
	return webhooks, err
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

// countEffects requires that every webhook was stored and audited, and had its one effect
// where it has any.
func (g *gatewayService) countEffects(ctx context.Context, databaseURL string, want, wantEffects int) error {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return fmt.Errorf("connecting to the gateway's database: %w", err)
	}
	defer conn.Close(ctx)
	var received, effects, entries int
	err = conn.QueryRow(ctx, `select (select count(*) from hub.received where not failed), (select count(distinct event_id) from notes.notes),
		(select count(*) from hub.audit where action = 'integrations.webhook' and status = 200)`).Scan(&received, &effects, &entries)
	if err != nil {
		return fmt.Errorf("counting what was received: %w", err)
	}
	if received != want || effects != wantEffects || entries != want {
		return errors.Join(errUnsound, fmt.Errorf("%d webhooks were accepted, %d of them to be noted; %d are stored, %d noted, %d audited",
			want, wantEffects, received, effects, entries))
	}
	return nil
}

var errUnsound = errors.New("the ledger does not hold")
