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
		accepted := company.ImportContacts(tableOfContacts(rows), nil)
		require.Equal(t, 202, accepted.Status, accepted.Text)
		return messagingtest.Path("/contacts/imports", accepted.Body)
	}
	large := messagingtest.NewCompanyAlone(t)
	other := large.AnotherCompany()
	// The first batch of the large import waits until the other import is there.
	lock, err := large.Hub.Host.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = lock.Rollback(t.Context()) }()
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

// A company has five imports in progress at a time: more are refused, and leave those of others alone.
func TestTooManyImports(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	other := company.AnotherCompany()
	lock, err := company.Hub.Host.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = lock.Rollback(t.Context()) }()
	_, err = lock.Exec(t.Context(), `lock table messaging.contacts in share mode`)
	require.NoError(t, err)
	file := tableOfContacts(2001)
	var paths []string
	for range 5 {
		accepted := company.ImportContacts(file, nil)
		require.Equal(t, 202, accepted.Status, accepted.Text)
		paths = append(paths, messagingtest.Path("/contacts/imports", accepted.Body))
	}
	refused := company.ImportContacts(file, nil)
	require.Equal(t, 429, refused.Status, refused.Text)
	require.Equal(t, "ERR_TOO_MANY_IMPORTS", refused.Body["error"])
	require.Equal(t, "60", refused.Header.Get("Retry-After"))
	require.Equal(t, 200, company.ImportContacts(file, map[string]string{"dryRun": "true"}).Status)
	require.Equal(t, 202, other.ImportContacts(file, nil).Status)
	require.NoError(t, lock.Rollback(t.Context()))
	require.Eventually(t, func() bool { return company.Get(paths[4])["status"] == "done" }, time.Minute, 50*time.Millisecond)
	require.Equal(t, 202, company.ImportContacts(file, nil).Status)
}

// A company whose files take long to be read leaves a place to the files of others.
func TestFilesOfACompanyAtOnce(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	other := company.AnotherCompany()
	require.Equal(t, 200, company.ImportContacts(tableOfContacts(1), nil).Status)
	lock, err := company.Hub.Host.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = lock.Rollback(t.Context()) }()
	_, err = lock.Exec(t.Context(), `select from messaging.contacts where company_id = $1 for update`, company.ID)
	require.NoError(t, err)
	answers := make(chan int, 3)
	for range cap(answers) {
		go func() { answers <- company.ImportContacts(tableOfContacts(1), nil).Status }()
	}
	require.Eventually(t, func() bool {
		return company.Hub.Count(`pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`) >= 1
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, 200, other.ImportContacts(tableOfContacts(1), nil).Status)
	require.NoError(t, lock.Rollback(t.Context()))
	for range cap(answers) {
		require.Equal(t, 200, <-answers)
	}
}

// tableOfContacts returns a file with so many rows.
func tableOfContacts(rows int) string {
	var file strings.Builder
	file.WriteString("name,number\n")
	for i := range rows {
		_, _ = fmt.Fprintf(&file, "Contact %d,55119%08d\n", i, 10_000_000+i)
	}
	return file.String()
}
