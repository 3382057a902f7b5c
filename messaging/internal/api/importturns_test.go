package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// A large import holds up no other company's: imports take turns.
func TestImportsTakeTurns(t *testing.T) {
	t.Parallel()
	start := func(company *messagingtest.Company, rows int) (path string) {
		var file strings.Builder
		file.WriteString("name,number\n")
		for i := range rows {
			_, _ = fmt.Fprintf(&file, "Contact %d,55119%08d\n", i, 10_000_000+i)
		}
		accepted := company.ImportContacts(file.String(), nil)
		require.Equal(t, 202, accepted.Status, accepted.Text)
		return messagingtest.Path("/contacts/imports", accepted.Body)
	}
	large := messagingtest.NewCompanyAlone(t)
	other := large.AnotherCompany()
	// The first batch of the large import waits until the other import is there.
	lock, err := large.Hub.Host.Pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = lock.Exec(t.Context(), `lock table messaging.contact_list_items, messaging.contacts in share mode`)
	require.NoError(t, err)
	slow := start(large, 12_000)
	quick := start(other, 2_001)
	require.NoError(t, lock.Commit(t.Context()))
	require.Eventually(t, func() bool { return other.Get(quick)["status"] == "done" }, time.Minute, 50*time.Millisecond)
	require.Equal(t, "running", large.Get(slow)["status"])
	require.Eventually(t, func() bool { return large.Get(slow)["status"] == "done" }, 2*time.Minute, 500*time.Millisecond)
	require.EqualValues(t, 12_000, large.Get(slow)["created"])
}
