package api

import (
	"net/http"
	"slices"

	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
)

// Features are what the clinic offers connected products, as document 3 lists it;
// also the scopes of its keys. No call asks for the last two: what a key with
// payment.read learns of payments comes in events and in balance_due, which document 3
// has in every answer to patient.search, and a clinic's messages are written and sent
// by the messaging product it is connected to.
func Features() []string {
	return []string{featurePatientSearch, featurePatientRead, featureRecordRead, featureAppointmentRead, featurePaymentRead, featureMessageSend}
}

const (
	featurePatientSearch   = "patient.search"
	featurePatientRead     = "patient.read"
	featureRecordRead      = "record.read"
	featureAppointmentRead = "appointment.read"
	featurePaymentRead     = "payment.read"
	featureMessageSend     = "message.send"
)

// Methods of the table.
const (
	get  = http.MethodGet
	post = http.MethodPost
	put  = http.MethodPut
	del  = http.MethodDelete
)

// route is one row of the table.
type route rest.Route

// routes is the one table of the interface; [API.searches] and [API.actions] lie below
// the hub's own integration interface.
func (a *API) routes() []route {
	return slices.Concat(a.accountRows(), a.patientRows(), a.exchangeRows(), a.importRows(), a.exportRows(), a.fhirRows())
}

// searches are the rows below search/*.
func (a *API) searches() []route {
	return []route{
		{get, "/patients", withScope(featurePatientSearch), 200, "integrations.search-patients", "Find a patient by phone", rest.Handle(a.searchPatients)},
		{get, "/records", withScope(featureRecordRead), 200, "integrations.search-records", "Records of a patient", rest.WithErrors(rest.Handle(a.searchRecords), 404)},
		{get, "/appointments", withScope(featureAppointmentRead), 200, "integrations.search-appointments", "Appointments of a patient", rest.WithErrors(rest.Handle(a.searchAppointments), 404)},
	}
}

// actions are the rows below action/*.
func (a *API) actions() []route {
	return []route{
		{post, "/log-interaction", withScope(module.ScopeInteraction), 200, "integrations.log-interaction", "Put something on a patient's history", rest.WithErrors(rest.Handle(a.logInteraction), 404)},
	}
}

// withScope lets keys with a scope call.
func withScope(scope string) rest.Access { return rest.Access{{module.SchemeKey: {scope}}} }

// accountRows are the clinic and who works there.
func (a *API) accountRows() []route {
	const v = "/api/v1"
	return []route{
		{post, v + "/auth/register", rest.Anyone, 201, "auth.register", "Register a clinic with its first administrator", rest.Handle(a.signUp)},
		{post, v + "/auth/login", rest.Anyone, 200, "auth.login", "Log in", rest.WithErrors(rest.Handle(a.desk.HandleLogin), 401)},
		{post, v + "/auth/refresh", rest.Anyone, 200, "auth.refresh", "Trade a refresh token for a new pair", rest.WithErrors(rest.Handle(a.desk.HandleRefresh), 401)},
		{post, v + "/auth/forgot-password", rest.Anyone, 200, "auth.forgot-password", "Ask for a link to set a new password", rest.Handle(a.desk.HandleForgotPassword)},
		{post, v + "/auth/reset-password", rest.Anyone, 200, "auth.reset-password", "Set a new password", rest.Handle(a.desk.HandleResetPassword)},
		{get, v + "/auth/me", rest.User, 200, "auth.me", "Who is logged in", rest.Handle(a.me)},
		{get, v + "/clinic", rest.User, 200, "clinic.get", "Read the clinic", rest.Handle(a.getClinic)},
		{put, v + "/clinic", rest.Admin, 200, "clinic.update", "Update the clinic", rest.Handle(a.updateClinic)},
		{get, v + "/users", rest.Admin, 200, "users.list", "List users", rest.Handle(a.listUsers)},
		{post, v + "/users", rest.Admin, 201, "users.create", "Make a user, or invite one", rest.Handle(a.createUser)},
		{put, v + "/users/{id}", rest.Admin, 200, "users.update", "Update a user", rest.Handle(a.updateUser)},
		{del, v + "/users/{id}", rest.Admin, 204, "users.delete", "Remove a user", rest.Handle(a.deleteUser)},
	}
}

// patientRows are patients and what the clinic keeps about them.
func (a *API) patientRows() []route {
	const v, one = "/api/v1", "/api/v1/patients/{id}"
	return []route{
		{get, v + "/professionals", rest.User, 200, "professionals.list", "List professionals", rest.Handle(a.listProfessionals)},
		{post, v + "/professionals", rest.Admin, 201, "professionals.create", "Add a professional", rest.WithRequiredFields("NewProfessional", rest.WithHandlerValidation(rest.Handle(a.createProfessional)), "name")},
		{put, v + "/professionals/{id}", rest.Admin, 200, "professionals.update", "Update a professional", rest.WithHandlerValidation(rest.Handle(a.updateProfessional))},
		{del, v + "/professionals/{id}", rest.Admin, 204, "professionals.delete", "Remove a professional", rest.Handle(a.deleteProfessional)},

		{get, v + "/patients", rest.User, 200, "patients.list", "List patients", rest.Handle(a.listPatients)},
		{post, v + "/patients/search", rest.User, 200, "patients.search", "Find patients by name, e-mail address or phone", rest.Handle(a.findPatients)},
		{post, v + "/patients", rest.User, 201, "patients.create", "Add a patient", rest.WithRequiredFields("NewPatient", rest.WithHandlerValidation(rest.Handle(a.createPatient)), "name")},
		{get, one, rest.User, 200, "patients.get", "Read a patient", rest.Handle(a.getPatient)},
		{put, one, rest.User, 200, "patients.update", "Update a patient", rest.WithHandlerValidation(rest.Handle(a.updatePatient))},
		{del, one, rest.User, 204, "patients.delete", "Put a patient away: the same as status inactive, and taken back with status active", rest.Handle(a.deletePatient)},
		{get, one + "/records", rest.User, 200, "records.list", "Records of a patient", rest.Handle(a.listRecords)},
		{post, one + "/records", rest.User, 201, "records.create", "Write a record", rest.Handle(a.createRecord)},
		{get, one + "/appointments", rest.User, 200, "appointments.list", "Appointments of a patient", rest.Handle(a.listAppointments)},
		{post, one + "/appointments", rest.User, 201, "appointments.create", "Make an appointment", rest.WithRequiredFields("NewAppointment", rest.WithHandlerValidation(rest.Handle(a.createAppointment)), "datetime")},
		{put, v + "/appointments/{id}", rest.User, 200, "appointments.update", "Change an appointment", rest.WithHandlerValidation(rest.Handle(a.updateAppointment))},
		{get, one + "/payments", rest.User, 200, "payments.list", "Payments of a patient", rest.Handle(a.listPayments)},
		{post, one + "/payments", rest.User, 201, "payments.create", "Ask for a payment, or record one", rest.Handle(a.createPayment)},
		{post, v + "/payments/{id}/pay", rest.User, 200, "payments.pay", "Record that a payment was made", rest.Handle(a.pay)},
		{post, v + "/payments/{id}/cancel", rest.User, 200, "payments.cancel", "Cancel a payment", rest.Handle(a.cancelPayment)},
		{post, v + "/payments/run-overdue", rest.Admin, 200, "payments.run-overdue", "Look for overdue payments now", rest.Handle(a.runOverdue)},
		{get, one + "/interactions", rest.User, 200, "interactions.list", "What happened with a patient", rest.Handle(a.listInteractions)},
		{post, one + "/interactions", rest.User, 201, "interactions.create", "Write down what happened", rest.Handle(a.createInteraction)},
	}
}

// exchangeRows are what comes of the other products' news, and of leaving them all.
func (a *API) exchangeRows() []route {
	const v = "/api/v1"
	return []route{
		{get, v + "/integrations/inbox", rest.Admin, 200, "inbox.list", "Events that matched no patient: open ones for 180 days, settled ones for a year", rest.Handle(a.listInbox)},
		{post, v + "/integrations/inbox/{id}/link", rest.Admin, 200, "inbox.link", "Say whom an event is about", rest.Handle(a.linkInbox)},
		{post, v + "/integrations/inbox/{id}/dismiss", rest.Admin, 200, "inbox.dismiss", "Say that an event is about nobody", rest.Handle(a.dismissInbox)},
		{post, v + "/patients/{id}/deletion-request", rest.Admin, 202, "deletions.request", "Forget who a patient was, here and in the connected products", rest.Handle(a.requestDeletion)},
		{get, v + "/deletion-requests", rest.Admin, 200, "deletions.list", "Requests to be forgotten, and where they stand", rest.Handle(a.listDeletions)},
		{get, v + "/deletion-requests/{id}", rest.Admin, 200, "deletions.get", "Where a deletion stands", rest.Handle(a.getDeletion)},
		{post, v + "/deletion-requests/{id}/peers/{product}/acknowledge", rest.Admin, 200, "deletions.acknowledge", "Note that a product was told by other means", rest.Handle(a.acknowledgeDeletion)},
	}
}
