package api_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/messaging/internal/messagingtest"
)

// ids returns ids as JSON has them.
func ids(list ...int64) []any {
	out := make([]any, len(list))
	for i, id := range list {
		out[i] = float64(id)
	}
	return out
}

func TestUsers(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	connection, sales, support := company.Connect(), company.AddQueueRow("Sales", "#0000aa"), company.AddQueueRow("Support", "#00aa00")
	made := company.OK(201, "POST", "/users", object{
		"name": " Caio Lima ", "email": "caio-" + company.Email, "password": messagingtest.Password, "allTicket": "enabled", "queueIds": ids(support, sales, sales), "whatsappId": connection.ID,
	})
	path := messagingtest.Path("/users", made)
	require.Equal(t, "Caio Lima", made["name"])
	require.Equal(t, "user", made["profile"])
	require.Equal(t, "enabled", made["allTicket"])
	require.Equal(t, ids(sales, support), made["queueIds"])
	require.Equal(t, "Sales", made["queues"].([]any)[0].(object)["name"])
	require.EqualValues(t, connection.ID, made["whatsappId"])
	require.NotContains(t, made, "password")

	company.Refused(400, "ERR_EMAIL_TAKEN", "POST", "/users", object{"name": "Caio", "email": strings.ToUpper(made["email"].(string)), "password": messagingtest.Password})
	found := company.Get("/users?searchParam=caio%20l")
	require.EqualValues(t, 1, found["count"])
	require.Equal(t, false, found["hasMore"])
	require.Equal(t, made, found["users"].([]any)[0])
	require.EqualValues(t, 2, company.Get("/users")["count"])

	changed := company.OK(200, "PUT", path, object{"queueIds": ids(), "whatsappId": nil, "allTicket": "disabled"})
	require.Empty(t, changed["queueIds"])
	require.Nil(t, changed["whatsappId"])
	require.Equal(t, "Caio Lima", changed["name"])
	company.OK(200, "DELETE", path, nil)
	company.Refused(404, "ERR_NO_USER_FOUND", "GET", path, nil)
	company.Refused(404, "ERR_NO_USER_FOUND", "DELETE", path, nil)
}

// A login names the user's queues by their ids; so does a renewed one, which has those of now. The
// resource of the user has them with their names and colors.
func TestQueuesOfLogin(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	sales := messagingtest.ID(company.OK(201, "POST", "/queue", object{"name": "Sales", "color": "#0000aa"}))
	support := messagingtest.ID(company.OK(201, "POST", "/queue", object{"name": "Support", "color": "#00aa00"}))
	company.OK(201, "POST", "/queue", object{"name": "Billing", "color": "#aa0000"})
	user, id := company.AddUser(object{"queueIds": ids(sales, support), "allTicket": "enabled"})
	path := messagingtest.Path("/users", object{"id": float64(id)})
	shown := user.Get(path)
	require.Equal(t, []any{object{"id": float64(sales), "name": "Sales", "color": "#0000aa"}, object{"id": float64(support), "name": "Support", "color": "#00aa00"}}, shown["queues"])
	require.Equal(t, ids(sales, support), shown["queueIds"])

	anybody := company.As("")
	session := anybody.OK(200, "POST", "/auth/login", object{"email": shown["email"], "password": messagingtest.Password})
	requireFields(t, object{"id": float64(id), "queues": ids(sales, support), "allTicket": "enabled", "profile": "user"}, session["user"].(object))
	admin := anybody.OK(200, "POST", "/auth/login", object{"email": company.Email, "password": messagingtest.Password})
	require.Equal(t, ids(), admin["user"].(object)["queues"])

	company.OK(200, "PUT", path, object{"queueIds": ids(support), "allTicket": "disabled"})
	renewed := anybody.OK(200, "POST", "/auth/refresh_token", object{"refreshToken": session["refreshToken"]})
	requireFields(t, object{"queues": ids(support), "allTicket": "disabled"}, renewed["user"].(object))
	company.OK(200, "DELETE", messagingtest.Path("/queue", object{"id": float64(support)}), nil)
	again := anybody.OK(200, "POST", "/auth/login", object{"email": shown["email"], "password": messagingtest.Password})
	require.Equal(t, []any{ids(), ids()}, []any{again["user"].(object)["queues"], user.Get(path)["queueIds"]})
}

// What is not valid changes nothing; ids of another company's resources are not there.
func TestUserValidation(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	other := company.AnotherCompany()
	othersQueue, othersConnection := other.AddQueueRow("Sales", "#0000aa"), other.Connect()
	_, id := company.AddUser(nil)
	path := messagingtest.Path("/users", object{"id": float64(id)})
	before := company.Get(path)
	for name, tc := range map[string]struct {
		change object
		status int
		err    string
	}{
		"a short name":               {object{"name": "C"}, 400, "ERR_VALIDATION"},
		"a name of two lines":        {object{"name": "Ca\nio"}, 400, "ERR_VALIDATION"},
		"a number as a name":         {object{"name": 5}, 400, "ERR_VALIDATION"},
		"no address":                 {object{"email": "caio"}, 400, "ERR_VALIDATION"},
		"a short password":           {object{"password": "1234"}, 400, "ERR_VALIDATION"},
		"no password":                {object{"password": nil}, 400, "ERR_VALIDATION"},
		"an unknown profile":         {object{"profile": "owner"}, 400, "ERR_VALIDATION"},
		"an unknown right":           {object{"allTicket": true}, 400, "ERR_VALIDATION"},
		"another company's queue":    {object{"queueIds": ids(othersQueue)}, 404, "ERR_QUEUE_NOT_FOUND"},
		"another's connection":       {object{"whatsappId": othersConnection.ID}, 404, "ERR_NO_WAPP_FOUND"},
		"a connection that is below": {object{"whatsappId": -1}, 404, "ERR_NO_WAPP_FOUND"},
		"the admin's address":        {object{"email": company.Email}, 400, "ERR_EMAIL_TAKEN"},
	} {
		company.Refused(tc.status, tc.err, "PUT", path, tc.change)
		body := object{"name": "Davi", "email": "davi-" + company.Email, "password": messagingtest.Password}
		for field, value := range tc.change {
			body[field] = value
		}
		company.Refused(tc.status, tc.err, "POST", "/users", body)
		require.Equal(t, before, company.Get(path), name)
	}
	company.Refused(400, "ERR_VALIDATION", "POST", "/users", object{"name": "Davi", "email": "davi-" + company.Email})
	company.Refused(400, "ERR_VALIDATION", "POST", "/users", object{})
	require.EqualValues(t, 2, company.Get("/users")["count"])
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		other.Refused(404, "ERR_NO_USER_FOUND", method, path, object{"name": "Eva"})
	}
	require.Equal(t, before, company.Get(path))
}

// A user that is no administrator reads and changes itself only.
func TestUserRights(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	user, id := company.AddUser(nil)
	self := messagingtest.Path("/users", object{"id": float64(id)})
	admin := messagingtest.Path("/users", company.Get("/users?searchParam=" + company.Email)["users"].([]any)[0].(object))
	require.Equal(t, "Caio", user.Get(self)["name"])
	require.Equal(t, "Davi", user.OK(200, "PUT", self, object{"name": "Davi"})["name"])
	for _, call := range []struct {
		method, path string
		body         object
	}{
		{"GET", "/users", nil},
		{"POST", "/users", object{"name": "Eva", "email": "eva-" + company.Email, "password": messagingtest.Password}},
		{"GET", admin, nil},
		{"PUT", admin, object{"name": "Eva"}},
		{"PUT", self, object{"profile": "admin"}},
		{"PUT", self, object{"allTicket": "enabled"}},
		{"PUT", self, object{"queueIds": ids()}},
		{"DELETE", self, nil},
		{"PUT", "/company", object{"name": "Mine"}},
	} {
		user.Refused(403, "ERR_NO_PERMISSION", call.method, call.path, call.body)
	}
	require.Equal(t, "Studio Bela", user.Get("/company")["name"])
}

// A new password, a changed profile and a disabled user end every login; logging out ends
// one.
func TestLoginsEnd(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	user, id := company.AddUser(nil)
	self := messagingtest.Path("/users", object{"id": float64(id)})
	email := user.Get(self)["email"].(string)

	session := company.As("").OK(200, "POST", "/auth/login", object{"email": email, "password": messagingtest.Password})
	second := company.As(session["token"].(string))
	loggedOut := second.Call("POST", "/auth/logout", nil)
	require.Equal(t, 200, loggedOut.Status, loggedOut.Text)
	require.Contains(t, loggedOut.Header.Get("Set-Cookie"), "jrt=;")
	second.Refused(401, "ERR_SESSION_EXPIRED", "GET", self, nil)
	second.Refused(401, "ERR_SESSION_EXPIRED", "POST", "/auth/logout", nil)
	company.As("").Refused(401, "ERR_SESSION_EXPIRED", "POST", "/auth/refresh_token", object{"refreshToken": session["refreshToken"]})

	user.OK(200, "PUT", self, object{"name": "Davi", "email": "new-" + email})
	user.Get(self) // a name ends nothing
	user.OK(200, "PUT", self, object{"password": "a new password"})
	user.Refused(401, "ERR_SESSION_EXPIRED", "GET", self, nil)
	company.As("").Refused(401, "ERR_INVALID_CREDENTIALS", "POST", "/auth/login", object{"email": "new-" + email, "password": messagingtest.Password})
	user = company.LogIn("new-"+email, "a new password")
	company.OK(200, "PUT", self, object{"profile": "admin"})
	user.Refused(401, "ERR_SESSION_EXPIRED", "GET", self, nil)
	user = company.LogIn("new-"+email, "a new password")
	user.Get("/users")
	company.OK(200, "PUT", self, object{"isActive": false})
	user.Refused(401, "ERR_SESSION_EXPIRED", "GET", self, nil)
	company.As("").Refused(401, "ERR_INVALID_CREDENTIALS", "POST", "/auth/login", object{"email": "new-" + email, "password": "a new password"})
}

// The last administrator stays one.
func TestLastAdmin(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	admin := messagingtest.Path("/users", company.Get("/users")["users"].([]any)[0].(object))
	other, _ := company.AddUser(object{"profile": "admin", "email": "other-" + company.Email})
	otherPath := messagingtest.Path("/users", company.Get("/users?searchParam=other-")["users"].([]any)[0].(object))
	company.OK(200, "PUT", otherPath, object{"isActive": false})
	other.Refused(401, "ERR_SESSION_EXPIRED", "GET", "/users", nil)
	company.Refused(400, "ERR_LAST_ADMIN", "PUT", admin, object{"profile": "user"})
	company.Refused(400, "ERR_LAST_ADMIN", "PUT", admin, object{"isActive": false})
	company.Refused(400, "ERR_LAST_ADMIN", "DELETE", admin, nil)
	company.OK(200, "PUT", otherPath, object{"isActive": true})
	company.OK(200, "DELETE", admin, nil)
	company.Refused(401, "ERR_SESSION_EXPIRED", "GET", "/users", nil)
}

// Open tickets of a user that is disabled or deleted wait for others; closed ones stay.
func TestUsersTicketsAreReturned(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	connection := company.Connect()
	for change, leave := range map[string]func(path string){
		"disabled": func(path string) { company.OK(200, "PUT", path, object{"isActive": false}) },
		"deleted":  func(path string) { company.OK(200, "DELETE", path, nil) },
	} {
		user, id := company.AddUser(nil)
		paths := make(map[string]string)
		for _, status := range []string{"open", "closed"} {
			phone := company.AddPhone(status + " " + change)
			company.SendFromPhone(phone, connection, "Hi")
			paths[status] = messagingtest.TicketPath(company.Tickets("searchParam=" + phone)[0])
			require.EqualValues(t, id, user.OK(200, "PUT", paths[status], object{"status": "open"})["userId"])
		}
		user.OK(200, "PUT", paths["closed"], object{"status": "closed"})
		leave(messagingtest.Path("/users", object{"id": float64(id)}))
		returned := company.Get(paths["open"])
		require.Equal(t, "pending", returned["status"], change)
		require.Nil(t, returned["userId"])
		require.Equal(t, "closed", company.Get(paths["closed"])["status"], change)
	}
}

func TestCompany(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	before := company.Get("/company")
	for name, change := range map[string]object{
		"no name":              {"name": " "},
		"an unknown zone":      {"timezone": "Brasilia"},
		"an address":           {"email": "x"},
		"a negative window":    {"reopenMinutes": -1},
		"a window of a year":   {"reopenMinutes": 500_000},
		"no days":              {"retentionDays": 0},
		"an empty word":        {"optOutWords": []string{"STOP", ""}},
		"many words":           {"optOutWords": strings.Split(strings.Repeat("x ", 21), " ")},
		"hours that overlap":   {"schedules": []object{{"weekdayEn": "monday", "startTime": "08:00", "endTime": "12:00"}, {"weekdayEn": "monday", "startTime": "11:00", "endTime": "13:00"}}},
		"hours that are texts": {"schedules": "08:00-12:00"},
	} {
		company.Refused(400, "ERR_VALIDATION", "PUT", "/company", change)
		require.Equal(t, before, company.Get("/company"), name)
	}
	changed := company.OK(200, "PUT", "/company", object{
		"name": "Bela & Cia", "timezone": "America/Manaus", "reopenMinutes": 0, "retentionDays": 90, "optOutWords": []string{"sair", "Sair", "chega"},
		"schedules": []object{{"weekdayEn": "monday", "startTime": "08:00", "endTime": "12:00"}},
	})
	require.Equal(t, []any{"SAIR", "CHEGA"}, changed["optOutWords"])
	require.Equal(t, []any{object{"weekday": "Segunda-feira", "weekdayEn": "monday", "startTime": "08:00", "endTime": "12:00"}}, changed["schedules"])
	require.Equal(t, changed, company.Get("/company"))
	require.Nil(t, company.OK(200, "PUT", "/company", object{"retentionDays": nil})["retentionDays"])
	tenant, err := company.Hub.Host.Tenants.Get(t.Context(), company.Tenant)
	require.NoError(t, err)
	require.Equal(t, "Bela & Cia", tenant.Name)
}

// A user has 600 requests a minute, whatever other users of its company send.
func TestUserLimit(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	bob, _ := company.AddUser(nil)
	served := 0
	for range 10 {
		statuses := moduletest.SendTogether(100, func() moduletest.Response { return company.Call("GET", "/tags", nil) })
		served += statuses[200]
		if statuses[429] > 0 {
			break
		}
	}
	refused := company.Call("GET", "/tags", nil)
	require.Equal(t, 429, refused.Status)
	require.Equal(t, "ERR_RATE_LIMIT", refused.Body["error"])
	require.NotEmpty(t, refused.Header.Get("Retry-After"))
	require.GreaterOrEqual(t, served, 590, "requests of the test's own count too")
	require.Less(t, served, 700)
	bob.Get("/tags")
}
