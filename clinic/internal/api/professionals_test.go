package api_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

func TestProfessionals(t *testing.T) {
	t.Parallel()
	p := clinictest.NewClinic(t)
	made := p.OK(201, "POST", "/professionals", object{"name": "  Dra. Lima ", "specialty": "Orthodontics", "register": "CRO/SP 1"})
	id := made["id"].(string)
	require.Equal(t, object{"id": id, "name": "Dra. Lima", "specialty": "Orthodontics", "register": "CRO/SP 1", "is_active": true, "created_at": made["created_at"]}, made)
	other := p.OK(201, "POST", "/professionals", object{"name": "Ana Reis", "is_active": false})
	require.Nil(t, other["specialty"])
	require.Equal(t, false, other["is_active"])
	list := p.AddStaff().Call("GET", "/professionals", nil).List
	require.Equal(t, []object{other, made}, list, "by name")

	done := p.OK(200, "PUT", "/professionals/"+id, object{"specialty": nil, "register": "", "is_active": false})
	require.Equal(t, "Dra. Lima", done["name"], "what is not said stays")
	require.Nil(t, done["specialty"])
	require.Nil(t, done["register"])
	require.Equal(t, false, done["is_active"])
	for location, bad := range map[string]object{
		"body.name": {"name": " "}, "body.specialty": {"specialty": strings.Repeat("x", 121)}, "body.register": {"register": strings.Repeat("x", 61)},
	} {
		p.Invalid(location, "PUT", "/professionals/"+id, bad)
	}
	p.Invalid("body.name", "POST", "/professionals", object{"name": strings.Repeat("x", 121)})
	p.Invalid("body.name", "POST", "/professionals", object{"specialty": "x"})
	p.OK(201, "POST", "/professionals", object{"name": strings.Repeat("é", 120)})
	require.Empty(t, p.InEnvironment("test").Call("GET", "/professionals", nil).List)
	for path, last := range map[string]int{"/professionals": 3, "/users": 2} {
		require.Len(t, p.Call("GET", path, nil).List, last)
		require.Len(t, p.Call("GET", path+"?per_page=1&page=2", nil).List, 1)
		require.Empty(t, p.Call("GET", path+"?per_page=500&page=2", nil).List)
		p.Invalid("query.per_page", "GET", path+"?per_page=501", nil)
	}
	p.OK(204, "DELETE", "/professionals/"+id, nil)
	require.Len(t, p.Call("GET", "/professionals", nil).List, 2)
}
