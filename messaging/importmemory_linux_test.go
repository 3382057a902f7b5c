package messaging_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/messaging/internal/messagingtest"
)

// A file of a million contacts takes what its bytes take while it is uploaded and stored, and
// not what its rows would: up to three times the form, and no more for its rows.
func TestImportMemory(t *testing.T) {
	t.Parallel()
	hub := moduletest.StartHubProcess(t)
	company := messagingtest.SignUp(t, hub.Product("messaging"))
	const longest, file = 1_000_000, 16 // lines of 14 bytes and MiB of the form at most
	peak := func(lines int, fields map[string]string) int {
		var table strings.Builder
		table.WriteString("number\n")
		for i := range lines {
			_, _ = fmt.Fprintf(&table, "5511%09d\n", 900_000_000+i)
		}
		hub.Kill()
		hub.Restart()
		response := company.ImportContacts(table.String(), fields)
		for range 2 { // a busy machine may need longer than a request is given
			if response.Status == 503 {
				response = company.ImportContacts(table.String(), fields)
			}
		}
		require.Contains(t, []int{200, 202}, response.Status, response.Text)
		require.EqualValues(t, lines, response.Body["total"])
		return hub.PeakMemory()
	}
	short := peak(longest/100, map[string]string{"dryRun": "true"})
	long := peak(longest, nil)
	t.Logf("MiB at most while a file of %d lines comes in: %d, one of %d: %d", longest/100, short, longest, long)
	require.Less(t, long, short+5*file)
	require.Less(t, long, 224)
}
