package clinic_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/fhirtest"
)

// Who may call what. Every operation that is served stands in one of these, once: they
// are written down here and not read from the table of routes, so that whoever changes a
// route's callers has to say so twice.
var (
	forAnyone = []string{
		"auth.register", "auth.login", "auth.refresh", "auth.forgot-password", "auth.reset-password", "fhir.metadata", "fhir.everything-definition",
	}
	forUsers = []string{
		"auth.me", "clinic.get", "professionals.list",
		"patients.list", "patients.search", "patients.create", "patients.get", "patients.update", "patients.delete",
		"records.list", "records.create", "appointments.list", "appointments.create", "appointments.update",
		"payments.list", "payments.create", "payments.pay", "payments.cancel", "interactions.list", "interactions.create",
	}
	forAdministrators = []string{
		"clinic.update", "users.list", "users.create", "users.update", "users.delete",
		"professionals.create", "professionals.update", "professionals.delete", "payments.run-overdue", "patients.export",
		"deletions.request", "deletions.list", "deletions.get", "deletions.acknowledge", "imports.list", "imports.create", "imports.get",
		"inbox.list", "inbox.link", "inbox.dismiss",
		"integrations.list", "integrations.get", "integrations.connect", "integrations.revoke", "integrations.test", "integrations.rotate-secret",
		"api-keys.list", "api-keys.create", "api-keys.revoke", "api-keys.rotate", "audit-log.list", "webhook-logs.list",
	}
	// forKeys need a scope.
	forKeys = map[string]string{
		"integrations.search-patients": "patient.search", "integrations.search-records": "record.read",
		"integrations.search-appointments": "appointment.read", "integrations.log-interaction": "interaction.write",
	}
	// forReaders are for administrators, and for keys with patient.read or this scope.
	forReaders = map[string]string{
		"fhir.search-patients": "patient.read", "fhir.find-patients": "patient.read", "fhir.read-patient": "patient.read", "fhir.everything": "patient.read",
		"fhir.search-appointments": "appointment.read", "fhir.find-appointments": "appointment.read", "fhir.read-appointment": "appointment.read",
		"fhir.search-encounters": "appointment.read", "fhir.find-encounters": "appointment.read", "fhir.read-encounter": "appointment.read",
		"fhir.search-documents": "record.read", "fhir.find-documents": "record.read", "fhir.read-document": "record.read",
		"fhir.search-communications": "patient.read", "fhir.find-communications": "patient.read", "fhir.read-communication": "patient.read",
	}
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

// TestEveryOperationHasItsCallers finds operations that nobody listed, and lists that the
// document contradicts.
func TestEveryOperationHasItsCallers(t *testing.T) {
	t.Parallel()
	listed := map[string][]string{}
	for access, ids := range map[string][]string{
		"anyone": forAnyone, "users": forUsers, "administrators": forAdministrators, "any key": forAnyKey, "users and keys": forUsersAndKeys,
		"scope": slices.Collect(maps.Keys(forKeys)), "readers": slices.Collect(maps.Keys(forReaders)),
	} {
		for _, id := range ids {
			listed[id] = append(listed[id], access)
		}
	}
	served := map[string]bool{}
	for _, op := range newPractice(t).document() {
		served[op.id] = true
		require.Len(t, listed[op.id], 1, "say in one list who may call %s (%s %s)", op.id, op.method, op.path)
		want := securityOfAccess[listed[op.id][0]]
		if scope, ok := forKeys[op.id]; ok {
			want = []map[string][]string{{"key": {scope}}}
		}
		require.ElementsMatch(t, want, op.security, op.id)
	}
	for id := range listed {
		require.True(t, served[id], "%s is not served", id)
	}
}

// asked calls an operation with ids that nobody has and no body: who may call it is
// told that, and nobody else.
func (p *practice) asked(op operation) answer {
	p.t.Helper()
	path := fill(op.path, map[string]string{"{id}": uuid.NewString(), "{product}": "messaging"})
	if strings.HasPrefix(op.id, "fhir.find-") {
		return p.call(op.method, path, "name=nobody", "Content-Type", "application/x-www-form-urlencoded")
	}
	return p.call(op.method, path, nil)
}

// Staff gets 403 from what is for administrators, with good ids and bodies, and nothing
// is changed.
func TestStaffMayNot(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	staff, owned := f.staff(), f.owned()
	kept := func() string {
		return f.snapshot() + f.call("GET", "/integrations/", nil).text + f.call("GET", "/integrations/api-keys", nil).text
	}
	f.key()
	owned["{integration}"] = f.call("GET", "/integrations/", nil).list[0]["id"].(string)
	owned["{key}"] = f.get("/integrations/api-keys")["items"].([]any)[0].(object)["id"].(string)
	before, tried := kept(), 0
	for _, op := range f.document() {
		if !slices.Contains(forAdministrators, op.id) {
			continue
		}
		tried++
		path := strings.NewReplacer("{id}", owned[kindOf(op.path)], "{product}", "messaging").Replace(op.path)
		body := bodies[op.id] + bodiesOfTheHubs[op.id]
		staff.refused(403, "admin_only", op.method, path, bodyOf(fill(body, owned)))
	}
	require.Len(t, forAdministrators, tried)
	require.Equal(t, before, kept())
}

// Who is listed is let in, whoever is not is 401, or 403 where it is known who that is.
func TestRoles(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	staff, nobody, key := f.staff(), f.as(""), f.key()
	with := map[string]*practice{}
	for _, scope := range everyScope {
		with[scope] = f.key(scope)
	}
	without := func(scopes ...string) *practice {
		return f.key(slices.DeleteFunc(slices.Clone(everyScope), func(s string) bool { return slices.Contains(scopes, s) })...)
	}
	let := func(op operation, who *practice, as string) {
		require.NotContains(t, []int{401, 403}, who.asked(op).status, "%s as %s", op.id, as)
	}
	shut := func(status int, op operation, who *practice, as string) {
		got := who.asked(op)
		require.Equal(t, status, got.status, "%s as %s", op.id, as)
		if strings.HasPrefix(op.path, "/fhir") { // whoever refuses, in FHIR's form
			require.Equal(t, fhirType, got.header.Get("Content-Type"), op.id)
			require.NoError(t, fhirtest.Validate([]byte(got.text)), op.id)
		}
	}
	for _, op := range f.document() {
		if op.id == "integrations.revoke" || op.id == "auth.refresh" || op.id == "auth.login" {
			continue // they answer 401 and 404 by what is in the body or path
		}
		if scope, ok := forKeys[op.id]; ok {
			let(op, with[scope], scope)
			shut(403, op, without(scope), "another scope")
			shut(401, op, f.practice, "administrator")
			shut(401, op, nobody, "nobody")
			continue
		}
		if scope, ok := forReaders[op.id]; ok {
			let(op, with[scope], scope)
			let(op, with["patient.read"], "patient.read")
			let(op, f.practice, "administrator")
			shut(403, op, without(scope, "patient.read"), "another scope")
			shut(403, op, staff, "staff")
			shut(401, op, nobody, "nobody")
			continue
		}
		switch {
		case slices.Contains(forAnyone, op.id):
			let(op, nobody, "nobody")
		case slices.Contains(forUsers, op.id):
			let(op, staff, "staff")
			let(op, f.practice, "administrator")
			shut(401, op, key, "a key")
			shut(401, op, nobody, "nobody")
		case slices.Contains(forAdministrators, op.id):
			let(op, f.practice, "administrator")
			shut(401, op, key, "a key")
			shut(401, op, nobody, "nobody")
		case slices.Contains(forUsersAndKeys, op.id):
			let(op, staff, "staff")
			let(op, with["message.send"], "a key")
			shut(401, op, nobody, "nobody")
		default:
			shut(401, op, staff, "staff")
			shut(401, op, nobody, "nobody")
		}
	}
}
