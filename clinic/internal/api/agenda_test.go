package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// The agenda has the appointments of all patients in a period, in the order of time, by
// professional and status, of this clinic and environment alone.
func TestAgenda(t *testing.T) {
	t.Parallel()
	c := clinictest.NewClinic(t)
	ana, bia := c.AddPatient(clinictest.Phone), c.AddPatient("+5511900001111")
	add := func(patient, datetime, professional, status string) string {
		return c.OK(201, "POST", "/patients/"+patient+"/appointments", object{"datetime": datetime, "professional": professional, "status": status})["id"].(string)
	}
	evening := add(bia, "2027-03-02T23:30:00-03:00", "Dra. Lia", "confirmed") // the third in UTC
	morning := add(ana, "2027-03-02T09:00:00-03:00", "Dr. Rui", "scheduled")
	next := add(ana, "2027-03-03T00:00:00-03:00", "Dra. Lia", "cancelled")
	stranger := c.AnotherClinic()
	stranger.OK(201, "POST", "/patients/"+stranger.AddPatient(clinictest.Phone)+"/appointments", object{"datetime": "2027-03-02T10:00:00-03:00"})
	agenda := func(query string) (ids []string) {
		for _, item := range c.Items("/appointments?" + query) {
			ids = append(ids, item["id"].(string))
		}
		return ids
	}
	for query, want := range map[string][]string{
		"from=2027-03-02&to=2027-03-02":                                        {morning, evening},
		"from=2027-03-02&to=2027-03-03":                                        {morning, evening, next},
		"from=2027-03-02T09:00&to=2027-03-02T23:30":                            {morning},
		"from=2027-03-03T02:00:00Z&to=2027-03-03T03:00:01Z":                    {evening, next},
		"from=2027-03-02&to=2027-03-03&professional=dra.+lia":                  {evening, next},
		"from=2027-03-02&to=2027-03-03&professional=Dra.+Lia&status=cancelled": {next},
		"from=2027-03-02&to=2027-03-03&status=no_show":                         nil,
		"from=2027-03-02&to=2027-03-03&per_page=1&page=2":                      {evening},
		"from=2028-03-02&to=2028-03-03":                                        nil,
	} {
		require.Equal(t, want, agenda(query), query)
	}
	page := c.AddStaff().OK(200, "GET", "/appointments?from=2027-03-02&to=2027-03-02", nil)
	require.EqualValues(t, 2, page["total"])
	first := page["items"].([]any)[0].(object)
	require.Equal(t, []any{"Ana Souza", ana, "Dr. Rui"}, []any{first["patient_name"], first["patient_id"], first["professional"]})
	require.Empty(t, c.InEnvironment("test").Items("/appointments?from=2027-03-02&to=2027-03-03"))
	for query, location := range map[string]string{
		"from=2027-03-03&to=2027-03-02": "query.to", "from=2027-03-02&to=2028-03-03": "query.to", "from=tomorrow&to=2028-03-03": "query.from", "from=2027-02-30&to=2027-03-02": "query.from",
	} {
		c.Invalid(location, "GET", "/appointments?"+query, nil)
	}
	require.NotEmpty(t, c.Items("/integrations/audit-log?action=appointments.agenda"), "reading is on record")
}

// What is overdue is a list of the clinic, the longest due first.
func TestOverduePayments(t *testing.T) {
	t.Parallel()
	c := clinictest.NewClinic(t)
	late, later := c.AddDuePayment(clinictest.DateIn(t, -2)), c.AddDuePayment(clinictest.DateIn(t, -9))
	pending := c.AddDuePayment(clinictest.DateIn(t, 5))
	require.Empty(t, c.Items("/payments?status=overdue"))
	c.OK(200, "POST", "/payments/run-overdue", nil)
	stranger := c.AnotherClinic()
	stranger.AddDuePayment(clinictest.DateIn(t, -2))
	stranger.OK(200, "POST", "/payments/run-overdue", nil)
	ids := func(query string) (list []any) {
		for _, item := range c.Items("/payments" + query) {
			require.Equal(t, "Ana Souza", item["patient_name"])
			list = append(list, item["id"])
		}
		return list
	}
	require.Equal(t, []any{later, late}, ids("?status=overdue"))
	require.Equal(t, []any{later, late}, ids(""))
	require.Equal(t, []any{late}, ids("?per_page=1&page=2"))
	require.Equal(t, []any{pending}, ids("?status=pending"))
	c.OK(200, "POST", "/payments/"+later+"/pay", nil)
	require.Equal(t, []any{late}, ids("?status=overdue"))
	require.Equal(t, []any{later}, ids("?status=paid"))
	require.Empty(t, c.InEnvironment("test").Items("/payments?status=overdue"))
	c.Invalid("query.status", "GET", "/payments?status=late", nil)
}
