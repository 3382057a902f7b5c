package api_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
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
	company := messagingtest.NewCompanyAlone(t)
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

	made := company.OK(201, "POST", "/schedules", object{"contactId": ticket["contactId"], "body": "Happy birthday", "sendAt": "2097-03-02T12:00:00Z"})
	list := company.OK(201, "POST", "/contact-lists", object{"name": "Clients", "contactIds": []any{ticket["contactId"]}})
	campaign := company.OK(201, "POST", "/campaigns", object{"name": "Winter", "message1": "Offer for {nome}", "whatsappId": connection.ID, "contactIds": []any{ticket["contactId"]}, "messageInterval": 0})
	company.OK(200, "POST", messagingtest.Path("/campaigns", campaign)+"/start", nil)
	require.Eventually(t, func() bool {
		company.RunJob("campaigns")
		return company.Hub.Count(`messaging.campaign_shipments where status in ('sent', 'delivered')`) == 1
	}, time.Minute, 10*time.Millisecond)

	export := company.Get(path + "/export")
	require.Equal(t, []any{made}, export["schedules"])
	require.Equal(t, []any{object{"id": list["id"], "name": "Clients"}}, export["contactLists"])
	shipment := export["campaigns"].([]any)[0].(object)
	require.Equal(t, []any{campaign["id"], "Winter", phone, "Offer for Ana Souza"}, []any{shipment["campaignId"], shipment["name"], shipment["number"], shipment["message"]})
	require.Equal(t, "ana@example.com", export["contact"].(object)["email"])
	require.Equal(t, "shared her secret", export["tickets"].([]any)[0].(object)["resolution"])
	require.Len(t, export["messages"], 3)
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
	company.Refused(400, "ERR_ANONYMIZED_CONTACT", "POST", "/tickets", object{"contactId": ticket["contactId"]})
	company.Refused(400, "ERR_ANONYMIZED_CONTACT", "POST", "/schedules", object{"contactId": ticket["contactId"], "body": "Hello", "sendAt": "2097-03-01T12:00:00Z"})
	company.OK(200, "PUT", ticketPath, object{"status": "open"})
	company.Refused(400, "ERR_ANONYMIZED_CONTACT", "POST", ticketPath+"/messages", object{"body": "Hello"})
	company.OK(200, "PUT", ticketPath, object{"status": "closed"})

	// Who writes again is a new contact.
	company.SendFromPhone(phone, connection, "Me again")
	require.NotEqual(t, path, messagingtest.Path("/contacts", company.Tickets("status=pending")[0]["contact"].(object)))
	require.Equal(t, "Anonymized", company.Get(path)["name"])
}

// Messages of closed tickets that are older than the company keeps them are deleted, with the
// scheduled messages and the copies in campaigns that they were sent by.
func TestRetention(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	company := messagingtest.NewCompanyAt(t, start)
	other := company.AnotherCompany() // keeps everything
	companies := []*messagingtest.Company{company, other}
	paths, phones := make(map[string]string), make(map[string]string)
	for name, c := range map[string]*messagingtest.Company{"open": company, "closed": company, "kept": other} {
		connection := c.Connect()
		phones[name] = c.AddPhone("Ana " + name)
		c.SendFromPhone(phones[name], connection, "Old")
		paths[name] = messagingtest.TicketPath(c.Tickets("searchParam=" + phones[name])[0])
		if name != "open" {
			contact := c.Get(paths[name])["contactId"]
			file := c.Upload(paths[name], nil, messagingtest.File{Name: "a.pdf", Content: []byte("%PDF-1.7")}).Body["mediaUrl"]
			c.OK(201, "POST", "/schedules", object{"body": "Happy birthday", "sendAt": start.Add(time.Minute), "contactId": contact, "whatsappId": connection.ID, "mediaUrl": file})
			c.OK(201, "POST", "/schedules", object{"body": "Later", "sendAt": start.AddDate(1, 0, 0), "contactId": contact})
			campaign := c.OK(201, "POST", "/campaigns", object{"name": "Offers", "message1": "Offer for {nome}", "whatsappId": connection.ID, "contactIds": []any{contact}, "messageInterval": 0})
			c.OK(200, "POST", messagingtest.Path("/campaigns", campaign)+"/start", nil)
		}
	}
	company.Hub.Clock.Advance(2 * time.Minute)
	company.OK(200, "PUT", "/company", object{"retentionDays": 30})
	for _, c := range companies {
		require.Eventually(t, func() bool { // the hub runs the jobs, too
			c.RunJob("schedules")
			c.RunJob("campaigns")
			c.FlushOutbox()
			return c.Get("/schedules?status=sent")["count"] == 1.0 && c.Get("/campaigns")["records"].([]any)[0].(object)["counters"].(object)["sent"] == 1.0
		}, time.Minute, 10*time.Millisecond)
	}
	company.OK(200, "PUT", paths["closed"], object{"status": "closed"})
	other.OK(200, "PUT", paths["kept"], object{"status": "closed"})
	ages := func(days int) {
		at := start.AddDate(0, 0, -days)
		for _, sql := range []string{`update messages set sent_at = $1`, `update schedules set send_at = $1, sent_at = $1 where status = 'sent'`, `update campaign_shipments set updated_at = $1`} {
			_, err := company.Hub.Host.Pool.Exec(t.Context(), sql, at)
			require.NoError(t, err)
		}
		company.RunJob("retention")
	}
	// copies returns the tables with a text to a contact, or with its number or name.
	copies := func(name string) (tables []string) {
		t.Helper()
		pool := company.Hub.Host.Pool
		rows, err := pool.Query(t.Context(), `select table_name from information_schema.tables where table_schema = 'messaging' and table_name not like 'sandbox%' order by 1`)
		require.NoError(t, err)
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		for _, table := range names {
			var isFound bool
			require.NoError(t, pool.QueryRow(t.Context(), `select exists (select from `+table+` x where x::text ~* $1)`, phones[name]+`|ana `+name).Scan(&isFound))
			if isFound {
				tables = append(tables, table)
			}
		}
		return tables
	}
	everywhere := []string{"campaign_shipments", "contacts", "messages"}
	ages(29)
	require.Equal(t, everywhere, copies("closed"))
	require.Contains(t, bodies(company, paths["closed"]), "Old")
	exec := func(sql string) {
		_, err := company.Hub.Host.Pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	exec(`insert into outbox (company_id, message_id, connection_id, contact_id, due_at) select company_id, id, connection_id, contact_id, now() + interval '1 year' from messages where body = 'Old'`)
	ages(31)
	require.Equal(t, []string{"Old"}, bodies(company, paths["closed"]), "it waits to be sent")
	exec(`delete from outbox`)
	ages(31)
	require.Equal(t, []string{"contacts"}, copies("closed"))
	require.Equal(t, everywhere, copies("kept"))
	require.Empty(t, bodies(company, paths["closed"]))
	require.Empty(t, company.Get(paths["closed"])["lastMessage"])
	require.Equal(t, []string{"Old"}, bodies(company, paths["open"]))
	require.Contains(t, bodies(other, paths["kept"]), "Old")
	schedules := company.Get("/schedules")["schedules"].([]any)
	require.Len(t, schedules, 1)
	require.Equal(t, "Later", schedules[0].(object)["body"], "what is not sent yet is kept")
	require.EqualValues(t, 2, other.Get("/schedules")["count"])
	files := func(c *messagingtest.Company) (n int) {
		require.NoError(t, c.Hub.Host.Pool.QueryRow(t.Context(), `select count(*) from media_files where company_id = $1 and erased_at is null`, c.ID).Scan(&n))
		return n
	}
	require.Equal(t, []int{0, 1}, []int{files(company), files(other)})
	counters := company.Get("/campaigns")["records"].([]any)[0].(object)["counters"].(object)
	require.Equal(t, []any{1.0, 1.0}, []any{counters["total"], counters["sent"]}, "the counters stay")
}

// An export has the questions about appointments that the contact was asked.
func TestExportHasAppointmentQuestions(t *testing.T) {
	t.Parallel()
	start := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	company := messagingtest.NewCompanyAt(t, start)
	line, ana, bia := company.Connect(), company.AddPhone("Ana"), company.AddPhone("Bia")
	calendar := company.ConnectCalendar("Corte")
	calendar.Open("a-1", "a-2", "a-3")
	calendar.Remind(ana, "a-1", "Corte, 9h", start.Add(time.Hour))
	calendar.Remind(ana, "a-2", "Barba, 10h", start.Add(2*time.Hour))
	calendar.Remind(bia, "a-3", "Corte, 11h", start.Add(3*time.Hour))
	company.SendFromPhone(ana, line, "2")
	export := company.Get(messagingtest.Path("/contacts", company.Tickets("searchParam=" + ana)[0]["contact"].(object)) + "/export")
	questions := export["appointmentQuestions"].([]any)
	require.Len(t, questions, 2)
	first, second := questions[0].(object), questions[1].(object)
	require.Equal(t, []any{"a-1", "Corte, 9h", "2027-03-01T12:00:00Z", "2027-03-01T13:00:00Z"}, []any{first["appointmentId"], first["title"], first["askedAt"], first["until"]})
	require.Contains(t, []any{"cancelling", "cancelled"}, first["status"], "the hub calls the product, too")
	require.NotNil(t, first["answeredAt"])
	require.Equal(t, export["messages"].([]any)[0].(object)["id"], first["messageId"])
	require.Equal(t, []any{"a-2", "open", nil}, []any{second["appointmentId"], second["status"], second["answeredAt"]})
	require.Empty(t, company.Get(messagingtest.Path("/contacts", company.OK(201, "POST", "/contacts", object{"name": "Silent", "number": "15551234567"})) + "/export")["appointmentQuestions"])
}
