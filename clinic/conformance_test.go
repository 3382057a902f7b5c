package clinic_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic"
	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/module"
)

// charted creates what the FHIR facade shows, an export and an import, and returns the path
// of each.
func charted(clinic *clinictest.Clinic) map[string]string {
	t := clinic.T
	chart := clinic.AddPatientWithChart()
	imported := chart.UploadImport("csv", clinictest.ImportTable)
	require.Equal(t, 202, imported.Status, imported.Text)
	export := chart.StartExport("")
	chart.WaitForExport(export)
	export = strings.TrimPrefix(export, chart.Hub.Base)
	return map[string]string{
		"/fhir/exports/{id}": export, "/fhir/exports/{id}/{type}": export + "/Patient",
		"/api/v1/patients/{id}/export": "/api/v1/patients/" + chart.PatientID + "/export", "/api/v1/imports/{id}": "/api/v1/imports/" + imported.Body["id"].(string),
		"/fhir/Patient/{id}": "/fhir/Patient/" + chart.PatientID, "/fhir/Patient/{id}/$everything": "/fhir/Patient/" + chart.PatientID + "/$everything",
		"/fhir/Appointment/{id}": "/fhir/Appointment/" + chart.AppointmentID, "/fhir/Encounter/{id}": "/fhir/Encounter/" + chart.VisitID,
		"/fhir/DocumentReference/{id}": "/fhir/DocumentReference/" + chart.RecordID, "/fhir/Communication/{id}": "/fhir/Communication/" + chart.InteractionID,
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	event := func(kind, data string) hub.Event { return hub.Event{Type: kind, Data: []byte(data)} }
	moduletest.Run(t, moduletest.Case{
		Module: clinic.New(),
		Public: []string{"auth.register", "auth.login", "auth.refresh", "auth.forgot-password", "auth.reset-password", "fhir.metadata", "fhir.everything-definition"},
		SignUp: func(t *testing.T, base string) moduletest.Account {
			t.Helper()
			registered := clinictest.RegisterClinic(t, moduletest.Attach(t, "clinic", "", base, module.Host{}))
			registered.AddPatient(clinictest.Phone)
			return moduletest.Account{Tenant: registered.ID, Token: registered.Token}
		},
		Resources: func(t *testing.T, base string, account moduletest.Account) map[string]string {
			t.Helper()
			registered := clinictest.ClinicAt(t, moduletest.Attach(t, "clinic", "", base, module.Host{}), account)
			id := registered.AddPatient(clinictest.Phone)
			paths := map[string]string{}
			for _, below := range []string{"", "/records", "/record-accesses", "/appointments", "/payments", "/interactions", "/deletion-request"} {
				paths["/api/v1/patients/{id}"+below] = "/api/v1/patients/" + id + below
			}
			deletion := registered.OK(202, "POST", "/patients/"+registered.AddPatient(clinictest.Phone)+"/deletion-request", nil)
			paths["/api/v1/deletion-requests/{id}"] = "/api/v1/deletion-requests/" + deletion["id"].(string)
			for _, other := range []string{"users/{id}", "professionals/{id}", "appointments/{id}", "payments/{id}/pay", "payments/{id}/cancel", "imports/{id}/undo", "patients/{id}/merge", "merges/{id}/undo", "deletion-requests/{id}/peers/{product}/acknowledge"} {
				paths["/api/v1/"+other] = "/api/v1/none" // no GET: TestOtherTenantsDataIsNotFound
			}
			maps.Copy(paths, charted(registered))
			return paths
		},
		Events: []hub.Event{
			event("message.received", `{"phone":"+5511987654321","name":"Ana","body":"Hi","ticket_id":1}`),
			event("message.sent", `{"phone":"+5511987654321","body":"Hi","ticket_id":1}`),
			event("ticket.created", `{"phone":"+5511987654321","name":"Ana","ticket_id":1,"queue":"Q"}`),
			event("ticket.closed", `{"ticket_id":1,"resolution":"done","phone":"+5511987654321"}`),
			event("contact.created", `{"phone":"+5511987654321","name":"Ana","email":""}`),
			event("appointment.created", `{"client_phone":"+5511987654321","service":"S","professional":"P","datetime":"2027-01-05T12:00:00Z","appointment_id":"a"}`),
			event("appointment.cancelled", `{"appointment_id":"a","reason":"x"}`),
			event("appointment.reminded", `{"appointment_id":"a","client_phone":"+5511987654321"}`),
			event("appointment.noshow", `{"appointment_id":"a","client_phone":"+5511987654321"}`),
		},
		State: func(t *testing.T, host module.Host, tenant uuid.UUID) string {
			t.Helper()
			var interactions, waiting int
			require.NoError(t, host.Pool.QueryRow(t.Context(), `select (select count(*) from interactions where clinic_id = $1), (select count(*) from inbox where clinic_id = $1)`, tenant).Scan(&interactions, &waiting))
			return fmt.Sprint(interactions, waiting)
		},
	})
}
