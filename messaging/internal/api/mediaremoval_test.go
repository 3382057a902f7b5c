package api_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// The files of a ticket, a contact or a scheduled message that is deleted are not served any more,
// unless something else has them.
func TestFilesGoWithWhatHasThem(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(pdfFile) }))
	t.Cleanup(site.Close)
	connection := company.Connect()
	upload := func(path string) string {
		return company.Upload(path, nil, messagingtest.File{Name: "exam.pdf", Content: pdfFile}).Body["mediaUrl"].(string)
	}
	schedule := func(contact any, address string) (path, file string) {
		made := company.OK(201, "POST", "/schedules", object{"contactId": contact, "body": "Later", "sendAt": "2097-03-01T12:00:00Z", "mediaUrl": address})
		return messagingtest.Path("/schedules", made), made["mediaUrl"].(string)
	}
	ana, bia := receiveFrom(company, connection, "Ana", "Hi"), receiveFrom(company, connection, "Bia", "Hi")
	ofTicket, shared, ofContact := upload(messagingtest.TicketPath(ana)), upload(messagingtest.TicketPath(ana)), upload(messagingtest.TicketPath(bia))
	schedule(bia["contactId"], shared)
	_, ofTheirs := schedule(bia["contactId"], site.URL+"/a.pdf")
	own, ofOwn := schedule(ana["contactId"], site.URL+"/a.pdf")
	changed, replaced := schedule(ana["contactId"], site.URL+"/a.pdf")

	company.OK(200, "DELETE", messagingtest.TicketPath(ana), nil)
	company.Refused(404, "ERR_NO_MEDIA_FOUND", "GET", ofTicket, nil)
	require.Equal(t, 200, company.Call("GET", shared, nil).Status, "a scheduled message has it")
	company.OK(200, "DELETE", own, nil)
	company.Refused(404, "ERR_NO_MEDIA_FOUND", "GET", ofOwn, nil)
	company.OK(200, "PUT", changed, object{"mediaUrl": nil})
	company.Refused(404, "ERR_NO_MEDIA_FOUND", "GET", replaced, nil)
	company.OK(200, "DELETE", messagingtest.Path("/contacts", bia["contact"].(object)), nil)
	for _, file := range []string{ofContact, ofTheirs, shared} {
		company.Refused(404, "ERR_NO_MEDIA_FOUND", "GET", file, nil)
	}
}

// A file that no message has is for who uploaded it.
func TestFileOfNothingIsItsUploaders(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	user, userID := company.AddUser(nil)
	other, _ := company.AddUser(nil)
	_, _, ticket := openTicket(company)
	company.OK(200, "PUT", ticket, object{"status": "open", "userId": userID})
	file := user.Upload(ticket, nil, messagingtest.File{Name: "exam.pdf", Content: pdfFile}).Body["mediaUrl"].(string)
	company.Hub.Exec(`update messaging.messages set media_id = null`)
	require.Equal(t, 200, user.Call("GET", file, nil).Status)
	require.Equal(t, 200, company.Call("GET", file, nil).Status, "administrators read every file")
	other.Refused(403, "ERR_NO_PERMISSION", "GET", file, nil)
}
