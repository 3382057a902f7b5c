package moduletest

import (
	"fmt"
	"os"
	"strings"

	"github.com/stretchr/testify/require"
)

// PeakMemory returns the largest memory that the process has used at once, in MiB.
func (k *HubProcess) PeakMemory() (mib int) {
	k.T.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", k.Pid()))
	require.NoError(k.T, err)
	_, after, found := strings.Cut(string(raw), "VmHWM:")
	require.True(k.T, found)
	_, err = fmt.Sscan(after, &mib)
	require.NoError(k.T, err)
	return mib >> 10
}
