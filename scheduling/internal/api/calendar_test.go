package api_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

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

// However much there was, a feed has what comes. Cancelled appointments leave it after some days.
func TestFeedPrefersWhatComes(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	url := org.List("/professionals")[0]["calendar_feed_url"].(string)
	past, next, cancelled := org.Book(0), org.Book(30*time.Minute), org.Book(time.Hour)
	org.Transition(200, "cancel", cancelled, object{})
	require.Contains(t, schedulingtest.GetPage(t, url), cancelled, "calendar programs remove it")
	org.Transition(200, "cancel", past, object{})
	var columns string // without generated ones, which cannot be written
	require.NoError(t, org.Hub.Host.Pool.QueryRow(t.Context(), `select string_agg(quote_ident(column_name), ', ') from information_schema.columns
		where table_schema = 'scheduling' and table_name = 'appointments' and is_generated = 'NEVER'`).Scan(&columns))
	org.Exec(`insert into scheduling.appointments (`+columns+`) select `+columns+` from (select (jsonb_populate_record(a, jsonb_build_object('id', gen_random_uuid(), 'status', 'no_show', 'no_show_at', a.start_at,
		'start_at', a.start_at - interval '10 days', 'end_at', a.end_at - interval '10 days'))).* from scheduling.appointments a, generate_series(1, 5000) where a.id = $1) copies`, next)
	feed := schedulingtest.GetPage(t, url)
	require.Contains(t, feed, next)
	require.Equal(t, 5000, strings.Count(feed, "BEGIN:VEVENT"))
	org.Exec(`update scheduling.appointments set cancelled_at = cancelled_at - interval '8 days', updated_at = updated_at - interval '8 days' where id = $1`, cancelled)
	require.NotContains(t, schedulingtest.GetPage(t, url), cancelled)
}

// The address of a feed shows clients' names and numbers: it is for managers and for the
// professional.
func TestFeedAddressIsForManagersAndItsProfessional(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	user := org.OK(201, "POST", "/users", object{"name": "Eva", "email": "eva-" + org.Email, "role": "staff"})["id"]
	org.As("").OK(200, "POST", "/auth/reset-password", object{"token": org.ResetToken("eva-" + org.Email), "new_password": schedulingtest.Password})
	staff := org.As(org.As("").OK(200, "POST", "/auth/login", object{"email": "eva-" + org.Email, "password": schedulingtest.Password})["access_token"].(string))
	mine := org.OK(201, "POST", "/professionals", object{"name": "Eva", "user_id": user})["id"]
	require.NotNil(t, org.List("/professionals")[0]["calendar_feed_url"])
	for _, professional := range staff.List("/professionals") {
		require.Equal(t, professional["id"] == mine, professional["calendar_feed_url"] != nil, professional["name"])
	}
	require.Nil(t, staff.OK(200, "PUT", "/professionals/"+org.ProfessionalID, object{"bio": "x"})["calendar_feed_url"])
	require.Nil(t, staff.OK(200, "POST", "/professionals/"+org.ProfessionalID+"/calendar-feed/rotate", nil)["calendar_feed_url"])
}

// Who no longer works here no longer reads the calendar: its address ends with the user.
func TestFeedEndsWithItsUser(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	for name, end := range map[string]func(user string){
		"disabled": func(user string) { org.OK(200, "PUT", "/users/"+user, object{"is_active": false}) },
		"deleted":  func(user string) { org.OK(204, "DELETE", "/users/"+user, nil) },
		"replaced": func(string) { org.OK(200, "PUT", "/professionals/"+org.ProfessionalID, object{"user_id": nil}) },
	} {
		user := org.OK(201, "POST", "/users", object{"name": "Bia", "email": name + "@" + org.ID.String() + ".example.com", "role": "staff"})["id"].(string)
		org.OK(200, "PUT", "/professionals/"+org.ProfessionalID, object{"user_id": user})
		feed := org.List("/professionals")[0]["calendar_feed_url"].(string)
		read := func() int {
			response, err := hubtest.HTTPClient.Get(feed)
			require.NoError(t, err)
			defer response.Body.Close()
			return response.StatusCode
		}
		org.OK(200, "PUT", "/users/"+user, object{"name": "Bianca"})
		org.OK(200, "PUT", "/professionals/"+org.ProfessionalID, object{"name": "Ana", "user_id": user})
		require.Equal(t, http.StatusOK, read(), name)
		end(user)
		require.Equal(t, http.StatusNotFound, read(), name)
	}
}
