package clinictest

import (
	"bytes"
	"io"
	"mime/multipart"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
)

// UploadImport uploads a file of patients; headers come in pairs.
func (c *Clinic) UploadImport(format, file string, headers ...string) moduletest.Response {
	c.T.Helper()
	return c.UploadImportWith(nil, format, file, headers...)
}

// UploadImportWith is [Clinic.UploadImport] with further fields of the form.
func (c *Clinic) UploadImportWith(fields object, format, file string, headers ...string) moduletest.Response {
	c.T.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "patients")
	require.NoError(c.T, err)
	_, err = io.WriteString(part, file)
	require.NoError(c.T, err)
	require.NoError(c.T, form.WriteField("format", format))
	for name, value := range fields {
		require.NoError(c.T, form.WriteField(name, value.(string)))
	}
	require.NoError(c.T, form.Close())
	response, err := c.Try("POST", "/imports", body.String(), append([]string{"Content-Type", form.FormDataContentType()}, headers...)...)
	require.NoError(c.T, err)
	return response
}

// Import uploads a file and returns the import once all of the file has been read.
func (c *Clinic) Import(format, file string) moduletest.Object {
	c.T.Helper()
	upload := c.UploadImport(format, file)
	require.Equal(c.T, 202, upload.Status, upload.Text)
	return c.WaitForImport(upload.Body["id"].(string))
}

// ImportFrom is [Clinic.Import] of a file from a list.
func (c *Clinic) ImportFrom(source, format, file string) moduletest.Object {
	c.T.Helper()
	upload := c.UploadImportWith(object{"source": source}, format, file)
	require.Equal(c.T, 202, upload.Status, upload.Text)
	return c.WaitForImport(upload.Body["id"].(string))
}

// WaitForImport waits until an import is done and returns it.
func (c *Clinic) WaitForImport(id string) moduletest.Object {
	c.T.Helper()
	var result object
	require.Eventually(c.T, func() bool {
		result = c.Get("/imports/" + id)
		return result["status"] == "done"
	}, Timeout, Tick)
	require.NotNil(c.T, result["finished_at"])
	require.Equal(c.T, result["total"], result["processed"])
	return result
}

// RequireImportCounts requires how many rows of an import had each outcome.
func RequireImportCounts(t testing.TB, result object, created, updated, skipped, failed int) {
	t.Helper()
	require.Equal(t, []any{float64(created), float64(updated), float64(skipped), float64(failed)},
		[]any{result["created"], result["updated"], result["skipped"], result["failed"]}, "%v", result)
}

// ImportTable is a CSV file of three patients, one of them with a line break in the name.
const ImportTable = `external_id;nome;telefone;email;cpf;nascimento
1;Ana Souza;(11) 98765-4321;ana@example.com;529.982.247-25;02/03/1980
2;"Caio
Lima";11 91234-5678;;;1975-12-31
3;José Conceição;;jose@example.com;;
`
