//go:build unix

package hubtest_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// An address is nobody else's for as long as the test process lives, also while its
// server is down.
func TestFreeAddress(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 50 {
		address, err := hubtest.FreeAddress()
		require.NoError(t, err)
		require.False(t, seen[address], "%s was given twice", address)
		seen[address] = true
		listener, err := net.Listen("tcp", address)
		require.NoError(t, err)
		require.NoError(t, listener.Close())
	}
}
