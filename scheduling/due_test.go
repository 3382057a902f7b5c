package scheduling_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// patient is a provider that makes charges, and answers once it is let: each charge is
// announced first.
func patient(t testing.TB) (p *plan, asked chan string, let chan struct{}) {
	t.Helper()
	asked, let = make(chan string, 100), make(chan struct{})
	var n atomic.Int64
	p = mercadoPago(t, func(w http.ResponseWriter, r *http.Request, body string) {
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
	p.ok(200, "PUT", "/services/"+p.service, object{"requires_deposit": true, "deposit_amount": 20})
	return p, asked, let
}

// sent posts the form of the page as a browser without JavaScript does, and gives the
// answer with where it leads as its text.
func (p *plan) sent(form url.Values) answer {
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.hub.URL+"/book/"+p.slug+"/details", strings.NewReader(form.Encode()))
	if err != nil {
		return answer{text: err.Error()}
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return answer{text: err.Error()}
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err != nil {
		return answer{text: err.Error()}
	}
	return answer{status: res.StatusCode, text: res.Header.Get("Location") + string(page)}
}

// onceAsked does something several times: the others while the provider is asked for the
// first, for as long as some other requests take.
func (p *plan) onceAsked(asked chan string, let chan struct{}, do func() answer) []answer {
	p.t.Helper()
	first := make(chan answer, 1)
	go func() { first <- do() }()
	select {
	case <-asked:
	case got := <-first:
		require.Fail(p.t, "nobody asked the provider", "%d %s", got.status, got.text)
	}
	requests := make([]func() answer, 7)
	for i := range requests[1:] {
		requests[i] = do
	}
	requests[6] = func() answer {
		for range 30 {
			_, _ = p.try("GET", "/services", nil)
		}
		close(let)
		return <-first
	}
	return atOnce(requests...)
}

// A form with a deposit that is sent twice is one booking, also while the provider is
// asked for the charge, and both sendings end where it is shown.
func TestADepositSentTwiceIsOneBooking(t *testing.T) {
	t.Parallel()
	for _, professional := range []string{"", "any"} {
		t.Run(professional, func(t *testing.T) {
			t.Parallel()
			p, asked, let := patient(t)
			p.studio.professional("Eva", p.service)
			form := url.Values{
				"service": {p.service}, "professional": {p.professional}, "start": {p.at(0)}, "key": {uuid.NewString()},
				"name": {"Gil Reis"}, "phone": {"11 98765-0000"}, "email": {"gil@example.com"},
			}
			if professional != "" {
				form.Set("professional", professional)
			}
			answers := p.onceAsked(asked, let, func() answer { return p.sent(form) })
			for _, one := range answers {
				require.Equal(t, 303, one.status, one.text)
				require.Equal(t, answers[0].text, one.text)
			}
			require.Len(t, p.list("/appointments"), 1)
			require.Empty(t, asked, "one charge was asked for")
			require.Zero(t, p.count("scheduling.holds where org_id = $1", p.org))
		})
	}
}

// A connected product books with the deposit, as the pages do.
func TestAConnectedProductBooksWithTheDeposit(t *testing.T) {
	t.Parallel()
	p, asked, let := patient(t)
	p.ok(200, "PUT", "/organization/settings", object{"auto_confirm": true})
	key := p.as(p.hub.CreateKey(p.org, hub.Live, "appointment.book"))
	wish := object{"phone": "+5511987654321", "email": "caio@example.com", "service_id": p.service, "start_at": p.at(0), "source_id": "t-1"}
	var ids []any
	for _, one := range p.onceAsked(asked, let, func() answer {
		got, _ := key.try("POST", "/integrations/action/book", wish)
		return got
	}) {
		require.Equal(t, 201, one.status, one.text)
		require.Equal(t, "scheduled", one.body["status"], "auto_confirm waits for the deposit")
		require.Equal(t, "00020126580014br.gov.bcb.pix", one.body["deposit"].(object)["pix_copy_paste"])
		ids = append(ids, one.body["appointment_id"])
	}
	require.Len(t, p.list("/appointments"), 1)
	require.Equal(t, "pending", p.appointment(ids[0].(string))["deposit_status"])
	require.Equal(t, ids[0], ids[6])
	require.Empty(t, asked)

	wish["start_at"], wish["source_id"] = p.at(time.Hour), "t-2"
	delete(wish, "email")
	key.invalid2("payer_email_required", "body.email", "POST", "/integrations/action/book", wish)
	wish["email"] = "caio@example.com"
	require.NotNil(t, p.ok(201, "POST", "/integrations/action/book", wish)["deposit"], "nor do users who ask for it")
}

// Where nothing is to be paid, or nothing can be, nobody is asked for it.
func TestDepositsThatCannotBe(t *testing.T) {
	t.Parallel()
	p := deposits(t)
	g := p.guest()
	eva := p.studio.professional("Eva", p.service)
	free := object{"service_ids": []string{p.service}, "overrides": object{p.service: object{"custom_price": 0}}}
	p.call("PUT", "/professionals/"+p.professional+"/services", free)
	made := g.ok(201, "POST", p.public("/appointments"), p.wish(0))
	require.Nil(t, made["deposit"], "nothing of 0 is due")
	require.Equal(t, "none", p.appointment(made["appointment_id"].(string))["deposit_status"])

	// With anybody it depends on whom it comes to: Ana is booked already, so Eva is next.
	anybody := p.wish(time.Hour)
	delete(anybody, "professional_id")
	for _, one := range []struct {
		who     string
		deposit bool
	}{{"Eva", true}, {"Ana", false}} {
		made := g.ok(201, "POST", p.public("/appointments"), anybody)
		require.Equal(t, one.who, made["professional"])
		require.Equal(t, one.deposit, made["deposit"] != nil, one.who)
	}
	require.Zero(t, p.count("scheduling.holds where org_id = $1", p.org))

	p.ok(200, "PUT", "/organization", object{"currency": "USD"})
	wish := p.wish(2 * time.Hour)
	wish["professional_id"] = eva
	g.refused(409, "currency_not_supported", "POST", p.public("/appointments"), wish)
	form := url.Values{"service": {p.service}, "professional": {eva}, "start": {p.at(2 * time.Hour)}, "key": {uuid.NewString()}, "name": {"Gil Reis"}, "phone": {"11 98765-0000"}}
	require.Equal(t, 409, p.sent(form).status)
	require.Len(t, p.list("/appointments"), 3, "a refused booking is none")
}

// What was typed stays where the provider needs more of the client, or does not answer.
func TestThePageOfADepositThatFails(t *testing.T) {
	t.Parallel()
	p := mercadoPago(t, func(w http.ResponseWriter, _ *http.Request, _ string) { w.WriteHeader(http.StatusInternalServerError) })
	p.ok(200, "PUT", "/organization", object{"locale": "en"})
	mails := func() bool {
		page := get(t, p.hub.URL+"/book/"+p.slug+"/details?"+url.Values{"service": {p.service}, "professional": {p.professional}, "start": {p.at(0)}}.Encode())
		return strings.Contains(page, `maxlength="254" required`)
	}
	require.False(t, mails())
	p.ok(200, "PUT", "/services/"+p.service, object{"requires_deposit": true, "deposit_amount": 20})
	require.True(t, mails(), "the form says what the provider needs")
	form := url.Values{
		"service": {p.service}, "professional": {p.professional}, "start": {p.at(0)}, "key": {uuid.NewString()}, "name": {"Gil Reis"}, "phone": {"11 98765-0000"},
	}
	kept := func(status int, says string) {
		t.Helper()
		got := p.sent(form)
		require.Equal(t, status, got.status, got.text)
		for _, text := range []string{says, `value="Gil Reis"`, `value="11 98765-0000"`, form.Get("key")} {
			require.Contains(t, got.text, text)
		}
	}
	kept(422, `id="email-error"`)
	form.Set("email", "gil@example.com")
	kept(503, "nothing was booked")
	p.ok(200, "PUT", "/organization", object{"currency": "USD"})
	kept(409, "cannot be paid online")
	require.Empty(t, p.list("/appointments"))
}
