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

		rest.Get("/tags", rest.User, 200, "tags.list", "List tags", rest.Handle(a.listTags)),
		rest.Post("/tags", rest.User, 201, "tags.create", "Make a tag", rest.WithRequiredFields("NewTag", rest.WithHandlerValidation(rest.Handle(a.createTag)), "name")),
		rest.Get("/tags/{id}", rest.User, 200, "tags.get", "Read a tag", rest.Handle(a.getTag)),
		rest.Put("/tags/{id}", rest.User, 200, "tags.update", "Change a tag", rest.WithHandlerValidation(rest.Handle(a.updateTag))),
		rest.Delete("/tags/{id}", rest.User, 200, "tags.delete", "Delete a tag, and take it from contacts and tickets", rest.Handle(a.deleteTag)),

		rest.Get("/quick-messages", rest.User, 200, "quick-messages.list", "List quick messages: shared ones and one's own", rest.Handle(a.listQuickMessages)),
		rest.Post("/quick-messages", rest.User, 201, "quick-messages.create", "Make a quick message", rest.WithErrors(rest.WithRequiredFields("NewQuickMessage", rest.WithHandlerValidation(rest.Handle(a.createQuickMessage)), "shortcode", "message"), 404)),
		rest.Get("/quick-messages/{id}", rest.User, 200, "quick-messages.get", "Read a quick message", rest.Handle(a.getQuickMessage)),
		rest.Put("/quick-messages/{id}", rest.User, 200, "quick-messages.update", "Change a quick message of one's own", rest.WithHandlerValidation(rest.Handle(a.updateQuickMessage))),
		rest.Delete("/quick-messages/{id}", rest.User, 200, "quick-messages.delete", "Delete a quick message of one's own", rest.Handle(a.deleteQuickMessage)),
	}
}

// contactRoutes returns the routes of contacts.
func (a *API) contactRoutes() []rest.Route {
	return []rest.Route{
		rest.Get("/contacts", rest.User, 200, "contacts.list", "List contacts: for users that are no administrators, those without a ticket and those of tickets they see", rest.Handle(a.listContacts)),
		rest.Post("/contacts", rest.User, 201, "contacts.create", "Make a contact", rest.WithErrors(rest.WithRequiredFields("NewContact", rest.WithHandlerValidation(rest.Handle(a.createContact)), "name", "number"), 404)),
		rest.Get("/contacts/{id}", rest.User, 200, "contacts.get", "Read a contact", rest.Handle(a.getContact)),
		rest.Put("/contacts/{id}", rest.User, 200, "contacts.update", "Change a contact", rest.WithHandlerValidation(rest.Handle(a.updateContact))),
		rest.Delete("/contacts/{id}", rest.Admin, 200, "contacts.delete", "Delete a contact with its tickets and messages", rest.Handle(a.deleteContact)),
		rest.Post("/contacts/import", rest.Admin, 200, "contacts.import", "Import contacts from a CSV file; more than 2,000 rows are imported after the answer", rest.WithErrors(rest.WithSuccessStatus(a.bindImportContacts, 202, "The import goes on: see GET /contacts/imports/{id}"), 404)),
		rest.Get("/contacts/imports/{id}", rest.Admin, 200, "contacts.get-import", "Progress of an import", rest.Handle(a.getImport)),
		rest.Post("/contacts/imports/{id}/cancel", rest.Admin, 200, "contacts.cancel-import", "Cancel an import in progress", rest.WithErrors(rest.Handle(a.cancelImport), 404)),
		rest.Get("/contacts/{id}/export", rest.Admin, 200, "contacts.export", "All that the company has about a contact", a.bindExportContact),
		rest.Post("/contacts/{id}/anonymize", rest.Admin, 200, "contacts.anonymize", "Erase a contact's data: of its messages only direction and time stay", rest.Handle(a.anonymizeContact)),

		rest.Get("/contact-lists", rest.Admin, 200, "contact-lists.list", "List contact lists", rest.Handle(a.listContactLists)),
		rest.Post("/contact-lists", rest.Admin, 201, "contact-lists.create", "Make a contact list", rest.WithErrors(rest.WithRequiredFields("NewContactList", rest.WithHandlerValidation(rest.Handle(a.createContactList)), "name"), 404)),
		rest.Get("/contact-lists/{id}", rest.Admin, 200, "contact-lists.get", "Read a contact list", rest.Handle(a.getContactList)),
		rest.Put("/contact-lists/{id}", rest.Admin, 200, "contact-lists.update", "Change a contact list", rest.WithHandlerValidation(rest.Handle(a.updateContactList))),
		rest.Delete("/contact-lists/{id}", rest.Admin, 200, "contact-lists.delete", "Delete a contact list; its contacts stay", rest.Handle(a.deleteContactList)),
	}
}
