package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// A clinic that is deleted leaves no row in any table, and another loses none.
func TestDeletedClinicIsErased(t *testing.T) {
	t.Parallel()
	gone := newMergeable(t)
	gone.merge()
	gone.RequestDeletion(gone.into)
	other := newMergeable(t)
	counts := func(c *clinictest.Clinic) map[string]int {
		return c.Hub.RowCounts("clinics", "clinic_id", c.ID, "known_logins", "login_failures", "mailed_tokens", "refresh_tokens", "schema_version")
	}
	kept := counts(other.Clinic)
	require.GreaterOrEqual(t, len(counts(gone.Clinic)), 12, "tables: %v", counts(gone.Clinic))
	gone.Hub.DeleteTenant(gone.ID)
	require.Empty(t, counts(gone.Clinic))
	require.Equal(t, kept, counts(other.Clinic))
	gone.Refused(401, "invalid_token", "GET", "/patients", nil)
	require.Equal(t, 200, other.Call("GET", "/patients", nil).Status)
	require.Zero(t, gone.QueryInt(`select count(*) from hub.integrations where tenant_id = $1 and revoked_at is null`))
	require.Equal(t, 2, gone.QueryInt(`select count(*) from hub.erasures where tenant_id = $1 and whole_tenant`), "the log of both environments")
	require.Equal(t, 1, gone.QueryInt(`select count(*) from hub.tenants where id = $1 and name = '(deleted)' and external_ref is null`))
}

// Users and keys of a suspended clinic are refused, logging in included; those of others are not.
func TestSuspendedClinic(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	other := clinic.AnotherClinic()
	key := clinic.NewKey()
	clinic.Hub.Suspend(clinic.ID)
	clinic.Refused(403, "tenant_suspended", "GET", "/patients", nil)
	clinic.Refused(403, "tenant_suspended", "GET", "/integrations/audit-log", nil)
	key.Refused(403, "tenant_suspended", "GET", "/integrations/status", nil)
	clinic.As("").Refused(403, "tenant_suspended", "POST", "/auth/login", object{"email": clinic.Email, "password": clinictest.Password})
	clinic.As("").Refused(401, "invalid_credentials", "POST", "/auth/login", object{"email": clinic.Email, "password": "not the password"})
	require.Equal(t, 200, other.Call("GET", "/patients", nil).Status)
	require.Equal(t, 200, clinic.Hub.OperatorStatus("POST", "/api/v1/tenants/"+clinic.ID.String()+"/resume"))
	require.Eventually(t, func() bool { return clinic.Call("GET", "/patients", nil).Status == 200 }, clinictest.Timeout, clinictest.Tick)
}
