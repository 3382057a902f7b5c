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

// scheduleRoutes returns the routes of scheduled messages.
func (a *API) scheduleRoutes() []rest.Route {
	return []rest.Route{
		rest.Get("/schedules", rest.User, 200, "schedules.list", "List scheduled messages: users that are no administrators see their own", rest.Handle(a.listSchedules)),
		rest.Post("/schedules", rest.User, 201, "schedules.create", "Schedule a message", rest.WithErrors(rest.WithRequiredFields("NewSchedule", rest.WithHandlerValidation(rest.Handle(a.createSchedule)), "sendAt", "contactId"), 404)),
		rest.Get("/schedules/{id}", rest.User, 200, "schedules.get", "Read a scheduled message", rest.Handle(a.getSchedule)),
		rest.Put("/schedules/{id}", rest.User, 200, "schedules.update", "Change a scheduled message that waits, or schedule a failed one again", rest.WithHandlerValidation(rest.Handle(a.updateSchedule))),
		rest.Delete("/schedules/{id}", rest.User, 200, "schedules.delete", "Delete a scheduled message; what was sent stays sent", rest.Handle(a.deleteSchedule)),
	}
}

// campaignRoutes returns the routes of campaigns.
func (a *API) campaignRoutes() []rest.Route {
	return []rest.Route{
		rest.Get("/campaigns", rest.Admin, 200, "campaigns.list", "List campaigns, the newest first", rest.Handle(a.listCampaigns)),
		rest.Post("/campaigns", rest.Admin, 201, "campaigns.create", "Make a campaign; it starts at scheduledAt or by POST /campaigns/{id}/start", rest.WithErrors(rest.WithRequiredFields("NewCampaign", rest.WithHandlerValidation(rest.Handle(a.createCampaign)), "name", "whatsappId"), 404)),
		rest.Get("/campaigns/{id}", rest.Admin, 200, "campaigns.get", "Read a campaign with its counters", rest.Handle(a.getCampaign)),
		rest.Put("/campaigns/{id}", rest.Admin, 200, "campaigns.update", "Change a campaign that does not run", rest.WithHandlerValidation(rest.Handle(a.updateCampaign))),
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
