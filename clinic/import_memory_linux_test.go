package clinic_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// most is the most memory that the process had at once, in MiB.
func (k *killable) most() (mib int) {
	k.t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", k.Pid()))
	require.NoError(k.t, err)
	_, after, found := strings.Cut(string(raw), "VmHWM:")
	require.True(k.t, found)
	_, err = fmt.Sscan(after, &mib)
	require.NoError(k.t, err)
	return mib >> 10
}

// importing gives the memory of a hub that took in a file, and of another that read it,
// both just started.
func (k *killable) importing(p *practice, lines int) (uploading, reading int) {
	k.t.Helper()
	const line = "Ana Souza;529.982.247-25;"
	file := "nome;cpf;obs\n" + strings.Repeat(line+strings.Repeat("x", 166-len(line))+"\n", lines)
	k.killed("import")
	held, err := k.db.Begin(k.t.Context())
	require.NoError(k.t, err)
	defer func() { _ = held.Rollback(context.Background()) }()
	_, err = held.Exec(k.t.Context(), `lock table clinic.patients in exclusive mode`) // so that nobody is taken in yet
	require.NoError(k.t, err)
	made := p.upload("csv", file)
	require.Equal(k.t, 202, made.status, made.text)
	uploading = k.most()
	k.Kill()
	require.NoError(k.t, held.Rollback(k.t.Context()))
	k.killed("import")
	path := "/imports/" + made.body["id"].(string)
	require.Eventually(k.t, func() bool { return p.get(path)["status"] == "done" }, 8*soon, 5*tick, "%s", k.LogTail())
	require.EqualValues(k.t, lines, p.get(path)["processed"])
	return uploading, k.most()
}

// The longest file that is taken needs room for itself while it comes in, up to three times
// over, and no more than a short one while it is read.
func TestImportMemory(t *testing.T) {
	t.Parallel()
	k := startKillable(t)
	p := k.practice()
	const longest, file = 100_000, 16 // lines of 167 bytes; with the form some bytes less than 16 MiB
	shortUp, shortRead := k.importing(p, longest/10)
	longUp, longRead := k.importing(p, longest)
	t.Logf("MiB at most while a file of 1.6 MiB comes in: %d, one of 16: %d; while they are read: %d and %d", shortUp, longUp, shortRead, longRead)
	require.Less(t, longUp, shortUp+4*file)
	require.Less(t, longRead, shortRead+file, "what is read is not held")
	require.Less(t, max(longUp, longRead), 192)
}
