package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

func TestUsers(t *testing.T) {
	t.Parallel()
	p := clinictest.NewClinic(t)
	staff := p.AddStaff()
	require.Equal(t, "staff", staff.Get("/auth/me")["role"])
	listed := p.Call("GET", "/users", nil).List
	require.Len(t, listed, 2)
	me, other, email := p.Get("/auth/me")["id"].(string), staff.Get("/auth/me")["id"].(string), staff.Get("/auth/me")["email"]
	p.Refused(409, "last_admin", "PUT", "/users/"+me, object{"role": "staff"})
	p.Refused(409, "last_admin", "DELETE", "/users/"+me, nil)
	p.Refused(409, "email_taken", "POST", "/users", object{"name": "C", "email": p.Email, "password": clinictest.Password})
	p.Invalid("body.role", "PUT", "/users/"+other, object{"role": "owner"})

	// Who is switched off is out at once.
	p.OK(200, "PUT", "/users/"+other, object{"is_active": false})
	staff.Refused(401, "invalid_token", "GET", "/auth/me", nil)
	p.As("").Refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": email, "password": clinictest.Password})
	p.OK(204, "DELETE", "/users/"+other, nil)
	p.Refused(404, "not_found", "DELETE", "/users/"+other, nil)

	// Without a password the user is sent a link, which is good once.
	p.OK(201, "POST", "/users", object{"name": "Davi", "email": "davi-" + p.Email, "role": "admin"})
	token := p.ResetToken("davi-" + p.Email)
	p.As("").OK(200, "POST", "/auth/reset-password", object{"token": token, "new_password": clinictest.Password})
	p.As("").Refused(400, "invalid_reset_token", "POST", "/auth/reset-password", object{"token": token, "new_password": clinictest.Password})
	davi := p.As(p.As("").OK(200, "POST", "/auth/login", object{"email": "davi-" + p.Email, "password": clinictest.Password})["access_token"].(string))
	p.OK(200, "PUT", "/users/"+me, object{"role": "staff"})
	davi.Get("/users")
	p.Refused(403, "admin_only", "GET", "/users", nil)
}
