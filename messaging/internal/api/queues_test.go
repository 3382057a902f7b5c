package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

func TestQueues(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	sales := company.OK(201, "POST", "/queue", object{
		"name": " Sales ", "color": "#00AA88", "greetingMessage": "Hello!", "orderQueue": 2, "schedules": []object{{"weekdayEn": "monday", "startTime": "08:00", "endTime": "18:00"}},
		"options": []object{{"title": "Prices", "message": "See our site"}, {"title": "Person"}},
	})
	require.Equal(t, []any{"Sales", "#00aa88", "Hello!", 2.0, ""}, []any{sales["name"], sales["color"], sales["greetingMessage"], sales["orderQueue"], sales["outOfHoursMessage"]})
	require.Equal(t, "Segunda-feira", sales["schedules"].([]any)[0].(object)["weekday"])
	require.Equal(t, "2", sales["options"].([]any)[1].(object)["option"])
	support := company.OK(201, "POST", "/queue", object{"name": "Support", "color": "#0a0", "orderQueue": 1})
	path := messagingtest.Path("/queue", sales)
	require.Equal(t, sales, company.Get(path))
	list := company.Call("GET", "/queue", nil).List
	require.Equal(t, []object{support, sales}, list, "in their order")

	for name, refusal := range map[string]struct {
		code string
		body any
	}{
		"no name":             {"ERR_QUEUE_INVALID_NAME", object{"color": "#111"}},
		"no color":            {"ERR_QUEUE_INVALID_COLOR", object{"name": "Billing"}},
		"a short name":        {"ERR_QUEUE_INVALID_NAME", object{"name": " x ", "color": "#111"}},
		"a color name":        {"ERR_QUEUE_INVALID_COLOR", object{"name": "Billing", "color": "green"}},
		"a taken name":        {"ERR_QUEUE_NAME_ALREADY_EXISTS", object{"name": "SALES", "color": "#111"}},
		"a taken color":       {"ERR_QUEUE_COLOR_ALREADY_EXISTS", object{"name": "Billing", "color": "#00aa88"}},
		"hours that overlap":  {"ERR_VALIDATION", object{"name": "Billing", "color": "#111", "schedules": []object{{"weekdayEn": "monday", "startTime": "18:00", "endTime": "08:00"}}}},
		"an untitled option":  {"ERR_VALIDATION", object{"name": "Billing", "color": "#111", "options": []object{{"title": ""}}}},
		"a wrong type":        {"ERR_VALIDATION", object{"name": 5, "color": "#111"}},
		"a place that is low": {"ERR_VALIDATION", object{"name": "Billing", "color": "#111", "orderQueue": -1}},
		"no JSON":             {"ERR_VALIDATION", "{"},
	} {
		refused := company.Call("POST", "/queue", refusal.body)
		require.Equal(t, 400, refused.Status, name)
		require.Equal(t, refusal.code, refused.Body["error"], name)
	}
	company.Refused(400, "ERR_QUEUE_NAME_ALREADY_EXISTS", "PUT", path, object{"name": "support"})
	require.Equal(t, list, company.Call("GET", "/queue", nil).List)
	changed := company.OK(200, "PUT", path, object{"orderQueue": nil, "options": []object{}})
	require.Nil(t, changed["orderQueue"])
	require.Empty(t, changed["options"])
	require.Equal(t, "Sales", changed["name"])

	caio, _ := company.AddUser(nil)
	require.Len(t, caio.Call("GET", "/queue", nil).List, 2, "users read them")
	caio.Refused(403, "ERR_NO_PERMISSION", "PUT", path, object{"name": "Mine"})
	caio.Refused(403, "ERR_NO_PERMISSION", "DELETE", path, nil)
	caio.Refused(403, "ERR_NO_PERMISSION", "POST", "/queue", object{"name": "Mine", "color": "#222"})
	other := company.AnotherCompany()
	other.OK(201, "POST", "/queue", object{"name": "Sales", "color": "#00aa88"})
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		other.Refused(404, "ERR_QUEUE_NOT_FOUND", method, path, object{"name": "Stolen"})
	}
	require.Equal(t, changed, company.Get(path))
}

// A queue that is deleted leaves its tickets, without a queue and without a menu.
func TestDeletedQueue(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	connection := company.Connect()
	queue := company.OK(201, "POST", "/queue", object{"name": "Sales", "color": "#00aa88", "greetingMessage": "Hello", "options": []object{{"title": "Prices"}}})
	company.OK(200, "PUT", messagingtest.ConnectionPath(connection), object{"queueIds": ids(messagingtest.ID(queue)), "transferQueueId": queue["id"]})
	ticket := receiveFrom(company, connection, "Ana", "Hi")
	require.Equal(t, queue["id"], ticket["queueId"], "the only queue of the connection")
	require.Equal(t, true, ticket["chatbot"])
	company.OK(200, "DELETE", messagingtest.Path("/queue", queue), nil)
	after := company.Get(messagingtest.TicketPath(ticket))
	require.Nil(t, after["queueId"])
	require.Nil(t, after["queue"])
	require.Equal(t, false, after["chatbot"])
	require.Empty(t, company.Get(messagingtest.ConnectionPath(connection))["queueIds"])
	require.Nil(t, company.Get(messagingtest.ConnectionPath(connection))["transferQueueId"])
	company.Refused(404, "ERR_QUEUE_NOT_FOUND", "DELETE", messagingtest.Path("/queue", queue), nil)
}

// A connection with more than one queue has a greeting, and queues of its company only.
func TestQueuesOfConnections(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	path := messagingtest.ConnectionPath(company.Connect())
	sales := messagingtest.ID(company.OK(201, "POST", "/queue", object{"name": "Sales", "color": "#0000aa"}))
	support := messagingtest.ID(company.OK(201, "POST", "/queue", object{"name": "Support", "color": "#00aa00", "orderQueue": 1}))
	company.OK(200, "PUT", path, object{"queueIds": ids(sales)})
	before := company.Get(path)
	company.Refused(400, "ERR_WAPP_GREETING_REQUIRED", "PUT", path, object{"queueIds": ids(sales, support)})
	company.Refused(400, "ERR_WAPP_GREETING_REQUIRED", "POST", "/whatsapp", object{"name": "Two queues", "queueIds": ids(sales, support)})
	other := company.AnotherCompany()
	theirs := messagingtest.ID(other.OK(201, "POST", "/queue", object{"name": "Sales", "color": "#0000aa"}))
	company.Refused(404, "ERR_QUEUE_NOT_FOUND", "PUT", path, object{"queueIds": ids(sales, theirs)})
	company.Refused(404, "ERR_QUEUE_NOT_FOUND", "PUT", path, object{"transferQueueId": theirs})
	company.Refused(404, "ERR_QUEUE_NOT_FOUND", "POST", "/whatsapp", object{"name": "Theirs", "transferQueueId": theirs})
	for _, field := range []string{"timeToTransfer", "expiresTicket", "maxUseBotQueues"} {
		company.Refused(400, "ERR_VALIDATION", "PUT", path, object{field: -1})
	}
	require.Equal(t, before, company.Get(path))
	require.Len(t, company.Call("GET", "/whatsapp", nil).List, 1)
	require.EqualValues(t, 3, before["maxUseBotQueues"])
	changed := company.OK(200, "PUT", path, object{"queueIds": ids(sales, support), "greetingMessage": "Choose:", "transferQueueId": sales, "timeToTransfer": 30, "expiresTicket": 60, "expiresInactiveMessage": "Bye", "maxUseBotQueues": 2})
	require.Equal(t, ids(support, sales), changed["queueIds"], "in the order of the menu")
	require.Equal(t, "Support", changed["queues"].([]any)[0].(object)["name"])
	require.Equal(t, []any{float64(sales), 30.0, 60.0, "Bye", 2.0}, []any{changed["transferQueueId"], changed["timeToTransfer"], changed["expiresTicket"], changed["expiresInactiveMessage"], changed["maxUseBotQueues"]})
	require.Equal(t, changed, company.Get(path))
	require.Equal(t, changed, company.Call("GET", "/whatsapp", nil).List[0])
	company.Refused(400, "ERR_WAPP_GREETING_REQUIRED", "PUT", path, object{"greetingMessage": ""})
}
