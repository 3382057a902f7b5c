package scheduling_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

// rows are the endpoints of docs/interfaces/scheduling.md with their authentication; "key" is
// the webhook's qualifier: it is signed by a connected product.
const rows = `
POST /api/v1/auth/register No
POST /api/v1/auth/login No
POST /api/v1/auth/refresh No
POST /api/v1/auth/forgot-password No
POST /api/v1/auth/reset-password No
GET /api/v1/auth/me Yes
GET /api/v1/organization Yes
PUT /api/v1/organization Yes
PUT /api/v1/organization/settings Yes
POST /api/v1/organization/logo Yes
GET /api/v1/services Yes
POST /api/v1/services Yes
PUT /api/v1/services/{id} Yes
DELETE /api/v1/services/{id} Yes
PUT /api/v1/services/reorder Yes
GET /api/v1/professionals Yes
POST /api/v1/professionals Yes
PUT /api/v1/professionals/{id} Yes
DELETE /api/v1/professionals/{id} Yes
GET /api/v1/professionals/{id}/services Yes
PUT /api/v1/professionals/{id}/services Yes
GET /api/v1/schedule-rules Yes
POST /api/v1/schedule-rules Yes
PUT /api/v1/schedule-rules/{id} Yes
DELETE /api/v1/schedule-rules/{id} Yes
POST /api/v1/schedule-rules/copy/{fromId}/{toId} Yes
GET /api/v1/schedule-exceptions Yes
POST /api/v1/schedule-exceptions Yes
PUT /api/v1/schedule-exceptions/{id} Yes
DELETE /api/v1/schedule-exceptions/{id} Yes
GET /api/v1/availability No
GET /api/v1/appointments Yes
GET /api/v1/appointments/{id} Yes
POST /api/v1/appointments Yes
PUT /api/v1/appointments/{id} Yes
POST /api/v1/appointments/{id}/confirm Yes
POST /api/v1/appointments/{id}/cancel Yes
POST /api/v1/appointments/{id}/complete Yes
POST /api/v1/appointments/{id}/noshow Yes
POST /api/v1/appointments/{id}/reschedule Yes
GET /api/v1/clients Yes
GET /api/v1/clients/{id} Yes
POST /api/v1/clients Yes
PUT /api/v1/clients/{id} Yes
GET /api/v1/clients/{id}/appointments Yes
GET /api/v1/clients/{id}/payments Yes
GET /api/v1/payments Yes
POST /api/v1/payments Yes
POST /api/v1/payments/pix Yes
POST /api/v1/payments/webhook/{provider} No
GET /api/v1/reports/dashboard Yes
GET /api/v1/reports/occupancy Yes
GET /api/v1/reports/revenue Yes
GET /api/v1/reports/noshow Yes
GET /api/v1/reports/clients/inactive Yes
GET /api/v1/reports/services/popular Yes
GET /api/v1/public/book/{slug} No
GET /api/v1/public/book/{slug}/services No
GET /api/v1/public/book/{slug}/professionals No
GET /api/v1/public/book/{slug}/availability No
POST /api/v1/public/book/{slug}/appointments No
POST /api/v1/public/book/{slug}/cancel No
POST /api/v1/integrations/connect Yes
GET /api/v1/integrations/status Yes
POST /api/v1/integrations/webhook key
GET /api/v1/integrations/search/clients Yes
GET /api/v1/integrations/search/appointments Yes
POST /api/v1/integrations/action/book Yes
GET /api/v1/loyalty/config Yes
PUT /api/v1/loyalty/config Yes
GET /api/v1/loyalty/clients/{id} Yes
GET /health No`

// Every row is served, and asks for a token where the document says so.
func TestEveryDocumentedEndpoint(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewOrganization(t)
	list := strings.Split(strings.TrimSpace(rows), "\n")
	require.Len(t, list, 72)
	var have []string
	for _, op := range org.Operations() {
		have = append(have, op.Method+" "+op.Path)
	}
	for _, row := range list {
		words := strings.Fields(row)
		method, path := words[0], words[1]
		require.Contains(t, have, method+" "+path)
		at := org.Hub.Base + strings.NewReplacer("{slug}", org.Slug, "{provider}", "sandbox").Replace(path)
		got := org.As("").Call(method, schedulingtest.PathParameter.ReplaceAllString(at, uuid.NewString()), nil)
		switch words[2] {
		case "Yes":
			require.Equal(t, 401, got.Status, "%s without a token: %s", row, got.Text)
			require.Equal(t, "unauthorized", got.Body["code"], row)
			signedIn := org.Call(method, schedulingtest.PathParameter.ReplaceAllString(at, uuid.NewString()), nil)
			require.NotContains(t, []int{401, 403, 405}, signedIn.Status, "%s with a token: %s", row, signedIn.Text)
			require.Less(t, signedIn.Status, 500, row)
		case "key":
			require.Equal(t, 401, got.Status, row)
		case "No":
			require.NotContains(t, []int{401, 403, 405}, got.Status, "%s: %s", row, got.Text)
			require.Less(t, got.Status, 500, row)
		}
	}
}

// The table of errors, with the document's own sentences.
func TestDocumentedErrors(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewOrganizationAlone(t)
	someone := org.As("")
	draft := func(name string, value any) object {
		d := object{"org_name": "Other", "org_slug": "other-" + org.Slug, "name": "Ana", "email": "ana-" + org.Email, "password": schedulingtest.Password}
		if d[name] = value; value == nil {
			delete(d, name)
		}
		return d
	}
	says := func(status int, sentence, path string, body any) {
		t.Helper()
		got := someone.Call("POST", path, body)
		require.Equal(t, status, got.Status, got.Text)
		require.Equal(t, sentence, got.Body["detail"])
	}
	says(400, "Email already registered", "/auth/register", draft("email", org.Email))
	says(400, "Organization slug already taken", "/auth/register", draft("org_slug", org.Slug))
	someone.Invalid("body.email", "POST", "/auth/register", draft("email", "not-an-address"))
	someone.Invalid("body.org_name", "POST", "/auth/register", draft("org_name", nil))
	says(401, "Invalid credentials", "/auth/login", object{"email": org.Email, "password": "another one"})
	says(401, "Invalid credentials", "/auth/login", object{"email": "nobody@example.com", "password": schedulingtest.Password})
	says(401, "Invalid refresh token", "/auth/refresh", object{"refresh_token": "nonsense"})
	says(401, "Invalid refresh token", "/auth/refresh", object{"refresh_token": org.Token})
	require.Equal(t, 401, someone.Call("GET", "/auth/me", nil).Status)
	org.Hub.Clock.Advance(31 * time.Minute)
	require.Equal(t, 401, org.Call("GET", "/auth/me", nil).Status, "expired")
}

// The document from its first page to its last, as an organization lives it.
func TestDocumentedFlow(t *testing.T) {
	t.Parallel()
	h := schedulingtest.StartHub(t)

	// An organization registers together with its owner.
	visitor := schedulingtest.NewVisitor(t, h)
	registered := visitor.OK(201, "POST", "/auth/register", object{
		"org_name": "Barbearia Central", "org_slug": "barbearia-central", "name": "Bia Souza", "email": "bia@example.com", "password": "uma senha longa", "phone": "+5511912345678",
	})
	login := visitor.OK(200, "POST", "/auth/login", object{"email": "bia@example.com", "password": "uma senha longa"})
	fresh := visitor.OK(200, "POST", "/auth/refresh", object{"refresh_token": login["refresh_token"]})
	owner := visitor.As(fresh["access_token"].(string))
	me := owner.OK(200, "GET", "/auth/me", nil)
	require.Equal(t, "owner", me["role"])
	require.Equal(t, true, me["is_active"])
	org := owner.OK(200, "GET", "/organization", nil)
	require.Equal(t, "free", org["plan"])
	require.Equal(t, me["org_id"], org["id"])
	require.NotEmpty(t, registered["refresh_token"])
	for name, value := range owner.OK(200, "GET", "/reports/dashboard", nil) {
		if number, ok := value.(float64); ok {
			require.Zero(t, number, "a new organization starts with zero KPIs: %s", name)
		}
	}

	// It says what it offers, who does it, and when.
	service := owner.OK(201, "POST", "/services", object{
		"name": "Corte", "description": "Corte e barba", "duration_minutes": 60, "price": 120.5, "color": "#1A2B3C", "requires_deposit": false, "deposit_amount": nil,
	})
	require.Nil(t, service["deposit_amount"])
	beard := owner.OK(201, "POST", "/services", object{"name": "Barba", "duration_minutes": 30, "price": 40})
	owner.OK(200, "PUT", "/services/reorder", object{"service_ids": []any{beard["id"], service["id"]}})
	require.Equal(t, []string{"Barba", "Corte"}, schedulingtest.NamesOf(owner.List("/services")))
	professional := owner.OK(201, "POST", "/professionals", object{"name": "Ana"})["id"].(string)
	owner.Call("PUT", "/professionals/"+professional+"/services", object{
		"service_ids": []any{service["id"], beard["id"]}, "overrides": object{service["id"].(string): object{"custom_duration": 45, "custom_price": 100.0}},
	})
	for day := range 5 {
		owner.OK(201, "POST", "/schedule-rules", object{
			"professional_id": professional, "day_of_week": day, "start_time": "09:00", "end_time": "12:00", "break_start": "10:30", "break_end": "11:00", "is_active": true,
		})
	}
	owner.OK(201, "POST", "/schedule-exceptions", object{
		"professional_id": professional, "date": "2026-03-03", "start_time": nil, "end_time": nil, "reason": "Férias", "exception_type": "block",
	})
	require.Len(t, owner.List("/schedule-exceptions?month=2026-03"), 1)

	// Free times: nobody needs to be logged in.
	free := func(date string) object {
		return visitor.OK(200, "GET", "/availability?professional_id="+professional+"&service_id="+service["id"].(string)+"&date="+date, nil)
	}
	monday := free("2026-03-02")
	require.Equal(t, "2026-03-02", monday["date"])
	require.Equal(t, "Ana", monday["professional"])
	require.Equal(t, "Corte", monday["service"])
	require.EqualValues(t, 45, monday["duration"])
	require.Equal(t, []string{"09:00", "09:45", "11:00"}, schedulingtest.SlotTimesOf(monday), "the break is left out")
	require.Empty(t, schedulingtest.SlotTimesOf(free("2026-03-03")), "a day off")

	// A client, an appointment, confirmed and completed, and a payment.
	client := owner.OK(201, "POST", "/clients", object{
		"name": "Caio Prado", "phone": "+5511987654321", "email": "caio@example.com", "cpf": "111.444.777-35", "birth_date": "1990-05-01", "notes": "gosta de chá",
	})["id"].(string)
	appointment := owner.OK(201, "POST", "/appointments", object{
		"client_id": client, "professional_id": professional, "service_id": service["id"], "start_at": "2026-03-02T09:00:00-03:00", "notes": "primeira vez",
	})
	require.Equal(t, "scheduled", appointment["status"])
	id := appointment["id"].(string)
	require.Len(t, owner.List("/appointments?date=2026-03-02&status=scheduled&professional_id="+professional+"&client_id="+client), 1)
	require.Equal(t, "confirmed", owner.OK(200, "POST", "/appointments/"+id+"/confirm", nil)["status"])
	require.Equal(t, "completed", owner.OK(200, "POST", "/appointments/"+id+"/complete", nil)["status"])
	owner.OK(201, "POST", "/payments", object{"appointment_id": id, "client_id": client, "amount": 100.0, "method": "pix", "description": "Corte"})
	totals := owner.OK(200, "GET", "/clients/"+client, nil)
	require.EqualValues(t, 1, totals["total_appointments"], "one completed appointment")
	require.EqualValues(t, 100, totals["total_spent"], "and that payment")
	require.EqualValues(t, 1, owner.OK(200, "GET", "/payments?month=2026-02&status=paid&client_id="+client, nil)["total"])
	require.EqualValues(t, 1, owner.OK(200, "GET", "/clients/"+client+"/appointments", nil)["total"])
	require.EqualValues(t, 1, owner.OK(200, "GET", "/clients/"+client+"/payments", nil)["total"])
	require.EqualValues(t, 100, owner.OK(200, "GET", "/reports/dashboard", nil)["revenue_month"])

	// Public booking, addressed by the slug; and the end client cancels with the token.
	public := "/public/book/barbearia-central"
	page := visitor.OK(200, "GET", public, nil)
	require.Equal(t, "Barbearia Central", page["name"])
	require.Equal(t, "America/Sao_Paulo", page["timezone"])
	require.Equal(t, "BRL", page["currency"])
	require.Len(t, visitor.List(public+"/services"), 2)
	require.Equal(t, []string{"Ana"}, schedulingtest.NamesOf(visitor.List(public+"/professionals?service_id="+service["id"].(string))))
	wednesday := visitor.OK(200, "GET", public+"/availability?professional_id="+professional+"&service_id="+service["id"].(string)+"&date=2026-03-04", nil)
	booked := visitor.OK(201, "POST", public+"/appointments", object{
		"service_id": service["id"], "professional_id": professional, "start_at": wednesday["slots"].([]any)[0].(object)["start_at"],
		"client_name": "Gil Moura", "client_phone": "+5511900000001", "client_email": "gil@example.com", "notes": "",
	})
	require.Equal(t, "web", owner.OK(200, "GET", "/appointments/"+booked["appointment_id"].(string), nil)["source"])
	require.Equal(t, h.URL+"/book/barbearia-central/cancel?token="+booked["cancel_token"].(string), booked["cancel_url"])
	require.Len(t, schedulingtest.SlotTimesOf(free("2026-03-04")), 2)
	visitor.OK(200, "POST", public+"/cancel", object{"cancel_token": booked["cancel_token"]})
	require.Len(t, schedulingtest.SlotTimesOf(free("2026-03-04")), 3, "the time is free again")

	// All changes were published, in their own transactions.
	var entry []string
	for _, e := range h.Events(uuid.MustParse(org["id"].(string))) {
		entry = append(entry, e.Type)
	}
	require.Equal(t, []string{"appointment.created", "appointment.created", "appointment.cancelled"}, entry)
}

func TestChargesWithoutAProvider(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t, "HUB_PAYMENT_PROVIDER=none")
	id := org.Book(0)
	org.Refused(409, "provider_not_configured", "POST", "/payments/pix", object{"appointment_id": id})
	org.Invalid("body.amount", "POST", "/payments/pix", object{"client_id": org.ClientID})
	org.Refused(422, "validation_failed", "POST", "/payments/pix", object{"appointment_id": id, "expires_in_minutes": 1})
	org.OK(201, "POST", "/payments", object{"appointment_id": id, "amount": 80, "method": "cash"})
	org.Refused(409, "already_paid", "POST", "/payments/pix", object{"appointment_id": id})
	org.As("").Refused(404, "not_found", "POST", "/payments/webhook/unheard-of", object{})
	require.EqualValues(t, 1, org.OK(200, "GET", "/payments?month=2026-02", nil)["total"], "no charge is kept")
}
