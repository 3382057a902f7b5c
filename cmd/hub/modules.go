package main

import (
	_ "time/tzdata" // tenants have time zones, and the machine may know none

	"integrationhub/clinic"
	"integrationhub/hub/module"
	"integrationhub/messaging"
	"integrationhub/scheduling"
)

// modules are the products that this hub can run, each by its New: the one place that
// names them. HUB_PRODUCTS chooses among them.
func modules() []module.Module {
	return []module.Module{scheduling.New(), messaging.New(), clinic.New()}
}
