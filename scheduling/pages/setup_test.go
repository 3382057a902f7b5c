package pages_test

import (
	"testing"
	"time"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/scheduling/internal/schedulingtest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// friday is 10:00 of a Friday in São Paulo: the clock of every test.
var friday = schedulingtest.Monday.Add(-71 * time.Hour)

type object = moduletest.Object

// studio is an organization with a service and two professionals who offer it.
type studio struct {
	*schedulingtest.Organization
	service    string
	ana, bruno string // professionals
}

func newStudio(t testing.TB, settings ...string) *studio {
	t.Helper()
	hub := schedulingtest.StartHub(t, settings...)
	hub.Clock.Advance(friday.Sub(hub.Clock.Now()))
	return addStudio(t, hub)
}

// addStudio registers an organization with a service and two professionals, who work
// every day from 8 to 20.
func addStudio(t testing.TB, hub *moduletest.Hub) *studio {
	t.Helper()
	s := &studio{Organization: schedulingtest.RegisterOrganization(t, hub)}
	s.OK(200, "PUT", "/organization", object{"name": "Estúdio Aurora"})
	s.service = s.addService(object{"name": "Corte de cabelo", "description": "Lavagem, corte e finalização.", "duration_minutes": 45, "price": 120})
	s.ana, s.bruno = s.addProfessional("Ana Souza", s.service), s.addProfessional("Bruno Lima", s.service)
	return s
}

// addService adds a service and returns its id.
func (s *studio) addService(fields object) string {
	s.T.Helper()
	return s.OK(201, "POST", "/services", fields)["id"].(string)
}

// addProfessional adds a professional who works every day and returns the id.
func (s *studio) addProfessional(name string, services ...string) string {
	s.T.Helper()
	id := s.OK(201, "POST", "/professionals", object{"name": name})["id"].(string)
	s.setServices(id, services...)
	for day := range 7 {
		s.OK(201, "POST", "/schedule-rules", object{"professional_id": id, "day_of_week": day, "start_time": "08:00", "end_time": "20:00"})
	}
	return id
}

// setServices sets the services a professional offers.
func (s *studio) setServices(professional string, services ...string) {
	s.T.Helper()
	s.OK(200, "PUT", "/professionals/"+professional+"/services", object{"service_ids": services})
}

func (s *studio) changeSettings(fields object) {
	s.T.Helper()
	s.OK(200, "PUT", "/organization/settings", fields)
}
