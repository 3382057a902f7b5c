package main

import "integrationhub/hub/module"

// modules are the products that this hub can run, each by its New: the one place that
// names them. HUB_PRODUCTS chooses among them.
func modules() []module.Module {
	return []module.Module{}
}
