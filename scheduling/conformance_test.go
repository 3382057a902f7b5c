package scheduling_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/module"
	"integrationhub/scheduling"
	"integrationhub/scheduling/internal/schedulingtest"
)

// TestConformance runs the hub's suite for products.
func TestConformance(t *testing.T) {
	t.Parallel()
	moduletest.Run(t, moduletest.Case{
		Module: scheduling.New(),
		SignUp: func(t *testing.T, base string) moduletest.Account {
			t.Helper()
			org := schedulingtest.RegisterOrganization(t, moduletest.Attach(t, "scheduling", "", base, module.Host{})).MakeBookable()
			return moduletest.Account{Tenant: org.ID, Token: org.Token}
		},
		Public: []string{
			"auth.register", "auth.login", "auth.refresh", "auth.forgot-password", "auth.reset-password", "payments.webhook",
			"public.organization", "public.services", "public.professionals", "public.availability", "public.book",
			"public.cancel", "public.reschedule", "public.appointment", "public.calendar", "public.hold", "public.wait", "public.challenge", "calendar.feed",
		},
		Resources: func(t *testing.T, base string, a moduletest.Account) map[string]string {
			t.Helper()
			org := &schedulingtest.Bookable{Organization: schedulingtest.OrganizationAt(t, base, a)}
			return resources(org)
		},
		Events: []hub.Event{
			{Type: "patient.deleted", Data: []byte(`{"phone":"+5511987654321"}`)},
			{Type: "patient.created", Data: []byte(`{"phone":"+5511987654321","name":"Caio Prado","email":"caio@example.com"}`)},
			{Type: "patient.updated", Data: []byte(`{"phone":"+5511987654321","patient_id":"p-1","changed_fields":["birth_date"]}`)},
			{Type: "payment.received", Data: []byte(`{"amount":80}`)},
		},
		State: func(t *testing.T, host module.Host, tenant uuid.UUID) string {
			t.Helper()
			return schedulingtest.TenantRows(t, host.Pool, tenant)
		},
	})
}

// resources returns a path of the organization for every path with a parameter.
func resources(org *schedulingtest.Bookable) map[string]string {
	org.T.Helper()
	org.ServiceID = org.List("/services")[0]["id"].(string)
	org.ProfessionalID = org.List("/professionals")[0]["id"].(string)
	clients := org.OK(200, "GET", "/clients", nil)["items"].([]any)
	org.ClientID = clients[0].(object)["id"].(string)
	ids := map[string]string{"service": org.ServiceID, "professional": org.ProfessionalID, "client": org.ClientID}
	created := org.OK(201, "POST", "/appointments", object{
		"client_id": org.ClientID, "professional_id": org.ProfessionalID, "service_id": org.ServiceID, "start_at": "2031-03-03T09:00:00-03:00",
	})
	ids["appointment"] = created["id"].(string)
	ids["rule"] = org.List("/schedule-rules?professional_id=" + org.ProfessionalID)[0]["id"].(string)
	ids["exception"] = org.OK(201, "POST", "/schedule-exceptions", object{"professional_id": org.ProfessionalID, "date": "2031-03-12", "exception_type": "block"})["id"].(string)
	ids["payment"] = org.OK(201, "POST", "/payments", object{"client_id": org.ClientID, "amount": 80, "method": "cash"})["id"].(string)
	ids["user"] = org.OK(200, "GET", "/auth/me", nil)["id"].(string)
	paths := make(map[string]string)
	for _, op := range org.Operations() {
		if schedulingtest.PathParameter.MatchString(op.Path) && !op.IsPublic() {
			kind := schedulingtest.ResourceKind(op.Path)
			paths[op.Path] = schedulingtest.PathParameter.ReplaceAllString(op.Path, ids[kind])
		}
	}
	require.NotEmpty(org.T, paths)
	return paths
}
