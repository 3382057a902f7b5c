package api_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// A change of a scheduled message needs one connection to the database, not a second one while it
// holds the first: as many changes as the pool has connections would wait for each other.
func TestChangeOfScheduleTakesOneConnection(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	line := company.Connect()
	company.SendFromPhone(company.AddPhone("Ana"), line, "Hi")
	ticket := company.Tickets("")[0]
	caio, userID := company.AddUser(nil)
	company.OK(200, "PUT", messagingtest.TicketPath(ticket), object{"status": "open", "userId": userID})
	sendAt := time.Now().Add(time.Hour).Format(time.RFC3339)
	made := caio.OK(201, "POST", "/schedules", object{"body": "Hi", "sendAt": sendAt, "contactId": ticket["contactId"], "ticketId": ticket["id"], "whatsappId": line.ID})

	pool := company.Hub.Host.Pool
	held := make([]*pgxpool.Conn, pool.Config().MaxConns-1)
	for i := range held {
		var err error
		held[i], err = pool.Acquire(t.Context())
		require.NoError(t, err)
		defer held[i].Release()
	}
	saved := caio.OK(200, "PUT", messagingtest.Path("/schedules", made), object{"body": "Hello"})
	require.Equal(t, "Hello", saved["body"])
}
