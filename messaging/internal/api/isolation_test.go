package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/api"
	"integrationhub/messaging/internal/messagingtest"
)

// idName matches properties and parameters that name a resource.
var idName = regexp.MustCompile(`(?i)(ids?|^media|^mediaurl|^tags)$`)

// idsInBodies are the properties that name a resource, with the collection that it is of.
var idsInBodies = map[string]string{
	"contactId": "/contacts", "contactIds": "/contacts", "contactListId": "/contact-lists", "queueId": "/queue", "queueIds": "/queue", "transferQueueId": "/queue",
	"quotedMsgId": "/messages", "tagIds": "/tags", "ticketId": "/tickets", "ticket_id": "/tickets", "userId": "/users", "whatsappId": "/whatsapp",
	"mediaUrl": "mediaUrl", "media": "mediaUrl",
}

// otherIDs are properties and parameters that name something else than a resource.
var otherIDs = []string{
	"options.[].id", "options.[].parentId", // entries of the queue's own menu
	"cloud.phoneNumberId", "cloud.wabaId", // of the network
	"template.components.[].parameters.[].document.id", "template.components.[].parameters.[].image.id", "template.components.[].parameters.[].video.id", // of the network
	"Last-Event-ID", "lastEventId",
	"appointment.id", "service_id", "professional_id", // of the scheduling product
}

// idsInQueries are the parameters of lists that name a resource.
var idsInQueries = map[string]string{
	"contactId": "/contacts", "contact_id": "/contacts", "queueId": "/queue", "queueIds": "/queue", "tagId": "/tags", "tags": "/tags", "userId": "/users",
}

// ownOperations returns the documented operations of the product, without those that the
// hub serves for every product.
func ownOperations(c *messagingtest.Company) (operations []moduletest.Operation) {
	for _, op := range c.Operations() {
		below, isShared := strings.CutPrefix(op.Path, integrations)
		if op.ID != "health.get" && (!isShared || strings.HasPrefix(below, "/search/") || strings.HasPrefix(below, "/action/")) {
			operations = append(operations, op)
		}
	}
	return operations
}

// Every route is in the document, so that the tests below reach it. The simulated network
// is not: its phones belong to nobody.
func TestRoutesAreDocumented(t *testing.T) {
	t.Parallel()
	documented := make(map[string]bool)
	for _, op := range ownOperations(messagingtest.NewCompany(t)) {
		documented[op.Method+" "+op.Path] = true
	}
	served := new(api.API)
	routes := served.Routes()
	for below, table := range map[string][]rest.Route{"/search": served.SearchRoutes(), "/action": served.ActionRoutes()} {
		for _, route := range table {
			route.Path = integrations + below + route.Path
			routes = append(routes, route)
		}
	}
	for _, route := range routes {
		if !strings.HasPrefix(route.Path, "/sandbox/") {
			require.True(t, documented[route.Method+" "+route.Path], "%s %s is not in the document", route.Method, route.Path)
			delete(documented, route.Method+" "+route.Path)
		}
	}
	require.Empty(t, documented, "operations without a route")
}

// callerOf returns the company with the credentials that an operation takes.
func (c *filledCompany) callerOf(op moduletest.Operation) *messagingtest.Company {
	switch {
	case op.ID == "messages.send":
		return c.program
	case strings.HasPrefix(op.Path, integrations):
		return c.peer
	}
	return c.Company
}

// call makes a request of an operation; body is an object, or nil.
func (c *filledCompany) call(op moduletest.Operation, path string, body object) moduletest.Response {
	c.T.Helper()
	if body == nil {
		return c.callerOf(op).Call(op.Method, path, nil)
	}
	return c.callerOf(op).Call(op.Method, path, body)
}

// bodyOf returns a valid body of an operation; nil if it takes none.
func (c *filledCompany) bodyOf(op moduletest.Operation) object {
	c.T.Helper()
	if !op.TakesJSON() {
		return nil
	}
	body, ok := validBodies[op.ID]
	require.True(c.T, ok, "the test has no body for %s", op.ID)
	return body(c)
}

// tables returns a digest of each table of the product, but for when tokens were used.
func (c *filledCompany) tables() map[string]string {
	c.T.Helper()
	var query string
	pool := c.Hub.Host.Pool
	require.NoError(c.T, pool.QueryRow(c.T.Context(), `
		select string_agg(format('select %L as name, md5(coalesce(string_agg(r, e''\n'' order by r), '''')) as digest from messaging.%I t, lateral (select (to_jsonb(t) - ''last_used_at'')::text as r) r', tablename, tablename), ' union all ')
		from pg_tables where schemaname = 'messaging' and tablename not like 'goose%'`).Scan(&query))
	digests := make(map[string]string)
	rows, err := pool.Query(c.T.Context(), query)
	require.NoError(c.T, err)
	defer rows.Close()
	for rows.Next() {
		var name, digest string
		require.NoError(c.T, rows.Scan(&name, &digest))
		digests[name] = digest
	}
	require.NoError(c.T, rows.Err())
	return digests
}

// Every method of every path with an id is 404 for another company and changes nothing. The
// owner reaches the same path with the same body.
func TestPathsAreIsolated(t *testing.T) {
	t.Parallel()
	owner, other := fillCompanies(t)
	var operations []moduletest.Operation
	for _, op := range ownOperations(other.Company) {
		// No company calls these: see TestCloudWebhookRefusals and TestBridgeEventRefusals.
		isOfNetwork := strings.HasPrefix(op.ID, "cloud-webhooks.") || strings.HasPrefix(op.ID, "bridge-events.")
		if !strings.Contains(op.Path, "{") || isOfNetwork {
			continue
		}
		path := owner.pathOf(op.Path)
		require.NotEmpty(t, path, "the test has no resource for %s", op.Path)
		require.NotContains(t, path, "{", "the test does not know each parameter of %s", op.Path)
		operations = append(operations, op)
		body := other.bodyOf(op)
		before := owner.tables()
		response := other.call(op, path, body)
		require.Equal(t, 404, response.Status, "%s: %s", op.ID, response.Text)
		require.NotContains(t, response.Text, owner.texts, op.ID)
		require.Equal(t, before, owner.tables(), "%s stores something", op.ID)
		if op.ID == "messages.create" {
			require.Equal(t, 404, other.Upload(strings.TrimSuffix(path, "/messages"), nil, messagingtest.File{Name: "a.pdf", Content: []byte("%PDF-1.7")}).Status)
			require.Equal(t, before, owner.tables(), "an upload stores something")
		}
	}
	require.Greater(t, len(operations), 40)

	slices.SortStableFunc(operations, func(a, b moduletest.Operation) int { return rank(a) - rank(b) })
	for _, op := range operations {
		response := owner.call(op, owner.pathOf(op.Path), owner.bodyOf(op))
		require.Contains(t, []int{200, 201, 400}, response.Status, "%s of the owner: %s", op.ID, response.Text)
		if op.Method == http.MethodGet {
			require.Equal(t, 200, response.Status, "%s of the owner: %s", op.ID, response.Text)
		}
	}
}

// rank orders operations so that each finds the resource: those that delete come last, and
// of them those that delete others' resources.
func rank(op moduletest.Operation) int {
	switch {
	case op.Method == http.MethodGet:
		return 0
	case op.Method == http.MethodPut:
		return 1
	case op.ID == "contacts.anonymize":
		return 5
	case op.Method == http.MethodPost:
		return 2
	case op.ID == "tickets.delete":
		return 4
	case op.ID == "contacts.delete" || op.ID == "connections.delete":
		return 6
	}
	return 3
}

// Another company's id in a body is 404 and stores nothing; one's own is accepted there. The
// properties are found in the document.
func TestBodiesAreIsolated(t *testing.T) {
	t.Parallel()
	owner, other := fillCompanies(t)
	type attempt struct {
		op       moduletest.Operation
		property moduletest.Property
	}
	var attempts []attempt
	for _, op := range ownOperations(other.Company) {
		for _, property := range op.Properties() {
			if !idName.MatchString(property.Name()) || slices.Contains(otherIDs, property.Path) {
				continue
			}
			require.Contains(t, idsInBodies, property.Path, "%s: the test does not know what %s names", op.ID, property.Path)
			attempts = append(attempts, attempt{op, property})
		}
	}
	require.Greater(t, len(attempts), 40)
	for _, isForeign := range []bool{true, false} { // refusals first: what is accepted goes on in the background
		for _, a := range attempts {
			of := other
			if isForeign {
				of = owner
			}
			before, response := other.callWith(a.op, a.property, of)
			if !isForeign {
				require.Contains(t, []int{200, 201}, response.Status, "%s with its own %s: %s", a.op.ID, a.property.Path, response.Text)
				continue
			}
			require.Equal(t, 404, response.Status, "%s with a foreign %s: %s", a.op.ID, a.property.Path, response.Text)
			require.NotContains(t, response.Text, owner.texts)
			require.Equal(t, before, owner.tables(), "%s with a foreign %s stores something", a.op.ID, a.property.Path)
		}
	}
}

// callWith makes a valid request with the id of an owner's resource in a property, and
// returns what the tables were before.
func (c *filledCompany) callWith(op moduletest.Operation, property moduletest.Property, owner *filledCompany) (before map[string]string, response moduletest.Response) {
	c.T.Helper()
	id, path := owner.ids[idsInBodies[property.Path]], c.pathOf(op.Path)
	if !strings.Contains(op.Path, "{") {
		path = op.Path
	}
	if property.IsForm {
		before, fields := c.tables(), map[string]string{property.Path: fmt.Sprint(id)}
		switch op.ID {
		case "contacts.import":
			return before, c.ImportContacts("number\n5511955554444\n", fields)
		case "messages.create":
			return before, c.Upload(strings.TrimSuffix(path, "/messages"), fields, messagingtest.File{Name: "a.pdf", Content: []byte("%PDF-1.7")})
		}
		require.Fail(c.T, "the test has no form for "+op.ID)
	}
	body := c.bodyOf(op)
	switch _, isRequired := body[property.Path]; {
	case isRequired && c == owner: // it names its own already
	case property.IsList:
		body[property.Path] = []any{id}
	case property.Path == "ticket_id":
		body[property.Path] = fmt.Sprint(id)
	default:
		body[property.Path] = id
	}
	before = c.tables()
	return before, c.call(op, path, body)
}

// Lists, searches and reports have nothing of another company, whatever they are filtered
// by.
func TestListsAreIsolated(t *testing.T) {
	t.Parallel()
	owner, other := fillCompanies(t)
	for _, op := range ownOperations(other.Company) {
		if op.Method != http.MethodGet || strings.Contains(op.Path, "{") || op.ID == "events.stream" {
			continue
		}
		queries := []string{"", "?searchParam=" + owner.texts, "?phone=" + contactNumber}
		for _, parameter := range op.Parameters {
			if !idName.MatchString(parameter.Name) || slices.Contains(otherIDs, parameter.Name) {
				continue
			}
			collection, ok := idsInQueries[parameter.Name]
			require.True(t, ok, "%s: the test does not know what %s names", op.ID, parameter.Name)
			value := fmt.Sprint(owner.ids[collection])
			if parameter.Name == "queueIds" || parameter.Name == "tags" {
				value = "[" + value + "]"
			}
			queries = append(queries, "?"+parameter.Name+"="+url.QueryEscape(value))
		}
		for _, query := range queries {
			response := other.call(op, op.Path+query, nil)
			require.Contains(t, []int{200, 400, 404}, response.Status, "%s%s: %s", op.ID, query, response.Text)
			require.NotContains(t, response.Text, owner.texts, "%s%s", op.ID, query)
			require.NotContains(t, response.Text, fmt.Sprintf(`"companyId":%d,`, owner.ID), "%s%s", op.ID, query)
		}
	}
	require.EqualValues(t, 1, other.Get("/reports/tickets")["total"])
	require.Equal(t, owner.Get("/contacts")["contacts"].([]any)[0].(object)["number"], other.Get("/contacts")["contacts"].([]any)[0].(object)["number"], "the same number in both")
	require.Equal(t, "Reception", other.List("/whatsapp")[0]["name"], "the same name in both")
}

// Event streams and webhooks bring what happens in their own company.
func TestEventsAreIsolated(t *testing.T) {
	t.Parallel()
	owner, other := fillCompanies(t)
	receiver := messagingtest.NewReceiver(t)
	other.OK(201, "POST", "/webhooks", object{"url": receiver.URL, "events": []string{"message.created", "ticket.created", "ticket.updated", "contact.created"}, "includeSent": true})
	stream, status := openStream(t, other.Company, "", "Authorization", "Bearer "+other.Token)
	require.Equal(t, 200, status)
	phone := owner.AddPhone("Carla")
	owner.SendFromPhone(phone, owner.line, owner.name())
	owner.OK(200, "PUT", owner.pathOf("/tickets/{id}"), object{"status": "closed"})
	other.SendFromPhone(phone, other.line, "Good morning")
	for _, event := range receiver.NextOf("contact.created", "ticket.created", "message.created") {
		require.NotContains(t, string(event.Raw), owner.texts)
	}
	for {
		event := stream.next()
		require.NotContains(t, fmt.Sprint(event.Data), owner.texts)
		if event.Name == "message" {
			require.Contains(t, fmt.Sprint(event.Data), "Good morning")
			break
		}
	}
	require.True(t, receiver.IsEmpty())
}

// An API token works for its own company, and not once it is revoked.
func TestRevokedAPIToken(t *testing.T) {
	t.Parallel()
	owner, other := fillCompanies(t)
	message := object{"number": contactNumber, "body": "Hello"}
	other.OK(404, "DELETE", owner.pathOf("/api-tokens/{id}"), nil)
	owner.program.OK(200, "POST", "/api/messages/send", message)
	owner.FlushOutbox()
	owner.OK(200, "DELETE", owner.pathOf("/api-tokens/{id}"), nil)
	before := owner.tables()["messages"]
	owner.program.OK(401, "POST", "/api/messages/send", message)
	owner.As("").OK(401, "POST", "/api/messages/send", message, "apikey", owner.program.Token)
	other.As(owner.program.Token).OK(401, "POST", "/api/messages/send", message, "apikey", other.program.Token)
	require.Equal(t, before, owner.tables()["messages"])
	other.program.OK(200, "POST", "/api/messages/send", message)
}
