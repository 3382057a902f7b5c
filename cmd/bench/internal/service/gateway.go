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

	address, password string
	environment       Environment
}

// Start implements [Service].
func (g *Gateway) Start(ctx context.Context, environment Environment) (_ *process.Process, target Target, err error) {
	if g.address, err = hubtest.FreeAddress(); err != nil {
		return nil, target, err
	}
	g.API.BaseURL = "http://" + g.address
	g.environment, g.password = environment, rand.Text()
	p, err := g.launch(ctx, "gateway")
	if err != nil {
		return nil, target, err
	}
	target.URL = g.API.EventsURL()
	if target.Key, target.Secrets, err = g.API.SetUp(ctx, environment.Hooks); err != nil {
		p.Stop()
		return nil, target, err
	}
	return p, target, nil
}

// Restart stops the hub's process, and starts another one with the same settings and data.
func (g *Gateway) Restart(ctx context.Context, p *process.Process) (*process.Process, error) {
	p.Stop()
	return g.launch(ctx, "gateway-restarted")
}

// launch starts the hub, waits until it is ready, and signs in. name is that of its log.
func (g *Gateway) launch(ctx context.Context, name string) (*process.Process, error) {
	build, args := g.Programs.Hub, []string{"serve"}
	if g.WithNotes {
		build, args = g.Programs.NotesHub, nil
	}
	binary, err := build(ctx)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(binary, args...)
	cmd.Dir = g.environment.Dir
	cmd.Env = append(process.WithoutHubSettings(os.Environ()),
		"HUB_ENV=development",
		"HUB_LISTEN="+g.address,
		"HUB_DATA_DIR="+filepath.Join(g.environment.Dir, "data"),
		"HUB_DATABASE_URL="+g.environment.Cluster.DatabaseURL,
		"HUB_REDIS_URL="+g.environment.Cluster.RedisURL,
		"HUB_ADMIN_EMAIL="+hubapi.AdminEmail,
		"HUB_ADMIN_PASSWORD="+g.password,
		"HUB_KEY_RATE=0",
	)
	cmd.Env = append(cmd.Env, g.Settings...)
	p, err := process.Start(name, g.environment.Dir, cmd, syscall.SIGTERM)
	if err != nil {
		return nil, err
	}
	err = p.WaitUntil(ctx, time.Minute, process.RespondsOK(g.API.BaseURL+"/ready"))
	if err == nil {
		err = g.API.SignIn(ctx, g.password)
	}
	if err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
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
