package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
)

// object is a JSON object.
type object = map[string]any

// standIn answers like a hub, with the shapes of its API, and really delivers:
// signed, with retries that wait almost nothing. It lets a test look at the requests
// and break things; what it accepts it keeps in memory.
type standIn struct {
	*httptest.Server
	mux *http.ServeMux

	mu         sync.Mutex
	access     string // the one valid access token
	refresh    string // the one valid refresh token
	refreshes  int
	lists      map[string][]object // by resource, oldest first
	requests   []recorded
	replayStep int64 // progress of a replay at each look
	work       sync.WaitGroup
	ended      chan struct{}
}

// recorded is a request the stand-in got.
type recorded struct {
	method, path, query, body string
	header                    http.Header
}

const standInToken = "operator-token"

func newStandIn(t *testing.T) *standIn {
	t.Helper()
	s := &standIn{mux: http.NewServeMux(), access: standInToken, lists: map[string][]object{}, replayStep: 5, ended: make(chan struct{})}
	s.routes()
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		close(s.ended)
		s.CloseClientConnections()
		s.Close()
		s.work.Wait()
	})
	return s
}

// operator gives a command line that finds the stand-in through local.json.
func (s *standIn) operator(t *testing.T) *cli {
	t.Helper()
	c := newCLI(t)
	c.write("data/local.json", fmt.Sprintf(`{"url":%q,"token":%q}`, s.URL, standInToken))
	return c
}

func (s *standIn) routes() {
	s.mux.HandleFunc("POST /api/v1/auth/login", s.login)
	s.mux.HandleFunc("POST /api/v1/auth/refresh", s.renew)
	s.mux.HandleFunc("POST /api/v1/auth/logout", s.operatorOnly(func(w http.ResponseWriter, _ *http.Request, _ object) {
		s.access, s.refresh = "", ""
		w.WriteHeader(http.StatusNoContent)
	}))
	s.mux.HandleFunc("GET /api/v1/auth/me", s.operatorOnly(func(w http.ResponseWriter, _ *http.Request, _ object) {
		answer(w, 200, ana)
	}))
	for _, resource := range []string{"products", "tenants", "keys", "endpoints", "events", "deliveries", "audit"} {
		s.mux.HandleFunc("GET /api/v1/"+resource, s.operatorOnly(s.list(resource)))
		s.mux.HandleFunc("GET /api/v1/"+resource+"/{id}", s.operatorOnly(s.show(resource)))
	}
	s.mux.HandleFunc("POST /api/v1/products", s.operatorOnly(s.createProduct))
	s.mux.HandleFunc("POST /api/v1/tenants", s.operatorOnly(s.createTenant))
	s.mux.HandleFunc("POST /api/v1/keys", s.operatorOnly(s.createKey))
	s.mux.HandleFunc("DELETE /api/v1/keys/{id}", s.operatorOnly(s.remove("keys")))
	s.mux.HandleFunc("POST /api/v1/keys/{id}/rotate", s.operatorOnly(s.createKey))
	s.mux.HandleFunc("POST /api/v1/endpoints", s.operatorOnly(s.createEndpoint))
	s.mux.HandleFunc("PUT /api/v1/endpoints/{id}", s.operatorOnly(s.updateEndpoint))
	s.mux.HandleFunc("DELETE /api/v1/endpoints/{id}", s.operatorOnly(s.remove("endpoints")))
	s.mux.HandleFunc("POST /api/v1/endpoints/{id}/rotate-secret", s.operatorOnly(s.rotateSecret))
	s.mux.HandleFunc("POST /api/v1/endpoints/{id}/ping", s.operatorOnly(func(w http.ResponseWriter, _ *http.Request, _ object) {
		answer(w, 202, object{"id": hub.NewEventID()})
	}))
	s.mux.HandleFunc("POST /api/v1/events", s.keyOnly(s.publish))
	s.mux.HandleFunc("POST /api/v1/events/batch", s.keyOnly(s.publishBatch))
	s.mux.HandleFunc("POST /api/v1/deliveries/{id}/retry", s.operatorOnly(s.retry))
	s.mux.HandleFunc("POST /api/v1/replays", s.operatorOnly(s.createReplay))
	s.mux.HandleFunc("GET /api/v1/replays/{id}", s.operatorOnly(s.showReplay))
	s.mux.HandleFunc("POST /api/v1/replays/{id}/cancel", s.operatorOnly(s.cancelReplay))
	s.mux.HandleFunc("GET /api/v1/stats", s.operatorOnly(s.stats))
}

func (s *standIn) serve(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.requests = append(s.requests, recorded{r.Method, r.URL.Path, r.URL.RawQuery, string(raw), r.Header.Clone()})
	s.mu.Unlock()
	r.Body = io.NopCloser(strings.NewReader(string(raw)))
	s.mux.ServeHTTP(w, r)
}

// last gives the newest request to a path.
func (s *standIn) last(path string) recorded {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range slices.Backward(s.requests) {
		if r.path == path {
			return r
		}
	}
	return recorded{}
}

// put adds an item to a list.
func (s *standIn) put(resource string, item object) object {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists[resource] = append(s.lists[resource], item)
	return item
}

// seen tells how many requests came, and how many of them were refreshes.
func (s *standIn) seen() (requests, refreshes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests), s.refreshes
}

// field gives one field of the first item of a list.
func (s *standIn) field(resource, name string) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists[resource][0][name]
}

// endLogin makes every token of the operator invalid but access.
func (s *standIn) endLogin(access string, refreshToo bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.access = access
	if refreshToo {
		s.refresh = ""
	}
}

// count tells how many items a list has.
func (s *standIn) count(resource string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lists[resource])
}

func answer(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}

func refuse(w http.ResponseWriter, status int, code, detail string, fields ...object) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(object{"type": "about:blank", "title": http.StatusText(status), "status": status,
		"detail": detail, "code": code, "errors": append([]object{}, fields...), "request_id": "req-1"})
}

type handler = func(w http.ResponseWriter, r *http.Request, body object)

// operatorOnly demands the access token, or for endpoints a tenant's key; handlers
// run under the lock.
func (s *standIn) operatorOnly(next handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body object
		_ = json.NewDecoder(r.Body).Decode(&body)
		s.mu.Lock()
		defer s.mu.Unlock()
		key := s.find("keys", "api_key", r.Header.Get(hub.HeaderKey))
		byKey := key != nil && strings.HasPrefix(r.URL.Path, "/api/v1/endpoints")
		if !byKey && (s.access == "" || r.Header.Get("Authorization") != "Bearer "+s.access) {
			refuse(w, 401, "unauthorized", "Valid credentials are needed.")
			return
		}
		if byKey && body != nil {
			body["tenant_id"], body["environment"] = key["tenant_id"], key["environment"]
		}
		next(w, r, body)
	}
}

func (s *standIn) keyOnly(next func(w http.ResponseWriter, r *http.Request, key object, body []byte)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		key := s.find("keys", "api_key", r.Header.Get(hub.HeaderKey))
		if key == nil {
			refuse(w, 401, "unauthorized", "Valid credentials are needed.")
			return
		}
		next(w, r, key, raw)
	}
}

// find gives the item of a list with a value; the caller holds the lock.
func (s *standIn) find(resource, field, value string) object {
	for _, item := range s.lists[resource] {
		if item[field] == value && value != "" {
			return item
		}
	}
	return nil
}

var ana = object{"id": "op-1", "email": "ana@example.com", "name": "Ana", "role": "admin"}

func (s *standIn) login(w http.ResponseWriter, r *http.Request) {
	var body object
	_ = json.NewDecoder(r.Body).Decode(&body)
	if body["email"] != "ana@example.com" || body["password"] != "correct horse" {
		refuse(w, 401, "unauthorized", "E-mail or password is wrong.")
		return
	}
	s.session(w)
}

func (s *standIn) session(w http.ResponseWriter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.access, s.refresh = "access-"+uuid.NewString(), "refresh-"+uuid.NewString()
	answer(w, 200, object{"access_token": s.access, "refresh_token": s.refresh, "token_type": "Bearer", "expires_in": 1800, "operator": ana})
}

// renew takes each refresh token once; a used one ends the login, as in the hub.
func (s *standIn) renew(w http.ResponseWriter, r *http.Request) {
	var body object
	_ = json.NewDecoder(r.Body).Decode(&body)
	s.mu.Lock()
	s.refreshes++
	good := s.refresh != "" && body["refresh_token"] == s.refresh
	if !good {
		s.access, s.refresh = "", ""
	}
	s.mu.Unlock()
	if !good {
		refuse(w, 401, "unauthorized", "The refresh token is unknown or used.")
		return
	}
	s.session(w)
}

// list gives pages, newest first, filtered by every query parameter the items have.
func (s *standIn) list(resource string) handler {
	return func(w http.ResponseWriter, r *http.Request, _ object) {
		query := r.URL.Query()
		var items []object
		for _, item := range slices.Backward(s.lists[resource]) {
			if matches(item, query) {
				items = append(items, item)
			}
		}
		limit, _ := strconv.Atoi(query.Get("limit"))
		if limit == 0 {
			limit = 50
		}
		from, _ := strconv.Atoi(query.Get("cursor"))
		to := min(from+limit, len(items))
		var next any
		if to < len(items) {
			next = strconv.Itoa(to)
		}
		answer(w, 200, object{"items": append([]object{}, items[min(from, to):to]...), "next_cursor": next})
	}
}

func matches(item object, query map[string][]string) bool {
	for name, values := range query {
		have, ok := item[name]
		if ok && fmt.Sprint(have) != values[0] {
			return false
		}
		if name == "q" && !strings.Contains(strings.ToLower(fmt.Sprint(item["name"], item["external_ref"])), strings.ToLower(values[0])) {
			return false
		}
	}
	return true
}

func (s *standIn) show(resource string) handler {
	return func(w http.ResponseWriter, r *http.Request, _ object) {
		if item := s.find(resource, "id", r.PathValue("id")); item != nil {
			answer(w, 200, item)
			return
		}
		refuse(w, 404, "not_found", "There is nothing here.")
	}
}

func (s *standIn) remove(resource string) handler {
	return func(w http.ResponseWriter, r *http.Request, _ object) {
		before := len(s.lists[resource])
		s.lists[resource] = slices.DeleteFunc(s.lists[resource], func(o object) bool { return o["id"] == r.PathValue("id") })
		if len(s.lists[resource]) == before {
			refuse(w, 404, "not_found", "There is nothing here.")
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s *standIn) add(w http.ResponseWriter, resource string, item object) {
	item["created_at"] = time.Now().UTC().Format(time.RFC3339)
	s.lists[resource] = append(s.lists[resource], item)
	answer(w, 201, item)
}
