package throughput

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/cmd/bench/internal/hubapi"
	"integrationhub/cmd/bench/internal/load"
	"integrationhub/cmd/bench/internal/payload"
	"integrationhub/cmd/bench/internal/reconcile"
	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/service"
	"integrationhub/cmd/bench/internal/stage"
)

// slicesPerLoad is into how many turns the two loads of the inbound scenario are cut: they
// alternate, so that what else the machine does falls on both.
const slicesPerLoad = 5

// newNotesGateway is the gateway with a hosted product whose Handle is one insert, or none.
func newNotesGateway(b *stage.Run) *service.Gateway {
	return &service.Gateway{Programs: b.Programs, WithNotes: true}
}

// MeasureInbound sends genuine webhooks to a hosted product, and publishes events of the
// same size, with one endpoint and with none. A webhook is verified, stored with its one
// delivery, handed to the product, and audited; a published event is stored, and with an
// endpoint sent and logged as well. What the product does with an event is its own: the
// hub's work is measured with one that needs no statement, and beside it with one insert.
// The next turn begins when all is done.
func MeasureInbound(ctx context.Context, b *stage.Run) (*report.Result, error) {
	g := newNotesGateway(b)
	st, err := stage.Open(ctx, b, g, 1)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	publications, err := setUpPublisher(ctx, &g.API)
	if err != nil {
		return nil, err
	}
	published, unsent := &alternatingLoad{spec: load.Spec{}}, &alternatingLoad{spec: publications}
	received, noted := &alternatingLoad{}, &alternatingLoad{}
	for eventType, t := range map[string]*alternatingLoad{payload.SeenEvent: received, payload.NotedEvent: noted} {
		if t.spec, err = setUpPeer(ctx, &g.API, st.HookURL(0), eventType); err != nil {
			return nil, err
		}
	}
	if err := alternate(ctx, st, []*alternatingLoad{published, unsent, received, noted}); err != nil {
		return nil, err
	}
	if err := checkEffects(ctx, st.Cluster.DatabaseURL, received.events+noted.events+2*stage.WarmUpEvents, noted.events+stage.WarmUpEvents); err != nil {
		return nil, err
	}
	result := &report.Result{
		Events: received.events, Connections: b.Options.Connections, PayloadBytes: b.Options.Size,
		Statuses: map[string]int{strconv.Itoa(http.StatusOK): received.events},
		Response: report.NewLatency(received.answers), Accepted: received.rate(),
		CPU: received.cost(),
	}
	result.Ledger.Accepted = received.events
	result.Delivered = result.Accepted // into the product; medians go by it
	result.Figures = map[string]float64{
		report.FigurePublish: published.rate(), report.FigurePublishCPU: 1000 * published.cost()[report.PartCompared],
		report.FigureUndelivered: unsent.rate(), report.FigureUndeliveredCPU: 1000 * unsent.cost()[report.PartCompared],
		report.FigureInboundCPU:     1000 * received.cost()[report.PartCompared],
		report.FigureInboundPercent: 100 * received.rate() / published.rate(), report.FigureUndeliveredPercent: 100 * received.rate() / unsent.rate(),
		report.FigureInboundCPUPercent: 100 * received.cost()[report.PartCompared] / published.cost()[report.PartCompared],
		report.FigureInsert:            noted.rate(), report.FigureInsertCPU: 1000 * noted.cost()[report.PartCompared], report.FigureInsertPercent: 100 * noted.rate() / published.rate(),
	}
	return result, nil
}

// alternatingLoad is one of the loads that alternate, and what came of it so far.
type alternatingLoad struct {
	spec    load.Spec
	events  int
	seconds float64
	answers []int64 // nanoseconds
	cpu     map[string]time.Duration
}

func (t *alternatingLoad) rate() float64 { return float64(t.events) / t.seconds }

// cost is CPU seconds per 1,000 events, by part.
func (t *alternatingLoad) cost() map[string]float64 {
	per := make(map[string]float64, len(t.cpu)+1)
	for part, used := range t.cpu {
		per[part] = used.Seconds() * 1000 / float64(t.events)
	}
	per[report.PartCompared] = per[report.PartService] + per[report.PartPostgres] + per[report.PartRedis]
	return per
}

// alternate warms up and runs the loads in turn.
func alternate(ctx context.Context, st *stage.Stage, turns []*alternatingLoad) error {
	o := st.Run.Options
	for _, t := range turns {
		t.cpu = make(map[string]time.Duration)
		t.spec.Connections, t.spec.Size = o.Connections, o.Size
		t.spec.First, t.spec.Events = stage.WarmUpFirst, stage.WarmUpEvents
		if _, err := st.GenerateAccepted(ctx, t.spec); err != nil {
			return fmt.Errorf("warming up: %w", err)
		}
		t.spec.First, t.spec.Events = 0, max(1, o.Events/slicesPerLoad)
	}
	syscall.Sync() // nor are the warm-up's dirty pages counted
	for range slicesPerLoad {
		for _, t := range turns {
			if err := runSlice(ctx, st, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// runSlice runs one slice of a load.
func runSlice(ctx context.Context, st *stage.Stage, t *alternatingLoad) error {
	before, err := st.ReadCPU()
	if err != nil {
		return err
	}
	g, err := st.GenerateAccepted(ctx, t.spec)
	if err != nil {
		return err
	}
	if err := st.Process.WaitUntil(ctx, stage.StallTimeout, func() error { return st.Service.CheckLogComplete(ctx, 0) }); err != nil {
		return err
	}
	after, err := st.ReadCPU()
	if err != nil {
		return err
	}
	for part := range after.Parts {
		t.cpu[part] += after.Parts[part] - before.Parts[part]
	}
	t.cpu[report.PartGenerator] += g.CPU
	t.spec.First += uint64(t.spec.Events)
	t.events += len(g.Sent)
	t.seconds += g.Summary.Seconds
	for _, s := range g.Sent {
		t.answers = append(t.answers, s.AnsweredAt-s.SentAt)
	}
	return nil
}

// signUp makes a tenant of the hosted product and gives its id and its administrator's
// token.
func signUp(ctx context.Context, api *hubapi.Client) (tenant, token string, err error) {
	var made struct {
		TenantID string `json:"tenant_id"`
		Token    string `json:"token"`
	}
	err = api.CallPath(ctx, http.MethodPost, "/notes/api/v1/auth/register", nil, map[string]any{"name": "Bench"}, &made)
	return made.TenantID, made.Token, err
}

// setUpPublisher makes a tenant that publishes without any subscriber.
func setUpPublisher(ctx context.Context, api *hubapi.Client) (load.Spec, error) {
	tenant, _, err := signUp(ctx, api)
	if err != nil {
		return load.Spec{}, err
	}
	key, err := api.CreateKey(ctx, tenant)
	return load.Spec{URL: api.EventsURL(), Key: key}, err
}

// setUpPeer makes a tenant of the hosted product whose peer sends webhooks.
func setUpPeer(ctx context.Context, api *hubapi.Client, hook, eventType string) (load.Spec, error) {
	_, token, err := signUp(ctx, api)
	if err != nil {
		return load.Spec{}, err
	}
	var key struct {
		APIKey string `json:"api_key"`
	}
	if err := api.CallPath(ctx, http.MethodPost, "/notes/api/v1/integrations/api-keys", hubapi.Bearer(token), nil, &key); err != nil {
		return load.Spec{}, err
	}
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails
	webhooks := load.Spec{
		URL: api.BaseURL + "/notes/api/v1/integrations/webhook", Key: key.APIKey, EventType: eventType,
		Secret: "whsec_" + base64.StdEncoding.EncodeToString(raw),
	}
	register := map[string]any{
		"registration_id": "bench", "product": payload.PeerProduct, "environment": "live", "webhook_url": hook,
		"webhook_secret": webhooks.Secret, "api_key": "brd_live_bench", "events": []string{}, "features": []string{},
	}
	err = api.CallPath(ctx, http.MethodPost, "/notes/api/v1/integrations/webhook/register", http.Header{"X-Integration-Key": {key.APIKey}}, register, nil)
	return webhooks, err
}

// checkEffects requires that every webhook was stored and audited, and had its one effect
// where it has any.
func checkEffects(ctx context.Context, databaseURL string, want, wantEffects int) error {
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
		return errors.Join(reconcile.ErrUnsound, fmt.Errorf("%d webhooks were accepted, %d of them to be noted; %d are stored, %d noted, %d audited",
			want, wantEffects, received, effects, entries))
	}
	return nil
}
