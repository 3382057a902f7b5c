package clinictest

import (
	"bytes"
	"io"
	"mime/multipart"
	"testing"

	"github.com/stretchr/testify/require"
)

// UploadImport sends a file to be imported; headers come in pairs.
func (p *Clinic) UploadImport(format, file string, headers ...string) answer {
	p.T.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "patients")
	require.NoError(p.T, err)
	_, err = io.WriteString(part, file)
	require.NoError(p.T, err)
	require.NoError(p.T, form.WriteField("format", format))
	require.NoError(p.T, form.Close())
	got, err := p.Try("POST", "/imports", body.String(), append([]string{"Content-Type", form.FormDataContentType()}, headers...)...)
	require.NoError(p.T, err)
	return got
}

// Import uploads a file and gives how it stands once all of it has been read.
func (p *Clinic) Import(format, file string) object {
	p.T.Helper()
	made := p.UploadImport(format, file)
	require.Equal(p.T, 202, made.Status, made.Text)
	return p.WaitForImport(made.Body["id"].(string))
}

func (p *Clinic) WaitForImport(id string) object {
	p.T.Helper()
	var got object
	require.Eventually(p.T, func() bool {
		got = p.Get("/imports/" + id)
		return got["status"] == "done"
	}, Timeout, Tick)
	require.NotNil(p.T, got["finished_at"])
	require.Equal(p.T, got["total"], got["processed"])
	return got
}

// RequireImportCounts requires what came of the lines of an import.
func RequireImportCounts(t *testing.T, got object, created, updated, skipped, failed int) {
	t.Helper()
	require.Equal(t, []any{float64(created), float64(updated), float64(skipped), float64(failed)},
		[]any{got["created"], got["updated"], got["skipped"], got["failed"]}, "%v", got)
}

const ImportTable = `external_id;nome;telefone;email;cpf;nascimento
1;Ana Souza;(11) 98765-4321;ana@example.com;529.982.247-25;02/03/1980
2;"Caio
Lima";11 91234-5678;;;1975-12-31
3;José Conceição;;jose@example.com;;
`
