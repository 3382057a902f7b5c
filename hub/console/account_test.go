package console_test

import (
	"encoding/json"
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
		}, 30*time.Second, 50*time.Millisecond)
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
