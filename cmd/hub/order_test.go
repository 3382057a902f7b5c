package main_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The example of docs/order.md does what it says: the second event of a key waits behind the
// first, and is sent next once the first is discarded.
func TestOrderExample(t *testing.T) {
	t.Parallel()
	_, c := ownHub(t)
	parked, discarded := "# The first is parked", "# The first is discarded"
	before, after, found := strings.Cut(c.runExample("docs/order.md",
		parked, "until [ -n \"$(hub deliveries list --status parked -q)\" ]; do sleep 0.1; done\n"+parked, // people are slower
		discarded, "echo ===\n"+discarded), "===\n")
	require.True(t, found)
	for _, text := range []string{"order.paid", "order-1042", "in the order of its key, and 1 go first", "hub deliveries discard"} {
		require.Contains(t, before, text)
	}
	require.Regexp(t, `reason +discarded`, after)
}
