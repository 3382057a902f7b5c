package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// New contacts of an import are bulk, in both sizes, for connected products and webhooks;
// one that a user adds is not.
func TestImportedContactsAreBulk(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	company.ConnectPeer("clinic")
	count := func(priority int) (n int) {
		require.NoError(t, company.Hub.Host.Pool.QueryRow(t.Context(), `
			select count(*) from hub.events where tenant_id = $1 and event_type = 'contact.created' and priority = $2`, company.Tenant, priority).Scan(&n))
		return n
	}
	company.OK(201, "POST", "/contacts", object{"name": "Ana", "number": "5511987654321"})
	require.Equal(t, []int{1, 0}, []int{count(0), count(1)})
	small := company.ImportContacts("nome;telefone\nBia;5511987654322\n", nil)
	require.Equal(t, 200, small.Status, small.Text)
	require.Equal(t, []int{1, 1}, []int{count(0), count(1)})
	var table strings.Builder
	table.WriteString("nome;telefone\n")
	for n := range 2001 {
		fmt.Fprintf(&table, "Contact %d;55119%08d\n", n, 80_000_000+n)
	}
	large := company.ImportContacts(table.String(), nil)
	require.Equal(t, 202, large.Status, large.Text)
	require.Eventually(t, func() bool { return count(1) == 2002 }, time.Minute, 10*time.Millisecond)
	require.Equal(t, 1, count(0))
}
