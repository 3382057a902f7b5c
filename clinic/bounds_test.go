package clinic_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// What connected products get at once: 20 where they do not say, 100 at most.
func TestSearchLimits(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	id := p.patient(phone)
	for _, sql := range []string{
		`insert into clinic.records (clinic_id, env, id, patient_id, date, type) select $1, 'live', gen_random_uuid(), $2, date '2026-01-01' + n, 'x' from generate_series(1, 101) n`,
		`insert into clinic.appointments (clinic_id, env, id, patient_id, starts_at, status) select $1, 'live', gen_random_uuid(), $2, now() + n * interval '1 hour', case n % 2 when 0 then 'cancelled' else 'scheduled' end from generate_series(1, 101) n`,
	} {
		_, err := p.hub.Host.Pool.Exec(t.Context(), sql, p.id, id)
		require.NoError(t, err)
	}
	key := p.key("record.read", "appointment.read")
	for _, kind := range []string{"records", "appointments"} {
		path := "/integrations/search/" + kind + "?patient_id=" + id
		for limit, want := range map[string]int{"": 20, "&limit=1": 1, "&limit=20": 20, "&limit=100": 100} {
			require.Len(t, key.get(path + limit)[kind], want, "%s %s", kind, limit)
		}
		for _, limit := range []string{"0", "101", "-1", "x", "1.5"} {
			require.Equal(t, 422, key.call("GET", path+"&limit="+limit, nil).status, "%s, limit %q", kind, limit)
		}
	}
	require.Len(t, key.get("/integrations/search/appointments?status=cancelled&limit=100&patient_id=" + id)["appointments"], 50)
}

func TestProfessionals(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	made := p.ok(201, "POST", "/professionals", object{"name": "  Dra. Lima ", "specialty": "Orthodontics", "register": "CRO/SP 1"})
	id := made["id"].(string)
	require.Equal(t, object{"id": id, "name": "Dra. Lima", "specialty": "Orthodontics", "register": "CRO/SP 1", "is_active": true, "created_at": made["created_at"]}, made)
	other := p.ok(201, "POST", "/professionals", object{"name": "Ana Reis", "is_active": false})
	require.Nil(t, other["specialty"])
	require.Equal(t, false, other["is_active"])
	list := p.staff().call("GET", "/professionals", nil).list
	require.Equal(t, []object{other, made}, list, "by name")

	done := p.ok(200, "PUT", "/professionals/"+id, object{"specialty": nil, "register": "", "is_active": false})
	require.Equal(t, "Dra. Lima", done["name"], "what is not said stays")
	require.Nil(t, done["specialty"])
	require.Nil(t, done["register"])
	require.Equal(t, false, done["is_active"])
	for location, bad := range map[string]object{
		"body.name": {"name": " "}, "body.specialty": {"specialty": strings.Repeat("x", 121)}, "body.register": {"register": strings.Repeat("x", 61)},
	} {
		p.invalid(location, "PUT", "/professionals/"+id, bad)
	}
	p.invalid("body.name", "POST", "/professionals", object{"name": strings.Repeat("x", 121)})
	p.invalid("body.name", "POST", "/professionals", object{"specialty": "x"})
	p.ok(201, "POST", "/professionals", object{"name": strings.Repeat("é", 120)})
	require.Empty(t, p.on("test").call("GET", "/professionals", nil).list)
	for path, last := range map[string]int{"/professionals": 3, "/users": 2} {
		require.Len(t, p.call("GET", path, nil).list, last)
		require.Len(t, p.call("GET", path+"?per_page=1&page=2", nil).list, 1)
		require.Empty(t, p.call("GET", path+"?per_page=500&page=2", nil).list)
		p.invalid("query.per_page", "GET", path+"?per_page=501", nil)
	}
	p.ok(204, "DELETE", "/professionals/"+id, nil)
	require.Len(t, p.call("GET", "/professionals", nil).list, 2)
}

// What runs by itself, and how often.
func TestJobs(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	require.Equal(t, time.Hour, p.job("overdue").Every)
	require.Equal(t, 5*time.Minute, p.job("deletions").Every)
	require.Zero(t, p.job("import").Every, "when a file was uploaded")
}

// The day that is over is that of the clinic's present zone, a payment that is made late
// is pending until the job sees it, and the job sees more than it takes in at once.
func TestOverdueAtItsEdges(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	id := p.patient(phone)
	p.ok(200, "PUT", "/clinic", object{"timezone": "Pacific/Niue"})
	there, err := time.LoadLocation("Pacific/Niue")
	require.NoError(t, err)
	p.ok(201, "POST", "/patients/"+id+"/payments", object{"amount": 1, "due_date": time.Now().In(there).Format(time.DateOnly)})
	run := func() any { return p.ok(200, "POST", "/payments/run-overdue", nil)["overdue"] }
	require.EqualValues(t, 0, run())
	p.ok(200, "PUT", "/clinic", object{"timezone": "Pacific/Kiritimati"})
	require.EqualValues(t, 1, run(), "a clinic that moved")

	late := p.ok(201, "POST", "/patients/"+id+"/payments", object{"amount": 1, "due_date": "2026-01-02"})
	require.Equal(t, "pending", late["status"])
	require.Equal(t, 0, p.count(`select count(*) from clinic.payments where clinic_id = $1 and id = $2 and status <> 'pending'`, late["id"]))
	require.EqualValues(t, 1, run())

	_, err = p.hub.Host.Pool.Exec(t.Context(), `insert into clinic.payments (clinic_id, env, id, patient_id, amount, due_date) select $1, 'live', gen_random_uuid(), $2, 1, '2026-01-02' from generate_series(1, 450)`, p.id, id)
	require.NoError(t, err)
	before := len(p.sent())
	require.EqualValues(t, 450, run())
	require.Len(t, p.kinds(before), 450, "each told once")
	require.EqualValues(t, 0, run())
}

// An export and $everything have all of it, however many pages that is read in.
func TestEverythingOfMany(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	id := p.patient(phone)
	const many = 1203
	_, err := p.hub.Host.Pool.Exec(t.Context(), `insert into clinic.interactions (clinic_id, env, id, patient_id, type, summary, source, source_id, occurred_at)
		select $1, 'live', gen_random_uuid(), $2, 'call', 'number ' || n, 'elsewhere', n::text, now() from generate_series(1, $3::int) n`, p.id, id, many)
	require.NoError(t, err)
	distinct := func(list []any, text func(object) any) map[any]bool {
		seen := make(map[any]bool)
		for _, one := range list {
			seen[text(one.(object))] = true
		}
		return seen
	}
	all := p.get("/patients/" + id + "/export")["interactions"].([]any)
	require.Len(t, all, many)
	require.Len(t, distinct(all, func(o object) any { return o["summary"] }), many)
	for _, path := range []string{"/fhir/Patient/" + id + "/$everything", "/api/v1/patients/" + id + "/export?format=fhir"} {
		bundle := p.get(path)
		require.EqualValues(t, many+1, bundle["total"])
		require.Len(t, distinct(bundle["entry"].([]any), func(o object) any { return o["fullUrl"] }), many+1)
	}
	table := p.call("GET", "/patients/"+id+"/export?format=csv", nil).text
	require.Equal(t, many, strings.Count(table, "\ninteraction,"))
	p.refused(422, "validation_failed", "GET", "/patients/"+id+"/export?format=fhir&reveal=cpf", nil)
}

// Of a file's errors the first thousand are kept; all are counted.
func TestImportKeepsSoManyErrors(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	got := p.imported("csv", "nome;cpf\n"+strings.Repeat("Ana;11111111111\n", 1001)+"Bia;\n")
	counts(t, got, 1, 0, 0, 1001)
	require.Len(t, got["errors"], 1000)
	require.EqualValues(t, 1001, got["errors"].([]any)[999].(object)["line"])
}

// An uploaded file is encrypted while it waits, whatever of the database one looks at.
func TestWaitingImportIsSealed(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	tx, err := p.hub.Host.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), `lock table clinic.patients in exclusive mode`) // so that nobody is taken in yet
	require.NoError(t, err)
	made := p.upload("csv", "nome;cpf;email\nZuleica Prado;529.982.247-25;zuleica@example.com\n")
	require.Equal(t, 202, made.status, made.text)
	require.Equal(t, 1, p.count(`select count(*) from clinic.import_chunks where clinic_id = $1`))
	for _, needle := range []string{"zuleica", "529.982.247-25", "52998224725"} {
		require.Empty(t, hubtest.FindInDatabase(t, p.hub.DatabaseURL, needle))
	}
	require.NoError(t, tx.Rollback(t.Context()))
	counts(t, p.settled(made.body["id"].(string)), 1, 0, 0, 0)
}

// Who may not import sends nothing: a long file is refused before it was read.
func TestStaffUploadsNothing(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	long := "nome\n" + strings.Repeat("Ana Souza\n", 200_000)
	for name, file := range map[string]string{"long": long, "short": "nome\nAna\n"} {
		got := p.staff().upload("csv", file)
		require.Equal(t, 403, got.status, "%s: %s", name, got.text)
		require.Equal(t, "admin_only", got.body["code"])
	}
	require.Equal(t, 413, p.as("nobody").upload("csv", long).status)
}
