package api

import (
	"slices"

	"integrationhub/clinic/internal/fhir"
	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
)

// Features lists what docs/interfaces/clinic.md offers connected products; they are also key
// scopes. No operation requires payment.read or message.send.
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

// routes is the one table of the interface, ordered by resource. [API.searchRoutes] and
// [API.actionRoutes] lie below the hub's own integration interface.
func (a *API) routes() []rest.Route {
	return slices.Concat(a.accountRoutes(), a.patientRoutes(), a.exchangeRoutes(), a.exportRoutes(), withHead(a.fhirRoutes()))
}

// accountRoutes returns the routes of users, the clinic and its professionals.
func (a *API) accountRoutes() []rest.Route {
	const v = "/api/v1"
	return []rest.Route{
		rest.Post(v+"/auth/register", rest.Anyone, 201, "auth.register", "Register a clinic with its first administrator", rest.SignUp(rest.Handle(a.signUp))),
		rest.Post(v+"/auth/login", rest.Anyone, 200, "auth.login", "Log in", rest.WithErrors(rest.Handle(a.authenticator.HandleLogin), 401)),
		rest.Post(v+"/auth/refresh", rest.Anyone, 200, "auth.refresh", "Trade a refresh token for a new pair", rest.WithErrors(rest.Handle(a.authenticator.HandleRefresh), 401)),
		rest.Post(v+"/auth/logout", rest.User, 200, "auth.logout", "End the login of this token, with its refresh token", rest.Handle(a.authenticator.HandleLogout)),
		rest.Post(v+"/auth/forgot-password", rest.Anyone, 200, "auth.forgot-password", "Ask for a link to set a new password", rest.Handle(a.authenticator.HandleForgotPassword)),
		rest.Post(v+"/auth/reset-password", rest.Anyone, 200, "auth.reset-password", "Set a new password", rest.Handle(a.authenticator.HandleResetPassword)),
		rest.Get(v+"/auth/me", rest.User, 200, "auth.me", "Who is logged in", rest.Handle(a.getMe)),

		rest.Get(v+"/users", rest.Admin, 200, "users.list", "List users", rest.Handle(a.listUsers)),
		rest.Post(v+"/users", rest.Admin, 201, "users.create", "Make a user, or invite one", rest.Handle(a.createUser)),
		rest.Put(v+"/users/{id}", rest.Admin, 200, "users.update", "Update a user", rest.Handle(a.updateUser)),
		rest.Delete(v+"/users/{id}", rest.Admin, 204, "users.delete", "Remove a user", rest.Handle(a.deleteUser)),

		rest.Get(v+"/clinic", rest.User, 200, "clinic.get", "Read the clinic", rest.Handle(a.getClinic)),
		rest.Put(v+"/clinic", rest.Admin, 200, "clinic.update", "Update the clinic", rest.Handle(a.updateClinic)),

		rest.Get(v+"/professionals", rest.User, 200, "professionals.list", "List professionals", rest.Handle(a.listProfessionals)),
		rest.Post(v+"/professionals", rest.Admin, 201, "professionals.create", "Add a professional", rest.WithRequiredFields("NewProfessional", rest.WithHandlerValidation(rest.Handle(a.createProfessional)), "name")),
		rest.Put(v+"/professionals/{id}", rest.Admin, 200, "professionals.update", "Update a professional", rest.WithHandlerValidation(rest.Handle(a.updateProfessional))),
		rest.Delete(v+"/professionals/{id}", rest.Admin, 204, "professionals.delete", "Remove a professional", rest.Handle(a.deleteProfessional)),
	}
}

// patientRoutes returns the routes of patients and their items.
func (a *API) patientRoutes() []rest.Route {
	const v, patient = "/api/v1", "/api/v1/patients/{id}"
	return []rest.Route{
		rest.Get(v+"/patients", rest.User, 200, "patients.list", "List patients", rest.Handle(a.listPatients)),
		rest.Post(v+"/patients/search", rest.User, 200, "patients.search", "Find patients by name, e-mail address or phone", rest.Handle(a.searchPatients)),
		rest.Post(v+"/patients", rest.User, 201, "patients.create", "Add a patient", rest.WithRequiredFields("NewPatient", rest.WithHandlerValidation(rest.Handle(a.createPatient)), "name")),
		rest.Get(patient, rest.User, 200, "patients.get", "Read a patient", rest.Handle(a.getPatient)),
		rest.Put(patient, rest.User, 200, "patients.update", "Update a patient", rest.WithHandlerValidation(rest.Handle(a.updatePatient))),
		rest.Delete(patient, rest.User, 204, "patients.delete", "Archive a patient: the same as status inactive; status active reactivates", rest.Handle(a.deletePatient)),
		rest.Get(patient+"/export", rest.Admin, 200, "patients.export", "All that the clinic has about a patient", a.bindExport),

		rest.Get(patient+"/records", rest.User, 200, "records.list", "Records of a patient", rest.Handle(a.listRecords)),
		rest.Get(patient+"/record-accesses", rest.Admin, 200, "records.list-accesses", "Who opened the locked records of an erased patient, and why", rest.Handle(a.listRecordAccesses)),
		rest.Post(patient+"/records", rest.User, 201, "records.create", "Write a record", rest.Handle(a.createRecord)),

		rest.Get(patient+"/appointments", rest.User, 200, "appointments.list", "Appointments of a patient", rest.Handle(a.listAppointments)),
		rest.Post(patient+"/appointments", rest.User, 201, "appointments.create", "Make an appointment", rest.WithRequiredFields("NewAppointment", rest.WithHandlerValidation(rest.Handle(a.createAppointment)), "datetime")),
		rest.Put(v+"/appointments/{id}", rest.User, 200, "appointments.update", "Change an appointment", rest.WithHandlerValidation(rest.Handle(a.updateAppointment))),

		rest.Get(v+"/appointments", rest.User, 200, "appointments.agenda", "Appointments of all patients in a period, in the order of time", rest.Handle(a.listAgenda)),
		rest.Get(v+"/payments", rest.User, 200, "payments.due", "Payments of all patients with a status, the longest due first", rest.Handle(a.listClinicPayments)),

		rest.Get(patient+"/payments", rest.User, 200, "payments.list", "Payments of a patient", rest.Handle(a.listPayments)),
		rest.Post(patient+"/payments", rest.User, 201, "payments.create", "Ask for a payment, or record one", rest.Handle(a.createPayment)),
		rest.Post(v+"/payments/{id}/pay", rest.User, 200, "payments.pay", "Record that a payment was made", rest.Handle(a.pay)),
		rest.Post(v+"/payments/{id}/cancel", rest.User, 200, "payments.cancel", "Cancel a payment", rest.Handle(a.cancelPayment)),
		rest.Post(v+"/payments/run-overdue", rest.Admin, 200, "payments.run-overdue", "Look for overdue payments now", rest.Handle(a.runOverdue)),

		rest.Get(patient+"/interactions", rest.User, 200, "interactions.list", "What happened with a patient", rest.Handle(a.listInteractions)),
		rest.Post(patient+"/interactions", rest.User, 201, "interactions.create", "Write down what happened", rest.Handle(a.createInteraction)),
	}
}

// exchangeRoutes returns the routes of imports, the inbox and deletion requests.
func (a *API) exchangeRoutes() []rest.Route {
	const v, patient = "/api/v1", "/api/v1/patients/{id}"
	return []rest.Route{
		rest.Post(v+"/imports", rest.Admin, 202, "imports.create", "Import patients from a file", a.bindCreateImport),
		rest.Get(v+"/imports", rest.Admin, 200, "imports.list", "List imports", rest.Handle(a.listImports)),
		rest.Get(v+"/imports/{id}", rest.Admin, 200, "imports.get", "Get an import's progress", rest.Handle(a.getImport)),
		rest.Post(v+"/imports/{id}/undo", rest.Admin, 202, "imports.undo", "Undo an import, within 24 hours and where nothing else touched the patients", rest.Handle(a.undoImport)),

		rest.Get(v+"/integrations/inbox", rest.Admin, 200, "inbox.list", "Events that matched no patient: open ones for 180 days, settled ones for a year", rest.Handle(a.listInbox)),
		rest.Post(v+"/integrations/inbox/{id}/link", rest.Admin, 200, "inbox.link", "Say whom an event is about", rest.Handle(a.linkInbox)),
		rest.Post(v+"/integrations/inbox/{id}/dismiss", rest.Admin, 200, "inbox.dismiss", "Say that an event is about nobody", rest.Handle(a.dismissInbox)),

		rest.Post(patient+"/merge", rest.Admin, 200, "patients.merge", "Merge a patient into another one, who gets everything; undoable for 30 days", rest.Handle(a.mergePatient)),
		rest.Post(v+"/merges/{id}/undo", rest.Admin, 200, "merges.undo", "Undo a merge of patients", rest.Handle(a.undoMerge)),

		rest.Post(patient+"/deletion-request", rest.Admin, 202, "deletions.request", "Request a patient's erasure, here and in the connected products", rest.Handle(a.requestDeletion)),
		rest.Get(v+"/deletion-requests", rest.Admin, 200, "deletions.list", "List deletion requests", rest.Handle(a.listDeletions)),
		rest.Get(v+"/deletion-requests/{id}", rest.Admin, 200, "deletions.get", "Get a deletion request", rest.Handle(a.getDeletion)),
		rest.Post(v+"/deletion-requests/{id}/peers/{product}/acknowledge", rest.Admin, 200, "deletions.acknowledge", "Acknowledge a deletion for a product", rest.Handle(a.acknowledgeDeletion)),
	}
}

// exportRoutes returns the routes of bulk exports. They precede those of single patients. HEAD
// starts no export.
func (a *API) exportRoutes() []rest.Route {
	const f, export = fhirPath, fhirPath + exportsPath + "/{id}"
	return append([]rest.Route{
		rest.Get(f+"/Patient/$export", fhirAccess, 202, "fhir.export", "Export all patients with their resources, asynchronously", withOutcomeErrors(a.bindExportRequest)),
		rest.Post(f+"/Patient/$export", fhirAccess, 202, "fhir.export-by-post", "Export all patients with their resources, asynchronously, by POST", withOutcomeErrors(a.bindExportRequest)),
		rest.Delete(export, fhirAccess, 202, "fhir.delete-export", "Cancel an export, or delete its files", withOutcomeErrors(rest.Handle(a.deleteFHIRExport))),
	}, withHead([]rest.Route{
		rest.Get(export, fhirAccess, 200, "fhir.export-status", "How far an export is, and where its files are", withOutcomeErrors(a.bindExportStatus)),
		rest.Get(export+"/{type}", fhirAccess, 200, "fhir.export-file", "A file of an export: one resource on each line", withOutcomeErrors(a.bindExportFile)),
	})...)
}

// fhirRoutes returns the routes of the FHIR R4 facade.
func (a *API) fhirRoutes() []rest.Route {
	const f = fhirPath
	return []rest.Route{
		rest.Get(f+"/metadata", rest.Anyone, 200, "fhir.metadata", "What the facade can do", handleFHIRRead(a.capabilities)),
		rest.Get(f+fhir.PathEverything, rest.Anyone, 200, "fhir.everything-definition", "What $everything can be asked", handleFHIRRead(a.everythingDefinition)),
		rest.Get(f+"/Patient", fhirAccess, 200, "fhir.search-patients", "Search Patient", a.bindFHIRSearch(a.patientResources)),
		rest.Post(f+"/Patient/_search", fhirAccess, 200, "fhir.find-patients", "Search Patient, with what names a person in the body and not in the address", a.bindFHIRSearch(a.patientResources)),
		rest.Get(f+"/Patient/{id}", fhirAccess, 200, "fhir.read-patient", "Read a Patient", a.bindFHIRRead(a.patientResources)),
		rest.Get(f+"/Patient/{id}/$everything", fhirAccess, 200, "fhir.everything", "All of a patient's resources", withOutcomeErrors(a.bindEverything)),
		rest.Post(f+"/Patient/{id}/$everything", fhirAccess, 200, "fhir.everything-by-post", "All of a patient's resources, with Parameters in the body", withOutcomeErrors(a.bindEverything)),
		rest.Get(f+"/Appointment", fhirAccess, 200, "fhir.search-appointments", "Search Appointment", a.bindFHIRSearch(a.appointmentResources)),
		rest.Post(f+"/Appointment/_search", fhirAccess, 200, "fhir.find-appointments", "Search Appointment by a form", a.bindFHIRSearch(a.appointmentResources)),
		rest.Get(f+"/Appointment/{id}", fhirAccess, 200, "fhir.read-appointment", "Read an Appointment", a.bindFHIRRead(a.appointmentResources)),
		rest.Get(f+"/Encounter", fhirAccess, 200, "fhir.search-encounters", "Search Encounter: appointments that took place", a.bindFHIRSearch(a.encounterResources)),
		rest.Post(f+"/Encounter/_search", fhirAccess, 200, "fhir.find-encounters", "Search Encounter by a form", a.bindFHIRSearch(a.encounterResources)),
		rest.Get(f+"/Encounter/{id}", fhirAccess, 200, "fhir.read-encounter", "Read an Encounter", a.bindFHIRRead(a.encounterResources)),
		rest.Get(f+"/DocumentReference", fhirAccess, 200, "fhir.search-documents", "Search DocumentReference: records", a.bindFHIRSearch(a.documentResources)),
		rest.Post(f+"/DocumentReference/_search", fhirAccess, 200, "fhir.find-documents", "Search DocumentReference by a form", a.bindFHIRSearch(a.documentResources)),
		rest.Get(f+"/DocumentReference/{id}", fhirAccess, 200, "fhir.read-document", "Read a DocumentReference", a.bindFHIRRead(a.documentResources)),
		rest.Get(f+"/Communication", fhirAccess, 200, "fhir.search-communications", "Search Communication: what happened with patients", a.bindFHIRSearch(a.communicationResources)),
		rest.Post(f+"/Communication/_search", fhirAccess, 200, "fhir.find-communications", "Search Communication by a form", a.bindFHIRSearch(a.communicationResources)),
		rest.Get(f+"/Communication/{id}", fhirAccess, 200, "fhir.read-communication", "Read a Communication", a.bindFHIRRead(a.communicationResources)),
	}
}

// searchRoutes returns the routes below search/*.
func (a *API) searchRoutes() []rest.Route {
	return []rest.Route{
		rest.Get("/patients", rest.Key(featurePatientSearch), 200, "integrations.search-patients", "Find a patient by phone", rest.Handle(a.searchPatientForPeer)),
		rest.Get("/records", rest.Key(featureRecordRead), 200, "integrations.search-records", "Records of a patient", rest.WithErrors(rest.Handle(a.searchRecords), 404)),
		rest.Get("/appointments", rest.Key(featureAppointmentRead), 200, "integrations.search-appointments", "Appointments of a patient", rest.WithErrors(rest.Handle(a.searchAppointments), 404)),
	}
}

// actionRoutes returns the routes below action/*.
func (a *API) actionRoutes() []rest.Route {
	return []rest.Route{
		rest.Post("/log-interaction", rest.Key(module.ScopeInteraction), 200, "integrations.log-interaction", "Put something on a patient's history", rest.WithErrors(rest.Handle(a.logInteraction), 404)),
	}
}
