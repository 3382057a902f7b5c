package api_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"image"
	"image/jpeg"
	"image/png"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// pngOf returns a picture with a secret in its metadata.
func pngOf(t *testing.T, width, height int) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, png.Encode(&out, image.NewGray(image.Rect(0, 0, width, height))))
	return out.Bytes()
}

var (
	pdfFile = append([]byte("%PDF-1.7\n"), bytes.Repeat([]byte("x"), 2000)...)
	oggFile = append([]byte("OggS\x00\x02"), make([]byte, 100)...)
)

// webpFile is a picture of one pixel.
const webpFile = "RIFF\x22\x00\x00\x00WEBPVP8 \x16\x00\x00\x000\x01\x00\x9d\x01*\x01\x00\x01\x00\x0e\xc0\xfe%\xa4\x00\x03p\x00\x00\x00\x00"

// openTicket makes a ticket of a new phone and opens it.
func openTicket(company *messagingtest.Company) (connection messagingtest.Connection, phone, ticketPath string) {
	company.T.Helper()
	connection = company.Connect()
	phone = company.AddPhone("Ana")
	company.SendFromPhone(phone, connection, "Hi")
	ticketPath = messagingtest.TicketPath(company.Tickets("")[0])
	company.OK(200, "PUT", ticketPath, object{"status": "open"})
	return connection, phone, ticketPath
}

// lastMessages returns the last messages of a ticket.
func lastMessages(company *messagingtest.Company, ticketPath string, n int) (list []object) {
	messages := company.Get(ticketPath + "/messages")["messages"].([]any)
	for _, message := range messages[len(messages)-n:] {
		list = append(list, message.(object))
	}
	return list
}

// Users send files; the contact's phone and users of the company read them, others do not.
func TestUploadedMedia(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	_, phone, ticket := openTicket(company)
	picture := pngOf(t, 30, 20)
	sent := company.Upload(ticket, map[string]string{"body": "Two files"},
		messagingtest.File{Name: "../../map.png", Type: "image/png", Content: picture}, messagingtest.File{Name: "contract.pdf", Type: "application/pdf", Content: pdfFile})
	require.Equal(t, 201, sent.Status, sent.Text)
	require.Equal(t, []any{"Two files", "image", "map.png", "image/png", 1.0}, []any{sent.Body["body"], sent.Body["mediaType"], sent.Body["mediaName"], sent.Body["mimeType"], min(sent.Body["ack"].(float64), 1)})
	company.RunJob("outbox")
	both := lastMessages(company, ticket, 2)
	require.Equal(t, []any{"", "document", "contract.pdf", "application/pdf", float64(len(pdfFile))}, []any{both[1]["body"], both[1]["mediaType"], both[1]["mediaName"], both[1]["mimeType"], both[1]["size"]})
	require.Equal(t, "contract.pdf", company.Get(ticket)["lastMessage"])

	shown := company.Call("GET", both[0]["mediaUrl"].(string), nil)
	require.Equal(t, 200, shown.Status, shown.Text)
	require.Equal(t, []string{"image/png", "nosniff", "inline; filename=map.png", "default-src 'none'; sandbox"}, []string{
		shown.Header.Get("Content-Type"), shown.Header.Get("X-Content-Type-Options"), shown.Header.Get("Content-Disposition"), shown.Header.Get("Content-Security-Policy")})
	decoded, err := png.Decode(strings.NewReader(shown.Text))
	require.NoError(t, err)
	require.Equal(t, image.Pt(30, 20), decoded.Bounds().Size())
	document := company.Call("GET", both[1]["mediaUrl"].(string), nil)
	require.Equal(t, string(pdfFile), document.Text)
	require.Equal(t, "attachment; filename=contract.pdf", document.Header.Get("Content-Disposition"))

	inbox := company.Get("/sandbox/phones/" + phone + "/inbox")["messages"].([]any)
	require.Len(t, inbox, 2)
	link := inbox[1].(object)["mediaUrl"].(string)
	anybody := company.As("")
	require.Equal(t, string(pdfFile), anybody.Call("GET", link, nil).Text, "the network needs no token")
	plain, signature, _ := strings.Cut(link, "?signature=")
	other := company.AnotherCompany()
	require.Equal(t, "ERR_NO_MEDIA_FOUND", other.OK(404, "GET", plain, nil)["error"])
	require.Equal(t, 404, company.Call("GET", plain[:len(plain)-3]+"aaa", nil).Status)
	for _, bad := range []string{"", "?signature=", "?signature=x", "?signature=99999999999-" + strings.Repeat("0", 64), "?signature=" + signature[:len(signature)-1]} {
		require.Equal(t, 401, anybody.Call("GET", plain+bad, nil).Status, bad)
	}
	first := both[0]["mediaUrl"].(string)
	require.Equal(t, 401, anybody.Call("GET", first+"?signature="+signature, nil).Status, "of another file")
	company.Refused(404, "ERR_NO_MEDIA_FOUND", "POST", ticket+"/messages", object{"body": "", "mediaUrl": plain[:len(plain)-3] + "aaa"})

	// An SVG image is a document: browsers do not show it.
	const drawing = `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`
	logo := messagingtest.File{Name: "logo.svg", Type: "image/svg+xml", Content: []byte(drawing)}
	vector := company.Upload(ticket, map[string]string{"mediaType": "document"}, logo)
	require.Equal(t, []any{201, "document", "image/svg+xml"}, []any{vector.Status, vector.Body["mediaType"], vector.Body["mimeType"]})
	kept := company.Call("GET", vector.Body["mediaUrl"].(string), nil)
	require.Equal(t, []string{drawing, "attachment; filename=logo.svg", "default-src 'none'; sandbox"}, []string{kept.Text, kept.Header.Get("Content-Disposition"), kept.Header.Get("Content-Security-Policy")})
	require.Equal(t, 415, company.Upload(ticket, map[string]string{"mediaType": "image"}, logo).Status)

	// What is in one message can be sent again.
	again := company.OK(201, "POST", ticket+"/messages", object{"body": "Again", "mediaUrl": plain})
	require.Equal(t, "document", again["mediaType"])
	note := company.OK(201, "POST", ticket+"/messages", object{"body": "", "mediaUrl": first, "isPrivate": true})
	require.Equal(t, "image", note["mediaType"])
	theirs := other.Connect()
	writer := other.AddPhone("Carla")
	other.SendFromPhone(writer, theirs, "Hi")
	path := messagingtest.TicketPath(other.Tickets("")[0])
	other.Refused(404, "ERR_NO_MEDIA_FOUND", "POST", path+"/messages", object{"body": "x", "mediaUrl": plain})
}

// Each kind of file is a message of its kind, whichever name the form's field has, and its phone
// gets its bytes. Pictures are encoded anew; a WebP is a picture, not a sticker.
func TestKindsOfUploads(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	_, phone, ticket := openTicket(company)
	container := func(brand string) []byte { return append([]byte("\x00\x00\x00\x18ftyp"+brand), make([]byte, 100)...) }
	for i, test := range []struct {
		file       messagingtest.File
		kind, mime string
	}{
		{messagingtest.File{Name: "voice.ogg", Type: "audio/ogg; codecs=opus", Content: oggFile}, "audio", "audio/ogg"},
		{messagingtest.File{Name: "song.mp3", Content: append([]byte("ID3\x03\x00"), make([]byte, 100)...)}, "audio", "audio/mpeg"},
		{messagingtest.File{Name: "memo.m4a", Content: container("M4A ")}, "audio", "audio/mp4"},
		{messagingtest.File{Name: "film.mp4", Type: "video/mp4", Content: container("isom")}, "video", "video/mp4"},
		{messagingtest.File{Name: "film.3gp", Content: container("3gp4")}, "video", "video/3gpp"},
		{messagingtest.File{Name: "smile.webp", Type: "image/webp", Content: []byte(webpFile)}, "image", "image/png"},
		{messagingtest.File{Name: "contract.pdf", Content: pdfFile}, "document", "application/pdf"},
	} {
		test.file.Field = []string{"medias", "medias[]"}[i%2]
		sent := company.Upload(ticket, nil, test.file)
		require.Equal(t, 201, sent.Status, sent.Text)
		require.Equal(t, []any{test.kind, test.mime, nil}, []any{sent.Body["mediaType"], sent.Body["mimeType"], sent.Body["errorCode"]}, test.file.Name)
		inbox := company.Get("/sandbox/phones/" + phone + "/inbox")["messages"].([]any)
		require.Len(t, inbox, i+1)
		got := company.As("").Call("GET", inbox[i].(object)["mediaUrl"].(string), nil)
		require.Equal(t, []any{200, test.mime}, []any{got.Status, got.Header.Get("Content-Type")}, test.file.Name)
		if test.kind != "image" {
			require.Equal(t, string(test.file.Content), got.Text, test.file.Name)
		}
	}
	// Both fields in one form: each file becomes a message.
	both := company.Upload(ticket, nil, messagingtest.File{Name: "a.pdf", Content: pdfFile}, messagingtest.File{Name: "b.ogg", Content: oggFile, Field: "medias[]"})
	require.Equal(t, 201, both.Status, both.Text)
	messages := lastMessages(company, ticket, 2)
	require.Equal(t, []any{"a.pdf", "document", "b.ogg", "audio"}, []any{messages[0]["mediaName"], messages[0]["mediaType"], messages[1]["mediaName"], messages[1]["mediaType"]})
	require.Equal(t, 400, company.Upload(ticket, nil, messagingtest.File{Name: "a.pdf", Content: pdfFile, Field: "files"}).Status)
}

// A signed address is valid for an hour.
func TestMediaSignatureExpires(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC))
	connection, phone := company.Connect(), company.AddPhone("Ana")
	company.SendFromPhone(phone, connection, "Hi")
	require.Equal(t, 201, company.Upload(messagingtest.TicketPath(company.Tickets("")[0]), nil, messagingtest.File{Name: "a.pdf", Content: pdfFile}).Status)
	link := company.Get("/sandbox/phones/" + phone + "/inbox")["messages"].([]any)[0].(object)["mediaUrl"].(string)
	company.Hub.Clock.Advance(59 * time.Minute)
	company.As("").OK(200, "GET", link, nil)
	company.Hub.Clock.Advance(time.Minute)
	require.Equal(t, 401, company.As("").Call("GET", link, nil).Status)
}

// Files that lie, are too long, empty or broken are refused; nothing of them is stored or
// sent.
func TestRefusedMedia(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	_, phone, ticket := openTicket(company)
	picture := pngOf(t, 30, 20)
	noise := func(size int, head string) []byte {
		raw := make([]byte, size)
		copy(raw[copy(raw, head):], "\x00\x01")
		return raw
	}
	file := func(name, kind string, content []byte) []messagingtest.File {
		return []messagingtest.File{{Name: name, Type: kind, Content: content}}
	}
	for name, test := range map[string]struct {
		fields map[string]string
		files  []messagingtest.File
		status int
		err    string
	}{
		"a program as a picture":    {nil, file("a.png", "image/png", []byte("MZ\x90\x00")), 415, "ERR_UNSUPPORTED_MEDIA_TYPE"},
		"a page as a picture":       {nil, file("a.png", "", []byte("<html><script>1</script>")), 415, "ERR_UNSUPPORTED_MEDIA_TYPE"},
		"a vector picture":          {map[string]string{"mediaType": "image"}, file("a.svg", "", []byte("<svg/>")), 415, "ERR_UNSUPPORTED_MEDIA_TYPE"},
		"a picture as a video":      {map[string]string{"mediaType": "video"}, file("a", "", picture), 415, "ERR_UNSUPPORTED_MEDIA_TYPE"},
		"a picture that goes on":    {nil, file("a.png", "", append(bytes.Clone(picture), "PK\x03\x04"...)), 415, "ERR_UNSUPPORTED_MEDIA_TYPE"},
		"half a picture":            {nil, file("a.png", "", picture[:len(picture)-20]), 400, "ERR_IMAGE_UNREADABLE"},
		"a very large picture":      {nil, file("a.png", "", pngOf(t, 4097, 1)), 400, "ERR_IMAGE_TOO_LARGE"},
		"an empty file":             {nil, file("a.txt", "", nil), 400, "ERR_FILE_EMPTY"},
		"a long picture":            {nil, file("a.png", "", append(bytes.Clone(picture), make([]byte, 5<<20)...)), 413, "ERR_FILE_TOO_LARGE"},
		"a long voice message":      {nil, file("a.ogg", "", noise(16<<20+1, "OggS")), 413, "ERR_FILE_TOO_LARGE"},
		"a long video":              {nil, file("a.mp4", "", noise(16<<20+1, "\x00\x00\x00\x20ftypisom")), 413, "ERR_FILE_TOO_LARGE"},
		"a good file beside a lie":  {nil, append(file("a.pdf", "", pdfFile), file("b.pdf", "", picture)...), 415, "ERR_UNSUPPORTED_MEDIA_TYPE"},
		"no file":                   {map[string]string{"body": "x"}, nil, 400, "ERR_VALIDATION"},
		"six files":                 {nil, append(append(file("a.pdf", "", pdfFile), file("a.pdf", "", pdfFile)...), append(append(file("a.pdf", "", pdfFile), file("a.pdf", "", pdfFile)...), append(file("a.pdf", "", pdfFile), file("a.pdf", "", pdfFile)...)...)...), 400, "ERR_VALIDATION"},
		"an unknown type":           {map[string]string{"mediaType": "hologram"}, file("a.pdf", "", pdfFile), 400, "ERR_VALIDATION"},
		"a long caption":            {map[string]string{"body": strings.Repeat("x", 4097)}, file("a.pdf", "", pdfFile), 400, "ERR_VALIDATION"},
		"a caption that is no text": {map[string]string{"body": "\xff\xfe"}, file("a.pdf", "", pdfFile), 400, "ERR_VALIDATION"},
		"a strange boolean":         {map[string]string{"isPrivate": "perhaps"}, file("a.pdf", "", pdfFile), 400, "ERR_VALIDATION"},
		"an unknown quote":          {map[string]string{"quotedMsgId": "none"}, file("a.pdf", "", pdfFile), 404, "ERR_NO_MESSAGE_FOUND"},
	} {
		refused := company.Upload(ticket, test.fields, test.files...)
		require.Equal(t, test.status, refused.Status, "%s: %s", name, refused.Text)
		require.Equal(t, test.err, refused.Body["error"], name)
	}
	for body, status := range map[string]int{
		"--x\r\nbroken": 400, "": 400,
		"--x\r\nContent-Disposition: form-data; name=\"medias\"; filename=\"a.pdf\"\r\n\r\n%PDF-": 400, // cut
	} {
		refused := company.Call("POST", ticket+"/messages", body, "Content-Type", "multipart/form-data; boundary=x")
		require.Equal(t, status, refused.Status, "%q: %s", body, refused.Text)
	}
	require.Equal(t, 415, company.Call("POST", ticket+"/messages", "--x--", "Content-Type", "multipart/mixed; boundary=x").Status)
	company.OK(200, "PUT", ticket, object{"status": "closed"})
	require.Equal(t, "ERR_INVALID_TRANSITION", company.Upload(ticket, nil, messagingtest.File{Name: "a.pdf", Content: pdfFile}).Body["error"])
	require.Empty(t, company.Inbox(phone))
	require.Equal(t, []string{"Hi"}, bodies(company, ticket))
	company.RunJob("erase-media")
	require.Empty(t, company.Hub.Files(), "nothing is left")
}

// A document of 100 MiB is stored without being held in memory as a whole.
func TestLongDocument(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	_, _, ticket := openTicket(company)
	content := make([]byte, 100<<20, 100<<20+1)
	copy(content, "%PDF-1.7\n")
	_, _ = rand.Read(content[1000:2000])
	sent := company.Upload(ticket, nil, messagingtest.File{Name: "book.pdf", Content: content})
	require.Equal(t, 201, sent.Status, sent.Text)
	require.EqualValues(t, len(content), sent.Body["size"])
	require.True(t, string(content) == company.Call("GET", sent.Body["mediaUrl"].(string), nil).Text, "it comes back as it is") //nolint:testifylint // 100 MiB are not printed
	content = append(content, 0)
	require.Equal(t, "ERR_FILE_TOO_LARGE", company.Upload(ticket, nil, messagingtest.File{Name: "book.pdf", Content: content}).Body["error"])
}

// The send API and JSON messages fetch files from addresses.
func TestFetchedMedia(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	_, phone, ticket := openTicket(company)
	picture := pngOf(t, 30, 20)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/map.png":
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write(picture)
		case "/lie.png":
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write(pdfFile)
		case "/picture": // a page, whatever its name says
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write([]byte("<!DOCTYPE html><html><body>Not found</body></html>"))
		case "/long.png":
			_, _ = w.Write(append(bytes.Clone(picture), make([]byte, 6<<20)...))
		case "/declared":
			w.Header().Set("Content-Length", "999999999")
			w.WriteHeader(200)
		case "/cut.pdf":
			w.Header().Set("Content-Length", "99999")
			_, _ = w.Write(pdfFile)
		case "/empty":
			w.WriteHeader(200)
		case "/moved":
			http.Redirect(w, r, "/map.png", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(site.Close)
	program := company.As(company.APIToken())
	for _, body := range []object{
		{"mediaUrl": site.URL + "/map.png", "media": site.URL + "/map.png", "mediaType": "image", "mediatype": "image"},
		{"mediaUrl": site.URL + "/map.png"}, {"media": site.URL + "/map.png", "mediatype": "image", "fileName": "way.png"},
	} {
		body["number"], body["body"] = phone, "The way"
		sent := program.OK(200, "POST", "/api/messages/send", body)
		last := lastMessages(company, ticket, 1)[0]
		require.Equal(t, []any{sent["id"], "image", "The way"}, []any{last["id"], last["mediaType"], last["body"]})
		require.Equal(t, 200, company.Call("GET", last["mediaUrl"].(string), nil).Status)
	}
	require.Equal(t, "way.png", lastMessages(company, ticket, 1)[0]["mediaName"])
	require.Equal(t, "map.png", company.OK(201, "POST", ticket+"/messages", object{"body": "", "mediaUrl": site.URL + "/map.png", "mediaType": "image"})["mediaName"])
	line := company.Call("GET", "/whatsapp", nil).List[0]["id"]
	offers := object{"name": "Offers", "message1": "Hi", "whatsappId": line, "mediaUrl": site.URL + "/map.png", "mediaName": "offer.png"}
	campaign := company.OK(201, "POST", "/campaigns", offers)
	require.Equal(t, "offer.png", campaign["mediaName"])
	require.Equal(t, "map.png", company.OK(200, "PUT", messagingtest.Path("/campaigns", campaign), object{"mediaUrl": site.URL + "/map.png"})["mediaName"])
	for _, wrong := range []object{{"mediaName": strings.Repeat("a", 256)}, {"mediaUrl": nil}} {
		body := maps.Clone(offers)
		maps.Copy(body, wrong)
		require.Equal(t, "body.mediaName", company.OK(400, "POST", "/campaigns", body)["errors"].([]any)[0].(object)["location"])
	}
	before, files := bodies(company, ticket), len(company.Hub.Files())
	for _, test := range []struct {
		address, kind string
		status        int
		err           string
	}{
		{site.URL + "/lie.png", "", 415, "ERR_UNSUPPORTED_MEDIA_TYPE"},
		{site.URL + "/picture", "", 415, "ERR_UNSUPPORTED_MEDIA_TYPE"},
		{site.URL + "/map.png", "audio", 415, "ERR_UNSUPPORTED_MEDIA_TYPE"},
		{site.URL + "/long.png", "", 413, "ERR_FILE_TOO_LARGE"},
		{site.URL + "/declared", "", 413, "ERR_FILE_TOO_LARGE"},
		{site.URL + "/cut.pdf", "", 400, "ERR_MEDIA_URL_FAILED"},
		{site.URL + "/empty", "", 400, "ERR_FILE_EMPTY"},
		{site.URL + "/moved", "", 400, "ERR_MEDIA_URL_FAILED"},
		{site.URL + "/gone", "", 400, "ERR_MEDIA_URL_FAILED"},
		{"http://127.0.0.1:1/x", "", 400, "ERR_MEDIA_URL_FAILED"},
		{"http://169.254.169.254/latest/meta-data", "", 400, "ERR_URL_NOT_ALLOWED"},
		{"http://10.0.0.1/x", "", 400, "ERR_URL_NOT_ALLOWED"},
		{"file:///etc/passwd", "", 400, "ERR_VALIDATION"},
		{"http://user:secret@127.0.0.1/x", "", 400, "ERR_VALIDATION"},
		{"map.png", "", 400, "ERR_VALIDATION"},
		{site.URL + "/map.png", "hologram", 400, "ERR_VALIDATION"},
	} {
		for _, refused := range []object{
			program.OK(test.status, "POST", "/api/messages/send", object{"number": phone, "body": "x", "mediaUrl": test.address, "mediaType": test.kind}),
			company.OK(test.status, "POST", ticket+"/messages", object{"body": "x", "mediaUrl": test.address, "mediaType": test.kind}),
		} {
			require.Equal(t, test.err, refused["error"], test.address)
		}
	}
	require.Equal(t, before, bodies(company, ticket))
	company.RunJob("erase-media")
	require.Len(t, company.Hub.Files(), files)
}

// Files that contacts send are fetched from the network, and belong to their message.
func TestReceivedMedia(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	connection, phone, ticket := openTicket(company)
	data := func(kind string, content []byte) string {
		return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(content)
	}
	var photo bytes.Buffer
	require.NoError(t, jpeg.Encode(&photo, image.NewGray(image.Rect(0, 0, 9, 9)), nil))
	receive := func(address string) object {
		company.OK(201, "POST", "/sandbox/phones/"+phone+"/send", object{"to": connection.Number, "body": "", "mediaUrl": address})
		var message object
		require.Eventually(t, func() bool {
			message = lastMessages(company, ticket, 1)[0]
			return message["mediaUrl"] != nil || message["errorCode"] != nil
		}, time.Minute, 20*time.Millisecond)
		return message
	}
	for _, test := range []struct {
		address, kind, mime string
	}{
		{data("image/jpeg", photo.Bytes()), "image", "image/jpeg"},
		{data("audio/ogg", oggFile), "audio", "audio/ogg"},
		{data("application/pdf", pdfFile), "document", "application/pdf"},
		{data("image/jpeg", photo.Bytes()[:100]), "image", "image/jpeg"},           // no readable image: an attachment
		{data("image/png", []byte("<html>")), "image", "application/octet-stream"}, // a lie: an attachment
	} {
		got := receive(test.address)
		require.Equal(t, []any{test.kind, test.mime, nil}, []any{got["mediaType"], got["mimeType"], got["errorCode"]}, test.address[:30])
		require.Equal(t, 200, company.Call("GET", got["mediaUrl"].(string), nil).Status)
	}
	broken := company.Call("GET", lastMessages(company, ticket, 1)[0]["mediaUrl"].(string), nil)
	require.True(t, strings.HasPrefix(broken.Header.Get("Content-Disposition"), "attachment"))
	for address, code := range map[string]string{"data:image/png;base64,%%": "media_unavailable", company.Hub.URL + "/nowhere": "media_unavailable", data("image/png", nil): "media_unavailable"} {
		require.Equal(t, code, receive(address)["errorCode"], address)
	}
}

// The files of erased messages are deleted; those that other messages have stay.
func TestErasedMedia(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC))
	connection := company.Connect()
	ticketOf := func(name string) string {
		phone := company.AddPhone(name)
		company.SendFromPhone(phone, connection, "Hi")
		return messagingtest.TicketPath(company.Tickets("searchParam=" + phone)[0])
	}
	ana, carla := ticketOf("Ana"), ticketOf("Carla")
	own := company.Upload(ana, nil, messagingtest.File{Name: "own.pdf", Content: pdfFile}).Body["mediaUrl"].(string)
	shared := company.Upload(ana, nil, messagingtest.File{Name: "shared.pdf", Content: pdfFile}).Body["mediaUrl"].(string)
	company.OK(201, "POST", carla+"/messages", object{"body": "", "mediaUrl": shared})
	quick := company.Upload(ana, nil, messagingtest.File{Name: "quick.pdf", Content: pdfFile}).Body["mediaUrl"].(string)
	company.OK(201, "POST", "/quick-messages", object{"shortcode": "map", "message": "The way", "mediaUrl": quick})
	require.Len(t, company.Hub.Files(), 3)

	contact := messagingtest.Path("/contacts", company.Get(ana)["contact"].(object))
	company.OK(200, "POST", contact+"/anonymize", nil)
	require.Equal(t, 404, company.Call("GET", own, nil).Status, "at once")
	require.Equal(t, 200, company.Call("GET", shared, nil).Status)
	require.Equal(t, 200, company.Call("GET", quick, nil).Status)
	company.RunJob("erase-media")
	require.Len(t, company.Hub.Files(), 2)

	company.OK(200, "PUT", "/company", object{"retentionDays": 1})
	company.OK(200, "PUT", carla, object{"status": "closed"})
	company.Hub.Clock.Advance(49 * time.Hour)
	company.RunJob("retention")
	company.RunJob("erase-media")
	require.Len(t, company.Hub.Files(), 1, "that of the quick message")

	// What deleted tickets had goes with them.
	company = company.LogIn(company.Email, messagingtest.Password)
	dora := ticketOf("Dora")
	company.Upload(dora, nil, messagingtest.File{Name: "late.pdf", Content: pdfFile})
	company.OK(200, "DELETE", dora, nil)
	company.RunJob("erase-media")
	require.Len(t, company.Hub.Files(), 1)
}

// However many files there are, those that nothing has are erased a page at a time. A quick message
// has its file also by a signed address.
func TestAbandonedMediaPages(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC))
	phone := company.AddPhone("Ana")
	company.SendFromPhone(phone, company.Connect(), "Hi")
	ticket := messagingtest.TicketPath(company.Tickets("")[0])
	signed := company.Upload(ticket, nil, messagingtest.File{Name: "quick.pdf", Content: pdfFile}).Body["mediaUrl"].(string) + "?signature=1-x"
	company.OK(201, "POST", "/quick-messages", object{"shortcode": "map", "message": "The way", "mediaUrl": signed})
	company.OK(200, "DELETE", ticket, nil)
	// Pages that are full of files in use come first.
	company.Hub.Exec(`insert into media_files (company_id, id, blob_id, media_type, mime_type, name, created_at, is_stored)
		select $1, 'used' || lpad(translate(n::text, '0189', 'abcd'), 22, 'a'), gen_random_uuid(), 'document', 'application/pdf', 'a.pdf', timestamptz '2027-02-01', true from generate_series(1, 1100) n`, company.ID)
	company.Hub.Exec(`insert into quick_messages (company_id, shortcode, message, media_url, shared, user_id, created_at, updated_at)
		select $1, id, 'x', '/messaging/media/' || id, true, (select id from users where company_id = $1), now(), now() from media_files where company_id = $1 and id like 'used%'`, company.ID)
	company.Hub.Exec(`insert into media_files (company_id, id, blob_id, media_type, mime_type, name, created_at, is_stored)
		select $1, 'lost' || lpad(translate(n::text, '0189', 'abcd'), 22, 'a'), gen_random_uuid(), 'document', 'application/pdf', 'a.pdf', timestamptz '2027-02-02', true from generate_series(1, 600) n`, company.ID)
	company.Hub.Clock.Advance(25 * time.Hour)
	company.RunJob("abandoned-media")
	require.Zero(t, company.Hub.Count(`media_files where id like 'lost%'`))
	require.Equal(t, 1100, company.Hub.Count(`media_files where id like 'used%' and erased_at is null`))
	require.Len(t, company.Hub.Files(), 1)
}

// A campaign shows the name of its file and, alone, its contacts in the order of sending.
func TestCampaignAnswers(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	line, phone := company.Connect(), company.AddPhone("Ana")
	company.SendFromPhone(phone, line, "Hi")
	ticket := company.Tickets("")[0]
	file := company.Upload(messagingtest.TicketPath(ticket), nil, messagingtest.File{Name: "offer.pdf", Content: []byte("%PDF-1.7")}).Body["mediaUrl"]
	bia := company.OK(201, "POST", "/contacts", object{"name": "Bia", "number": "5511987650001"})["id"]
	contacts := []any{ticket["contactId"], bia}
	made := company.OK(201, "POST", "/campaigns", object{"name": "Offers", "message1": "Hi", "whatsappId": line.ID, "contactIds": contacts, "mediaUrl": file})
	path := messagingtest.Path("/campaigns", made)
	for name, campaign := range map[string]object{
		"created": made, "read": company.Get(path), "changed": company.OK(200, "PUT", path, object{"name": "Offers of March"}), "started": company.OK(200, "POST", path+"/start", nil), "cancelled": company.OK(200, "POST", path+"/cancel", nil),
	} {
		require.Equal(t, []any{"offer.pdf", file, contacts}, []any{campaign["mediaName"], campaign["mediaUrl"], campaign["contactIds"]}, name)
	}
	listed := company.Get("/campaigns")["records"].([]any)[0].(object)
	require.Equal(t, "offer.pdf", listed["mediaName"])
	require.NotContains(t, listed, "contactIds")
	without := company.OK(201, "POST", "/campaigns", object{"name": "Without", "message1": "Hi", "whatsappId": line.ID})
	require.Equal(t, []any{nil, []any{}}, []any{without["mediaName"], without["contactIds"]})
}

// An address that is itself in a private network is named as such, as for webhooks; of what a name leads to
// nothing is said.
func TestMediaOfAPrivateNetwork(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	company.Connect()
	program := company.As(company.APIToken())
	for _, address := range []string{"http://10.1.1.1/x.png", "https://192.168.0.1:8443/x.png#part", "http://[fd00::1]/x.png"} {
		refused := program.Refused(400, "ERR_URL_NOT_ALLOWED", "POST", "/api/messages/send", object{"number": company.AddPhone("Ana"), "body": "x", "mediaUrl": address})
		require.Contains(t, refused["detail"], "must not lead into a private or reserved network")
		require.Equal(t, "body.mediaUrl", refused["errors"].([]any)[0].(object)["location"])
	}
}
