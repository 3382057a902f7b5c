package main_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/messaging"
)

// TestPhones: a phone of the simulated network pairs with a connection, and the two write to
// each other, all on the command line.
func TestPhones(t *testing.T) {
	t.Parallel()
	h := productHubOf(t, messaging.New())
	c := newCLI(t).withEnv("HUB_URL", h.url)
	status, text := post(t, h.url+"/messaging/auth/signup", http.Header{"Content-Type": {"application/json"}}, []byte(`{"name":"Bia","email":"bia@example.com","password":"a long password"}`))
	require.Equal(t, 201, status, text)
	var session struct{ Token string }
	require.NoError(t, json.Unmarshal([]byte(text), &session))
	asUser := http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + session.Token}}
	status, text = post(t, h.url+"/messaging/whatsapp", asUser, []byte(`{"name":"Reception"}`))
	require.Equal(t, 201, status, text)
	var connection struct {
		ID     int64
		QRCode string `json:"qrcode"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &connection))

	require.Equal(t, "5511900000001", c.run("phone", "add", "5511900000001", "Company").requireOK())
	c.run("phone", "add", "5511987654321", "Ana").requireOK()
	require.Contains(t, c.run("phone", "list").requireOK(), "5511987654321  Ana")
	require.Equal(t, "CONNECTED", c.run("phone", "scan", "5511900000001", connection.QRCode).requireOK())
	c.run("phone", "scan", "5511900000001", connection.QRCode).requireFails(1, "was used before")
	require.Regexp(t, "^sbx-", c.run("phone", "send", "5511987654321", "5511900000001", "Hello").requireOK())
	status, text = post(t, h.url+"/messaging/tickets/1/messages", asUser, []byte(`{"body":"Welcome"}`))
	require.Equal(t, 201, status, text)
	require.Contains(t, c.run("phone", "inbox", "5511987654321").requireOK(), "Welcome")
	c.run("phone", "read", "5511987654321").requireOK()
	var inbox struct{ Messages []struct{ Ack int } }
	c.run("phone", "inbox", "5511987654321", "-o", "json").decode(&inbox)
	require.Equal(t, 3, inbox.Messages[0].Ack)
	require.Equal(t, "TIMEOUT", c.run("phone", "offline", "1").requireOK())
	require.Equal(t, "CONNECTED", c.run("phone", "online", "1").requireOK())
	require.Equal(t, "BANNED", c.run("phone", "ban", "1").requireOK())
	c.run("phone", "ban", "x").requireFails(2, "CONNECTION is the id of a connection")
	c.run("phone", "inbox", "5511911111111").requireFails(5)
	require.Contains(t, c.run("phone", "send", "--help").requireOK(), "hub phone send 5511987654321")
}

// TestPhoneScreenInABrowser: the console's phones, with the messaging product. It stands here
// because the hub's own tests know no product.
func TestPhoneScreenInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	h := productHubOf(t, messaging.New())
	status, text := post(t, h.url+"/messaging/auth/signup", http.Header{"Content-Type": {"application/json"}}, []byte(`{"name":"Bia","email":"bia@example.com","password":"a long password"}`))
	require.Equal(t, 201, status, text)
	var session struct{ Token string }
	require.NoError(t, json.Unmarshal([]byte(text), &session))
	status, text = post(t, h.url+"/messaging/whatsapp", http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + session.Token}}, []byte(`{"name":"Reception"}`))
	require.Equal(t, 201, status, text)
	var connection struct {
		QRCode string `json:"qrcode"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &connection))
	hubtest.RunInBrowser(t, "hub/console/browser/phone.mjs", map[string]any{
		"url": h.url, "email": "admin@localhost", "password": adminPassword, "token": session.Token, "code": connection.QRCode,
	})
}
