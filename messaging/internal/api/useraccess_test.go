package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/module/accounts"
	"integrationhub/messaging/internal/messagingtest"
)

// A link ends when the address it went to, the password or the right to log in changes.
func TestChangesOfUsersRevokeLinks(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	for name, change := range map[string]object{
		"address":      {"email": "right-" + company.Email},
		"password":     {"password": "a new password"},
		"deactivation": {"isActive": false},
	} {
		email := name + "-" + company.Email
		path := messagingtest.Path("/users", company.OK(201, "POST", "/users", object{"name": "Joao", "email": email, "password": messagingtest.Password}))
		company.Hub.Exec(`insert into messaging.mailed_tokens (hash, user_id, purpose, expires_at) select $1, uid, 'reset', $2 from messaging.users where email = $3`,
			accounts.HashSecret(name+email), company.Hub.Host.Now().Add(time.Hour), email)
		company.OK(200, "PUT", path, change)
		company.OK(200, "PUT", path, object{"isActive": true})
		require.Equal(t, 1, company.Hub.Count("messaging.mailed_tokens where hash = $1 and used_at is not null", accounts.HashSecret(name+email)), name)
	}
}

// A request of an administrator that waits while another one removes this administrator does
// nothing.
func TestWaitingRequestsOfRemovedAdminsAreRefused(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	email := "davi-" + company.Email
	path := messagingtest.Path("/users", company.OK(201, "POST", "/users", object{"name": "Davi", "email": email, "profile": "admin", "password": messagingtest.Password}))
	for _, removal := range []struct {
		set  string
		want int
	}{{"is_active = false", 401}, {"profile = 'user'", 403}} {
		for _, request := range []struct {
			method, path string
			body         object
		}{
			{"PUT", path, object{"isActive": true, "profile": "admin"}},
			{"POST", "/users", object{"name": "Eva", "email": "eva-" + company.Email, "profile": "admin", "password": messagingtest.Password}},
			{"DELETE", path, nil},
		} {
			davi := company.LogIn(email, messagingtest.Password)
			davi.Get("/users") // counts as online: the request writes that no more
			tx, err := company.Hub.Host.Pool.Begin(t.Context())
			require.NoError(t, err)
			defer func() { _ = tx.Rollback(t.Context()) }()
			_, err = tx.Exec(t.Context(), `update messaging.users set `+removal.set+` where email = $1`, email)
			require.NoError(t, err)
			answered := make(chan moduletest.Response, 1)
			go func() {
				got, _ := davi.Try(request.method, request.path, request.body)
				answered <- got
			}()
			waits := func() bool {
				return len(answered) > 0 || company.Hub.Count("pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%from messaging.users%'") == 1
			}
			require.Eventually(t, waits, time.Minute, 20*time.Millisecond)
			require.NoError(t, tx.Commit(t.Context()))
			require.Equal(t, removal.want, (<-answered).Status, "%s after %s", request.method, removal.set)
			require.Equal(t, 1, company.Hub.Count("messaging.users where email = $1 and "+removal.set, email))
			require.Zero(t, company.Hub.Count("messaging.users where email like 'eva-%'"))
			_, err = company.Hub.Host.Pool.Exec(t.Context(), `update messaging.users set is_active = true, profile = 'admin' where email = $1`, email)
			require.NoError(t, err)
		}
	}
}
