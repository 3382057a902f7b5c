package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// A file of a ticket that a user does not see cannot be sent or kept by that user by naming its
// address: neither can it be read so, nor reach anyone else.
func TestFilesOfUnseenTicketsCannotBeReused(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	user, userID := company.AddUser(nil)
	connection, phone, hidden := openTicket(company) // the administrator's
	file := company.Upload(hidden, nil, messagingtest.File{Name: "exam.pdf", Content: pdfFile}).Body["mediaUrl"].(string)
	seen := receiveFrom(company, connection, "Caio's contact", "Hi")
	own := messagingtest.TicketPath(seen)
	company.OK(200, "PUT", own, object{"status": "open", "userId": userID})
	kept := messagingtest.Path("/quick-messages", user.OK(201, "POST", "/quick-messages", object{"shortcode": "kept", "message": "Hello"}))
	later := object{"contactId": seen["contactId"], "body": "Later", "sendAt": "2097-03-01T12:00:00Z"}
	waiting := messagingtest.Path("/schedules", user.OK(201, "POST", "/schedules", later))
	with := func(fields object, address string) object {
		copied := object{"mediaUrl": address}
		for name, value := range fields {
			copied[name] = value
		}
		return copied
	}
	uses := []struct {
		method, path string
		body         object
		status       int
	}{
		{"POST", own + "/messages", object{"body": "This one"}, 201},
		{"POST", "/quick-messages", object{"shortcode": "mine", "message": "Here", "shared": false}, 201},
		{"POST", "/schedules", later, 201},
		{"PUT", kept, nil, 200},
		{"PUT", waiting, nil, 200},
	}
	path := file[len(company.Hub.Host.URLs.Base)-len("/messaging"):]
	for _, address := range []string{file, file + "?signature=1-x", path} {
		for _, use := range uses {
			if address == path && use.path != own+"/messages" {
				continue // the others take whole addresses only
			}
			refused := user.OK(403, use.method, use.path, with(use.body, address))
			require.Equal(t, "ERR_NO_PERMISSION", refused["error"], "%s %s", use.method, use.path)
		}
	}
	user.Refused(403, "ERR_NO_PERMISSION", "GET", file, nil)
	require.Len(t, company.Inbox(phone), 1)
	require.Empty(t, company.Inbox(seen["contact"].(object)["number"].(string)))

	// An address of another site that ends like it makes it no file of a quick message.
	user.OK(201, "POST", "/quick-messages", object{"shortcode": "other", "message": "Here", "mediaUrl": "https://example.com" + path})
	user.Refused(403, "ERR_NO_PERMISSION", "GET", file, nil)

	// Who may read it may send it: an administrator, who shares it so, and then the user.
	company.OK(201, "POST", "/quick-messages", object{"shortcode": "map", "message": "Here", "mediaUrl": file})
	require.Equal(t, string(pdfFile), user.Call("GET", file, nil).Text)
	for _, use := range uses {
		user.OK(use.status, use.method, use.path, with(use.body, file))
	}
	other := company.AnotherCompany()
	other.Refused(404, "ERR_NO_MEDIA_FOUND", "POST", "/quick-messages", object{"shortcode": "mine", "message": "Here", "mediaUrl": file})
}
