package api_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

func TestContacts(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	vip := company.OK(201, "POST", "/tags", object{"name": "VIP"})
	made := company.OK(201, "POST", "/contacts", object{
		"name": " Ána Souza ", "number": "551187654321", "email": "Ana@example.com", "extraInfo": []object{{"name": "Birthday", "value": "2 March"}},
		"tagIds": ids(messagingtest.ID(vip), messagingtest.ID(vip)), "consent": "opted_in",
	})
	path := messagingtest.Path("/contacts", made)
	require.Equal(t, "Ána Souza", made["name"])
	require.Equal(t, "551187654321", made["number"])
	require.Equal(t, "5511987654321", made["numberKey"])
	require.Equal(t, []any{object{"name": "Birthday", "value": "2 March"}}, made["extraInfo"])
	require.Equal(t, []any{object{"id": vip["id"], "name": "VIP", "color": "#A4CCCC"}}, made["tags"])
	require.NotNil(t, made["consentAt"])
	require.Equal(t, made, company.Get(path))
	require.Equal(t, []string{"contact.created"}, company.Hub.EventTypes(company.Tenant))
	company.OK(201, "POST", "/contacts", object{"name": "100%_x", "number": "15551234567"})

	company.Refused(400, "ERR_DUPLICATED_CONTACT", "POST", "/contacts", object{"name": "Ana", "number": "5511987654321"})
	company.AnotherCompany().OK(201, "POST", "/contacts", object{"name": "Ana", "number": "5511987654321"})
	for search, count := range map[string]int{
		"searchParam=ana": 1, "searchParam=SOUZA": 1, "searchParam=8765": 1, "searchParam=ana%40EX": 1, "searchParam=%25": 1, "searchParam=_": 1, "searchParam=bia": 0, "": 2,
		"consent=opted_in": 1, "consent=opted_out": 0, "tagId=" + strings.TrimPrefix(messagingtest.Path("", vip), "/"): 1, "pageNumber=2": 0,
	} {
		list := company.Get("/contacts?" + search)
		require.Len(t, list["contacts"], count, search)
		require.Equal(t, false, list["hasMore"])
	}

	changed := company.OK(200, "PUT", path, object{"consent": "opted_out", "tagIds": ids(), "extraInfo": []object{}})
	require.Empty(t, changed["tags"])
	require.Empty(t, changed["extraInfo"])
	require.Equal(t, "Ana@example.com", changed["email"])
	company.Refused(400, "ERR_DUPLICATED_CONTACT", "PUT", path, object{"number": "15551234567"})
	company.OK(200, "DELETE", path, nil)
	company.Refused(404, "ERR_NO_CONTACT_FOUND", "GET", path, nil)
}

func TestContactValidation(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	others := company.AnotherCompany().OK(201, "POST", "/tags", object{"name": "VIP"})
	path := messagingtest.Path("/contacts", company.OK(201, "POST", "/contacts", object{"name": "Ana", "number": "5511987654321"}))
	before := company.Get(path)
	for name, tc := range map[string]struct {
		change object
		status int
		err    string
	}{
		"no name":                 {object{"name": " "}, 400, "ERR_VALIDATION"},
		"a long name":             {object{"name": strings.Repeat("x", 121)}, 400, "ERR_VALIDATION"},
		"a number with a plus":    {object{"number": "+5511987654321"}, 400, "ERR_INVALID_NUMBER"},
		"a short number":          {object{"number": "1234567"}, 400, "ERR_INVALID_NUMBER"},
		"a number of letters":     {object{"number": "abc"}, 400, "ERR_INVALID_NUMBER"},
		"a number that is one":    {object{"number": 5511987654321}, 400, "ERR_VALIDATION"},
		"no address":              {object{"email": "ana"}, 400, "ERR_VALIDATION"},
		"an unknown consent":      {object{"consent": "yes"}, 400, "ERR_VALIDATION"},
		"another company's tag":   {object{"tagIds": ids(messagingtest.ID(others))}, 404, "ERR_NO_TAG_FOUND"},
		"info without a name":     {object{"extraInfo": []object{{"name": "", "value": "x"}}}, 400, "ERR_VALIDATION"},
		"info with a long value":  {object{"extraInfo": []object{{"name": "x", "value": strings.Repeat("x", 1001)}}}, 400, "ERR_VALIDATION"},
		"info that is no list":    {object{"extraInfo": "x"}, 400, "ERR_VALIDATION"},
		"a text with a NUL":       {object{"name": "a\x00b"}, 400, "ERR_VALIDATION"},
		"a fact with a NUL in it": {object{"extraInfo": []object{{"name": "x", "value": "a\x00b"}}}, 400, "ERR_VALIDATION"},
	} {
		company.Refused(tc.status, tc.err, "PUT", path, tc.change)
		body := object{"name": "Bia", "number": "5511987654322"}
		for field, value := range tc.change {
			body[field] = value
		}
		company.Refused(tc.status, tc.err, "POST", "/contacts", body)
		require.Equal(t, before, company.Get(path), name)
	}
	company.Refused(400, "ERR_VALIDATION", "POST", "/contacts", object{"number": "5511987654322"})
	company.Refused(400, "ERR_INVALID_NUMBER", "POST", "/contacts", object{"name": "Bia"})
	require.EqualValues(t, 1, company.Get("/contacts")["count"])
}

// A Brazilian number has its area code and eight or nine digits behind it. What is shorter or longer
// is no number, for the send API and for contacts; nothing is stored or sent.
func TestLengthsOfBrazilianNumbers(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	company.Connect()
	program := company.As(company.APIToken())
	const path, rule = "/api/messages/send", "Invalid number format: digits with country code"
	for name, number := range map[string]string{
		"a mobile with a digit too many":    "55119876543210",
		"the longest number":                "551198765432101",
		"without area code":                 "55987654321",
		"without area code and ninth digit": "5587654321",
		"without area code and a digit":     "558765432",
		"behind the dialling prefix 0":      "55011987654321",
		"the country code alone":            "55",
	} {
		require.Equal(t, rule, program.Refused(400, "ERR_INVALID_NUMBER", "POST", path, object{"number": number, "body": "x"})["detail"], name)
		company.Refused(400, "ERR_INVALID_NUMBER", "POST", "/contacts", object{"name": "Ana", "number": number})
	}
	imported := company.ImportContacts("name,number\nAna,55119876543210\nBia,551198765\n", nil).Body
	require.Equal(t, []any{0.0, 2.0}, []any{imported["created"], imported["failed"]}, imported)
	require.Empty(t, company.Get("/contacts")["contacts"])
	require.Empty(t, company.Tickets(""))

	// A mobile number is one contact with its ninth digit and without; a landline has none.
	const with, without, landline = "5511987654377", "551187654377", "551133334477"
	sent := program.OK(200, "POST", path, object{"number": with, "body": "With"})
	again := program.OK(200, "POST", path, object{"number": without, "body": "Without"})
	require.Equal(t, []any{sent["contactId"], sent["ticketId"]}, []any{again["contactId"], again["ticketId"]})
	company.Refused(400, "ERR_DUPLICATED_CONTACT", "POST", "/contacts", object{"name": "Ana", "number": without})
	contact := messagingtest.Path("/contacts", object{"id": sent["contactId"]})
	company.Refused(400, "ERR_INVALID_NUMBER", "PUT", contact, object{"number": with + "0"})
	require.Equal(t, []any{without, with}, []any{company.OK(200, "PUT", contact, object{"number": without})["number"], company.Get(contact)["numberKey"]}, "it may be written in either form")
	for _, term := range []string{with, without, "%2B" + with, "+" + with, "%2B55%2011%208765-4377", "(11)%2098765-4377", "1187654377"} { // the contact has it without
		found := company.Get("/contacts?searchParam=" + term)
		require.EqualValues(t, 1, found["count"], term)
		require.EqualValues(t, 1, company.Get("/tickets?searchParam=" + term)["count"], term)
	}
	for _, term := range []string{"11987654377x", "5511987654376", "%2B551198765437", "+"} {
		require.EqualValues(t, 0, company.Get("/contacts?searchParam=" + term)["count"], term)
		require.EqualValues(t, 0, company.Get("/tickets?searchParam=" + term)["count"], term)
	}
	made := company.OK(201, "POST", "/contacts", object{"name": "Reception", "number": landline})
	require.Equal(t, landline, made["numberKey"])
	require.Equal(t, made["id"], program.OK(200, "POST", path, object{"number": landline, "body": "x"})["contactId"])

	// Where a number was stored under an earlier rule, the rest can still be changed.
	company.Hub.Exec(`update messaging.contacts set number = '558765432', number_key = '558765432' where id = $1`, int64(made["id"].(float64)))
	require.Equal(t, "Front desk", company.OK(200, "PUT", messagingtest.Path("/contacts", made), object{"name": "Front desk"})["name"])
}

// A user that is no administrator sees contacts without a ticket and those of tickets it
// sees, and deletes none.
func TestContactRights(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	connection := company.Connect()
	user, _ := company.AddUser(nil)
	free := company.OK(201, "POST", "/contacts", object{"name": "Free", "number": "15551234567"})
	paths := make(map[string]string)
	for _, name := range []string{"Mine", "Theirs"} {
		phone := company.AddPhone(name)
		company.SendFromPhone(phone, connection, "Hi")
		paths[name] = messagingtest.TicketPath(company.Tickets("searchParam=" + phone)[0])
	}
	user.OK(200, "PUT", paths["Mine"], object{"status": "open"})
	theirs := company.OK(200, "PUT", paths["Theirs"], object{"status": "open"})
	hidden := messagingtest.Path("/contacts", theirs["contact"].(object))

	var names []string
	for _, contact := range user.Get("/contacts")["contacts"].([]any) {
		names = append(names, contact.(object)["name"].(string))
	}
	require.Equal(t, []string{"Free", "Mine"}, names)
	require.EqualValues(t, 3, company.Get("/contacts")["count"])
	user.Refused(403, "ERR_NO_PERMISSION", "GET", hidden, nil)
	user.Refused(403, "ERR_NO_PERMISSION", "PUT", hidden, object{"name": "Mine now"})
	require.Equal(t, "Theirs", company.Get(hidden)["name"])
	user.OK(200, "PUT", messagingtest.Path("/contacts", free), object{"name": "Still free"})
	user.OK(201, "POST", "/contacts", object{"name": "New", "number": "15551234568"})
	user.Refused(403, "ERR_NO_PERMISSION", "DELETE", messagingtest.Path("/contacts", free), nil)
}

func TestTags(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	user, _ := company.AddUser(nil)
	made := user.OK(201, "POST", "/tags", object{"name": "New lead", "color": "#abc", "kanban": 1})
	path := messagingtest.Path("/tags", made)
	require.Equal(t, made, company.Get(path))
	for name, change := range map[string]object{
		"a short name":     {"name": "ab"},
		"an unknown color": {"color": "red"},
		"half a color":     {"color": "#abcd"},
		"a column below":   {"kanban": -1},
	} {
		company.Refused(400, "ERR_VALIDATION", "PUT", path, change)
		change["name"] = cmpOr(change["name"], "Other")
		company.Refused(400, "ERR_VALIDATION", "POST", "/tags", change)
		require.Equal(t, made, company.Get(path), name)
	}
	company.OK(201, "POST", "/tags", object{"name": "Açaí"})
	company.Refused(400, "ERR_TAG_NAME_ALREADY_EXISTS", "POST", "/tags", object{"name": "NEW LEAD"})
	company.Refused(400, "ERR_TAG_NAME_ALREADY_EXISTS", "PUT", path, object{"name": "açaí"})
	require.EqualValues(t, 1, company.Get("/tags?searchParam=acai")["count"])
	require.EqualValues(t, 2, company.Get("/tags")["count"])
	require.Equal(t, "Lead", company.OK(200, "PUT", path, object{"name": "Lead"})["name"])
	company.OK(200, "DELETE", path, nil)
	company.Refused(404, "ERR_NO_TAG_FOUND", "DELETE", path, nil)
	var named int
	require.NoError(t, company.Hub.Host.Pool.QueryRow(t.Context(), `select count(*) from hub.audit where action = 'tags.delete' and resource_id = $1`,
		strings.TrimPrefix(path, "/tags/")).Scan(&named))
	require.Equal(t, 2, named, "the audit log says which tag")
}

// cmpOr returns the first value unless it is nil.
func cmpOr(value, fallback any) any {
	if value == nil {
		return fallback
	}
	return value
}

// Another company's token finds nothing, and changes nothing.
func TestPeopleIsolation(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	other := company.AnotherCompany()
	for collection, tc := range map[string]struct {
		body, change object
		err          string
	}{
		"/tags":           {object{"name": "VIP"}, object{"name": "Mine"}, "ERR_NO_TAG_FOUND"},
		"/contacts":       {object{"name": "Ana", "number": "5511987654321"}, object{"name": "Mine"}, "ERR_NO_CONTACT_FOUND"},
		"/quick-messages": {object{"shortcode": "address", "message": "Rua Augusta"}, object{"message": "Mine"}, "ERR_NO_QUICKMESSAGE_FOUND"},
		"/contact-lists":  {object{"name": "March"}, object{"name": "Mine"}, "ERR_NO_CONTACT_LIST_FOUND"},
	} {
		path := messagingtest.Path(collection, company.OK(201, "POST", collection, tc.body))
		before := company.Get(path)
		other.Refused(404, tc.err, "GET", path, nil)
		other.Refused(404, tc.err, "PUT", path, tc.change)
		other.Refused(404, tc.err, "DELETE", path, nil)
		require.Equal(t, before, company.Get(path))
		require.EqualValues(t, 0, other.Get(collection)["count"], collection)
	}
}
