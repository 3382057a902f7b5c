package imports_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub/hubtest/moduletest"
)

// undoImport undoes an import and returns it when that is done.
func undoImport(clinic *clinictest.Clinic, id string) (result object) {
	clinic.T.Helper()
	clinic.OK(202, "POST", "/imports/"+id+"/undo", nil)
	require.Eventually(clinic.T, func() bool {
		result = clinic.Get("/imports/" + id)
		return result["undo"].(object)["status"] == "done"
	}, clinictest.Timeout, clinictest.Tick)
	require.NotNil(clinic.T, result["undo"].(object)["finished_at"])
	return result
}

// patientsByName returns the clinic's patients by name, without the times of changes.
func patientsByName(clinic *clinictest.Clinic) map[string]object {
	clinic.T.Helper()
	patients := make(map[string]object)
	for _, item := range clinic.Items("/patients") {
		delete(item, "updated_at")
		patients[item["name"].(string)] = item
	}
	return patients
}

// An undo removes who was created and restores who was changed. What something else touched
// stays, and the answer says so for each patient.
func TestUndoImport(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	clinic.OK(201, "POST", "/patients", object{"name": "Ana Souza", "cpf": clinictest.CPF, "email": "ana@example.com"})
	clinic.OK(201, "POST", "/patients", object{"name": "Bia Lima", "cpf": "529.982.247-25"})
	before := patientsByName(clinic)
	file := "id;nome;cpf;celular;nascimento\n1;ANA SOUZA;" + clinictest.CPF + ";11987654321;02/03/1980\n2;Bia Lima;52998224725;11987650000;\n" +
		"3;Caio Reis;;11987651111;\n4;Davi Sá;;;\n5;Eva Dias;111.444.777-35;;\n6;Fábio Luz;;;\n7;Gil Paz;;;\n"
	imported := clinic.ImportFrom("other", "csv", file)
	clinictest.RequireImportCounts(t, imported, 5, 2, 0, 0)
	require.Nil(t, imported["undo"])
	now := patientsByName(clinic)
	clinic.OK(200, "PUT", "/patients/"+now["Bia Lima"]["id"].(string), object{"email": "bia@example.com"})
	clinic.OK(201, "POST", "/patients/"+now["Davi Sá"]["id"].(string)+"/payments", object{"amount": 1, "due_date": clinictest.DateIn(t, 1)})
	clinic.OK(200, "PUT", "/patients/"+now["Fábio Luz"]["id"].(string), object{"status": "inactive"})
	clinic.Exec(`insert into clinic.linked_phones (clinic_id, env, phone_key, patient_id) select $1, env, '+5511955554444', id from clinic.patients where clinic_id = $1 and name = 'Gil Paz'`)
	sent := len(clinic.Events())

	id := imported["id"].(string)
	result := undoImport(clinic, id)
	require.Equal(t, object{"status": "done", "undone": 3.0, "kept": 4.0, "finished_at": result["undo"].(object)["finished_at"]}, result["undo"])
	require.Equal(t, []any{
		object{"patient_id": now["Bia Lima"]["id"], "line": 3.0, "reason": "was changed after the import"},
		object{"patient_id": now["Davi Sá"]["id"], "line": 5.0, "reason": "has records, appointments, payments or messages by now, or another import found the patient"},
		object{"patient_id": now["Fábio Luz"]["id"], "line": 7.0, "reason": "was changed after the import"},
		object{"patient_id": now["Gil Paz"]["id"], "line": 8.0, "reason": "has records, appointments, payments or messages by now, or another import found the patient"},
	}, result["kept_patients"])
	after := patientsByName(clinic)
	require.Len(t, after, 5)
	require.Equal(t, before["Ana Souza"], after["Ana Souza"])
	require.Contains(t, after, "Fábio Luz")
	require.Zero(t, clinic.QueryInt(`select count(*) from clinic.patient_references where clinic_id = $1 and patient_id = (select id from clinic.patients where clinic_id = $1 and name = 'Ana Souza')`), "the number in the other list is forgotten")
	require.Equal(t, "***.***.***-09", after["Ana Souza"]["cpf"])
	for _, eventType := range clinic.EventTypes(sent) {
		require.Equal(t, "patient.updated", eventType, "nobody asked to be erased")
	}
	require.Len(t, clinic.EventTypes(sent), 3)
	require.Zero(t, clinic.QueryInt(`select count(*) from clinic.import_matches where clinic_id = $1 and before_enc is not null`))
	clinic.Refused(409, "already_undone", "POST", "/imports/"+id+"/undo", nil)

	// The file can be imported again: who was removed comes back.
	clinictest.RequireImportCounts(t, clinic.ImportFrom("other", "csv", file), 2, 1, 4, 0)
}

// Imports are undone in the reverse order of their making.
func TestUndoOfSeveralImports(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	first := clinic.Import("csv", "id;nome\n1;Ana Souza\n")["id"].(string)
	second := clinic.Import("csv", "id;nome;email\n1;Ana Souza;ana@example.com\n")["id"].(string)
	third := clinic.Import("csv", "id;nome;cpf\n1;Ana Souza;"+clinictest.CPF+"\n")["id"].(string)
	require.EqualValues(t, 1, undoImport(clinic, second)["undo"].(object)["kept"], "the third changed the patient since")
	require.EqualValues(t, 1, undoImport(clinic, third)["undo"].(object)["undone"])
	require.Nil(t, clinic.Items("/patients")[0]["cpf"])
	require.EqualValues(t, 1, undoImport(clinic, first)["undo"].(object)["kept"], "the second is still there")
	require.Len(t, clinic.Items("/patients"), 1)
}

// Values that belong to another patient by now are not restored.
func TestUndoKeepsValuesOfOtherPatients(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.OK(201, "POST", "/patients", object{"name": "Ana Souza", "phone": clinictest.Phone})["id"].(string)
	clinic.Import("csv", "id;nome;celular\n7;Ana Souza;11987654321\n") // a patient beside Ana
	got := clinic.Import("csv", "nome;celular;status\nAna Souza;11987654321;inativo\n")
	clinictest.RequireImportCounts(t, got, 0, 0, 0, 1)
	clinic.OK(200, "PUT", "/patients/"+id, object{"cpf": clinictest.CPF})
	got = clinic.Import("csv", "nome;cpf;status\nAna Souza;"+clinictest.CPF+";inativo\n")
	clinictest.RequireImportCounts(t, got, 0, 1, 0, 0)
	require.EqualValues(t, 1, undoImport(clinic, got["id"].(string))["undo"].(object)["undone"])
	require.Equal(t, "active", clinic.Get("/patients/" + id)["status"])
}

func TestUndoIsRefused(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAt(t, time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC))
	imported := clinic.Import("csv", "nome\nAna\n")
	path := "/imports/" + imported["id"].(string) + "/undo"
	clinic.Refused(404, "not_found", "POST", "/imports/"+clinic.ID.String()+"/undo", nil)
	clinic.AddStaff().Refused(403, "admin_only", "POST", path, nil)
	clinic.AnotherClinic().Refused(404, "not_found", "POST", path, nil)
	tried := clinic.UploadImportWith(object{"dry_run": "true"}, "csv", "nome\nBia\n").Body["id"].(string)
	clinic.WaitForImport(tried)
	clinic.Refused(409, "dry_run", "POST", "/imports/"+tried+"/undo", nil)
	clinic.Exec(`insert into clinic.imports (clinic_id, env, id, format) values ($1, 'live', '00000000-0000-7000-8000-000000000001', 'csv')`)
	clinic.Refused(409, "import_running", "POST", "/imports/00000000-0000-7000-8000-000000000001/undo", nil)

	// After a day what was before is forgotten, an hour later than it can be undone.
	kept := func() int {
		return clinic.QueryInt(`select count(*) from clinic.import_matches where clinic_id = $1`)
	}
	clinic.Exec(`update clinic.imports set finished_at = finished_at - interval '24 hours 1 second' where clinic_id = $1 and finished_at is not null`)
	clinic.Refused(409, "undo_expired", "POST", path, nil)
	require.NoError(t, clinic.Job("imports").Run(t.Context(), nil))
	require.Equal(t, 1, kept())
	clinic.Exec(`update clinic.imports set finished_at = finished_at - interval '1 hour' where clinic_id = $1 and finished_at is not null`)
	require.NoError(t, clinic.Job("imports").Run(t.Context(), nil))
	require.Zero(t, kept())
	require.Len(t, clinic.Items("/patients"), 1)
}

// A dry run says what the import would do, line by line and over several batches, and
// changes nothing.
func TestDryRun(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	clinic.OK(201, "POST", "/patients", object{"name": "PACIENTE 3", "cpf": cpfNumber(3)})
	clinic.OK(201, "POST", "/patients", object{"name": "Bia Lima", "cpf": cpfNumber(4)})
	table := patientTable(250)
	_, rows, _ := strings.Cut(table, "\n")
	further := ";Paciente 7;;" + cpfNumber(7) + ";\n;Paciente 7;;" + cpfNumber(7) + ";31/12/1999\n9;Paciente 9;-;;\n;Paciente 8;+5511960000008;;09/09/1918\n"
	file := table + rows + further + "300;Zuleica;123;;\n301;;;;\n"
	for _, source := range []string{"", "other"} {
		snapshot := clinic.Snapshot()
		sent := len(clinic.Events())
		upload := clinic.UploadImportWith(object{"dry_run": "true", "source": source}, "csv", file)
		require.Equal(t, 202, upload.Status, upload.Text)
		require.Equal(t, true, upload.Body["dry_run"])
		tried := clinic.WaitForImport(upload.Body["id"].(string))
		require.Equal(t, true, tried["dry_run"])
		for _, table := range []string{"import_drafts", "import_chunks", "import_matches"} {
			require.Zero(t, clinic.QueryInt(`select count(*) from clinic.`+table+` where clinic_id = $1`), table)
		}
		clinic.Exec(`delete from clinic.imports where clinic_id = $1`)
		require.Equal(t, snapshot, clinic.Snapshot())
		require.Len(t, clinic.Events(), sent)
		if source == "other" {
			real := clinic.ImportFrom(source, "csv", file)
			require.Greater(t, real["failed"], 2.0)
			require.Greater(t, real["updated"], 0.0)
			require.Greater(t, real["skipped"], 240.0)
			for _, name := range []string{"total", "created", "updated", "skipped", "failed", "warned", "errors", "warnings"} {
				require.Equal(t, real[name], tried[name], name)
			}
		}
	}
}

// The answer to an upload says how the file is read.
func TestImportPreview(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	upload := clinic.UploadImport("csv", "Prontuário;Nome;Sobrenome;Telefone;Celular;CPF Nº;Nasc.;Obs\n17.0;Ana;Souza;11 3333-4444;11 98765-4321;529.982.247-25;2/3/80;x\n;;;;;N/A;1980;\n"+strings.Repeat("1;Bia;;;;;;\n", 30))
	require.Equal(t, 202, upload.Status, upload.Text)
	preview := upload.Body["preview"].(object)
	require.EqualValues(t, 32, preview["total"])
	var fields []any
	for _, column := range moduletest.Items(object{"items": preview["columns"]}) {
		fields = append(fields, column["field"])
	}
	require.Equal(t, []any{"external_id", "name", "family_name", "phone", "phone", "cpf", "birth_date", nil}, fields)
	require.Equal(t, object{"heading": "Obs", "field": nil}, preview["columns"].([]any)[7])
	rows := preview["rows"].([]any)
	require.Len(t, rows, 20)
	require.Equal(t, object{
		"line": 2.0, "external_id": "17", "name": "Ana Souza", "phone": "+5511987654321", "email": nil, "cpf": "***.***.***-25", "birth_date": "1980-03-02", "status": nil, "warnings": []any{}, "error": nil,
	}, rows[0])
	require.Equal(t, []any{"cpf is a placeholder: left out", "birth_date is not a whole date: left out"}, rows[1].(object)["warnings"])
	require.Equal(t, "name must not be empty", rows[1].(object)["error"])
	fhir := clinic.UploadImport("fhir-ndjson", `{"resourceType":"Patient","name":[{"text":"Ana"}]}`)
	require.Equal(t, []any{}, fhir.Body["preview"].(object)["columns"])
}

// What cannot be decrypted any more keeps its own patient only.
func TestUndoImportWithUnreadableData(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	const names = "Ana Bia Caio"
	ids := map[string]any{}
	for i, name := range strings.Fields(names) {
		ids[name] = clinic.OK(201, "POST", "/patients", object{"name": name + " Souza", "cpf": []string{clinictest.CPF, "529.982.247-25", "111.444.777-35"}[i]})["id"]
	}
	imported := clinic.Import("csv", "nome;cpf;email\nAna Souza;"+clinictest.CPF+";ana@example.com\nBia Souza;529.982.247-25;bia@example.com\nCaio Souza;111.444.777-35;caio@example.com\n")
	clinictest.RequireImportCounts(t, imported, 0, 3, 0, 0)
	clinic.Exec(`update clinic.patients set cpf_enc = 'broken' where clinic_id = $1 and id = $2`, ids["Ana"])
	clinic.Exec(`update clinic.import_matches set before_enc = 'broken' where clinic_id = $1 and patient_id = $2`, ids["Bia"])
	result := undoImport(clinic, imported["id"].(string))
	reason := "what is stored of this patient cannot be decrypted; who runs the hub can say why"
	require.Equal(t, []any{object{"patient_id": ids["Ana"], "line": 2.0, "reason": reason}, object{"patient_id": ids["Bia"], "line": 3.0, "reason": reason}}, result["kept_patients"])
	require.Nil(t, clinic.Get("/patients/" + ids["Caio"].(string))["email"])
}

// The errors and warnings of an import have initials of patients: they are deleted in time.
func TestCleanupDeletesOldErrorsAndWarnings(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	imported := clinic.Import("csv", "nome;cpf;email\nAna Souza;1;\n;;bia@example.com\n")
	path := "/imports/" + imported["id"].(string)
	require.Len(t, imported["errors"], 1)
	require.Len(t, imported["warnings"], 1)
	clinic.Exec(`update clinic.imports set finished_at = now() - interval '89 days' where clinic_id = $1`)
	require.NoError(t, clinic.Job("imports").Run(t.Context(), nil))
	require.Len(t, clinic.Get(path)["errors"], 1)
	clinic.Exec(`insert into clinic.import_errors (clinic_id, env, import_id, line, error) select clinic_id, env, id, n, 'x' from clinic.imports, generate_series(10, 1100) n where clinic_id = $1`)
	clinic.Exec(`update clinic.imports set finished_at = now() - interval '91 days' where clinic_id = $1`)
	require.NoError(t, clinic.Job("imports").Run(t.Context(), nil))
	require.Empty(t, clinic.Get(path)["errors"])
	require.Empty(t, clinic.Get(path)["warnings"])
	require.EqualValues(t, 1, clinic.Get(path)["failed"], "the counts stay")
}

// A batch of an undo that the database cannot do in time is halved, as one of an import.
func TestUndoSplitsSlowBatches(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	imported := clinic.Import("csv", patientTable(130))
	clinictest.RequireImportCounts(t, imported, 130, 0, 0, 0)
	_, err := clinic.Hub.Host.Pool.Exec(t.Context(), `
		create function clinic.refuse_many() returns trigger language plpgsql as $$
		begin
			perform set_config('clinic.deleted', (coalesce(nullif(current_setting('clinic.deleted', true), ''), '0')::int + 1)::text, true);
			if current_setting('clinic.deleted')::int > 30 then
				raise exception 'canceling statement due to statement timeout' using errcode = '57014';
			end if;
			return null;
		end $$;
		create trigger slow after delete on clinic.patients for each row execute function clinic.refuse_many()`)
	require.NoError(t, err)
	result := undoImport(clinic, imported["id"].(string))
	require.EqualValues(t, 130, result["undo"].(object)["undone"])
	require.Zero(t, clinic.QueryInt(`select count(*) from clinic.patients where clinic_id = $1`))
}
