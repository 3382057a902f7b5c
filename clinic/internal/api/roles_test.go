package api_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub/hubtest/fhirtest"
)

// Who may call what. Every operation that is served stands in one of these, once: they
// are written down here and not read from the table of routes, so that whoever changes a
// route's callers has to say so twice.
var (
	forAnyone = []string{
		"auth.register", "auth.login", "auth.refresh", "auth.forgot-password", "auth.reset-password", "fhir.metadata", "fhir.everything-definition", "health.get",
	}
	forUsers = []string{
		"auth.me", "auth.logout", "clinic.get", "professionals.list",
		"patients.list", "patients.search", "patients.create", "patients.get", "patients.update", "patients.delete",
		"appointments.agenda", "payments.due", "records.list", "records.create", "appointments.list", "appointments.create", "appointments.update",
		"payments.list", "payments.create", "payments.pay", "payments.cancel", "interactions.list", "interactions.create",
	}
	forAdministrators = []string{
		"clinic.update", "users.list", "users.create", "users.update", "users.delete",
		"professionals.create", "professionals.update", "professionals.delete", "payments.run-overdue", "patients.export", "records.list-accesses",
		"patients.merge", "merges.undo", "deletions.request", "deletions.list", "deletions.get", "deletions.acknowledge", "imports.list", "imports.create", "imports.get", "imports.undo",
		"inbox.list", "inbox.link", "inbox.dismiss",
		"integrations.list", "integrations.get", "integrations.connect", "integrations.revoke", "integrations.test", "integrations.rotate-secret",
		"integrations.enable", "integrations.disable", "webhook-logs.get", "webhook-logs.retry",
		"api-keys.list", "api-keys.create", "api-keys.revoke", "api-keys.rotate", "audit-log.list", "webhook-logs.list",
	}
	// forKeys need a scope.
	forKeys = map[string]string{
		"integrations.search-patients": "patient.search", "integrations.search-records": "record.read",
		"integrations.search-appointments": "appointment.read", "integrations.log-interaction": "interaction.write",
	}
	// forReaders are for administrators, and for keys with patient.read or this scope.
	forReaders = map[string]string{
		"fhir.search-patients": "patient.read", "fhir.find-patients": "patient.read", "fhir.read-patient": "patient.read", "fhir.everything": "patient.read", "fhir.everything-by-post": "patient.read",
		"fhir.search-appointments": "appointment.read", "fhir.find-appointments": "appointment.read", "fhir.read-appointment": "appointment.read",
		"fhir.search-encounters": "appointment.read", "fhir.find-encounters": "appointment.read", "fhir.read-encounter": "appointment.read",
		"fhir.search-documents": "record.read", "fhir.find-documents": "record.read", "fhir.read-document": "record.read",
		"fhir.search-communications": "patient.read", "fhir.find-communications": "patient.read", "fhir.read-communication": "patient.read",
	}
	// forExporters are for administrators, and for keys with the scope of any type.
	forExporters = []string{"fhir.export", "fhir.export-by-post", "fhir.export-status", "fhir.export-file", "fhir.delete-export"}
	// forAnyKey are the hub's own, for whoever has a key.
	forAnyKey        = []string{"integrations.register", "integrations.unregister", "integrations.webhook"}
	forUsersAndKeys  = []string{"integrations.status"}
	everyScope       = []string{"patient.search", "patient.read", "record.read", "appointment.read", "payment.read", "message.send", "interaction.write"}
	bodiesOfTheHubs  = map[string]string{"api-keys.create": `{}`, "integrations.connect": `{"product":"messaging","api_key":"xyz_live_key","api_url":"https://peer.example.com/api/v1"}`}
	securityOfAccess = map[string][]map[string][]string{
		"anyone": nil, "users": {{"bearer": {}}}, "administrators": {{"bearer": {"admin"}}}, "any key": {{"key": {}}}, "users and keys": {{"bearer": {}}, {"key": {}}},
		"readers": {{"bearer": {"admin"}}, {"key": {}}},
	}
)

// TestEveryOperationHasItsCallers compares the callers of every operation with the OpenAPI
// document.
func TestEveryOperationHasItsCallers(t *testing.T) {
	t.Parallel()
	listed := map[string][]string{}
	for access, ids := range map[string][]string{
		"anyone": forAnyone, "users": forUsers, "administrators": forAdministrators, "any key": forAnyKey, "users and keys": forUsersAndKeys,
		"scope": slices.Collect(maps.Keys(forKeys)), "readers": slices.Concat(slices.Collect(maps.Keys(forReaders)), forExporters),
	} {
		for _, id := range ids {
			listed[id] = append(listed[id], access)
		}
	}
	served := map[string]bool{}
	for _, op := range clinictest.NewClinic(t).Operations() {
		served[op.ID] = true
		require.Len(t, listed[op.ID], 1, "say in one list who may call %s (%s %s)", op.ID, op.Method, op.Path)
		want := securityOfAccess[listed[op.ID][0]]
		if scope, ok := forKeys[op.ID]; ok {
			want = []map[string][]string{{"key": {scope}}}
		}
		require.ElementsMatch(t, want, op.Security, op.ID)
	}
	for id := range listed {
		require.True(t, served[id], "%s is not served", id)
	}
}

// CallOperation calls an operation with unknown ids and no body: permitted callers get 404
// or 422, others 401 or 403.
func CallOperation(clinic *clinictest.Clinic, op operation) answer {
	clinic.T.Helper()
	path := fillPlaceholders(op.Path, map[string]string{"{id}": uuid.NewString(), "{product}": "messaging", "{type}": "Patient"})
	if strings.HasPrefix(op.ID, "fhir.find-") {
		return clinic.Call(op.Method, path, "name=nobody", "Content-Type", "application/x-www-form-urlencoded")
	}
	return clinic.Call(op.Method, path, nil)
}

// Staff gets 403 from operations of administrators, with valid ids and bodies, and nothing
// changes.
func TestStaffIsRefusedAdminOperations(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewChartedClinic(t)
	staff, owned := clinic.AddStaff(), ResourceIDs(clinic)
	kept := func() string {
		return clinic.Snapshot() + clinic.Call("GET", "/integrations/", nil).Text + clinic.Call("GET", "/integrations/api-keys", nil).Text
	}
	clinic.NewKey()
	owned["{integration}"] = clinic.Call("GET", "/integrations/", nil).List[0]["id"].(string)
	owned["{delivery}"] = clinic.Items("/integrations/webhook-logs")[0]["id"].(string)
	owned["{key}"] = clinic.Get("/integrations/api-keys")["items"].([]any)[0].(object)["id"].(string)
	before, tried := kept(), 0
	for _, op := range clinic.Operations() {
		if !slices.Contains(forAdministrators, op.ID) {
			continue
		}
		tried++
		path := strings.NewReplacer("{id}", owned[idKind(op.Path)], "{product}", "messaging").Replace(op.Path)
		body := bodies[op.ID] + bodiesOfTheHubs[op.ID]
		staff.Refused(403, "admin_only", op.Method, path, bodyOf(fillPlaceholders(body, owned)))
	}
	require.Len(t, forAdministrators, tried)
	require.Equal(t, before, kept())
}

// Listed callers are admitted. Others get 401, or 403 if they are authenticated.
func TestRoles(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewChartedClinic(t)
	staff, nobody, key := clinic.AddStaff(), clinic.As(""), clinic.NewKey()
	with := map[string]*clinictest.Clinic{}
	for _, scope := range everyScope {
		with[scope] = clinic.NewKey(scope)
	}
	without := func(scopes ...string) *clinictest.Clinic {
		return clinic.NewKey(slices.DeleteFunc(slices.Clone(everyScope), func(s string) bool { return slices.Contains(scopes, s) })...)
	}
	let := func(op operation, who *clinictest.Clinic, as string) {
		require.NotContains(t, []int{401, 403}, CallOperation(who, op).Status, "%s as %s", op.ID, as)
	}
	shut := func(status int, op operation, who *clinictest.Clinic, as string) {
		got := CallOperation(who, op)
		require.Equal(t, status, got.Status, "%s as %s", op.ID, as)
		if strings.HasPrefix(op.Path, "/fhir") { // whoever refuses, in FHIR's form
			require.Equal(t, fhirType, got.Header.Get("Content-Type"), op.ID)
			require.NoError(t, fhirtest.Validate([]byte(got.Text)), op.ID)
		}
	}
	for _, op := range clinic.Operations() {
		if slices.Contains([]string{"integrations.revoke", "auth.refresh", "auth.login", "auth.logout"}, op.ID) {
			continue // they answer 401 and 404 by what is in the body or path, or end the login: TestLogout
		}
		if scope, ok := forKeys[op.ID]; ok {
			let(op, with[scope], scope)
			shut(403, op, without(scope), "another scope")
			shut(401, op, clinic.Clinic, "administrator")
			shut(401, op, nobody, "nobody")
			continue
		}
		if scope, ok := forReaders[op.ID]; ok {
			let(op, with[scope], scope)
			let(op, with["patient.read"], "patient.read")
			let(op, clinic.Clinic, "administrator")
			shut(403, op, without(scope, "patient.read"), "another scope")
			shut(403, op, staff, "staff")
			shut(401, op, nobody, "nobody")
			continue
		}
		switch {
		case slices.Contains(forExporters, op.ID):
			for _, scope := range []string{"patient.read", "appointment.read", "record.read"} {
				let(op, with[scope], scope)
			}
			let(op, clinic.Clinic, "administrator")
			shut(403, op, without("patient.read", "appointment.read", "record.read"), "other scopes")
			shut(403, op, staff, "staff")
			shut(401, op, nobody, "nobody")
		case slices.Contains(forAnyone, op.ID):
			let(op, nobody, "nobody")
		case slices.Contains(forUsers, op.ID):
			let(op, staff, "staff")
			let(op, clinic.Clinic, "administrator")
			shut(401, op, key, "a key")
			shut(401, op, nobody, "nobody")
		case slices.Contains(forAdministrators, op.ID):
			let(op, clinic.Clinic, "administrator")
			shut(401, op, key, "a key")
			shut(401, op, nobody, "nobody")
		case slices.Contains(forUsersAndKeys, op.ID):
			let(op, staff, "staff")
			let(op, with["message.send"], "a key")
			shut(401, op, nobody, "nobody")
		default:
			shut(401, op, staff, "staff")
			shut(401, op, nobody, "nobody")
		}
	}
}
