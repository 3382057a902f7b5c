package console_test

import (
	"testing"

	"integrationhub/hub/hubtest"
)

// The login, the shell, and the delivery log in each of its states.
func TestDeliveriesInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	c := start(t)
	c.shop(250)
	hubtest.RunInBrowser(t, "hub/console/browser/deliveries.mjs", c.visited())
}

// A delivery: its attempts, its exchange, and what can be done with it.
func TestDeliveryInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	c := start(t)
	c.shop(1)
	visited := c.visited()
	visited["data"] = string(refusedData)
	hubtest.RunInBrowser(t, "hub/console/browser/delivery.mjs", visited)
}
