package scheduling_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// Clients are found under every form of their number that the rest of the hub knows it by.
func TestClientsAreFoundByEveryFormOfTheirNumber(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	there := make(map[string]string)
	for _, one := range hubtest.Phones {
		if there[one.E164] == "" {
			there[one.E164] = s.ok(201, "POST", "/clients", object{"name": "Caio", "phone": one.Written})["id"].(string)
		}
		forms := []string{one.Written, one.E164}
		if one.WithoutNinthDigit != "" {
			forms = append(forms, one.WithoutNinthDigit, one.WithoutNinthDigit[1:], one.WithoutNinthDigit[3:])
		}
		for _, form := range forms {
			got := s.ok(200, "GET", "/integrations/search/clients?phone="+url.QueryEscape(form), nil)
			require.Equal(t, true, got["found"], form)
			require.Equal(t, there[one.E164], got["client"].(object)["id"], form)
		}
	}
	require.Equal(t, false, s.ok(200, "GET", "/integrations/search/clients?phone=1122223333", nil)["found"], "a landline that looks like a mobile's end")
}
