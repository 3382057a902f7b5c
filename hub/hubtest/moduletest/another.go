//go:build unix

package moduletest

import (
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// Another starts one more process of the hub on the same databases.
func (k *HubProcess) Another() *HubProcess {
	k.T.Helper()
	other := *k
	address, err := hubtest.FreeAddress()
	require.NoError(k.T, err)
	other.address, other.dir = address, k.T.TempDir()
	other.Restart()
	return &other
}
