package pages_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/scheduling/internal/schedulingtest"
)

// posted is what a request without a login got.
type posted struct {
	status     int
	retryAfter string
	page       string
}

// post sends a body and returns the answer; one that failed has no status.
func post(ctx context.Context, url, kind, body string) (got posted) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return got
	}
	request.Header.Set("Content-Type", kind)
	request.Header.Set("Accept-Language", "en")
	response, err := hubtest.HTTPClient.Transport.RoundTrip(request)
	if err != nil {
		return got
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return got
	}
	return posted{response.StatusCode, response.Header.Get("Retry-After"), string(text)}
}

// Requests without a login that take long leave the database connections to other
// organizations, on the pages as in the API. What comes on top waits, and is refused.
func TestPagesOfAnOrganizationAtOnce(t *testing.T) {
	t.Parallel()
	hub := schedulingtest.StartHub(t)
	busy, other := schedulingtest.RegisterOrganization(t, hub).MakeBookable(), schedulingtest.RegisterOrganization(t, hub).MakeBookable()
	booked := busy.Guest().OK(201, "POST", busy.PublicPath("/appointments"), busy.BookingBody(0))
	busy.WaitForJobs()
	token := booked["cancel_token"].(string)
	database, err := pgx.Connect(t.Context(), hub.DatabaseURL)
	require.NoError(t, err)
	t.Cleanup(func() { _ = database.Close(context.Background()) })
	for name, request := range map[string]struct{ url, kind, body string }{
		"page": {hub.URL + "/book/" + busy.Slug + "/cancel", "application/x-www-form-urlencoded", "token=" + token},
		"API":  {hub.Base + "/api/v1" + busy.PublicPath("/cancel"), "application/json", `{"cancel_token": "` + token + `"}`},
	} {
		lock, err := database.Begin(t.Context())
		require.NoError(t, err)
		_, err = lock.Exec(t.Context(), `select from scheduling.appointments where id = $1 for update`, booked["appointment_id"])
		require.NoError(t, err)
		answers := make(chan posted, 12)
		for range cap(answers) {
			go func() { answers <- post(t.Context(), request.url, request.kind, request.body) }()
		}
		for range cap(answers) - 3 {
			select {
			case refused := <-answers:
				require.Equal(t, 429, refused.status, "%s: %s", name, refused.page)
				require.Equal(t, "1", refused.retryAfter, name)
				if name == "page" {
					require.Contains(t, refused.page, "<h1")
				}
			case <-time.After(20 * time.Second):
				t.Fatal(name + ": twelve requests wait for the database")
			}
		}
		require.Contains(t, schedulingtest.GetPage(t, hub.URL+"/book/"+other.Slug), "Cut", name)
		other.Guest().OK(200, "GET", other.PublicPath("/services"), nil)
		require.NoError(t, lock.Rollback(t.Context()))
		for range 3 {
			served := <-answers
			require.Less(t, served.status, 400, "%s: %s", name, served.page)
			require.NotZero(t, served.status, name)
		}
	}
}
