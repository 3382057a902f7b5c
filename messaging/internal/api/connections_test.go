package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

func TestConnectionSettings(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	first := company.OK(201, "POST", "/whatsapp", object{"name": "Reception", "greetingMessage": "Hello"})
	require.Equal(t, true, first["isDefault"], "the first one")
	second := company.OK(201, "POST", "/whatsapp", object{"name": "Billing"})
	require.Equal(t, false, second["isDefault"])
	path := func(c object) string {
		return messagingtest.ConnectionPath(messagingtest.Connection{ID: int64(c["id"].(float64))})
	}
	changed := company.OK(200, "PUT", path(second), object{"isDefault": true, "sendIntervalMs": 250, "dailyLimit": 1000, "ratingMessage": "1 to 5?"})
	require.Equal(t, []any{true, 250.0, 1000.0, "1 to 5?", "Billing"}, []any{changed["isDefault"], changed["sendIntervalMs"], changed["dailyLimit"], changed["ratingMessage"], changed["name"]})
	require.Equal(t, false, company.Get(path(first))["isDefault"], "there is one default connection")
	third := company.OK(201, "POST", "/whatsapp", object{"name": "Sales", "isDefault": true})
	require.Equal(t, true, third["isDefault"])
	require.Equal(t, false, company.Get(path(second))["isDefault"])

	before := company.Get(path(first))
	for body, name := range map[string]string{
		`{"name":"x"}`: "ERR_VALIDATION", `{"name":"billing"}`: "ERR_WAPP_NAME_ALREADY_EXISTS", `{"sendIntervalMs":-1}`: "ERR_VALIDATION",
		`{"dailyLimit":1000001}`: "ERR_VALIDATION", `{"greetingMessage":5}`: "ERR_VALIDATION", `{`: "ERR_VALIDATION",
	} {
		require.Equal(t, name, company.OK(400, "PUT", path(first), body)["error"], body)
	}
	require.Equal(t, before, company.Get(path(first)))
	require.Equal(t, "ERR_VALIDATION", company.OK(400, "PUT", path(third), object{"isDefault": false})["error"], "another one has to be made the default")
	for _, body := range []object{{}, {"name": "y"}, {"name": "Other", "driver": "pigeon"}} {
		require.Equal(t, "ERR_VALIDATION", company.OK(400, "POST", "/whatsapp", body)["error"])
	}
	other := company.AnotherCompany()
	other.OK(201, "POST", "/whatsapp", object{"name": "Reception"})
	require.Len(t, company.Call("GET", "/whatsapp", nil).List, 3)
	other.OK(404, "PUT", path(first), object{"name": "Stolen"})
	other.OK(404, "DELETE", path(first), nil)
	company.OK(200, "DELETE", path(first), nil)
	require.Equal(t, "ERR_NO_WAPP_FOUND", company.OK(404, "GET", path(first), nil)["error"])
	company.OK(200, "DELETE", path(third), nil)
	require.Equal(t, true, company.Get(path(second))["isDefault"], "of those that are left")
}
