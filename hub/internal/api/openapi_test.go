package api_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/api"
)

type document struct {
	OpenAPI    string
	Info       struct{ Title, Version string }
	Tags       []struct{ Name string }
	Paths      map[string]map[string]operation
	Components struct {
		Schemas         map[string]json.RawMessage
		SecuritySchemes map[string]json.RawMessage
	}
}

type operation struct {
	OperationID string
	Summary     string
	Tags        []string
	Security    []map[string][]string
	Responses   map[string]struct{ Content map[string]json.RawMessage }
}

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	b := setup(t)
	served := b.call("GET", "/openapi.json", "", "")
	require.Equal(t, 200, served.status)
	require.NotContains(t, served.text, "$schema")
	var doc document
	require.NoError(t, json.Unmarshal([]byte(served.text), &doc))
	require.Regexp(t, `^3\.1`, doc.OpenAPI)
	require.Equal(t, "test", doc.Info.Version)
	require.Len(t, doc.Components.SecuritySchemes, 3)
	tags := map[string]bool{}
	for _, tag := range doc.Tags {
		tags[tag.Name] = true
	}
	documented := 0
	for _, row := range b.api.Rows() {
		op, found := doc.Paths[row.Path][strings.ToLower(row.Method)]
		require.True(t, found, row.Action)
		documented++
		require.Equal(t, row.Action, op.OperationID)
		require.NotEmpty(t, op.Summary)
		require.True(t, tags[op.Tags[0]], "%s has no section", op.Tags[0])
		security := []map[string][]string{}
		if !row.Public && !row.KeysOnly {
			security = append(security, map[string][]string{"bearer": {}})
		}
		if row.Scope != "" {
			security = append(security, map[string][]string{"key": {}})
		}
		if !row.Public && !row.KeysOnly {
			security = append(security, map[string][]string{"session": {}})
		}
		for _, alternative := range op.Security {
			for scheme := range alternative {
				alternative[scheme] = []string{} // roles and scopes
			}
		}
		require.ElementsMatch(t, security, op.Security, row.Action)
		for status, answer := range op.Responses {
			if strings.HasPrefix(status, "4") || strings.HasPrefix(status, "5") {
				require.Contains(t, answer.Content, "application/problem+json", "%s %s", row.Action, status)
			}
		}
		require.Contains(t, op.Responses, "503")
	}
	count := 0
	for _, item := range doc.Paths {
		count += len(item)
	}
	require.Equal(t, documented, count, "nothing is documented that is not in the table")
	for _, ref := range regexp.MustCompile(`"#/components/schemas/([^"]+)"`).FindAllStringSubmatch(served.text, -1) {
		require.Contains(t, doc.Components.Schemas, ref[1])
	}

	offline, err := api.Document("test")
	require.NoError(t, err)
	require.JSONEq(t, served.text, string(offline))
}

func TestReferencePage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	page := b.call("GET", "/docs", "", "")
	require.Equal(t, 200, page.status)
	require.Contains(t, page.header.Get("Content-Security-Policy"), "default-src 'none'")
	require.Contains(t, page.header.Get("Content-Security-Policy"), "frame-ancestors 'none'")
	require.Equal(t, "nosniff", page.header.Get("X-Content-Type-Options"))
	for _, asset := range regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(page.text, -1) {
		if strings.HasPrefix(asset[1], "/") {
			got := b.call("GET", "/docs"+strings.TrimPrefix(asset[1], "/docs"), "", "")
			if asset[1] == "/openapi.json" {
				continue
			}
			require.Equal(t, 200, got.status, asset[1])
			require.NotEmpty(t, got.text)
			if asset[1] != "/docs/scalar.js" { // a library's; TestReferencesInABrowser sees what it asks for
				require.NotRegexp(t, `https?://`, got.text, "everything is embedded")
			}
		} else {
			require.Contains(t, []string{"data:,"}, asset[1], "everything is embedded")
		}
	}
	require.NotRegexp(t, `<script>|<style>| style=| on[a-z]+=`, page.text, "the policy forbids inline code")

	app := fiber.New()
	_, err := api.New(app, api.Deps{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	for path, status := range map[string]int{"/docs": 404, "/docs/page.js": 404, "/openapi.json": 404} {
		response, err := app.Test(httptest.NewRequest("GET", path, nil))
		require.NoError(t, err)
		require.Equal(t, status, response.StatusCode, path)
		require.NoError(t, response.Body.Close())
	}
}

func TestRawRow(t *testing.T) {
	t.Parallel()
	app := fiber.New()
	mounted, err := api.New(app, api.Deps{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	mounted.AddRaw("/api/v1/raw/{id}", "raw.post", "events.publish", func(c *fiber.Ctx) error {
		return c.Status(202).SendString(c.Params("id"))
	})
	response, err := app.Test(httptest.NewRequest("POST", "/api/v1/raw/7", nil))
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, "7", string(body))
	text, err := mounted.OpenAPI()
	require.NoError(t, err)
	var doc document
	require.NoError(t, json.Unmarshal(text, &doc))
	op := doc.Paths["/api/v1/raw/{id}"]["post"]
	require.Equal(t, []map[string][]string{{"key": {"events.publish"}}}, op.Security)
	require.Contains(t, op.Responses, "202")
}
