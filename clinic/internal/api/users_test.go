package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

func TestUsers(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	staff := clinic.AddStaff()
	require.Equal(t, "staff", staff.Get("/auth/me")["role"])
	listed := clinic.Call("GET", "/users", nil).List
	require.Len(t, listed, 2)
	me, other, email := clinic.Get("/auth/me")["id"].(string), staff.Get("/auth/me")["id"].(string), staff.Get("/auth/me")["email"]
	clinic.Refused(409, "last_admin", "PUT", "/users/"+me, object{"role": "staff"})
	clinic.Refused(409, "last_admin", "DELETE", "/users/"+me, nil)
	clinic.Refused(409, "email_taken", "POST", "/users", object{"name": "C", "email": clinic.Email, "password": clinictest.Password})
	clinic.Invalid("body.role", "PUT", "/users/"+other, object{"role": "owner"})

	// Who is switched off is out at once.
	clinic.OK(200, "PUT", "/users/"+other, object{"is_active": false})
	staff.Refused(401, "invalid_token", "GET", "/auth/me", nil)
	clinic.As("").Refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": email, "password": clinictest.Password})
	clinic.OK(204, "DELETE", "/users/"+other, nil)
	clinic.Refused(404, "not_found", "DELETE", "/users/"+other, nil)

	// Without a password the user is sent a link, which is good once.
	clinic.OK(201, "POST", "/users", object{"name": "Davi", "email": "davi-" + clinic.Email, "role": "admin"})
	token := clinic.ResetToken("davi-" + clinic.Email)
	clinic.As("").OK(200, "POST", "/auth/reset-password", object{"token": token, "new_password": clinictest.Password})
	clinic.As("").Refused(400, "invalid_reset_token", "POST", "/auth/reset-password", object{"token": token, "new_password": clinictest.Password})
	davi := clinic.As(clinic.As("").OK(200, "POST", "/auth/login", object{"email": "davi-" + clinic.Email, "password": clinictest.Password})["access_token"].(string))
	clinic.OK(200, "PUT", "/users/"+me, object{"role": "staff"})
	davi.Get("/users")
	clinic.Refused(403, "admin_only", "GET", "/users", nil)
}
