package main_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/openapitest"
)

// TestOpenAPI: the document can be had without a hub, and is the one a hub serves.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	printed := newCLI(t).run("openapi").requireOK()
	var document struct {
		OpenAPI string                     `json:"openapi"`
		Info    struct{ Version string }   `json:"info"`
		Paths   map[string]json.RawMessage `json:"paths"`
	}
	require.NoError(t, json.Unmarshal([]byte(printed), &document))
	require.True(t, strings.HasPrefix(document.OpenAPI, "3.1."), document.OpenAPI)
	require.Equal(t, "v9.8.7", document.Info.Version)
	require.Contains(t, document.Paths, "/api/v1/events")
	status, served := sharedHub(t).call(t, "GET", "/openapi.json", "")
	require.Equal(t, 200, status)
	require.JSONEq(t, served, printed)
}

// TestProductOpenAPI: so can that of each product, with the integration interface.
func TestProductOpenAPI(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	status, listed := sharedHub(t).call(t, "GET", "/api/v1/products?limit=200", "")
	require.Equal(t, 200, status)
	var products struct {
		Items []struct {
			Name   string `json:"name"`
			Hosted bool   `json:"hosted"`
		} `json:"items"`
	}
	require.NoError(t, json.Unmarshal([]byte(listed), &products))
	compared := 0
	for _, product := range products.Items {
		name := product.Name
		if !product.Hosted {
			continue
		}
		compared++
		printed := c.run("openapi", "--product", name).requireOK()
		status, served := sharedHub(t).call(t, "GET", "/"+name+"/openapi.json", "")
		require.Equal(t, 200, status)
		var have, want map[string]any
		require.NoError(t, json.Unmarshal([]byte(printed), &have))
		require.NoError(t, json.Unmarshal([]byte(served), &want))
		require.Equal(t, []any{map[string]any{"url": "/" + name}}, have["servers"])
		delete(have, "servers") // a running hub knows its address
		delete(want, "servers")
		require.Equal(t, want, have)
		require.Contains(t, have["paths"], "/api/v1/integrations/webhook")
	}
	require.Positive(t, compared)
	got := c.run("openapi", "--product", "nothing")
	require.Equal(t, 2, got.code)
	require.Contains(t, got.stderr, "scheduling")
	require.Empty(t, got.stdout)
}

// TestDocumentsAreComplete: each operation, parameter and property has a description that says
// more than its name, each operation lists its errors with their codes, and what callers send
// has bounds.
func TestDocumentsAreComplete(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	for product, least := range map[string]int{"": 350, "scheduling": 900, "messaging": 600, "clinic": 450} {
		command := []string{"openapi"}
		if product != "" {
			command = append(command, "--product", product)
		}
		problems, properties, err := openapitest.Incompleteness([]byte(c.run(command...).requireOK()))
		require.NoError(t, err)
		require.Empty(t, problems, "the document %s\n%s", product, strings.Join(problems, "\n"))
		require.Greater(t, properties, least, product)
	}
}

// saysAnswer matches the word for what a person sends; to HTTP requests there are responses.
var saysAnswer = regexp.MustCompile(`(?i)[^.]*\banswer[^.]*`)

// TestDocumentsSayResponse: what comes back for an HTTP request is a response, as the glossary
// has it. In messaging's document people answer as well.
func TestDocumentsSayResponse(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	for _, arguments := range [][]string{{"openapi"}, {"openapi", "--product", "scheduling"}, {"openapi", "--product", "clinic"}} {
		var document any
		require.NoError(t, json.Unmarshal([]byte(c.run(arguments...).requireOK()), &document))
		texts := descriptions(document)
		require.Greater(t, len(texts), 500, arguments)
		require.Empty(t, saysAnswer.FindAllString(strings.Join(texts, "\n"), -1), "say response, or respond: docs/glossary.md")
	}
}

// descriptions returns the summaries and descriptions of an OpenAPI document.
func descriptions(part any) (texts []string) {
	switch part := part.(type) {
	case map[string]any:
		for name, value := range part {
			if text, ok := value.(string); ok && (name == "summary" || name == "description") {
				texts = append(texts, text)
			} else {
				texts = append(texts, descriptions(value)...)
			}
		}
	case []any:
		for _, value := range part {
			texts = append(texts, descriptions(value)...)
		}
	}
	return texts
}
