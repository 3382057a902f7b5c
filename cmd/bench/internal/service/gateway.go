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
	WithNotes bool          // with a hosted product, for webhooks
	Settings  []string      // more settings
	API       hubapi.Client // of the running hub
}

func (g *Gateway) Start(ctx context.Context, s Environment) (*process.Process, Target, error) {
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
	cmd.Dir = s.Dir
	cmd.Env = append(process.WithoutHubSettings(os.Environ()),
		"HUB_ENV=development",
		"HUB_LISTEN="+address,
		"HUB_DATA_DIR="+filepath.Join(s.Dir, "data"),
		"HUB_DATABASE_URL="+s.Cluster.DatabaseURL,
		"HUB_REDIS_URL="+s.Cluster.RedisURL,
		"HUB_ADMIN_EMAIL="+hubapi.AdminEmail,
		"HUB_ADMIN_PASSWORD="+password,
		"HUB_KEY_RATE=0",
	)
	cmd.Env = append(cmd.Env, g.Settings...)
	p, err := process.Start("gateway", s.Dir, cmd, syscall.SIGTERM)
	if err != nil {
		return nil, Target{}, err
	}
	in, err := g.prepare(ctx, p, password, s.Hooks)
	if err != nil {
		p.Stop()
		return nil, Target{}, err
	}
	return p, in, nil
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

// deliveryPage is what the bench reads of a page of the delivery log.
type deliveryPage struct {
	Items []struct {
		Status string `json:"status"`
	} `json:"items"`
}

// CheckLogComplete reports whether no delivery is pending any more: each has its attempt
// rows and its final state.
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

func (g *Gateway) UnfinishedDeliveries(ctx context.Context, eventID string) (int, error) {
	var page deliveryPage
	if err := g.API.Call(ctx, http.MethodGet, "/deliveries?limit=200&event_id="+url.QueryEscape(eventID), nil, &page); err != nil {
		return 0, err
	}
	found := 0
	for _, item := range page.Items {
		switch item.Status {
		case "pending", "parked", "failed":
			found++
		}
	}
	return found, nil
}
