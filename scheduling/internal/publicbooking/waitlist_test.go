package publicbooking_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
	"integrationhub/scheduling/internal/store"
)

func TestWaitlist(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	guest := org.Guest()
	guest.Refused(403, "waitlist_disabled", "POST", org.PublicPath("/waitlist"), org.WaitlistBody("2026-03-02", "2026-03-03", "1@example.com"))
	org.OK(200, "PUT", "/organization/settings", object{"waitlist_enabled": true})
	var booked []string
	for i := range 6 {
		booked = append(booked, org.Book(time.Duration(i)*30*time.Minute))
	}
	guest.OK(201, "POST", org.PublicPath("/waitlist"), org.WaitlistBody("2026-03-03", "2026-03-10", "3@example.com"))
	first := guest.OK(201, "POST", org.PublicPath("/waitlist"), org.WaitlistBody("2026-02-20", "2026-03-10", "1@example.com"))
	require.Equal(t, first["id"], guest.OK(201, "POST", org.PublicPath("/waitlist"), org.WaitlistBody("2026-02-20", "2026-03-10", "1@example.com"))["id"], "the same request is the same entry")
	org.Hub.Clock.Advance(time.Second)
	guest.OK(201, "POST", org.PublicPath("/waitlist"), org.WaitlistBody("2026-03-02", "2026-03-02", "2@example.com"))
	for location, change := range map[string]object{
		"body.last_date": {"last_date": "2026-02-01"}, "body.first_date": {"first_date": "soon"}, "body.client_email": {"client_email": ""},
		"body.client_name": {"client_name": "x"}, "body.website": {"website": "x"},
	} {
		request := org.WaitlistBody("2026-03-02", "2026-03-03", "1@example.com")
		for name, value := range change {
			request[name] = value
		}
		guest.Invalid(location, "POST", org.PublicPath("/waitlist"), request)
	}
	guest.Invalid("body.last_date", "POST", org.PublicPath("/waitlist"), org.WaitlistBody("2026-03-02", "2026-06-03", "1@example.com"))

	org.Transition(200, "cancel", booked[2], object{})
	subjects, text := org.WaitForEmails("1@example.com", 1)
	require.Equal(t, "Abriu um horário: Cut", subjects[0])
	require.Contains(t, text, "segunda-feira, 2 de março de 2026 às 10:00")
	require.Contains(t, text, "/book/"+org.Slug)
	org.Transition(200, "reschedule", booked[3], object{"start_at": org.At(48 * time.Hour)})
	org.WaitForEmails("2@example.com", 1)
	org.Transition(200, "cancel", booked[4], object{})
	org.WaitForJobs()
	org.WaitForEmails("1@example.com", 1)
	org.WaitForEmails("3@example.com", 0)
}

// A run that is repeated, because the hub was killed after its offer was stored, offers the
// freed time to nobody else. The same time, freed again, is offered to the next client.
func TestFreedTimeIsOfferedOnce(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	org.OK(200, "PUT", "/organization/settings", object{"waitlist_enabled": true})
	guest := org.Guest()
	for _, email := range []string{"1@example.com", "2@example.com", "3@example.com"} {
		guest.OK(201, "POST", org.PublicPath("/waitlist"), org.WaitlistBody("2026-03-02", "2026-03-02", email))
		org.Hub.Clock.Advance(time.Second)
	}
	offered := func() int { return org.Count("scheduling.waitlist where offered_at is not null") }
	offer := func(id uuid.UUID) {
		payload := fmt.Sprintf(`{"id":%q,"org_id":%q,"professional_id":%q,"start":"2026-03-02T12:00:00Z"}`, id, org.ID, org.ProfessionalID)
		require.NoError(t, org.Hub.Job(store.JobWaitlist).Run(t.Context(), []byte(payload)))
	}
	freed := uuid.New()
	for range 2 {
		offer(freed)
		require.Equal(t, 1, offered())
	}
	org.WaitForEmails("1@example.com", 1)
	org.WaitForEmails("2@example.com", 0)
	offer(uuid.New())
	require.Equal(t, 2, offered())
	org.WaitForEmails("2@example.com", 1)
	offer(uuid.Nil) // a run of an earlier version
	require.Equal(t, 3, offered())
}

// A freed time is offered to whoever it fits, also behind many entries that it does not fit.
func TestWaitlistBehindEntriesThatDoNotFit(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	guest := org.Guest()
	org.OK(200, "PUT", "/organization/settings", object{"waitlist_enabled": true})
	long := org.OK(201, "POST", "/services", object{"name": "Day spa", "duration_minutes": 480, "price": 10})["id"].(string)
	org.OK(200, "PUT", "/professionals/"+org.ProfessionalID+"/services", object{"service_ids": []string{org.ServiceID, long}})
	booked := org.Book(0)
	unfit := org.WaitlistBody("2026-03-02", "2026-03-03", "long@example.com")
	unfit["service_id"] = long
	id := guest.OK(201, "POST", org.PublicPath("/waitlist"), unfit)["id"]
	org.Exec(`insert into scheduling.waitlist select (jsonb_populate_record(w, jsonb_build_object('id', gen_random_uuid()))).*
		from scheduling.waitlist w, generate_series(1, 120) where w.id = $1`, id)
	org.Hub.Clock.Advance(time.Second)
	guest.OK(201, "POST", org.PublicPath("/waitlist"), org.WaitlistBody("2026-03-02", "2026-03-02", "fits@example.com"))
	org.Transition(200, "cancel", booked, object{})
	org.WaitForJobs()
	org.WaitForEmails("fits@example.com", 1)
}
