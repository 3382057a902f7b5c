package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

func TestUsersAndRoles(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewOrganization(t)
	staff := org.OK(201, "POST", "/users", object{"name": "Edu", "email": "edu-" + org.Email, "role": "staff"})
	stranger := org.As("")
	stranger.Refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": "edu-" + org.Email, "password": ""})
	stranger.OK(200, "POST", "/auth/reset-password", object{"token": org.ResetToken("edu-" + org.Email), "new_password": schedulingtest.Password})
	edu := org.As(stranger.OK(200, "POST", "/auth/login", object{"email": "edu-" + org.Email, "password": schedulingtest.Password})["access_token"].(string))
	require.Equal(t, "staff", edu.OK(200, "GET", "/auth/me", nil)["role"])
	edu.Refused(403, "admin_only", "GET", "/users", nil)
	edu.Refused(403, "admin_only", "PUT", "/organization", object{"name": "Mine"})
	edu.Refused(403, "admin_only", "PUT", "/organization/settings", object{"auto_confirm": true})
	edu.OK(200, "GET", "/organization", nil)
	require.Len(t, org.List("/users"), 2)

	path := "/users/" + staff["id"].(string)
	org.OK(200, "PUT", path, object{"role": "admin"})
	edu.Refused(403, "owner_only", "POST", "/users", object{"name": "X", "email": "x-" + org.Email, "role": "owner"})
	edu.Refused(403, "owner_only", "PUT", "/organization", object{"slug": "new-" + org.Slug})
	owner := org.OK(200, "GET", "/auth/me", nil)["id"].(string)
	edu.Refused(403, "owner_only", "DELETE", "/users/"+owner, nil)
	org.Refused(409, "last_owner", "DELETE", "/users/"+owner, nil)
	org.Refused(409, "last_owner", "PUT", "/users/"+owner, object{"is_active": false})
	org.OK(200, "PUT", path, object{"is_active": false})
	edu.Refused(401, "invalid_token", "GET", "/auth/me", nil)
	stranger.Refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": "edu-" + org.Email, "password": schedulingtest.Password})
	org.OK(204, "DELETE", path, nil)
	org.Refused(404, "not_found", "DELETE", path, nil)
}
