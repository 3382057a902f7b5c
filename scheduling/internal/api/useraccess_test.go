package api_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

// An invitation went to a wrong address: once that is corrected, its link is worth nothing.
// Nor is a link from before the user was deactivated.
func TestChangesOfUsersRevokeLinks(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewOrganization(t)
	for name, change := range map[string]object{
		"address":      {"email": "right-" + org.Email},
		"deactivation": {"is_active": false},
	} {
		email := name + "-" + org.Email
		path := "/users/" + org.OK(201, "POST", "/users", object{"name": "Joao", "email": email, "role": "staff"})["id"].(string)
		token := org.ResetToken(email)
		org.OK(200, "PUT", path, change)
		org.OK(200, "PUT", path, object{"is_active": true})
		org.As("").Refused(400, "invalid_reset_token", "POST", "/auth/reset-password", object{"token": token, "new_password": schedulingtest.Password})
	}
}

// A request of an administrator that waits while another one removes this administrator does
// nothing.
func TestWaitingRequestsOfRemovedAdminsAreRefused(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewOrganizationAlone(t)
	email := "edu-" + org.Email
	path := "/users/" + org.OK(201, "POST", "/users", object{"name": "Edu", "email": email, "role": "admin"})["id"].(string)
	stranger := org.As("")
	stranger.OK(200, "POST", "/auth/reset-password", object{"token": org.ResetToken(email), "new_password": schedulingtest.Password})
	for _, removal := range []struct {
		set  string
		want int
	}{{"is_active = false", 401}, {"role = 'staff'", 403}} {
		for _, request := range []struct {
			method, path string
			body         object
		}{
			{"PUT", path, object{"is_active": true, "role": "admin"}},
			{"POST", "/users", object{"name": "Eva", "email": "eva-" + org.Email, "role": "admin"}},
			{"DELETE", path, nil},
		} {
			edu := org.As(stranger.OK(200, "POST", "/auth/login", object{"email": email, "password": schedulingtest.Password})["access_token"].(string))
			tx, err := org.Hub.Host.Pool.Begin(t.Context())
			require.NoError(t, err)
			defer func() { _ = tx.Rollback(t.Context()) }()
			_, err = tx.Exec(t.Context(), `update scheduling.users set `+removal.set+` where email = $1`, email)
			require.NoError(t, err)
			answered := make(chan answer, 1)
			go func() {
				got, _ := edu.Try(request.method, request.path, request.body)
				answered <- got
			}()
			waits := func() bool {
				return len(answered) > 0 || org.Count("pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%from scheduling.users%'") == 1
			}
			require.Eventually(t, waits, time.Minute, 20*time.Millisecond)
			require.NoError(t, tx.Commit(t.Context()))
			require.Equal(t, removal.want, (<-answered).Status, "%s after %s", request.method, removal.set)
			require.Equal(t, 1, org.Count("scheduling.users where email = $1 and "+removal.set, email))
			require.Zero(t, org.Count("scheduling.users where email like 'eva-%'"))
			org.Exec(`update scheduling.users set is_active = true, role = 'admin' where email = $1`, email)
		}
	}
}

// Nobody is mailed invitations at will: an organization sends 50 an hour.
func TestInvitationsAreLimited(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewOrganization(t)
	invite := func(n int) answer {
		return org.Call("POST", "/users", object{"name": "Caio", "email": fmt.Sprintf("caio%d-%s", n, org.Email), "role": "staff"})
	}
	for n := range 50 {
		made := invite(n)
		require.Equal(t, 201, made.Status, made.Text)
	}
	refused := invite(50)
	require.Equal(t, 429, refused.Status, refused.Text)
	require.NotEmpty(t, refused.Header.Get("Retry-After"))
	require.Contains(t, refused.Text, "Too many invitations")
}
