package main

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// What the clinic scenario finds out; each is the worst p95 of its questions, over HTTP.
const (
	figurePhoneSearch = "search_p95_ms" // search/patients, by phone
	figureFHIRPhone   = "fhir_p95_ms"   // FHIR's search by phone
	figureClinicList  = "list_p95_ms"   // the users' search by name, e-mail and phone
)

// What the clinics have.
const (
	clinicPatients = 100_000
	sharedNumbers  = 1_000 // that two patients have
	linkedNumbers  = 1_000 // that were linked to patients
	clinicRounds   = 200   // of each question; a clinic's users have a limit
)

// fillPatients makes a clinic's patients; number n is +55 11 9 8… and may be shared.
// The neighbour's have the same numbers, so that an index that forgot whose they are
// would show.
const fillPatients = `
	insert into clinic.patients (clinic_id, env, id, name, phone, email)
	select $1::uuid, 'live', gen_random_uuid(), (array['Maria', 'Ana', 'João', 'José', 'Antônio', 'Francisca'])[1 + n % 6] || ' ' || initcap(substr(md5(n::text), 1, 8)) || ' da Silva',
		'+55119' || 80000000 + case when n <= $3::int then n + $3 else n end, 'patient' || n || '@example.com'
	from generate_series(1, $2::int) n`

const fillVisits = `
	insert into clinic.appointments (clinic_id, env, id, patient_id, starts_at, service)
	select clinic_id, env, gen_random_uuid(), id, now() + (k - 2) * interval '30 days', 'Check' from clinic.patients, generate_series(1, 3) k where clinic_id = $1`

const fillBalances = `
	insert into clinic.payments (clinic_id, env, id, patient_id, amount, due_date)
	select clinic_id, env, gen_random_uuid(), id, 50, now() + interval '9 days' from clinic.patients where clinic_id = $1`

const fillLinks = `
	insert into clinic.linked_phones (clinic_id, env, phone_key, patient_id)
	select clinic_id, env, '+551170' || lpad(n::text, 6, '0'), id
	from (select clinic_id, env, id, row_number() over (order by id) - 1 as n from clinic.patients where clinic_id = $1 order by id limit $2::int) p`

// measureClinic searches among a clinic's patients, one request at a time.
func measureClinic(ctx context.Context, b *bench) (*Result, error) {
	g := &gatewayService{bench: b}
	st, err := openStage(ctx, b, g, 1)
	if err != nil {
		return nil, err
	}
	defer st.close()
	c := &consulting{gateway: g}
	began := time.Now()
	if err := c.furnish(ctx, st.cluster.databaseURL); err != nil {
		return nil, err
	}
	fmt.Fprintf(b.notes, "loaded twice %d patients in %s\n", clinicPatients, time.Since(began).Round(time.Second))
	result := &Result{Figures: make(map[string]float64)}
	first, err := st.readCPU()
	if err != nil {
		return nil, err
	}
	for _, q := range c.questions() {
		timing, err := c.ask(ctx, q)
		if err != nil {
			return nil, err
		}
		result.Queries = append(result.Queries, timing)
		result.Figures[q.figure] = max(result.Figures[q.figure], timing.P95)
	}
	last, err := st.readCPU()
	if err != nil {
		return nil, err
	}
	result.Figures[figureOtherLoad] = otherLoad(first, last)
	return result, nil
}

// consulting is a clinic as its users and connected products use it.
type consulting struct {
	gateway *gatewayService
	user    http.Header
	key     http.Header
}

// furnish registers two clinics through the API and fills them by SQL.
func (c *consulting) furnish(ctx context.Context, databaseURL string) error {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return fmt.Errorf("connecting to the hub's database: %w", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, `set session_replication_role = replica`); err != nil { // without checking every reference
		return fmt.Errorf("filling a clinic: %w", err)
	}
	for _, name := range []string{"neighbour", "bench"} { // the last is the one that is asked
		var made struct {
			AccessToken string `json:"access_token"`
			Clinic      struct {
				ID string `json:"id"`
			} `json:"clinic"`
		}
		err := c.gateway.callAt(ctx, http.MethodPost, "/clinic/api/v1/auth/register", nil, map[string]any{
			"clinic_name": name, "name": "Bench", "email": name + "@example.com", "password": "bench bench bench",
		}, &made)
		if err != nil {
			return err
		}
		var issued struct {
			APIKey string `json:"api_key"`
		}
		err = c.gateway.call(ctx, http.MethodPost, "/keys", map[string]any{"tenant_id": made.Clinic.ID, "rate": "0"}, &issued)
		if err != nil {
			return err
		}
		c.user, c.key = bearer(made.AccessToken), http.Header{"X-Integration-Key": {issued.APIKey}}
		for _, fill := range []struct {
			sql  string
			args []any
		}{
			{fillPatients, []any{made.Clinic.ID, clinicPatients, sharedNumbers}}, {fillVisits, []any{made.Clinic.ID}},
			{fillBalances, []any{made.Clinic.ID}}, {fillLinks, []any{made.Clinic.ID, linkedNumbers}},
		} {
			if _, err := conn.Exec(ctx, fill.sql, fill.args...); err != nil {
				return fmt.Errorf("filling a clinic: %w", err)
			}
		}
	}
	if _, err := conn.Exec(ctx, `vacuum analyze clinic.patients, clinic.appointments, clinic.payments, clinic.linked_phones`); err != nil {
		return fmt.Errorf("filling a clinic: %w", err)
	}
	return nil
}

// patientQuestion is a search that is timed. It finds so many patients each time.
type patientQuestion struct {
	name, figure string
	who          http.Header
	path         func(n int) string // n differs each time
	body         func(n int) string // nil: a GET
	media        string             // of the body
	found        int
}

// numbersAsked are the ways in which people ask for a number.
var numbersAsked = []struct {
	name   string
	number func(n int) string
	found  int
}{
	{"as it is stored", func(n int) string { return fmt.Sprintf("+55119%d", 80_003_000+n*317%90_000) }, 1},
	{"without the country", func(n int) string { return fmt.Sprintf("(11) 9%d", 80_003_000+n*311%90_000) }, 1},
	{"without the ninth digit", func(n int) string { return fmt.Sprintf("+5511%d", 80_003_000+n*313%90_000) }, 1},
	{"with neither", func(n int) string { return fmt.Sprintf("11%d", 80_003_000+n*307%90_000) }, 1},
	{"that two share", func(n int) string { return fmt.Sprintf("+55119%d", 80_001_001+n*7%sharedNumbers) }, 2},
	{"that was linked", func(n int) string { return fmt.Sprintf("+5511970%06d", n*7%linkedNumbers) }, 1},
	{"that nobody has", func(n int) string { return fmt.Sprintf("+5521987%06d", n*733%1_000_000) }, 0},
}

func (c *consulting) questions() []patientQuestion {
	var list []patientQuestion
	for _, search := range numbersAsked {
		list = append(list,
			patientQuestion{"a number " + search.name, figurePhoneSearch, c.key, func(n int) string {
				return "/clinic/api/v1/integrations/search/patients?phone=" + url.QueryEscape(search.number(n))
			}, nil, "", search.found},
			patientQuestion{"FHIR, a number " + search.name, figureFHIRPhone, c.key, func(int) string { return "/clinic/fhir/Patient/_search" }, func(n int) string {
				return "phone=" + url.QueryEscape(search.number(n))
			}, "application/x-www-form-urlencoded", search.found})
	}
	for _, search := range []struct {
		name  string
		term  func(n int) string
		found int
	}{
		{"the list, by one's name", func(n int) string { return wordOf(3000 + n*317%90_000) }, 1},
		{"the list, by a family's and a first name", func(n int) string { return "silva " + wordOf(3000+n*311%90_000) }, 1},
		{"the list, by the beginning of an e-mail address", func(n int) string { return fmt.Sprintf("patient%d@", 3000+n*317%90_000) }, 1},
		{"the list, by the end of a number", func(n int) string { return fmt.Sprint(80_003_000 + n*317%90_000) }, 1},
		{"the list, by a name that nobody has", func(n int) string { return fmt.Sprintf("zuleica%d", n) }, 0},
	} {
		list = append(list, patientQuestion{search.name, figureClinicList, c.user, func(int) string { return "/clinic/api/v1/patients/search" }, func(n int) string {
			return fmt.Sprintf(`{"search":%q}`, search.term(n))
		}, "application/json", search.found})
	}
	return list
}

// wordOf is the word that only the n-th patient's name has.
func wordOf(n int) string {
	sum := md5.Sum([]byte(fmt.Sprint(n)))
	return hex.EncodeToString(sum[:4])
}

// ask makes one kind of search many times, after some that do not count.
func (c *consulting) ask(ctx context.Context, q patientQuestion) (QueryTiming, error) {
	const first = 10
	timing := QueryTiming{Query: q.name, Judged: true}
	spans := make([]time.Duration, 0, clinicRounds)
	for n := range first + clinicRounds {
		raw, took, err := c.send(ctx, q, n)
		if err != nil {
			return timing, err
		}
		if n >= first {
			spans = append(spans, took)
		}
		if timing.Rows, err = patientsIn(raw); err != nil {
			return timing, err
		}
		// search/patients answers with one of those that share a number.
		if timing.Rows != q.found && (q.figure != figurePhoneSearch || timing.Rows != min(1, q.found)) {
			return timing, errors.Join(errUnsound, fmt.Errorf("asking for %s: %d found instead of %d: %s", q.name, timing.Rows, q.found, raw))
		}
	}
	timing.set(spans)
	return timing, nil
}

func (c *consulting) send(ctx context.Context, q patientQuestion, n int) (answer []byte, took time.Duration, err error) {
	method, body := http.MethodGet, ""
	if q.body != nil {
		method, body = http.MethodPost, q.body(n)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.gateway.base+q.path(n), strings.NewReader(body))
	if err != nil {
		return nil, 0, fmt.Errorf("making request: %w", err)
	}
	req.Header = q.who.Clone()
	if q.media != "" {
		req.Header.Set("Content-Type", q.media)
	}
	sent := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, 0, fmt.Errorf("calling the hub: %w", err)
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	took = time.Since(sent)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("asking for %s: %s: %s", q.name, resp.Status, answer)
	}
	return answer, took, err
}

// patientsIn counts the patients in an answer of any of the searches.
func patientsIn(raw []byte) (int, error) {
	var answer struct {
		Patient *struct{} `json:"patient"` // search/patients
		Entry   []any     `json:"entry"`   // FHIR
		Items   []any     `json:"items"`   // the list
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return 0, fmt.Errorf("reading an answer: %w", err)
	}
	if answer.Patient != nil {
		return 1, nil
	}
	return len(answer.Entry) + len(answer.Items), nil
}
