package messagingtest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
)

// Calendar is a scheduling product that a company is connected with: a server with the calls
// of docs/interfaces/scheduling.md, and times to book.
type Calendar struct {
	Key string // with which it calls the company

	company *Company
	mu      sync.Mutex
	locale  string         // of the organization
	names   []string       // services
	free    []time.Time    // times that can be booked, in order
	bodies  []object       // of actions, in order
	booked  map[string]any // answers, by source id
	states  map[string]string
	phones  []string
	events  []ReceivedEvent
	checks  []string // phones that search/clients or search/patients was asked for

	// faults are the statuses of the next actions and searches, checkFaults those of the next
	// searches for phones, which the background asks for at any time; 0 = none.
	faults, checkFaults []int

	hangsAt string       // the call that is not answered; "" = every one is
	hanging atomic.Int64 // calls that wait for an answer
}

// ConnectCalendar starts a scheduling product with services, and connects the company with it.
func (c *Company) ConnectCalendar(services ...string) *Calendar {
	c.T.Helper()
	return c.ConnectPeer("scheduling", services...)
}

// ConnectPeer is [Company.ConnectCalendar] for another kind of product.
func (c *Company) ConnectPeer(product string, services ...string) *Calendar {
	c.T.Helper()
	calendar := &Calendar{company: c, locale: "pt-BR", names: services, booked: make(map[string]any), states: make(map[string]string)}
	mux := http.NewServeMux()
	const base = "/api/v1/integrations"
	mux.HandleFunc("GET "+base+"/status", func(w http.ResponseWriter, _ *http.Request) {
		features := []string{"client.search", "appointment.book", "availability.read"}
		if product == "clinic" {
			features = []string{"patient.search"}
		}
		answer(w, 200, object{"product": product, "version": "1.0.0", "org_id": "org-1", "org_name": "Studio", "features": features, "status": "active"})
	})
	mux.HandleFunc("POST "+base+"/webhook/register", func(w http.ResponseWriter, r *http.Request) {
		var registration struct {
			APIKey string `json:"api_key"`
		}
		_ = json.NewDecoder(r.Body).Decode(&registration)
		calendar.mu.Lock()
		defer calendar.mu.Unlock()
		calendar.Key = registration.APIKey
		answer(w, 200, object{"integration_id": "1", "status": "active"})
	})
	mux.HandleFunc("POST "+base+"/webhook", calendar.receive)
	mux.HandleFunc(base+"/search/{call}", calendar.serve)
	mux.HandleFunc(base+"/action/{call}", calendar.serve)
	server := httptest.NewServer(mux)
	c.T.Cleanup(server.Close)
	connected := c.OK(200, "POST", "/api/v1/integrations/connect", object{"product": product, "api_key": strings.Repeat("k", 40), "api_url": server.URL + "/api/v1"})
	require.Equal(c.T, "active", connected["status"])
	require.NotEmpty(c.T, calendar.Key)
	return calendar
}

// receive takes events.
func (k *Calendar) receive(w http.ResponseWriter, r *http.Request) {
	var event ReceivedEvent
	_ = json.NewDecoder(r.Body).Decode(&event)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.events = append(k.events, event)
	answer(w, 200, object{"received": true})
}

// Events returns the events of a type that it got; "" = of every type.
func (k *Calendar) Events(eventType string) (list []ReceivedEvent) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, event := range k.events {
		if eventType == "" || event.Type == eventType {
			list = append(list, event)
		}
	}
	return list
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// Hang has the product answer no more calls of a name, such as "confirm".
func (k *Calendar) Hang(call string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.hangsAt = call
}

// Hanging returns how many calls wait for an answer now.
func (k *Calendar) Hanging() int { return int(k.hanging.Load()) }

// hang waits until the caller ends the call, if the product hangs at it.
func (k *Calendar) hang(r *http.Request) (isGivenUp bool) {
	k.mu.Lock()
	isHanging := k.hangsAt == r.PathValue("call")
	k.mu.Unlock()
	if isHanging {
		k.hanging.Add(1)
		_, _ = io.Copy(io.Discard, r.Body) // from then on the end of the connection is seen
		<-r.Context().Done()
		k.hanging.Add(-1)
	}
	return isHanging
}

// serve answers searches and actions.
func (k *Calendar) serve(w http.ResponseWriter, r *http.Request) {
	if k.hang(r) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var body object
	_ = json.NewDecoder(r.Body).Decode(&body)
	call := r.PathValue("call")
	if r.Method == http.MethodPost {
		k.bodies = append(k.bodies, body)
	}
	faults := &k.faults
	if call == "clients" || call == "patients" {
		k.checks = append(k.checks, r.URL.Query().Get("phone"))
		faults = &k.checkFaults
	}
	if len(*faults) > 0 {
		fault := (*faults)[0]
		if *faults = (*faults)[1:]; fault != 0 {
			w.Header().Set("Retry-After", "7")
			answer(w, fault, object{"code": "validation_failed"})
			return
		}
	}
	switch call {
	case "services":
		list := make([]object, len(k.names))
		for i, name := range k.names {
			list[i] = object{"id": "service-" + name, "name": name, "duration_minutes": 30, "price": 80}
		}
		answer(w, 200, object{"services": list, "locale": k.locale})
	case "free-times":
		answer(w, 200, object{"service": strings.TrimPrefix(r.URL.Query().Get("service_id"), "service-"), "locale": k.locale, "times": k.freeTimes(r)})
	case "clients", "patients":
		answer(w, 200, object{"found": slices.Contains(k.phones, r.URL.Query().Get("phone"))})
	case "book":
		k.book(w, body)
	default:
		id := body["appointment_id"].(string)
		state, ok := k.states[id]
		switch {
		case !ok:
			answer(w, 404, object{"code": "not_found"})
		case state != "open" && state != call:
			answer(w, 409, object{"code": "invalid_transition"})
		default:
			k.states[id] = call
			answer(w, 200, object{"appointment_id": id, "status": call})
		}
	}
}

func (k *Calendar) freeTimes(r *http.Request) []object {
	after, _ := time.Parse(time.RFC3339, r.URL.Query().Get("after"))
	list := []object{}
	for _, start := range k.free {
		if start.After(after) && len(list) < 7 {
			list = append(list, object{"start_at": start.Format(time.RFC3339), "end_at": start.Add(30 * time.Minute).Format(time.RFC3339), "professional_id": "ana", "professional": "Ana"})
		}
	}
	return list
}

func (k *Calendar) book(w http.ResponseWriter, body object) {
	source := body["source_id"].(string)
	if known, ok := k.booked[source]; ok {
		answer(w, 201, known)
		return
	}
	start, _ := time.Parse(time.RFC3339, body["start_at"].(string))
	i := slices.IndexFunc(k.free, start.Equal)
	if i < 0 {
		answer(w, 409, object{"code": "slot_unavailable"})
		return
	}
	k.free = slices.Delete(k.free, i, i+1)
	k.booked[source] = object{
		"appointment_id": "appointment-" + source, "status": "scheduled", "start_at": start.Format(time.RFC3339), "end_at": start.Add(30 * time.Minute).Format(time.RFC3339),
		"service": strings.TrimPrefix(body["service_id"].(string), "service-"), "professional": "Ana", "cancel_url": "https://studio.example/cancel", "deposit": nil, "locale": k.locale,
	}
	answer(w, 201, k.booked[source])
}

// Free sets the times that can be booked.
func (k *Calendar) Free(times ...time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.free = times
}

// Speak sets the organization's language.
func (k *Calendar) Speak(locale string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.locale = locale
}

// Open adds appointments that can be confirmed and cancelled.
func (k *Calendar) Open(ids ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, id := range ids {
		k.states[id] = "open"
	}
}

// State returns what became of an appointment: open, confirm or cancel.
func (k *Calendar) State(id string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.states[id]
}

// Fail makes the next actions and searches answer with statuses, but for those of
// [Calendar.FailChecks]; 0 lets one pass.
func (k *Calendar) Fail(statuses ...int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.faults = statuses
}

// FailChecks is [Calendar.Fail] for searches for phones.
func (k *Calendar) FailChecks(statuses ...int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.checkFaults = statuses
}

// Know sets the numbers that its searches find, with a leading plus.
func (k *Calendar) Know(phones ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.phones = phones
}

// Checked returns the numbers that its searches were asked for.
func (k *Calendar) Checked() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.checks)
}

// Actions returns the bodies of the actions that it got.
func (k *Calendar) Actions() []map[string]any {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.bodies)
}

// Bookings returns how many appointments were booked.
func (k *Calendar) Bookings() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.booked)
}

// Remind sends a reminder with its question, as the scheduling product does.
func (k *Calendar) Remind(number, id, title string, until time.Time) {
	k.company.T.Helper()
	k.company.As(k.Key).OK(200, "POST", "/api/v1/integrations/action/send-message", object{
		"number": number, "body": "Reminder: " + title, "appointment": object{"id": id, "title": title, "locale": "pt-BR", "until": until.Format(time.RFC3339)},
	})
}
