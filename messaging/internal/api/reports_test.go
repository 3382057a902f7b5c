package api_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// Reports count in the company's zone, the last day included, and only the company's own.
func TestReports(t *testing.T) {
	t.Parallel()
	// 22 on Monday in São Paulo, Tuesday in UTC.
	company := messagingtest.NewCompanyAt(t, time.Date(2027, 3, 2, 1, 0, 0, 0, time.UTC))
	connection := company.Connect()
	sales := messagingtest.ID(company.OK(201, "POST", "/queue", object{"name": "Sales", "color": "#0000ff"}))
	support := messagingtest.ID(company.OK(201, "POST", "/queue", object{"name": "Support", "color": "#00ff00"}))
	ana := receiveFrom(company, connection, "Ana", "Hi")
	bruno := receiveFrom(company, connection, "Bruno", "Hi")
	company.Advance(10 * time.Minute)
	path := messagingtest.TicketPath(ana)
	accepted := company.OK(200, "PUT", path, object{"status": "open", "queueId": sales})
	company.Advance(2 * time.Minute)
	company.OK(201, "POST", path+"/messages", object{"body": "Hello"})
	company.Advance(18 * time.Minute)
	company.OK(200, "PUT", path, object{"status": "closed"})
	_, err := company.Hub.Host.Pool.Exec(t.Context(), `update tickets set rating = 4 where id = $1`, ana["id"])
	require.NoError(t, err)
	company.Advance(3 * time.Hour) // Tuesday there, too
	company.OK(200, "PUT", messagingtest.TicketPath(bruno), object{"queueId": support})
	receiveFrom(company, connection, "Carla", "Hi")

	without := func(report object, name string) object { delete(report, name); return report }
	monday := company.Get("/reports/tickets?dateFrom=2027-03-01&dateTo=2027-03-01")
	require.Equal(t, []any{object{"date": "2027-03-01", "opened": 2.0, "closed": 1.0}}, monday["series"])
	require.Equal(t, object{"total": 2.0, "open": 0.0, "pending": 2.0, "closed": 1.0, "leads": 2.0, "avgWaitTime": 10.0, "avgSupportTime": 20.0}, without(monday, "series"))
	tuesday := company.Get("/reports/tickets?dateFrom=2027-03-02&dateTo=2027-03-03")
	require.Equal(t, []any{object{"date": "2027-03-02", "opened": 1.0, "closed": 0.0}, object{"date": "2027-03-03", "opened": 0.0, "closed": 0.0}}, tuesday["series"])
	require.Equal(t, object{"total": 1.0, "open": 0.0, "pending": 2.0, "closed": 0.0, "leads": 1.0, "avgWaitTime": 0.0, "avgSupportTime": 0.0}, without(tuesday, "series"))
	month := company.Get("/reports/tickets")
	require.Len(t, month["series"], 30)
	require.Equal(t, "2027-03-02", month["series"].([]any)[29].(object)["date"])
	require.EqualValues(t, 3, month["total"])
	inQueue := company.Get(fmt.Sprintf("/reports/tickets?queueId=%d", support))
	require.Equal(t, []any{1.0, 1.0, 0.0}, []any{inQueue["total"], inQueue["pending"], inQueue["closed"]})
	ofUser := company.Get(fmt.Sprintf("/reports/tickets?userId=%v", accepted["userId"]))
	require.Equal(t, []any{1.0, 0.0, 1.0}, []any{ofUser["total"], ofUser["pending"], ofUser["closed"]})

	caio, caioID := company.AddUser(nil)
	users := company.Get("/reports/users")["users"].([]any)
	require.Equal(t, []any{
		object{"id": accepted["userId"], "name": "Bia", "online": true, "tickets": 1.0, "closed": 1.0, "avgSupportTime": 20.0, "avgFirstResponse": 2.0, "rating": 4.0},
		object{"id": float64(caioID), "name": "Caio", "online": false, "tickets": 0.0, "closed": 0.0, "avgSupportTime": 0.0, "avgFirstResponse": 0.0, "rating": 0.0},
	}, users)
	require.Len(t, company.Get(fmt.Sprintf("/reports/users?userId=%d", caioID))["users"], 1)
	require.EqualValues(t, 0, company.Get(fmt.Sprintf("/reports/users?queueId=%d", support))["users"].([]any)[0].(object)["closed"])
	require.Equal(t, []any{
		object{"id": float64(sales), "name": "Sales", "color": "#0000ff", "open": 0.0, "pending": 0.0, "closed": 1.0, "avgWaitTime": 10.0, "avgSupportTime": 20.0},
		object{"id": float64(support), "name": "Support", "color": "#00ff00", "open": 0.0, "pending": 1.0, "closed": 0.0, "avgWaitTime": 0.0, "avgSupportTime": 0.0},
	}, company.Get("/reports/queues")["queues"])
	require.EqualValues(t, 0, company.Get("/reports/queues?dateFrom=2027-03-02")["queues"].([]any)[0].(object)["closed"])

	other := company.AnotherCompany()
	nothing := other.Get("/reports/tickets")
	require.Equal(t, []any{0.0, 0.0, 0.0}, []any{nothing["total"], nothing["pending"], nothing["leads"]})
	for _, report := range []string{"tickets", "users", "queues"} {
		path := "/reports/" + report
		other.Refused(404, "ERR_QUEUE_NOT_FOUND", "GET", fmt.Sprintf("%s?queueId=%d", path, sales), nil)
		other.Refused(404, "ERR_NO_USER_FOUND", "GET", fmt.Sprintf("%s?userId=%d", path, caioID), nil)
		caio.Refused(403, "ERR_NO_PERMISSION", "GET", path, nil)
		for _, query := range []string{"dateFrom=x", "dateTo=2027-02-30", "dateFrom=2027-03-02&dateTo=2027-03-01", "dateFrom=2026-03-01&dateTo=2027-03-02", "queueId=0"} {
			company.Refused(400, "ERR_VALIDATION", "GET", path+"?"+query, nil)
		}
		company.Get(path + "?dateFrom=2026-03-02&dateTo=2027-03-02") // 366 days
	}
}

// A ticket that a user opens again did not wait while it was closed.
func TestWaitOfReopenedTickets(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, time.Date(2027, 3, 2, 15, 0, 0, 0, time.UTC))
	path := messagingtest.TicketPath(receiveFrom(company, company.Connect(), "Ana", "Hi"))
	change := func(after time.Duration, status string) object {
		company.Advance(after)
		return company.OK(200, "PUT", path, object{"status": status})
	}
	change(10*time.Minute, "open")
	require.EqualValues(t, 10, company.Get("/reports/tickets")["avgWaitTime"])
	change(time.Minute, "closed")
	reopened := change(time.Hour, "open")
	require.Equal(t, reopened["startedAt"], reopened["queuedAt"])
	require.Zero(t, company.Get("/reports/tickets")["avgWaitTime"])
	change(time.Minute, "pending")
	change(3*time.Minute, "open")
	require.EqualValues(t, 3, company.Get("/reports/tickets")["avgWaitTime"])
}

// Each time that a ticket is accepted its first answer counts anew.
func TestFirstResponseOfReopenedTickets(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, time.Date(2027, 3, 2, 15, 0, 0, 0, time.UTC))
	path := messagingtest.TicketPath(receiveFrom(company, company.Connect(), "Ana", "Hi"))
	for i, status := range []string{"", "closed", "pending"} { // before it is accepted
		if status != "" {
			ended := company.OK(200, "PUT", path, object{"status": status})
			require.Equal(t, status == "closed", ended["firstResponseAt"] != nil, status)
		}
		company.Advance(time.Hour)
		require.Nil(t, company.OK(200, "PUT", path, object{"status": "open"})["firstResponseAt"], status)
		minutes := float64(i + 2)
		company.Advance(time.Duration(minutes) * time.Minute)
		company.OK(201, "POST", path+"/messages", object{"body": "Hello"})
		company.Advance(time.Minute)
		company.OK(201, "POST", path+"/messages", object{"body": "Once more"})
		require.InDelta(t, minutes, company.Get("/reports/users")["users"].([]any)[0].(object)["avgFirstResponse"], 0, status)
	}
}

// A report of a queue or a user counts the tickets of that queue and user alone, in each of its
// numbers; of both, those that both have.
func TestReportFilters(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, time.Date(2027, 3, 2, 15, 0, 0, 0, time.UTC))
	connection := company.Connect()
	sales := messagingtest.ID(company.OK(201, "POST", "/queue", object{"name": "Sales", "color": "#0000ff"}))
	support := messagingtest.ID(company.OK(201, "POST", "/queue", object{"name": "Support", "color": "#00ff00"}))
	_, bia := company.AddUser(object{"name": "Bia L."})
	_, caio := company.AddUser(object{"name": "Caio"})
	plan := []struct {
		queue, user   int64
		wait, support time.Duration // support 0: it is open
	}{
		{sales, bia, 2 * time.Minute, 4 * time.Minute}, {sales, bia, 4 * time.Minute, 0}, {sales, caio, 6 * time.Minute, 20 * time.Minute}, {support, bia, 10 * time.Minute, 40 * time.Minute}, {sales, 0, 0, 0},
	}
	for i, ticket := range plan {
		path := messagingtest.TicketPath(receiveFrom(company, connection, fmt.Sprintf("Contact %d", i), "Hi"))
		if company.OK(200, "PUT", path, object{"queueId": ticket.queue}); ticket.user == 0 {
			continue // it waits
		}
		company.Advance(ticket.wait)
		company.OK(200, "PUT", path, object{"status": "open", "userId": ticket.user})
		if ticket.support > 0 {
			company.Advance(ticket.support)
			company.OK(200, "PUT", path, object{"status": "closed"})
		}
	}
	for filter, want := range map[string][]float64{ // total, open, pending, closed, wait, support, opened, closed that day
		"":                                  {5, 1, 1, 3, 5.5, 21.33, 5, 3},
		fmt.Sprintf("?queueId=%d", sales):   {4, 1, 1, 2, 4, 12, 4, 2},
		fmt.Sprintf("?queueId=%d", support): {1, 0, 0, 1, 10, 40, 1, 1},
		fmt.Sprintf("?userId=%d", bia):      {3, 1, 0, 2, 5.33, 22, 3, 2},
		fmt.Sprintf("?userId=%d", caio):     {1, 0, 0, 1, 6, 20, 1, 1},
		fmt.Sprintf("?queueId=%d&userId=%d", sales, bia):    {2, 1, 0, 1, 3, 4, 2, 1},
		fmt.Sprintf("?queueId=%d&userId=%d", support, caio): {0, 0, 0, 0, 0, 0, 0, 0},
	} {
		report := company.Get("/reports/tickets" + filter)
		day := report["series"].([]any)[29].(object)
		require.Equal(t, want, []float64{
			report["total"].(float64), report["open"].(float64), report["pending"].(float64), report["closed"].(float64), report["avgWaitTime"].(float64), report["avgSupportTime"].(float64),
			day["opened"].(float64), day["closed"].(float64),
		}, filter)
		require.EqualValues(t, 5, report["leads"], "of any queue and user")
	}
	for filter, want := range map[string]map[string][]float64{ // tickets, closed, support
		"":                                {"Bia": {0, 0, 0}, "Bia L.": {3, 2, 22}, "Caio": {1, 1, 20}},
		fmt.Sprintf("?queueId=%d", sales): {"Bia": {0, 0, 0}, "Bia L.": {2, 1, 4}, "Caio": {1, 1, 20}},
		fmt.Sprintf("?userId=%d", bia):    {"Bia L.": {3, 2, 22}},
		fmt.Sprintf("?queueId=%d&userId=%d", sales, bia): {"Bia L.": {2, 1, 4}},
	} {
		require.Equal(t, want, rowsOfReport(company, "users", filter, "tickets", "closed", "avgSupportTime"), filter)
	}
	for filter, want := range map[string]map[string][]float64{ // open, pending, closed, wait, support
		"":                                  {"Sales": {1, 1, 2, 4, 12}, "Support": {0, 0, 1, 10, 40}},
		fmt.Sprintf("?queueId=%d", support): {"Support": {0, 0, 1, 10, 40}},
		fmt.Sprintf("?userId=%d", bia):      {"Sales": {1, 0, 1, 3, 4}, "Support": {0, 0, 1, 10, 40}},
		fmt.Sprintf("?queueId=%d&userId=%d", sales, caio): {"Sales": {0, 0, 1, 6, 20}},
	} {
		require.Equal(t, want, rowsOfReport(company, "queues", filter, "open", "pending", "closed", "avgWaitTime", "avgSupportTime"), filter)
	}
}

// rowsOfReport returns numbers of each row of a report, by the row's name.
func rowsOfReport(company *messagingtest.Company, name, filter string, members ...string) map[string][]float64 {
	company.T.Helper()
	rows := make(map[string][]float64)
	for _, row := range company.Get("/reports/" + name + filter)[name].([]any) {
		var numbers []float64
		for _, member := range members {
			numbers = append(numbers, row.(object)[member].(float64))
		}
		rows[row.(object)["name"].(string)] = numbers
	}
	return rows
}

// A day on which the clocks are put forward at midnight begins at 01:00, and not an hour of the day
// before.
func TestReportOfDayWithoutMidnight(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, time.Date(2026, 9, 6, 3, 30, 0, 0, time.UTC)) // Saturday, 23:30 in Santiago
	company.OK(200, "PUT", "/company", object{"timezone": "America/Santiago"})
	connection := company.Connect()
	receiveFrom(company, connection, "Ana", "Hi")
	company.Advance(time.Hour) // Sunday, 01:30
	receiveFrom(company, connection, "Bia", "Hi")
	receiveFrom(company, connection, "Caio", "Hi")
	for day, opened := range map[string]float64{"2026-09-05": 1, "2026-09-06": 2} {
		report := company.Get("/reports/tickets?dateFrom=" + day + "&dateTo=" + day)
		require.Equal(t, []any{opened, []any{object{"date": day, "opened": opened, "closed": 0.0}}}, []any{report["total"], report["series"]}, day)
	}
}

// Reports that take long leave the company's other requests alone: two of them run at a time.
func TestReportsAtOnce(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	lock, err := company.Hub.Host.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = lock.Rollback(t.Context()) }()
	_, err = lock.Exec(t.Context(), `lock table messaging.tickets in access exclusive mode`)
	require.NoError(t, err)
	statuses := make(chan int, 8)
	for range cap(statuses) {
		go func() {
			response, _ := company.Try("GET", "/reports/tickets", nil) // no response has no status
			statuses <- response.Status
		}()
	}
	require.Equal(t, 429, <-statuses, "the first waited for its turn")
	require.Equal(t, 200, company.Call("GET", "/queue", nil).Status)
	for range cap(statuses) - 3 {
		require.Equal(t, 429, <-statuses)
	}
	require.NoError(t, lock.Rollback(t.Context()))
	for range 2 {
		require.Equal(t, 200, <-statuses)
	}
}
