package api

import (
	"slices"

	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
)

// visitorAccess admits anonymous visitors, users, and keys with the availability feature.
var visitorAccess = rest.Access{{}, {module.SchemeBearer: {}}, {module.SchemeKey: {featureAvailability}}}

// Features returns the uses of this product that API keys can allow.
func Features() []string {
	return []string{featureClients, featureAppointments, featureBook, featureAvailability}
}

const (
	featureClients      = "client.search"
	featureAppointments = "appointment.read"
	featureBook         = "appointment.book"
	featureAvailability = "availability.read"
)

// routes is the route table, ordered by resource. [API.searchRoutes] and
// [API.actionRoutes] lie below the hub's own integration API.
func (a *API) routes() []rest.Route {
	rows := slices.Concat(a.accountRoutes(), a.scheduleRoutes(), a.appointmentRoutes(), a.clientRoutes(), a.paymentRoutes(), a.publicRoutes())
	if a.host.Settings.Development {
		rows = append(rows, a.developerRoutes()...)
	}
	return rows
}

// accountRoutes are the routes of users and organizations.
func (a *API) accountRoutes() []rest.Route {
	const prefix = "/api/v1"
	return []rest.Route{
		rest.Post(prefix+"/auth/register", rest.Anyone, 201, "auth.register", "Register an organization with its owner", rest.SignUp(handle(a.signUp))),
		rest.Post(prefix+"/auth/login", rest.Anyone, 200, "auth.login", "Log in", rest.WithErrors(handle(a.accounts.HandleLogin), 401)),
		rest.Post(prefix+"/auth/refresh", rest.Anyone, 200, "auth.refresh", "Trade a refresh token for a new pair", rest.WithErrors(handle(a.accounts.HandleRefresh), 401)),
		rest.Post(prefix+"/auth/logout", rest.User, 200, "auth.logout", "End the login of this token, with its refresh token", handle(a.accounts.HandleLogout)),
		rest.Post(prefix+"/auth/forgot-password", rest.Anyone, 200, "auth.forgot-password", "Ask for a link to set a new password", handle(a.accounts.HandleForgotPassword)),
		rest.Post(prefix+"/auth/reset-password", rest.Anyone, 200, "auth.reset-password", "Set a new password", handle(a.accounts.HandleResetPassword)),
		rest.Get(prefix+"/auth/me", rest.User, 200, "auth.me", "Who is logged in", handle(a.getCurrentUser)),

		rest.Get(prefix+"/users", rest.Admin, 200, "users.list", "List users", handle(a.listUsers)),
		rest.Post(prefix+"/users", rest.Admin, 201, "users.create", "Invite a user", rest.WithRequiredFields("NewUser", handle(a.createUser), "name", "email")),
		rest.Put(prefix+"/users/{id}", rest.Admin, 200, "users.update", "Update a user", handle(a.updateUser)),
		rest.Delete(prefix+"/users/{id}", rest.Admin, 204, "users.delete", "Remove a user", handle(a.deleteUser)),

		rest.Get(prefix+"/organization", rest.User, 200, "organization.get", "Read the organization", handle(a.getOrganization)),
		rest.Put(prefix+"/organization", rest.Admin, 200, "organization.update", "Update the organization", handle(a.updateOrganization)),
		rest.Put(prefix+"/organization/settings", rest.Admin, 200, "organization.settings", "Update the settings", handle(a.updateSettings)),
		rest.Post(prefix+"/organization/logo", rest.Admin, 200, "organization.logo", "Upload the logo", allowUpload(handle(a.uploadLogo))),
		rest.Delete(prefix+"/organization/logo", rest.Admin, 204, "organization.delete-logo", "Remove the logo", handle(a.deleteLogo)),
	}
}

// scheduleRoutes are the routes of services, professionals, schedules and availability.
func (a *API) scheduleRoutes() []rest.Route {
	const prefix = "/api/v1"
	return []rest.Route{
		rest.Get(prefix+"/services", rest.User, 200, "services.list", "List services", handle(a.listServices)),
		rest.Post(prefix+"/services", rest.User, 201, "services.create", "Add a service", rest.WithRequiredFields("NewService", handle(a.createService), "name", "duration_minutes")),
		rest.Put(prefix+"/services/reorder", rest.User, 200, "services.reorder", "Reorder services", rest.WithErrors(handle(a.reorderServices), 404)),
		rest.Put(prefix+"/services/{id}", rest.User, 200, "services.update", "Update a service", handle(a.updateService)),
		rest.Delete(prefix+"/services/{id}", rest.User, 204, "services.delete", "Remove a service", handle(a.deleteService)),
		rest.Post(prefix+"/services/{id}/image", rest.User, 200, "services.image", "Upload the picture of a service", allowUpload(handle(a.uploadServiceImage))),
		rest.Delete(prefix+"/services/{id}/image", rest.User, 204, "services.delete-image", "Remove the picture of a service", handle(a.deleteServiceImage)),

		rest.Get(prefix+"/professionals", rest.User, 200, "professionals.list", "List professionals", handle(a.listProfessionals)),
		rest.Post(prefix+"/professionals", rest.User, 201, "professionals.create", "Add a professional", rest.WithRequiredFields("NewProfessional", rest.WithErrors(handle(a.createProfessional), 404), "name")),
		rest.Put(prefix+"/professionals/{id}", rest.User, 200, "professionals.update", "Update a professional", handle(a.updateProfessional)),
		rest.Delete(prefix+"/professionals/{id}", rest.User, 204, "professionals.delete", "Remove a professional", handle(a.deleteProfessional)),
		rest.Post(prefix+"/professionals/{id}/avatar", rest.User, 200, "professionals.avatar", "Upload the picture of a professional", allowUpload(handle(a.uploadAvatar))),
		rest.Delete(prefix+"/professionals/{id}/avatar", rest.User, 204, "professionals.delete-avatar", "Remove the picture of a professional", handle(a.deleteAvatar)),
		rest.Get(prefix+"/professionals/{id}/services", rest.User, 200, "professionals.services", "Services of a professional", handle(a.listProfessionalServices)),
		rest.Put(prefix+"/professionals/{id}/services", rest.User, 200, "professionals.set-services", "Set the services of a professional", handle(a.setProfessionalServices)),
		rest.Post(prefix+"/professionals/{id}/calendar-feed/rotate", rest.User, 200, "professionals.rotate-feed", "Give the calendar feed a new address", handle(a.rotateCalendarFeed)),

		rest.Get(prefix+"/schedule-rules", rest.User, 200, "schedule-rules.list", "Rules of a professional", rest.WithErrors(handle(a.listRules), 404)),
		rest.Post(prefix+"/schedule-rules", rest.User, 201, "schedule-rules.create", "Add a rule", rest.WithRequiredFields("NewScheduleRule", rest.WithErrors(handle(a.createRule), 404), "professional_id", "day_of_week", "start_time", "end_time")),
		rest.Put(prefix+"/schedule-rules/{id}", rest.User, 200, "schedule-rules.update", "Update a rule", handle(a.updateRule)),
		rest.Delete(prefix+"/schedule-rules/{id}", rest.User, 204, "schedule-rules.delete", "Remove a rule", handle(a.deleteRule)),
		rest.Post(prefix+"/schedule-rules/copy/{fromId}/{toId}", rest.User, 201, "schedule-rules.copy", "Copy rules from one professional to another", handle(a.copyRules)),

		rest.Get(prefix+"/schedule-exceptions", rest.User, 200, "schedule-exceptions.list", "Exceptions of a month", rest.WithErrors(handle(a.listExceptions), 404)),
		rest.Post(prefix+"/schedule-exceptions", rest.User, 201, "schedule-exceptions.create", "Add an exception", rest.WithRequiredFields("NewScheduleException", rest.WithErrors(handle(a.createException), 404), "professional_id", "date", "exception_type")),
		rest.Put(prefix+"/schedule-exceptions/{id}", rest.User, 200, "schedule-exceptions.update", "Update an exception", handle(a.updateException)),
		rest.Delete(prefix+"/schedule-exceptions/{id}", rest.User, 204, "schedule-exceptions.delete", "Remove an exception", handle(a.deleteException)),

		rest.Get(prefix+"/availability", visitorAccess, 200, "availability.day", "Free slots of a day", rest.WithErrors(handle(a.getAvailability), 404)),
		rest.Get(prefix+"/availability/month", visitorAccess, 200, "availability.month", "Days of a month with free slots", rest.WithErrors(handle(a.getMonthAvailability), 404)),
	}
}

// appointmentRoutes are the routes of appointments.
func (a *API) appointmentRoutes() []rest.Route {
	const prefix = "/api/v1"
	return []rest.Route{
		rest.Get(prefix+"/appointments", rest.User, 200, "appointments.list", "List appointments", handle(a.listAppointments)),
		rest.Get(prefix+"/appointments/{id}", rest.User, 200, "appointments.get", "Show an appointment", handle(a.getAppointment)),
		rest.Post(prefix+"/appointments", rest.User, 201, "appointments.create", "Book an appointment", rest.WithErrors(handle(a.createAppointment), 404)),
		rest.Put(prefix+"/appointments/{id}", rest.User, 200, "appointments.update", "Update an appointment", handle(a.updateAppointment)),
		rest.Post(prefix+"/appointments/{id}/confirm", rest.User, 200, "appointments.confirm", "Confirm", handle(a.confirmAppointment)),
		rest.Post(prefix+"/appointments/{id}/cancel", rest.User, 200, "appointments.cancel", "Cancel", handle(a.cancelAppointment)),
		rest.Post(prefix+"/appointments/{id}/complete", rest.User, 200, "appointments.complete", "Mark as completed", handle(a.completeAppointment)),
		rest.Post(prefix+"/appointments/{id}/noshow", rest.User, 200, "appointments.noshow", "Mark as no-show", handle(a.markNoShow)),
		rest.Post(prefix+"/appointments/{id}/reschedule", rest.User, 200, "appointments.reschedule", "Move to another time", handle(a.rescheduleAppointment)),
		rest.Post(prefix+"/appointments/{id}/reopen", rest.Admin, 200, "appointments.reopen", "Take back a completion or no-show", handle(a.reopenAppointment)),
	}
}

// clientRoutes are the routes of clients, campaigns and loyalty points. A fixed path
// precedes the path with an ID that would match it.
func (a *API) clientRoutes() []rest.Route {
	const prefix = "/api/v1"
	return []rest.Route{
		rest.Get(prefix+"/clients/inactive", rest.User, 200, "clients.inactive", "List clients who have not come for long", handle(a.listInactiveClients)),
		rest.Get(prefix+"/clients", rest.User, 200, "clients.list", "Search clients", handle(a.listClients)),
		rest.Get(prefix+"/clients/{id}", rest.User, 200, "clients.get", "Show a client with the history", handle(a.getClient)),
		rest.Post(prefix+"/clients", rest.User, 201, "clients.create", "Add a client", rest.WithRequiredFields("NewClientRecord", handle(a.createClient), "name")),
		rest.Put(prefix+"/clients/{id}", rest.User, 200, "clients.update", "Update a client", handle(a.updateClient)),
		rest.Delete(prefix+"/clients/{id}", rest.Admin, 204, "clients.delete", "Forget who a client was, for good; bookings and payments stay", handle(a.deleteClient)),
		rest.Get(prefix+"/clients/{id}/appointments", rest.User, 200, "clients.appointments", "Appointments of a client", handle(a.listClientAppointments)),
		rest.Get(prefix+"/clients/{id}/payments", rest.User, 200, "clients.payments", "Payments of a client", handle(a.listClientPayments)),

		rest.Get(prefix+"/remarketing/campaigns", rest.Admin, 200, "remarketing.list", "List campaigns, the newest first", handle(a.listCampaigns)),
		rest.Post(prefix+"/remarketing/campaigns", rest.Admin, 202, "remarketing.start", "Write to inactive clients who agreed to it, once a period each", rest.WithSuccessStatus(handle(a.startCampaign), 200, "Nobody is to be written to")),

		rest.Get(prefix+"/loyalty/config", rest.User, 200, "loyalty.config", "The loyalty program", handle(a.getLoyaltyConfig)),
		rest.Put(prefix+"/loyalty/config", rest.Admin, 200, "loyalty.configure", "Update the loyalty program", rest.WithErrors(handle(a.configureLoyalty), 404)),
		rest.Get(prefix+"/loyalty/clients/{id}", rest.User, 200, "loyalty.client", "Points of a client", handle(a.getClientPoints)),
		rest.Post(prefix+"/loyalty/clients/{id}/redeem", rest.User, 200, "loyalty.redeem", "Exchange points for a reward", handle(a.redeemReward)),
		rest.Post(prefix+"/loyalty/clients/{id}/adjust", rest.Admin, 200, "loyalty.adjust", "Correct a balance", handle(a.adjustPoints)),
	}
}

// paymentRoutes are the routes of payments and reports.
func (a *API) paymentRoutes() []rest.Route {
	const prefix = "/api/v1"
	return []rest.Route{
		rest.Get(prefix+"/payments", rest.User, 200, "payments.list", "Monthly statement", handle(a.listPayments)),
		rest.Post(prefix+"/payments", rest.User, 201, "payments.create", "Record a payment", rest.WithErrors(handle(a.createPayment), 404)),
		rest.Post(prefix+"/payments/pix", rest.User, 201, "payments.pix", "Create an instant-payment charge", rest.CallingOut(rest.WithSuccessStatus(rest.WithErrors(handle(a.createCharge), 404, 502, 504), 200, "The charge that was there already"))),
		rest.Post(prefix+"/payments/{id}/refund", rest.Admin, 200, "payments.refund", "Record a refund that was made by hand", handle(a.refundPayment)),
		rest.Post(prefix+"/payments/webhook/{provider}", rest.Anyone, 200, "payments.webhook", "Notices of a payment provider", rest.WithErrors(handle(a.receiveProviderWebhook), 401)),

		rest.Get(prefix+"/reports/dashboard", rest.User, 200, "reports.dashboard", "KPIs", rest.WithErrors(bindReport(a.getDashboard), 404)),
		rest.Get(prefix+"/reports/occupancy", rest.User, 200, "reports.occupancy", "Occupancy per professional", rest.WithErrors(bindReport(a.getOccupancy), 404)),
		rest.Get(prefix+"/reports/revenue", rest.User, 200, "reports.revenue", "Revenue per period", rest.WithErrors(bindReport(a.getRevenue), 404)),
		rest.Get(prefix+"/reports/noshow", rest.User, 200, "reports.noshow", "No-show rate", rest.WithErrors(bindReport(a.getNoShows), 404)),
		rest.Get(prefix+"/reports/clients/inactive", rest.User, 200, "reports.inactive", "Inactive clients", bindReport(a.getInactive)),
		rest.Get(prefix+"/reports/services/popular", rest.User, 200, "reports.popular", "Most booked services", rest.WithErrors(bindReport(a.getPopular), 404)),
	}
}

// publicRoutes are the routes without login: public booking and calendar feeds.
func (a *API) publicRoutes() []rest.Route {
	const prefix = "/api/v1"
	return []rest.Route{
		rest.Get(prefix+"/public/book/{slug}", rest.Anyone, 200, "public.organization", "The organization", handle(a.getPublicOrganization)),
		rest.Get(prefix+"/public/book/{slug}/services", rest.Anyone, 200, "public.services", "Available services", handle(a.listPublicServices)),
		rest.Get(prefix+"/public/book/{slug}/professionals", rest.Anyone, 200, "public.professionals", "Professionals for a service", handle(a.listPublicProfessionals)),
		rest.Get(prefix+"/public/book/{slug}/availability", rest.Anyone, 200, "public.availability", "Free slots of a day", handle(a.getPublicAvailability)),
		rest.Get(prefix+"/public/book/{slug}/challenge", rest.Anyone, 200, "public.challenge", "A challenge to be solved for a booking", handle(a.issueChallenge)),
		rest.Post(prefix+"/public/book/{slug}/hold", rest.Anyone, 201, "public.hold", "Keep a time while the form is filled in", rest.WithErrors(handle(a.holdSlot), 403)),
		rest.Post(prefix+"/public/book/{slug}/appointments", rest.Anyone, 201, "public.book", "Book", rest.CallingOut(rest.WithErrors(handle(a.bookPublicly), 403, 502, 504))),
		rest.Get(prefix+"/public/book/{slug}/appointment", rest.Anyone, 200, "public.appointment", "The appointment of a token", handle(a.getAppointmentByToken)),
		rest.Get(prefix+"/public/book/{slug}/appointment.ics", rest.Anyone, 200, "public.calendar", "The appointment of a token for a calendar", rest.WithMediaType(handle(a.getCalendarByToken), "text/calendar")),
		rest.Post(prefix+"/public/book/{slug}/reschedule", rest.Anyone, 200, "public.reschedule", "Move with the token", rest.WithErrors(handle(a.rescheduleByToken), 403)),
		rest.Post(prefix+"/public/book/{slug}/cancel", rest.Anyone, 200, "public.cancel", "Cancel with the token", rest.WithErrors(handle(a.cancelByToken), 403)),
		rest.Post(prefix+"/public/book/{slug}/waitlist", rest.Anyone, 201, "public.wait", "Ask to be notified when a time becomes free", rest.WithErrors(handle(a.joinWaitlist), 403)),

		rest.Get("/calendar/{id}/{file}", rest.Anyone, 200, "calendar.feed", "A professional's calendar, by its secret address", rest.WithMediaType(handle(a.getCalendarFeed), "text/calendar")),
	}
}

// developerRoutes exist in development only.
func (a *API) developerRoutes() []rest.Route {
	const prefix = "/api/v1"
	return []rest.Route{
		rest.Post(prefix+"/dev/payments/{txid}/pay", rest.Anyone, 200, "dev.pay", "Pay a charge of the sandbox", rest.WithoutDocument(handle(a.paySandboxCharge))),
	}
}

// searchRoutes are the routes below the hub's search/*.
func (a *API) searchRoutes() []rest.Route {
	return []rest.Route{
		rest.Get("/clients", rest.User.OrKey(featureClients), 200, "integrations.search-clients", "Find a client by phone", rest.WithErrors(handle(a.searchClients), 404)),
		rest.Get("/appointments", rest.User.OrKey(featureAppointments), 200, "integrations.search-appointments", "Find appointments by phone", rest.WithErrors(handle(a.searchAppointments), 404)),
		rest.Get("/services", rest.User.OrKey(featureAvailability), 200, "integrations.search-services", "List the services that clients can book", rest.WithErrors(handle(a.searchServices), 404)),
		rest.Get("/free-times", rest.User.OrKey(featureAvailability), 200, "integrations.search-free-times", "Find the next free times of a service", rest.WithErrors(handle(a.searchFreeTimes), 404)),
	}
}

// actionRoutes are the routes below the hub's action/*.
func (a *API) actionRoutes() []rest.Route {
	return []rest.Route{
		rest.Post("/book", rest.User.OrKey(featureBook), 201, "integrations.book", "Book for somebody, by phone", rest.WithErrors(handle(a.bookByPhone), 404, 502, 504)),
		rest.Post("/confirm", rest.User.OrKey(featureBook), 200, "integrations.confirm", "Confirm an appointment for its client", rest.WithErrors(handle(a.confirmForClient), 404)),
		rest.Post("/cancel", rest.User.OrKey(featureBook), 200, "integrations.cancel", "Cancel an appointment for its client", rest.WithErrors(handle(a.cancelForClient), 404)),
	}
}
