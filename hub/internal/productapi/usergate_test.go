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

// A tenant's users have one rate on the hub's routes, however many they are. It is none of their
// keys, and none of another tenant.
func TestUsersOfATenantHaveARate(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	o, other := n.signUp("notes"), n.signUp("notes")
	key := o.issue()
	answers := make(chan answer, 6)
	for i := range cap(answers) {
		go func() {
			var last answer
			for range 250 {
				if last, _ = try("GET", o.integrations()+"/status", "", bearer([]string{o.admin, o.staff}[i%2])...); last.status != 200 { // no response has no status
					break
				}
			}
			answers <- last
		}()
	}
	for range cap(answers) {
		last := <-answers
		refused(t, 429, "rate_limited", last)
		require.NotEmpty(t, last.header.Get("Retry-After"))
		require.Equal(t, "600", last.header.Get("RateLimit-Limit"))
	}
	other.do(200, "GET", "/status", "")
	require.Equal(t, 200, call(t, "GET", o.integrations()+"/status", "", withKey(key)...).status)
}
