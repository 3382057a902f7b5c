package schedulingtest

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/moduletest"
)

// SubmitBookingForm posts the form of the booking page as a browser without JavaScript
// does. The response's text is where it redirects to, followed by the page.
func (b *Bookable) SubmitBookingForm(form url.Values) moduletest.Response {
	request, err := http.NewRequestWithContext(b.T.Context(), http.MethodPost, b.Hub.URL+"/book/"+b.Slug+"/details", strings.NewReader(form.Encode()))
	if err != nil {
		return moduletest.Response{Text: err.Error()}
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := hubtest.HTTPClient.Transport.RoundTrip(request)
	if err != nil {
		return moduletest.Response{Text: err.Error()}
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err != nil {
		return moduletest.Response{Text: err.Error()}
	}
	return moduletest.Response{Status: res.StatusCode, Text: res.Header.Get("Location") + string(page)}
}

// GetPage returns the body of a page, read without credentials.
func GetPage(t testing.TB, url string) string {
	t.Helper()
	res, err := hubtest.HTTPClient.Get(url)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return string(text)
}
