package api_test

import (
	"encoding/json"
	"fmt"
	"image/color"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/schedulingtest"
)

// ResourceIDs are the ids of everything an organization has.
func ResourceIDs(org *schedulingtest.Bookable) map[string]string {
	org.T.Helper()
	ids := map[string]string{"service": org.ServiceID, "professional": org.ProfessionalID, "client": org.ClientID, "slug": org.Slug}
	org.OK(200, "PUT", "/organization/settings", object{"waitlist_enabled": true})
	ids["appointment"] = org.Book(0)
	ids["token"] = org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(3*24*3600*1e9))["cancel_token"].(string)
	ids["rule"] = org.List("/schedule-rules?professional_id=" + org.ProfessionalID)[0]["id"].(string)
	ids["exception"] = org.OK(201, "POST", "/schedule-exceptions", object{"professional_id": org.ProfessionalID, "date": "2026-03-12", "exception_type": "block"})["id"].(string)
	ids["payment"] = org.OK(201, "POST", "/payments", object{"client_id": org.ClientID, "amount": 80, "method": "cash"})["id"].(string)
	ids["user"] = org.OK(201, "POST", "/users", object{"name": "Edu", "email": "u-" + org.Email})["id"].(string)
	config := org.OK(200, "PUT", "/loyalty/config", object{"rewards": []object{{"name": "R", "points": 5, "type": "free_service"}}})
	ids["reward"] = config["rewards"].([]any)[0].(object)["id"].(string)
	ids["key"] = org.OK(200, "POST", "/integrations/api-keys", nil)["id"].(string)
	ids["integration"] = org.LinkPeer()
	org.Book(7 * 24 * time.Hour) // the peer is sent it
	ids["delivery"] = org.OK(200, "GET", "/integrations/webhook-logs", nil)["items"].([]any)[0].(object)["id"].(string)
	ids["endpoint"] = uuid.NewString()
	return ids
}

// attempt is a request for another organization's resource.
type attempt struct{ method, path, body, what string }

// foreignAttempts returns all requests of an operation, on behalf of an organization with its
// own ids, that have a foreign id in one place.
func foreignAttempts(op operation, mine, theirs map[string]string) []attempt {
	body := bodies[op.ID]
	path := op.Path + queries[op.ID]
	kind := schedulingtest.ResourceKind(op.Path)
	ownPath := func(s string) string {
		s = fill(s, func(k string) string { return mine[k] })
		return schedulingtest.PathParameter.ReplaceAllStringFunc(s, func(string) string { return mine[kind] })
	}
	own := func(s string) string { return fill(s, func(k string) string { return mine[k] }) }
	var list []attempt
	for _, name := range schedulingtest.PathParameter.FindAllString(op.Path, -1) {
		if name != "{slug}" && kind != "" {
			list = append(list, attempt{op.Method, ownPath(strings.Replace(path, name, theirs[kind], 1)), own(body), "path " + name})
		}
	}
	for place, text := range map[string]string{"body": body, "query": queries[op.ID]} {
		for at, name := range placeholder.FindAllString(text, -1) {
			if name == "{slug}" {
				continue
			}
			n := -1
			foreign := placeholder.ReplaceAllStringFunc(text, func(s string) string {
				if n++; n == at {
					return theirs[strings.Trim(s, "{}")]
				}
				return mine[strings.Trim(s, "{}")]
			})
			refused := attempt{op.Method, ownPath(path), foreign, place + " " + name}
			if place == "query" {
				refused.path, refused.body = ownPath(op.Path)+foreign, ""
			}
			list = append(list, refused)
		}
	}
	return list
}

// Every resource and verb, with another organization's id in the path, the query or
// the body: 404, and nothing of theirs is changed or shown.
func TestOtherOrganizationsResourcesAreNotFound(t *testing.T) {
	t.Parallel()
	me := schedulingtest.NewBookableBesidePeer(t)
	them := schedulingtest.RegisterOrganization(t, me.Hub).MakeBookable()
	mine, theirs := ResourceIDs(me), ResourceIDs(them)
	key := me.Hub.CreateKey(me.ID, hub.Live)
	before := them.Snapshot()
	tried := 0
	for _, op := range me.Operations() {
		requireTableEntries(me.Organization, op)
		for _, attempt := range foreignAttempts(op, mine, theirs) {
			tried++
			var body any
			if attempt.body != "" {
				body = attempt.body
			}
			got := callerOf(op, me, key).Call(attempt.method, attempt.path, body)
			if slices.Contains(uploads, op.ID) {
				got = me.Upload(attempt.path, "file", me.PNG(2, 2, color.White))
			}
			message := fmt.Sprintf("%s %s, %s: %s", op.ID, attempt.path, attempt.what, got.Text)
			if slices.Contains([]string{"appointments.list", "payments.list", "webhook-logs.list", "audit-log.list"}, op.ID) { // filters
				require.Equal(t, 200, got.Status, message)
				require.NotContains(t, got.Text, theirs["client"], message)
				require.NotContains(t, got.Text, theirs["integration"], message)
				continue
			}
			require.Equal(t, 404, got.Status, message)
			require.Contains(t, []any{"not_found", "invalid_token"}, got.Body["code"], message)
		}
	}
	require.Greater(t, tried, 70)
	require.Equal(t, before, them.Snapshot(), "nothing of theirs changed")
	for _, path := range []string{
		"/services", "/professionals", "/schedule-rules", "/clients", "/appointments", "/users", "/payments",
		"/integrations/", "/integrations/api-keys", "/integrations/webhook-logs",
	} {
		got := me.Call("GET", path, nil)
		require.Equal(t, 200, got.Status, got.Text)
		require.NotContains(t, got.Text, them.ID.String(), path)
		for kind, id := range theirs {
			require.NotContains(t, got.Text, id, "%s: the %s of somebody else", path, kind)
		}
	}
}

// Members that are not the caller's to set are not applied, whatever they say.
func TestRestrictedFieldsCannotBeSet(t *testing.T) {
	t.Parallel()
	me := schedulingtest.NewBookableBesidePeer(t)
	them := schedulingtest.RegisterOrganization(t, me.Hub).MakeBookable()
	mine := ResourceIDs(me)
	ResourceIDs(them)
	before := them.Snapshot()
	extra := fmt.Sprintf(`"org_id":%q,"tenant_id":%q,"role":"owner","plan":"gold","total_spent":99,"total_appointments":99,"loyalty_points":99,"balance_due":0,"status":"paid","created_by":%[1]q,`, them.ID, them.ID)
	tried := 0
	for _, op := range me.Operations() {
		body := bodies[op.ID]
		if strings.HasPrefix(op.Path, "/api/v1/auth/") || strings.HasPrefix(op.ID, "users.") || body == "" {
			continue // roles of users are an owner's to give
		}
		idOf := func(kind string) string { return mine[kind] }
		path := schedulingtest.PathParameter.ReplaceAllStringFunc(fill(op.Path, idOf), func(string) string { return mine[schedulingtest.ResourceKind(op.Path)] })
		got := callerOf(op, me, me.Hub.CreateKey(me.ID, hub.Live)).Call(op.Method, path, strings.Replace(fill(body, idOf), "{", "{"+extra, 1))
		require.Less(t, got.Status, 500, "%s: %s", op.ID, got.Text)
		require.NotContains(t, got.Text, them.ID.String(), op.ID)
		tried++
	}
	require.Greater(t, tried, 25)
	require.Equal(t, before, them.Snapshot())
	require.Equal(t, "free", me.OK(200, "GET", "/organization", nil)["plan"])
	for _, c := range me.OK(200, "GET", "/clients", nil)["items"].([]any) {
		require.NotEqual(t, 99.0, c.(object)["total_spent"])
		require.NotEqual(t, 99.0, c.(object)["total_appointments"])
		require.NotEqual(t, 99.0, c.(object)["loyalty_points"])
	}
}

// Without credentials, with bad ones, and with some of too small a role.
func TestAccessOfRoutes(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableBesidePeer(t)
	mine := ResourceIDs(org)
	org.As("").OK(200, "POST", "/auth/reset-password", object{"token": org.ResetToken("u-" + org.Email), "password": schedulingtest.Password})
	staff := org.As(org.As("").OK(200, "POST", "/auth/login", object{"email": "u-" + org.Email, "password": schedulingtest.Password})["access_token"].(string))
	powerless := org.As(org.Hub.CreateKey(org.ID, hub.Live, "events.publish"))
	var managers, scoped []string
	for _, op := range org.Operations() {
		idOf := func(k string) string { return mine[k] }
		path := schedulingtest.PathParameter.ReplaceAllString(op.Path, uuid.NewString()) + fill(queries[op.ID], idOf)
		var body any
		if text := bodies[op.ID]; text != "" {
			body = fill(text, idOf)
		}
		roles, bearer := op.Accepts("bearer")
		scopes, key := op.Accepts("key")
		if len(roles) > 0 {
			managers = append(managers, op.ID)
			staff.Refused(403, "admin_only", op.Method, path, body)
		}
		if len(scopes) > 0 {
			scoped = append(scoped, op.ID)
			powerless.Refused(403, "missing_scope", op.Method, path, body)
		}
		if slices.ContainsFunc(op.Security, func(entry map[string][]string) bool { return len(entry) == 0 }) || op.IsPublic() {
			continue
		}
		switch {
		case bearer:
			org.As("").Refused(401, "unauthorized", op.Method, path, body)
			org.As("eyJhbGciOiJub25lIn0.e30.").Refused(401, "invalid_token", op.Method, path, body)
		case key:
			org.As("").Refused(401, "invalid_key", op.Method, path, body)
			org.Refused(401, "invalid_key", op.Method, path, body)
		}
		if key {
			org.As("sch_live_0123456789abcdefghijABCDEFGHIJ").Refused(401, "invalid_key", op.Method, path, body)
		} else {
			org.As(org.Hub.CreateKey(org.ID, hub.Live)).Refused(401, "unauthorized", op.Method, path, body)
		}
	}
	require.Subset(t, managers, []string{
		"organization.update", "organization.settings", "organization.logo", "organization.delete-logo", "users.list", "users.create", "users.update",
		"users.delete", "appointments.reopen", "loyalty.configure", "loyalty.adjust", "integrations.connect", "integrations.list", "integrations.revoke",
		"integrations.rotate-secret", "api-keys.create", "api-keys.revoke", "api-keys.rotate", "webhook-logs.list",
	})
	require.Subset(t, scoped, []string{
		"integrations.book", "integrations.search-clients", "integrations.search-appointments", "availability.day", "availability.month",
	})
}

// The rules for bodies, on every operation that takes one; never a 5xx.
func TestMalformedBodies(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableBesidePeer(t)
	key := org.Hub.CreateKey(org.ID, hub.Live)
	for _, op := range org.Operations() {
		if !op.TakesJSON() || op.ID == "integrations.webhook" { // what is not signed is not read
			continue
		}
		as := callerOf(op, org, key)
		path := schedulingtest.PathParameter.ReplaceAllString(op.Path, uuid.NewString())
		for body, want := range map[string]int{
			`{`: 400, `{"a":1,"a":2}`: 400, `{"a":"\u0000"}`: 400, `{"a":1}x`: 400, `{"a":"\ud800"}`: 400, "{\"a\":\"\xff\"}": 400,
			`{"a":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`: 400, `{"a":` + strings.Repeat("1", 33) + `}`: 400,
			`[]`: 422, `"x"`: 422, `{"a":"` + strings.Repeat("x", 1<<20) + `"}`: 413,
		} {
			got := as.Call(op.Method, path, body)
			require.Equal(t, want, got.Status, "%s %.40q: %.300s", op.ID, body, got.Text)
		}
		require.Equal(t, 415, as.Call(op.Method, path, `{}`, "Content-Type", "text/plain").Status, op.ID)
		require.Equal(t, 415, as.Call(op.Method, path, `{}`, "Content-Encoding", "gzip").Status, op.ID)
	}
}

// A value of the wrong type is a 422 that names its member, on every member of every body.
func TestWrongTypes(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableBesidePeer(t)
	key := org.Hub.CreateKey(org.ID, hub.Live)
	tried := 0
	for _, op := range org.Operations() {
		if !op.TakesJSON() || op.ID == "integrations.webhook" {
			continue
		}
		path := schedulingtest.PathParameter.ReplaceAllString(op.Path, uuid.NewString())
		for name, wrong := range op.MistypedMembers() {
			var body object
			require.NoError(t, json.Unmarshal([]byte(fill(bodies[op.ID], func(string) string { return uuid.NewString() })), &body))
			body[name] = wrong
			got := callerOf(op, org, key).Call(op.Method, path, body)
			require.Equal(t, 422, got.Status, "%s with a wrong %s: %s", op.ID, name, got.Text)
			var places []string
			for _, fieldError := range got.Body["errors"].([]any) {
				place, _, _ := strings.Cut(strings.TrimPrefix(fieldError.(object)["location"].(string), "body."), "[")
				places = append(places, place)
			}
			require.Contains(t, places, name, "%s: %s", op.ID, got.Text)
			tried++
		}
	}
	require.Greater(t, tried, 150)
}
