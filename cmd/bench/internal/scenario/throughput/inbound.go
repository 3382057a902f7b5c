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

	"github.com/jackc/pgx/v5"

	"integrationhub/cmd/bench/internal/hubapi"
	"integrationhub/cmd/bench/internal/load"
	"integrationhub/cmd/bench/internal/payload"
	"integrationhub/cmd/bench/internal/reconcile"
	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/service"
	"integrationhub/cmd/bench/internal/stage"
)

// slicesPerLoad is how many slices each load of the inbound scenario has. The slices
// alternate, so that other work of the machine affects all loads alike.
const slicesPerLoad = 5

// newNotesGateway returns the hub that hosts the product notes. Its Handle is one insert, or nothing.
func newNotesGateway(run *stage.Run) *service.Gateway {
	return &service.Gateway{Programs: run.Programs, WithNotes: true}
}

// MeasureInbound sends signed webhooks to a hosted product, and publishes events of the
// same size, with one endpoint and with none. A webhook is verified, stored, handled by the
// product, and audited. A published event is stored; with an endpoint it is also delivered
// and logged. The product's own work is not the hub's: its handler does nothing, and beside
// it one with an insert is measured. A slice starts when all work of the last one is done.
func MeasureInbound(ctx context.Context, run *stage.Run) (*report.Result, error) {
	gateway := newNotesGateway(run)
	st, err := stage.Open(ctx, run, gateway, 1)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	publications, err := setUpPublisher(ctx, &gateway.API)
	if err != nil {
		return nil, err
	}
	published, undelivered := &alternatingLoad{spec: load.Spec{}}, &alternatingLoad{spec: publications}
	received, inserted := &alternatingLoad{}, &alternatingLoad{}
	for eventType, webhooks := range map[string]*alternatingLoad{payload.SeenEvent: received, payload.NotedEvent: inserted} {
		if webhooks.spec, err = setUpPeer(ctx, &gateway.API, st.HookURL(0), eventType); err != nil {
			return nil, err
		}
	}
	if err := alternate(ctx, st, []*alternatingLoad{published, undelivered, received, inserted}); err != nil {
		return nil, err
	}
	if err := checkEffects(ctx, st.Cluster.DatabaseURL, received.events+inserted.events+2*stage.WarmUpEvents, inserted.events+stage.WarmUpEvents); err != nil {
		return nil, err
	}
	result := &report.Result{
		Events: received.events, Connections: run.Options.Connections, PayloadBytes: run.Options.Size,
		Statuses: map[string]int{strconv.Itoa(http.StatusOK): received.events},
		Response: report.NewLatency(received.responseTimes), Accepted: received.rate(),
		CPU: received.cost(),
	}
	result.Ledger.Accepted = received.events
	result.Delivered = result.Accepted // by the product; medians are chosen by it
	result.Figures = map[string]float64{
		report.FigurePublish: published.rate(), report.FigurePublishCPU: 1000 * published.cost()[report.PartCompared],
		report.FigureUndelivered: undelivered.rate(), report.FigureUndeliveredCPU: 1000 * undelivered.cost()[report.PartCompared],
		report.FigureInboundCPU:     1000 * received.cost()[report.PartCompared],
		report.FigureInboundPercent: 100 * received.rate() / published.rate(), report.FigureUndeliveredPercent: 100 * received.rate() / undelivered.rate(),
		report.FigureInboundCPUPercent: 100 * received.cost()[report.PartCompared] / published.cost()[report.PartCompared],
		report.FigureInsert:            inserted.rate(), report.FigureInsertCPU: 1000 * inserted.cost()[report.PartCompared], report.FigureInsertPercent: 100 * inserted.rate() / published.rate(),
	}
	return result, nil
}

// alternatingLoad is one of several loads that alternate, with its sums so far.
type alternatingLoad struct {
	spec          load.Spec
	events        int
	seconds       float64
	responseTimes []int64 // nanoseconds
	cpu           cpuTimes
}

// rate is events per second.
func (l *alternatingLoad) rate() float64 { return float64(l.events) / l.seconds }

// cost is CPU seconds per 1,000 events, by part.
func (l *alternatingLoad) cost() map[string]float64 { return l.cpu.per1000(l.events) }

// alternate warms up, and then runs the slices of the loads in turn.
func alternate(ctx context.Context, st *stage.Stage, loads []*alternatingLoad) error {
	options := st.Run.Options
	for _, l := range loads {
		l.spec.Connections, l.spec.Size = options.Connections, options.Size
		l.spec.First, l.spec.Events = stage.WarmUpFirst, stage.WarmUpEvents
		if _, err := st.GenerateAccepted(ctx, l.spec); err != nil {
			return fmt.Errorf("warming up: %w", err)
		}
		l.spec.First, l.spec.Events = 0, max(1, options.Events/slicesPerLoad)
	}
	syscall.Sync() // the warm-up's dirty pages do not count
	for range slicesPerLoad {
		for _, l := range loads {
			if err := runSlice(ctx, st, l); err != nil {
				return err
			}
		}
	}
	return nil
}

// runSlice runs one slice of a load.
func runSlice(ctx context.Context, st *stage.Stage, l *alternatingLoad) error {
	before, err := st.ReadCPU()
	if err != nil {
		return err
	}
	generated, err := st.GenerateAccepted(ctx, l.spec)
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
	l.cpu.add(before, after, generated.CPU)
	l.spec.First += uint64(l.spec.Events)
	l.events += len(generated.Sent)
	l.seconds += generated.Summary.Seconds
	for _, sent := range generated.Sent {
		l.responseTimes = append(l.responseTimes, sent.AnsweredAt-sent.SentAt)
	}
	return nil
}

// signUp makes a tenant of a hosted product, notes or board, and returns its id and its
// administrator's access token.
func signUp(ctx context.Context, api *hubapi.Client, product string) (tenant, token string, err error) {
	var created struct {
		TenantID string `json:"tenant_id"`
		Token    string `json:"token"`
	}
	err = api.CallPath(ctx, http.MethodPost, "/"+product+"/api/v1/auth/register", nil, map[string]any{"name": "Bench"}, &created)
	return created.TenantID, created.Token, err
}

// setUpPublisher makes a tenant without endpoints, and returns the load that publishes for it.
func setUpPublisher(ctx context.Context, api *hubapi.Client) (load.Spec, error) {
	tenant, _, err := signUp(ctx, api, "notes")
	if err != nil {
		return load.Spec{}, err
	}
	key, err := api.CreateKey(ctx, tenant)
	return load.Spec{URL: api.EventsURL(), Keys: []string{key}}, err
}

// setUpPeer makes a tenant with a connected peer, and returns the load of that peer's webhooks.
func setUpPeer(ctx context.Context, api *hubapi.Client, hook, eventType string) (load.Spec, error) {
	_, token, err := signUp(ctx, api, "notes")
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
		URL: api.BaseURL + "/notes/api/v1/integrations/webhook", Keys: []string{key.APIKey}, EventType: eventType,
		Secret: "whsec_" + base64.StdEncoding.EncodeToString(raw),
	}
	register := map[string]any{
		"registration_id": "bench", "product": payload.PeerProduct, "environment": "live", "webhook_url": hook,
		"webhook_secret": webhooks.Secret, "api_key": "brd_live_bench", "events": []string{}, "features": []string{},
	}
	err = api.CallPath(ctx, http.MethodPost, "/notes/api/v1/integrations/webhook/register", http.Header{"X-Integration-Key": {key.APIKey}}, register, nil)
	return webhooks, err
}

// checkEffects returns an error unless every webhook was stored and audited, and each of
// the inserts happened once.
func checkEffects(ctx context.Context, databaseURL string, webhooks, inserts int) error {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return fmt.Errorf("connecting to the gateway's database: %w", err)
	}
	defer conn.Close(ctx)
	var stored, inserted, audited int
	err = conn.QueryRow(ctx, `select (select count(*) from hub.received where not failed), (select count(distinct event_id) from notes.notes),
		(select count(*) from hub.audit where action = 'integrations.webhook' and status = 200)`).Scan(&stored, &inserted, &audited)
	if err != nil {
		return fmt.Errorf("counting what was received: %w", err)
	}
	if stored != webhooks || inserted != inserts || audited != webhooks {
		return errors.Join(reconcile.ErrUnsound, fmt.Errorf("%d webhooks were accepted, %d of them to be noted; %d are stored, %d noted, %d audited",
			webhooks, inserts, stored, inserted, audited))
	}
	return nil
}
