package api

import (
	"net/http"

	"integrationhub/hub/module/infopage"
)

// AppointmentPages is the path prefix of the landing pages that connected products link
// to.
const AppointmentPages = "/appointments/"

// LinkPages returns the landing pages by path prefix: see [infopage.LinkLandingPage].
func LinkPages() map[string]http.Handler {
	return map[string]http.Handler{AppointmentPages: infopage.LinkLandingPage(accountOptions.Product, map[string]infopage.Text{
		infopage.Portuguese: {Title: "Um agendamento", Text: "Quem trabalha no estabelecimento o encontra no aplicativo que usa, pelo nome do cliente e pelo horário. Esta página não mostra dados de ninguém."},
		infopage.English:    {Title: "An appointment", Text: "Who works at the business finds it in the application they use, by the client's name and the time. This page shows nobody's data."},
		infopage.Spanish:    {Title: "Una cita", Text: "Quien trabaja en el negocio la encuentra en la aplicación que usa, por el nombre del cliente y la hora. Esta página no muestra datos de nadie."},
	})}
}
