package imports_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// A deletion that is requested while an import's events wait for a connected product goes
// before the rest of them; so does a patient whom a user adds.
func TestDeletionPassesAnImport(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	davi := clinic.OK(201, "POST", "/patients", object{"name": "Davi Reis", "phone": "+5511988887777"})
	peer := clinic.ConnectPeer("crm") // gets 90 a minute
	clinictest.RequireImportCounts(t, clinic.Import("csv", patientTable(400)), 400, 0, 0, 0)
	require.Equal(t, 400, clinic.QueryInt(`select count(*) from hub.deliveries where tenant_id = $1 and event_type = 'patient.created' and priority = 1`))
	require.Eventually(t, func() bool { return len(peer.Received("patient.created")) > 1 }, time.Minute, 10*time.Millisecond)
	clinic.OK(201, "POST", "/patients", object{"name": "Eva Reis"})
	clinic.OK(202, "POST", "/patients/"+davi["id"].(string)+"/deletion-request", nil)
	require.Eventually(t, func() bool { return len(peer.Received("patient.deleted")) == 1 }, time.Minute, 10*time.Millisecond)
	require.Less(t, len(peer.Received("patient.created")), 150, "the rest of the import waits")
	require.Eventually(t, func() bool {
		return clinic.QueryInt(`select count(*) from hub.deliveries where tenant_id = $1 and event_type = 'patient.created' and priority = 0 and status = 1`) == 1
	}, time.Minute, 10*time.Millisecond, "the patient who was added by hand")
	require.Positive(t, clinic.QueryInt(`select count(*) from hub.deliveries where tenant_id = $1 and status = 0 and priority = 1`))
	require.Equal(t, 1, clinic.QueryInt(`select count(*) from hub.deliveries where tenant_id = $1 and event_type = 'patient.deleted' and priority = -1`))
}

// Imported patients are deleted while their own events wait for a connected product, one in the
// queue of a process and one in the database: nothing about them arrives after the deletion.
func TestDeletionOfImportedPatients(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	peer := clinic.ConnectPeer("crm") // gets 90 a minute
	clinictest.RequireImportCounts(t, clinic.Import("csv", patientTable(100)), 100, 0, 0, 0)
	require.Eventually(t, func() bool { return len(peer.Received("patient.created")) > 1 }, time.Minute, 10*time.Millisecond)
	newest := func(condition string) (patient string) {
		require.Eventually(t, func() bool {
			return clinic.Hub.Host.Pool.QueryRow(t.Context(), `
				select convert_from(e.body, 'UTF8')::jsonb->'data'->>'patient_id' from hub.deliveries d
				join hub.events e on e.seq = (overlay(d.id::text placing '0000' from 33))::uuid
				where d.tenant_id = $1 and d.event_type = 'patient.created' and d.status = 0 and d.due_at `+condition+` now() order by d.id desc limit 1`, clinic.ID).Scan(&patient) == nil
		}, time.Minute, 10*time.Millisecond)
		return patient
	}
	patients := []string{newest(">"), newest("<=")}
	for _, patient := range patients {
		clinic.OK(202, "POST", "/patients/"+patient+"/deletion-request", nil)
	}
	require.Eventually(t, func() bool { return len(peer.Received("patient.deleted")) == 2 }, time.Minute, 10*time.Millisecond)
	require.Less(t, len(peer.Received("patient.created")), 90, "the rest of the import waits")
	require.Eventually(t, func() bool {
		return clinic.QueryInt(`select count(*) from hub.erasures where tenant_id = $1 and erased_at is not null`) == 2
	}, time.Minute, 10*time.Millisecond)
	for _, patient := range patients {
		var types []string
		for _, event := range peer.Received("") {
			if event.Data["patient_id"] == patient {
				types = append(types, event.Type)
			}
		}
		require.Equal(t, "patient.deleted", types[len(types)-1], "%v", types)
	}
	require.Equal(t, 1, clinic.QueryInt(`
		select count(*) from (select reason from hub.deliveries where tenant_id = $1 and event_type = 'patient.created' order by id desc limit 1) newest where reason = 'erased'`))
}

// What undoing an import publishes is bulk as well.
func TestUndoPublishesBulk(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	clinic.ConnectPeer("crm")
	imported := clinic.Import("csv", patientTable(3))
	undoImport(clinic, imported["id"].(string))
	require.Eventually(t, func() bool {
		return clinic.QueryInt(`select count(*) from hub.events where tenant_id = $1 and event_type = 'patient.updated' and priority = 1`) == 3
	}, time.Minute, 10*time.Millisecond)
}
