package api

import (
	"net/http"

	"integrationhub/hub/module/infopage"
)

// Paths of the landing pages that links to a record or an appointment open.
const (
	recordPagePath      = "/patients/records/"
	appointmentPagePath = "/patients/appointments/"
)

// LinkPages returns the landing pages by path. They show no data; see
// [infopage.LinkLandingPage].
func LinkPages() map[string]http.Handler {
	return map[string]http.Handler{
		recordPagePath: infopage.LinkLandingPage(accountOptions.Product, map[string]infopage.Text{
			infopage.Portuguese: {Title: "Um registro de paciente", Text: "Quem trabalha na clínica o encontra no aplicativo que usa, na ficha do paciente. Esta página não mostra dados de ninguém."},
			infopage.English:    {Title: "A record of a patient", Text: "Who works at the clinic finds it in the application they use, with the patient. This page shows nobody's data."},
			infopage.Spanish:    {Title: "Un registro de paciente", Text: "Quien trabaja en la clínica lo encuentra en la aplicación que usa, en la ficha del paciente. Esta página no muestra datos de nadie."},
		}),
		appointmentPagePath: infopage.LinkLandingPage(accountOptions.Product, map[string]infopage.Text{
			infopage.Portuguese: {Title: "Uma consulta", Text: "Quem trabalha na clínica a encontra no aplicativo que usa, na ficha do paciente. Esta página não mostra dados de ninguém."},
			infopage.English:    {Title: "An appointment", Text: "Who works at the clinic finds it in the application they use, with the patient. This page shows nobody's data."},
			infopage.Spanish:    {Title: "Una cita", Text: "Quien trabaja en la clínica la encuentra en la aplicación que usa, en la ficha del paciente. Esta página no muestra datos de nadie."},
		}),
	}
}
