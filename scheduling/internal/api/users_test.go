package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

func TestUsersAndRoles(t *testing.T) {
	t.Parallel()
	s := schedulingtest.NewOrganization(t)
	staff := s.OK(201, "POST", "/users", object{"name": "Edu", "email": "edu-" + s.Email, "role": "staff"})
	stranger := s.As("")
	stranger.Refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": "edu-" + s.Email, "password": ""})
	stranger.OK(200, "POST", "/auth/reset-password", object{"token": s.ResetToken("edu-" + s.Email), "new_password": schedulingtest.Password})
	edu := s.As(stranger.OK(200, "POST", "/auth/login", object{"email": "edu-" + s.Email, "password": schedulingtest.Password})["access_token"].(string))
	require.Equal(t, "staff", edu.OK(200, "GET", "/auth/me", nil)["role"])
	edu.Refused(403, "admin_only", "GET", "/users", nil)
	edu.Refused(403, "admin_only", "PUT", "/organization", object{"name": "Mine"})
	edu.Refused(403, "admin_only", "PUT", "/organization/settings", object{"auto_confirm": true})
	edu.OK(200, "GET", "/organization", nil)
	require.Len(t, s.List("/users"), 2)

	path := "/users/" + staff["id"].(string)
	s.OK(200, "PUT", path, object{"role": "admin"})
	edu.Refused(403, "owner_only", "POST", "/users", object{"name": "X", "email": "x-" + s.Email, "role": "owner"})
	edu.Refused(403, "owner_only", "PUT", "/organization", object{"slug": "new-" + s.Slug})
	owner := s.OK(200, "GET", "/auth/me", nil)["id"].(string)
	edu.Refused(403, "owner_only", "DELETE", "/users/"+owner, nil)
	s.Refused(409, "last_owner", "DELETE", "/users/"+owner, nil)
	s.Refused(409, "last_owner", "PUT", "/users/"+owner, object{"is_active": false})
	s.OK(200, "PUT", path, object{"is_active": false})
	edu.Refused(401, "invalid_token", "GET", "/auth/me", nil)
	stranger.Refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": "edu-" + s.Email, "password": schedulingtest.Password})
	s.OK(204, "DELETE", path, nil)
	s.Refused(404, "not_found", "DELETE", path, nil)
}
