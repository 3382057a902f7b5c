package pages_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/config"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/module"
	"integrationhub/hub/server"
	"integrationhub/scheduling"
)

func TestMain(m *testing.M) { hubtest.Main(m, func() { shared.stop() }) }

// hosted is a running hub with the product: one for all tests, each of which has an
// organization and an address of its own.
type hosted struct {
	once sync.Once
	url  string
	db   *pgxpool.Pool
	stop func()
	err  error
}

var shared = hosted{stop: func() {}}

// organizations counts those of the tests.
var organizations atomic.Int64

type object = map[string]any

// start runs the hub once.
func (h *hosted) start(t testing.TB) {
	t.Helper()
	h.once.Do(func() { h.err = h.run(t) })
	require.NoError(t, h.err)
}

func (h *hosted) run(t testing.TB) error {
	database := hubtest.LastingDatabaseURL(t)
	data, err := hubtest.SharedDir("hub")
	if err != nil {
		return err
	}
	cfg, _, err := config.Load(config.Sources{})
	if err != nil {
		return err
	}
	cfg.Listen, cfg.DataDir = "127.0.0.1:0", data
	cfg.DatabaseURL, cfg.RedisURL = config.Secret(database), config.Secret(hubtest.RedisURL(t))
	cfg.MasterKey = config.Secret(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32)))
	cfg.AdminPassword = "the administrator's password"
	cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	running, err := server.Start(context.Background(), server.Options{
		Config: cfg, Version: "test", Log: slog.New(slog.DiscardHandler), Modules: []module.Module{scheduling.New()},
	})
	if err != nil {
		return err
	}
	h.url = running.URL()
	h.db, err = pgxpool.New(context.Background(), database)
	h.stop = func() {
		running.Stop()
		if h.db != nil {
			h.db.Close()
		}
	}
	return err
}

// studio is an organization with its services and professionals.
type studio struct {
	t             testing.TB
	slug          string
	address       string // of its visitors
	token         string // of its owner
	service       string
	ana, bruno    string // professionals
	language      string // of the browser
	lastLocation  string
	fetchSite     string
	extraHeaders  []string
	allowRedirect bool
}

// newStudio makes an organization that works every day from 8 to 20.
func newStudio(t testing.TB) *studio {
	t.Helper()
	shared.start(t)
	n := organizations.Add(1)
	s := &studio{t: t, slug: fmt.Sprintf("studio-%d", n), address: fmt.Sprintf("10.1.%d.%d", n/200, n%200+1), language: "pt-BR"}
	made := s.api(201, "POST", "/auth/register", object{
		"org_name": "Estúdio Aurora", "org_slug": s.slug, "name": "Bia", "email": s.slug + "@example.com", "password": "correct horse",
	})
	s.token = made["access_token"].(string)
	s.service = s.newService(object{"name": "Corte de cabelo", "description": "Lavagem, corte e finalização.", "duration_minutes": 45, "price": 120})
	s.ana, s.bruno = s.professional("Ana Souza", s.service), s.professional("Bruno Lima", s.service)
	return s
}

func (s *studio) newService(fields object) string {
	return s.api(201, "POST", "/services", fields)["id"].(string)
}

func (s *studio) professional(name string, services ...string) string {
	s.t.Helper()
	id := s.api(201, "POST", "/professionals", object{"name": name})["id"].(string)
	s.api(200, "PUT", "/professionals/"+id+"/services", object{"service_ids": services})
	for day := range 7 {
		s.api(201, "POST", "/schedule-rules", object{"professional_id": id, "day_of_week": day, "start_time": "08:00", "end_time": "20:00"})
	}
	return id
}

func (s *studio) settings(fields object) { s.api(200, "PUT", "/organization/settings", fields) }

// api calls the product's interface.
func (s *studio) api(status int, method, path string, body any) object {
	s.t.Helper()
	raw, err := json.Marshal(body)
	require.NoError(s.t, err)
	r, err := http.NewRequestWithContext(s.t.Context(), method, shared.url+"/scheduling/api/v1"+path, bytes.NewReader(raw))
	require.NoError(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Forwarded-For", s.address)
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	require.Equal(s.t, status, res.StatusCode, "%s %s: %s", method, path, text)
	var answer object
	if bytes.HasPrefix(text, []byte("{")) {
		require.NoError(s.t, json.Unmarshal(text, &answer))
	}
	return answer
}

var _ = url.Values{}
var _ = strings.Cut
