package schedulingtest

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// SubmitBookingForm posts the form of the page as a browser without JavaScript does, and gives the
// answer with where it leads as its text.
func (p *Bookable) SubmitBookingForm(form url.Values) answer {
	r, err := http.NewRequestWithContext(p.T.Context(), http.MethodPost, p.Hub.URL+"/book/"+p.Slug+"/details", strings.NewReader(form.Encode()))
	if err != nil {
		return answer{Text: err.Error()}
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return answer{Text: err.Error()}
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err != nil {
		return answer{Text: err.Error()}
	}
	return answer{Status: res.StatusCode, Text: res.Header.Get("Location") + string(page)}
}

// GetPage reads an address as anybody.
func GetPage(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return string(text)
}
