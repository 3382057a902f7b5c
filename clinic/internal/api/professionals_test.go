package api_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

func TestProfessionals(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	created := clinic.OK(201, "POST", "/professionals", object{"name": "  Dra. Lima ", "specialty": "Orthodontics", "register": "CRO/SP 1"})
	id := created["id"].(string)
	require.Equal(t, object{"id": id, "name": "Dra. Lima", "specialty": "Orthodontics", "register": "CRO/SP 1", "is_active": true, "created_at": created["created_at"]}, created)
	other := clinic.OK(201, "POST", "/professionals", object{"name": "Ana Reis", "is_active": false})
	require.Nil(t, other["specialty"])
	require.Equal(t, false, other["is_active"])
	list := clinic.AddStaff().Call("GET", "/professionals", nil).List
	require.Equal(t, []object{other, created}, list, "by name")

	updated := clinic.OK(200, "PUT", "/professionals/"+id, object{"specialty": nil, "register": "", "is_active": false})
	require.Equal(t, "Dra. Lima", updated["name"], "what is not said stays")
	require.Nil(t, updated["specialty"])
	require.Nil(t, updated["register"])
	require.Equal(t, false, updated["is_active"])
	for location, bad := range map[string]object{
		"body.name": {"name": " "}, "body.specialty": {"specialty": strings.Repeat("x", 121)}, "body.register": {"register": strings.Repeat("x", 61)},
	} {
		clinic.Invalid(location, "PUT", "/professionals/"+id, bad)
	}
	clinic.Invalid("body.name", "POST", "/professionals", object{"name": strings.Repeat("x", 121)})
	clinic.Invalid("body.name", "POST", "/professionals", object{"specialty": "x"})
	clinic.OK(201, "POST", "/professionals", object{"name": strings.Repeat("é", 120)})
	require.Empty(t, clinic.InEnvironment("test").Call("GET", "/professionals", nil).List)
	for path, last := range map[string]int{"/professionals": 3, "/users": 2} {
		require.Len(t, clinic.Call("GET", path, nil).List, last)
		require.Len(t, clinic.Call("GET", path+"?per_page=1&page=2", nil).List, 1)
		require.Empty(t, clinic.Call("GET", path+"?per_page=500&page=2", nil).List)
		clinic.Invalid("query.per_page", "GET", path+"?per_page=501", nil)
	}
	clinic.OK(204, "DELETE", "/professionals/"+id, nil)
	require.Len(t, clinic.Call("GET", "/professionals", nil).List, 2)
}
