// Package clinic has the scenarios of a clinic: searches among many patients, and imports.
package clinic

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

	"integrationhub/cmd/bench/internal/hubapi"
	"integrationhub/cmd/bench/internal/reconcile"
	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/service"
	"integrationhub/cmd/bench/internal/stage"
	"integrationhub/cmd/bench/internal/usage"
)

// Sizes.
const (
	patientCount = 100_000
	sharedPhones = 1_000 // each of two patients
	linkedPhones = 1_000 // linked to patients
	searchRounds = 200   // of each search; users have a rate limit
)

// insertPatients fills a clinic; phone number n is +55 11 9 8…, and some are shared. The
// second clinic has the same numbers: an index without the clinic would be slow.
const insertPatients = `
	insert into clinic.patients (clinic_id, env, id, name, phone, email)
	select $1::uuid, 'live', gen_random_uuid(), (array['Maria', 'Ana', 'João', 'José', 'Antônio', 'Francisca'])[1 + n % 6] || ' ' || initcap(substr(md5(n::text), 1, 8)) || ' da Silva',
		'+55119' || 80000000 + case when n <= $3::int then n + $3 else n end, 'patient' || n || '@example.com'
	from generate_series(1, $2::int) n`

const insertAppointments = `
	insert into clinic.appointments (clinic_id, env, id, patient_id, starts_at, service)
	select clinic_id, env, gen_random_uuid(), id, now() + (k - 2) * interval '30 days', 'Check' from clinic.patients, generate_series(1, 3) k where clinic_id = $1`

const insertPayments = `
	insert into clinic.payments (clinic_id, env, id, patient_id, amount, due_date)
	select clinic_id, env, gen_random_uuid(), id, 50, now() + interval '9 days' from clinic.patients where clinic_id = $1`

const insertLinkedPhones = `
	insert into clinic.linked_phones (clinic_id, env, phone_key, patient_id)
	select clinic_id, env, '+551170' || lpad(n::text, 6, '0'), id
	from (select clinic_id, env, id, row_number() over (order by id) - 1 as n from clinic.patients where clinic_id = $1 order by id limit $2::int) p`

// MeasureSearch measures searches among a clinic's patients, one request at a time.
func MeasureSearch(ctx context.Context, run *stage.Run) (*report.Result, error) {
	gateway := &service.Gateway{Programs: run.Programs}
	st, err := stage.Open(ctx, run, gateway, 1)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	c := &searchClient{api: &gateway.API}
	began := time.Now()
	if err := c.setUp(ctx, st.Cluster.DatabaseURL); err != nil {
		return nil, err
	}
	fmt.Fprintf(run.Progress, "loaded twice %d patients in %s\n", patientCount, time.Since(began).Round(time.Second))
	result := &report.Result{Figures: make(map[string]float64)}
	first, err := st.ReadCPU()
	if err != nil {
		return nil, err
	}
	for _, search := range c.searches() {
		timing, err := c.measure(ctx, search)
		if err != nil {
			return nil, err
		}
		result.Queries = append(result.Queries, timing)
		result.Figures[search.figure] = max(result.Figures[search.figure], timing.P95)
	}
	last, err := st.ReadCPU()
	if err != nil {
		return nil, err
	}
	result.Figures[report.FigureOtherLoad] = usage.OtherLoad(first, last)
	return result, nil
}

// searchClient searches as a user and as a connected product of a clinic.
type searchClient struct {
	api  *hubapi.Client
	user http.Header // credentials of a user
	key  http.Header // credentials of a connected product
}

// setUp registers two clinics through the API and fills them by SQL.
func (c *searchClient) setUp(ctx context.Context, databaseURL string) error {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return fmt.Errorf("connecting to the hub's database: %w", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, `set session_replication_role = replica`); err != nil { // without checking every reference
		return fmt.Errorf("filling a clinic: %w", err)
	}
	for _, name := range []string{"neighbour", "bench"} { // searches are of the last one
		var registered struct {
			AccessToken string `json:"access_token"`
			Clinic      struct {
				ID string `json:"id"`
			} `json:"clinic"`
		}
		err := c.api.CallPath(ctx, http.MethodPost, "/clinic/api/v1/auth/register", nil, map[string]any{
			"clinic_name": name, "name": "Bench", "email": name + "@example.com", "password": "bench bench bench",
		}, &registered)
		if err != nil {
			return err
		}
		key, err := c.api.CreateKey(ctx, registered.Clinic.ID)
		if err != nil {
			return err
		}
		c.user, c.key = hubapi.Bearer(registered.AccessToken), http.Header{"X-Integration-Key": {key}}
		for _, statement := range []struct {
			sql  string
			args []any
		}{
			{insertPatients, []any{registered.Clinic.ID, patientCount, sharedPhones}}, {insertAppointments, []any{registered.Clinic.ID}},
			{insertPayments, []any{registered.Clinic.ID}}, {insertLinkedPhones, []any{registered.Clinic.ID, linkedPhones}},
		} {
			if _, err := conn.Exec(ctx, statement.sql, statement.args...); err != nil {
				return fmt.Errorf("filling a clinic: %w", err)
			}
		}
	}
	if _, err := conn.Exec(ctx, `vacuum analyze clinic.patients, clinic.appointments, clinic.payments, clinic.linked_phones`); err != nil {
		return fmt.Errorf("filling a clinic: %w", err)
	}
	return nil
}

// patientSearch is a kind of search that is measured.
type patientSearch struct {
	name, figure string
	header       http.Header
	path         func(n int) string // n differs each time
	body         func(n int) string // nil: a GET
	contentType  string             // of the body
	matches      int                // patients that each search finds
}

// phoneSearches are the forms in which people write a number.
var phoneSearches = []struct {
	name   string
	number func(n int) string
	found  int
}{
	{"as it is stored", func(n int) string { return fmt.Sprintf("+55119%d", 80_003_000+n*317%90_000) }, 1},
	{"without the country", func(n int) string { return fmt.Sprintf("(11) 9%d", 80_003_000+n*311%90_000) }, 1},
	{"without the ninth digit", func(n int) string { return fmt.Sprintf("+5511%d", 80_003_000+n*313%90_000) }, 1},
	{"with neither", func(n int) string { return fmt.Sprintf("11%d", 80_003_000+n*307%90_000) }, 1},
	{"that two share", func(n int) string { return fmt.Sprintf("+55119%d", 80_001_001+n*7%sharedPhones) }, 2},
	{"that was linked", func(n int) string { return fmt.Sprintf("+5511970%06d", n*7%linkedPhones) }, 1},
	{"that nobody has", func(n int) string { return fmt.Sprintf("+5521987%06d", n*733%1_000_000) }, 0},
}

// searches returns every kind of search.
func (c *searchClient) searches() []patientSearch {
	var searches []patientSearch
	for _, search := range phoneSearches {
		searches = append(searches,
			patientSearch{"a number " + search.name, report.FigurePhoneSearch, c.key, func(n int) string {
				return "/clinic/api/v1/integrations/search/patients?phone=" + url.QueryEscape(search.number(n))
			}, nil, "", search.found},
			patientSearch{"FHIR, a number " + search.name, report.FigureFHIRSearch, c.key, func(int) string { return "/clinic/fhir/Patient/_search" }, func(n int) string {
				return "phone=" + url.QueryEscape(search.number(n))
			}, "application/x-www-form-urlencoded", search.found})
	}
	for _, search := range []struct {
		name  string
		term  func(n int) string
		found int
	}{
		{"the list, by one's name", func(n int) string { return uniqueNamePart(3000 + n*317%90_000) }, 1},
		{"the list, by a family's and a first name", func(n int) string { return "silva " + uniqueNamePart(3000+n*311%90_000) }, 1},
		{"the list, by the beginning of an e-mail address", func(n int) string { return fmt.Sprintf("patient%d@", 3000+n*317%90_000) }, 1},
		{"the list, by the end of a number", func(n int) string { return fmt.Sprint(80_003_000 + n*317%90_000) }, 1},
		{"the list, by a name that nobody has", func(n int) string { return fmt.Sprintf("zuleica%d", n) }, 0},
	} {
		searches = append(searches, patientSearch{search.name, report.FigurePatientList, c.user, func(int) string { return "/clinic/api/v1/patients/search" }, func(n int) string {
			return fmt.Sprintf(`{"search":%q}`, search.term(n))
		}, "application/json", search.found})
	}
	return searches
}

// uniqueNamePart is a word that only the name of patient n has.
func uniqueNamePart(n int) string {
	sum := md5.Sum([]byte(fmt.Sprint(n)))
	return hex.EncodeToString(sum[:4])
}

// measure makes one kind of search many times, after some that do not count. It requires
// the expected number of matches.
func (c *searchClient) measure(ctx context.Context, search patientSearch) (report.QueryTiming, error) {
	const uncounted = 10
	timing := report.QueryTiming{Query: search.name, Judged: true}
	durations := make([]time.Duration, 0, searchRounds)
	for n := range uncounted + searchRounds {
		response, duration, err := c.send(ctx, search, n)
		if err != nil {
			return timing, err
		}
		if n >= uncounted {
			durations = append(durations, duration)
		}
		if timing.Rows, err = countPatients(response); err != nil {
			return timing, err
		}
		// The action search/patients returns one of the patients that share a number.
		if timing.Rows != search.matches && (search.figure != report.FigurePhoneSearch || timing.Rows != min(1, search.matches)) {
			return timing, errors.Join(reconcile.ErrUnsound, fmt.Errorf("asking for %s: %d found instead of %d: %s", search.name, timing.Rows, search.matches, response))
		}
	}
	timing.SetDurations(durations)
	return timing, nil
}

func (c *searchClient) send(ctx context.Context, search patientSearch, n int) (response []byte, duration time.Duration, err error) {
	method, body := http.MethodGet, ""
	if search.body != nil {
		method, body = http.MethodPost, search.body(n)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.api.BaseURL+search.path(n), strings.NewReader(body))
	if err != nil {
		return nil, 0, fmt.Errorf("making request: %w", err)
	}
	req.Header = search.header.Clone()
	if search.contentType != "" {
		req.Header.Set("Content-Type", search.contentType)
	}
	sentAt := time.Now()
	resp, err := hubapi.HTTPClient.Do(req)
	if err != nil {
		return nil, 0, fmt.Errorf("calling the hub: %w", err)
	}
	defer resp.Body.Close()
	response, err = io.ReadAll(resp.Body)
	duration = time.Since(sentAt)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("asking for %s: %s: %s", search.name, resp.Status, response)
	}
	return response, duration, err
}

// countPatients counts the patients in the response of any of the searches.
func countPatients(raw []byte) (int, error) {
	var response struct {
		Patient *struct{} `json:"patient"` // search/patients
		Entry   []any     `json:"entry"`   // FHIR
		Items   []any     `json:"items"`   // the list
	}
	if err := json.Unmarshal(raw, &response); err != nil {
		return 0, fmt.Errorf("reading a response: %w", err)
	}
	if response.Patient != nil {
		return 1, nil
	}
	return len(response.Entry) + len(response.Items), nil
}
