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
