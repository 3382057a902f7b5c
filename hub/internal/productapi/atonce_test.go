package productapi_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// lockTable holds up whoever reads a table, until the transaction ends.
func (n *node) lockTable(name string) pgx.Tx {
	n.t.Helper()
	lock, err := n.db.Begin(context.Background())
	require.NoError(n.t, err)
	n.t.Cleanup(func() { _ = lock.Rollback(context.Background()) })
	_, err = lock.Exec(context.Background(), `lock table `+name+` in access exclusive mode`)
	require.NoError(n.t, err)
	return lock
}

// Requests of a tenant's users that take long leave the hub's routes and those of the product, and
// their database connections, to other tenants. What comes on top waits, and is refused.
func TestUsersOfATenantAtOnce(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	for path, at := range map[string]struct {
		table string
		once  int
	}{"/notes/api/v1/integrations/api-keys": {"hub.keys", 6}, "/notes/api/v1/notes": {"notes.notes", 4}} {
		o, other := n.signUp("notes"), n.signUp("notes")
		lock := n.lockTable(at.table)
		answers := make(chan answer, 12)
		for range cap(answers) {
			go func() {
				response, _ := try("GET", n.url+path, "", bearer(o.admin)...) // no response has no status
				answers <- response
			}()
		}
		for range cap(answers) - at.once {
			select {
			case refused := <-answers:
				require.Equal(t, 429, refused.status, refused.text)
				require.Equal(t, "rate_limited", refused.body["code"])
				require.Equal(t, "1", refused.header.Get("Retry-After"))
			case <-time.After(20 * time.Second):
				t.Fatal("twelve requests wait for the database")
			}
		}
		other.do(200, "GET", "/audit-log?limit=1", "")
		require.NoError(t, lock.Rollback(t.Context()))
		for range at.once {
			served := <-answers
			require.Equal(t, 200, served.status, served.text)
		}
		require.Equal(t, 200, call(t, "GET", n.url+path, "", bearer(o.admin)...).status)
	}
}

// A page that asks for many things at once gets them all: those on top wait for their turn.
func TestManyQuickRequestsOfATenant(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	o := n.signUp("notes")
	answers := make(chan answer, 24)
	for range cap(answers) {
		go func() {
			response, _ := try("GET", n.url+"/notes/api/v1/notes", "", bearer(o.admin)...)
			answers <- response
		}()
	}
	for range cap(answers) {
		served := <-answers
		require.Equal(t, 200, served.status, served.text)
	}
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
			for range 700 {
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
