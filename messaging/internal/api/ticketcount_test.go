package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// Tickets are counted up to 10,000: a page of a large company does not read all of them. The
// last page is found all the same.
func TestTicketCountIsBounded(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	line := company.Connect()
	ticket := receiveFrom(company, line, "Ana", "Hi")
	company.Hub.Exec(`insert into tickets (company_id, uuid, status, contact_id, connection_id, closed_at)
		select $1, gen_random_uuid(), 'closed', $2::bigint, $3, now() from generate_series(1, 10049)`, company.ID, int64(ticket["contactId"].(float64)), line.ID)
	first := company.Get("/tickets")
	require.EqualValues(t, 10_000, first["count"])
	require.Equal(t, true, first["hasMore"])
	last := company.Get("/tickets?pageNumber=252")
	require.Len(t, last["tickets"], 10)
	require.EqualValues(t, 10_050, last["count"])
	require.Equal(t, false, last["hasMore"])
	page := company.Get("/tickets?pageNumber=251")
	require.EqualValues(t, 10_041, page["count"])
	require.Equal(t, true, page["hasMore"])
	require.EqualValues(t, 1, company.Get("/tickets?status=pending")["count"])
}
