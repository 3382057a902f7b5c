package api

import "integrationhub/hub/module/rest"

// peopleRoutes returns the routes of the company and its users.
func (a *API) peopleRoutes() []rest.Route {
	return []rest.Route{
		rest.Get("/company", rest.User, 200, "company.get", "Read the company", rest.Handle(a.getCompany)),
		rest.Put("/company", rest.Admin, 200, "company.update", "Change the company's settings", rest.WithHandlerValidation(rest.Handle(a.updateCompany))),

		rest.Get("/users", rest.Admin, 200, "users.list", "List users", rest.Handle(a.listUsers)),
		rest.Post("/users", rest.Admin, 201, "users.create", "Make a user", rest.WithErrors(rest.WithRequiredFields("NewUser", rest.WithHandlerValidation(rest.Handle(a.createUser)), "name", "email", "password"), 404)),
		rest.Get("/users/{id}", rest.User, 200, "users.get", "Read a user; users that are no administrators read themselves", rest.Handle(a.getUser)),
		rest.Put("/users/{id}", rest.User, 200, "users.update", "Change a user; users that are no administrators change their own name, e-mail address and password", rest.WithHandlerValidation(rest.Handle(a.updateUser))),
		rest.Delete("/users/{id}", rest.Admin, 200, "users.delete", "Delete a user; its open tickets wait for others", rest.Handle(a.deleteUser)),
	}
}
