package pages_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/scheduling"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// friday is 10:00 of a Friday in São Paulo: the clock of every test.
var friday = time.Date(2026, 2, 27, 13, 0, 0, 0, time.UTC)

type object = map[string]any

// studio is an organization on a running hub.
type studio struct {
	t          testing.TB
	hub        *moduletest.Hub
	slug       string
	token      string // of its owner
	service    string
	ana, bruno string // professionals
}

var organizations atomic.Int64

func newStudio(t testing.TB, settings ...string) *studio {
	t.Helper()
	return another(t, moduletest.Start(t, scheduling.New(), moduletest.Options{Start: friday, Settings: settings}))
}

// another makes an organization with a service and two professionals, who work every
// day from 8 to 20.
func another(t testing.TB, hub *moduletest.Hub) *studio {
	t.Helper()
	s := &studio{t: t, hub: hub, slug: fmt.Sprintf("studio-%d", organizations.Add(1))}
	made := s.api(201, "POST", "/auth/register", object{
		"org_name": "Estúdio Aurora", "org_slug": s.slug, "name": "Bia", "email": s.slug + "@example.com", "password": "correct horse",
	})
	s.token = made["access_token"].(string)
	s.service = s.offer(object{"name": "Corte de cabelo", "description": "Lavagem, corte e finalização.", "duration_minutes": 45, "price": 120})
	s.ana, s.bruno = s.professional("Ana Souza", s.service), s.professional("Bruno Lima", s.service)
	return s
}

// offer adds a service.
func (s *studio) offer(fields object) string {
	s.t.Helper()
	return s.api(201, "POST", "/services", fields)["id"].(string)
}

func (s *studio) professional(name string, services ...string) string {
	s.t.Helper()
	id := s.api(201, "POST", "/professionals", object{"name": name})["id"].(string)
	s.gives(id, services...)
	for day := range 7 {
		s.api(201, "POST", "/schedule-rules", object{"professional_id": id, "day_of_week": day, "start_time": "08:00", "end_time": "20:00"})
	}
	return id
}

// gives says which services a professional gives.
func (s *studio) gives(professional string, services ...string) {
	s.t.Helper()
	s.api(200, "PUT", "/professionals/"+professional+"/services", object{"service_ids": services})
}

func (s *studio) settings(fields object) {
	s.t.Helper()
	s.api(200, "PUT", "/organization/settings", fields)
}

// api calls the product's interface and requires a status.
func (s *studio) api(status int, method, path string, body any) object {
	s.t.Helper()
	raw, err := json.Marshal(body)
	require.NoError(s.t, err)
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.hub.Base+"/api/v1"+path, bytes.NewReader(raw))
	require.NoError(s.t, err)
	r.Header.Set("Content-Type", "application/json")
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
