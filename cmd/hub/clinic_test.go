package main_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// account is a product's tenant, by its administrator.
type account struct {
	t     *testing.T
	hub   *hubProcess
	base  string // of the product
	token string
}

// do calls the product as its administrator, requires a status and returns the response.
func (a *account) do(status int, method, path, body string) map[string]any {
	a.t.Helper()
	got, text := a.hub.call(a.t, method, a.base+"/api/v1"+path, body, "Authorization", "Bearer "+a.token)
	require.Equal(a.t, status, got, "%s %s: %s", method, path, text)
	var answer map[string]any
	if strings.HasPrefix(text, "{") {
		require.NoError(a.t, json.Unmarshal([]byte(text), &answer))
	}
	return answer
}

// list returns a response that is a list.
func (a *account) list(path string) (items []map[string]any) {
	a.t.Helper()
	got, text := a.hub.call(a.t, http.MethodGet, a.base+"/api/v1"+path, "", "Authorization", "Bearer "+a.token)
	require.Equal(a.t, 200, got, text)
	require.NoError(a.t, json.Unmarshal([]byte(text), &items))
	return items
}

// first returns the first item of a page, or nil.
func (a *account) first(path string) map[string]any {
	a.t.Helper()
	items := a.do(200, http.MethodGet, path, "")["items"].([]any)
	if len(items) == 0 {
		return nil
	}
	return items[0].(map[string]any)
}

func (s *hubProcess) signUp(t *testing.T, base, body string) *account {
	t.Helper()
	var made struct {
		Token string `json:"access_token"`
	}
	s.callInto(t, &made, http.StatusCreated, http.MethodPost, base+"/api/v1/auth/register", body)
	return &account{t, s, base, made.Token}
}

// bookable is a studio where every hour of every day can be booked.
type bookable struct {
	*account
	service, professional string
}

func (s *hubProcess) studio(t *testing.T) *bookable {
	t.Helper()
	a := s.signUp(t, "/scheduling", `{"org_name":"Studio Bela","org_slug":"studio-bela","name":"Bia","email":"bia@example.com","password":"correct horse"}`)
	b := &bookable{account: a}
	b.service = a.do(201, "POST", "/services", `{"name":"Cleaning","duration_minutes":30,"price":80}`)["id"].(string)
	b.professional = a.do(201, "POST", "/professionals", `{"name":"Dr. Lima"}`)["id"].(string)
	a.do(200, "PUT", "/professionals/"+b.professional+"/services", `{"service_ids":["`+b.service+`"]}`)
	for day := range 7 {
		a.do(201, "POST", "/schedule-rules", `{"professional_id":"`+b.professional+`","day_of_week":`+string(rune('0'+day))+`,"start_time":"00:00","end_time":"23:59"}`)
	}
	return b
}

// A clinic and a scheduling organization, connected over HTTP, in one hub and across
// two: a booking appears on the patient's history, a no-show is recorded there, and a
// patient who is erased is erased as a client, too; what the clinic learns of a
// patient's address is known where bookings are.
func TestSchedulingAndClinic(t *testing.T) {
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
			studio := there.studio(t)
			requireDocumentedStory(t, here.clinicOf(t, studio), studio)
		})
	}
}

// clinicOf is a clinic that is connected with a studio.
func (s *hubProcess) clinicOf(t *testing.T, studio *bookable) *account {
	t.Helper()
	clinic := s.signUp(t, "/clinic", `{"clinic_name":"Clínica Sol","name":"Bia","email":"bia@example.com","password":"correct horse"}`)
	key := studio.do(200, "POST", "/integrations/api-keys", "")["api_key"].(string)
	connected := clinic.do(200, "POST", "/integrations/connect", `{"product":"scheduling","api_key":"`+key+`","api_url":"`+studio.hub.url+`/scheduling/api/v1"}`)
	require.Equal(t, "active", connected["status"], "%v", connected)
	return clinic
}

// A product that is down while a patient is erased gets the event when it is back, and only
// then has acknowledged.
func TestDeletionWhileSchedulingIsAway(t *testing.T) {
	t.Parallel()
	here, _ := ownHub(t)
	c := newCLI(t)
	env := serverEnv(c.dir, databaseURL(t), hubtest.RedisURL(t))
	there := c.serve(env)
	env["HUB_LISTEN"] = strings.TrimPrefix(there.url, "http://") // its peer knows it there
	studio := there.studio(t)
	clinic := here.clinicOf(t, studio)
	person := `{"name":"Ana Souza","phone":"+5511987654321","email":"ana@example.com"}`
	patient := clinic.do(201, "POST", "/patients", person)["id"].(string)
	client := studio.do(201, "POST", "/clients", person)["id"].(string)
	db := here.pool(t)
	comesToBe := func(status string) {
		t.Helper()
		awaitCondition(t, func() bool {
			_, err := db.Exec(t.Context(), "update hub.integrations set next_probe_at = now() where product = 'scheduling' and status <> $1", status)
			require.NoError(t, err)
			return clinic.list("/integrations/")[0]["status"] == status
		})
	}

	there.Kill()
	comesToBe("error")
	request := "/deletion-requests/" + clinic.do(202, "POST", "/patients/"+patient+"/deletion-request", "")["id"].(string)
	awaitCondition(t, func() bool {
		var parked int
		require.NoError(t, db.QueryRow(t.Context(), "select count(*) from hub.deliveries where event_type = 'patient.deleted' and status = 2").Scan(&parked))
		return parked == 1
	})
	requestStatus := func() (string, string) {
		got := clinic.do(200, "GET", request, "")
		return got["status"].(string), got["peers"].([]any)[0].(map[string]any)["status"].(string)
	}
	status, peer := requestStatus()
	require.Equal(t, "waiting", status)
	require.Equal(t, "pending", peer)
	require.Equal(t, "anonymized", clinic.do(200, "GET", "/patients/"+patient, "")["status"], "here it was done at once")

	studio.hub = c.serve(env)
	studio.do(200, "GET", "/clients/"+client, "")
	comesToBe("active")
	awaitCondition(t, func() bool { status, peer = requestStatus(); return status == "completed" })
	require.Equal(t, "acknowledged", peer)
	studio.do(404, "GET", "/clients/"+client, "")
}

func requireDocumentedStory(t *testing.T, clinic *account, studio *bookable) {
	t.Helper()
	patient := clinic.do(201, "POST", "/patients", `{"name":"Ana Souza","phone":"+5511987654321","email":"ana@example.com","cpf":"123.456.789-09"}`)["id"].(string)
	client := studio.do(201, "POST", "/clients", `{"name":"Ana Souza","phone":"(11) 98765-4321","email":"ana@example.com"}`)["id"].(string)
	start := time.Now().Add(26 * time.Hour).UTC().Truncate(time.Hour)
	booked := studio.do(201, "POST", "/appointments", `{"client_id":"`+client+`","professional_id":"`+studio.professional+`","service_id":"`+studio.service+`","start_at":"`+start.Format(time.RFC3339)+`"}`)

	path := "/patients/" + patient
	var seen map[string]any
	awaitCondition(t, func() bool { seen = clinic.first(path + "/appointments"); return seen != nil })
	require.Equal(t, booked["id"], seen["external_id"])
	require.Equal(t, start.Format(time.RFC3339), seen["datetime"])
	require.Equal(t, "Cleaning", seen["service"])
	require.Equal(t, "Dr. Lima", seen["professional"])
	require.Equal(t, "scheduling", seen["source"])
	require.Equal(t, "appointment_created", clinic.first(path + "/interactions")["interaction_type"])
	require.Equal(t, start.Format(time.RFC3339), clinic.do(200, "GET", path, "")["next_appointment"])

	// Moved, and back.
	for _, at := range []time.Time{start.Add(3 * time.Hour), start} {
		studio.do(200, "POST", "/appointments/"+booked["id"].(string)+"/reschedule", `{"start_at":"`+at.Format(time.RFC3339)+`"}`)
		awaitCondition(t, func() bool { return clinic.first(path + "/appointments")["datetime"] == at.Format(time.RFC3339) })
		require.EqualValues(t, 1, clinic.do(200, "GET", path+"/appointments", "")["total"], "it is the same appointment")
	}

	// Reminded, as by a plan whose time has come.
	studio.hub.exec(t, `insert into scheduling.reminders (org_id, appointment_id, offset_minutes, channel, due_at)
		select org_id, id, 1680, 'email', start_at - interval '28 hours' from scheduling.appointments where id = $1`, booked["id"])
	require.Eventually(t, func() bool { return clinic.first(path + "/appointments")["reminded_at"] != nil }, 3*waitTimeout, 100*time.Millisecond)
	require.Equal(t, "appointment_reminded", clinic.first(path + "/interactions")["interaction_type"])

	studio.do(200, "POST", "/appointments/"+booked["id"].(string)+"/noshow", "")
	awaitCondition(t, func() bool { return clinic.first(path + "/appointments")["status"] == "no_show" })
	require.Equal(t, "appointment_noshow", clinic.first(path + "/interactions")["interaction_type"])

	// That was a mistake, and is taken back, and made again.
	studio.do(200, "POST", "/appointments/"+booked["id"].(string)+"/reopen", "")
	awaitCondition(t, func() bool { return clinic.first(path + "/appointments")["status"] == "confirmed" })
	require.Equal(t, start.Format(time.RFC3339), clinic.do(200, "GET", path, "")["next_appointment"])
	studio.do(200, "POST", "/appointments/"+booked["id"].(string)+"/noshow", "")
	awaitCondition(t, func() bool { return clinic.first(path + "/appointments")["status"] == "no_show" })

	// Another one is cancelled.
	second := studio.do(201, "POST", "/appointments", `{"client_id":"`+client+`","professional_id":"`+studio.professional+`","service_id":"`+studio.service+`","start_at":"`+start.Add(2*time.Hour).Format(time.RFC3339)+`"}`)
	studio.do(200, "POST", "/appointments/"+second["id"].(string)+"/cancel", `{"reason":"ill"}`)
	awaitCondition(t, func() bool {
		newest := clinic.first(path + "/appointments")
		return newest["external_id"] == second["id"] && newest["status"] == "cancelled"
	})
	require.Equal(t, "appointment_cancelled", clinic.first(path + "/interactions")["interaction_type"])
	require.Nil(t, clinic.do(200, "GET", path, "")["next_appointment"])

	// Paying for it at the clinic is known where it was booked.
	clinic.do(201, "POST", path+"/payments", `{"amount":80,"due_date":"2026-03-02","status":"paid","appointment_id":"`+seen["id"].(string)+`"}`)
	awaitCondition(t, func() bool { return studio.first("/payments") != nil })

	// The clinic's address is taken where there is none, and follows what changes there.
	rui := "/clients/" + studio.do(201, "POST", "/clients", `{"name":"Rui","phone":"+5511922223333"}`)["id"].(string)
	known := func(email string) func() bool {
		return func() bool { return studio.do(200, "GET", rui, "")["email"] == email }
	}
	other := clinic.do(201, "POST", "/patients", `{"name":"Rui Lima","phone":"+5511922223333","email":"rui@example.com"}`)["id"].(string)
	awaitCondition(t, known("rui@example.com"))
	clinic.do(200, "PUT", "/patients/"+other, `{"email":"lima@example.com"}`)
	awaitCondition(t, known("lima@example.com"))
	require.Equal(t, "Rui", studio.do(200, "GET", rui, "")["name"], "staff typed it")

	request := clinic.do(202, "POST", path+"/deletion-request", "")["id"].(string)
	awaitCondition(t, func() bool { return clinic.do(200, "GET", "/deletion-requests/"+request, "")["status"] == "completed" })
	peer := clinic.do(200, "GET", "/deletion-requests/"+request, "")["peers"].([]any)[0].(map[string]any)
	require.Equal(t, "scheduling", peer["product"])
	require.Equal(t, "acknowledged", peer["status"])
	require.Equal(t, "Rui", studio.first("/clients")["name"], "the client is nobody any more")
	studio.do(404, "GET", "/clients/"+client, "")
	require.Equal(t, "anonymized", clinic.do(200, "GET", path, "")["status"])
}

func awaitCondition(t *testing.T, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, waitTimeout, 50*time.Millisecond)
}

// Mother and son share a number. A booking carries its client's name, so it stands at the son,
// and an erasure of the mother leaves it in the log.
func TestBookingOfOneWhoSharesANumber(t *testing.T) {
	t.Parallel()
	here, _ := ownHub(t)
	studio := here.studio(t)
	clinic := here.clinicOf(t, studio)
	mother := clinic.do(201, "POST", "/patients", `{"name":"Maria Reis","phone":"+5511987654321"}`)["id"].(string)
	son := clinic.do(201, "POST", "/patients", `{"name":"Davi Reis","phone":"+5511987654321"}`)["id"].(string)
	client := studio.do(201, "POST", "/clients", `{"name":"Davi Reis","phone":"(11) 98765-4321"}`)["id"].(string)
	start := time.Now().Add(26 * time.Hour).UTC().Truncate(time.Hour).Format(time.RFC3339)
	booked := studio.do(201, "POST", "/appointments", `{"client_id":"`+client+`","professional_id":"`+studio.professional+`","service_id":"`+studio.service+`","start_at":"`+start+`"}`)
	awaitCondition(t, func() bool { return clinic.first("/patients/"+son+"/appointments") != nil })
	require.Equal(t, booked["id"], clinic.first("/patients/" + son + "/appointments")["external_id"])
	require.Nil(t, clinic.first("/patients/"+mother+"/appointments"))

	logged := func() map[string]any {
		t.Helper()
		return clinic.first("/integrations/webhook-logs?event_type=appointment.created")["payload"].(map[string]any)
	}
	erase := func(patient string) {
		t.Helper()
		request := "/deletion-requests/" + clinic.do(202, "POST", "/patients/"+patient+"/deletion-request", "")["id"].(string)
		awaitCondition(t, func() bool { return clinic.do(200, "GET", request, "")["status"] == "completed" })
		awaitCondition(t, func() bool {
			var open int
			require.NoError(t, here.pool(t).QueryRow(t.Context(), "select count(*) from hub.erasures where not examined").Scan(&open))
			return open == 0
		})
	}
	erase(mother)
	require.Equal(t, "Davi Reis", logged()["data"].(map[string]any)["client_name"], "a shared number counts with the whole name only")
	erase(son)
	require.Equal(t, map[string]any{"erased": true}, logged())
}
