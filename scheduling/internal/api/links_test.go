package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

// The link that connected products show to an appointment opens, and reveals nothing by
// itself.
func TestLinksToAppointmentsOpen(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	id := org.Book(0)
	found := org.OK(200, "GET", "/integrations/search/appointments?phone=11987654321", nil)["appointments"].([]any)[0].(object)
	require.Equal(t, org.Hub.URL+"/appointments/"+id, found["url"])
	for language, title := range map[string]string{"pt": "Um agendamento", "en": "An appointment", "es": "Una cita"} {
		page := org.As("").Call("GET", found["url"].(string), nil, "Accept-Language", language)
		require.Equal(t, 200, page.Status)
		require.Contains(t, page.Text, "<h1>"+title+"</h1>")
		require.NotContains(t, page.Text, "Caio")
	}
	require.Equal(t, 200, org.As("").Call("GET", org.Hub.URL+"/appointments/"+org.ClientID, nil).Status, "nor whether it is there")
	require.Equal(t, 404, org.As("").Call("GET", org.Hub.URL+"/appointments/x", nil).Status)
	require.Equal(t, 405, org.As("").Call("POST", found["url"].(string), nil).Status)
}
