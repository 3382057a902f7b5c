package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// An invitation went to a wrong address: once that is corrected, its link is worth nothing.
// Nor is a link from before the user was deactivated.
func TestChangesOfUsersRevokeLinks(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	for name, change := range map[string]object{
		"address":      {"email": "right-" + clinic.Email},
		"deactivation": {"is_active": false},
	} {
		email := name + "-" + clinic.Email
		path := "/users/" + clinic.OK(201, "POST", "/users", object{"name": "Joao", "email": email})["id"].(string)
		token := clinic.ResetToken(email)
		clinic.OK(200, "PUT", path, change)
		clinic.OK(200, "PUT", path, object{"is_active": true})
		clinic.As("").Refused(400, "invalid_reset_token", "POST", "/auth/reset-password", object{"token": token, "new_password": clinictest.Password})
	}
}

// A request of an administrator that waits while another one removes this administrator does
// nothing.
func TestWaitingRequestsOfRemovedAdminsAreRefused(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	email := "davi-" + clinic.Email
	path := "/users/" + clinic.OK(201, "POST", "/users", object{"name": "Davi", "email": email, "role": "admin", "password": clinictest.Password})["id"].(string)
	for _, removal := range []struct {
		set  string
		want int
	}{{"is_active = false", 401}, {"role = 'staff'", 403}} {
		for _, request := range []struct {
			method, path string
			body         object
		}{
			{"PUT", path, object{"is_active": true, "role": "admin"}},
			{"POST", "/users", object{"name": "Eva", "email": "eva-" + clinic.Email, "role": "admin", "password": clinictest.Password}},
			{"DELETE", path, nil},
		} {
			davi := clinic.As(clinic.As("").OK(200, "POST", "/auth/login", object{"email": email, "password": clinictest.Password})["access_token"].(string))
			tx, err := clinic.Hub.Host.Pool.Begin(t.Context())
			require.NoError(t, err)
			defer func() { _ = tx.Rollback(t.Context()) }()
			_, err = tx.Exec(t.Context(), `update clinic.users set `+removal.set+` where email = $1`, email)
			require.NoError(t, err)
			answered := make(chan answer, 1)
			go func() {
				got, _ := davi.Try(request.method, request.path, request.body)
				answered <- got
			}()
			waits := func() bool {
				return len(answered) > 0 || clinic.Hub.Count("pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%from clinic.users%'") == 1
			}
			require.Eventually(t, waits, time.Minute, 20*time.Millisecond)
			require.NoError(t, tx.Commit(t.Context()))
			require.Equal(t, removal.want, (<-answered).Status, "%s after %s", request.method, removal.set)
			require.Equal(t, 1, clinic.Hub.Count("clinic.users where email = $1 and "+removal.set, email))
			require.Zero(t, clinic.Hub.Count("clinic.users where email like 'eva-%'"))
			_, err = clinic.Hub.Host.Pool.Exec(t.Context(), `update clinic.users set is_active = true, role = 'admin' where email = $1`, email)
			require.NoError(t, err)
		}
	}
}

// Nobody is mailed invitations at will: an address gets five a day, whoever invites it.
func TestInvitationsAreLimited(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	email := "victim-" + clinic.Email
	for range 5 {
		made := clinic.OK(201, "POST", "/users", object{"name": "Caio", "email": email})
		clinic.OK(204, "DELETE", "/users/"+made["id"].(string), nil)
	}
	refused := clinic.Call("POST", "/users", object{"name": "Caio", "email": "V" + email[1:]})
	require.Equal(t, 429, refused.Status, refused.Text)
	require.NotEmpty(t, refused.Header.Get("Retry-After"))
	require.Contains(t, refused.Text, "This address got too many invitations")
	clinic.OK(201, "POST", "/users", object{"name": "Caio", "email": email, "password": clinictest.Password}) // no mail
}
