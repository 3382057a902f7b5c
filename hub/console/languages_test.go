package console_test

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// idOf returns the id of an object.
func idOf(item any) string { return item.(object)["id"].(string) }

// first returns the id of the first item of a list of the product's.
func (a *account) first(path string) string {
	a.console.t.Helper()
	items := a.items(path)
	require.NotEmpty(a.console.t, items, path)
	return idOf(items[0])
}

// checkImport has a file with patients checked and returns the import's id.
func (a *account) checkImport() string {
	t := a.console.t
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	require.NoError(t, form.WriteField("format", "csv"))
	require.NoError(t, form.WriteField("dry_run", "true"))
	file, err := form.CreateFormFile("file", "patients.csv")
	require.NoError(t, err)
	_, err = io.WriteString(file, "external_id,name,phone,cpf,birth_date,colour\n1,Ana Souza,11955550001,529.982.247-25,1990-05-17,blue\n2,Bruno Lima,12,,1980-01-31,red\n3,,11933330000,,1975-12-02,green\n")
	require.NoError(t, err)
	require.NoError(t, form.Close())
	request, err := http.NewRequest("POST", a.base()+"/imports", &body)
	require.NoError(t, err)
	request.Header.Set("Content-Type", form.FormDataContentType())
	request.Header.Set("Authorization", "Bearer "+a.token)
	response, err := hubtest.HTTPClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	var made object
	require.NoError(t, json.NewDecoder(response.Body).Decode(&made))
	require.Less(t, response.StatusCode, 300, made)
	id := idOf(made)
	require.Eventually(t, func() bool { return a.ok(200, "GET", "/api/v1/imports/"+id, nil)["status"] == "done" }, eventually, tick)
	return id
}

// integration returns an integration of an account, in the hub's list.
func (a *account) integration() string {
	a.console.t.Helper()
	tenant := a.console.tenantOf(a.product)
	for _, item := range a.console.ok(200, "GET", "/integrations?limit=100", nil)["items"].([]any) {
		if item.(object)["tenant_id"] == tenant {
			return idOf(item)
		}
	}
	require.FailNow(a.console.t, "no integration", a.product)
	return ""
}

// pages returns the screens of an account, with the rows that fill them.
func (a *account) pages() object {
	a.console.t.Helper()
	log := a.first("/api/v1/integrations/webhook-logs")
	paths := []string{"/integrations", "/integrations/" + a.integration(), "/connect", "/keys", "/log", "/log/" + log}
	switch a.product {
	case "clinic":
		paths = append(paths, "/inbox", "/imports", "/imports/new", "/imports/"+a.checkImport(), "/deletions", "/deletions/"+a.first("/api/v1/deletion-requests"))
	case "messaging":
		paths = append(paths, "/connections", "/connections/1")
	}
	return object{"product": a.product, "email": a.email, "password": accountPassword, "paths": paths}
}

// operatorPages returns the operators' screens, with the rows that fill them.
func (c *console) operatorPages(shop shop, integration string) object {
	c.t.Helper()
	refused := idOf(c.ok(200, "GET", "/deliveries?event_type=order.refused", nil)["items"].([]any)[0])
	c.ok(201, "POST", "/tokens", object{"name": "Billing", "role": "admin"})
	c.ok(201, "POST", "/alerts", object{"kind": "email", "target": "ops@example.com", "events": []string{"hub.*"}})
	c.ok(201, "POST", "/alerts", object{"kind": "webhook", "target": "https://example.com/alerts", "events": []string{"hub.*"}, "tenant_id": shop.tenant})
	endpoint, _, inOrder := c.ordered(shop)
	eventType := c.ok(201, "POST", "/event-types", object{"product": "shop", "name": "order.created", "description": "An order.", "schema": object{"type": "object"}, "example": object{"n": 1}})["id"].(string)
	replay := idOf(c.ok(202, "POST", "/replays", object{"filter": object{"status": "delivered", "event_type": "order.created"}}))
	return object{"email": adminEmail, "password": adminPassword, "paths": []string{
		"/overview", "/deliveries", "/deliveries/" + refused, "/deliveries?endpoint=" + endpoint, "/deliveries/" + inOrder[0].(string), "/deliveries/" + inOrder[2].(string), "/replays", "/replays/" + replay, "/system",
		"/lookup", "/journey?correlation=order-77", "/phone", "/journey", "/integrations", "/integrations/" + integration, "/connect",
		"/endpoints", "/endpoints/" + endpoint, "/event-types", "/event-types/" + eventType, "/keys", "/map", "/tenants", "/operators", "/tokens", "/alerts", "/audit", "/mail",
	}}
}

// startFilled runs a hub whose screens all have something to show, and returns the sides that look
// at it.
func startFilled(t *testing.T) (c *console, sides []object) {
	t.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	t.Cleanup(receiver.Close)
	scheduling, clinic, messaging := startAccounts(t)
	c = clinic.console
	shop := c.shop(3)
	integration := c.link("clinic", "scheduling")
	chat := clinic.registerPeer("messaging")
	messaging.failingPeer()
	scheduling.book()
	messaging.ok(201, "POST", "/whatsapp", object{"name": "Reception"})
	messaging.ok(201, "POST", "/contacts", object{"name": "Rui Lima", "number": "5511912345678"})
	chat.send("message.received", object{"phone": "+5511955550001", "name": "Ana", "body": "Is the doctor there tomorrow?", "ticket_id": "1"})
	patient := idOf(clinic.ok(201, "POST", "/api/v1/patients", object{"name": "Zuleica", "phone": "+5511977771111"}))
	clinic.ok(202, "POST", "/api/v1/patients/"+patient+"/deletion-request", nil)
	for _, account := range []*account{scheduling, clinic, messaging} {
		require.Eventually(t, func() bool { return len(account.items("/api/v1/integrations/webhook-logs")) > 0 }, eventually, tick)
		account.key()
		sides = append(sides, account.pages())
	}
	return c, append(sides, c.operatorPages(shop, integration))
}

// screenOf returns the route that an address belongs to.
func screenOf(path string) string {
	path, _, _ = strings.Cut(path, "?")
	return regexp.MustCompile(`/([0-9a-f-]{36}|[0-9]+)$`).ReplaceAllString(path, "/<id>")
}

// Every screen of both sides in Portuguese and Spanish, on a phone and a desktop, light and dark:
// no English is left, nothing is cut off or overlaps, and axe finds nothing.
func TestLanguagesInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	c, sides := startFilled(t)
	operators, accounts := routesIn(t, "src/app/router.tsx"), routesIn(t, "src/account/routes.tsx")
	for _, side := range sides {
		for _, path := range side["paths"].([]string) {
			delete(map[bool]map[string]bool{true: operators, false: accounts}[side["product"] == nil], screenOf(path))
		}
	}
	require.Empty(t, operators, "screens of operators that are not visited")
	require.Empty(t, accounts, "screens of accounts that are not visited")
	visited := c.visited()
	visited["sides"], visited["modules"] = sides, packages(t)
	visited["names"] = []string{"Administrator"} // of the first operator
	hubtest.RunInBrowser(t, "hub/console/browser/languages.mjs", visited)
}
