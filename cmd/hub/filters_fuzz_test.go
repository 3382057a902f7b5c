package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// queryOperation is a GET operation of an OpenAPI document with its query parameters.
type queryOperation struct {
	path   string // from the hub's root
	tokens []string
	params []queryParam
}

type queryParam struct {
	Name, In string
	Schema   *querySchema
}

type querySchema struct {
	Type    any
	Format  string
	Enum    []any
	Items   *querySchema
	Minimum *float64
	Maximum *float64
}

// values returns what a parameter is tried with, by its type.
func (s *querySchema) values() []string {
	var list []string
	if s == nil {
		return hubtest.OddTexts()
	}
	for _, value := range s.Enum {
		list = append(list, fmt.Sprint(value))
	}
	switch kind := fmt.Sprint(s.Type); {
	case strings.Contains(kind, "array"):
		for _, value := range s.Items.values() {
			list = append(list, value, value+","+value)
		}
		return list
	case strings.Contains(kind, "integer"), strings.Contains(kind, "number"):
		list = append(list, "0", "1", "-1", "2147483647", "2147483648", "-2147483649", "9223372036854775807", "9223372036854775808", "1e3", "0x1", "NaN", "1.5")
		for _, bound := range []*float64{s.Minimum, s.Maximum} {
			if bound != nil {
				list = append(list, fmt.Sprint(int64(*bound)-1), fmt.Sprint(int64(*bound)), fmt.Sprint(int64(*bound)+1))
			}
		}
		return list
	case strings.Contains(kind, "boolean"):
		return append(list, "true", "false", "1", "maybe")
	}
	switch s.Format {
	case "uuid":
		return append(list, "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", "00000000-0000-7000-8000-000000000000",
			"ffffffff-ffff-7fff-bfff-ffffffffffff", "0199c000-0000-7000-8000-000000000000", "{0199c000-0000-7000-8000-000000000000}", "x", "\x00")
	case "date-time":
		return append(list, "0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59", "1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z",
			"2026-01-02T03:04:05.999999999Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59-23:59", "2026-02-30T00:00:00Z", "10000-01-01T00:00:00Z", "now", "\x00")
	case "date":
		return append(list, "0000-01-01", "0001-01-01", "1970-01-01", "2026-01-02", "9999-12-31", "2026-02-30", "10000-01-01", "today", "\x00")
	}
	return append(list, hubtest.OddTexts()...)
}

// listOperations reads the GET operations of a document below base that have filters.
func listOperations(t *testing.T, document, base string, tokens ...string) []queryOperation {
	t.Helper()
	var read struct {
		Paths map[string]map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(document), &read))
	var operations []queryOperation
	for path, methods := range read.Paths {
		raw, ok := methods["get"]
		if !ok {
			continue
		}
		var operation struct {
			Parameters []queryParam
			Responses  map[string]struct{ Content map[string]any }
		}
		require.NoError(t, json.Unmarshal(raw, &operation))
		if bytes.Contains(raw, []byte("text/event-stream")) {
			continue // it does not end
		}
		found := queryOperation{path: base + path, tokens: tokens}
		for _, param := range operation.Parameters {
			switch param.In {
			case "query":
				found.params = append(found.params, param)
			case "path":
				found.path = strings.ReplaceAll(found.path, "{"+param.Name+"}", "00000000-0000-7000-8000-000000000000")
			}
		}
		if len(found.params) > 0 {
			operations = append(operations, found)
		}
	}
	return operations
}

// queries returns what an operation is asked: each parameter with each value, and all
// parameters at once with values at random.
func (o queryOperation) queries(random *rand.Rand) []url.Values {
	var list []url.Values
	for _, param := range o.params {
		for _, value := range param.Schema.values() {
			list = append(list, url.Values{param.Name: {value}})
		}
	}
	for range 3 * len(o.params) {
		query := url.Values{}
		for _, param := range o.params {
			if values := param.Schema.values(); random.IntN(2) == 0 {
				query.Set(param.Name, values[random.IntN(len(values))])
			}
		}
		list = append(list, query)
	}
	return list
}

// "Fuzz every filter of every list with generated values: never a 5xx." The operations and
// the types of their parameters are those of the OpenAPI documents.
func TestNoFilterCausesAServerError(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s := c.serve(also(serverEnv(c.dir, databaseURL(t), hubtest.RedisURL(t)), "HUB_PRODUCT_LIMITS", "scheduling.users=0,scheduling.public-reads=0,clinic.users=0"))
	studio, clinic := s.studio(t), s.signUp(t, "/clinic", `{"clinic_name":"Clínica Sol","name":"Bia","email":"bia@example.com","password":"correct horse"}`)
	var company struct{ Token string }
	s.callInto(t, &company, http.StatusCreated, http.MethodPost, "/messaging/auth/signup", `{"companyName":"Sol","name":"Bia","email":"bia@example.com","password":"correct horse"}`)
	s.fillLog(t)
	var operations []queryOperation
	for base, tokens := range map[string][]string{
		"": {s.token}, "/scheduling": {studio.token}, "/clinic": {clinic.token}, "/messaging": {company.Token},
	} {
		status, document := s.call(t, http.MethodGet, base+"/openapi.json", "")
		require.Equal(t, 200, status)
		found := listOperations(t, document, base, tokens...)
		require.NotEmpty(t, found, base)
		operations = append(operations, found...)
	}
	seed := rand.Uint64()
	t.Logf("seed %d, %d operations", seed, len(operations))
	work := make(chan queryOperation)
	var wg sync.WaitGroup
	var mu sync.Mutex
	statuses := make(map[int]int)
	var failures []string
	for i := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, i))
		wg.Go(func() {
			for operation := range work {
				for _, query := range operation.queries(random) {
					for _, token := range operation.tokens {
						status, text := get(t, s.url+operation.path+"?"+query.Encode(), token)
						mu.Lock()
						statuses[status]++
						if status >= 500 {
							failures = append(failures, fmt.Sprintf("%d GET %s?%s: %.200s", status, operation.path, query.Encode(), text))
						}
						mu.Unlock()
					}
				}
			}
		})
	}
	for _, operation := range operations {
		work <- operation
	}
	close(work)
	wg.Wait()
	require.Empty(t, failures)
	t.Logf("answers by status: %v", statuses)
	require.Greater(t, statuses[200], 500, "most filters were understood")
}

// fillLog publishes an event to two endpoints, so that searches of the log read rows.
func (s *hubProcess) fillLog(t *testing.T) {
	t.Helper()
	var tenant struct{ ID string }
	var key struct {
		APIKey string `json:"api_key"`
	}
	s.callInto(t, &struct{}{}, 201, "POST", "/api/v1/products", `{"name":"fuzz","prefix":"fuzz"}`)
	s.callInto(t, &tenant, 201, "POST", "/api/v1/tenants", `{"product":"fuzz","name":"Fuzz"}`)
	s.callInto(t, &key, 201, "POST", "/api/v1/keys", `{"tenant_id":"`+tenant.ID+`"}`)
	for range 2 {
		s.callInto(t, &struct{}{}, 201, "POST", "/api/v1/endpoints", `{"tenant_id":"`+tenant.ID+`","url":"http://127.0.0.1:9/","event_types":["*"]}`)
	}
	status, text := s.call(t, http.MethodPost, "/api/v1/events", `{"event_type":"a.b","data":{},"correlation_id":"c"}`, "X-Integration-Key", key.APIKey)
	require.Equal(t, 202, status, text)
}

// get asks with a token and returns status and body; 599 if there was no answer.
func get(t *testing.T, address, token string) (status int, text string) {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		return 599, err.Error()
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := hubtest.HTTPClient.Do(req)
	if err != nil {
		return 599, err.Error()
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 599, err.Error()
	}
	return res.StatusCode, string(body)
}
