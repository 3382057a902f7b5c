package api_test

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// tagNames returns the names of a ticket's tags.
func tagNames(ticket object) []string {
	names := []string{}
	for _, tag := range ticket["tags"].([]any) {
		names = append(names, tag.(object)["name"].(string))
	}
	return names
}

func TestTicketTags(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	connection := company.Connect()
	ana, bruno := receiveFrom(company, connection, "Ana", "Hi"), receiveFrom(company, connection, "Bruno", "Hi")
	vip := messagingtest.ID(company.OK(201, "POST", "/tags", object{"name": "VIP"}))
	late := messagingtest.ID(company.OK(201, "POST", "/tags", object{"name": "Late"}))
	path := messagingtest.TicketPath(ana)
	require.Equal(t, []string{}, tagNames(ana))
	tagged := company.OK(200, "PUT", path, object{"tagIds": ids(vip, late, vip)})
	require.Equal(t, []string{"Late", "VIP"}, tagNames(tagged))
	require.Equal(t, []string{"Late", "VIP"}, tagNames(company.Get(path)))
	require.Equal(t, []string{"VIP"}, tagNames(company.OK(200, "PUT", messagingtest.TicketPath(bruno), object{"tagIds": ids(vip)})))
	require.Equal(t, []string{"VIP"}, tagNames(company.OK(200, "PUT", messagingtest.TicketPath(bruno), object{"status": "open"})), "other changes keep them")

	found := func(tags string) (names []string) {
		for _, ticket := range company.Tickets("tags=" + url.QueryEscape(tags)) {
			names = append(names, ticket["contact"].(object)["name"].(string))
		}
		return names
	}
	require.ElementsMatch(t, []string{"Ana", "Bruno"}, found(fmt.Sprintf("[%d]", vip)))
	require.Equal(t, []string{"Ana"}, found(fmt.Sprintf("[%d,%d,%d]", vip, late, vip)), "all of them")
	require.Empty(t, found("[99999]"))
	require.Len(t, found("[]"), 2)
	company.Refused(400, "ERR_VALIDATION", "GET", "/tickets?tags=x", nil)

	other := company.AnotherCompany()
	theirs := messagingtest.ID(other.OK(201, "POST", "/tags", object{"name": "VIP"}))
	require.Empty(t, found(fmt.Sprintf("[%d]", theirs)))
	company.Refused(404, "ERR_NO_TAG_FOUND", "PUT", path, object{"tagIds": ids(theirs), "status": "open"})
	company.Refused(400, "ERR_VALIDATION", "PUT", path, object{"tagIds": make([]int, 101)})
	require.Equal(t, tagged["tags"], company.Get(path)["tags"])
	require.Equal(t, "pending", company.Get(path)["status"])
	company.OK(200, "DELETE", fmt.Sprintf("/tags/%d", late), nil)
	require.Equal(t, []string{"VIP"}, tagNames(company.Get(path)))
	require.Empty(t, tagNames(company.OK(200, "PUT", path, object{"tagIds": ids()})))
}

// A ticket is not given to a user who is disabled, and its opener takes it from one.
func TestTicketsOfDisabledUsers(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	connection := company.Connect()
	_, caio := company.AddUser(nil)
	ticket := receiveFrom(company, connection, "Ana", "Hi")
	path := messagingtest.TicketPath(ticket)
	company.OK(200, "PUT", path, object{"status": "open", "userId": caio})
	company.OK(200, "PUT", path, object{"status": "closed"})
	company.OK(200, "PUT", fmt.Sprintf("/users/%d", caio), object{"isActive": false})
	before := company.Get(path)
	company.Refused(400, "ERR_VALIDATION", "PUT", path, object{"status": "open", "userId": caio})
	company.Refused(400, "ERR_VALIDATION", "PUT", path, object{"userId": caio})
	company.Refused(400, "ERR_VALIDATION", "POST", "/tickets", object{"contactId": ticket["contactId"], "userId": caio})
	require.Equal(t, before, company.Get(path))
	require.EqualValues(t, caio, company.OK(200, "PUT", path, object{"resolution": "late"})["userId"], "a closed ticket keeps its owner")
	opened := company.OK(200, "PUT", path, object{"status": "open"})
	require.NotEqualValues(t, caio, opened["userId"])
	require.NotNil(t, opened["userId"])
}

// A user is online for a while after a request, as long as a stream is open, and not after
// logging out.
func TestOnline(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, time.Now())
	caio, id := company.AddUser(nil)
	path := fmt.Sprintf("/users/%d", id)
	isOnline := func() any { return company.Get(path)["online"] }
	require.Equal(t, false, isOnline(), "logging in is not listening")
	caio.Get("/tickets")
	require.Equal(t, true, isOnline())
	company.Hub.Clock.Advance(90 * time.Second)
	caio.Get("/tickets")
	company.Hub.Clock.Advance(90 * time.Second)
	require.Equal(t, true, isOnline(), "the second request counts")
	company.Hub.Clock.Advance(time.Minute)
	require.Equal(t, false, isOnline())

	stream, status := openStream(t, company, "", "Authorization", "Bearer "+caio.Token)
	require.Equal(t, 200, status)
	for range 3 {
		company.Hub.Clock.Advance(110 * time.Second)
		require.Eventually(t, func() bool { return isOnline() == true }, time.Minute, 50*time.Millisecond, "the stream renews it")
	}
	stream.cancel()
	caio.OK(200, "POST", "/auth/logout", nil)
	require.Equal(t, false, isOnline())
}
