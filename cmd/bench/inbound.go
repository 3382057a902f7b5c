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
	"time"

	"github.com/jackc/pgx/v5"
)

// What the inbound scenario finds out, in events per second, and their ratio.
const (
	figureInbound      = "inbound_per_s"
	figurePublish      = "publish_per_s"
	figureInboundShare = "inbound_of_publish"
)

// inboundSlices is into how many turns the two loads of the inbound scenario are cut: they
// alternate, so that what else the machine does falls on both.
const inboundSlices = 5

// newNotes is the gateway with a hosted product whose Handle is one insert.
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
// same size that nobody subscribed to: a webhook is verified, stored, handed to the
// product, logged and audited, a published event only stored.
func measureInbound(ctx context.Context, b *bench) (*Result, error) {
	g := newNotes(b)
	st, err := openStage(ctx, b, g, 1)
	if err != nil {
		return nil, err
	}
	defer st.close()
	webhooks, publications, err := g.furnishPeer(ctx, st.base+"/hook/0")
	if err != nil {
		return nil, err
	}
	o := b.options
	common := load{connections: o.connections, size: o.size, first: warmUpFirst}
	for _, l := range []*load{&webhooks, &publications} {
		l.connections, l.size, l.first, l.events = common.connections, common.size, common.first, warmUpEvents
		if _, err := st.generateAll(ctx, *l); err != nil {
			return nil, fmt.Errorf("warming up: %w", err)
		}
		l.first, l.events = 0, max(1, o.events/inboundSlices)
	}
	before, err := st.readCPU()
	if err != nil {
		return nil, err
	}
	result := &Result{Connections: o.connections, PayloadBytes: o.size, Figures: make(map[string]float64), Statuses: make(map[string]int)}
	var took [2]time.Duration
	var answers []int64
	var generator time.Duration
	for range inboundSlices {
		for i, l := range []*load{&publications, &webhooks} {
			g, err := st.generateAll(ctx, *l)
			if err != nil {
				return nil, err
			}
			l.first += uint64(l.events)
			took[i] += time.Duration(g.summary.Seconds * float64(time.Second))
			generator += g.cpu
			if i == 0 {
				continue
			}
			result.Events += len(g.sent)
			for _, s := range g.sent {
				answers = append(answers, s.Acked-s.At)
			}
			for status, n := range g.summary.Statuses {
				result.Statuses[status] += n
			}
		}
	}
	if err := g.countEffects(ctx, st.cluster.databaseURL, result.Events+warmUpEvents); err != nil {
		return nil, err
	}
	after, err := st.readCPU()
	if err != nil {
		return nil, err
	}
	result.Ledger.Accepted = result.Events
	result.Answer = newLatency(answers)
	result.Accepted = float64(result.Events) / took[1].Seconds()
	result.Delivered = result.Accepted // into the product; medians go by it
	result.setCost(before, after, generator)
	result.CPU = nil // of both loads together
	publish := float64(result.Events) / took[0].Seconds()
	result.Figures[figureInbound], result.Figures[figurePublish] = result.Accepted, publish
	result.Figures[figureInboundShare] = result.Accepted / publish
	return result, nil
}

// generateAll sends a load of which everything has to be accepted.
func (st *stage) generateAll(ctx context.Context, l load) (generated, error) {
	g, err := st.generate(ctx, l)
	if err == nil && g.summary.Accepted != l.events {
		err = fmt.Errorf("only %d of %d were accepted; statuses: %v", g.summary.Accepted, l.events, g.summary.Statuses)
	}
	return g, err
}

// furnishPeer makes two tenants of the hosted product: one whose peer sends webhooks, and
// one that publishes, without any subscriber. It gives the loads of both.
func (g *gatewayService) furnishPeer(ctx context.Context, hook string) (webhooks, publications load, err error) {
	var receiver, publisher struct {
		TenantID string `json:"tenant_id"`
		Token    string `json:"token"`
	}
	for _, one := range []any{&receiver, &publisher} {
		if err := g.callAt(ctx, http.MethodPost, "/notes/api/v1/auth/register", nil, map[string]any{"name": "Bench"}, one); err != nil {
			return webhooks, publications, err
		}
	}
	var key struct {
		APIKey string `json:"api_key"`
	}
	err = g.callAt(ctx, http.MethodPost, "/notes/api/v1/integrations/api-keys", bearer(receiver.Token), nil, &key)
	if err != nil {
		return webhooks, publications, err
	}
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails
	webhooks = load{url: g.base + "/notes/api/v1/integrations/webhook", key: key.APIKey, secret: "whsec_" + base64.StdEncoding.EncodeToString(raw)}
	register := map[string]any{
		"registration_id": "bench", "product": peerProduct, "environment": "live", "webhook_url": hook,
		"webhook_secret": webhooks.secret, "api_key": "brd_live_bench", "events": []string{}, "features": []string{},
	}
	err = g.callAt(ctx, http.MethodPost, "/notes/api/v1/integrations/webhook/register", http.Header{"X-Integration-Key": {key.APIKey}}, register, nil)
	if err != nil {
		return webhooks, publications, err
	}
	publications = load{url: g.base + "/api/v1/events"}
	err = g.call(ctx, http.MethodPost, "/keys", map[string]any{"tenant_id": publisher.TenantID, "rate": "0"}, &key)
	publications.key = key.APIKey
	return webhooks, publications, err
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

// countEffects requires that every webhook was stored and had its one effect.
func (g *gatewayService) countEffects(ctx context.Context, databaseURL string, want int) error {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return fmt.Errorf("connecting to the gateway's database: %w", err)
	}
	defer conn.Close(ctx)
	var received, effects, entries int
	err = conn.QueryRow(ctx, `select (select count(*) from hub.received), (select count(distinct event_id) from notes.notes),
		(select count(*) from hub.audit where action = 'integrations.webhook' and status = 200)`).Scan(&received, &effects, &entries)
	if err != nil {
		return fmt.Errorf("counting what was received: %w", err)
	}
	if received != want || effects != want || entries != want {
		return errors.Join(errUnsound, fmt.Errorf("%d webhooks were accepted; %d are stored, %d had an effect, %d are audited", want, received, effects, entries))
	}
	return nil
}

var errUnsound = errors.New("the ledger does not hold")
