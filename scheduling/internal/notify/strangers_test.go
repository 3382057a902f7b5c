package notify_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

// bookedFor books the i-th time of the guest calendar for an address and returns the appointment's id.
func bookedFor(org *schedulingtest.Bookable, i int, email string) string {
	org.T.Helper()
	request := org.BookingBody(time.Duration(i/6)*24*time.Hour + time.Duration(i%6)*30*time.Minute)
	request["client_email"], request["client_phone"] = email, fmt.Sprintf("+55119111%05d", i)
	return org.Guest().OK(201, "POST", org.PublicPath("/appointments"), request)["appointment_id"].(string)
}

// emailsTo counts the e-mails to an address with any case and tag.
func emailsTo(org *schedulingtest.Bookable, name string) int {
	org.T.Helper()
	org.WaitForJobs()
	return org.Count("hub.mails where recipient ilike $1", name+"%@example.com")
}

// Whoever enters a stranger's address again and again fills no mailbox: the bookings are made, and
// staff see which clients were not written to. What staff do is mailed.
func TestBookingEmailsToAnAddressAreLimited(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	org.OK(200, "PUT", "/organization/settings", object{"notify_emails": []string{"desk@example.com"}, "reminders_enabled": true, "reminder_offsets_minutes": []int{60}, "reminder_channels": []string{"email"}})
	var ids []string
	for i := range 12 {
		ids = append(ids, bookedFor(org, i, []string{"vic@example.com", "Vic@Example.com", "vic+tag@example.com"}[i%3]))
		org.WaitForJobs()
	}
	require.Equal(t, 10, emailsTo(org, "vic"))
	bookedFor(org, 12, "ada@example.com")
	require.Equal(t, 1, emailsTo(org, "ada"), "another address")
	require.Equal(t, 13, emailsTo(org, "desk"))
	withheld := 0
	for _, item := range org.List("/appointments?limit=100") {
		if item["emails_withheld"] == true {
			withheld++
			require.Contains(t, ids[10:], item["id"])
		}
	}
	require.Equal(t, 2, withheld)
	for i, text := range org.Hub.Emails("desk@example.com")[:3] { // the newest first
		require.Equal(t, i > 0, strings.Contains(text, "não foi avisado"), text)
	}

	org.Transition(200, "confirm", ids[11], nil)
	require.Equal(t, 11, emailsTo(org, "vic"), "staff wrote")
	require.Equal(t, false, org.Appointment(ids[11])["emails_withheld"])
	require.Equal(t, true, org.Appointment(ids[10])["emails_withheld"])

	org.AdvanceClock(schedulingtest.Monday.Add(48 * time.Hour).Sub(org.Hub.Clock.Now())) // all reminders of Monday and Tuesday are due
	require.Zero(t, org.Count("scheduling.booking_emails where sent_at > $1", org.Hub.Clock.Now().Add(-24*time.Hour)))
	bookedFor(org, 13, "vic@example.com")
	require.Equal(t, 12, emailsTo(org, "vic"), "a day is over")
	org.RunJob("cleanup")
	require.Equal(t, 1, org.Count("scheduling.booking_emails"))
	require.Zero(t, org.Count("scheduling.booking_emails where position('vic' in encode(recipient_hash, 'escape')) > 0"))
}

// A booking of which the client was not written to is not reminded of, until staff vouch for it.
func TestRemindersOfWithheldEmails(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	org.OK(200, "PUT", "/organization/settings", object{"reminders_enabled": true, "reminder_offsets_minutes": []int{60}, "reminder_channels": []string{"email"}})
	var ids []string
	for i := range 13 {
		ids = append(ids, bookedFor(org, i, "vic@example.com"))
		org.WaitForJobs()
	}
	require.Equal(t, 10, emailsTo(org, "vic"))
	org.Transition(200, "confirm", ids[12], nil)
	require.Equal(t, 11, emailsTo(org, "vic"))
	for i, start := range []time.Duration{24*time.Hour + 2*time.Hour, 24*time.Hour + 150*time.Minute, 48 * time.Hour} { // of the bookings 10, 11 and 12
		org.AdvanceClock(schedulingtest.Monday.Add(start - time.Hour).Sub(org.Hub.Clock.Now()))
		org.RunJob("reminders")
		require.Equal(t, i == 2, org.Count("scheduling.reminders where appointment_id = $1 and sent_at is not null", ids[10+i]) == 1, i)
	}
}

// The organizations of a hub have a figure together: many booking pages fill no mailbox either.
func TestBookingEmailsToAnAddressAreLimitedInTheHub(t *testing.T) {
	t.Parallel()
	first := schedulingtest.NewBookableAlone(t)
	orgs := []*schedulingtest.Bookable{first}
	for range 3 {
		orgs = append(orgs, schedulingtest.RegisterOrganization(t, first.Hub).MakeBookable())
	}
	for _, org := range orgs {
		for i := range 10 {
			bookedFor(org, i, "vic@example.com")
		}
	}
	require.Equal(t, 30, emailsTo(first, "vic"))
	bookedFor(orgs[3], 12, "ada@example.com")
	require.Equal(t, 1, emailsTo(first, "ada"))
	require.Equal(t, 10, first.Count("scheduling.appointments where emails_withheld"))
}

// Times that become free are offered as often, and a waiting client who had too many e-mails keeps
// the entry.
func TestWaitlistEmailsToAnAddressAreLimited(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	org.OK(200, "PUT", "/organization/settings", object{"waitlist_enabled": true})
	id := org.Book(0)
	for i := range 10 {
		bookedFor(org, i+6, "vic@example.com")
	}
	require.Equal(t, 10, emailsTo(org, "vic"))
	waiting := org.WaitlistBody("2026-03-02", "2026-03-02", "vic@example.com")
	waiting["client_phone"] = "+5511911112299"
	org.Guest().OK(201, "POST", org.PublicPath("/waitlist"), waiting)
	org.Guest().OK(201, "POST", org.PublicPath("/waitlist"), org.WaitlistBody("2026-03-02", "2026-03-02", "ada@example.com"))
	org.Transition(200, "cancel", id, object{})
	require.Equal(t, 10, emailsTo(org, "vic"))
	require.Equal(t, 1, emailsTo(org, "ada"), "the next one is offered the time")
	require.Equal(t, 1, org.Count("scheduling.waitlist where offered_at is null and contact_email = 'vic@example.com'"))
}
