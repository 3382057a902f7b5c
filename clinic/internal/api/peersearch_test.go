package api_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/module"
)

// Connected products get 20 items by default, 100 at most.
func TestSearchLimits(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.AddPatient(clinictest.Phone)
	for _, sql := range []string{
		`insert into clinic.records (clinic_id, env, id, patient_id, date, type) select $1, 'live', gen_random_uuid(), $2, date '2026-01-01' + n, 'x' from generate_series(1, 101) n`,
		`insert into clinic.appointments (clinic_id, env, id, patient_id, starts_at, status) select $1, 'live', gen_random_uuid(), $2, now() + n * interval '1 hour', case n % 2 when 0 then 'cancelled' else 'scheduled' end from generate_series(1, 101) n`,
	} {
		_, err := clinic.Hub.Host.Pool.Exec(t.Context(), sql, clinic.ID, id)
		require.NoError(t, err)
	}
	key := clinic.NewKey("record.read", "appointment.read")
	for _, kind := range []string{"records", "appointments"} {
		path := "/integrations/search/" + kind + "?patient_id=" + id
		for limit, want := range map[string]int{"": 20, "&limit=1": 1, "&limit=20": 20, "&limit=100": 100} {
			require.Len(t, key.Get(path + limit)[kind], want, "%s %s", kind, limit)
		}
		for _, limit := range []string{"0", "101", "-1", "x", "1.5"} {
			require.Equal(t, 422, key.Call("GET", path+"&limit="+limit, nil).Status, "%s, limit %q", kind, limit)
		}
	}
	require.Len(t, key.Get("/integrations/search/appointments?status=cancelled&limit=100&patient_id=" + id)["appointments"], 50)
}

// The response of search/patients has exactly the documented members
// (docs/interfaces/clinic.md, "Search and action").
func TestPatientSearchResult(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 3, 15, 0, 0, 0, time.UTC)
	clinic := clinictest.NewClinicAt(t, now)
	id := clinic.OK(201, "POST", "/patients", object{"name": "Ana Souza", "phone": clinictest.Phone, "email": "ana@example.com", "cpf": clinictest.CPF, "birth_date": "1990-05-17"})["id"].(string)
	path, key := "/patients/"+id, clinic.NewKey()
	at := func(d time.Duration) string { return now.Add(d).Format(time.RFC3339) }
	for after, status := range map[time.Duration]string{
		-72 * time.Hour: "completed", -48 * time.Hour: "completed", -24 * time.Hour: "no_show", -12 * time.Hour: "cancelled",
		12 * time.Hour: "cancelled", 24 * time.Hour: "scheduled", 48 * time.Hour: "confirmed",
	} {
		clinic.OK(201, "POST", path+"/appointments", object{"datetime": at(after), "status": status})
	}
	clinic.OK(201, "POST", path+"/payments", object{"amount": 10.55, "due_date": "2026-04-01"})
	clinic.OK(201, "POST", path+"/payments", object{"amount": 5.20, "due_date": "2026-03-02"})
	clinic.OK(201, "POST", path+"/payments", object{"amount": 7, "due_date": "2026-03-02", "status": "paid"})
	clinic.OK(200, "POST", "/payments/run-overdue", nil)
	require.Equal(t, object{"found": true, "matches": 1.0, "patient": object{
		"id": id, "name": "Ana Souza", "phone": clinictest.Phone, "email": "ana@example.com", "cpf": "***.***.***-09", "birth_date": "1990-05-17",
		"last_appointment": at(-48 * time.Hour), "next_appointment": at(24 * time.Hour), "balance_due": 15.75, "status": "active",
	}}, key.Get("/integrations/search/patients?phone=%2B5511987654321"))

	// Who was put away is found, where nobody else has the number; of two numbers the first is asked for.
	clinic.OK(204, "DELETE", path, nil)
	clinic.AddPatient("+5511900001111")
	for _, query := range []string{"phone=5511987654321", "phone=5511987654321&phone=5511900001111"} {
		got := key.Get("/integrations/search/patients?" + query)
		require.Equal(t, true, got["found"], query)
		require.Equal(t, id, got["patient"].(object)["id"], query)
		require.Equal(t, "inactive", got["patient"].(object)["status"], query)
	}
}

func TestPatientSearch(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	id := clinic.OK(201, "POST", "/patients", object{"name": "Ana Souza", "phone": "+5511987654321", "email": "ana@example.com", "cpf": clinictest.CPF, "birth_date": "1990-05-17"})["id"].(string)
	landline := clinic.AddPatient("+551133334444")
	foreign := clinic.AddPatient("+12125551234")
	old := clinic.AddPatient("+552187651111") // a mobile that was written down without its ninth digit
	key := clinic.NewKey("patient.search")
	found := func(query string) any {
		got := key.Get("/integrations/search/patients?phone=" + query)
		if got["found"] == false {
			require.Nil(t, got["patient"])
			return nil
		}
		return got["patient"].(object)["id"]
	}
	for _, phone := range []string{
		"+5511987654321", "5511987654321", "11987654321", "1187654321", "+551187654321", "+55 (11) 98765-4321", "011987654321", " 5511987654321",
	} {
		require.Equal(t, id, found(url.QueryEscape(phone)), phone)
	}
	require.Equal(t, id, found("+5511987654321"), "a plus that nobody escaped is a space")
	require.Equal(t, landline, found("1133334444"))
	require.Nil(t, found("%2B5511933334444"), "a mobile is no landline with a nine")
	require.Equal(t, foreign, found("%2B12125551234"))
	require.Equal(t, foreign, found("+12125551234"))
	require.Equal(t, old, found("%2B5521987651111"))
	require.Nil(t, found("%2B5511900000000"))
	require.Nil(t, clinic.AnotherClinic().NewKey().Get("/integrations/search/patients?phone=%2B5511987654321")["patient"])

	got := key.Get("/integrations/search/patients?phone=%2B5511987654321")["patient"]
	require.Equal(t, object{
		"id": id, "name": "Ana Souza", "phone": "+5511987654321", "email": "ana@example.com", "cpf": "***.***.***-09", "birth_date": "1990-05-17",
		"last_appointment": nil, "next_appointment": nil, "balance_due": 0.0, "status": "active",
	}, got)
	for _, bad := range []string{"", "?phone=", "?phone=123", "?phone=abc", "?phone=%2B1234567890123456"} {
		require.Equal(t, 422, key.Call("GET", "/integrations/search/patients"+bad, nil).Status, bad)
	}
	clinic.NewKey("record.read").Refused(403, "missing_scope", "GET", "/integrations/search/patients?phone=11987654321", nil)
	clinic.Refused(401, "invalid_key", "GET", "/integrations/search/patients?phone=11987654321", nil)
	matches, err := clinic.Hub.Instance.(module.PhoneSearcher).SearchPhone(t.Context(), "+5511987654321")
	require.NoError(t, err)
	ids := map[string]bool{}
	for _, m := range matches {
		ids[m.TenantID.String()+" "+m.Kind+" "+m.ID] = true
	}
	require.True(t, ids[clinic.ID.String()+" patient "+id])
}

// Users find patients by the beginnings of words of a name, by the beginning of an address or
// number, and by the end of a number.
func TestSearchTerms(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.OK(201, "POST", "/patients", object{"name": "Édson D'Ávila-Nunes", "phone": "+5511987654321", "email": "Edson.Nunes@example.com"})["id"].(string)
	clinic.OK(201, "POST", "/patients", object{"name": "100% Natural", "phone": "+12125550100", "email": "edna@example.com"})
	clinic.AnotherClinic().OK(201, "POST", "/patients", object{"name": "Édson Nunes", "phone": "+5511987654321", "email": "edson.nunes@example.com"})
	clinic.InEnvironment("test").OK(201, "POST", "/patients", object{"name": "Édson Nunes", "phone": "+5511987654321"})
	for term, found := range map[string]bool{
		"edson": true, "ÉDS": true, "nunes édson": true, "avila": true, "d'av": true, "d'ávila-nunes": true, "dson": false, "edson xavier": false,
		"edson.nunes@": true, "EDSON.NUNES@EXAMPLE.COM": true, "nunes@example": false,
		"+5511987654321": true, "5511987654321": true, "11987654321": true, "(11) 98765-4321": true, "1187654321": true, "119876": true, "+55 11 9876": true,
		"4321": true, "98765-4321": true, "321": false, "5432": false, "'": false, `\`: false, ":*": false, "%": false, "_": false, "&": false,
	} {
		page := clinic.SearchPatients(term)
		var ids []string
		for _, item := range moduletest.Items(page) {
			ids = append(ids, item["id"].(string))
		}
		if found {
			require.Equal(t, []string{id}, ids, term)
		} else {
			require.NotContains(t, ids, id, term)
		}
		require.EqualValues(t, len(ids), page["total"], term)
	}
	require.EqualValues(t, 2, clinic.SearchPatients("ed")["total"], "a name and an address")
}

// Searches of users are sent in a body. Pages are those of the list.
func TestSearchByPost(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	for n := range 25 {
		clinic.OK(201, "POST", "/patients", object{"name": fmt.Sprintf("Zuleica %02d", n)})
	}
	clinic.OK(204, "DELETE", "/patients/"+moduletest.Items(clinic.SearchPatients("zul 00"))[0]["id"].(string), nil)
	const path = "/patients/search"
	find := func(body object) object { return clinic.AddStaff().OK(200, "POST", path, body) }
	require.Equal(t, clinic.Get("/patients"), find(object{"search": " "}), "nothing to look for")
	require.Equal(t, clinic.Get("/patients?page=2&per_page=7"), find(object{"search": "zul", "page": 2, "per_page": 7}))
	require.Equal(t, clinic.Get("/patients?status=inactive"), find(object{"search": "Zuleica", "status": "inactive", "clinic_id": clinic.ID, "unknown": []int{1}}))
	require.Empty(t, find(object{"search": "zul", "status": "anonymized"})["items"])
	require.EqualValues(t, 0, find(object{"search": strings.Repeat("é", 200)})["total"])
	for location, bad := range map[string][]object{
		"body.search":   {{}, {"search": nil}, {"search": 7}, {"search": strings.Repeat("x", 201)}},
		"body.status":   {{"search": "x", "status": "gone"}, {"search": "x", "status": ""}},
		"body.page":     {{"search": "x", "page": 0}, {"search": "x", "page": 100_001}, {"search": "x", "page": "2"}},
		"body.per_page": {{"search": "x", "per_page": 0}, {"search": "x", "per_page": 101}, {"search": "x", "per_page": 1.5}},
	} {
		for _, body := range bad {
			clinic.Invalid(location, "POST", path, body)
		}
	}
	require.Equal(t, 400, clinic.Call("POST", path, nil).Status, "no body")
	require.Empty(t, clinic.InEnvironment("test").SearchPatients("zul")["items"])

	// In an address it is refused, not overlooked, and not repeated.
	for _, query := range []string{"?search=Zuleica", "?status=active&search=Zuleica", "?search=" + strings.Repeat("Zuleica", 200)} {
		clinic.Invalid("query.search", "GET", "/patients"+query, nil)
		got := clinic.Call("GET", "/patients"+query, nil)
		require.Contains(t, got.Text, "POST /patients/search")
		require.NotContains(t, got.Text, "Zuleica")
	}
	require.NotContains(t, queryParameters(clinic)["patients.list"], "search")
}

// Totals of lists are counted up to a bound.
func TestTotalsAreBounded(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	db, err := pgx.Connect(t.Context(), clinic.Hub.DatabaseURL)
	require.NoError(t, err)
	defer db.Close(t.Context())
	fillPlaceholders := func(sql string, args ...any) {
		_, err := db.Exec(t.Context(), "insert into clinic."+sql+" from generate_series(1, 10001) n", args...)
		require.NoError(t, err)
	}
	_, err = db.Exec(t.Context(), `set session_replication_role = replica`) // without checking every reference
	require.NoError(t, err)
	fillPlaceholders(`patients (clinic_id, env, id, name) select $1, 'live', gen_random_uuid(), 'Ana ' || n`, clinic.ID)
	require.EqualValues(t, 10000, clinic.Get("/patients?per_page=1")["total"])
	require.EqualValues(t, 10000, clinic.SearchPatients("ana")["total"])
	require.Len(t, clinic.Items("/patients?per_page=100&page=101"), 1, "what is not counted is there all the same")
	found := func(page string) []object {
		n, err := strconv.Atoi(page)
		require.NoError(t, err)
		return moduletest.Items(clinic.OK(200, "POST", "/patients/search", object{"search": "ana", "per_page": 100, "page": n}))
	}
	for _, page := range []string{"1", "50", "51", "101"} { // whether they are among the first by name, or not
		require.Equal(t, clinic.Items("/patients?per_page=100&page="+page), found(page), "page %s", page)
	}
	require.Empty(t, found("102"))
	require.NotContains(t, clinic.OK(200, "GET", "/fhir/Patient?_count=1", nil), "total", "FHIR has no word for that many or more")
	require.EqualValues(t, 10001, clinic.OK(200, "GET", "/fhir/Patient?_count=0", nil)["total"], "a count alone is returned")

	id := clinic.AddPatient(clinictest.Phone)
	for kind, sql := range map[string]string{
		"/records":                       `records (clinic_id, env, id, patient_id, date, type) select $1, 'live', gen_random_uuid(), $2, date '2026-01-01', 'x'`,
		"/appointments?status=cancelled": `appointments (clinic_id, env, id, patient_id, starts_at, status) select $1, 'live', gen_random_uuid(), $2, now(), 'cancelled'`,
		"/payments":                      `payments (clinic_id, env, id, patient_id, amount, due_date) select $1, 'live', gen_random_uuid(), $2, 1, '2099-01-02'`,
		"/interactions":                  `interactions (clinic_id, env, id, patient_id, type, source, source_id, occurred_at) select $1, 'live', gen_random_uuid(), $2, 'call', 'x', n::text, now()`,
	} {
		fillPlaceholders(sql, clinic.ID, id)
		require.EqualValues(t, 10000, clinic.Get("/patients/" + id + kind)["total"], kind)
	}
	fillPlaceholders(`imports (clinic_id, env, id, format, status, total, position, line, finished_at) select $1, 'live', gen_random_uuid(), 'csv', 'done', 1, 0, 1, now()`, clinic.ID)
	require.EqualValues(t, 10000, clinic.Get("/imports")["total"])
}

// A page beyond the last is empty and has the total, in every list.
func TestPagesBeyondTheLast(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewChartedClinic(t)
	owned, names := ResourceIDs(clinic), queryParameters(clinic.Clinic)
	clinic.Exec(`insert into clinic.record_accesses (clinic_id, env, id, patient_id, user_id, user_name, reason, created_at)
		values ($1, 'live', gen_random_uuid(), $2, gen_random_uuid(), 'Bia', 'A court asks for it', now())`, clinic.PatientID)
	const beyond = "?per_page=2&page=900"
	parameters := map[string]string{"appointments.agenda": "&from=2026-02-01&to=2027-01-31", "payments.due": "&status=pending"}
	counted, plain := 0, 0
	for _, op := range clinic.OwnOperations() {
		if !slices.Contains(names[op.ID], "page") {
			continue
		}
		path := strings.Replace(op.Path, "{id}", owned[idKind(op.Path)], 1)
		first, got := clinic.Call("GET", path+"?page=1"+parameters[op.ID], nil), clinic.Call("GET", path+beyond+parameters[op.ID], nil)
		require.Equal(t, 200, got.Status, "%s: %s", op.ID, got.Text)
		if first.List != nil { // without counts
			require.NotEmpty(t, first.List, op.ID)
			require.Equal(t, "[]", strings.TrimSpace(got.Text), op.ID)
			plain++
			continue
		}
		require.Equal(t, []any{}, got.Body["items"], op.ID)
		require.Positive(t, first.Body["total"], op.ID)
		require.Len(t, first.Body["items"], int(first.Body["total"].(float64)), op.ID)
		require.Equal(t, first.Body["total"], got.Body["total"], op.ID)
		require.EqualValues(t, int(first.Body["total"].(float64)+1)/2, got.Body["pages"], op.ID)
		require.EqualValues(t, 900, got.Body["page"], op.ID)
		counted++
	}
	require.Equal(t, 11, counted)
	require.Equal(t, 2, plain)
	for _, term := range []string{"", "Ana"} {
		got := clinic.OK(200, "POST", "/patients/search", object{"search": term, "page": 900})
		require.Empty(t, got["items"])
		require.Equal(t, clinic.SearchPatients(term)["total"], got["total"])
		require.Positive(t, got["total"])
	}
}

// Every search of patients uses an index that begins with the clinic.
func TestSearchesUseIndexes(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	db, err := pgx.Connect(t.Context(), clinic.Hub.DatabaseURL)
	require.NoError(t, err)
	defer func() { _ = db.Close(context.Background()) }()
	_, err = db.Exec(t.Context(), `insert into clinic.patients (clinic_id, env, id, name, phone, email)
		select $1, 'live', gen_random_uuid(), 'Ana ' || md5(n::text), '+55119' || 80000000 + n, 'ana' || n || '@example.com' from generate_series(1, 20000) n`, clinic.ID)
	require.NoError(t, err)
	_, err = db.Exec(t.Context(), `analyze clinic.patients`)
	require.NoError(t, err)
	key := clinic.NewKey("patient.read", "patient.search")
	_, err = db.Exec(t.Context(), `select pg_stat_force_next_flush()`) // what filling them read is counted before the first search
	require.NoError(t, err)
	var scans, rows int
	read := func() {
		hubtest.FlushStatistics(t, clinic.Hub.Host.Pool)
		require.NoError(t, db.QueryRow(t.Context(), `select idx_scan, seq_tup_read + idx_tup_fetch from pg_stat_user_tables where relid = 'clinic.patients'::regclass`).Scan(&scans, &rows))
	}
	read()
	before := rows
	const rounds = 12 // more often than PostgreSQL makes a plan of its own for each
	for n := range rounds {
		phone := fmt.Sprintf("119%d", 80000100+n)
		require.Equal(t, true, key.Get("/integrations/search/patients?phone=" + phone)["found"])
		require.Len(t, BundleIDs(key.OK(200, "GET", "/fhir/Patient?phone="+phone, nil)), 1)
		require.Len(t, BundleIDs(key.OK(200, "GET", "/fhir/Patient?name="+nameOf(clinic, phone), nil)), 1)
		for _, term := range []string{phone, nameOf(clinic, phone), fmt.Sprintf("ana%d@", 10000+n)} {
			require.Len(t, clinic.SearchPatients(term)["items"], 1, term)
		}
	}
	least := scans + rounds*6
	require.Eventually(t, func() bool { read(); return scans >= least }, clinictest.Timeout, clinictest.Tick, "a connection is idle a moment after its answer")
	require.Less(t, rows-before, 20000, "rows that %d searches read", rounds*6)
}

// nameOf is the second word of the name of who has a number.
func nameOf(clinic *clinictest.Clinic, phone string) (word string) {
	clinic.T.Helper()
	require.NoError(clinic.T, clinic.Hub.Host.Pool.QueryRow(clinic.T.Context(), `select split_part(name, ' ', 2) from clinic.patients where clinic_id = $1 and env = 'live' and phone = $2`, clinic.ID, "+55"+phone).Scan(&word))
	return word
}

// lookUpPhone returns the patients of a number, as the console finds them.
func lookUpPhone(clinic *clinictest.Clinic, phone string) (found []string) {
	clinic.T.Helper()
	matches, err := clinic.Hub.Instance.(module.PhoneSearcher).SearchPhone(clinic.T.Context(), phone)
	require.NoError(clinic.T, err)
	for _, match := range matches {
		found = append(found, match.ID)
	}
	return found
}

// The console finds the patient of a linked number.
func TestLookupOfLinkedNumbers(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	id := clinic.AddPatient("+5511987654321")
	_, err := clinic.Hub.Host.Pool.Exec(t.Context(), `insert into clinic.linked_phones (clinic_id, env, phone_key, patient_id) values ($1, 'live', '+552187650000', $2)`, clinic.ID, uuid.MustParse(id))
	require.NoError(t, err)
	for _, phone := range []string{"+5511987654321", "+5521987650000", "2187650000"} {
		require.Equal(t, []string{id}, lookUpPhone(clinic, phone), phone)
	}
	require.Empty(t, lookUpPhone(clinic, "+5521987650001"))
}

// Patients of all clinics are found by e-mail address in any case, and by the end of a CPF;
// not those of test data.
func TestLookupByEmailAndCPF(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	exec := func(sql string, args ...any) {
		_, err := clinic.Hub.Host.Pool.Exec(t.Context(), sql, args...)
		require.NoError(t, err)
	}
	id := clinic.AddPatient("+5511987654321")
	exec(`update clinic.patients set email = 'Maria@Lookup.example', cpf_enc = 'x', cpf_hmac = 'x', cpf_last2 = '09' where id = $1`, id)
	exec(`insert into clinic.patients (clinic_id, env, id, name, email, cpf_enc, cpf_hmac, cpf_last2)
		values ($1, 'test', gen_random_uuid(), 'Sandbox', 'maria@lookup.example', 'x', 'x', '09')`, clinic.ID)
	ids := func(matches []module.PersonMatch, err error) (found []string) {
		require.NoError(t, err)
		for _, match := range matches {
			if match.TenantID == clinic.ID {
				require.Equal(t, "patient", match.Kind)
				found = append(found, match.ID)
			}
		}
		return found
	}
	emails, ends := clinic.Hub.Instance.(module.EmailSearcher), clinic.Hub.Instance.(module.CPFSearcher)
	require.Equal(t, []string{id}, ids(emails.SearchEmail(t.Context(), "maria@lookup.example")))
	require.Equal(t, []string{id}, ids(ends.SearchCPFEnd(t.Context(), "09")))
	require.Empty(t, ids(ends.SearchCPFEnd(t.Context(), "08")))
	require.Empty(t, ids(emails.SearchEmail(t.Context(), "other@lookup.example")))
}
