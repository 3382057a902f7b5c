package api_test

import (
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"
	"time"

	"github.com/boombuler/barcode/qr"
	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

func TestConnectionSettings(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	first := company.OK(201, "POST", "/whatsapp", object{"name": "Reception", "greetingMessage": "Hello"})
	require.Equal(t, true, first["isDefault"], "the first one")
	second := company.OK(201, "POST", "/whatsapp", object{"name": "Billing"})
	require.Equal(t, false, second["isDefault"])
	path := func(c object) string {
		return messagingtest.ConnectionPath(messagingtest.Connection{ID: int64(c["id"].(float64))})
	}
	changed := company.OK(200, "PUT", path(second), object{"isDefault": true, "sendIntervalMs": 250, "dailyLimit": 1000, "ratingMessage": "1 to 5?"})
	require.Equal(t, []any{true, 250.0, 1000.0, "1 to 5?", "Billing"}, []any{changed["isDefault"], changed["sendIntervalMs"], changed["dailyLimit"], changed["ratingMessage"], changed["name"]})
	require.Equal(t, false, company.Get(path(first))["isDefault"], "there is one default connection")
	third := company.OK(201, "POST", "/whatsapp", object{"name": "Sales", "isDefault": true})
	require.Equal(t, true, third["isDefault"])
	require.Equal(t, false, company.Get(path(second))["isDefault"])

	before := company.Get(path(first))
	for body, name := range map[string]string{
		`{"name":"x"}`: "ERR_VALIDATION", `{"name":"billing"}`: "ERR_WAPP_NAME_ALREADY_EXISTS", `{"sendIntervalMs":-1}`: "ERR_VALIDATION",
		`{"dailyLimit":1000001}`: "ERR_VALIDATION", `{"greetingMessage":5}`: "ERR_VALIDATION", `{`: "ERR_VALIDATION",
	} {
		require.Equal(t, name, company.OK(400, "PUT", path(first), body)["error"], body)
	}
	require.Equal(t, before, company.Get(path(first)))
	require.Equal(t, "ERR_VALIDATION", company.OK(400, "PUT", path(third), object{"isDefault": false})["error"], "another one has to be made the default")
	for _, body := range []object{{}, {"name": "y"}, {"name": "Other", "driver": "pigeon"}} {
		require.Equal(t, "ERR_VALIDATION", company.OK(400, "POST", "/whatsapp", body)["error"])
	}
	other := company.AnotherCompany()
	other.OK(201, "POST", "/whatsapp", object{"name": "Reception"})
	require.Len(t, company.Call("GET", "/whatsapp", nil).List, 3)
	other.OK(404, "PUT", path(first), object{"name": "Stolen"})
	other.OK(404, "DELETE", path(first), nil)
	company.OK(200, "DELETE", path(first), nil)
	require.Equal(t, "ERR_NO_WAPP_FOUND", company.OK(404, "GET", path(first), nil)["error"])
	company.OK(200, "DELETE", path(third), nil)
	require.Equal(t, true, company.Get(path(second))["isDefault"], "of those that are left")
}

// The picture of a QR code is that of its text, and both are renewed when they expire.
func TestQRCodePicture(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC))
	path := messagingtest.Path("/whatsapp", company.OK(201, "POST", "/whatsapp", object{"name": "Reception"}))
	var last object
	for range 2 {
		code := company.Get(path + "/qrCode")
		requireQRCode(t, code["qrcode"].(string), decodeDataURL(t, code["image"].(string)))
		expires, err := time.Parse(time.RFC3339, code["expiresAt"].(string))
		require.NoError(t, err)
		require.Equal(t, company.Hub.Clock.Now().Add(time.Minute), expires)
		require.Equal(t, []any{code["qrcode"], code["expiresAt"]}, []any{company.Get(path)["qrcode"], company.Get(path)["qrExpiresAt"]})
		require.NotEqual(t, last["qrcode"], code["qrcode"])
		require.NotEqual(t, last["image"], code["image"])
		last = code
		company.Hub.Clock.Advance(61 * time.Second)
	}
	company.OK(400, "POST", "/sandbox/phones/"+company.AddPhone("Company phone")+"/scan", object{"code": last["qrcode"]})
}

// requireQRCode fails where a picture is not the QR code of the text, six pixels a module, with
// four light modules around it.
func requireQRCode(t *testing.T, text string, drawn image.Image) {
	t.Helper()
	code, err := qr.Encode(text, qr.M, qr.Auto)
	require.NoError(t, err)
	modules := code.Bounds().Dx()
	require.Equal(t, image.Rect(0, 0, 6*(modules+8), 6*(modules+8)), drawn.Bounds())
	isDark := func(shade color.Color) bool { return color.GrayModel.Convert(shade).(color.Gray).Y < 128 }
	for x := range modules {
		for y := range modules {
			require.Equal(t, isDark(code.At(x, y)), isDark(drawn.At(6*(x+4)+3, 6*(y+4)+3)), "module %d, %d", x, y)
		}
	}
}

// decodeDataURL returns the PNG of a data URL.
func decodeDataURL(t *testing.T, address string) image.Image {
	t.Helper()
	content, isPNG := strings.CutPrefix(address, "data:image/png;base64,")
	require.True(t, isPNG, address)
	picture, err := png.Decode(base64.NewDecoder(base64.StdEncoding, strings.NewReader(content)))
	require.NoError(t, err)
	return picture
}

// The driver of a connection is for good: a change says so, and nothing else of it is kept.
func TestDriverIsForGood(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	path := messagingtest.ConnectionPath(company.Connect())
	name := company.Get(path)["name"]
	for _, driver := range []any{"cloud", "bridge", "", "unknown", nil} {
		refused := company.Refused(400, "ERR_VALIDATION", "PUT", path, object{"driver": driver, "name": "Another name"})
		require.Equal(t, "body.driver", refused["errors"].([]any)[0].(object)["location"])
	}
	require.Equal(t, []any{"sandbox", name}, []any{company.Get(path)["driver"], company.Get(path)["name"]})
	require.Equal(t, "New name", company.OK(200, "PUT", path, object{"driver": "sandbox", "name": "New name"})["name"], "as it was read")
}
