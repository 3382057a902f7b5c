package api_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/messaging"
	"integrationhub/messaging/internal/driver/drivertest"
	"integrationhub/messaging/internal/messagingtest"
)

// pdfOf returns a document of a length.
func pdfOf(length int) []byte {
	return append(bytes.Clone(pdfFile), make([]byte, length-len(pdfFile))...)
}

// A company keeps so many bytes of files. Received messages stay without theirs then, and what is
// deleted leaves room.
func TestFilesOfCompanyAreBounded(t *testing.T) {
	t.Parallel()
	company := messagingtest.SignUp(t, moduletest.Start(t, messaging.New(), moduletest.Options{Settings: []string{"HUB_MEDIA_BYTES=1048576"}}))
	_, phone, ticket := openTicket(company)
	usage := func() (bytes int) {
		return company.Hub.Count(`messaging.media_usage u cross join generate_series(1, u.bytes / 4096) where company_id = $1`, company.ID) * 4096
	}
	upload := func(length int) moduletest.Response {
		return company.Upload(ticket, nil, messagingtest.File{Name: "a.pdf", Content: pdfOf(length)})
	}
	require.Equal(t, 201, upload(600<<10).Status)
	refused := upload(500 << 10)
	require.Equal(t, []any{413, "ERR_MEDIA_STORAGE_FULL"}, []any{refused.Status, refused.Body["error"]})
	require.Equal(t, 1, company.Hub.Count(`messaging.messages where company_id = $1 and media_id is not null`, company.ID))
	require.Eventually(t, func() bool { return usage() == 600<<10 }, time.Minute, 10*time.Millisecond, "the refused file is deleted")
	require.Equal(t, 201, upload(424<<10-8192).Status)
	require.Equal(t, 201, upload(8192).Status, "exactly as many as it may")
	require.Equal(t, "ERR_MEDIA_STORAGE_FULL", upload(8192).Body["error"])
	require.Equal(t, 1<<20, usage())
	program := company.As(company.APIToken())
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(pdfFile) }))
	t.Cleanup(site.Close)
	program.Refused(413, "ERR_MEDIA_STORAGE_FULL", "POST", "/api/messages/send", object{"number": phone, "body": "x", "mediaUrl": site.URL + "/a.pdf"})

	bridged := connectBridge(company, drivertest.NewBridge(t))
	bridged.pair()
	bridged.receiveFile("in-1", string(pdfFile))
	require.Eventually(t, func() bool {
		return company.Hub.Count(`messaging.messages where company_id = $1 and error_code = 'media_storage_full' and media_reference is null`, company.ID) == 1
	}, time.Minute, 10*time.Millisecond)

	other := company.AnotherCompany()
	_, _, theirs := openTicket(other)
	require.Equal(t, 201, other.Upload(theirs, nil, messagingtest.File{Name: "a.pdf", Content: pdfFile}).Status)
	company.OK(200, "DELETE", ticket, nil)
	require.Eventually(t, func() bool { return usage() == 0 }, time.Minute, 10*time.Millisecond)
	bridged.receiveFile("in-2", string(pdfFile))
	require.Eventually(t, func() bool { return bridged.countFiles() == 1 }, time.Minute, 10*time.Millisecond)
}

// A company fetches three files by their addresses at once.
func TestDownloadsOfCompanyAreBounded(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	other := company.AnotherCompany()
	contact := messagingtest.ID(company.OK(201, "POST", "/contacts", object{"name": "Ana", "number": "15551230000"}))
	theirs := messagingtest.ID(other.OK(201, "POST", "/contacts", object{"name": "Ana", "number": "15551230000"}))
	asked, answer := make(chan struct{}, 4), make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow.pdf" {
			asked <- struct{}{}
			<-answer
		}
		_, _ = w.Write(pdfFile)
	}))
	t.Cleanup(site.Close)
	schedule := func(contact int64, path string) object {
		return object{"contactId": contact, "body": "Later", "sendAt": "2097-03-01T12:00:00Z", "mediaUrl": site.URL + path}
	}
	responses := make(chan moduletest.Response, 3)
	for range 3 {
		go func() {
			response, err := company.Try("POST", "/schedules", schedule(contact, "/slow.pdf"))
			if err != nil {
				response.Text = err.Error()
			}
			responses <- response
		}()
	}
	for range 3 {
		<-asked
	}
	refused := company.Call("POST", "/schedules", schedule(contact, "/a.pdf"))
	close(answer)
	require.Equal(t, []any{429, "ERR_TOO_MANY_DOWNLOADS", "5"}, []any{refused.Status, refused.Body["error"], refused.Header.Get("Retry-After")}, refused.Text)
	other.OK(201, "POST", "/schedules", schedule(theirs, "/a.pdf"))
	for range 3 {
		response := <-responses
		require.Equal(t, 201, response.Status, response.Text)
	}
	company.OK(201, "POST", "/schedules", schedule(contact, "/a.pdf"))
}
