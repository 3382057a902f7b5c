package clinic_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/fhirtest"
	"integrationhub/hub/module"
)

// The clinic's users find patients by what an index knows: words of a name, an e-mail
// address and a number by how they begin, a number also by how it ends.
func TestSearchOfTheList(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	id := p.ok(201, "POST", "/patients", object{"name": "Édson D'Ávila-Nunes", "phone": "+5511987654321", "email": "Edson.Nunes@example.com"})["id"].(string)
	p.ok(201, "POST", "/patients", object{"name": "100% Natural", "phone": "+12125550100", "email": "edna@example.com"})
	p.another().ok(201, "POST", "/patients", object{"name": "Édson Nunes", "phone": "+5511987654321", "email": "edson.nunes@example.com"})
	p.on("test").ok(201, "POST", "/patients", object{"name": "Édson Nunes", "phone": "+5511987654321"})
	for term, found := range map[string]bool{
		"edson": true, "ÉDS": true, "nunes édson": true, "avila": true, "d'av": true, "d'ávila-nunes": true, "dson": false, "edson xavier": false,
		"edson.nunes@": true, "EDSON.NUNES@EXAMPLE.COM": true, "nunes@example": false,
		"+5511987654321": true, "5511987654321": true, "11987654321": true, "(11) 98765-4321": true, "1187654321": true, "119876": true, "+55 11 9876": true,
		"4321": true, "98765-4321": true, "321": false, "5432": false, "'": false, `\`: false, ":*": false, "%": false, "_": false, "&": false,
	} {
		page := p.search(term)
		var ids []string
		for _, one := range itemsOf(page) {
			ids = append(ids, one["id"].(string))
		}
		if found {
			require.Equal(t, []string{id}, ids, term)
		} else {
			require.NotContains(t, ids, id, term)
		}
		require.EqualValues(t, len(ids), page["total"], term)
	}
	require.EqualValues(t, 2, p.search("ed")["total"], "a name and an address")
}

// What the clinic's users look for goes into a body; pages are as the list has them.
func TestSearchByPost(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	for n := range 25 {
		p.ok(201, "POST", "/patients", object{"name": fmt.Sprintf("Zuleica %02d", n)})
	}
	p.ok(204, "DELETE", "/patients/"+itemsOf(p.search("zul 00"))[0]["id"].(string), nil)
	const path = "/patients/search"
	find := func(body object) object { return p.staff().ok(200, "POST", path, body) }
	require.Equal(t, p.get("/patients"), find(object{"search": " "}), "nothing to look for")
	require.Equal(t, p.get("/patients?page=2&per_page=7"), find(object{"search": "zul", "page": 2, "per_page": 7}))
	require.Equal(t, p.get("/patients?status=inactive"), find(object{"search": "Zuleica", "status": "inactive", "clinic_id": p.id, "unknown": []int{1}}))
	require.Empty(t, find(object{"search": "zul", "status": "anonymized"})["items"])
	require.EqualValues(t, 0, find(object{"search": strings.Repeat("é", 200)})["total"])
	for location, bad := range map[string][]object{
		"body.search":   {{}, {"search": nil}, {"search": 7}, {"search": strings.Repeat("x", 201)}},
		"body.status":   {{"search": "x", "status": "gone"}, {"search": "x", "status": ""}},
		"body.page":     {{"search": "x", "page": 0}, {"search": "x", "page": 100_001}, {"search": "x", "page": "2"}},
		"body.per_page": {{"search": "x", "per_page": 0}, {"search": "x", "per_page": 101}, {"search": "x", "per_page": 1.5}},
	} {
		for _, body := range bad {
			p.invalid(location, "POST", path, body)
		}
	}
	require.Equal(t, 400, p.call("POST", path, nil).status, "no body")
	require.Empty(t, p.on("test").search("zul")["items"])

	// In an address it is refused, not overlooked, and not repeated.
	for _, query := range []string{"?search=Zuleica", "?status=active&search=Zuleica", "?search=" + strings.Repeat("Zuleica", 200)} {
		p.invalid("query.search", "GET", "/patients"+query, nil)
		got := p.call("GET", "/patients"+query, nil)
		require.Contains(t, got.text, "POST /patients/search")
		require.NotContains(t, got.text, "Zuleica")
	}
	require.NotContains(t, p.queried()["patients.list"], "search")
}

// What documents have in an address gets into no line of the log, whatever comes of the
// request.
func TestAddressesAreNotLogged(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	id := p.ok(201, "POST", "/patients", object{"name": "Zuleica Prado", "phone": "+5511987654321"})["id"].(string)
	key := p.key()
	paths := []string{
		"/integrations/search/patients?phone=%2B5511987654321", "/integrations/search/patients?phone=(11)+98765-4321", "/integrations/search/patients?phone=Zuleica",
		"/fhir/Patient?name=Zuleica", "/fhir/Patient?phone=11987654321", "/fhir/Patient?phone=Zuleica", "/patients?search=Zuleica",
	}
	ask := func() (statuses []int) {
		for _, path := range paths {
			who := key
			if strings.HasPrefix(path, "/patients") {
				who = p
			}
			statuses = append(statuses, who.call("GET", path, nil).status)
			for _, stranger := range []*practice{p.as(""), p.key("message.send"), p.as("cli_live_x")} {
				require.Contains(t, []int{401, 403}, stranger.call("GET", path, nil).status, path)
			}
		}
		return statuses
	}
	require.Equal(t, []int{200, 200, 422, 200, 200, 400, 422}, ask())
	require.Equal(t, []string{id}, ids(key.ok(200, "GET", paths[3], nil)))
	for _, statement := range []string{`alter table clinic.patients rename to elsewhere`, `alter table clinic.elsewhere rename to patients`} {
		_, err := p.hub.Host.Pool.Exec(t.Context(), statement)
		require.NoError(t, err)
		if strings.HasSuffix(statement, "elsewhere") {
			require.Equal(t, []int{500, 500, 422, 500, 500, 400, 422}, ask())
		}
	}
	log := p.hub.Log()
	for _, action := range []string{"/integrations/search/patients", "fhir.search-patients"} {
		require.Contains(t, log, action, "what failed is in the log")
	}
	for _, private := range []string{"98765", "uleica", "phone=", "name=", "search="} {
		require.NotContains(t, log, private)
	}
}

// However many patients there are, totals of pages are counted up to a number only, and
// so are those of what a patient has.
func TestTotalsAreBounded(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	db, err := pgx.Connect(t.Context(), p.hub.DatabaseURL)
	require.NoError(t, err)
	defer db.Close(t.Context())
	fill := func(sql string, args ...any) {
		_, err := db.Exec(t.Context(), "insert into clinic."+sql+" from generate_series(1, 10001) n", args...)
		require.NoError(t, err)
	}
	_, err = db.Exec(t.Context(), `set session_replication_role = replica`) // without checking every reference
	require.NoError(t, err)
	fill(`patients (clinic_id, env, id, name) select $1, 'live', gen_random_uuid(), 'Ana ' || n`, p.id)
	require.EqualValues(t, 10000, p.get("/patients?per_page=1")["total"])
	require.EqualValues(t, 10000, p.search("ana")["total"])
	require.Len(t, p.items("/patients?per_page=100&page=101"), 1, "what is not counted is there all the same")
	found := func(page string) []object {
		n, err := strconv.Atoi(page)
		require.NoError(t, err)
		return itemsOf(p.ok(200, "POST", "/patients/search", object{"search": "ana", "per_page": 100, "page": n}))
	}
	for _, page := range []string{"1", "50", "51", "101"} { // whether they are among the first by name, or not
		require.Equal(t, p.items("/patients?per_page=100&page="+page), found(page), "page %s", page)
	}
	require.Empty(t, found("102"))
	require.NotContains(t, p.ok(200, "GET", "/fhir/Patient?_count=1", nil), "total", "FHIR has no word for that many or more")
	require.EqualValues(t, 10001, p.ok(200, "GET", "/fhir/Patient?_count=0", nil)["total"], "who asks only for the number is told it")

	id := p.patient(phone)
	for kind, sql := range map[string]string{
		"/records":                       `records (clinic_id, env, id, patient_id, date, type) select $1, 'live', gen_random_uuid(), $2, date '2026-01-01', 'x'`,
		"/appointments?status=cancelled": `appointments (clinic_id, env, id, patient_id, starts_at, status) select $1, 'live', gen_random_uuid(), $2, now(), 'cancelled'`,
		"/payments":                      `payments (clinic_id, env, id, patient_id, amount, due_date) select $1, 'live', gen_random_uuid(), $2, 1, '2099-01-02'`,
		"/interactions":                  `interactions (clinic_id, env, id, patient_id, type, source, source_id, occurred_at) select $1, 'live', gen_random_uuid(), $2, 'call', 'x', n::text, now()`,
	} {
		fill(sql, p.id, id)
		require.EqualValues(t, 10000, p.get("/patients/" + id + kind)["total"], kind)
	}
	fill(`imports (clinic_id, env, id, format, status, total, position, line, finished_at) select $1, 'live', gen_random_uuid(), 'csv', 'done', 1, 0, 1, now()`, p.id)
	require.EqualValues(t, 10000, p.get("/imports")["total"])
}

// A page beyond the last is empty and says how many there are, on every list.
func TestPagesBeyondTheLast(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	owned, names := f.owned(), f.queried()
	const beyond = "?per_page=2&page=900"
	counted, plain := 0, 0
	for _, op := range f.operations() {
		if !slices.Contains(names[op.id], "page") {
			continue
		}
		path := strings.Replace(op.path, "{id}", owned[kindOf(op.path)], 1)
		first, got := f.call("GET", path, nil), f.call("GET", path+beyond, nil)
		require.Equal(t, 200, got.status, "%s: %s", op.id, got.text)
		if first.list != nil { // without counts
			require.NotEmpty(t, first.list, op.id)
			require.Equal(t, "[]", strings.TrimSpace(got.text), op.id)
			plain++
			continue
		}
		require.Equal(t, []any{}, got.body["items"], op.id)
		require.Positive(t, first.body["total"], op.id)
		require.Len(t, first.body["items"], int(first.body["total"].(float64)), op.id)
		require.Equal(t, first.body["total"], got.body["total"], op.id)
		require.EqualValues(t, int(first.body["total"].(float64)+1)/2, got.body["pages"], op.id)
		require.EqualValues(t, 900, got.body["page"], op.id)
		counted++
	}
	require.Equal(t, 8, counted)
	require.Equal(t, 2, plain)
	for _, term := range []string{"", "Ana"} {
		got := f.ok(200, "POST", "/patients/search", object{"search": term, "page": 900})
		require.Empty(t, got["items"])
		require.Equal(t, f.search(term)["total"], got["total"])
		require.Positive(t, got["total"])
	}
}

// Every search of patients is answered by an index that begins with the clinic.
func TestSearchesUseIndexes(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	db, err := pgx.Connect(t.Context(), p.hub.DatabaseURL)
	require.NoError(t, err)
	defer func() { _ = db.Close(context.Background()) }()
	_, err = db.Exec(t.Context(), `insert into clinic.patients (clinic_id, env, id, name, phone, email)
		select $1, 'live', gen_random_uuid(), 'Ana ' || md5(n::text), '+55119' || 80000000 + n, 'ana' || n || '@example.com' from generate_series(1, 20000) n`, p.id)
	require.NoError(t, err)
	_, err = db.Exec(t.Context(), `analyze clinic.patients`)
	require.NoError(t, err)
	key := p.key("patient.read", "patient.search")
	_, err = db.Exec(t.Context(), `select pg_stat_force_next_flush()`) // what filling them read is counted before the first search
	require.NoError(t, err)
	var scans, rows int
	read := func() {
		hubtest.FlushStatistics(t, p.hub.Host.Pool)
		require.NoError(t, db.QueryRow(t.Context(), `select idx_scan, seq_tup_read + idx_tup_fetch from pg_stat_user_tables where relid = 'clinic.patients'::regclass`).Scan(&scans, &rows))
	}
	read()
	before := rows
	const rounds = 12 // more often than PostgreSQL makes a plan of its own for each
	for n := range rounds {
		phone := fmt.Sprintf("119%d", 80000100+n)
		require.Equal(t, true, key.get("/integrations/search/patients?phone=" + phone)["found"])
		require.Len(t, ids(key.ok(200, "GET", "/fhir/Patient?phone="+phone, nil)), 1)
		require.Len(t, ids(key.ok(200, "GET", "/fhir/Patient?name="+p.nameOf(phone), nil)), 1)
		for _, term := range []string{phone, p.nameOf(phone), fmt.Sprintf("ana%d@", 10000+n)} {
			require.Len(t, p.search(term)["items"], 1, term)
		}
	}
	least := scans + rounds*6
	require.Eventually(t, func() bool { read(); return scans >= least }, soon, tick, "a connection is idle a moment after its answer")
	require.Less(t, rows-before, 20000, "rows that %d searches read", rounds*6)
}

// nameOf is the second word of the name of who has a number.
func (p *practice) nameOf(phone string) (word string) {
	p.t.Helper()
	require.NoError(p.t, p.hub.Host.Pool.QueryRow(p.t.Context(), `select split_part(name, ' ', 2) from clinic.patients where clinic_id = $1 and env = 'live' and phone = $2`, p.id, "+55"+phone).Scan(&word))
	return word
}

// lookUp gives whose a number is, as the console finds them.
func (p *practice) lookUp(phone string) (found []string) {
	p.t.Helper()
	matches, err := p.hub.Instance.(module.PhoneSearcher).SearchPhone(p.t.Context(), phone)
	require.NoError(p.t, err)
	for _, one := range matches {
		found = append(found, one.ID)
	}
	return found
}

// What names a person goes into a body, and into no address that the facade writes.
func TestFHIRSearchByForm(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	key := p.key("patient.read")
	var all []string
	for range 3 {
		all = append(all, p.ok(201, "POST", "/patients", object{"name": "Zuleica Prado", "phone": "+5511987654321", "birth_date": "1980-03-02"})["id"].(string))
	}
	p.ok(200, "PUT", "/patients/"+all[0], object{"cpf": "529.982.247-25"})
	const form = "application/x-www-form-urlencoded"
	find := func(body string) object {
		got := key.call("POST", "/fhir/Patient/_search", body, "Content-Type", form)
		require.Equal(t, 200, got.status, got.text)
		require.Equal(t, fhirType, got.header.Get("Content-Type"))
		require.NoError(t, fhirtest.Validate([]byte(got.text)), got.text)
		return got.body
	}
	require.Equal(t, all[:1], ids(find("identifier=529.982.247-25")))
	require.Equal(t, all, ids(find("phone=%2B5511987654321&name=zul")))
	require.Empty(t, ids(find("name=maria")))

	for _, first := range []object{
		find("phone=%2B5511987654321&name=zuleica&birthdate=1980-03-02&_count=1"),
		key.ok(200, "GET", "/fhir/Patient?telecom=%2B5511987654321&name=zuleica&birthdate=1980-03-02&_count=1", nil),
	} {
		seen, page := ids(first), first
		for range 5 {
			links := page["link"].([]any)
			for _, one := range links {
				address := one.(object)["url"].(string)
				for _, private := range []string{"987654321", "uleica", "1980-03", "telecom", "birthdate"} {
					require.NotContains(t, address, private)
				}
			}
			require.Equal(t, ids(page), ids(key.ok(200, "GET", strings.TrimPrefix(links[0].(object)["url"].(string), p.hub.Base), nil)), "the link to itself leads to the same page")
			if len(links) < 2 {
				break
			}
			page = key.ok(200, "GET", strings.TrimPrefix(links[1].(object)["url"].(string), p.hub.Base), nil)
			seen = append(seen, ids(page)...)
		}
		require.Equal(t, all, seen)
		// Another clinic, and the same one's test data, cannot read it.
		link := strings.TrimPrefix(first["link"].([]any)[1].(object)["url"].(string), p.hub.Base)
		for _, other := range []*practice{p.another(), p.on("test")} {
			require.Equal(t, 400, other.call("GET", link, nil).status)
		}
		require.Equal(t, 400, key.call("GET", link[:len(link)-4], nil).status)
	}

	require.Equal(t, 415, key.call("POST", "/fhir/Patient/_search", object{"phone": "x"}).status)
	require.Equal(t, 415, key.call("POST", "/fhir/Patient/_search", "phone=1", "Content-Type", form, "Content-Encoding", "gzip").status)
	bad := key.call("POST", "/fhir/Patient/_search", "phone=%zz", "Content-Type", form)
	require.Equal(t, 400, bad.status)
	require.NoError(t, fhirtest.Validate([]byte(bad.text)), bad.text)
	require.Equal(t, 403, p.key("record.read").call("POST", "/fhir/Patient/_search", "phone=1187654321", "Content-Type", form).status)
}

// The console finds whose a linked number is.
func TestLookupOfLinkedNumbers(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	id := p.patient("+5511987654321")
	_, err := p.hub.Host.Pool.Exec(t.Context(), `insert into clinic.linked_phones (clinic_id, env, phone_key, patient_id) values ($1, 'live', '+552187650000', $2)`, p.id, uuid.MustParse(id))
	require.NoError(t, err)
	for _, phone := range []string{"+5511987654321", "+5521987650000", "2187650000"} {
		require.Equal(t, []string{id}, p.lookUp(phone), phone)
	}
	require.Empty(t, p.lookUp("+5521987650001"))
}

// What hardly anybody has is found by the facade without reading everybody's, whatever it
// is asked by.
func TestFHIRSearchesUseIndexes(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	db, err := pgx.Connect(t.Context(), p.hub.DatabaseURL)
	require.NoError(t, err)
	defer func() { _ = db.Close(context.Background()) }()
	const many = 20000
	for _, sql := range []string{
		`insert into clinic.patients (clinic_id, env, id, name, birth_date, status, updated_at)
			select $1, 'live', gen_random_uuid(), 'Ana ' || n, date '1940-01-01' + n, case when n % 4000 = 0 then 'inactive' else 'active' end, now() - n * interval '1 minute' from generate_series(1, $2::int) n`,
		`insert into clinic.appointments (clinic_id, env, id, patient_id, starts_at, status, updated_at)
			select clinic_id, env, gen_random_uuid(), id, updated_at, case status when 'inactive' then 'no_show' else 'scheduled' end, updated_at from clinic.patients where clinic_id = $1 limit $2`,
		`insert into clinic.records (clinic_id, env, id, patient_id, date, type, updated_at) select clinic_id, env, gen_random_uuid(), id, birth_date, 'x', updated_at from clinic.patients where clinic_id = $1 limit $2`,
		`insert into clinic.interactions (clinic_id, env, id, patient_id, type, source, source_id, occurred_at, created_at)
			select clinic_id, env, gen_random_uuid(), id, 'x', 'x', id::text, updated_at, updated_at from clinic.patients where clinic_id = $1 limit $2`,
	} {
		_, err := db.Exec(t.Context(), sql, p.id, many)
		require.NoError(t, err)
		_, err = db.Exec(t.Context(), `analyze clinic.patients, clinic.appointments, clinic.records, clinic.interactions`)
		require.NoError(t, err)
	}
	_, err = db.Exec(t.Context(), `select pg_stat_force_next_flush()`) // what filling them read is counted before the first search
	require.NoError(t, err)
	var scans, rows int
	read := func() {
		hubtest.FlushStatistics(t, p.hub.Host.Pool)
		require.NoError(t, db.QueryRow(t.Context(), `select sum(idx_scan + seq_scan), sum(seq_tup_read + idx_tup_fetch) from pg_stat_user_tables
			where relid in ('clinic.patients'::regclass, 'clinic.appointments'::regclass, 'clinic.records'::regclass, 'clinic.interactions'::regclass)`).Scan(&scans, &rows))
	}
	const rounds = 12 // more often than PostgreSQL makes a plan of its own for each
	for query, few := range map[string]int{
		"Patient?birthdate=1950-01-01": 1, "Patient?birthdate=lt1900,gt2100": 0, "Patient?birthdate=1950-01-01,1951-01-01": 2, "Patient?_lastUpdated=gt2100": 0, "Patient?active=false": 5,
		"Patient?name:exact=Ana+77": 1, "Patient?name=19977,19978": 2, "Appointment?status=noshow": 5, "Appointment?status=cancelled": 0, "Appointment?_lastUpdated=gt2100": 0, "Appointment?date=1950": 0,
		"Encounter?status=finished": 0, "DocumentReference?_lastUpdated=gt2100": 0, "DocumentReference?date=1950-01-01": 1, "Communication?_lastUpdated=gt2100": 0, "Communication?sent=1950": 0,
	} {
		read()
		before, least := rows, scans+rounds
		for range rounds {
			require.EqualValues(t, few, p.ok(200, "GET", "/fhir/"+query, nil)["total"], query)
		}
		require.Eventually(t, func() bool { read(); return scans >= least }, soon, tick, "%s: a connection is idle a moment after its answer", query)
		require.Less(t, rows-before, many/2, "rows that %d times %s read", rounds, query)
	}
}
