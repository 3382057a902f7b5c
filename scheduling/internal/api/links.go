package api

import (
	"net/http"

	"integrationhub/hub/module/sheet"
)

// AppointmentPages is the path below which the links lie that connected products show
// to an appointment.
const AppointmentPages = "/appointments/"

// LinkPages are the pages behind links to what users see, by path: see [sheet.LinkLandingPage].
func LinkPages() map[string]http.Handler {
	return map[string]http.Handler{AppointmentPages: sheet.LinkLandingPage(place.Product, map[string]sheet.Words{
		sheet.Portuguese: {Title: "Um agendamento", Text: "Quem trabalha no estabelecimento o encontra no aplicativo que usa, pelo nome do cliente e pelo horário. Esta página não mostra dados de ninguém."},
		sheet.English:    {Title: "An appointment", Text: "Who works at the business finds it in the application they use, by the client's name and the time. This page shows nobody's data."},
		sheet.Spanish:    {Title: "Una cita", Text: "Quien trabaja en el negocio la encuentra en la aplicación que usa, por el nombre del cliente y la hora. Esta página no muestra datos de nadie."},
	})}
}
