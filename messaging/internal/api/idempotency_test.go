package api_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/messaging/internal/messagingtest"
)

// A request that comes again gets the first answer, and nothing is sent twice: one after the
// other, and at the same moment.
func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC))
	company.Connect()
	ana := company.AddPhone("Ana")
	program := company.As(company.APIToken())
	body := object{"number": ana, "body": "Hello"}
	first := program.OK(200, "POST", "/api/messages/send", body, "Idempotency-Key", "a")
	company.OK(200, "POST", "/sandbox/phones/"+ana+"/read", nil)
	require.Equal(t, first, program.OK(200, "POST", "/api/messages/send", body, "Idempotency-Key", "a"), "as it was then")
	require.Equal(t, first, program.OK(200, "POST", "/api/messages/send", object{"body": "Hello", "number": ana, "closeTicket": false}, "Idempotency-Key", "a"), "the same, written otherwise")
	require.Equal(t, "ERR_VALIDATION", program.OK(400, "POST", "/api/messages/send", object{"number": ana, "body": "Other"}, "Idempotency-Key", "a")["error"])
	require.Equal(t, []string{"Hello"}, company.Inbox(ana))

	twins := moduletest.Concurrently(moduletest.Repeat(8, func() moduletest.Response {
		response, err := program.Try("POST", "/api/messages/send", object{"number": ana, "body": "Twins"}, "Idempotency-Key", "b")
		if err != nil {
			response.Text = err.Error()
		}
		return response
	})...)
	for _, twin := range twins {
		require.Equal(t, 200, twin.Status, twin.Text)
		require.Equal(t, twins[0].Body, twin.Body)
	}
	require.Equal(t, []string{"Hello", "Twins"}, company.Inbox(ana))

	// A refused request leaves its key unused.
	require.Equal(t, "ERR_EMPTY_BODY", program.OK(400, "POST", "/api/messages/send", object{"number": ana, "body": ""}, "Idempotency-Key", "c")["error"])
	require.Equal(t, "ERR_WAPP_INVALID_CONTACT", program.OK(400, "POST", "/api/messages/send", object{"number": "5511987650000", "body": "x"}, "Idempotency-Key", "c")["error"])
	program.OK(200, "POST", "/api/messages/send", object{"number": ana, "body": "After all"}, "Idempotency-Key", "c")
	for _, bad := range []string{strings.Repeat("x", 201), "", "\t", "é"} {
		answer := program.Call("POST", "/api/messages/send", body, "Idempotency-Key", bad)
		require.Equal(t, 400, answer.Status, answer.Text)
		require.Equal(t, "ERR_VALIDATION", answer.Body["error"])
	}
	require.Equal(t, []string{"Hello", "Twins", "After all"}, company.Inbox(ana))

	// Keys are a token's own, for a day, and hold nobody's number.
	sent := len(company.Inbox(ana))
	second := company.As(company.APIToken())
	require.NotEqual(t, first["id"], second.OK(200, "POST", "/api/messages/send", body, "Idempotency-Key", "a")["id"])
	var rows int
	require.NoError(t, company.Hub.Host.Pool.QueryRow(t.Context(), `select count(*) from idempotency_keys where answer::text like '%' || $1 || '%' or answer is null`, ana).Scan(&rows))
	require.Zero(t, rows)
	company.Hub.Clock.Advance(24*time.Hour + time.Second)
	require.NotEqual(t, first["id"], program.OK(200, "POST", "/api/messages/send", body, "Idempotency-Key", "a")["id"])
	require.Len(t, company.Inbox(ana), sent+2)
	company.Hub.Clock.Advance(24*time.Hour + time.Second)
	company.RunJob("old-idempotency-keys")
	require.NoError(t, company.Hub.Host.Pool.QueryRow(t.Context(), `select count(*) from idempotency_keys`).Scan(&rows))
	require.Zero(t, rows)
}

// Keys often have the number of the contact: only a hash is stored. A key that a version before
// stored in clear still counts.
func TestIdempotencyKeysAreStoredHashed(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	company.Connect()
	ana := company.AddPhone("Ana")
	program := company.As(company.APIToken())
	body, key := object{"number": ana, "body": "x"}, "msg-+"+ana
	first := program.OK(200, "POST", "/api/messages/send", body, "Idempotency-Key", key)
	require.Equal(t, first["id"], program.OK(200, "POST", "/api/messages/send", body, "Idempotency-Key", key)["id"])
	var rows int
	require.NoError(t, company.Hub.Host.Pool.QueryRow(t.Context(), `select count(*) from idempotency_keys where key like '%' || $1`, ana).Scan(&rows))
	require.Zero(t, rows)
	_, err := company.Hub.Host.Pool.Exec(t.Context(), `update idempotency_keys set key = $1 where company_id = $2`, key, company.ID)
	require.NoError(t, err)
	require.Equal(t, first["id"], program.OK(200, "POST", "/api/messages/send", body, "Idempotency-Key", key)["id"])
	require.Equal(t, []string{"x"}, company.Inbox(ana))
}

// A message that the network refused is refused again with the same key.
func TestIdempotencyKeyOfRefusedMessage(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	company.Connect()
	ana := company.AddPhone("Ana")
	program := company.As(company.APIToken())
	first := program.OK(200, "POST", "/api/messages/send", object{"number": ana, "body": "x"}, "Idempotency-Key", "a")
	answer, err := json.Marshal(object{"status": "sent", "ack": -1, "contactId": first["contactId"], "ticketId": first["ticketId"]})
	require.NoError(t, err)
	_, err = company.Hub.Host.Pool.Exec(t.Context(), `update idempotency_keys set answer = $1 where company_id = $2`, answer, company.ID)
	require.NoError(t, err)
	require.Equal(t, "ERR_SENDING_WAPP_MSG", program.OK(400, "POST", "/api/messages/send", object{"number": ana, "body": "x"}, "Idempotency-Key", "a")["error"])
}
