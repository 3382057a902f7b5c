package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// chatCompany is a company of the messaging platform, with a connection that is paired with
// a phone of the simulated network.
type chatCompany struct {
	*account
	number     string // the connection's
	connection any    // its id
}

// request calls a path of the platform that is not below /api/v1.
func (c *chatCompany) request(status int, method, path, body string) map[string]any {
	c.t.Helper()
	got, text := c.hub.call(c.t, method, "/messaging"+path, body, "Authorization", "Bearer "+c.token)
	require.Equal(c.t, status, got, "%s %s: %s", method, path, text)
	var answer map[string]any
	require.NoError(c.t, json.Unmarshal([]byte(text), &answer))
	return answer
}

func (s *hubProcess) chatCompany(t *testing.T) *chatCompany {
	t.Helper()
	var session struct{ Token string }
	s.callInto(t, &session, http.StatusCreated, "POST", "/messaging/auth/signup", `{"name":"Bia","companyName":"Studio Bela","email":"bia@example.com","password":"correct horse"}`)
	c := &chatCompany{account: &account{t, s, "/messaging", session.Token}, number: "5511900000001"}
	made := c.request(201, "POST", "/whatsapp", `{"name":"Reception"}`)
	c.connection = made["id"]
	code := c.request(200, "GET", fmt.Sprintf("/whatsapp/%v/qrCode", made["id"]), "")["qrcode"].(string)
	c.phone(c.number, "Company phone")
	require.Equal(t, "CONNECTED", c.request(200, "POST", "/sandbox/phones/"+c.number+"/scan", `{"code":"`+code+`"}`)["status"])
	return c
}

// phone adds a phone to the simulated network.
func (c *chatCompany) phone(number, name string) {
	c.t.Helper()
	c.request(201, "POST", "/sandbox/phones", `{"number":"`+number+`","name":"`+name+`"}`)
}

// inbox returns the texts that a phone has received.
func (c *chatCompany) inbox(number string) (texts []string) {
	c.t.Helper()
	for _, message := range c.request(200, "GET", "/sandbox/phones/"+number+"/inbox", "")["messages"].([]any) {
		texts = append(texts, message.(map[string]any)["body"].(string))
	}
	return texts
}

// connectTo connects a product with the company, for some uses.
func (c *chatCompany) connectTo(other *account, uses string) {
	c.t.Helper()
	key := c.do(200, "POST", "/integrations/api-keys", "")["api_key"].(string)
	connected := other.do(200, "POST", "/integrations/connect", `{"product":"messaging","api_key":"`+key+`","api_url":"`+c.hub.url+`/messaging/api/v1","features":`+uses+`}`)
	require.Equal(c.t, "active", connected["status"], "%v", connected)
}

// The three products, connected over HTTP, in one hub and across two: a reminder arrives on
// the patient's phone, the answer on the patient's history, and a deletion reaches all.
func TestThreeProducts(t *testing.T) {
	t.Parallel()
	for _, across := range []bool{false, true} {
		name := "one hub"
		if across {
			name = "two hubs"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			here, _ := ownHub(t)
			there := here
			if across {
				there, _ = ownHub(t)
			}
			studio, company := here.studio(t), there.chatCompany(t)
			clinic := here.clinicOf(t, studio)
			company.connectTo(studio.account, `["reminders"]`)
			company.connectTo(clinic, `[]`)
			requireChatStory(t, clinic, studio, company)
		})
	}
}

func requireChatStory(t *testing.T, clinic *account, studio *bookable, company *chatCompany) {
	t.Helper()
	const name, number = "Zoraide Quintela", "5511987654321"
	company.phone(number, name)
	person := `{"name":"` + name + `","phone":"+` + number + `","email":"zoraide@example.com"}`
	patient := clinic.do(201, "POST", "/patients", person)["id"].(string)
	client := studio.do(201, "POST", "/clients", person)["id"].(string)
	studio.do(200, "PUT", "/organization/settings", `{"reminder_channels":["whatsapp"],"reminder_offsets_minutes":[60]}`)

	start := time.Now().Add(3 * time.Hour).Truncate(time.Hour).UTC().Format(time.RFC3339)
	appointment := studio.do(201, "POST", "/appointments", `{"client_id":"`+client+`","professional_id":"`+studio.professional+`","service_id":"`+studio.service+`","start_at":"`+start+`"}`)["id"].(string)
	// An hour before the appointment is now.
	studio.hub.exec(t, `
		with early as (select due_at - now() as by from scheduling.reminders), moved as (
			update scheduling.appointments set start_at = start_at - early.by, end_at = end_at - early.by from early)
		update scheduling.reminders set due_at = due_at - early.by from early`)
	studio.hub.exec(t, `update hub.jobs set due_at = now() where job = 'reminders' and leased_to is null`)
	awaitCondition(t, func() bool { return len(company.inbox(number)) == 1 })
	require.Contains(t, company.inbox(number)[0], "Cleaning")
	require.Contains(t, company.inbox(number)[0], "\n\n1 - Confirmar\n2 - Cancelar")

	company.request(201, "POST", "/sandbox/phones/"+number+"/send", `{"to":"`+company.number+`","body":"I shall be there, says `+name+`"}`)
	path := "/patients/" + patient
	awaitCondition(t, func() bool {
		for _, entry := range clinic.do(200, "GET", path+"/interactions", "")["items"].([]any) {
			if strings.Contains(fmt.Sprint(entry), "I shall be there") {
				return true
			}
		}
		return false
	})

	requireCancelledByAnswer(t, clinic, studio, company, cancelledBy{path, number, appointment})
	requireBookedFromChat(t, clinic, studio, company, cancelledBy{patient: path, number: number})

	request := clinic.do(202, "POST", path+"/deletion-request", "")["id"].(string)
	awaitCondition(t, func() bool { return clinic.do(200, "GET", "/deletion-requests/"+request, "")["status"] == "completed" })
	for _, peer := range clinic.do(200, "GET", "/deletion-requests/"+request, "")["peers"].([]any) {
		require.Equal(t, "acknowledged", peer.(map[string]any)["status"], "%v", peer)
	}
	company.hub.exec(t, `delete from messaging.sandbox_messages`) // the patient's own phone
	company.hub.exec(t, `delete from messaging.sandbox_phones`)
	for _, hub := range []*hubProcess{clinic.hub, company.hub} {
		db, left := hub.pool(t), []string(nil)
		require.Eventually(t, func() bool {
			left = tablesWith(t, db, "quintela")
			return len(left) == 0
		}, waitTimeout, time.Second, "names are left in %v", &left)
	}
}

// cancelledBy is a patient with a phone, and an appointment.
type cancelledBy struct{ patient, number, appointment string }

// say sends a text from a phone, and waits for the company's answer.
func (c *chatCompany) say(number, text string) string {
	c.t.Helper()
	before := len(c.inbox(number))
	c.request(201, "POST", "/sandbox/phones/"+number+"/send", `{"to":"`+c.number+`","body":"`+text+`"}`)
	awaitCondition(c.t, func() bool { return len(c.inbox(number)) > before })
	return c.inbox(number)[before]
}

// statuses returns the statuses of a patient's appointments in the clinic.
func statuses(clinic *account, patient string) (list []string) {
	for _, entry := range clinic.do(200, "GET", patient+"/appointments", "")["items"].([]any) {
		list = append(list, entry.(map[string]any)["status"].(string))
	}
	return list
}

// requireCancelledByAnswer has the patient cancel by answering the reminder.
func requireCancelledByAnswer(t *testing.T, clinic *account, studio *bookable, company *chatCompany, c cancelledBy) {
	t.Helper()
	require.Contains(t, company.say(c.number, "2"), "Cancelado: Cleaning, ")
	cancelled := studio.do(200, "GET", "/appointments/"+c.appointment, "")
	require.Equal(t, "cancelled", cancelled["status"])
	require.Equal(t, "integration", cancelled["cancelled_by"])
	awaitCondition(t, func() bool { return slices.Equal([]string{"cancelled"}, statuses(clinic, c.patient)) })
	require.Contains(t, company.say(c.number, "2"), "Já está cancelado: Cleaning, ")
}

// requireBookedFromChat has the patient book by the menus of a queue.
func requireBookedFromChat(t *testing.T, clinic *account, studio *bookable, company *chatCompany, c cancelledBy) {
	t.Helper()
	queue := company.request(201, "POST", "/queue", `{"name":"Reception","color":"#00f","greetingMessage":"Welcome","options":[{"title":"Book","action":"book"}]}`)["id"]
	company.request(200, "PUT", fmt.Sprintf("/whatsapp/%v", company.connection), fmt.Sprintf(`{"queueIds":[%v]}`, queue))
	company.request(200, "PUT", "/company", `{"reopenMinutes":0}`)
	ticket := company.request(200, "GET", "/tickets?searchParam="+c.number, "")["tickets"].([]any)[0].(map[string]any)["id"]
	company.request(200, "PUT", fmt.Sprintf("/tickets/%v", ticket), `{"status":"closed"}`)

	require.Equal(t, "Welcome\n\n1 - Book", company.say(c.number, "Hello"))
	times := company.say(c.number, "1")
	require.Contains(t, times, "Horários livres para Cleaning.")
	require.Contains(t, times, "com Dr. Lima")
	require.Contains(t, company.say(c.number, "1"), "Agendado: Cleaning com Dr. Lima, ")
	var booked []struct{ Source string }
	status, text := studio.hub.call(t, "GET", "/scheduling/api/v1/appointments?status=scheduled", "", "Authorization", "Bearer "+studio.token)
	require.Equal(t, http.StatusOK, status, text)
	require.NoError(t, json.Unmarshal([]byte(text), &booked))
	require.Len(t, booked, 1)
	require.Equal(t, "integration", booked[0].Source)
	awaitCondition(t, func() bool {
		list := statuses(clinic, c.patient)
		return len(list) == 2 && slices.Contains(list, "scheduled")
	})
}

// tablesWith returns the tables of a hub that have a text in any column of any row.
func tablesWith(t *testing.T, db *pgxpool.Pool, text string) (found []string) {
	t.Helper()
	rows, err := db.Query(t.Context(), `
		select format('%I.%I', n.nspname, c.relname) from pg_class c join pg_namespace n on n.oid = c.relnamespace
		where c.relkind = 'r' and n.nspname in ('hub', 'clinic', 'scheduling', 'messaging')`)
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Greater(t, len(tables), 100)
	for _, table := range tables {
		var has bool
		require.NoError(t, db.QueryRow(t.Context(), fmt.Sprintf(`select exists (select from %s t where t::text ilike '%%' || $1 || '%%')`, table), text).Scan(&has))
		if has {
			found = append(found, table)
		}
	}
	return found
}
