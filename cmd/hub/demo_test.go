package main_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDemo runs it twice, and once more after a killed one.
func TestDemo(t *testing.T) {
	t.Parallel()
	s := sharedHub(t)
	c := newCLI(t).withEnv("HUB_DATA_DIR", s.dataDir)
	first := c.run("demo").requireOK()
	for _, text := range []string{
		"1. A product", "$ hub products create demo --prefix demo", "attempt 1  signature ok", "responded 500",
		"attempt 2  signature ok", "delivered after 2 attempts", "4 delivered and verified",
	} {
		require.Contains(t, first, text)
	}
	require.NotContains(t, first, "It is there already.")
	// The organization, its week and its page.
	require.Contains(t, first, "Booking page         "+s.url+"/book/demo-salon")
	require.Regexp(t, `A client's own page  `+s.url+`/book/demo-salon/cancel\?token=\S+`, first)
	password := regexp.MustCompile(`logs in as demo@example.com with the password (\w+)`).FindStringSubmatch(first)
	require.NotNil(t, password, first)
	var session struct {
		AccessToken string `json:"access_token"`
	}
	s.callInto(t, &session, 200, "POST", "/scheduling/api/v1/auth/login", fmt.Sprintf(`{"email":"demo@example.com","password":%q}`, password[1]))
	from, until := time.Now().Format(time.DateOnly), time.Now().AddDate(0, 0, 9).Format(time.DateOnly)
	status, text := s.call(t, "GET", "/scheduling/api/v1/appointments?date_from="+from+"&date_to="+until, "", "Authorization", "Bearer "+session.AccessToken)
	require.Equal(t, 200, status, text)
	var week []struct{ Status, Source string }
	require.NoError(t, json.Unmarshal([]byte(text), &week))
	week = slices.DeleteFunc(week, func(appointment struct{ Status, Source string }) bool {
		return appointment.Status == "cancelled" || appointment.Source == "integration" // booked by chat
	})
	require.Len(t, week, 36, "two each of three professionals on six days; one is a Sunday")
	require.Contains(t, first, "36 bookings in the next 7 days")
	var published int
	s.queryRow(t, []any{&published}, `select count(*) from hub.events where product = 'scheduling' and event_type = 'appointment.created'`)
	require.GreaterOrEqual(t, published, 36)
	requireJourney(t, s, first)
	requireConversation(t, first)
	requireStory(t, s, first)
	require.Empty(t, c.run("endpoints", "list", "--tenant", "Demo Bakery", "-q").requireOK())
	require.Contains(t, c.run("keys", "list", "--tenant", "Demo Bakery").requireOK(), "revoked")
	require.NotContains(t, c.run("keys", "list", "--tenant", "Demo Bakery").requireOK(), "active")

	require.Equal(t, 2, strings.Count(c.run("demo").requireOK(), "It is there already."), "the product and the tenant")
	again := c.run("demo").requireOK()
	require.Contains(t, again, "Demo Salon has been there since an earlier demo.")
	require.Contains(t, again, "/book/demo-salon")
	require.Contains(t, again, "Demo Clinic has been there since an earlier demo.")
	requireJourney(t, s, again)
	require.Contains(t, again, "Demo Reception has been there since an earlier demo.")
	requireConversation(t, again)
	require.Contains(t, again, "were shown by the first demo of this hub")
	require.NotContains(t, c.run("keys", "list", "--tenant", "Demo Clinic").requireOK(), "hub demo  active")
	var clinics, patients, links, open int
	s.queryRow(t, []any{&clinics, &patients}, `select count(distinct c.id), count(p.id) from clinic.clinics c join clinic.patients p on p.clinic_id = c.id where p.status <> 'anonymized' and c.name = 'Demo Clinic'`)
	s.queryRow(t, []any{&links}, `select count(*) from hub.integrations i join hub.tenants t on t.id = i.tenant_id where t.name in ('Demo Clinic', 'Demo Salon') and i.product <> 'messaging'`)
	s.queryRow(t, []any{&open}, `select count(*) from clinic.appointments a join clinic.clinics c on c.id = a.clinic_id join clinic.patients p on p.clinic_id = c.id and p.id = a.patient_id where p.status <> 'anonymized' and c.name = 'Demo Clinic' and a.status <> 'cancelled'`)
	require.Equal(t, []int{1, 1, 2, 0}, []int{clinics, patients, links, open}, "what is there is used again, and every booking was cancelled")
	require.Len(t, strings.Split(c.run("tenants", "list", "--product", "demo", "-q").requireOK(), "\n"), 1)

	// What a killed demo left is removed; what may belong to a running one stays.
	left := func(age string) (key, endpoint string) {
		var k, e struct {
			ID string `json:"id"`
		}
		c.run("keys", "create", "--tenant", "Demo Bakery", "--name", "hub demo", "-o", "json").decode(&k)
		c.run("endpoints", "create", "http://127.0.0.1:1/", "--tenant", "Demo Bakery", "--events", "none",
			"--description", "hub demo", "-o", "json").decode(&e)
		s.exec(t, `update hub.keys set created_at = now() - $2::interval where id = $1`, k.ID, age)
		s.exec(t, `update hub.endpoints set created_at = now() - $2::interval where id = $1`, e.ID, age)
		return k.ID, e.ID
	}
	_, oldEndpoint := left("1 hour")
	youngKey, youngEndpoint := left("1 minute")
	var log struct {
		Items []struct {
			Attempts []json.RawMessage `json:"attempts"`
		} `json:"items"`
	}
	c.run("demo", "-o", "json").decode(&log)
	require.Len(t, log.Items, 4)
	require.Len(t, log.Items[3].Attempts, 2)
	require.Equal(t, youngEndpoint, c.run("endpoints", "list", "--tenant", "Demo Bakery", "-q").requireOK())
	require.NotEqual(t, oldEndpoint, youngEndpoint)
	keys := c.run("keys", "list", "--tenant", "Demo Bakery").requireOK()
	require.Equal(t, 1, strings.Count(keys, "active"))
	require.Regexp(t, `(?m)^`+youngKey+` .* active `, keys)
}

// requireConversation requires that a demo printed how the answer to a chat message came to
// the clinic.
func requireConversation(t *testing.T, output string) {
	t.Helper()
	require.Regexp(t, `messaging +→ clinic +active\n +clinic +→ messaging +active`, output)
	require.Regexp(t, `● sent +to Teresa Nogueira: Your appointment was cancelled.*\n +● answered +by Teresa Nogueira: Yes, please.*\n`+
		` +● published .* message\.received, in the transaction of the change\n(?: +● attempt .*\n)+ +● received +\+\d+ ms  by Demo Clinic, its signature checked: accepted`, output)
}

// requireJourney requires that a demo printed, from the delivery log, how a booking and its
// cancellation came to the patient's history, and that the log has the same.
func requireJourney(t *testing.T, s *hubProcess, output string) {
	t.Helper()
	require.Regexp(t, `scheduling → clinic +active\n +clinic +→ scheduling +active`, output)
	require.Contains(t, output, "Teresa Nogueira  CPF ***.***.***-25")
	stations := func(begins, eventType, status string) string {
		return `● ` + begins + `.* by Teresa Nogueira\n` +
			` +● published +\d\d:\d\d:\d\d\.\d{3}Z  (evt_[0-9a-f]{16})  ` + eventType + `, in the transaction of the change\n` +
			`(?: +● attempt \d+ +\+\d+ ms  .*\n)* +● attempt \d+ +\+\d+ ms  responded 200 after \d+\.\d ms\n` +
			` +● received +\+\d+ ms  by Demo Clinic, its signature checked: accepted\n` +
			` +● on history of the patient Teresa Nogueira at Demo Clinic: [A-Z][a-z]+, ` + status + `\n`
	}
	for _, pattern := range []string{stations("booked", `appointment\.created`, "scheduled"), stations("cancelled", `appointment\.cancelled`, "cancelled")} {
		found := regexp.MustCompile(pattern).FindStringSubmatch(output)
		require.NotNil(t, found, "%s\n%s", pattern, output)
		var sent, received int
		s.queryRow(t, []any{&sent, &received}, `select count(*) filter (where not inbound), count(*) filter (where inbound) from hub.deliveries where event_id = ('x' || substr($1, 5))::bit(64)::bigint`, found[1])
		require.Equal(t, []int{1, 1}, []int{sent, received})
	}
}

// requireStory requires that a demo printed the three products connected: a reminder on the
// phone, the answer on the patient's history, a cancellation by answering, a booking from the
// chat, and an erasure that reached all three and left no name.
func requireStory(t *testing.T, s *hubProcess, output string) {
	t.Helper()
	station := func(name, text string) string { return `●\s+` + name + `\s+` + text + `\n` }
	const onHistory = `of the patient Olga Peixoto at Demo Clinic: `
	require.Regexp(t, `(?s)scheduling → messaging +active\n +messaging +→ scheduling +active.*`+
		station("booked", `Haircut with [A-Z][a-z]+, [^\n]*, by Olga Peixoto`)+`\s+`+
		station("reminded", `on the phone: [^\n]*Haircut[^\n]* · 1 - Confirmar · 2 - Cancelar`)+`.*`+
		station("answered", `by Olga Peixoto: 2`)+`\s+`+
		station("replied", `Cancelado: Haircut, [^\n]*`)+`.*message\.received, in the transaction of the change.*`+
		station("received", `[^\n]*by Demo Clinic, its signature checked: accepted`)+`\s+`+
		station("on history", onHistory+`message_received 2`)+`\s+`+
		station("on history", onHistory+`appointment_cancelled[^\n]*`)+`.*`+
		station("wrote", `Hello`)+`\s+`+station("replied", `Welcome! · 1 - Book`)+`\s+`+
		station("wrote", `1`)+`\s+`+station("replied", `[^\n]*Haircut[^\n]*`)+`\s+`+
		station("wrote", `1`)+`\s+`+station("replied", `Horários livres para Haircut[^\n]*`)+`\s+`+
		station("wrote", `1`)+`\s+`+station("replied", `Agendado: Haircut com [^\n]*`)+`\s+`+
		station("on history", onHistory+`appointment_created Haircut, [^\n]*`)+`.*`+
		station("erased", `by clinic: completed`), output)
	for _, peer := range []string{"messaging", "scheduling"} {
		require.Regexp(t, station("erased", `by `+peer+`: acknowledged`), output)
	}
	require.Contains(t, output, "0 contacts of that name are left")
	s.exec(t, `delete from messaging.sandbox_messages where sender = '5511987659902' or recipient = '5511987659902'`) // the client's own phone
	s.exec(t, `delete from messaging.sandbox_phones where number = '5511987659902'`)
	require.Empty(t, tablesWith(t, s.pool(t), "peixoto"))
}
