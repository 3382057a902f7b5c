package api_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

func TestCalendars(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	g := p.Guest()
	made := g.OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))
	got := g.Call("GET", p.PublicPath("/appointment.ics?token="+made["cancel_token"].(string)), nil)
	require.Equal(t, 200, got.Status, got.Text)
	require.Equal(t, "text/calendar; charset=utf-8; method=PUBLISH", got.Header.Get("Content-Type"))
	require.Equal(t, `attachment; filename="`+p.Slug+`.ics"`, got.Header.Get("Content-Disposition"))
	require.Contains(t, got.Text, "DTSTART;TZID=America/Sao_Paulo:20260302T090000")
	require.Contains(t, got.Text, "SUMMARY:Cut · Studio")
	require.Contains(t, got.Text, "UID:"+made["appointment_id"].(string)+"@")
	g.Refused(404, "invalid_token", "GET", p.PublicPath("/appointment.ics?token=x"), nil)

	feed := p.List("/professionals")[0]["calendar_feed_url"].(string)
	read := func(address string) (int, string) {
		res, err := http.Get(address)
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
	p.Transition(200, "cancel", made["appointment_id"].(string), object{})
	_, text = read(feed)
	require.Contains(t, text, "STATUS:CANCELLED")
	status, _ = read(strings.Replace(feed, ".ics", "x.ics", 1))
	require.Equal(t, http.StatusNotFound, status)
	status, _ = read(strings.Replace(feed, p.ProfessionalID, uuid.NewString(), 1))
	require.Equal(t, http.StatusNotFound, status)
	fresh := p.OK(200, "POST", "/professionals/"+p.ProfessionalID+"/calendar-feed/rotate", nil)["calendar_feed_url"].(string)
	status, _ = read(feed)
	require.Equal(t, http.StatusNotFound, status, "the old address has ended")
	status, _ = read(fresh)
	require.Equal(t, http.StatusOK, status)
}
