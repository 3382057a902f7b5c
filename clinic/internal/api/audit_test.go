package api_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// Every write is in the audit log, with its actor and patient and without values.
func TestWritesAreAudited(t *testing.T) {
	t.Parallel()
	p := clinictest.NewClinic(t)
	nobodys := map[string]bool{ // about no patient, or several
		"professionals.create": true, "professionals.update": true, "professionals.delete": true, "clinic.update": true, "users.create": true,
		"payments.run-overdue": true, "inbox.dismiss": true,
	}
	for _, w := range writes() {
		if w.do == nil {
			continue
		}
		f := p.AnotherClinic().WithRecords()
		require.Less(t, w.do(f).Status, 300, w.name)
		actor := "tenant_user"
		if w.name == "integrations.log-interaction" {
			actor = "key"
		}
		got := f.AuditEntries("&action=" + w.name)
		require.NotEmpty(t, got, w.name)
		require.Equal(t, clinictest.AuditEntry{Action: w.name, Actor: actor, Environment: "live", PatientID: got[0].PatientID}, got[0])
		switch {
		case nobodys[w.name]:
			require.Empty(t, got[0].PatientID, w.name)
		case w.name == "patients.create", w.name == "deletions.acknowledge": // of a patient of its own
			require.NoError(t, uuid.Validate(got[0].PatientID))
		default:
			require.Equal(t, f.PatientID, got[0].PatientID, w.name)
			require.Contains(t, f.AuditEntries("&patient_id="+f.PatientID), got[0])
		}
		var all string
		require.NoError(t, p.Hub.Host.Pool.QueryRow(t.Context(), `select string_agg(a::text, ' ') from hub.audit a where tenant_id = $1`, f.ID).Scan(&all))
		for _, value := range []string{"Ana", clinictest.Phone, clinictest.Phone[3:], clinictest.CPF, "12345678909", "ana@example.com", "Davi", "CRM", "cash", "Lua"} {
			require.NotContains(t, all, value, "%s: values", w.name)
		}
	}
}

// A login is on record, with who logged in.
func TestLoginsAreAudited(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	clinic.As("").Refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": clinic.Email, "password": "wrong password"})
	require.Empty(t, clinic.Items("/integrations/audit-log?action=auth.login"), "strangers cannot fill the log")
	clinic.As("").OK(200, "POST", "/auth/login", object{"email": clinic.Email, "password": clinictest.Password})
	entries := clinic.Items("/integrations/audit-log?action=auth.login")
	require.Len(t, entries, 1)
	actor := entries[0]["actor"].(object)
	require.Equal(t, []any{"tenant_user", clinic.Get("/auth/me")["id"], "auth", 200.0}, []any{actor["type"], actor["id"], entries[0]["resource"], entries[0]["status"]})
}

// Every read of patient data is in the audit log, and so is a search by a key.
func TestReadsAreAudited(t *testing.T) {
	t.Parallel()
	chart := clinictest.NewChart(t)
	staff := chart.AddStaff()
	for path, action := range map[string]string{
		"": "patients.get", "/records": "records.list", "/appointments": "appointments.list", "/payments": "payments.list", "/interactions": "interactions.list",
	} {
		staff.Get("/patients/" + chart.PatientID + path)
		require.Equal(t, clinictest.AuditEntry{Action: action, Actor: "tenant_user", Environment: "live", PatientID: chart.PatientID}, chart.AuditEntries("&action=" + action)[0])
	}
	for path, action := range map[string]string{
		"/api/v1/patients/" + chart.PatientID + "/export": "patients.export", "/fhir/Patient/" + chart.PatientID: "fhir.read-patient",
		"/fhir/Patient/" + chart.PatientID + "/$everything": "fhir.everything", "/fhir/DocumentReference/" + chart.RecordID: "fhir.read-document",
		"/fhir/Encounter?patient=" + chart.PatientID: "fhir.search-encounters", "/fhir/Patient?phone=11987654321": "fhir.search-patients",
	} {
		require.Equal(t, 200, chart.Call("GET", path, nil).Status)
		require.Equal(t, []clinictest.AuditEntry{{Action: action, Actor: "tenant_user", Environment: "live", PatientID: chart.PatientID}}, chart.AuditEntries("&action="+action), "once")
	}
	key := chart.NewKey()
	for path, action := range map[string]string{
		"patients?phone=5511987654321": "integrations.search-patients", "records?patient_id=" + chart.PatientID: "integrations.search-records",
		"appointments?patient_id=" + chart.PatientID: "integrations.search-appointments",
	} {
		key.Get("/integrations/search/" + path)
		require.Equal(t, []clinictest.AuditEntry{{Action: action, Actor: "key", Environment: "live", PatientID: chart.PatientID}}, chart.AuditEntries("&action="+action))
	}
	require.Equal(t, false, key.Get("/integrations/search/patients?phone=%2B5521999990000")["found"])
	require.Equal(t, clinictest.AuditEntry{Action: "integrations.search-patients", Actor: "key", Environment: "live", PatientID: ""}, chart.AuditEntries("")[0], "what finds nobody is on record too")

	chart.OK(201, "POST", "/patients", object{"name": "Gil"})
	for term, who := range map[string]string{"11987654321": chart.PatientID, "": "", "nobody": ""} { // one match has a subject, several have none
		before := len(chart.AuditEntries("&action=patients.search"))
		staff.SearchPatients(term)
		got := chart.AuditEntries("&action=patients.search")
		require.Len(t, got, before+1, "once")
		require.Equal(t, clinictest.AuditEntry{Action: "patients.search", Actor: "tenant_user", Environment: "live", PatientID: who}, got[0], term)
	}
	for query, who := range map[string]string{"": "", "?per_page=1": chart.PatientID, "?status=inactive": ""} {
		before := len(chart.AuditEntries("&action=patients.list"))
		staff.Get("/patients" + query)
		got := chart.AuditEntries("&action=patients.list")
		require.Len(t, got, before+1, "once")
		require.Equal(t, clinictest.AuditEntry{Action: "patients.list", Actor: "tenant_user", Environment: "live", PatientID: who}, got[0], query)
	}

	// Live and test data are separate.
	trial := chart.InEnvironment("test")
	other := trial.OK(201, "POST", "/patients", object{"name": "Ana"})["id"].(string)
	trial.Get("/patients/" + other)
	require.Equal(t, []clinictest.AuditEntry{{Action: "patients.get", Actor: "tenant_user", Environment: "test", PatientID: other}, {Action: "patients.create", Actor: "tenant_user", Environment: "test", PatientID: other}}, chart.AuditEntries("&environment=test"))

	// Another clinic's patient is nobody here, and its record nobody else's.
	foreign := chart.AnotherClinic()
	require.Equal(t, 404, foreign.Call("GET", "/patients/"+chart.PatientID, nil).Status)
	require.Empty(t, foreign.AuditEntries("&patient_id="+chart.PatientID))
}

// A read fails if its audit entry cannot be written, and the entries cannot be changed.
func TestReadFailsWithoutAudit(t *testing.T) {
	t.Parallel()
	chart := clinictest.NewClinicAlone(t).AddPatientWithChart()
	key, db := chart.NewKey(), chart.Hub.Host.Pool
	for _, statement := range []string{`update hub.audit set subject_id = null`, `delete from hub.audit`, `truncate hub.audit`} {
		_, err := db.Exec(t.Context(), statement)
		require.ErrorContains(t, err, "audit is append-only", statement)
	}
	_, err := db.Exec(t.Context(), `alter table hub.audit rename to audit_elsewhere`)
	require.NoError(t, err)
	for _, path := range []string{"/patients", "/patients/" + chart.PatientID, "/patients/" + chart.PatientID + "/records", "/patients/" + chart.PatientID + "/export?format=csv"} {
		got := chart.Call("GET", path, nil)
		require.GreaterOrEqual(t, got.Status, 500, path)
		require.NotContains(t, got.Text, "dson", "%s: shown without being on record", path)
		require.Empty(t, got.Header.Get("Content-Disposition"))
	}
	// So it is with searches by POST, and with whether there is anybody.
	const form = "application/x-www-form-urlencoded"
	for _, phone := range []string{"11987654321", "21999990000"} {
		for _, got := range []answer{
			chart.Call("POST", "/patients/search", object{"search": phone}), key.Call("GET", "/integrations/search/patients?phone="+phone, nil),
			chart.Call("POST", "/fhir/Patient/_search", "phone="+phone, "Content-Type", form), key.Call("POST", "/fhir/Patient/_search", "phone="+phone, "Content-Type", form),
		} {
			require.GreaterOrEqual(t, got.Status, 500, got.Text)
			require.NotContains(t, got.Body, "total")
			require.NotContains(t, got.Body, "found")
		}
	}
	_, err = db.Exec(t.Context(), `alter table hub.audit_elsewhere rename to audit`)
	require.NoError(t, err)
	require.Contains(t, chart.Call("GET", "/patients/"+chart.PatientID, nil).Text, "dson")
}
