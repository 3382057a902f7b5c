package api

import "integrationhub/hub/module/rest"

// RouteTable returns the routes of the product and, at the paths below which the hub serves
// them, those for connected products.
func RouteTable() []rest.Route {
	a := &API{}
	routes := a.routes()
	below := func(base string, list []rest.Route) {
		for _, route := range list {
			route.Path = base + route.Path
			routes = append(routes, route)
		}
	}
	below("/api/v1/integrations/search", a.searchRoutes())
	below("/api/v1/integrations/action", a.actionRoutes())
	return routes
}
