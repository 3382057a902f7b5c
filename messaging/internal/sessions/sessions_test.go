package sessions_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// A QR code lives for a minute and is scanned once; the third that nobody scans is the last,
// until a user starts the connection again.
func TestQRCodes(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC))
	phone := company.AddPhone("Company phone")
	made := company.OK(201, "POST", "/whatsapp", object{"name": "Reception"})
	require.Equal(t, "qrcode", made["status"])
	connection := messagingtest.Connection{ID: int64(made["id"].(float64)), Number: phone}
	path := messagingtest.ConnectionPath(connection)
	session := "/whatsappsession" + path[len("/whatsapp"):]
	scan := func(status int, code any) object {
		return company.OK(status, "POST", "/sandbox/phones/"+phone+"/scan", object{"code": code})
	}

	first := company.Get(path + "/qrCode")
	require.EqualValues(t, 0, company.Get(path)["retries"], "the first code repeats nothing")
	require.Contains(t, first["image"], "data:image/png;base64,")
	require.Equal(t, first["qrcode"], company.Get(path + "/qrCode")["qrcode"], "the same while it is valid")
	company.Hub.Clock.Advance(61 * time.Second)
	second := company.Get(path + "/qrCode")
	require.NotEqual(t, first["qrcode"], second["qrcode"])
	scan(400, first["qrcode"])
	scan(400, "https://example.com")

	company.Hub.Clock.Advance(61 * time.Second)
	job := company.Hub.Job("qr-codes")
	require.NoError(t, job.Run(t.Context(), nil))
	third := company.Get(path)
	require.NotEqual(t, second["qrcode"], third["qrcode"], "the job replaces it as well")
	require.EqualValues(t, 2, third["retries"])
	company.Hub.Clock.Advance(61 * time.Second)
	require.NoError(t, job.Run(t.Context(), nil))
	given := company.Get(path)
	require.Equal(t, "DISCONNECTED", given["status"])
	require.Equal(t, "Nobody scanned the QR code.", given["lastError"])
	require.Empty(t, given["qrcode"])
	require.Nil(t, company.Get(path + "/qrCode")["qrcode"])

	restarted := company.OK(200, "POST", session, nil)
	require.Equal(t, "qrcode", restarted["status"])
	paired := scan(200, restarted["qrcode"])
	require.Equal(t, "CONNECTED", paired["status"])
	scan(400, restarted["qrcode"])
	connected := company.Get(path)
	require.Equal(t, phone, connected["number"])
	require.Nil(t, connected["lastError"])
	require.EqualValues(t, 0, connected["retries"])

	require.Equal(t, "CONNECTED", company.OK(200, "POST", session, nil)["status"], "starting it again changes nothing")
	require.Equal(t, "qrcode", company.OK(200, "PUT", session, nil)["status"], "a new QR code ends the pairing")
	require.Equal(t, "DISCONNECTED", company.OK(200, "DELETE", session, nil)["status"])
	require.Equal(t, "ERR_WAPP_NOT_INITIALIZED", company.As(company.APIToken()).OK(400, "POST", "/api/messages/send", object{"number": phone, "body": "x"})["error"])
}

// Sessions are an administrator's, of the own company.
func TestSessionsOfOthers(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	connection := company.Connect()
	session := "/whatsappsession" + messagingtest.ConnectionPath(connection)[len("/whatsapp"):]
	other := company.AnotherCompany()
	for _, method := range []string{"POST", "PUT", "DELETE"} {
		require.Equal(t, "ERR_NO_WAPP_FOUND", other.OK(404, method, session, nil)["error"])
		company.As("").OK(401, method, session, nil)
	}
	require.Equal(t, "CONNECTED", company.Get(messagingtest.ConnectionPath(connection))["status"])
}

// An expired QR code that many ask for at once, while the job replaces it too, is replaced once.
func TestQRCodeIsReplacedOnce(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC))
	made := company.OK(201, "POST", "/whatsapp", object{"name": "Reception"})
	path := messagingtest.Path("/whatsapp", made)
	company.Hub.Clock.Advance(61 * time.Second)
	codes := make(chan any, 20)
	var asking sync.WaitGroup
	for range cap(codes) {
		asking.Go(func() {
			if response, err := company.Try("GET", path+"/qrCode", nil); err == nil {
				codes <- response.Body["qrcode"]
			}
		})
	}
	company.RunJob("qr-codes")
	asking.Wait()
	close(codes)
	current := company.Get(path)
	require.EqualValues(t, 1, current["retries"], "replaced once")
	require.Len(t, codes, cap(codes))
	for code := range codes {
		require.Equal(t, current["qrcode"], code)
	}
}
