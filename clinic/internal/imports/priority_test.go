package imports_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// A deletion that is requested while an import's events wait for a connected product goes
// before the rest of them; so does a patient whom somebody adds.
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
