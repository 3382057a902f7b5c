package scheduling_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/hubtest/openapitest"
	"integrationhub/scheduling"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// contract is what the product says of itself: every answer that a test gets keeps it.
var contract openapitest.Document

const password = "correct horse"

// studio is an organization on a running service.
type studio struct {
	t     testing.TB
	hub   *moduletest.Hub
	slug  string
	email string
	org   uuid.UUID
	token string // of the owner
	zone  *time.Location
}

var studios atomic.Int64

// object is a JSON object.
type object = map[string]any

// mount starts a hub with the service, whose clock shows a Friday.
func mount(t testing.TB, settings ...string) *moduletest.Hub {
	t.Helper()
	return moduletest.Start(t, scheduling.New(), moduletest.Options{Start: monday.Add(-72 * time.Hour), Settings: settings})
}

// monday is 09:00 of a Monday in São Paulo, where the studios are.
var monday = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func newStudio(t testing.TB, settings ...string) *studio {
	t.Helper()
	return another(t, mount(t, settings...))
}

// at registers an organization at a service that somebody else started.
func at(t testing.TB, base string) *studio {
	t.Helper()
	return another(t, &moduletest.Hub{Base: base})
}

// another registers one more organization.
func another(t testing.TB, h *moduletest.Hub) *studio {
	t.Helper()
	zone, err := time.LoadLocation("America/Sao_Paulo")
	require.NoError(t, err)
	n := studios.Add(1)
	s := &studio{t: t, hub: h, slug: fmt.Sprintf("studio-%d", n), email: fmt.Sprintf("owner%d@example.com", n), zone: zone}
	made := s.as("").ok(201, "POST", "/auth/register", object{
		"org_name": "Studio", "org_slug": s.slug, "name": "Bia", "email": s.email, "password": password,
	})
	s.token = made["access_token"].(string)
	s.org = uuid.MustParse(made["organization"].(object)["id"].(string))
	return s
}

// as is the same service to somebody else: another token, or "".
func (s *studio) as(token string) *studio {
	other := *s
	other.token = token
	return &other
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	text   string
	body   object
	list   []object
}

// try sends a request; headers come in pairs. A body that is a string is sent as it is.
func (s *studio) try(method, path string, body any, headers ...string) (answer, error) {
	var raw []byte
	switch b := body.(type) {
	case nil:
	case string:
		raw = []byte(b)
	default:
		var err error
		if raw, err = json.Marshal(b); err != nil {
			return answer{}, err
		}
	}
	switch {
	case strings.HasPrefix(path, "http:"):
	case strings.HasPrefix(path, "/api"):
		path = s.hub.Base + path
	default:
		path = s.hub.Base + "/api/v1" + path
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, path, bytes.NewReader(raw))
	if err != nil {
		return answer{}, err
	}
	if raw != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	switch {
	case strings.HasPrefix(s.token, "sch_"):
		req.Header.Set("X-Integration-Key", s.token)
	case s.token != "":
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	got := answer{status: res.StatusCode, header: res.Header, text: string(text)}
	switch {
	case err != nil:
	case bytes.HasPrefix(text, []byte("{")):
		err = json.Unmarshal(text, &got.body)
	case bytes.HasPrefix(text, []byte("[")):
		err = json.Unmarshal(text, &got.list)
	}
	if err == nil {
		err = contract.CheckResponse(s.hub.Base, res, text)
	}
	return got, err
}

var client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

func (s *studio) call(method, path string, body any, headers ...string) answer {
	s.t.Helper()
	got, err := s.try(method, path, body, headers...)
	require.NoError(s.t, err)
	return got
}

// ok requires a status and gives the object of the answer.
func (s *studio) ok(status int, method, path string, body any, headers ...string) object {
	s.t.Helper()
	got := s.call(method, path, body, headers...)
	require.Equal(s.t, status, got.status, "%s %s: %s", method, path, got.text)
	return got.body
}

// list requires 200 and gives the array of the answer.
func (s *studio) list(path string) []object {
	s.t.Helper()
	got := s.call("GET", path, nil)
	require.Equal(s.t, 200, got.status, "%s: %s", path, got.text)
	require.True(s.t, strings.HasPrefix(got.text, "["), got.text)
	return got.list
}

// refused requires an error in the one shape.
func (s *studio) refused(status int, code, method, path string, body any, headers ...string) object {
	s.t.Helper()
	got := s.call(method, path, body, headers...)
	require.Equal(s.t, status, got.status, "%s %s: %s", method, path, got.text)
	require.Equal(s.t, "application/problem+json", got.header.Get("Content-Type"))
	require.Equal(s.t, code, got.body["code"], got.text)
	require.EqualValues(s.t, status, got.body["status"])
	require.NotEmpty(s.t, got.body["detail"])
	require.Contains(s.t, got.body, "errors")
	return got.body
}

// invalid requires a 422 that names a field.
func (s *studio) invalid(location, method, path string, body any) {
	s.t.Helper()
	got := s.refused(422, "validation_failed", method, path, body)
	var named []string
	for _, one := range got["errors"].([]any) {
		named = append(named, one.(object)["location"].(string))
	}
	require.Contains(s.t, named, location, "%v", got)
}

// plan is what can be booked in a studio: one service, one professional, a client.
type plan struct {
	*studio
	service, professional, client string
}

// opened makes a studio that works Monday to Friday from 9 to 12.
func opened(t testing.TB, settings ...string) *plan { return newStudio(t, settings...).open() }

func (s *studio) open() *plan {
	s.t.Helper()
	p := &plan{studio: s}
	p.service = s.ok(201, "POST", "/services", object{"name": "Cut", "duration_minutes": 30, "price": 80})["id"].(string)
	p.professional = s.professional("Ana", p.service)
	p.client = s.ok(201, "POST", "/clients", object{"name": "Caio", "phone": "+5511987654321"})["id"].(string)
	return p
}

// professional makes one who works Monday to Friday from 9 to 12.
func (s *studio) professional(name, service string) string {
	s.t.Helper()
	id := s.ok(201, "POST", "/professionals", object{"name": name})["id"].(string)
	s.call("PUT", "/professionals/"+id+"/services", object{"service_ids": []string{service}})
	for day := range 5 {
		s.ok(201, "POST", "/schedule-rules", object{"professional_id": id, "day_of_week": day, "start_time": "09:00", "end_time": "12:00"})
	}
	return id
}

// at is a time after Monday 09:00, as people write it.
func (p *plan) at(after time.Duration) string {
	return monday.Add(after).In(p.zone).Format(time.RFC3339)
}

func (p *plan) draft(after time.Duration) object {
	return object{"client_id": p.client, "professional_id": p.professional, "service_id": p.service, "start_at": p.at(after)}
}

// book makes an appointment and gives its id.
func (p *plan) book(after time.Duration) string {
	p.t.Helper()
	return p.ok(201, "POST", "/appointments", p.draft(after))["id"].(string)
}

func (p *plan) do(status int, action, id string, body any) object {
	p.t.Helper()
	return p.ok(status, "POST", "/appointments/"+id+"/"+action, body)
}

// later lets time pass, and logs in again.
func (s *studio) later(d time.Duration) {
	s.t.Helper()
	s.hub.Clock.Advance(d)
	s.token = s.as("").ok(200, "POST", "/auth/login", object{"email": s.email, "password": password})["access_token"].(string)
}
