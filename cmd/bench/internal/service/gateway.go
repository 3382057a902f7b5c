package service

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"integrationhub/cmd/bench/internal/hubapi"
	"integrationhub/cmd/bench/internal/process"
	"integrationhub/hub/hubtest"
)

// Gateway runs the hub as an operator would: the built binary, settings
// by environment, products, tenants, keys and endpoints through its API.
type Gateway struct {
	Programs  *Programs
	WithNotes bool          // hosts the product notes, which receives webhooks
	Settings  []string      // more settings, "HUB_…=…"
	API       hubapi.Client // of the running hub
}

// Start implements [Service].
func (g *Gateway) Start(ctx context.Context, environment Environment) (*process.Process, Target, error) {
	build, args := g.Programs.Hub, []string{"serve"}
	if g.WithNotes {
		build, args = g.Programs.NotesHub, nil
	}
	binary, err := build(ctx)
	if err != nil {
		return nil, Target{}, err
	}
	address, err := hubtest.FreeAddress()
	if err != nil {
		return nil, Target{}, err
	}
	g.API.BaseURL = "http://" + address
	password := rand.Text()
	cmd := exec.Command(binary, args...)
	cmd.Dir = environment.Dir
	cmd.Env = append(process.WithoutHubSettings(os.Environ()),
		"HUB_ENV=development",
		"HUB_LISTEN="+address,
		"HUB_DATA_DIR="+filepath.Join(environment.Dir, "data"),
		"HUB_DATABASE_URL="+environment.Cluster.DatabaseURL,
		"HUB_REDIS_URL="+environment.Cluster.RedisURL,
		"HUB_ADMIN_EMAIL="+hubapi.AdminEmail,
		"HUB_ADMIN_PASSWORD="+password,
		"HUB_KEY_RATE=0",
	)
	cmd.Env = append(cmd.Env, g.Settings...)
	p, err := process.Start("gateway", environment.Dir, cmd, syscall.SIGTERM)
	if err != nil {
		return nil, Target{}, err
	}
	target, err := g.prepare(ctx, p, password, environment.Hooks)
	if err != nil {
		p.Stop()
		return nil, Target{}, err
	}
	return p, target, nil
}

// prepare waits until the hub is ready, and makes it deliver every event to every hook.
func (g *Gateway) prepare(ctx context.Context, p *process.Process, password string, hooks []string) (Target, error) {
	if err := p.WaitUntil(ctx, time.Minute, process.RespondsOK(g.API.BaseURL+"/ready")); err != nil {
		return Target{}, err
	}
	if err := g.API.SignIn(ctx, password); err != nil {
		return Target{}, err
	}
	key, secrets, err := g.API.SetUp(ctx, hooks)
	return Target{URL: g.API.EventsURL(), Key: key, Secrets: secrets}, err
}

// deliveryPage is a page of the delivery log, as far as the bench reads it.
type deliveryPage struct {
	Items []struct {
		Status string `json:"status"`
	} `json:"items"`
}

// CheckLogComplete returns an error while a delivery is pending: a settled delivery has
// its attempts in the log.
func (g *Gateway) CheckLogComplete(ctx context.Context, _ int) error {
	var page deliveryPage
	if err := g.API.Call(ctx, http.MethodGet, "/deliveries?status=pending&limit=1", nil, &page); err != nil {
		return err
	}
	if len(page.Items) > 0 {
		return errors.New("the gateway's log still has pending deliveries")
	}
	return nil
}

// UnfinishedDeliveries implements [Service].
func (g *Gateway) UnfinishedDeliveries(ctx context.Context, eventID string) (int, error) {
	var page deliveryPage
	if err := g.API.Call(ctx, http.MethodGet, "/deliveries?limit=200&event_id="+url.QueryEscape(eventID), nil, &page); err != nil {
		return 0, err
	}
	unfinished := 0
	for _, item := range page.Items {
		switch item.Status {
		case "pending", "parked", "failed":
			unfinished++
		}
	}
	return unfinished, nil
}
