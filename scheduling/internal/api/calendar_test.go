package api_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/scheduling/internal/schedulingtest"
)

func TestCalendars(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	guest := org.Guest()
	created := guest.OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	got := guest.Call("GET", org.PublicPath("/appointment.ics?token="+created["cancel_token"].(string)), nil)
	require.Equal(t, 200, got.Status, got.Text)
	require.Equal(t, "text/calendar; charset=utf-8; method=PUBLISH", got.Header.Get("Content-Type"))
	require.Equal(t, `attachment; filename="`+org.Slug+`.ics"`, got.Header.Get("Content-Disposition"))
	require.Contains(t, got.Text, "DTSTART;TZID=America/Sao_Paulo:20260302T090000")
	require.Contains(t, got.Text, "SUMMARY:Cut · Studio")
	require.Contains(t, got.Text, "UID:"+created["appointment_id"].(string)+"@")
	guest.Refused(404, "invalid_token", "GET", org.PublicPath("/appointment.ics?token=x"), nil)

	feed := org.List("/professionals")[0]["calendar_feed_url"].(string)
	read := func(address string) (int, string) {
		res, err := hubtest.HTTPClient.Get(address)
		require.NoError(t, err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, string(body)
	}
	status, text := read(feed)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, "X-WR-CALNAME:Ana · Studio")
	require.Contains(t, text, "SUMMARY:Gil · Cut")
	require.Contains(t, text, "STATUS:CONFIRMED")
	require.NotContains(t, text, "cancel?token", "the client's link is the client's")
	org.Transition(200, "cancel", created["appointment_id"].(string), object{})
	_, text = read(feed)
	require.Contains(t, text, "STATUS:CANCELLED")
	status, _ = read(strings.Replace(feed, ".ics", "x.ics", 1))
	require.Equal(t, http.StatusNotFound, status)
	status, _ = read(strings.Replace(feed, org.ProfessionalID, uuid.NewString(), 1))
	require.Equal(t, http.StatusNotFound, status)
	fresh := org.OK(200, "POST", "/professionals/"+org.ProfessionalID+"/calendar-feed/rotate", nil)["calendar_feed_url"].(string)
	status, _ = read(feed)
	require.Equal(t, http.StatusNotFound, status, "the old address has ended")
	status, _ = read(fresh)
	require.Equal(t, http.StatusOK, status)
}
