package productapi_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Requests of a tenant's users that take long leave the hub's routes, and its database connections,
// to other tenants.
func TestUsersOfATenantAtOnce(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	o, other := n.signUp("notes"), n.signUp("notes")
	lock, err := n.db.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = lock.Rollback(t.Context()) }()
	_, err = lock.Exec(t.Context(), `lock table hub.keys in access exclusive mode`)
	require.NoError(t, err)
	answers := make(chan answer, 8)
	for range cap(answers) {
		go func() {
			response, _ := try("GET", o.integrations()+"/api-keys", "", bearer(o.admin)...) // no response has no status
			answers <- response
		}()
	}
	for range 2 {
		select {
		case refused := <-answers:
			require.Equal(t, 429, refused.status, refused.text)
			require.Equal(t, "1", refused.header.Get("Retry-After"))
		case <-time.After(20 * time.Second):
			t.Fatal("eight requests wait for the database")
		}
	}
	other.do(200, "GET", "/audit-log?limit=1", "")
	require.NoError(t, lock.Rollback(t.Context()))
	for range 6 {
		served := <-answers
		require.Equal(t, 200, served.status, served.text)
	}
	o.do(200, "GET", "/api-keys", "")
}
