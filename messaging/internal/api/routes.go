package api

import (
	"slices"

	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
)

// Features lists what the product offers connected products; they are also key scopes.
func Features() []string {
	return []string{featureMessageSend, featureContactSearch, featureTicketRead, featureCampaignRead}
}

const (
	featureMessageSend   = "message.send"
	featureContactSearch = "contact.search"
	featureTicketRead    = "ticket.read"
	featureCampaignRead  = "campaign.read"
)

// senders are the callers of the send API: keys of connected products are checked by the
// hub, API tokens by the handler.
var senders = rest.Access{{}, {module.SchemeKey: {featureMessageSend}}}

// Routes is the one table of the interface, ordered by resource.
func (a *API) Routes() []rest.Route {
	return slices.Concat(a.accountRoutes(), a.peopleRoutes(), a.contactRoutes(), a.connectionRoutes(), a.queueRoutes(), a.ticketRoutes(), a.bookingRoutes(), a.scheduleRoutes(), a.campaignRoutes(), a.reportRoutes(), a.webhookRoutes(), a.cloudRoutes(), a.bridgeRoutes(), a.sandboxRoutes())
}

// accountRoutes returns the routes of logins and tokens, and the send API.
func (a *API) accountRoutes() []rest.Route {
	return []rest.Route{
		rest.Post("/auth/signup", rest.Anyone, 201, "auth.signup", "Register a company with its first administrator", rest.SignUp(rest.Handle(a.signUp))),
		rest.Post("/auth/login", rest.Anyone, 200, "auth.login", "Log in", rest.WithErrors(rest.Handle(a.login), 401)),
		rest.Post("/auth/refresh_token", rest.Anyone, 200, "auth.refresh", "Trade a refresh token for a new pair", rest.WithErrors(rest.Handle(a.refresh), 401)),
		rest.Post("/auth/logout", rest.User, 200, "auth.logout", "End the login of this token, with its refresh token", rest.Handle(a.logOut)),

		rest.Get("/api-tokens", rest.Admin, 200, "api-tokens.list", "List API tokens", rest.Handle(a.listAPITokens)),
		rest.Post("/api-tokens", rest.Admin, 201, "api-tokens.create", "Make an API token; the response shows it once", rest.WithErrors(rest.Handle(a.createAPIToken), 404)),
		rest.Delete("/api-tokens/{id}", rest.Admin, 200, "api-tokens.delete", "Revoke an API token at once", rest.Handle(a.revokeAPIToken)),

		rest.Post("/events/ticket", rest.User, 201, "events.create-ticket", "Get a login for a browser's event stream", rest.Handle(a.createStreamTicket)),
		rest.Get("/events", append(rest.Access{{}}, rest.User...), 200, "events.stream", "Changes of the inbox as they happen, as server-sent events", a.bindStream),

		rest.Post("/api/messages/send", senders, 200, "messages.send", "Send a message to a phone number", a.bindSend),
	}
}

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
		rest.Post("/contacts/import", rest.Admin, 200, "contacts.import", "Import contacts from a CSV file; more than 2,000 rows are imported after the response", rest.CallingOut(rest.WithErrors(rest.WithSuccessStatus(a.bindImportContacts, 202, "The import goes on: see GET /contacts/imports/{id}"), 404))),
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

// connectionRoutes returns the routes of connections to chat networks.
func (a *API) connectionRoutes() []rest.Route {
	return []rest.Route{
		rest.Get("/whatsapp", rest.User, 200, "connections.list", "List connections", rest.Handle(a.listConnections)),
		rest.Post("/whatsapp", rest.Admin, 201, "connections.create", "Make a connection and start it", rest.CallingOut(rest.WithErrors(rest.WithRequiredFields("NewConnectionFields", rest.WithHandlerValidation(rest.Handle(a.createConnection)), "name"), 404))),
		rest.Get("/whatsapp/{id}", rest.User, 200, "connections.get", "Read a connection", rest.Handle(a.getConnection)),
		rest.Put("/whatsapp/{id}", rest.Admin, 200, "connections.update", "Change a connection's settings", rest.CallingOut(rest.WithHandlerValidation(rest.Handle(a.updateConnection)))),
		rest.Delete("/whatsapp/{id}", rest.Admin, 200, "connections.delete", "Log a connection out and delete it; its tickets stay", rest.CallingOut(rest.Handle(a.deleteConnection))),
		rest.Get("/whatsapp/{id}/qrCode", rest.Admin, 200, "connections.qr-code", "The QR code to scan with the phone", rest.CallingOut(rest.Handle(a.getQRCode))),
		rest.Get("/whatsapp/{id}/templates", rest.User, 200, "connections.templates", "List the templates that the network has approved for the connection", rest.CallingOut(rest.WithErrors(rest.Handle(a.listTemplates), 503))),
		rest.Post("/whatsappsession/{id}", rest.Admin, 200, "sessions.start", "Start a connection that is not connected", rest.CallingOut(rest.Handle(a.startSession))),
		rest.Put("/whatsappsession/{id}", rest.Admin, 200, "sessions.renew", "Pair a connection anew, with a new QR code", rest.CallingOut(rest.Handle(a.renewSession))),
		rest.Delete("/whatsappsession/{id}", rest.Admin, 200, "sessions.delete", "Log a connection out", rest.CallingOut(rest.Handle(a.endSession))),
	}
}

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

// ticketRoutes returns the routes of tickets and their messages.
func (a *API) ticketRoutes() []rest.Route {
	return []rest.Route{
		rest.Get("/tickets", rest.User, 200, "tickets.list", "List tickets, the last changed first", rest.Handle(a.listTickets)),
		rest.Post("/tickets", rest.User, 201, "tickets.create", "Begin a conversation with a contact", rest.WithErrors(rest.Handle(a.createTicket), 404)),
		rest.Get("/tickets/{id}", rest.User, 200, "tickets.get", "Read a ticket", rest.Handle(a.getTicket)),
		rest.Put("/tickets/{id}", rest.User, 200, "tickets.update", "Change a ticket: accept, return or close it", rest.WithHandlerValidation(rest.Handle(a.updateTicket))),
		rest.Delete("/tickets/{id}", rest.Admin, 200, "tickets.delete", "Delete a ticket with its messages", rest.Handle(a.deleteTicket)),
		rest.Get("/tickets/{id}/messages", rest.User, 200, "messages.list", "Messages of a ticket; they are read then", rest.Handle(a.listMessages)),
		rest.Post("/tickets/{id}/messages", rest.User, 201, "messages.create", "Write to the contact, or a note to other users", rest.CallingOut(a.bindCreateMessage)),
		rest.Get("/media/{id}", append(rest.Access{{}}, rest.User...), 200, "media.get", "Content of a message's file", a.bindGetMedia),
	}
}

// bookingRoutes returns the routes of bookings in tickets.
func (a *API) bookingRoutes() []rest.Route {
	return []rest.Route{
		rest.Get("/tickets/{id}/services", rest.User, 200, "bookings.services", "Services of the connected scheduling product", rest.CallingOut(rest.WithErrors(rest.Handle(a.listTicketServices), 502, 504))),
		rest.Get("/tickets/{id}/free-times", rest.User, 200, "bookings.free-times", "Next free times of a service", rest.CallingOut(rest.WithErrors(rest.Handle(a.listFreeTimes), 502, 504))),
		rest.Post("/tickets/{id}/bookings", rest.User, 201, "bookings.create", "Book an appointment for the ticket's contact, who gets a message", rest.CallingOut(rest.WithErrors(rest.Handle(a.createBooking), 502, 504))),
	}
}

// scheduleRoutes returns the routes of scheduled messages.
func (a *API) scheduleRoutes() []rest.Route {
	return []rest.Route{
		rest.Get("/schedules", rest.User, 200, "schedules.list", "List scheduled messages: users that are no administrators see their own", rest.Handle(a.listSchedules)),
		rest.Post("/schedules", rest.User, 201, "schedules.create", "Schedule a message", rest.CallingOut(rest.WithErrors(rest.WithRequiredFields("NewSchedule", rest.WithHandlerValidation(rest.Handle(a.createSchedule)), "sendAt", "contactId"), 404))),
		rest.Get("/schedules/{id}", rest.User, 200, "schedules.get", "Read a scheduled message", rest.Handle(a.getSchedule)),
		rest.Put("/schedules/{id}", rest.User, 200, "schedules.update", "Change a scheduled message that waits, or schedule a failed one again", rest.CallingOut(rest.WithHandlerValidation(rest.Handle(a.updateSchedule)))),
		rest.Delete("/schedules/{id}", rest.User, 200, "schedules.delete", "Delete a scheduled message; what was sent stays sent", rest.Handle(a.deleteSchedule)),
	}
}

// campaignRoutes returns the routes of campaigns.
func (a *API) campaignRoutes() []rest.Route {
	return []rest.Route{
		rest.Get("/campaigns", rest.Admin, 200, "campaigns.list", "List campaigns, the newest first", rest.Handle(a.listCampaigns)),
		rest.Post("/campaigns", rest.Admin, 201, "campaigns.create", "Make a campaign; it starts at scheduledAt or by POST /campaigns/{id}/start", rest.CallingOut(rest.WithErrors(rest.WithRequiredFields("NewCampaign", rest.WithHandlerValidation(rest.Handle(a.createCampaign)), "name", "whatsappId"), 404))),
		rest.Get("/campaigns/{id}", rest.Admin, 200, "campaigns.get", "Read a campaign with its counters", rest.Handle(a.getCampaign)),
		rest.Put("/campaigns/{id}", rest.Admin, 200, "campaigns.update", "Change a campaign that does not run", rest.CallingOut(rest.WithHandlerValidation(rest.Handle(a.updateCampaign)))),
		rest.Delete("/campaigns/{id}", rest.Admin, 200, "campaigns.delete", "Delete a campaign that does not run; its messages stay", rest.Handle(a.deleteCampaign)),
		rest.Post("/campaigns/{id}/start", rest.Admin, 200, "campaigns.start", "Start a campaign, or go on with a cancelled one", rest.Handle(a.startCampaign)),
		rest.Post("/campaigns/{id}/cancel", rest.Admin, 200, "campaigns.cancel", "Cancel a campaign; messages that the network has not accepted are not sent", rest.Handle(a.cancelCampaign)),
		rest.Get("/campaigns/{id}/report", rest.Admin, 200, "campaigns.report", "The campaign's contacts, with what became of each message", rest.Handle(a.getCampaignReport)),
	}
}

// reportRoutes returns the routes of reports.
func (a *API) reportRoutes() []rest.Route {
	return []rest.Route{
		rest.Get("/reports/tickets", rest.Admin, 200, "reports.tickets", "Count tickets, by day and in all", rest.WithErrors(rest.Handle(a.reportTickets), 404)),
		rest.Get("/reports/users", rest.Admin, 200, "reports.users", "What each user did", rest.WithErrors(rest.Handle(a.reportUsers), 404)),
		rest.Get("/reports/queues", rest.Admin, 200, "reports.queues", "What happened in each queue", rest.WithErrors(rest.Handle(a.reportQueues), 404)),
	}
}

// webhookRoutes returns the routes of plain webhooks.
func (a *API) webhookRoutes() []rest.Route {
	return []rest.Route{
		rest.Get("/webhooks", rest.Admin, 200, "webhooks.list", "List webhooks", rest.Handle(a.listWebhooks)),
		rest.Post("/webhooks", rest.Admin, 201, "webhooks.create", "Make a webhook; the response shows its secret once", rest.WithRequiredFields("NewWebhook", rest.WithHandlerValidation(rest.Handle(a.createWebhook)), "url", "events")),
		rest.Get("/webhooks/{id}", rest.Admin, 200, "webhooks.get", "Read a webhook", rest.Handle(a.getWebhook)),
		rest.Put("/webhooks/{id}", rest.Admin, 200, "webhooks.update", "Change a webhook", rest.WithHandlerValidation(rest.Handle(a.updateWebhook))),
		rest.Delete("/webhooks/{id}", rest.Admin, 200, "webhooks.delete", "Delete a webhook; what waits for it is not sent", rest.Handle(a.deleteWebhook)),
		rest.Post("/webhooks/{id}/rotate-secret", rest.Admin, 200, "webhooks.rotate-secret", "Replace a webhook's secret; for a day webhook-signature has a signature with the old one too", rest.Handle(a.rotateWebhookSecret)),
		rest.Get("/webhooks/{id}/deliveries", rest.Admin, 200, "webhooks.deliveries", "The latest deliveries to a webhook", rest.Handle(a.listWebhookDeliveries)),
	}
}

// cloudRoutes returns the routes that the WhatsApp Cloud API calls. It has no credentials of
// the hub: the handlers check the connection's own.
func (a *API) cloudRoutes() []rest.Route {
	const path = "/webhooks/cloud/{connectionId}"
	return []rest.Route{
		rest.Get(path, rest.Anyone, 200, "cloud-webhooks.verify", "Respond to the challenge of the WhatsApp Cloud API", rest.WithMediaType(rest.WithErrors(rest.Handle(a.verifyCloudWebhook), 403), "text/plain")),
		rest.Post(path, rest.Anyone, 200, "cloud-webhooks.receive", "Messages and statuses from the WhatsApp Cloud API", withCloudWebhookBody(rest.Handle(a.receiveCloudWebhook))),
	}
}

// bridgeRoutes returns the route that bridges call. They have no credentials of the hub: the
// driver checks the connection's own.
func (a *API) bridgeRoutes() []rest.Route {
	return []rest.Route{
		rest.Post("/webhooks/bridge/{connectionId}", rest.Anyone, 200, "bridge-events.receive", "States, messages and receipts from a bridge", withSignedBody(rest.Handle(a.receiveBridgeEvent), "An event as docs/bridge.md describes them")),
	}
}

// sandboxRoutes returns the routes of the simulated network. They need no credentials: they
// stand for the phones of strangers, in development only.
func (a *API) sandboxRoutes() []rest.Route {
	const phones, phone = "/sandbox/phones", "/sandbox/phones/{number}"
	return []rest.Route{
		rest.Get(phones, rest.Anyone, 200, "sandbox.list-phones", "List the simulated phones", a.inSandbox(rest.Handle(a.listPhones))),
		rest.Post(phones, rest.Anyone, 201, "sandbox.create-phone", "Make a simulated phone, or rename it", a.inSandbox(rest.Handle(a.createPhone))),
		rest.Post(phone+"/scan", rest.Anyone, 200, "sandbox.scan", "Scan a connection's QR code", a.inSandbox(rest.Handle(a.scan))),
		rest.Post(phone+"/send", rest.Anyone, 201, "sandbox.send", "Send a message to a connection", a.inSandbox(rest.Handle(a.sendFromPhone))),
		rest.Get(phone+"/inbox", rest.Anyone, 200, "sandbox.inbox", "Messages that the phone has received", a.inSandbox(rest.Handle(a.phoneInbox))),
		rest.Post(phone+"/read", rest.Anyone, 200, "sandbox.read", "Read messages on the phone", a.inSandbox(rest.Handle(a.markPhoneRead))),
		rest.Get(phone+"/chat", rest.Anyone, 200, "sandbox.chat", "Messages that the phone has sent and received", a.inSandbox(rest.Handle(a.phoneChat))),
		rest.Put("/sandbox/faults", rest.Anyone, 200, "sandbox.set-faults", "Set what the network does wrong", a.inSandbox(rest.Handle(a.setFaults))),
		rest.Post("/sandbox/connections/{id}/{action}", rest.Anyone, 200, "sandbox.act", "Ban a connection, log it out, or break and restore its network", a.inSandbox(rest.Handle(a.actOnConnection))),
		rest.Get("/sandbox/phone", rest.Anyone, 200, "sandbox.page", "Phones of the network, as a page", a.inSandbox(bindPhoneAsset("text/html; charset=utf-8", "phone.html"))),
		rest.Get("/sandbox/phone.css", rest.Anyone, 200, "sandbox.page-style", "Its style", a.inSandbox(bindPhoneAsset("text/css; charset=utf-8", "phone.css"))),
		rest.Get("/sandbox/phone.js", rest.Anyone, 200, "sandbox.page-script", "Its script", a.inSandbox(bindPhoneAsset("text/javascript; charset=utf-8", "phone.js"))),
	}
}

// SearchRoutes returns the routes below the hub's search/*.
func (a *API) SearchRoutes() []rest.Route {
	return []rest.Route{
		rest.Get("/contacts", rest.Key(featureContactSearch), 200, "integrations.search-contacts", "Find a contact by phone", rest.Handle(a.searchContactForPeer)),
		rest.Get("/tickets", rest.Key(featureTicketRead), 200, "integrations.search-tickets", "Find the tickets of a contact", rest.Handle(a.searchTicketsForPeer)),
		rest.Get("/campaigns", rest.Key(featureCampaignRead), 200, "integrations.search-campaigns", "List campaigns with their counters, the newest first", rest.Handle(a.searchCampaignsForPeer)),
	}
}

// ActionRoutes returns the routes below the hub's action/*.
func (a *API) ActionRoutes() []rest.Route {
	return []rest.Route{
		rest.Post("/send-message", rest.Key(featureMessageSend), 200, "integrations.send-message", "Send a message to a phone number, as POST /api/messages/send does", a.bindSend),
		rest.Post("/close-ticket", rest.Key(featureMessageSend), 200, "integrations.close-ticket", "Close a ticket", rest.WithErrors(rest.Handle(a.closeTicketForPeer), 404)),
	}
}
