package api_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub/hubtest/fhirtest"
)

const (
	contentWithCPF   = "Brought by Rui, CPF 529.982.247-25 or ５２９ ９８２ ２４７ ２５. F32.1"
	contentMaskedCPF = "Brought by Rui, CPF ***.***.***-25 or ***.***.***-25. F32.1"
)

// documentTexts returns the decoded attachments of the DocumentReferences in a bundle or a
// resource.
func documentTexts(t *testing.T, text string) (texts []string) {
	t.Helper()
	type document struct {
		Type    string `json:"resourceType"`
		Content []struct {
			Attachment struct {
				Data string `json:"data"`
				Raw  any    `json:"_data"`
			} `json:"attachment"`
		} `json:"content"`
	}
	var bundle struct {
		document
		Entry []struct {
			Resource document `json:"resource"`
		} `json:"entry"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &bundle))
	documents := []document{bundle.document}
	for _, entry := range bundle.Entry {
		documents = append(documents, entry.Resource)
	}
	for _, d := range documents {
		if d.Type == "DocumentReference" {
			plain, err := base64.StdEncoding.DecodeString(d.Content[0].Attachment.Data)
			require.NoError(t, err)
			texts = append(texts, string(plain))
		}
	}
	return texts
}

// A CPF in a record's content is masked wherever the content is shown. Administrators see
// it whole with reveal=cpf, where the clinic allows it. Diagnoses stay readable.
func TestTaxIDsInContent(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	staff, messaging := clinic.AddStaff(), clinic.ConnectPeer("messaging")
	id := clinic.AddPatient(clinictest.Phone)
	path := "/patients/" + id
	created := staff.OK(201, "POST", path+"/records", object{"date": "2026-03-02", "type": "consultation", "content": contentWithCPF, "summary": "Seen"})
	require.Equal(t, contentMaskedCPF, created["content"])
	require.Equal(t, false, created["content_withheld"])

	for _, who := range []*clinictest.Clinic{staff, clinic} {
		require.Equal(t, contentMaskedCPF, who.Items(path + "/records")[0]["content"])
	}
	require.Equal(t, contentMaskedCPF, clinic.Get(path + "/export")["records"].([]any)[0].(object)["content"])
	require.Equal(t, contentMaskedCPF, ExportRows(clinic, id)[1]["content"])
	for _, fhirPath := range []string{"/fhir/DocumentReference", "/fhir/DocumentReference/" + created["id"].(string), "/fhir/Patient/" + id + "/$everything", "/api/v1" + path + "/export?format=fhir"} {
		got := clinic.Call("GET", fhirPath, nil)
		require.Equal(t, 200, got.Status, got.Text)
		require.Equal(t, []string{contentMaskedCPF}, documentTexts(t, got.Text), fhirPath)
	}
	// Connected products get no content at all.
	key := clinic.NewKey()
	for _, path := range []string{"/integrations/search/records?patient_id=" + id, "/fhir/DocumentReference", "/fhir/Patient/" + id + "/$everything"} {
		got := key.Call("GET", path, nil)
		require.Equal(t, 200, got.Status, got.Text)
		require.NotContains(t, got.Text, "Brought by", path)
		require.NotContains(t, strings.Join(documentTexts(t, got.Text), " "), "Brought by", path)
	}
	require.Eventually(t, func() bool { return len(messaging.Received("record.created")) == 1 }, clinictest.Timeout, clinictest.Tick)
	require.NotContains(t, clinictest.JSON(t, messaging.Events), "Brought by")

	// Whole, on record.
	const reveal = "?reveal=cpf"
	for _, path := range []string{path + "/records", path + "/export"} {
		clinic.Refused(403, "reveal_forbidden", "GET", path+reveal, nil)
	}
	clinic.OK(200, "PUT", "/clinic", object{"reveal_cpf": true})
	staff.Refused(403, "reveal_forbidden", "GET", path+"/records"+reveal, nil)
	require.Empty(t, clinic.AuditEntries("&action=patients.reveal-cpf"))
	require.Equal(t, contentWithCPF, clinic.Items(path + "/records" + reveal)[0]["content"])
	require.Len(t, clinic.AuditEntries("&action=patients.reveal-cpf&patient_id="+id), 1)
	require.Equal(t, contentWithCPF, clinic.Get(path + "/export" + reveal)["records"].([]any)[0].(object)["content"])
	require.Len(t, clinic.AuditEntries("&action=patients.reveal-cpf&patient_id="+id), 2)
	require.Equal(t, contentMaskedCPF, clinic.Items(path + "/records")[0]["content"])
	clinic.Invalid("query.reveal", "GET", path+"/export?format=fhir&reveal=cpf", nil)
}

// After a deletion request only an administrator reads the content of the records, after
// stating a reason, which is stored with the name of who did.
func TestLockedContentNeedsAReason(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	staff := clinic.AddStaff()
	id, other := clinic.AddPatient(clinictest.Phone), clinic.AddPatient("+5511900001111")
	path := "/patients/" + id
	record := clinic.OK(201, "POST", path+"/records", object{"date": "2026-03-02", "type": "consultation", "content": contentWithCPF})["id"].(string)
	clinic.OK(201, "POST", path+"/records", object{"date": "2026-03-01", "type": "consultation", "summary": "No content"})
	clinic.OK(201, "POST", "/patients/"+other+"/records", object{"date": "2026-03-02", "type": "consultation", "content": "Readable"})
	const header, reason = "X-Access-Reason", "Ofício 17 do juízo, CPF 529.982.247-25"
	items := func(got answer) (list []object) {
		require.Equal(t, 200, got.Status, got.Text)
		for _, item := range got.Body["items"].([]any) {
			list = append(list, item.(object))
		}
		return list
	}
	get := func(who *clinictest.Clinic, path string, headers ...string) answer {
		return who.Call("GET", path, nil, headers...)
	}

	// Nothing is locked yet: no reason is needed, and none is stored.
	require.Equal(t, contentMaskedCPF, items(get(clinic, path+"/records", header, reason))[0]["content"])
	require.Equal(t, 0, clinic.QueryInt(`select count(*) from clinic.record_accesses where clinic_id = $1`))
	clinic.WaitForDeletion(clinic.RequestDeletion(id), "completed")

	for _, who := range []*clinictest.Clinic{staff, clinic} {
		list := items(get(who, path+"/records"))
		require.Equal(t, []any{"", true, true}, []any{list[0]["content"], list[0]["content_withheld"], list[0]["locked"]})
		require.Equal(t, []any{"", false, true}, []any{list[1]["content"], list[1]["content_withheld"], list[1]["locked"]}, "it has none")
	}
	require.Empty(t, clinic.Get(path + "/export")["records"].([]any)[0].(object)["content"])
	require.NotContains(t, clinictest.JSON(t, ExportRows(clinic, id)), "Brought by")
	for _, fhirPath := range []string{"/fhir/DocumentReference?patient=" + id, "/fhir/DocumentReference/" + record, "/fhir/Patient/" + id + "/$everything", "/api/v1" + path + "/export?format=fhir"} {
		got := get(clinic, fhirPath, "X-Ignored", reason)
		require.Equal(t, 200, got.Status, got.Text)
		require.Empty(t, strings.Join(documentTexts(t, got.Text), ""), fhirPath)
		require.Contains(t, got.Text, `"valueCode":"masked"`, fhirPath)
		require.NoError(t, fhirtest.Validate([]byte(got.Text)), fhirPath)
	}
	require.Equal(t, "Readable", items(get(staff, "/patients/"+other+"/records"))[0]["content"])

	// Who may not, and reasons that are none.
	for _, refused := range []answer{get(staff, path+"/records", header, reason)} {
		require.Equal(t, 403, refused.Status, refused.Text)
		require.Equal(t, "admin_only", refused.Body["code"])
	}
	for _, invalid := range []string{"too short", "    too short    ", strings.Repeat("x", 201)} {
		for _, target := range []string{path + "/records", path + "/export", path + "/export?format=csv"} {
			refused := get(clinic, target, header, invalid)
			require.Equal(t, 422, refused.Status, refused.Text)
			require.Equal(t, "header.X-Access-Reason", refused.Body["errors"].([]any)[0].(object)["location"])
		}
	}
	require.Equal(t, 422, get(clinic, path+"/export?format=fhir", header, reason).Status)
	require.Equal(t, 0, clinic.QueryInt(`select count(*) from clinic.record_accesses where clinic_id = $1`))
	require.Empty(t, clinic.AuditEntries("&action=records.open-locked"))

	// An administrator with a reason: still masked, and whole only with reveal=cpf.
	shown := items(get(clinic, path+"/records", header, reason))[0]
	require.Equal(t, []any{contentMaskedCPF, false}, []any{shown["content"], shown["content_withheld"]})
	require.Equal(t, contentMaskedCPF, get(clinic, path+"/export", header, "ten chars!").Body["records"].([]any)[0].(object)["content"])
	require.Contains(t, get(clinic, path+"/export?format=csv", header, strings.Repeat("x", 200)).Text, contentMaskedCPF)
	clinic.OK(200, "PUT", "/clinic", object{"reveal_cpf": true})
	require.Equal(t, contentWithCPF, items(get(clinic, path+"/records?reveal=cpf", header, "Of\xedcio 17 do ju\xedzo"))[0]["content"], "Latin-1, as browsers send it")

	var reasons []string
	accesses := clinic.Items(path + "/record-accesses")
	for _, access := range accesses {
		require.Equal(t, id, access["patient_id"])
		require.Equal(t, clinic.Get("/auth/me")["id"], access["user_id"])
		require.Equal(t, clinic.Get("/auth/me")["name"], access["user_name"])
		reasons = append(reasons, access["reason"].(string))
	}
	require.Equal(t, []string{"Ofício 17 do juízo", strings.Repeat("x", 200), "ten chars!", "Ofício 17 do juízo, CPF ***.***.***-25"}, reasons)
	entries := clinic.Items("/integrations/audit-log?action=records.open-locked")
	require.Len(t, entries, 4)
	for i, entry := range entries {
		require.Equal(t, accesses[i]["id"], entry["resource_id"])
		require.Equal(t, id, entry["subject_id"])
	}
	require.Equal(t, http.StatusNotFound, get(clinic.AnotherClinic(), path+"/record-accesses").Status)
	require.Empty(t, clinic.Items("/patients/"+other+"/record-accesses"))
}

// Locked content stays closed while its opening cannot be recorded.
func TestLockedContentStaysClosedWithoutAudit(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	id := clinic.AddPatient(clinictest.Phone)
	clinic.OK(201, "POST", "/patients/"+id+"/records", object{"date": "2026-03-02", "type": "consultation", "content": contentWithCPF})
	clinic.WaitForDeletion(clinic.RequestDeletion(id), "completed")
	for _, table := range []string{"hub.audit", "clinic.record_accesses"} {
		_, err := clinic.Hub.Host.Pool.Exec(t.Context(), "alter table "+table+" rename to elsewhere")
		require.NoError(t, err)
		for _, path := range []string{"/records", "/export", "/export?format=csv"} {
			got := clinic.Call("GET", "/patients/"+id+path, nil, "X-Access-Reason", "A court asks for it")
			require.GreaterOrEqual(t, got.Status, 500, "%s %s", table, path)
			require.NotContains(t, got.Text, "Brought by")
		}
		schema, name, _ := strings.Cut(table, ".")
		_, err = clinic.Hub.Host.Pool.Exec(t.Context(), "alter table "+schema+".elsewhere rename to "+name)
		require.NoError(t, err)
	}
}
