package api

import "integrationhub/hub/module/rest"

// queueRoutes returns the routes of queues.
func (a *API) queueRoutes() []rest.Route {
	return []rest.Route{
		rest.Get("/queue", rest.User, 200, "queues.list", "List queues", rest.Handle(a.listQueues)),
		rest.Post("/queue", rest.Admin, 201, "queues.create", "Make a queue", rest.WithRequiredFields("NewQueue", rest.WithHandlerValidation(rest.Handle(a.createQueue)), "name", "color")),
		rest.Get("/queue/{id}", rest.User, 200, "queues.get", "Read a queue", rest.Handle(a.getQueue)),
		rest.Put("/queue/{id}", rest.Admin, 200, "queues.update", "Change a queue", rest.WithHandlerValidation(rest.Handle(a.updateQueue))),
		rest.Delete("/queue/{id}", rest.Admin, 200, "queues.delete", "Delete a queue; its tickets stay, without a queue", rest.Handle(a.deleteQueue)),
	}
}
