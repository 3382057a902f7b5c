package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"integrationhub/hub/hubtest"
)

// gatewayService runs the hub as an operator would: the built binary, settings
// by environment, products, tenants, keys and endpoints through its API.
type gatewayService struct {
	bench   *bench
	notes   bool     // with a hosted product, for webhooks
	environ []string // more settings
	base    string   // http://host:port
	token   string   // an operator's access token
}

// adminEmail is the operator the bench makes and signs in as.
const adminEmail = "bench@example.com"

// buildHub compiles cmd/hub once for all scenarios, unless a binary was given.
func (b *bench) buildHub(ctx context.Context) (string, error) {
	b.hubOnce.Do(func() {
		if b.options.hubBinary != "" {
			b.hubPath, b.hubErr = filepath.Abs(b.options.hubBinary) // the hub runs in a directory of its own
			return
		}
		b.hubPath = filepath.Join(b.dir, "hub")
		build := exec.CommandContext(ctx, "go", "build", "-o", b.hubPath, "integrationhub/cmd/hub")
		if out, err := build.CombinedOutput(); err != nil {
			b.hubErr = fmt.Errorf("building the hub: %w\n%s", err, out)
		}
	})
	return b.hubPath, b.hubErr
}

func (g *gatewayService) start(ctx context.Context, s surroundings) (*process, intake, error) {
	build, args := g.bench.buildHub, []string{"serve"}
	if g.notes {
		build, args = g.bench.buildNotes, nil
	}
	binary, err := build(ctx)
	if err != nil {
		return nil, intake{}, err
	}
	address, err := hubtest.FreeAddress()
	if err != nil {
		return nil, intake{}, err
	}
	g.base = "http://" + address
	password := rand.Text()
	cmd := exec.Command(binary, args...)
	cmd.Dir = s.dir
	cmd.Env = append(withoutHubSettings(os.Environ()),
		"HUB_ENV=development",
		"HUB_LISTEN="+address,
		"HUB_DATA_DIR="+filepath.Join(s.dir, "data"),
		"HUB_DATABASE_URL="+s.cluster.databaseURL,
		"HUB_REDIS_URL="+s.cluster.redisURL,
		"HUB_ADMIN_EMAIL="+adminEmail,
		"HUB_ADMIN_PASSWORD="+password,
		"HUB_KEY_RATE=0",
	)
	cmd.Env = append(cmd.Env, g.environ...)
	p, err := startProcess("gateway", s.dir, cmd, syscall.SIGTERM)
	if err != nil {
		return nil, intake{}, err
	}
	in, err := g.prepare(ctx, p, password, s.hooks)
	if err != nil {
		p.end()
		return nil, intake{}, err
	}
	return p, in, nil
}

// withoutHubSettings removes settings of the hub from an environment, so that
// the developer's own do not reach the measured process.
func withoutHubSettings(environ []string) []string {
	var kept []string
	for _, setting := range environ {
		if !strings.HasPrefix(setting, "HUB_") {
			kept = append(kept, setting)
		}
	}
	return kept
}

// prepare waits for the hub, signs in and makes a product, a tenant, a key without a limit and one
// endpoint for each hook.
func (g *gatewayService) prepare(ctx context.Context, p *process, password string, hooks []string) (intake, error) {
	if err := p.until(ctx, time.Minute, answers(g.base+"/ready")); err != nil {
		return intake{}, err
	}
	return g.furnish(ctx, password, hooks)
}

// furnish does what prepare says, on a hub that is ready.
func (g *gatewayService) furnish(ctx context.Context, password string, hooks []string) (intake, error) {
	var session struct {
		AccessToken string `json:"access_token"`
	}
	if err := g.call(ctx, http.MethodPost, "/auth/login", map[string]any{"email": adminEmail, "password": password}, &session); err != nil {
		return intake{}, err
	}
	g.token = session.AccessToken
	if err := g.call(ctx, http.MethodPost, "/products", map[string]any{"name": "bench", "prefix": "bch"}, nil); err != nil {
		return intake{}, err
	}
	var tenant struct {
		ID string `json:"id"`
	}
	if err := g.call(ctx, http.MethodPost, "/tenants", map[string]any{"product": "bench", "name": "Bench"}, &tenant); err != nil {
		return intake{}, err
	}
	var key struct {
		APIKey string `json:"api_key"`
	}
	if err := g.call(ctx, http.MethodPost, "/keys", map[string]any{"tenant_id": tenant.ID, "rate": "0"}, &key); err != nil {
		return intake{}, err
	}
	in := intake{url: g.base + "/api/v1/events", key: key.APIKey}
	for _, hook := range hooks {
		var endpoint struct {
			Secret string `json:"secret"`
		}
		body := map[string]any{"tenant_id": tenant.ID, "url": hook, "event_types": []string{"*"}}
		if err := g.call(ctx, http.MethodPost, "/endpoints", body, &endpoint); err != nil {
			return intake{}, err
		}
		in.secrets = append(in.secrets, endpoint.Secret)
	}
	return in, nil
}

// deliveryPage is what the bench reads of a page of the delivery log.
type deliveryPage struct {
	Items []struct {
		Status string `json:"status"`
	} `json:"items"`
}

// settled reports whether no delivery is pending any more: each has its attempt
// rows and its final state.
func (g *gatewayService) settled(ctx context.Context, _ int) error {
	var page deliveryPage
	if err := g.call(ctx, http.MethodGet, "/deliveries?status=pending&limit=1", nil, &page); err != nil {
		return err
	}
	if len(page.Items) > 0 {
		return errors.New("the gateway's log still has pending deliveries")
	}
	return nil
}

func (g *gatewayService) standing(ctx context.Context, eventID string) (int, error) {
	var page deliveryPage
	if err := g.call(ctx, http.MethodGet, "/deliveries?limit=200&event_id="+url.QueryEscape(eventID), nil, &page); err != nil {
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

// call makes one call of the hub's API as the operator.
func (g *gatewayService) call(ctx context.Context, method, path string, body, answer any) error {
	header := http.Header{}
	if g.token != "" {
		header = bearer(g.token)
	}
	return g.callAt(ctx, method, "/api/v1"+path, header, body, answer)
}

// callAt makes one call of the hub and reads the answer into answer, which may be nil.
// Any status but 2xx is an error.
func (g *gatewayService) callAt(ctx context.Context, method, path string, header http.Header, body, answer any) error {
	var reader io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("writing request: %w", err)
		}
		reader = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, g.base+path, reader)
	if err != nil {
		return fmt.Errorf("making request: %w", err)
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("calling the hub: %w", err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("reading answer of %s %s: %w", method, path, err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("calling %s %s: %s: %s", method, path, resp.Status, raw)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(raw, answer); err != nil {
		return fmt.Errorf("reading answer of %s %s: %w", method, path, err)
	}
	return nil
}
