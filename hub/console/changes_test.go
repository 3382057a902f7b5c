package console_test

import (
	"testing"

	"integrationhub/hub/hubtest"
)

// known is what scripts need that also call the API themselves.
func (c *console) known(shop shop) object {
	visited := c.visited()
	visited["token"], visited["tenant"], visited["key"], visited["endpoint"] = c.token, shop.tenant, shop.key, shop.endpoint
	return visited
}

// The log shows every delivery once: after the way back from a delivery, while it grows, and after
// a page that could not be read.
func TestPagesOfTheLogInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	c := start(t)
	shop := c.shop(800)
	other := c.ok(201, "POST", "/tenants", object{"product": "shop", "name": "Flower Stall"})["id"].(string)
	for i := range 101 { // more than a page; a tenant has at most 100
		c.ok(201, "POST", "/keys", object{"tenant_id": []string{shop.tenant, other}[i%2], "environment": "live"})
	}
	hubtest.RunInBrowser(t, "hub/console/browser/paging.mjs", c.known(shop))
}

// What others changed while a form was open stays, unless the form changes the same.
func TestChangesOfOthersInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	c := start(t)
	shop := c.shop(1)
	c.ok(201, "POST", "/operators", object{"email": "bea@example.com", "name": "Bea", "role": "support", "password": adminPassword})
	c.ok(201, "POST", "/alerts", object{"kind": "email", "target": "ops@example.com", "events": []string{"hub.*"}})
	hubtest.RunInBrowser(t, "hub/console/browser/others.mjs", c.known(shop))
}

// A window keeps what is shown once, and what was typed when the session ends.
func TestWindowsInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	c := start(t)
	shop := c.shop(1)
	c.ok(201, "POST", "/operators", object{"email": "bea@example.com", "name": "Bea", "role": "support", "password": adminPassword})
	hubtest.RunInBrowser(t, "hub/console/browser/windows.mjs", c.known(shop))
}

// Times are typed in the zone that this browser's user chose, counts of what would be sent have an
// age, and a screen says when what it shows is not current.
func TestTimesAndAgesInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	c := start(t)
	hubtest.RunInBrowser(t, "hub/console/browser/ages.mjs", c.known(c.shop(1)))
}
