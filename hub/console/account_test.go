package console_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

const accountPassword = "the account's password"

// account is a login at a hosted product.
type account struct {
	console *console
	product string
	tenant  string // its name
	email   string
	token   string
}

// newAccount makes a tenant of a hosted product with its first administrator, who is logged in.
func (c *console) newAccount(product, tenant string) *account {
	c.t.Helper()
	a := &account{console: c, product: product, tenant: tenant, email: product + "@example.com"}
	path, body := "/api/v1/auth/register", object{"name": "Bia", "email": a.email, "password": accountPassword}
	switch product {
	case "scheduling":
		body["org_name"], body["org_slug"] = tenant, "studio-bela"
	case "clinic":
		body["clinic_name"] = tenant
	case "messaging":
		path, body["companyName"] = "/auth/signup", tenant
	}
	response, text := c.call("POST", "/"+product+path, body)
	require.Equal(c.t, 201, response.StatusCode, text)
	var session struct {
		AccessToken string `json:"access_token"`
		Token       string `json:"token"` // messaging's name of it
	}
	require.NoError(c.t, json.Unmarshal([]byte(text), &session))
	a.token = session.AccessToken + session.Token
	return a
}

// ok calls the product's API, below the product's base, and requires a status.
func (a *account) ok(status int, method, path string, body any, headers ...string) object {
	a.console.t.Helper()
	response, text := a.console.call(method, "/"+a.product+path, body, append([]string{"Authorization", "Bearer " + a.token}, headers...)...)
	require.Equal(a.console.t, status, response.StatusCode, "%s %s: %s", method, path, text)
	var parsed object
	if len(text) > 0 && text[0] == '{' {
		require.NoError(a.console.t, json.Unmarshal([]byte(text), &parsed))
	}
	return parsed
}

// addStaff adds a user who is no administrator, and returns their e-mail address.
func (a *account) addStaff() string {
	a.console.t.Helper()
	email, path := "staff-"+a.email, "/api/v1/users"
	body := object{"name": "Edu", "email": email, "password": accountPassword}
	switch a.product {
	case "scheduling": // invites its users by e-mail
		delete(body, "password")
	case "messaging":
		path, body["profile"] = "/users", "user"
	}
	a.ok(201, "POST", path, body)
	if a.product == "scheduling" {
		link := regexp.MustCompile(`/reset-password\?token=([\w-]+)`)
		var found []string
		require.Eventually(a.console.t, func() bool {
			_, text := a.console.call("GET", "/api/v1/dev/mail", nil, "Authorization", "Bearer "+a.console.token)
			found = link.FindStringSubmatch(text)
			return found != nil
		}, time.Minute, 50*time.Millisecond)
		a.ok(200, "POST", "/api/v1/auth/reset-password", object{"token": found[1], "new_password": accountPassword})
	}
	return email
}

// startAccounts runs a hub that hosts the three products, each with one account.
func startAccounts(t *testing.T) (scheduling, clinic, messaging *account) {
	t.Helper()
	c := startHosting(t, products())
	return c.newAccount("scheduling", "Studio Bela"), c.newAccount("clinic", "Pine Clinic"), c.newAccount("messaging", "Oak Messages")
}

// key issues an API key for another product.
func (a *account) key() string {
	a.console.t.Helper()
	return a.ok(200, "POST", "/api/v1/integrations/api-keys", object{"name": "peer"})["api_key"].(string)
}

// base is the address of the product's API.
func (a *account) base() string { return a.console.url + "/" + a.product + "/api/v1" }

// failingPeer registers a product that answers every webhook with 500, and returns its address.
func (a *account) failingPeer() string {
	a.console.t.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"error":"the warehouse is closed"}`)
	}))
	a.console.t.Cleanup(receiver.Close)
	address := receiver.URL + "/hook"
	response, text := a.console.call("POST", "/"+a.product+"/api/v1/integrations/webhook/register", object{"webhook_url": address}, "X-Integration-Key", a.key())
	require.Equal(a.console.t, 200, response.StatusCode, text)
	return address
}

// visited is what the scripts need to know of an account.
func (a *account) visited() object {
	return object{"url": a.console.url, "product": a.product, "tenant": a.tenant, "email": a.email, "password": accountPassword}
}

// "The same shell, opened with a product account instead of an operator's, shows the
// integration side of that one tenant and nothing else."
func TestAccountLoginInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	scheduling, clinic, messaging := startAccounts(t)
	for _, account := range []*account{scheduling, clinic, messaging} {
		visited := account.visited()
		visited["staff"] = account.addStaff()
		hubtest.RunInBrowser(t, "hub/console/browser/account.mjs", visited)
	}
}

// "Connections (status, last check, features; connect checklist with the real cause of each
// failure; test, pause and resume, disconnect)", for each product.
func TestAccountIntegrationsInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	scheduling, clinic, messaging := startAccounts(t)
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(elsewhere.Close)
	const closed = "http://127.0.0.1:1/api/v1" // no other test takes this port
	for account, peer := range map[*account]*account{scheduling: messaging, clinic: scheduling, messaging: clinic} {
		visited := account.visited()
		visited["peer"], visited["peerBase"], visited["key"] = peer.product, peer.base(), peer.key()
		visited["elsewhere"], visited["closed"] = elsewhere.URL+"/api/v1", closed
		visited["staff"] = account.addStaff()
		hubtest.RunInBrowser(t, "hub/console/browser/account-integrations.mjs", visited)
	}
}

// "Keys (shown once; create, rotate, revoke)", for each product.
func TestAccountKeysInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	scheduling, clinic, messaging := startAccounts(t)
	for _, account := range []*account{scheduling, clinic, messaging} {
		hubtest.RunInBrowser(t, "hub/console/browser/account-keys.mjs", account.visited())
	}
}

// "The log of webhooks with filters, one delivery with its exchange, retry", of one tenant only.
func TestAccountLogInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	_, clinic, messaging := startAccounts(t)
	clinicReceiver, messagingReceiver := clinic.failingPeer(), messaging.failingPeer()
	patient := idOf(clinic.ok(201, "POST", "/api/v1/patients", object{"name": "Ana Souza", "phone": "+5511987654321"}))
	messaging.ok(201, "POST", "/contacts", object{"name": "Rui Lima", "number": "5511912345678"})
	for account, log := range map[*account]object{
		clinic:    {"receiver": clinicReceiver, "type": "patient.created", "phone": "(11) 98765-4321", "other": "contact.created", "token": clinic.token, "patient": patient},
		messaging: {"receiver": messagingReceiver, "type": "contact.created", "phone": "(11) 91234-5678", "other": "patient.created"},
	} {
		require.Eventually(t, func() bool {
			items := account.ok(200, "GET", "/api/v1/integrations/webhook-logs?event_type="+log["type"].(string), nil)["items"].([]any)
			return len(items) == 1 && items[0].(object)["status_code"] != nil
		}, time.Minute, 50*time.Millisecond)
		visited := account.visited()
		maps.Copy(visited, log)
		hubtest.RunInBrowser(t, "hub/console/browser/account-log.mjs", visited)
	}
}
