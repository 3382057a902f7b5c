//go:build unix

package messaging_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/messaging/internal/messagingtest"
)

// fileServer serves a document, of which the second half waits until it is released.
type fileServer struct {
	*httptest.Server
	content []byte
	release chan struct{}
}

func newFileServer(t *testing.T) *fileServer {
	t.Helper()
	f := &fileServer{content: append([]byte("%PDF-1.7\n"), bytes.Repeat([]byte("0123456789abcdef"), 200_000)...), release: make(chan struct{})}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		half := len(f.content) / 2
		w.Header().Set("Content-Length", strconv.Itoa(len(f.content)))
		_, _ = w.Write(f.content[:half])
		_ = http.NewResponseController(w).Flush()
		select {
		case <-f.release:
			_, _ = w.Write(f.content[half:])
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(f.Close)
	return f
}

// sendHalfForm sends the first half of a form with a file, of so many bytes.
func sendHalfForm(t *testing.T, company *messagingtest.Company, path string, size int) {
	t.Helper()
	address, err := url.Parse(company.Hub.Base)
	require.NoError(t, err)
	line, err := net.Dial("tcp", address.Host)
	require.NoError(t, err)
	t.Cleanup(func() { _ = line.Close() })
	form := "--x\r\nContent-Disposition: form-data; name=\"medias\"; filename=\"half.pdf\"\r\n\r\n%PDF-1.7\n" + strings.Repeat("x", size)
	_, err = fmt.Fprintf(line, "POST %s%s/messages HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: %d\r\n\r\n%s",
		address.Path, path, address.Host, company.Token, 2*len(form), form)
	require.NoError(t, err)
}

// halfFiles returns the files that are written in part.
func halfFiles(hub *moduletest.HubProcess) (names []string) {
	for _, name := range hub.FileNames("messaging") {
		if info, err := os.Stat(name); err == nil && info.Size() > 0 && strings.HasSuffix(name, ".tmp") {
			names = append(names, name)
		}
	}
	return names
}

// A hub that is killed while it stores files keeps no half message. What was received gets
// its file from another process, what a caller sent was not answered and can be sent again,
// and what is left of half files is removed.
func TestFilesSurviveKills(t *testing.T) {
	t.Parallel()
	hub, site := moduletest.StartHubProcess(t), newFileServer(t)
	company := messagingtest.SignUp(t, hub.Product("messaging"))
	line, phone := company.Connect(), company.AddPhone("Ana")
	company.OK(201, "POST", "/sandbox/phones/"+phone+"/send", map[string]any{"to": line.Number, "body": "Received", "mediaUrl": site.URL + "/received.pdf"})
	ticket := messagingtest.TicketPath(company.Tickets("")[0])
	sent := map[string]any{"body": "Sent", "mediaUrl": site.URL + "/sent.pdf"}
	answers := make(chan error, 1)
	go func() {
		_, err := company.Try("POST", ticket+"/messages", sent)
		answers <- err
	}()
	sendHalfForm(t, company, ticket, 500_000)
	require.Eventually(t, func() bool { return len(halfFiles(hub)) == 2 }, time.Minute, 10*time.Millisecond, "both files are half written")
	hub.Kill()
	killed := time.Now()
	require.Error(t, <-answers)
	close(site.release)
	hub.Restart()
	require.Equal(t, 1, hub.Count(`select count(*) from messaging.messages`), "the received one")
	require.Zero(t, hub.Count(`select count(*) from messaging.outbox`))
	require.Zero(t, hub.Count(`select count(*) from messaging.media_files where is_stored`))

	content := func(address any) string { return company.Call("GET", address.(string), nil).Text }
	message := func() map[string]any {
		return company.Get(ticket + "/messages")["messages"].([]any)[0].(map[string]any)
	}
	require.Eventually(t, func() bool { return message()["mediaUrl"] != nil }, time.Minute, 50*time.Millisecond, "the received file is fetched again")
	t.Logf("the received file was there %s after the kill", time.Since(killed).Round(time.Millisecond))
	require.Len(t, content(message()["mediaUrl"]), len(site.content))
	again := company.OK(201, "POST", ticket+"/messages", sent)
	require.True(t, string(site.content) == content(again["mediaUrl"])) //nolint:testifylint // 3 MB are not printed

	// A day later nothing is left of what was cut.
	left := halfFiles(hub)
	require.Len(t, left, 2)
	old := time.Now().Add(-25 * time.Hour)
	for _, name := range left {
		require.NoError(t, os.Chtimes(name, old, old))
	}
	hub.Exec(`update messaging.media_files set created_at = now() - interval '25 hours'`)
	hub.Exec(`update hub.jobs set due_at = now() where job = 'abandoned-media'`)
	hub.Kill()
	hub.Restart()
	require.Eventually(t, func() bool {
		return len(hub.FileNames("messaging")) == 2 && hub.Count(`select count(*) from messaging.media_files`) == 2
	}, time.Minute, 50*time.Millisecond, "the files of the two messages are left: %v", hub.FileNames("messaging"))
	require.Len(t, content(message()["mediaUrl"]), len(site.content))
	require.Len(t, content(again["mediaUrl"]), len(site.content))
}

// The parts of an upload that are on the disk when a hub is killed are in a directory of its
// own, which the next start removes.
func TestUploadsLeaveNoTemporaryFiles(t *testing.T) {
	t.Parallel()
	hub := moduletest.StartHubProcess(t)
	company := messagingtest.SignUp(t, hub.Product("messaging"))
	line, phone := company.Connect(), company.AddPhone("Ana")
	company.SendFromPhone(phone, line, "Hello")
	sendHalfForm(t, company, messagingtest.TicketPath(company.Tickets("")[0]), 40<<20)
	require.Eventually(t, func() bool { return len(hub.TemporaryFiles()) > 0 }, time.Minute, 10*time.Millisecond, "it is too large for the memory")
	hub.Kill()
	require.Len(t, hub.TemporaryFiles(), 1)
	require.Contains(t, hub.TemporaryFiles()[0], "multipart-")
	hub.Restart()
	require.Empty(t, hub.TemporaryFiles())
	company.OK(200, "GET", "/tickets", nil)
}

// An export whose hub is killed is cut: who reads it sees that. Then it can be had again.
func TestExportIsCut(t *testing.T) {
	t.Parallel()
	hub := moduletest.StartHubProcess(t)
	company := messagingtest.SignUp(t, hub.Product("messaging"))
	line, phone := company.Connect(), company.AddPhone("Ana")
	company.SendFromPhone(phone, line, "Hello")
	ticket := company.Tickets("")[0]
	const messages = 20_000
	hub.Exec(`insert into messaging.messages (company_id, id, ticket_id, contact_id, connection_id, body, from_me, origin, sent_at)
		select company_id, gen_random_uuid()::text, ticket_id, contact_id, connection_id, repeat('x', 1000), false, 'contact', now() from messaging.messages, generate_series(2, $1)`, messages)
	request, err := http.NewRequestWithContext(t.Context(), "GET", fmt.Sprintf("%s/contacts/%v/export", company.Hub.Base, ticket["contactId"]), nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+company.Token)
	export := func(cut func()) (text []byte, err error) {
		response, err := hubtest.HTTPClient.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		require.Equal(t, 200, response.StatusCode)
		first := make([]byte, 10_000)
		_, err = io.ReadFull(response.Body, first)
		require.NoError(t, err)
		cut()
		rest, err := io.ReadAll(response.Body)
		return slices.Concat(first, rest), err
	}
	text, err := export(func() {
		hub.Kill()
	})
	require.Error(t, err)
	require.False(t, json.Valid(text))
	hub.Restart()
	text, err = export(func() {})
	require.NoError(t, err)
	var whole struct{ Messages []struct{ ID string } }
	require.NoError(t, json.Unmarshal(text, &whole))
	require.Len(t, whole.Messages, messages)
}
