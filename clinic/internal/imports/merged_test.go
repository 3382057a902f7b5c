package imports_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// A list has a person twice, and a user merges the two patients. From then on both numbers of the
// list describe the survivor, in the clinic's own list as in others, until the merge is undone or
// the person is erased.
func TestImportAfterAMerge(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"", "old system"} {
		clinic := clinictest.NewClinic(t)
		const first, second = "código;nome;nascimento\n17;Ana Souza;02/03/1980\n", "código;nome;nascimento\n18;Ana M Souza;03/02/1980\n"
		const both = "código;nome;nascimento\n17;Ana Souza;\n18;Ana M Souza;\n"
		for _, file := range []string{first, second} {
			require.EqualValues(t, 1, clinic.ImportFrom(source, "csv", file)["created"])
		}
		patients := map[string]string{}
		for _, patient := range clinic.Items("/patients") {
			patients[patient["name"].(string)] = patient["id"].(string)
		}
		require.Len(t, patients, 2)
		merged, survivor := patients["Ana Souza"], patients["Ana M Souza"]
		merge := clinic.OK(200, "POST", "/patients/"+merged+"/merge", object{"into": survivor})["merge_id"].(string)

		for _, dryRun := range []string{"true", "false"} {
			response := clinic.UploadImportWith(object{"source": source, "dry_run": dryRun}, "csv", both)
			done := clinic.WaitForImport(response.Body["id"].(string))
			require.Equal(t, []any{0.0, 2.0, 0.0, []any{}}, []any{done["created"], done["skipped"], done["failed"], done["errors"]}, "dry run %s from %q", dryRun, source)
			require.Empty(t, done["warnings"])
		}
		require.Len(t, clinic.Items("/patients"), 1)

		clinic.OK(200, "POST", "/merges/"+merge+"/undo", nil)
		require.EqualValues(t, 0, clinic.ImportFrom(source, "csv", first)["created"])
		require.Len(t, clinic.Items("/patients"), 2)
		require.Equal(t, 0, clinic.QueryInt(`select count(*) from clinic.patient_references where clinic_id = $1 and source = 'MERGED'`))

		clinic.OK(200, "POST", "/patients/"+merged+"/merge", object{"into": survivor})
		clinic.WaitForDeletion(clinic.RequestDeletion(survivor), "completed")
		done := clinic.ImportFrom(source, "csv", both)
		require.EqualValues(t, 0, done["created"], "the person was erased")
	}
}
