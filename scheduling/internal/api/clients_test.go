package api_test

import (
	"net/url"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/scheduling/internal/schedulingtest"
)

// What the document calls the end-to-end flow.
func TestClientTotals(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	kpis := org.OK(200, "GET", "/clients/"+org.ClientID, nil)
	require.EqualValues(t, 0, kpis["total_appointments"])
	id := org.Book(0)
	org.Transition(200, "confirm", id, nil)
	org.Transition(200, "complete", id, nil)
	paid := org.OK(201, "POST", "/payments", object{"appointment_id": id, "client_id": org.ClientID, "amount": 80, "method": "pix", "description": "Cut"})
	require.Equal(t, "paid", paid["status"])
	who := org.OK(200, "GET", "/clients/"+org.ClientID, nil)
	require.EqualValues(t, 1, who["total_appointments"])
	require.EqualValues(t, 80, who["total_spent"])
	require.Len(t, who["appointments"], 1)
	require.Len(t, who["payments"], 1)
	require.Equal(t, "paid", org.OK(200, "GET", "/appointments/"+id, nil)["payment_status"])
	org.Transition(200, "reopen", id, nil)
	require.EqualValues(t, 0, org.OK(200, "GET", "/clients/"+org.ClientID, nil)["total_appointments"])

	statement := org.OK(200, "GET", "/payments?month=2026-02&status=paid", nil)
	require.EqualValues(t, 1, statement["total"])
	require.EqualValues(t, 80, statement["total_paid"])
	require.Equal(t, []any{object{"method": "pix", "amount": 80.0, "count": 1.0}}, statement["by_method"])
	require.EqualValues(t, 0, org.OK(200, "GET", "/payments?month=2026-03", nil)["total"])
	for location, change := range map[string]object{
		"body.amount": {"amount": 0}, "body.method": {"method": "gold"},
		"body.client_id": {"client_id": org.OK(201, "POST", "/clients", object{"name": "Davi"})["id"]},
	} {
		draft := object{"appointment_id": id, "client_id": org.ClientID, "amount": 80, "method": "pix"}
		for name, value := range change {
			draft[name] = value
		}
		org.Invalid(location, "POST", "/payments", draft)
	}
	org.Invalid("body.amount", "POST", "/payments", object{"client_id": org.ClientID, "amount": 1.005, "method": "cash"})
	org.Refused(404, "not_found", "POST", "/payments", object{"appointment_id": uuid.NewString(), "client_id": org.ClientID, "amount": 80, "method": "pix"})
}

func TestClients(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewOrganization(t)
	joao := org.OK(201, "POST", "/clients", object{
		"name": "João da Silva", "phone": "(11) 98765-4321", "email": "joao@example.com", "cpf": "529.982.247-25", "birth_date": "1990-05-17",
		"notes": "n", "tags": []string{"vip"}, "total_spent": 99, "org_id": uuid.NewString(),
	})
	require.Equal(t, "(11) 98765-4321", joao["phone"], "as it was sent")
	require.Equal(t, "529.982.247-25", joao["cpf"])
	require.Equal(t, "1990-05-17", joao["birth_date"])
	require.EqualValues(t, 0, joao["total_spent"])
	require.Empty(t, joao["warnings"])
	maria := org.OK(201, "POST", "/clients", object{"name": "Maria 100%", "phone": "+55 11 98765-4321", "cpf": "11111111111"})
	require.Equal(t, []any{"cpf_check_digit"}, maria["warnings"])
	require.Equal(t, []any{joao["id"]}, maria["possible_duplicate_ids"])
	find := func(term string) []string {
		var found []object
		for _, item := range org.OK(200, "GET", "/clients?search="+term, nil)["items"].([]any) {
			found = append(found, item.(object))
		}
		return schedulingtest.NamesOf(found)
	}
	for term, want := range map[string][]string{
		"joao": {"João da Silva"}, "JO%C3%83O": {"João da Silva"}, "silva": {"João da Silva"}, "98765": {"João da Silva", "Maria 100%"},
		"joao@ex": {"João da Silva"}, "52998224725": {"João da Silva"}, "529.982.247-25": {"João da Silva"}, "": {"João da Silva", "Maria 100%"},
		"0%25": {"Maria 100%"}, "%25a%25": nil, "nobody": nil,
	} {
		require.Equal(t, want, find(term), term)
	}
	page := org.OK(200, "GET", "/clients?per_page=1&page=2", nil)
	require.EqualValues(t, 2, page["total"])
	require.EqualValues(t, 2, page["pages"])
	require.Len(t, page["items"], 1)
	org.Refused(422, "validation_failed", "GET", "/clients?per_page=101", nil)
	org.Refused(422, "validation_failed", "GET", "/clients?page=0", nil)
	path := "/clients/" + joao["id"].(string)
	org.OK(200, "PUT", path, object{"email": nil, "cpf": nil})
	joao = org.OK(200, "GET", path, nil)
	require.Nil(t, joao["email"])
	require.Nil(t, joao["cpf"])
	require.Equal(t, "João da Silva", joao["name"])
	for location, body := range map[string]object{
		"body.name": {"name": ""}, "body.phone": {"phone": "123"}, "body.cpf": {"cpf": "123"}, "body.birth_date": {"birth_date": "2030-01-01"}, "body.email": {"email": "x"},
	} {
		org.Invalid(location, "PUT", path, body)
	}
	org.Refused(404, "not_found", "GET", "/clients/"+uuid.NewString(), nil)
	require.Equal(t, 400, org.Call("GET", "/clients?search=%00", nil).Status, "never a 5xx")
}

// Clients are found under every form of their number that the rest of the hub knows it by.
func TestClientsAreFoundByEveryFormOfTheirNumber(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewOrganization(t)
	there := make(map[string]string)
	for _, phone := range hubtest.Phones {
		if there[phone.E164] == "" {
			there[phone.E164] = org.OK(201, "POST", "/clients", object{"name": "Caio", "phone": phone.Written})["id"].(string)
		}
		forms := []string{phone.Written, phone.E164}
		if phone.WithoutNinthDigit != "" {
			forms = append(forms, phone.WithoutNinthDigit, phone.WithoutNinthDigit[1:], phone.WithoutNinthDigit[3:])
		}
		for _, form := range forms {
			got := org.OK(200, "GET", "/integrations/search/clients?phone="+url.QueryEscape(form), nil)
			require.Equal(t, true, got["found"], form)
			require.Equal(t, there[phone.E164], got["client"].(object)["id"], form)
		}
	}
	require.Equal(t, false, org.OK(200, "GET", "/integrations/search/clients?phone=1122223333", nil)["found"], "a landline that looks like a mobile's end")
}
