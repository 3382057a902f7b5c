package main

import (
	_ "time/tzdata" // tenants have time zones, and the machine may know none

	"integrationhub/clinic"
	"integrationhub/hub/module"
	"integrationhub/messaging"
	"integrationhub/scheduling"
)

// modules returns the products that this hub can run. HUB_PRODUCTS selects among them.
func modules() []module.Module {
	return []module.Module{scheduling.New(), messaging.New(), clinic.New()}
}
