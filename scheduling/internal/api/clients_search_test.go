package api_test

import (
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

// found are the names of the clients that a search finds.
func found(org *schedulingtest.Organization, term string) (names []string) {
	org.T.Helper()
	names = []string{}
	for _, item := range org.OK(200, "GET", "/clients?search="+url.QueryEscape(term), nil)["items"].([]any) {
		names = append(names, item.(object)["name"].(string))
	}
	return names
}

// Clients are found by a phone in whichever form, and by the digits of a tax id from
// either end.
func TestSearchingClients(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewOrganizationAlone(t)
	org.OK(201, "POST", "/clients", object{"name": "Ana", "phone": "(11) 98765-4321", "cpf": "529.982.247-25", "email": "Ana.Souza@example.com"})
	org.OK(201, "POST", "/clients", object{"name": "Bia", "phone": "+351 912 345 678", "cpf": "123.456.789-09"})
	id := org.OK(201, "POST", "/clients", object{"name": "Caio", "phone": "1187654321"})["id"].(string)
	for term, want := range map[string][]string{
		"+5511987654321": {"Ana", "Caio"}, "+55 11 98765-4321": {"Ana", "Caio"}, "5511987": {"Ana"}, "98765": {"Ana"}, "+351912": {"Bia"}, "551187654321": {"Ana", "Caio"},
		"529": {"Ana"}, "529.982": {"Ana"}, "529.982.247-25": {"Ana"}, "247-25": {"Ana"}, "25": {"Ana"}, "5299822472": {"Ana"}, "29982247": {},
		"12345678909": {"Bia"}, "789-09": {"Bia"}, "souza@EXAMPLE": {"Ana"}, "000.000": {},
	} {
		require.Equal(t, want, found(org, term), term)
	}
	schedulingtest.RegisterOrganization(t, org.Hub).OK(201, "POST", "/clients", object{"name": "Eva", "cpf": "529.982.247-25"})
	require.Equal(t, []string{"Ana"}, found(org, "529.982"), "not what others have")

	// A tax id that is changed or taken out is not found any more; one that was stored
	// before its ends were is, once that was made up for.
	org.OK(200, "PUT", "/clients/"+id, object{"cpf": "111.444.777-35"})
	require.Equal(t, []string{"Caio"}, found(org, "111.444"))
	org.OK(200, "PUT", "/clients/"+id, object{"name": "Caio P"})
	require.Equal(t, []string{"Caio P"}, found(org, "777-35"))
	org.Exec(`update scheduling.clients set cpf_parts = null`)
	require.Empty(t, found(org, "777-35"))
	org.Exec(`update scheduling.clients set cpf_sealed = 'broken' where name = 'Eva'`)
	for _, job := range org.Hub.Jobs() {
		if job.Name == "tax-ids" {
			require.ErrorContains(t, job.Run(t.Context(), nil), "opening a tax id", "one that cannot be read holds up no other")
		}
	}
	require.Equal(t, []string{"Caio P"}, found(org, "777-35"))
	org.OK(200, "PUT", "/clients/"+id, object{"cpf": nil})
	require.Empty(t, found(org, "777-35"))
	require.Empty(t, found(org, "11144477735"))
}

// Whatever is searched for, no search reads every client.
func TestSearchesUseIndexes(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewOrganizationAlone(t)
	org.Exec(`insert into scheduling.clients (org_id, id, name, phone, phone_e164, email, cpf_sealed, cpf_hash, cpf_parts)
		select $1, gen_random_uuid(), 'Client ' || md5(n::text), '119' || lpad(n::text, 8, '0'), '+55119' || lpad(n::text, 8, '0'), md5(n::text) || '@example.com',
			'x', decode(md5(n::text), 'hex'), array[n * 7::bigint, n * 11::bigint] from generate_series(1, 20000) n`, org.ID)
	org.Exec(`vacuum analyze scheduling.clients`) // as the autovacuum does
	source, err := os.ReadFile("../store/dbgen/clients.sql.go")
	require.NoError(t, err)
	_, query, _ := strings.Cut(string(source), "const searchClients = `")
	query, _, found := strings.Cut(query, "`")
	require.True(t, found)
	for _, c := range []struct {
		index string
		args  []any // as the query has them: organization, term, digits, phones, whole tax id, part of one, limit, offset
	}{
		{"clients_search", []any{org.ID, "+5511900004321", "5511900004321", []string{"+5511900004321", "+551100004321"}, nil, nil, 20, 0}},
		{"clients_search", []any{org.ID, "00004321", "00004321", []string{}, nil, []int64{1, 2}, 20, 0}},
		{"clients_cpf_parts", []any{org.ID, "529.982", "529982", []string{}, nil, []int64{77, 78}, 20, 0}},
		{"clients_cpf", []any{org.ID, "52998224725", "52998224725", []string{"+5552998224725"}, []byte("hash"), nil, 20, 0}},
		{"clients_search", []any{org.ID, "souza", "", nil, nil, nil, 20, 0}},
	} {
		rows, err := org.Hub.Host.Pool.Query(t.Context(), "explain "+query, append([]any{pgx.QueryExecModeSimpleProtocol}, c.args...)...)
		require.NoError(t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		plan := strings.Join(lines, "\n")
		require.NotContains(t, plan, "Seq Scan on clients", "%v", c.args)
		require.Contains(t, plan, c.index, "%v", c.args)
	}
}
