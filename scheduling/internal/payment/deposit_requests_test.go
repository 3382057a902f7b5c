package payment_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/scheduling/internal/schedulingtest"
)

// patient is a provider that makes charges, and answers once it is let: each charge is
// announced first.
func patient(t testing.TB) (org *schedulingtest.Bookable, asked chan string, let chan struct{}) {
	t.Helper()
	asked, let = make(chan string, 100), make(chan struct{})
	var n atomic.Int64
	org = mercadoPago(t, func(w http.ResponseWriter, r *http.Request, body string) {
		var order map[string]any
		if r.Method != http.MethodPost || json.Unmarshal([]byte(body), &order) != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		asked <- order["external_reference"].(string)
		<-let
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(object{
			"id": 1000 + n.Add(1), "status": "pending", "currency_id": "BRL", "transaction_amount": order["transaction_amount"], "payment_method_id": "pix",
			"external_reference": order["external_reference"], "date_of_expiration": order["date_of_expiration"],
			"point_of_interaction": object{"transaction_data": object{"qr_code": "00020126580014br.gov.bcb.pix"}},
		})
	})
	org.OK(200, "PUT", "/services/"+org.ServiceID, object{"requires_deposit": true, "deposit_amount": 20})
	return org, asked, let
}

// onceAsked does something several times: the others while the provider is asked for the
// first, for as long as some other requests take.
func onceAsked(org *schedulingtest.Bookable, asked chan string, let chan struct{}, do func() answer) []answer {
	org.T.Helper()
	first := make(chan answer, 1)
	go func() { first <- do() }()
	select {
	case <-asked:
	case got := <-first:
		require.Fail(org.T, "nobody asked the provider", "%d %s", got.Status, got.Text)
	}
	requests := make([]func() answer, 7)
	for i := range requests[1:] {
		requests[i] = do
	}
	requests[6] = func() answer {
		for range 30 {
			_, _ = org.Try("GET", "/services", nil)
		}
		close(let)
		return <-first
	}
	return moduletest.Concurrently(requests...)
}

// A form with a deposit that is sent twice is one booking, also while the provider is
// asked for the charge, and both sendings end where it is shown.
func TestRepeatedDepositBookingBooksOnce(t *testing.T) {
	t.Parallel()
	for _, professional := range []string{"", "any"} {
		t.Run(professional, func(t *testing.T) {
			t.Parallel()
			org, asked, let := patient(t)
			org.AddProfessional("Eva", org.ServiceID)
			form := url.Values{
				"service": {org.ServiceID}, "professional": {org.ProfessionalID}, "start": {org.At(0)}, "key": {uuid.NewString()},
				"name": {"Gil Reis"}, "phone": {"11 98765-0000"}, "email": {"gil@example.com"},
			}
			if professional != "" {
				form.Set("professional", professional)
			}
			answers := onceAsked(org, asked, let, func() answer { return org.SubmitBookingForm(form) })
			for _, answer := range answers {
				require.Equal(t, 303, answer.Status, answer.Text)
				require.Equal(t, answers[0].Text, answer.Text)
			}
			require.Len(t, org.List("/appointments"), 1)
			require.Empty(t, asked, "one charge was asked for")
			require.Zero(t, org.Count("scheduling.holds where org_id = $1", org.ID))
		})
	}
}

// A connected product books with the deposit, as the pages do.
func TestConnectedProductBooksWithDeposit(t *testing.T) {
	t.Parallel()
	org, asked, let := patient(t)
	org.OK(200, "PUT", "/organization/settings", object{"auto_confirm": true})
	key := org.As(org.Hub.CreateKey(org.ID, hub.Live, "appointment.book"))
	request := object{"phone": "+5511987654321", "email": "caio@example.com", "service_id": org.ServiceID, "start_at": org.At(0), "source_id": "t-1"}
	var ids []any
	for _, entry := range onceAsked(org, asked, let, func() answer {
		got, _ := key.Try("POST", "/integrations/action/book", request)
		return got
	}) {
		require.Equal(t, 201, entry.Status, entry.Text)
		require.Equal(t, "scheduled", entry.Body["status"], "auto_confirm waits for the deposit")
		require.Equal(t, "00020126580014br.gov.bcb.pix", entry.Body["deposit"].(object)["pix_copy_paste"])
		ids = append(ids, entry.Body["appointment_id"])
	}
	require.Len(t, org.List("/appointments"), 1)
	require.Equal(t, "pending", org.Appointment(ids[0].(string))["deposit_status"])
	require.Equal(t, ids[0], ids[6])
	require.Empty(t, asked)

	request["start_at"], request["source_id"] = org.At(time.Hour), "t-2"
	delete(request, "email")
	key.InvalidWith("payer_email_required", "body.email", "POST", "/integrations/action/book", request)
	request["email"] = "caio@example.com"
	require.NotNil(t, org.OK(201, "POST", "/integrations/action/book", request)["deposit"], "nor do users who ask for it")
}

// Where nothing is to be paid, or nothing can be, nobody is asked for it.
func TestUncollectableDeposits(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	guest := org.Guest()
	eva := org.AddProfessional("Eva", org.ServiceID)
	free := object{"service_ids": []string{org.ServiceID}, "overrides": object{org.ServiceID: object{"custom_price": 0}}}
	org.Call("PUT", "/professionals/"+org.ProfessionalID+"/services", free)
	created := guest.OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	require.Nil(t, created["deposit"], "nothing of 0 is due")
	require.Equal(t, "none", org.Appointment(created["appointment_id"].(string))["deposit_status"])

	// With anybody it depends on whom it comes to: Ana is booked already, so Eva is next.
	anybody := org.BookingBody(time.Hour)
	delete(anybody, "professional_id")
	for _, test := range []struct {
		who     string
		deposit bool
	}{{"Eva", true}, {"Ana", false}} {
		created := guest.OK(201, "POST", org.PublicPath("/appointments"), anybody)
		require.Equal(t, test.who, created["professional"])
		require.Equal(t, test.deposit, created["deposit"] != nil, test.who)
	}
	require.Zero(t, org.Count("scheduling.holds where org_id = $1", org.ID))

	org.OK(200, "PUT", "/organization", object{"currency": "USD"})
	request := org.BookingBody(2 * time.Hour)
	request["professional_id"] = eva
	guest.Refused(409, "currency_not_supported", "POST", org.PublicPath("/appointments"), request)
	form := url.Values{"service": {org.ServiceID}, "professional": {eva}, "start": {org.At(2 * time.Hour)}, "key": {uuid.NewString()}, "name": {"Gil Reis"}, "phone": {"11 98765-0000"}}
	require.Equal(t, 409, org.SubmitBookingForm(form).Status)
	require.Len(t, org.List("/appointments"), 3, "a refused booking is none")
}

// What was typed stays where the provider needs more of the client, or does not answer.
func TestPageAfterFailedDepositCharge(t *testing.T) {
	t.Parallel()
	org := mercadoPago(t, func(w http.ResponseWriter, _ *http.Request, _ string) { w.WriteHeader(http.StatusInternalServerError) })
	org.OK(200, "PUT", "/organization", object{"locale": "en"})
	mails := func() bool {
		page := schedulingtest.GetPage(t, org.Hub.URL+"/book/"+org.Slug+"/details?"+url.Values{"service": {org.ServiceID}, "professional": {org.ProfessionalID}, "start": {org.At(0)}}.Encode())
		return strings.Contains(page, `maxlength="254" required`)
	}
	require.False(t, mails())
	org.OK(200, "PUT", "/services/"+org.ServiceID, object{"requires_deposit": true, "deposit_amount": 20})
	require.True(t, mails(), "the form says what the provider needs")
	form := url.Values{
		"service": {org.ServiceID}, "professional": {org.ProfessionalID}, "start": {org.At(0)}, "key": {uuid.NewString()}, "name": {"Gil Reis"}, "phone": {"11 98765-0000"},
	}
	kept := func(status int, says string) {
		t.Helper()
		got := org.SubmitBookingForm(form)
		require.Equal(t, status, got.Status, got.Text)
		for _, text := range []string{says, `value="Gil Reis"`, `value="11 98765-0000"`, form.Get("key")} {
			require.Contains(t, got.Text, text)
		}
	}
	kept(422, `id="email-error"`)
	form.Set("email", "gil@example.com")
	kept(503, "nothing was booked")
	org.OK(200, "PUT", "/organization", object{"currency": "USD"})
	kept(409, "cannot be paid online")
	require.Empty(t, org.List("/appointments"))
}
