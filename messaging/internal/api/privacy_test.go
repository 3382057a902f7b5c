package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// bodies returns the texts of a ticket's messages.
func bodies(company *messagingtest.Company, ticketPath string) []string {
	texts := []string{}
	for _, message := range company.Get(ticketPath + "/messages")["messages"].([]any) {
		texts = append(texts, message.(object)["body"].(string))
	}
	return texts
}

func TestExportAndAnonymize(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	connection, other := company.Connect(), company.AnotherCompany()
	user, _ := company.AddUser(nil)
	phone := company.AddPhone("Ana Souza")
	company.SendFromPhone(phone, connection, "My secret")
	ticket := company.Tickets("")[0]
	ticketPath, path := messagingtest.TicketPath(ticket), messagingtest.Path("/contacts", ticket["contact"].(object))
	company.OK(200, "PUT", ticketPath, object{"status": "open", "resolution": "shared her secret"})
	company.OK(201, "POST", ticketPath+"/messages", object{"body": "A note about Ana", "isPrivate": true})
	vip := company.OK(201, "POST", "/tags", object{"name": "VIP"})
	company.OK(200, "PUT", path, object{"email": "ana@example.com", "extraInfo": []object{{"name": "Birthday", "value": "2 March"}}, "tagIds": ids(messagingtest.ID(vip))})

	export := company.Get(path + "/export")
	require.Equal(t, "ana@example.com", export["contact"].(object)["email"])
	require.Equal(t, "shared her secret", export["tickets"].([]any)[0].(object)["resolution"])
	require.Len(t, export["messages"], 2)
	require.Equal(t, "My secret", export["messages"].([]any)[0].(object)["body"])
	silent := company.OK(201, "POST", "/contacts", object{"name": "Silent", "number": "15551234567"})
	require.Empty(t, company.Get(messagingtest.Path("/contacts", silent) + "/export")["messages"])

	for _, call := range [][2]string{{"GET", path + "/export"}, {"POST", path + "/anonymize"}} {
		user.Refused(403, "ERR_NO_PERMISSION", call[0], call[1], nil)
		other.Refused(404, "ERR_NO_CONTACT_FOUND", call[0], call[1], nil)
	}
	require.Equal(t, "Ana Souza", company.Get(path)["name"])

	anonymized := company.OK(200, "POST", path+"/anonymize", nil)
	require.Equal(t, "Anonymized", anonymized["name"])
	require.Empty(t, anonymized["number"])
	require.Empty(t, anonymized["email"])
	require.Empty(t, anonymized["extraInfo"])
	require.Empty(t, anonymized["tags"])
	require.NotNil(t, anonymized["anonymizedAt"])
	require.Equal(t, []string{"", ""}, bodies(company, ticketPath))
	closed := company.Get(ticketPath)
	require.Equal(t, "closed", closed["status"])
	require.Empty(t, closed["lastMessage"])
	require.Nil(t, closed["resolution"])
	for _, table := range []string{"contacts", "tickets", "messages", "contact_tags", "outbox"} {
		var found int
		require.NoError(t, company.Hub.Host.Pool.QueryRow(t.Context(), `select count(*) from `+table+` x where x::text ~* ('ana souza|secret|ana@|march|'||$1)`, phone).Scan(&found))
		require.Zero(t, found, table)
	}
	require.Equal(t, anonymized, company.OK(200, "POST", path+"/anonymize", nil), "once more changes nothing")
	company.Refused(400, "ERR_ANONYMIZED_CONTACT", "PUT", path, object{"name": "Ana"})

	// Who writes again is a new contact.
	company.SendFromPhone(phone, connection, "Me again")
	require.NotEqual(t, path, messagingtest.Path("/contacts", company.Tickets("status=pending")[0]["contact"].(object)))
	require.Equal(t, "Anonymized", company.Get(path)["name"])
}

// Messages of closed tickets that are older than the company keeps them are deleted.
func TestRetention(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	company := messagingtest.NewCompanyAt(t, start)
	other := company.AnotherCompany() // keeps everything
	paths := make(map[string]string)
	for name, c := range map[string]*messagingtest.Company{"open": company, "closed": company, "kept": other} {
		connection := c.Connect()
		phone := c.AddPhone("Ana " + name)
		c.SendFromPhone(phone, connection, "Old")
		paths[name] = messagingtest.TicketPath(c.Tickets("searchParam=" + phone)[0])
		if name != "open" {
			c.OK(200, "PUT", paths[name], object{"status": "closed"})
		}
	}
	company.OK(200, "PUT", "/company", object{"retentionDays": 30})
	ages := func(days int) {
		for _, c := range []*messagingtest.Company{company, other} {
			_, err := c.Hub.Host.Pool.Exec(t.Context(), `update messages set sent_at = $2 where company_id = $1`, c.ID, start.AddDate(0, 0, -days))
			require.NoError(t, err)
		}
		require.NoError(t, company.Hub.Job("retention").Run(t.Context(), nil))
	}
	ages(29)
	require.Equal(t, []string{"Old"}, bodies(company, paths["closed"]))
	ages(31)
	require.Empty(t, bodies(company, paths["closed"]))
	require.Empty(t, company.Get(paths["closed"])["lastMessage"])
	require.Equal(t, []string{"Old"}, bodies(company, paths["open"]))
	require.Equal(t, []string{"Old"}, bodies(other, paths["kept"]))
}
