package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// A sign-up makes a company with its first administrator, who is logged in.
func TestSignUp(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	anybody := company.As("")
	made := anybody.Call("POST", "/auth/signup", object{"name": " Bia Souza ", "email": "Sign.Up@example.com", "password": "12345"})
	require.Equal(t, 201, made.Status, made.Text)
	require.NotEmpty(t, made.Body["token"])
	require.Positive(t, made.Body["expiresIn"])
	cookies := (&http.Response{Header: made.Header}).Cookies()
	require.Len(t, cookies, 1)
	require.Equal(t, []any{"jrt", made.Body["refreshToken"]}, []any{cookies[0].Name, cookies[0].Value})
	user := made.Body["user"].(object)
	require.Equal(t, object{
		"id": user["id"], "name": "Bia Souza", "email": "Sign.Up@example.com", "profile": "admin", "companyId": user["companyId"],
		"company": object{"id": user["companyId"], "name": "Bia Souza"}, "super": false, "queues": []any{}, "allTicket": "disabled",
	}, user, "the company has the administrator's name where it is given none")
	require.Equal(t, user["companyId"], company.As(made.Body["token"].(string)).Get("/company")["id"])
	login := anybody.OK(200, "POST", "/auth/login", object{"email": "sign.up@EXAMPLE.com", "password": "12345"})
	require.Equal(t, user, login["user"])

	anybody.Refused(400, "ERR_EMAIL_TAKEN", "POST", "/auth/signup", object{"name": "Ana", "email": "sign.up@example.com", "password": "12345"})
	for name, change := range map[string]object{
		"a short password": {"password": "1234"}, "a long password": {"password": strings.Repeat("1", 129)}, "a short name": {"name": "B"}, "a blank name": {"name": "   "}, "a long name": {"name": strings.Repeat("B", 121)},
		"no address": {"email": ""}, "what is no address": {"email": "bia"}, "a long company name": {"companyName": strings.Repeat("B", 121)},
	} {
		body := object{"name": "Bia", "email": "another@example.com", "password": "12345"}
		for member, value := range change {
			body[member] = value
		}
		refused := anybody.Call("POST", "/auth/signup", body)
		require.Equal(t, []any{400, "ERR_VALIDATION"}, []any{refused.Status, refused.Body["error"]}, "%s: %s", name, refused.Text)
	}
	anybody.OK(201, "POST", "/auth/signup", object{"name": "Bo", "email": "another@example.com", "password": strings.Repeat("1", 128)})
}

// The phone of a sign-up is the company's, as it was given; without one it has none.
func TestSignUpPhone(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	anybody := company.As("")
	require.Empty(t, company.Get("/company")["phone"])
	for i, phone := range []string{"+55 (11) 3333-4444", strings.Repeat("1", 40), ""} {
		made := anybody.OK(201, "POST", "/auth/signup", object{"name": "Bia", "email": fmt.Sprintf("phone%d-%s", i, company.Email), "password": "12345", "phone": phone})
		require.Equal(t, phone, company.As(made["token"].(string)).Get("/company")["phone"])
	}
	anybody.Refused(400, "ERR_VALIDATION", "POST", "/auth/signup", object{"name": "Bia", "email": "long-" + company.Email, "password": "12345", "phone": strings.Repeat("1", 41)})
	anybody.Refused(401, "ERR_INVALID_CREDENTIALS", "POST", "/auth/login", object{"email": "long-" + company.Email, "password": "12345"})
}

// What needs a connection says so where the company has none, or it was deleted.
func TestNoConnection(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	const code = "ERR_NO_DEF_WAPP_FOUND"
	contact := company.OK(201, "POST", "/contacts", object{"name": "Ana", "number": "5511987654321"})
	company.Refused(400, code, "POST", "/tickets", object{"contactId": contact["id"]})
	line := company.Connect()
	ana := company.AddPhone("Ana Souza")
	company.SendFromPhone(ana, line, "Hi")
	ticket := messagingtest.TicketPath(company.Tickets("")[0])
	company.OK(200, "PUT", ticket, object{"status": "open"})
	campaign := company.OK(201, "POST", "/campaigns", object{"name": "Offers", "message1": "Hi", "whatsappId": line.ID, "contactIds": []any{contact["id"]}})
	company.OK(200, "DELETE", fmt.Sprintf("/whatsapp/%d", line.ID), nil)
	company.Refused(400, code, "POST", ticket+"/messages", object{"body": "x"})
	company.Refused(400, code, "POST", messagingtest.Path("/campaigns", campaign)+"/start", nil)
}
