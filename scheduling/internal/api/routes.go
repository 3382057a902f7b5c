package api

import (
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
)

// route is one row of the table.
type route rest.Route

// who may call a row.
type who = rest.Access

var (
	anyone  = rest.Anyone
	user    = rest.User
	manager = rest.Admin // owners and administrators
	visitor = who{{}, {module.SchemeBearer: {}}, {module.SchemeKey: {featureAvailability}}}
)

// Features are the uses of this product that its keys allow.
func Features() []string {
	return []string{featureClients, featureAppointments, featureBook, featureAvailability}
}

const (
	featureClients      = "client.search"
	featureAppointments = "appointment.read"
	featureBook         = "appointment.book"
	featureAvailability = "availability.read"
)

// searches are the rows below the hub's own search/*.
func (a *API) searches() []route {
	return []route{
		{get, "/clients", rest.UserOrKey(featureClients), 200, "integrations.search-clients", "Find a client by phone", rest.WithErrors(handle(a.searchClients), 404)},
		{get, "/appointments", rest.UserOrKey(featureAppointments), 200, "integrations.search-appointments", "Find appointments by phone", rest.WithErrors(handle(a.searchAppointments), 404)},
	}
}

// actions are the rows below the hub's own action/*.
func (a *API) actions() []route {
	return []route{
		{post, "/book", rest.UserOrKey(featureBook), 201, "integrations.book", "Book for somebody, by phone", rest.WithErrors(handle(a.actionBook), 404, 502, 504)},
	}
}

// routes is the one table of the interface: document 1's rows, in its order;
// [API.additions] follow. The rows of integrations lie below the hub's own.
func (a *API) routes() []route {
	return slices.Concat(a.organizationRows(), a.remarketing(), a.bookingRows(), a.publicRows())
}

// organizationRows are accounts, and what an organization offers and when.
func (a *API) organizationRows() []route {
	const v = "/api/v1"
	return []route{
		{post, v + "/auth/register", anyone, 201, "auth.register", "Register an organization with its owner", handle(a.signUp)},
		{post, v + "/auth/login", anyone, 200, "auth.login", "Log in", rest.WithErrors(handle(a.accounts.HandleLogin), 401)},
		{post, v + "/auth/refresh", anyone, 200, "auth.refresh", "Trade a refresh token for a new pair", rest.WithErrors(handle(a.accounts.HandleRefresh), 401)},
		{post, v + "/auth/forgot-password", anyone, 200, "auth.forgot-password", "Ask for a link to set a new password", handle(a.accounts.HandleForgotPassword)},
		{post, v + "/auth/reset-password", anyone, 200, "auth.reset-password", "Set a new password", handle(a.accounts.HandleResetPassword)},
		{get, v + "/auth/me", user, 200, "auth.me", "Who is logged in", handle(a.me)},

		{get, v + "/organization", user, 200, "organization.get", "Read the organization", handle(a.getOrganization)},
		{put, v + "/organization", manager, 200, "organization.update", "Update the organization", handle(a.updateOrganization)},
		{put, v + "/organization/settings", manager, 200, "organization.settings", "Update the settings", handle(a.updateSettings)},
		{post, v + "/organization/logo", manager, 200, "organization.logo", "Upload the logo", upload(handle(a.uploadLogo))},

		{get, v + "/services", user, 200, "services.list", "List services", handle(a.listServices)},
		{post, v + "/services", user, 201, "services.create", "Add a service", rest.WithRequiredFields("NewService", handle(a.createService), "name", "duration_minutes")},
		{put, v + "/services/reorder", user, 200, "services.reorder", "Reorder services", rest.WithErrors(handle(a.reorderServices), 404)},
		{put, v + "/services/{id}", user, 200, "services.update", "Update a service", handle(a.updateService)},
		{del, v + "/services/{id}", user, 204, "services.delete", "Remove a service", handle(a.deleteService)},

		{get, v + "/professionals", user, 200, "professionals.list", "List professionals", handle(a.listProfessionals)},
		{post, v + "/professionals", user, 201, "professionals.create", "Add a professional", rest.WithRequiredFields("NewProfessional", rest.WithErrors(handle(a.createProfessional), 404), "name")},
		{put, v + "/professionals/{id}", user, 200, "professionals.update", "Update a professional", handle(a.updateProfessional)},
		{del, v + "/professionals/{id}", user, 204, "professionals.delete", "Remove a professional", handle(a.deleteProfessional)},
		{get, v + "/professionals/{id}/services", user, 200, "professionals.services", "Services of a professional", handle(a.professionalServices)},
		{put, v + "/professionals/{id}/services", user, 200, "professionals.set-services", "Set the services of a professional", handle(a.setProfessionalServices)},

		{get, v + "/schedule-rules", user, 200, "schedule-rules.list", "Rules of a professional", rest.WithErrors(handle(a.listRules), 404)},
		{post, v + "/schedule-rules", user, 201, "schedule-rules.create", "Add a rule", rest.WithRequiredFields("NewScheduleRule", rest.WithErrors(handle(a.createRule), 404), "professional_id", "day_of_week", "start_time", "end_time")},
		{put, v + "/schedule-rules/{id}", user, 200, "schedule-rules.update", "Update a rule", handle(a.updateRule)},
		{del, v + "/schedule-rules/{id}", user, 204, "schedule-rules.delete", "Remove a rule", handle(a.deleteRule)},
		{post, v + "/schedule-rules/copy/{fromId}/{toId}", user, 201, "schedule-rules.copy", "Copy rules from one professional to another", handle(a.copyRules)},

		{get, v + "/schedule-exceptions", user, 200, "schedule-exceptions.list", "Exceptions of a month", rest.WithErrors(handle(a.listExceptions), 404)},
		{post, v + "/schedule-exceptions", user, 201, "schedule-exceptions.create", "Add an exception", rest.WithRequiredFields("NewScheduleException", rest.WithErrors(handle(a.createException), 404), "professional_id", "date", "exception_type")},
		{put, v + "/schedule-exceptions/{id}", user, 200, "schedule-exceptions.update", "Update an exception", handle(a.updateException)},
		{del, v + "/schedule-exceptions/{id}", user, 204, "schedule-exceptions.delete", "Remove an exception", handle(a.deleteException)},

		{get, v + "/availability", visitor, 200, "availability.day", "Free slots of a day", rest.WithErrors(handle(a.availability), 404)},
	}
}

// bookingRows are appointments and what follows from them: clients, payments, reports.
func (a *API) bookingRows() []route {
	const v = "/api/v1"
	return []route{
		{get, v + "/appointments", user, 200, "appointments.list", "List appointments", handle(a.listAppointments)},
		{get, v + "/appointments/{id}", user, 200, "appointments.get", "Show an appointment", handle(a.getAppointment)},
		{post, v + "/appointments", user, 201, "appointments.create", "Book an appointment", rest.WithErrors(handle(a.createAppointment), 404)},
		{put, v + "/appointments/{id}", user, 200, "appointments.update", "Update an appointment", handle(a.updateAppointment)},
		{post, v + "/appointments/{id}/confirm", user, 200, "appointments.confirm", "Confirm", handle(a.confirm)},
		{post, v + "/appointments/{id}/cancel", user, 200, "appointments.cancel", "Cancel", handle(a.cancel)},
		{post, v + "/appointments/{id}/complete", user, 200, "appointments.complete", "Mark as completed", handle(a.complete)},
		{post, v + "/appointments/{id}/noshow", user, 200, "appointments.noshow", "Mark as no-show", handle(a.noShow)},
		{post, v + "/appointments/{id}/reschedule", user, 200, "appointments.reschedule", "Move to another time", handle(a.reschedule)},

		{get, v + "/clients", user, 200, "clients.list", "Search clients", handle(a.listClients)},
		{get, v + "/clients/{id}", user, 200, "clients.get", "Show a client with the history", handle(a.getClient)},
		{post, v + "/clients", user, 201, "clients.create", "Add a client", rest.WithRequiredFields("NewClient", handle(a.createClient), "name")},
		{put, v + "/clients/{id}", user, 200, "clients.update", "Update a client", handle(a.updateClient)},
		{get, v + "/clients/{id}/appointments", user, 200, "clients.appointments", "Appointments of a client", handle(a.clientAppointments)},
		{get, v + "/clients/{id}/payments", user, 200, "clients.payments", "Payments of a client", handle(a.clientPayments)},

		{get, v + "/payments", user, 200, "payments.list", "Monthly statement", handle(a.listPayments)},
		{post, v + "/payments", user, 201, "payments.create", "Record a payment", rest.WithErrors(handle(a.createPayment), 404)},
		{post, v + "/payments/pix", user, 201, "payments.pix", "Create an instant-payment charge", rest.WithSuccessStatus(rest.WithErrors(handle(a.createCharge), 404, 502, 504), 200, "The charge that was there already")},
		{post, v + "/payments/webhook/{provider}", anyone, 200, "payments.webhook", "Notices of a payment provider", rest.WithErrors(handle(a.receiveNotice), 401)},

		{get, v + "/reports/dashboard", user, 200, "reports.dashboard", "KPIs", rest.WithErrors(report(a.dashboard), 404)},
		{get, v + "/reports/occupancy", user, 200, "reports.occupancy", "Occupancy per professional", rest.WithErrors(report(a.occupancy), 404)},
		{get, v + "/reports/revenue", user, 200, "reports.revenue", "Revenue per period", rest.WithErrors(report(a.revenue), 404)},
		{get, v + "/reports/noshow", user, 200, "reports.noshow", "No-show rate", rest.WithErrors(report(a.noShows), 404)},
		{get, v + "/reports/clients/inactive", user, 200, "reports.inactive", "Inactive clients", report(a.inactive)},
		{get, v + "/reports/services/popular", user, 200, "reports.popular", "Most booked services", rest.WithErrors(report(a.popular), 404)},
	}
}

// publicRows are what clients see, and their loyalty program.
func (a *API) publicRows() []route {
	const v = "/api/v1"
	return []route{
		{get, v + "/public/book/{slug}", anyone, 200, "public.organization", "The organization", handle(a.publicOrganization)},
		{get, v + "/public/book/{slug}/services", anyone, 200, "public.services", "Available services", handle(a.publicServices)},
		{get, v + "/public/book/{slug}/professionals", anyone, 200, "public.professionals", "Professionals for a service", handle(a.publicProfessionals)},
		{get, v + "/public/book/{slug}/availability", anyone, 200, "public.availability", "Free slots of a day", handle(a.publicAvailability)},
		{post, v + "/public/book/{slug}/appointments", anyone, 201, "public.book", "Book", rest.WithErrors(handle(a.publicBook), 403, 502, 504)},
		{post, v + "/public/book/{slug}/cancel", anyone, 200, "public.cancel", "Cancel with the token", rest.WithErrors(handle(a.publicCancel), 403)},

		{get, v + "/loyalty/config", user, 200, "loyalty.config", "The loyalty program", handle(a.loyaltyConfig)},
		{put, v + "/loyalty/config", manager, 200, "loyalty.configure", "Update the loyalty program", rest.WithErrors(handle(a.configureLoyalty), 404)},
		{get, v + "/loyalty/clients/{id}", user, 200, "loyalty.client", "Points of a client", handle(a.clientPoints)},
	}
}

// additions are what the design adds to the document.
func (a *API) additions() []route {
	const v = "/api/v1"
	return []route{
		{get, v + "/public/book/{slug}/challenge", anyone, 200, "public.challenge", "A challenge to be solved for a booking", handle(a.publicChallenge)},
		{get, v + "/public/book/{slug}/appointment", anyone, 200, "public.appointment", "The appointment of a token", handle(a.publicAppointment)},
		{get, v + "/public/book/{slug}/appointment.ics", anyone, 200, "public.calendar", "The appointment of a token for a calendar", rest.WithMediaType(handle(a.publicCalendar), "text/calendar")},
		{post, v + "/public/book/{slug}/hold", anyone, 201, "public.hold", "Keep a time while the form is filled in", rest.WithErrors(handle(a.publicHold), 403)},
		{post, v + "/public/book/{slug}/waitlist", anyone, 201, "public.wait", "Be told when a time becomes free", rest.WithErrors(handle(a.publicWait), 403)},
		{get, "/calendar/{id}/{file}", anyone, 200, "calendar.feed", "A professional's calendar, by its secret address", rest.WithMediaType(handle(a.calendarFeed), "text/calendar")},
		{post, v + "/public/book/{slug}/reschedule", anyone, 200, "public.reschedule", "Move with the token", rest.WithErrors(handle(a.publicReschedule), 403)},
		{post, v + "/loyalty/clients/{id}/redeem", user, 200, "loyalty.redeem", "Exchange points for a reward", handle(a.redeem)},
		{post, v + "/loyalty/clients/{id}/adjust", manager, 200, "loyalty.adjust", "Correct a balance", handle(a.adjust)},
		{del, v + "/organization/logo", manager, 204, "organization.delete-logo", "Remove the logo", handle(a.deleteLogo)},
		{del, v + "/clients/{id}", manager, 204, "clients.delete", "Forget who a client was, for good; bookings and payments stay", handle(a.deleteClient)},
		{get, v + "/users", manager, 200, "users.list", "List users", handle(a.listUsers)},
		{post, v + "/users", manager, 201, "users.create", "Invite a user", rest.WithRequiredFields("NewUser", handle(a.createUser), "name", "email")},
		{put, v + "/users/{id}", manager, 200, "users.update", "Update a user", handle(a.updateUser)},
		{del, v + "/users/{id}", manager, 204, "users.delete", "Remove a user", handle(a.deleteUser)},
		{get, v + "/availability/month", visitor, 200, "availability.month", "Days of a month with free slots", rest.WithErrors(handle(a.availabilityMonth), 404)},
		{post, v + "/appointments/{id}/reopen", manager, 200, "appointments.reopen", "Take back a completion or no-show", handle(a.reopen)},
		{post, v + "/professionals/{id}/calendar-feed/rotate", user, 200, "professionals.rotate-feed", "Give the calendar feed a new address", handle(a.rotateFeed)},
	}
}

// developers are the rows that only a development environment has.
func (a *API) developers() []route {
	const v = "/api/v1"
	return []route{
		{post, v + "/dev/payments/{txid}/pay", anyone, 200, "dev.pay", "Pay a charge of the sandbox", hidden(handle(a.paySandbox))},
	}
}

// hidden leaves an operation out of the document, which is the same everywhere.
func hidden(bind func(huma.API, huma.Operation)) func(huma.API, huma.Operation) {
	return func(api huma.API, op huma.Operation) {
		op.Hidden = true
		bind(api, op)
	}
}
