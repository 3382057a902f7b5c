package api_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// While the Cloud API does not answer for an hour, it is asked again at growing intervals up
// to a minute. Messages wait without being tried, and go out once and in order when it
// answers.
func TestCloudAwayForAnHour(t *testing.T) {
	t.Parallel()
	start := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	company, network := newCloudCompany(t, start)
	other := company.AnotherCompany()
	line := other.Connect()
	connection := company.OK(201, "POST", "/whatsapp", object{"name": "Official", "driver": "cloud", "cloud": cloudAccount()})
	path := messagingtest.Path("/whatsapp", connection)
	const ana = "5511987654321"
	deliver(company, connection, cloudSecret, cloudWebhook(cloudPhone, cloudText("wamid.in1", ana, `"Hi"`, start)))
	program := company.As(company.APIToken())
	ticket := messagingtest.TicketPath(company.Tickets("")[0])
	write := func(minute int) {
		require.EqualValues(t, 0, company.OK(201, "POST", ticket+"/messages", object{"body": fmt.Sprintf("Message %d", minute)})["ack"])
	}

	network.SetAway(true)
	require.Equal(t, "queued", program.OK(200, "POST", "/api/messages/send", object{"number": ana, "body": "Message 0"})["status"])
	away := company.Get(path)
	require.Equal(t, []any{"TIMEOUT", "The network does not respond.", 0.0}, []any{away["status"], away["lastError"], away["retries"]})
	for minute := 1; minute <= 60; minute++ {
		write(minute)
		for range 12 {
			company.Hub.Clock.Advance(5 * time.Second)
			company.RunJob("unreachable-connections")
		}
		company.Token = company.LogIn(company.Email, messagingtest.Password).Token
	}
	away = company.Get(path)
	require.EqualValues(t, network.Refused()["GET"], away["retries"], "one for each further attempt")
	require.Equal(t, []any{"TIMEOUT", "The Cloud API does not respond."}, []any{away["status"], away["lastError"]})
	calls := network.Refused()
	require.Equal(t, 1, calls["POST"], "the other messages were not tried")
	require.GreaterOrEqual(t, calls["GET"], 50)
	require.LessOrEqual(t, calls["GET"], 70)
	other = other.LogIn(other.Email, messagingtest.Password)
	phone := other.AddPhone("Zoe")
	require.Equal(t, "sent", other.As(other.APIToken()).OK(200, "POST", "/api/messages/send", object{"number": phone, "body": "Hi", "whatsappId": line.ID})["status"])

	network.SetAway(false)
	company.Hub.Clock.Advance(time.Minute)
	company.RunJob("unreachable-connections")
	back := company.Get(path)
	require.Equal(t, []any{"CONNECTED", nil}, []any{back["status"], back["lastError"]})
	company.FlushOutbox()
	var texts, expected []string
	for _, message := range network.Sent() {
		texts = append(texts, message["text"].(object)["body"].(string))
	}
	for minute := range 61 {
		expected = append(expected, fmt.Sprintf("Message %d", minute))
	}
	require.Equal(t, expected, texts)
	require.EqualValues(t, 1, company.OK(201, "POST", ticket+"/messages", object{"body": "Again"})["ack"])
}
