package api

import (
	"net/http"

	"integrationhub/hub/module/rest"
)

// Features are what the clinic offers connected products, as document 3 names it;
// also the scopes of its keys.
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

// routes is the one table of the interface.
func (a *API) routes() []route {
	return a.accountRows()
}

// accountRows are the clinic and who works there.
func (a *API) accountRows() []route {
	const v = "/api/v1"
	return []route{
		{post, v + "/auth/register", rest.Anyone, 201, "auth.register", "Register a clinic with its first administrator", rest.Handle(a.signUp)},
		{post, v + "/auth/login", rest.Anyone, 200, "auth.login", "Log in", rest.Handle(a.login)},
		{post, v + "/auth/refresh", rest.Anyone, 200, "auth.refresh", "Trade a refresh token for a new pair", rest.Handle(a.refresh)},
		{post, v + "/auth/forgot-password", rest.Anyone, 200, "auth.forgot-password", "Ask for a link to set a new password", rest.Handle(a.forgot)},
		{post, v + "/auth/reset-password", rest.Anyone, 200, "auth.reset-password", "Set a new password", rest.Handle(a.reset)},
		{get, v + "/auth/me", rest.User, 200, "auth.me", "Who is logged in", rest.Handle(a.me)},
		{get, v + "/clinic", rest.User, 200, "clinic.get", "Read the clinic", rest.Handle(a.getClinic)},
		{put, v + "/clinic", rest.Admin, 200, "clinic.update", "Update the clinic", rest.Handle(a.updateClinic)},
		{get, v + "/users", rest.Admin, 200, "users.list", "List users", rest.Handle(a.listUsers)},
		{post, v + "/users", rest.Admin, 201, "users.create", "Make a user, or invite one", rest.Handle(a.createUser)},
		{put, v + "/users/{id}", rest.Admin, 200, "users.update", "Update a user", rest.Handle(a.updateUser)},
		{del, v + "/users/{id}", rest.Admin, 204, "users.delete", "Remove a user", rest.Handle(a.deleteUser)},
	}
}
