package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/messaging/internal/messagingtest"
)

const importedFile = "nome;telefone;email;cidade\n" +
	"Ana Souza;+55 11 98765-4321;ana@example.com;SP\n" + // the number without its ninth digit is known
	"Bia;5511987654322;;\n" +
	"Caio;123;;\n" +
	"Bia Lima;551187654322;bia@;\n" +
	"Davi;5511987654324;N/A;\n"

func TestImport(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	known := company.OK(201, "POST", "/contacts", object{"name": "Ana", "number": "551187654321"})
	company.OK(201, "POST", "/contacts", object{"name": "Davi", "number": "5511987654324"})
	list := company.OK(201, "POST", "/contact-lists", object{"name": "March"})
	listID := strings.TrimPrefix(messagingtest.Path("", list), "/")

	want := func(isDryRun bool) object {
		return object{
			"id": nil, "status": "done", "dryRun": isDryRun, "total": 5.0, "created": 1.0, "updated": 2.0, "skipped": 1.0, "failed": 1.0,
			"errors": []any{object{"line": 4.0, "error": "number must be digits with country code"}},
			"warnings": []any{
				object{"line": 5.0, "warning": "email is no e-mail address and was left out"}, object{"line": 6.0, "warning": "email is a placeholder and was left out"},
			},
			"columns": []any{
				object{"heading": "nome", "field": "name"}, object{"heading": "telefone", "field": "number"},
				object{"heading": "email", "field": "email"}, object{"heading": "cidade", "field": nil},
			},
			"preview": []any{
				object{"line": 2.0, "name": "Ana Souza", "number": "5511987654321", "email": "ana@example.com", "action": "update"},
				object{"line": 3.0, "name": "Bia", "number": "5511987654322", "email": "", "action": "create"},
				object{"line": 4.0, "name": "", "number": "", "email": "", "action": "fail"},
				object{"line": 5.0, "name": "Bia Lima", "number": "551187654322", "email": "", "action": "update"},
				object{"line": 6.0, "name": "Davi", "number": "5511987654324", "email": "", "action": "skip"},
			},
		}
	}
	tried := company.ImportContacts(importedFile, map[string]string{"dryRun": "true", "contactListId": listID})
	require.Equal(t, 200, tried.Status, tried.Text)
	require.Equal(t, want(true), withoutSchema(tried.Body))
	require.EqualValues(t, 2, company.Get("/contacts")["count"])

	done := company.ImportContacts(importedFile, map[string]string{"contactListId": listID})
	require.Equal(t, 200, done.Status, done.Text)
	require.Equal(t, want(false), withoutSchema(done.Body))
	require.EqualValues(t, 3, company.Get("/contacts")["count"])
	ana := company.Get(messagingtest.Path("/contacts", known))
	require.Equal(t, "Ana Souza", ana["name"])
	require.Equal(t, "ana@example.com", ana["email"])
	require.Equal(t, "551187654321", ana["number"])
	require.EqualValues(t, 1, company.Get("/contacts?searchParam=Bia%20Lima")["count"])
	require.Len(t, company.Get(messagingtest.Path("/contact-lists", list))["contactIds"], 3)
	require.Equal(t, []string{"contact.created", "contact.created", "contact.created"}, company.Hub.EventTypes(company.Tenant))

	again := company.ImportContacts(importedFile, nil)
	require.EqualValues(t, 0, again.Body["created"])
	local := company.ImportContacts("number\n(11) 98765-4399\n", map[string]string{"countryCode": "55"})
	require.EqualValues(t, 1, local.Body["created"], local.Text)
	require.EqualValues(t, 1, company.Get("/contacts?searchParam=5511987654399")["count"])
}

// withoutSchema returns a response without the address of its schema.
func withoutSchema(body object) object {
	delete(body, "$schema")
	return body
}

// A refused file changes nothing; imports are for administrators.
func TestImportRefusals(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	other := company.AnotherCompany()
	othersList := strings.TrimPrefix(messagingtest.Path("", other.OK(201, "POST", "/contact-lists", object{"name": "March"})), "/")
	user, _ := company.AddUser(nil)
	const valid = "number\n5511987654321\n"
	for name, tc := range map[string]struct {
		caller *messagingtest.Company
		file   string
		fields map[string]string
		status int
		err    string
	}{
		"a user":                 {user, valid, nil, 403, "ERR_NO_PERMISSION"},
		"nobody":                 {company.As(""), valid, nil, 401, "ERR_SESSION_EXPIRED"},
		"no column of numbers":   {company, "name\nAna\n", nil, 400, "ERR_VALIDATION"},
		"no rows":                {company, "number\n", nil, 400, "ERR_VALIDATION"},
		"a workbook":             {company, "PK\x03\x04", nil, 400, "ERR_VALIDATION"},
		"another company's list": {company, valid, map[string]string{"contactListId": othersList}, 404, "ERR_NO_CONTACT_LIST_FOUND"},
		"a country's name":       {company, valid, map[string]string{"countryCode": "BR"}, 400, "ERR_VALIDATION"},
	} {
		response := tc.caller.ImportContacts(tc.file, tc.fields)
		require.Equal(t, tc.status, response.Status, "%s: %s", name, response.Text)
		require.Equal(t, tc.err, response.Body["error"], name)
	}
	file := "number,note\n" + strings.Repeat("5511987654321,"+strings.Repeat("x", 8177)+"\n", 2047)
	file += strings.Repeat("\n", 16<<20-len(file)) // as long as it may be, without what is around it
	longest := company.ImportContacts(file, map[string]string{"dryRun": "true"})
	require.Equal(t, []any{200, 2047.0}, []any{longest.Status, longest.Body["total"]}, longest.Text)
	for _, more := range []string{"\n", strings.Repeat("\n", 1<<20)} {
		tooLarge := company.ImportContacts(file+more, map[string]string{"dryRun": "true"})
		require.Equal(t, []any{413, "ERR_FILE_TOO_LARGE"}, []any{tooLarge.Status, tooLarge.Body["error"]}, tooLarge.Text)
	}
	require.EqualValues(t, 0, company.Get("/contacts")["count"])
}

// A large file is imported after the answer, and every row once.
func TestLargeImport(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	var file strings.Builder
	file.WriteString("name,number\n")
	for i := range 2001 {
		fmt.Fprintf(&file, "Contact %d,55119%08d\n", i, 80_000_000+i)
	}
	list := company.OK(201, "POST", "/contact-lists", object{"name": "All"})
	accepted := company.ImportContacts(file.String(), map[string]string{"contactListId": strings.TrimPrefix(messagingtest.Path("", list), "/")})
	require.Equal(t, 202, accepted.Status, accepted.Text)
	path := messagingtest.Path("/contacts/imports", accepted.Body)
	company.AnotherCompany().Refused(404, "ERR_NO_IMPORT_FOUND", "GET", path, nil)
	var state moduletest.Object
	require.Eventually(t, func() bool {
		state = company.Get(path)
		return state["status"] == "done"
	}, time.Minute, 50*time.Millisecond)
	require.EqualValues(t, 2001, state["created"])
	require.EqualValues(t, 2001, company.Get("/contacts")["count"])
	require.EqualValues(t, 2001, company.Get("/contact-lists")["contactLists"].([]any)[0].(object)["contactsCount"])
	var batches int
	require.NoError(t, company.Hub.Host.Pool.QueryRow(t.Context(), `select count(*) from contact_import_batches where company_id = $1`, company.ID).Scan(&batches))
	require.Zero(t, batches)
}

// An import in progress can be cancelled: what was imported stays and is counted, the rest is
// not imported.
func TestCancelImport(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	const rows, waiting = 4000, 1200 // the row at which the job waits
	var file strings.Builder
	file.WriteString("number\n")
	for i := range rows {
		fmt.Fprintf(&file, "55119%08d\n", 80_000_000+i)
	}
	held := fmt.Sprintf("55119%08d", 80_000_000+waiting)
	company.OK(201, "POST", "/contacts", object{"name": "Ana", "number": held})
	tx, err := company.Hub.Host.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	_, err = tx.Exec(t.Context(), `select from contacts where number = $1 for update`, held)
	require.NoError(t, err)
	accepted := company.ImportContacts(file.String(), nil)
	require.Equal(t, 202, accepted.Status, accepted.Text)
	path := messagingtest.Path("/contacts/imports", accepted.Body)
	require.Eventually(t, func() bool { return company.Get(path)["created"] == 1000.0 }, time.Minute, 10*time.Millisecond, "two batches")
	user, _ := company.AddUser(nil)
	user.Refused(403, "ERR_NO_PERMISSION", "POST", path+"/cancel", nil)
	company.AnotherCompany().Refused(404, "ERR_NO_IMPORT_FOUND", "POST", path+"/cancel", nil)

	var answer moduletest.Response
	answered := make(chan error, 1)
	go func() {
		var err error
		answer, err = company.Try("POST", path+"/cancel", nil)
		answered <- err
	}()
	require.Eventually(t, func() bool { // it waits for the batch that is being imported
		var waits int
		require.NoError(t, company.Hub.Host.Pool.QueryRow(t.Context(), `select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%LockImport%' and datname = current_database()`).Scan(&waits))
		return waits > 0
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-answered)
	require.Equal(t, 200, answer.Status, answer.Text)
	cancelled := withoutSchema(answer.Body)
	require.Equal(t, []any{"cancelled", float64(rows), 1.0}, []any{cancelled["status"], cancelled["total"], cancelled["skipped"]})
	created := int(cancelled["created"].(float64))
	require.GreaterOrEqual(t, created, 1499, "three batches, or one more that the job began before")
	require.Less(t, created, rows-500)
	require.EqualValues(t, created+1, company.Get("/contacts")["count"])
	var batches int
	require.NoError(t, company.Hub.Host.Pool.QueryRow(t.Context(), `select count(*) from contact_import_batches`).Scan(&batches))
	require.Zero(t, batches)

	require.Equal(t, cancelled, withoutSchema(company.OK(200, "POST", path+"/cancel", nil)), "once more")
	require.Equal(t, cancelled, withoutSchema(company.Get(path)))
	done := messagingtest.Path("/contacts/imports", company.ImportContacts("number\n"+strings.Repeat("5511987654321\n", 2001), nil).Body)
	require.Eventually(t, func() bool { return company.Get(done)["status"] == "done" }, time.Minute, 50*time.Millisecond)
	company.Refused(400, "ERR_INVALID_TRANSITION", "POST", done+"/cancel", nil)
	require.Equal(t, "done", company.Get(done)["status"])
	require.Equal(t, cancelled, withoutSchema(company.Get(path)), "its job does nothing more")
	require.EqualValues(t, created+2, company.Get("/contacts")["count"])
}

// A form that cannot be read is refused in the platform's form of errors.
func TestBrokenForm(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	part := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\nnome,telefone\r\n"
	for name, sent := range map[string][2]string{
		"no boundary":      {"multipart/form-data", part},
		"another boundary": {"multipart/form-data; boundary=c", part + "--b--\r\n"},
		"no end":           {"multipart/form-data; boundary=b", part},
		"text":             {"multipart/form-data; boundary=b", "text"},
		"empty":            {"multipart/form-data; boundary=b", ""},
		"broken heading":   {"multipart/form-data; boundary=b", "--b\r\nContent-Disposition\r\n\r\nx\r\n--b--\r\n"},
	} {
		got := company.Call("POST", "/contacts/import", sent[1], "Content-Type", sent[0])
		require.Equal(t, 400, got.Status, "%s: %s", name, got.Text)
		require.Equal(t, "ERR_VALIDATION", got.Body["error"], "%s: %s", name, got.Text)
		require.NotEmpty(t, got.Body["code"], name)
	}
}

// A contact that another request creates while a file is imported gets what the file says, and
// counts as updated.
func TestImportBesideNewContact(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	pool := company.Hub.Host.Pool
	other, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = other.Rollback(context.Background()) }()
	_, err = other.Exec(t.Context(), `insert into contacts (company_id, name, number, number_key, email, created_at, updated_at)
		values ($1, 'Before', '5511987654321', '5511987654321', '', now(), now())`, company.ID)
	require.NoError(t, err)
	imported := make(chan moduletest.Response, 1)
	go func() {
		imported <- company.ImportContacts("nome;telefone\nAna;5511987654321\nBia;5511987654322\n", nil)
	}()
	require.Eventually(t, func() bool {
		var waiting int
		require.NoError(t, pool.QueryRow(t.Context(), `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`).Scan(&waiting))
		return waiting == 1
	}, time.Minute, 5*time.Millisecond)
	require.NoError(t, other.Commit(t.Context()))
	done := <-imported
	require.Equal(t, 200, done.Status, done.Text)
	require.Equal(t, []any{1.0, 1.0, 0.0}, []any{done.Body["created"], done.Body["updated"], done.Body["skipped"]})
	var names []any
	for _, contact := range company.Get("/contacts?sort=name")["contacts"].([]any) {
		names = append(names, contact.(object)["name"])
	}
	require.ElementsMatch(t, []any{"Ana", "Bia"}, names)
}

// A contact who is anonymized or deleted while a file is imported is not made again from its rows.
func TestErasureDuringAnImport(t *testing.T) {
	t.Parallel()
	for name, erase := range map[string]func(company *messagingtest.Company, path string){
		"anonymized": func(company *messagingtest.Company, path string) { company.OK(200, "POST", path+"/anonymize", nil) },
		"deleted":    func(company *messagingtest.Company, path string) { company.OK(200, "DELETE", path, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eraseDuringImport(t, erase)
		})
	}
}

func eraseDuringImport(t *testing.T, erase func(company *messagingtest.Company, path string)) {
	t.Helper()
	company := messagingtest.NewCompanyAlone(t)
	var file strings.Builder
	file.WriteString("name,number\n")
	const rows, person = 4000, "5511980003000"
	for i := range rows {
		fmt.Fprintf(&file, "Contact %d,55119%08d\n", i, 80_000_000+i)
	}
	known := company.OK(201, "POST", "/contacts", object{"name": "Ana", "number": person})
	company.OK(201, "POST", "/contacts", object{"name": "Bia", "number": "5511980001200"})
	pool := company.Hub.Host.Pool
	held, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = held.Rollback(context.Background()) }()
	_, err = held.Exec(t.Context(), `select from contacts where number = '5511980001200' for update`)
	require.NoError(t, err)
	accepted := company.ImportContacts(file.String(), nil)
	require.Equal(t, 202, accepted.Status, accepted.Text)
	path := messagingtest.Path("/contacts/imports", accepted.Body)
	require.Eventually(t, func() bool { return company.Get(path)["created"] == 1000.0 }, time.Minute, 10*time.Millisecond, "the next batch waits")
	erase(company, messagingtest.Path("/contacts", known))
	var stored []byte
	require.NoError(t, pool.QueryRow(t.Context(), `select number_hash from contact_import_erasures where company_id = $1`, company.ID).Scan(&stored))
	require.NotContains(t, string(stored), person)
	require.NoError(t, held.Commit(t.Context()))

	var state moduletest.Object
	require.Eventually(t, func() bool { state = company.Get(path); return state["status"] == "done" }, time.Minute, 10*time.Millisecond)
	require.Equal(t, []any{object{"line": 3002.0, "error": "is about a contact who was anonymized or deleted while the file was imported"}}, state["errors"])
	require.Equal(t, []any{3998.0, 1.0, 1.0}, []any{state["created"], state["updated"], state["failed"]})
	var again, left int
	require.NoError(t, pool.QueryRow(t.Context(), `select (select count(*) from contacts where company_id = $1 and number = $2), (select count(*) from contact_import_erasures where company_id = $1)`, company.ID, person).Scan(&again, &left))
	require.Equal(t, []int{0, 0}, []int{again, left})
}
