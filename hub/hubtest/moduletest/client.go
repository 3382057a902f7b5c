package moduletest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/openapitest"
)

// Object is a JSON object.
type Object = map[string]any

// Client calls a product's HTTP API on behalf of one caller. Every response is checked
// against the product's OpenAPI document.
type Client struct {
	T        testing.TB
	Hub      *Hub
	Token    string   // an access token or an API key; "" means no credentials
	Headers  []string // sent with every request: name, value, …
	Contract *openapitest.Document

	KeyPrefix string   // what the product's API keys begin with
	Roots     []string // paths below the product's base beside /api, such as /fhir
}

// Response is a response with its body read. Body is set where it is a JSON object, List
// where it is an array.
type Response struct {
	Status int
	Header http.Header
	Text   string
	Body   Object
	List   []Object
}

var httpClient = &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// Try sends a request and returns an error where there is no response, or one that the
// OpenAPI document does not describe. A path is taken below /api/v1, unless it names one
// of the client's roots or is a whole URL. A body that is a string or bytes is sent as it is,
// any other as JSON. Headers come in pairs.
func (c *Client) Try(method, path string, body any, headers ...string) (Response, error) {
	request, err := c.request(method, path, body, headers)
	if err != nil {
		return Response{}, err
	}
	res, err := httpClient.Do(request)
	if err != nil {
		return Response{}, err
	}
	defer res.Body.Close()
	text, err := readAll(res)
	response := Response{Status: res.StatusCode, Header: res.Header, Text: string(text)}
	switch {
	case err != nil, strings.HasSuffix(res.Header.Get("Content-Type"), "ndjson"):
	case bytes.HasPrefix(text, []byte("{")):
		err = json.Unmarshal(text, &response.Body)
	case bytes.HasPrefix(text, []byte("[")):
		err = json.Unmarshal(text, &response.List)
	}
	if err == nil && c.Contract != nil {
		err = c.Contract.CheckResponse(c.Hub.Base, res, text)
	}
	return response, err
}

// readAll reads a body into a buffer of its length, where that is known: a growing one copies
// what it has again and again, and files are of up to 100 MiB.
func readAll(res *http.Response) ([]byte, error) {
	if res.ContentLength < 0 || res.Request.Method == http.MethodHead {
		return io.ReadAll(res.Body)
	}
	text := make([]byte, res.ContentLength)
	n, err := io.ReadFull(res.Body, text)
	return text[:n], err
}

func (c *Client) request(method, path string, body any, headers []string) (*http.Request, error) {
	var raw []byte
	switch body := body.(type) {
	case nil:
	case string:
		raw = []byte(body)
	case []byte:
		raw = body
	default:
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(c.T.Context(), method, c.url(path), bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	if raw != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	switch {
	case c.KeyPrefix != "" && strings.HasPrefix(c.Token, c.KeyPrefix):
		request.Header.Set("X-Integration-Key", c.Token)
	case c.Token != "":
		request.Header.Set("Authorization", "Bearer "+c.Token)
	}
	for _, pairs := range [][]string{headers, c.Headers} {
		for i := 0; i < len(pairs); i += 2 {
			request.Header.Set(pairs[i], pairs[i+1])
		}
	}
	return request, nil
}

func (c *Client) url(path string) string {
	isBelow := func(root string) bool { return strings.HasPrefix(path, root) }
	switch {
	case isBelow("http:"):
		return path
	case isBelow("/api"), slices.ContainsFunc(c.Roots, isBelow):
		return c.Hub.Base + path
	default:
		return c.Hub.Base + "/api/v1" + path
	}
}

// Call sends a request like [Client.Try] and fails the test on its error.
func (c *Client) Call(method, path string, body any, headers ...string) Response {
	c.T.Helper()
	response, err := c.Try(method, path, body, headers...)
	require.NoError(c.T, err)
	return response
}

// OK requires a status and returns the response's object.
func (c *Client) OK(status int, method, path string, body any, headers ...string) Object {
	c.T.Helper()
	response := c.Call(method, path, body, headers...)
	require.Equal(c.T, status, response.Status, "%s %s: %s", method, path, response.Text)
	return response.Body
}

// Get requires 200 for a GET request and returns the response's object.
func (c *Client) Get(path string) Object {
	c.T.Helper()
	return c.OK(200, "GET", path, nil)
}

// List requires 200 for a GET request and returns the response's array.
func (c *Client) List(path string) []Object {
	c.T.Helper()
	response := c.Call("GET", path, nil)
	require.Equal(c.T, 200, response.Status, "%s: %s", path, response.Text)
	require.True(c.T, strings.HasPrefix(response.Text, "["), response.Text)
	return response.List
}

// Items requires 200 for a GET request and returns the items of the page.
func (c *Client) Items(path string) []Object {
	c.T.Helper()
	return Items(c.Get(path))
}

// Items returns the items of a page.
func Items(page Object) (items []Object) {
	for _, item := range page["items"].([]any) {
		items = append(items, item.(Object))
	}
	return items
}

// Refused requires an error of the API's one shape and returns its object.
func (c *Client) Refused(status int, code, method, path string, body any, headers ...string) Object {
	c.T.Helper()
	response := c.Call(method, path, body, headers...)
	require.Equal(c.T, status, response.Status, "%s %s: %s", method, path, response.Text)
	require.Equal(c.T, "application/problem+json", response.Header.Get("Content-Type"))
	require.Equal(c.T, code, response.Body["code"], response.Text)
	require.EqualValues(c.T, status, response.Body["status"])
	require.NotEmpty(c.T, response.Body["detail"])
	require.Contains(c.T, response.Body, "errors")
	return response.Body
}

// Invalid requires a validation error that names a location.
func (c *Client) Invalid(location, method, path string, body any) {
	c.T.Helper()
	problem := c.Refused(422, "validation_failed", method, path, body)
	var locations []string
	for _, fieldError := range problem["errors"].([]any) {
		locations = append(locations, fieldError.(Object)["location"].(string))
	}
	require.Contains(c.T, locations, location, "%v", problem)
}
