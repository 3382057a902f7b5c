package main_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// A product of this binary is there without a setting, and its accounts are tenants
// of the hub; HUB_PRODUCTS leaves it away.
func TestHostedProducts(t *testing.T) {
	t.Parallel()
	s, c := ownHub(t)
	require.Regexp(t, `(?m)^scheduling +sch +Scheduling +yes `, c.run("products", "list").requireOK())
	made := s.register(t)
	require.Contains(t, c.run("tenants", "list", "--product", "scheduling").requireOK(), "Studio Bela")
	key := c.run("keys", "create", "--tenant", "Studio Bela", "-q").requireOK()
	require.Regexp(t, `^sch_live_`, key)
	req, err := http.NewRequest(http.MethodGet, s.url+"/scheduling/api/v1/integrations/status", http.NoBody)
	require.NoError(t, err)
	req.Header.Set("X-Integration-Key", key)
	res, err := hubtest.HTTPClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	var status struct {
		Product string
		OrgName string `json:"org_name"`
	}
	require.NoError(t, json.NewDecoder(res.Body).Decode(&status))
	require.Equal(t, "scheduling", status.Product)
	require.Equal(t, "Studio Bela", status.OrgName)
	require.NotEmpty(t, made["access_token"])

	without := newCLI(t)
	off := without.serve(also(serverEnv(without.dir, databaseURL(t), hubtest.RedisURL(t)), "HUB_PRODUCTS", "none"))
	require.NotContains(t, off.Output(), "Scheduling")
	status404, _ := off.call(t, "GET", "/scheduling/health", "")
	require.Equal(t, 404, status404)
}

// An external product of the name of a hosted one, from before this binary hosted it:
// the start says what to do, and the command does it without a hub.
func TestRenamingAProductThatClashes(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	database := databaseURL(t)
	conn, err := pgx.Connect(t.Context(), database)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	_, err = conn.Exec(t.Context(), `insert into hub.products (name, prefix, title) values ('messaging', 'msg', 'Ours')`)
	require.NoError(t, err)
	c = c.among(serverEnv(c.dir, database, hubtest.RedisURL(t)))
	c.run("serve").requireFails(3, "hub products rename messaging NEW-NAME --prefix NEW-PREFIX", "HUB_PRODUCTS=scheduling,clinic")
	c.run("products", "rename", "messaging").requireFails(2, "nothing to change")
	c.run("products", "rename", "nothing", "something").requireFails(5, "no product nothing")
	c.run("products", "rename", "messaging", "ours").requireFails(1, "key prefix msg")
	require.Equal(t, "ours", c.run("products", "rename", "messaging", "ours", "--prefix", "our").requireOK())
	var name string
	require.NoError(t, conn.QueryRow(t.Context(), `select name from hub.products where prefix = 'our' and not hosted`).Scan(&name))
	require.Equal(t, "ours", name)
}

// register signs an organization up at the scheduling service.
func (s *hubProcess) register(t *testing.T) (made map[string]any) {
	t.Helper()
	s.callInto(t, &made, 201, "POST", "/scheduling/api/v1/auth/register",
		`{"org_name":"Studio Bela","org_slug":"studio-bela","name":"Bia","email":"bia@example.com","password":"correct horse"}`)
	return made
}
