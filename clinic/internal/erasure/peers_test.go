package erasure_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// OperatePeer has an operator do something with the integration with a product.
func OperatePeer(clinic *clinictest.Clinic, product, action string) {
	clinic.T.Helper()
	var id string
	require.NoError(clinic.T, clinic.Hub.Host.Pool.QueryRow(clinic.T.Context(), `select id from hub.integrations where tenant_id = $1 and product = $2`, clinic.ID, product).Scan(&id))
	clinic.Hub.CallAPI("POST", "/api/v1/integrations/"+id+"/"+action, nil, &object{})
}

// ParkReason waits until the deletion event is parked for a peer, and returns the reason.
func ParkReason(clinic *clinictest.Clinic, product string) (reason string) {
	clinic.T.Helper()
	require.Eventually(clinic.T, func() bool {
		err := clinic.Hub.Host.Pool.QueryRow(clinic.T.Context(), `
			select d.reason from hub.deliveries d join hub.integrations i on i.id = d.target_id
			where d.tenant_id = $1 and i.product = $2 and d.event_type = 'patient.deleted' and d.status = 2`, clinic.ID, product).Scan(&reason)
		return err == nil
	}, 3*clinictest.Timeout, clinictest.Tick)
	return reason
}

// A paused product is shown as failed. Once enabled, it receives the deletion. What else it
// missed about the patient was erased.
func TestDeletionWhileAPeerIsPaused(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	messaging, scheduling := clinic.ConnectPeer("messaging"), clinic.ConnectPeer("scheduling")
	OperatePeer(clinic, "scheduling", "disable")
	id := clinic.OK(201, "POST", "/patients", object{"name": "Zuleica", "phone": "+5511977771111"})["id"].(string)
	path := clinic.RequestDeletion(id)
	require.Eventually(t, func() bool { return peers(clinic.Get(path))["messaging"] == "acknowledged" }, clinictest.Timeout, clinictest.Tick)
	require.Equal(t, map[string]string{"messaging": "acknowledged", "scheduling": "failed"}, peers(clinic.Get(path)))
	require.Equal(t, "needs_attention", clinic.Get(path)["status"])
	require.Equal(t, "disabled", ParkReason(clinic, "scheduling"))
	require.Empty(t, scheduling.Events)
	require.Len(t, messaging.Received("patient.created"), 1)

	require.Eventually(t, func() bool {
		return clinic.QueryInt(`select count(*) from hub.deliveries where tenant_id = $1 and event_type = 'patient.created' and reason = 'erased'`) == 1
	}, clinictest.Timeout, clinictest.Tick, "it waited for the paused product")
	OperatePeer(clinic, "scheduling", "enable")
	require.Equal(t, map[string]string{"messaging": "acknowledged", "scheduling": "acknowledged"}, peers(clinic.WaitForDeletion(path, "completed")))
	deletions := scheduling.Received("patient.deleted")
	require.Len(t, deletions, 1)
	require.Equal(t, "+5511977771111", deletions[0].Data["phone"], "by which it knows whom to forget")
	require.Len(t, scheduling.Events, 1)
	require.Len(t, messaging.Received("patient.deleted"), 1)
	clinic.HurryErasures()
	RequireNoTrace(clinic, "977771111")
}

// The same holds for a product that has refused its key for a day.
func TestDeletionWhileAPeerRefusesItsKey(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	scheduling := clinic.ConnectPeer("scheduling")
	scheduling.SetRefusing(true)
	clinic.Exec(`update hub.integrations set unauthorized_since = now() - interval '25 hours', next_probe_at = now() where tenant_id = $1`)
	require.Eventually(t, func() bool {
		return clinic.QueryInt(`select count(*) from hub.integrations where tenant_id = $1 and status = 'inactive' and not disabled`) == 1
	}, clinictest.Timeout, clinictest.Tick)
	path := clinic.RequestDeletion(clinic.AddPatient(clinictest.Phone))
	require.Equal(t, "needs_attention", clinic.Get(path)["status"])
	require.Equal(t, map[string]string{"scheduling": "failed"}, peers(clinic.Get(path)))
	scheduling.SetRefusing(false)
	OperatePeer(clinic, "scheduling", "enable")
	clinic.WaitForDeletion(path, "completed")
	require.Len(t, scheduling.Received("patient.deleted"), 1)
}

// A product whose connection ended before the request may have the patient still: no event
// reaches it, and a user has to inform it. It cannot have patients who were created later.
func TestDeletionAfterAPeerWasDisconnected(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	messaging, scheduling := clinic.ConnectPeer("messaging"), clinic.ConnectPeer("scheduling")
	patient, merged := clinic.AddPatient(clinictest.Phone), clinic.AddPatient("+5511922221111")
	require.Eventually(t, func() bool { return len(scheduling.Received("patient.created")) == 2 }, clinictest.Timeout, clinictest.Tick)
	var ended any
	for _, integration := range clinic.Call("GET", "/integrations/", nil).List {
		if integration["product"] == "scheduling" {
			ended = clinic.OK(200, "DELETE", "/integrations/"+integration["id"].(string), nil)["revoked_at"]
		}
	}
	later, survivor := clinic.AddPatient("+5511900001111"), clinic.AddPatient("+5511933331111")
	path := clinic.RequestDeletion(patient)
	require.Eventually(t, func() bool { return peers(clinic.Get(path))["messaging"] == "acknowledged" }, clinictest.Timeout, clinictest.Tick)
	request := clinic.Get(path)
	require.Equal(t, map[string]string{"messaging": "acknowledged", "scheduling": "failed"}, peers(request))
	require.Equal(t, "needs_attention", request["status"])
	listed := request["peers"].([]any)
	require.Nil(t, listed[0].(object)["disconnected_at"])
	require.Equal(t, ended, listed[1].(object)["disconnected_at"])
	require.Len(t, messaging.Received("patient.deleted"), 1)
	require.Empty(t, scheduling.Received("patient.deleted"))
	require.Equal(t, "completed", clinic.OK(200, "POST", path+"/peers/scheduling/acknowledge", object{"note": "by telephone"})["status"])
	require.NotNil(t, clinic.Get(path)["peers"].([]any)[1].(object)["disconnected_at"], "why it had to be informed")
	clinic.OK(200, "POST", "/patients/"+merged+"/merge", object{"into": survivor})
	require.Len(t, clinic.Get(clinic.RequestDeletion(survivor))["peers"], 2, "it may have the patient who was merged")
	require.Equal(t, map[string]string{"messaging": "acknowledged"}, peers(clinic.WaitForDeletion(clinic.RequestDeletion(later), "completed")))
}

// A paused product that was acknowledged by hand does not receive the event later: the hub
// erases it.
func TestPausedPeerAcknowledgedByHand(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	scheduling := clinic.ConnectPeer("scheduling")
	OperatePeer(clinic, "scheduling", "disable")
	path := clinic.RequestDeletion(clinic.AddPatient("+5511977771111"))
	ParkReason(clinic, "scheduling")
	require.Equal(t, "completed", clinic.OK(200, "POST", path+"/peers/scheduling/acknowledge", object{"note": "by phone"})["status"])
	clinic.HurryErasures()
	RequireNoTrace(clinic, "977771111")
	OperatePeer(clinic, "scheduling", "enable")
	clinic.AddPatient(clinictest.Phone)
	require.Eventually(t, func() bool { return len(scheduling.Received("patient.created")) == 1 }, clinictest.Timeout, clinictest.Tick)
	require.Empty(t, scheduling.Received("patient.deleted"))
}

// A response 410 is no acknowledgement. The event is parked, and delivered when the peer
// answers 200 again. It can be acknowledged by hand at once, and needs attention after a day.
func TestParkedDeletion(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	scheduling := clinic.ConnectPeer("scheduling")
	scheduling.SetStatus(410)
	path := clinic.RequestDeletion(clinic.AddPatient("+5511977771111"))
	require.Equal(t, "gone", ParkReason(clinic, "scheduling"))
	require.Equal(t, "waiting", clinic.Get(path)["status"])
	require.Equal(t, map[string]string{"scheduling": "pending"}, peers(clinic.Get(path)))

	clinic.Exec(`update clinic.deletion_requests set requested_at = requested_at - interval '25 hours' where clinic_id = $1`)
	require.Equal(t, map[string]string{"scheduling": "failed"}, peers(clinic.WaitForDeletion(path, "needs_attention")))
	scheduling.SetStatus(0)
	require.Eventually(t, func() bool {
		clinic.Exec(`update hub.drains set due_at = now() where target_id in (select id from hub.integrations where tenant_id = $1) and state = 'waiting'`)
		return len(scheduling.Received("patient.deleted")) == 1
	}, clinictest.Timeout, clinictest.Tick)
	require.Equal(t, map[string]string{"scheduling": "acknowledged"}, peers(clinic.WaitForDeletion(path, "completed")))
	require.Len(t, scheduling.Received("patient.deleted"), 1)

	scheduling.SetStatus(410)
	path = clinic.RequestDeletion(clinic.AddPatient("+5511977772222"))
	ParkReason(clinic, "scheduling")
	require.Equal(t, map[string]string{"scheduling": "pending"}, peers(clinic.Get(path)))
	require.Eventually(t, func() bool { // a trial may be under way: 409 still_being_sent
		return clinic.Call("POST", path+"/peers/scheduling/acknowledge", object{"note": "by phone"}).Status == 200
	}, clinictest.Timeout, clinictest.Tick)
	require.Equal(t, "completed", clinic.Get(path)["status"])
	clinic.HurryErasures()
	RequireNoTrace(clinic, "977771111", "977772222")
	require.Len(t, scheduling.Received("patient.deleted"), 1)
}

// Only the products that are connected in the patient's environment are asked.
func TestDeletionReachesOnlyItsEnvironment(t *testing.T) {
	t.Parallel()
	p := clinictest.NewClinicAlone(t)
	live, test := p.ConnectPeer("messaging"), p.InEnvironment("test").ConnectPeer("scheduling")
	for _, tc := range []struct {
		clinic       *clinictest.Clinic
		asked        string
		hears, peace *clinictest.Peer
	}{{p.InEnvironment("test"), "scheduling", test, live}, {p, "messaging", live, test}} {
		before := len(tc.peace.Received("patient.deleted"))
		path := tc.clinic.RequestDeletion(tc.clinic.AddPatient(clinictest.Phone))
		require.Equal(t, map[string]string{tc.asked: "acknowledged"}, peers(tc.clinic.WaitForDeletion(path, "completed")))
		require.Len(t, tc.hears.Received("patient.deleted"), 1)
		require.Len(t, tc.peace.Received("patient.deleted"), before)
	}
}

// Administrators can list the requests that need attention.
func TestDeletionRequestsByStatus(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	scheduling := clinic.ConnectPeer("scheduling")
	request := clinic.RequestDeletion(clinic.AddPatient(clinictest.Phone))
	clinic.WaitForDeletion(request, "completed")
	OperatePeer(clinic, "scheduling", "disable")
	stuck := clinic.RequestDeletion(clinic.AddPatient("+5511977771111"))
	OperatePeer(clinic, "scheduling", "enable")
	clinic.WaitForDeletion(stuck, "completed")
	OperatePeer(clinic, "scheduling", "disable")
	stuck = clinic.RequestDeletion(clinic.AddPatient("+5511977772222"))
	scheduling.SetStatus(500)
	clinic.InEnvironment("test").RequestDeletion(clinic.InEnvironment("test").AddPatient(clinictest.Phone))
	other := clinic.AnotherClinic()
	other.RequestDeletion(other.AddPatient(clinictest.Phone))

	ids := func(query string) (list []string) {
		for _, item := range clinic.Items("/deletion-requests" + query) {
			list = append(list, "/deletion-requests/"+item["id"].(string))
		}
		return list
	}
	all := ids("")
	require.Len(t, all, 3)
	require.Equal(t, stuck, all[0], "the newest first")
	require.Equal(t, request, all[2])
	require.Equal(t, []string{stuck}, ids("?status=needs_attention"))
	require.Equal(t, all[1:], ids("?status=completed"))
	require.Empty(t, ids("?status=waiting"))
	require.Equal(t, clinic.Get(stuck), clinic.Items("/deletion-requests")[0], "with its peers")
	page := clinic.Get("/deletion-requests?per_page=1&page=2")
	require.EqualValues(t, 3, page["total"])
	require.Len(t, page["items"], 1)
	require.Equal(t, all[1], "/deletion-requests/"+page["items"].([]any)[0].(object)["id"].(string))
	clinic.Invalid("query.status", "GET", "/deletion-requests?status=failed", nil)
	clinic.AddStaff().Refused(403, "admin_only", "GET", "/deletion-requests", nil)
	require.Equal(t, clinictest.AuditEntry{Action: "deletions.list", Actor: "tenant_user", Environment: "live", PatientID: ""}, clinic.AuditEntries("&action=deletions.list")[0])
}
