package productapi_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// The rules for bodies hold for every operation that the document names, the
// product's own included, and none of them answers bad input with a 5xx. Nobody gets
// in without credentials where the document names some.
func TestBodyRulesHoldEverywhere(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	l := pair(n)
	tried := 0
	for path, operations := range call(t, "GET", l.base+"/openapi.json", "").body["paths"].(map[string]any) {
		for method, raw := range operations.(map[string]any) {
			op := raw.(map[string]any)
			url := l.base + strings.ReplaceAll(path, "{id}", uuid.NewString())
			method = strings.ToUpper(method)
			security := op["security"].([]any)
			var credentials []string
			if len(security) > 0 {
				require.Equal(t, 401, call(t, method, url, "").status, "%s %s", method, path)
				require.Equal(t, 401, call(t, method, url, "", append(bearer("garbage"), withKey("garbage")...)...).status, "%s %s", method, path)
				credentials = bearer(l.admin)
				if _, key := security[0].(map[string]any)["key"]; key {
					credentials = withKey(l.key)
				}
			}
			if op["requestBody"] == nil {
				continue
			}
			tried++
			for name, tc := range map[string]struct {
				status int
				body   string
				header []string
			}{
				"cut":            {400, `{"a":1`, nil},
				"text":           {400, "hello", nil},
				"two values":     {400, "{}{}", nil},
				"duplicate key":  {400, `{"a":1,"a":2}`, nil},
				"too deep":       {400, strings.Repeat("[", 65) + strings.Repeat("]", 65), nil},
				"NUL":            {400, `{"a":"\u0000"}`, nil},
				"lone surrogate": {400, `{"a":"\ud800"}`, nil},
				"broken UTF-8":   {400, "{\"a\":\"\xff\"}", nil},
				"long number":    {400, `{"a":` + strings.Repeat("1", 33) + `}`, nil},
				"a list":         {422, "[]", nil},
				"gzip":           {415, "{}", []string{"Content-Encoding", "gzip"}},
				"form":           {415, "{}", []string{"Content-Type", "application/x-www-form-urlencoded"}},
			} {
				req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader([]byte(tc.body)))
				require.NoError(t, err)
				req.Header.Set("Content-Type", "application/json")
				for _, headers := range [][]string{credentials, {"X-Webhook-Signature", sign(l.secret, tc.body)}, tc.header} {
					for i := 0; i < len(headers); i += 2 {
						req.Header.Set(headers[i], headers[i+1])
					}
				}
				res, err := client.Do(req)
				require.NoError(t, err)
				var problem map[string]any
				require.NoError(t, json.NewDecoder(res.Body).Decode(&problem))
				require.NoError(t, res.Body.Close())
				require.Equal(t, tc.status, res.StatusCode, "%s %s, %s: %v", method, path, name, problem)
				require.Equal(t, "application/problem+json", res.Header.Get("Content-Type"))
			}
		}
	}
	require.Greater(t, tried, 8)
}
