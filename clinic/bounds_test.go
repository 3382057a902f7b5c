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
	p := NewClinic(t)
	id := p.AddPatient(Phone)
	for _, sql := range []string{
		`insert into clinic.records (clinic_id, env, id, patient_id, date, type) select $1, 'live', gen_random_uuid(), $2, date '2026-01-01' + n, 'x' from generate_series(1, 101) n`,
		`insert into clinic.appointments (clinic_id, env, id, patient_id, starts_at, status) select $1, 'live', gen_random_uuid(), $2, now() + n * interval '1 hour', case n % 2 when 0 then 'cancelled' else 'scheduled' end from generate_series(1, 101) n`,
	} {
		_, err := p.Hub.Host.Pool.Exec(t.Context(), sql, p.ID, id)
		require.NoError(t, err)
	}
	key := p.NewKey("record.read", "appointment.read")
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

func TestProfessionals(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	made := p.OK(201, "POST", "/professionals", object{"name": "  Dra. Lima ", "specialty": "Orthodontics", "register": "CRO/SP 1"})
	id := made["id"].(string)
	require.Equal(t, object{"id": id, "name": "Dra. Lima", "specialty": "Orthodontics", "register": "CRO/SP 1", "is_active": true, "created_at": made["created_at"]}, made)
	other := p.OK(201, "POST", "/professionals", object{"name": "Ana Reis", "is_active": false})
	require.Nil(t, other["specialty"])
	require.Equal(t, false, other["is_active"])
	list := p.AddStaff().Call("GET", "/professionals", nil).List
	require.Equal(t, []object{other, made}, list, "by name")

	done := p.OK(200, "PUT", "/professionals/"+id, object{"specialty": nil, "register": "", "is_active": false})
	require.Equal(t, "Dra. Lima", done["name"], "what is not said stays")
	require.Nil(t, done["specialty"])
	require.Nil(t, done["register"])
	require.Equal(t, false, done["is_active"])
	for location, bad := range map[string]object{
		"body.name": {"name": " "}, "body.specialty": {"specialty": strings.Repeat("x", 121)}, "body.register": {"register": strings.Repeat("x", 61)},
	} {
		p.Invalid(location, "PUT", "/professionals/"+id, bad)
	}
	p.Invalid("body.name", "POST", "/professionals", object{"name": strings.Repeat("x", 121)})
	p.Invalid("body.name", "POST", "/professionals", object{"specialty": "x"})
	p.OK(201, "POST", "/professionals", object{"name": strings.Repeat("é", 120)})
	require.Empty(t, p.InEnvironment("test").Call("GET", "/professionals", nil).List)
	for path, last := range map[string]int{"/professionals": 3, "/users": 2} {
		require.Len(t, p.Call("GET", path, nil).List, last)
		require.Len(t, p.Call("GET", path+"?per_page=1&page=2", nil).List, 1)
		require.Empty(t, p.Call("GET", path+"?per_page=500&page=2", nil).List)
		p.Invalid("query.per_page", "GET", path+"?per_page=501", nil)
	}
	p.OK(204, "DELETE", "/professionals/"+id, nil)
	require.Len(t, p.Call("GET", "/professionals", nil).List, 2)
}

// What runs by itself, and how often.
func TestJobs(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	require.Equal(t, time.Hour, p.Job("overdue").Every)
	require.Equal(t, 5*time.Minute, p.Job("deletions").Every)
	require.Zero(t, p.Job("import").Every, "when a file was uploaded")
}

// The day that is over is that of the clinic's present zone, a payment that is made late
// is pending until the job sees it, and the job sees more than it takes in at once.
func TestOverdueAtItsEdges(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	id := p.AddPatient(Phone)
	p.OK(200, "PUT", "/clinic", object{"timezone": "Pacific/Niue"})
	there, err := time.LoadLocation("Pacific/Niue")
	require.NoError(t, err)
	p.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 1, "due_date": time.Now().In(there).Format(time.DateOnly)})
	run := func() any { return p.OK(200, "POST", "/payments/run-overdue", nil)["overdue"] }
	require.EqualValues(t, 0, run())
	p.OK(200, "PUT", "/clinic", object{"timezone": "Pacific/Kiritimati"})
	require.EqualValues(t, 1, run(), "a clinic that moved")

	late := p.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 1, "due_date": "2026-01-02"})
	require.Equal(t, "pending", late["status"])
	require.Equal(t, 0, p.QueryInt(`select count(*) from clinic.payments where clinic_id = $1 and id = $2 and status <> 'pending'`, late["id"]))
	require.EqualValues(t, 1, run())

	_, err = p.Hub.Host.Pool.Exec(t.Context(), `insert into clinic.payments (clinic_id, env, id, patient_id, amount, due_date) select $1, 'live', gen_random_uuid(), $2, 1, '2026-01-02' from generate_series(1, 450)`, p.ID, id)
	require.NoError(t, err)
	before := len(p.Events())
	require.EqualValues(t, 450, run())
	require.Len(t, p.EventTypes(before), 450, "each told once")
	require.EqualValues(t, 0, run())
}

// An export and $everything have all of it, however many pages that is read in.
func TestEverythingOfMany(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	id := p.AddPatient(Phone)
	const many = 1203
	_, err := p.Hub.Host.Pool.Exec(t.Context(), `insert into clinic.interactions (clinic_id, env, id, patient_id, type, summary, source, source_id, occurred_at)
		select $1, 'live', gen_random_uuid(), $2, 'call', 'number ' || n, 'elsewhere', n::text, now() from generate_series(1, $3::int) n`, p.ID, id, many)
	require.NoError(t, err)
	distinct := func(list []any, text func(object) any) map[any]bool {
		seen := make(map[any]bool)
		for _, one := range list {
			seen[text(one.(object))] = true
		}
		return seen
	}
	all := p.Get("/patients/" + id + "/export")["interactions"].([]any)
	require.Len(t, all, many)
	require.Len(t, distinct(all, func(o object) any { return o["summary"] }), many)
	for _, path := range []string{"/fhir/Patient/" + id + "/$everything", "/api/v1/patients/" + id + "/export?format=fhir"} {
		bundle := p.Get(path)
		require.EqualValues(t, many+1, bundle["total"])
		require.Len(t, distinct(bundle["entry"].([]any), func(o object) any { return o["fullUrl"] }), many+1)
	}
	table := p.Call("GET", "/patients/"+id+"/export?format=csv", nil).Text
	require.Equal(t, many, strings.Count(table, "\ninteraction,"))
	p.Refused(422, "validation_failed", "GET", "/patients/"+id+"/export?format=fhir&reveal=cpf", nil)
}

// Of a file's errors the first thousand are kept; all are counted.
func TestImportKeepsSoManyErrors(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	got := p.Import("csv", "nome;cpf\n"+strings.Repeat("Ana;11111111111\n", 1001)+"Bia;\n")
	RequireImportCounts(t, got, 1, 0, 0, 1001)
	require.Len(t, got["errors"], 1000)
	require.EqualValues(t, 1001, got["errors"].([]any)[999].(object)["line"])
}

// An uploaded file is encrypted while it waits, whatever of the database one looks at.
func TestWaitingImportIsSealed(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	tx, err := p.Hub.Host.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), `lock table clinic.patients in exclusive mode`) // so that nobody is taken in yet
	require.NoError(t, err)
	made := p.UploadImport("csv", "nome;cpf;email\nZuleica Prado;529.982.247-25;zuleica@example.com\n")
	require.Equal(t, 202, made.Status, made.Text)
	require.Equal(t, 1, p.QueryInt(`select count(*) from clinic.import_chunks where clinic_id = $1`))
	for _, needle := range []string{"zuleica", "529.982.247-25", "52998224725"} {
		require.Empty(t, hubtest.FindInDatabase(t, p.Hub.Database, needle))
	}
	require.NoError(t, tx.Rollback(t.Context()))
	RequireImportCounts(t, p.WaitForImport(made.Body["id"].(string)), 1, 0, 0, 0)
}

// Who may not import sends nothing: a long file is refused before it was read.
func TestStaffUploadsNothing(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	long := "nome\n" + strings.Repeat("Ana Souza\n", 200_000)
	for name, file := range map[string]string{"long": long, "short": "nome\nAna\n"} {
		got := p.AddStaff().UploadImport("csv", file)
		require.Equal(t, 403, got.Status, "%s: %s", name, got.Text)
		require.Equal(t, "admin_only", got.Body["code"])
	}
	require.Equal(t, 413, p.As("nobody").UploadImport("csv", long).Status)
}
