package messaging_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/module"
	"integrationhub/messaging"
	"integrationhub/messaging/internal/messagingtest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	moduletest.Run(t, moduletest.Case{
		Module: messaging.New(),
		Public: []string{"auth.signup", "auth.login", "auth.refresh", "cloud-webhooks.verify", "cloud-webhooks.receive", "bridge-events.receive"},
		SignUp: func(t *testing.T, base string) moduletest.Account {
			t.Helper()
			company := messagingtest.SignUp(t, moduletest.Attach(t, "messaging", "", base, module.Host{}))
			return moduletest.Account{Tenant: company.Tenant, Token: company.Token}
		},
		Resources: func(t *testing.T, base string, account moduletest.Account) map[string]string {
			t.Helper()
			company := messagingtest.CompanyAt(t, moduletest.Attach(t, "messaging", "", base, module.Host{}), account.Token)
			connection := company.Connect()
			company.SendFromPhone(company.AddPhone("Ana"), connection, "Hi")
			ticket := messagingtest.TicketPath(company.Tickets("")[0])
			company.ConnectCalendar("Corte")
			contact := company.Get("/contacts")["contacts"].([]any)[0].(map[string]any)
			campaign := messagingtest.Path("/campaigns", company.OK(201, "POST", "/campaigns", map[string]any{"name": "Offers", "message1": "Hi", "whatsappId": connection.ID}))
			webhook := "/webhooks/" + company.OK(201, "POST", "/webhooks", map[string]any{"url": "https://example.com", "events": []string{"ticket.updated"}})["id"].(string)
			file := company.Upload(ticket, nil, messagingtest.File{Name: "a.pdf", Content: []byte("%PDF-1.7")}).Body["mediaUrl"].(string)
			return map[string]string{
				"/media/{id}":    file[strings.Index(file, "/media/"):],
				"/whatsapp/{id}": messagingtest.ConnectionPath(connection), "/whatsapp/{id}/qrCode": messagingtest.ConnectionPath(connection) + "/qrCode",
				"/whatsapp/{id}/templates": messagingtest.ConnectionPath(connection) + "/templates",
				"/whatsappsession/{id}":    "/whatsappsession/none",
				"/queue/{id}":              messagingtest.Path("/queue", company.OK(201, "POST", "/queue", map[string]any{"name": "Sales", "color": "#00f"})),
				"/schedules/{id}":          messagingtest.Path("/schedules", company.OK(201, "POST", "/schedules", map[string]any{"body": "Hi", "sendAt": "2097-03-01T12:00:00Z", "contactId": contact["id"]})),
				"/campaigns/{id}":          campaign, "/campaigns/{id}/report": campaign + "/report", "/campaigns/{id}/start": "/campaigns/none/start", "/campaigns/{id}/cancel": "/campaigns/none/cancel",
				"/tags/{id}":               messagingtest.Path("/tags", company.OK(201, "POST", "/tags", map[string]any{"name": "VIP"})),
				"/contacts/{id}":           messagingtest.Path("/contacts", company.Get("/contacts")["contacts"].([]any)[0].(map[string]any)),
				"/quick-messages/{id}":     messagingtest.Path("/quick-messages", company.OK(201, "POST", "/quick-messages", map[string]any{"shortcode": "address", "message": "Rua Augusta"})),
				"/contact-lists/{id}":      messagingtest.Path("/contact-lists", company.OK(201, "POST", "/contact-lists", map[string]any{"name": "March"})),
				"/contacts/{id}/export":    messagingtest.Path("/contacts", company.Get("/contacts")["contacts"].([]any)[0].(map[string]any)) + "/export",
				"/contacts/{id}/anonymize": "/contacts/1/anonymize",
				"/users/{id}":              messagingtest.Path("/users", company.Get("/users")["users"].([]any)[0].(map[string]any)),
				"/tickets/{id}":            ticket, "/tickets/{id}/messages": ticket + "/messages", "/api-tokens/{id}": "/api-tokens/none",
				"/tickets/{id}/services": ticket + "/services", "/tickets/{id}/free-times": ticket + "/free-times?service_id=service-Corte", "/tickets/{id}/bookings": ticket + "/bookings",
				"/webhooks/{id}": webhook, "/webhooks/{id}/deliveries": webhook + "/deliveries", "/webhooks/{id}/rotate-secret": webhook + "/rotate-secret",
				"/contacts/imports/{id}/cancel": "/contacts/imports/none/cancel",
				"/contacts/imports/{id}":        messagingtest.Path("/contacts/imports", company.ImportContacts("number\n"+strings.Repeat("5511987654321\n", 2001), nil).Body),
			}
		},
		Events: []hub.Event{
			{Type: "patient.created", Data: []byte(`{"phone":"+5511987654321"}`)}, {Type: "patient.updated", Data: []byte(`{"phone":"+5511987654321"}`)},
			{Type: "patient.deleted", Data: []byte(`{"phone":"+5511987654321"}`)},
		},
		State: func(t *testing.T, host module.Host, tenant uuid.UUID) string {
			t.Helper()
			var contacts string
			require.NoError(t, host.Pool.QueryRow(t.Context(), `select count(*)::text from contacts join companies c on c.id = company_id where tenant_id = $1`, tenant).Scan(&contacts))
			return contacts
		},
	})
}
