package imports_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// most is the most memory that the process had at once, in MiB.
func most(k *clinictest.HubProcess) (mib int) {
	k.T.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", k.Pid()))
	require.NoError(k.T, err)
	_, after, found := strings.Cut(string(raw), "VmHWM:")
	require.True(k.T, found)
	_, err = fmt.Sscan(after, &mib)
	require.NoError(k.T, err)
	return mib >> 10
}

// importing gives the memory of a hub that took in a file, and of another that read it,
// both just started.
func importing(k *clinictest.HubProcess, p *clinictest.Clinic, lines int) (uploading, reading int) {
	k.T.Helper()
	const line = "Ana Souza;529.982.247-25;"
	file := "nome;cpf;obs\n" + strings.Repeat(line+strings.Repeat("x", 166-len(line))+"\n", lines)
	k.KillAndRestart("import")
	held, err := k.DB.Begin(k.T.Context())
	require.NoError(k.T, err)
	defer func() { _ = held.Rollback(context.Background()) }()
	_, err = held.Exec(k.T.Context(), `lock table clinic.patients in exclusive mode`) // so that nobody is taken in yet
	require.NoError(k.T, err)
	made := p.UploadImport("csv", file)
	require.Equal(k.T, 202, made.Status, made.Text)
	uploading = most(k)
	k.Kill()
	require.NoError(k.T, held.Rollback(k.T.Context()))
	k.KillAndRestart("import")
	path := "/imports/" + made.Body["id"].(string)
	require.Eventually(k.T, func() bool { return p.Get(path)["status"] == "done" }, 8*clinictest.Timeout, 5*clinictest.Tick, "%s", k.LogTail())
	require.EqualValues(k.T, lines, p.Get(path)["processed"])
	return uploading, most(k)
}

// The longest file that is taken needs room for itself while it comes in, up to three times
// over, and no more than a short one while it is read.
func TestImportMemory(t *testing.T) {
	t.Parallel()
	k := clinictest.StartHubProcess(t)
	p := k.RegisterClinic()
	const longest, file = 100_000, 16 // lines of 167 bytes; with the form some bytes less than 16 MiB
	shortUp, shortRead := importing(k, p, longest/10)
	longUp, longRead := importing(k, p, longest)
	t.Logf("MiB at most while a file of 1.6 MiB comes in: %d, one of 16: %d; while they are read: %d and %d", shortUp, longUp, shortRead, longRead)
	require.Less(t, longUp, shortUp+4*file)
	require.Less(t, longRead, shortRead+file, "what is read is not held")
	require.Less(t, max(longUp, longRead), 192)
}
