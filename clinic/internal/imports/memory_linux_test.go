package imports_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// measureImport returns the peak memory of a process that stored an uploaded file, and of
// another that imported it, in MiB.
func measureImport(hub *clinictest.HubProcess, clinic *clinictest.Clinic, lines int) (uploading, reading int) {
	hub.T.Helper()
	const line = "Ana Souza;529.982.247-25;"
	file := "nome;cpf;obs\n" + strings.Repeat(line+strings.Repeat("x", 166-len(line))+"\n", lines)
	hub.KillAndRestart("import-file")
	held, err := hub.DB.Begin(hub.T.Context())
	require.NoError(hub.T, err)
	defer func() { _ = held.Rollback(context.Background()) }()
	_, err = held.Exec(hub.T.Context(), `lock table clinic.patients in exclusive mode`) // so that nobody is taken in yet
	require.NoError(hub.T, err)
	created := clinic.UploadImport("csv", file)
	require.Equal(hub.T, 202, created.Status, created.Text)
	uploading = hub.PeakMemory()
	hub.Kill()
	require.NoError(hub.T, held.Rollback(hub.T.Context()))
	hub.KillAndRestart("import-file")
	path := "/imports/" + created.Body["id"].(string)
	require.Eventually(hub.T, func() bool { return clinic.Get(path)["status"] == "done" }, 8*clinictest.Timeout, 5*clinictest.Tick, "%s", hub.LogTail())
	require.EqualValues(hub.T, lines, clinic.Get(path)["processed"])
	return uploading, hub.PeakMemory()
}

// The longest file needs up to three times its length in memory while it is uploaded, and no
// more than a short one while it is imported.
func TestImportMemory(t *testing.T) {
	t.Parallel()
	hub := clinictest.StartHubProcess(t)
	clinic := hub.RegisterClinic()
	const longest, file = 100_000, 16 // lines of 167 bytes; with the form some bytes less than 16 MiB
	shortUp, shortRead := measureImport(hub, clinic, longest/10)
	longUp, longRead := measureImport(hub, clinic, longest)
	t.Logf("MiB at most while a file of 1.6 MiB comes in: %d, one of 16: %d; while they are read: %d and %d", shortUp, longUp, shortRead, longRead)
	require.Less(t, longUp, shortUp+4*file)
	require.Less(t, longRead, shortRead+file, "what is read is not held")
	require.Less(t, max(longUp, longRead), 192)
}
