package productapi_test

import (
	"bufio"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/config"
)

// Products send e-mail, store pictures and call peers with what the host provides.
func TestProductsUseTheirHost(t *testing.T) {
	t.Parallel()
	n := start(t, nil)
	got := call(t, "POST", n.url+"/notes/api/v1/use", `{"author":"bia@example.com","text":"hello"}`)
	require.Equal(t, 200, got.status, got.text)
	require.EqualValues(t, 200, got.body["health"], "the hub's own address is open")
	require.Equal(t, "sandbox", got.body["payment"])
	picture := call(t, "GET", got.body["url"].(string), "")
	require.Equal(t, 200, picture.status)
	require.Equal(t, "hello", picture.text)
	require.Equal(t, "image/png", picture.header.Get("Content-Type"))
	require.Equal(t, "nosniff", picture.header.Get("X-Content-Type-Options"))

	require.Equal(t, 409, call(t, "POST", n.url+"/notes/api/v1/use", `{"author":"undo@example.com","text":"never"}`).status)
	require.Equal(t, 422, call(t, "POST", n.url+"/notes/api/v1/use", `{"author":"nobody","text":"x"}`).status)
	list := n.ok(200, "GET", "/api/v1/dev/mail?to=bia@example.com", "").body["items"].([]any)
	require.Len(t, list, 1)
	mail := list[0].(map[string]any)
	require.Equal(t, "hello", mail["text"])
	require.Equal(t, "A note", mail["subject"])
	require.Len(t, n.ok(200, "GET", "/api/v1/dev/mail", "").body["items"], 1, "what was rolled back was never sent")
	require.Equal(t, 401, call(t, "GET", n.url+"/api/v1/dev/mail", "").status)
}

// In production nobody reads mail, and what was sent leaves nothing behind.
func TestProductionKeepsNoMail(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	taken := make(chan string, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		say := func(text string) { _, _ = conn.Write([]byte(text + "\r\n")) }
		say("220 stand-in")
		in, text, data := bufio.NewScanner(conn), "", false
		for in.Scan() {
			switch line := in.Text(); {
			case data && line == ".":
				data = false
				taken <- text
				say("250 taken")
			case data:
				text += line + "\n"
			case line == "DATA":
				data = true
				say("354 go on")
			default:
				say("250 ok")
			}
		}
	}()
	t.Cleanup(func() { _ = listener.Close() })
	n := start(t, func(c *config.Config) {
		c.Env, c.PublicURL, c.MailFrom = config.Production, "http://127.0.0.1:1", "Hub <hub@example.com>"
		c.SMTPURL = config.Secret("smtp://" + listener.Addr().String())
		c.EgressAllow = nil
	})
	_, err = n.db.Exec(t.Context(), `insert into hub.mails (id, product, recipient, from_name, subject, body)
		values (gen_random_uuid(), 'notes', 'bia@example.com', 'Notes', 'A note', 'hello')`)
	require.NoError(t, err)
	text := <-taken
	require.Contains(t, text, `From: "Notes" <hub@example.com>`)
	require.True(t, strings.Contains(text, "To: <bia@example.com>") && strings.Contains(text, "hello"), text)
	require.Eventually(t, func() bool {
		var left int
		require.NoError(t, n.db.QueryRow(t.Context(), `select count(*) from hub.mails`).Scan(&left))
		return left == 0
	}, soon, tick)
	require.Equal(t, 404, call(t, "GET", n.url+"/api/v1/dev/mail", "", bearer(n.token)...).status)
}
