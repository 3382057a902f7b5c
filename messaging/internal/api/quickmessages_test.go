package api_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// Users read shared quick messages and change their own.
func TestQuickMessages(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	caio, caioID := company.AddUser(nil)
	davi, _ := company.AddUser(nil)
	shared := caio.OK(201, "POST", "/quick-messages", object{"shortcode": "address", "message": "Rua Augusta, 100", "mediaUrl": "https://example.com/map.png", "mediaName": "map.png"})
	private := caio.OK(201, "POST", "/quick-messages", object{"shortcode": "bye", "message": "See you!", "shared": false})
	require.EqualValues(t, caioID, shared["userId"])
	require.Equal(t, true, shared["shared"])
	sharedPath, privatePath := messagingtest.Path("/quick-messages", shared), messagingtest.Path("/quick-messages", private)

	for count, user := range map[int]*messagingtest.Company{2: caio, 1: davi} {
		require.EqualValues(t, count, user.Get("/quick-messages")["count"])
	}
	require.EqualValues(t, 2, company.Get("/quick-messages")["count"], "administrators read all")
	require.Equal(t, []any{shared}, caio.Get("/quick-messages?searchParam=AUGUSTA")["records"])
	require.Equal(t, shared, davi.Get(sharedPath))
	davi.Refused(403, "ERR_NO_PERMISSION", "PUT", sharedPath, object{"message": "Mine"})
	davi.Refused(403, "ERR_NO_PERMISSION", "DELETE", sharedPath, nil)
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		davi.Refused(404, "ERR_NO_QUICKMESSAGE_FOUND", method, privatePath, object{"message": "Mine"})
	}
	require.Equal(t, "See you.", caio.OK(200, "PUT", privatePath, object{"message": "See you."})["message"])
	require.Nil(t, company.OK(200, "PUT", sharedPath, object{"mediaUrl": nil, "mediaName": nil})["mediaUrl"])

	before := caio.Get(privatePath)
	for name, tc := range map[string]struct {
		change object
		err    string
	}{
		"no shortcode":      {object{"shortcode": " "}, "ERR_QUICKMESSAGE_REQUIRED"},
		"a short shortcode": {object{"shortcode": "ab"}, "ERR_QUICKMESSAGE_INVALID_NAME"},
		"a short message":   {object{"message": "ab"}, "ERR_QUICKMESSAGE_INVALID_NAME"},
		"a long message":    {object{"message": strings.Repeat("x", 4097)}, "ERR_VALIDATION"},
		"a path":            {object{"mediaUrl": "/etc/passwd"}, "ERR_VALIDATION"},
		"a word":            {object{"shared": "yes"}, "ERR_VALIDATION"},
	} {
		caio.Refused(400, tc.err, "PUT", privatePath, tc.change)
		body := object{"shortcode": "new", "message": "New message"}
		for field, value := range tc.change {
			body[field] = value
		}
		caio.Refused(400, tc.err, "POST", "/quick-messages", body)
		require.Equal(t, before, caio.Get(privatePath), name)
	}
	caio.Refused(400, "ERR_QUICKMESSAGE_REQUIRED", "POST", "/quick-messages", object{"shortcode": "new"})
	caio.OK(200, "DELETE", privatePath, nil)
	require.EqualValues(t, 1, company.Get("/quick-messages")["count"])
}

func TestContactLists(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	other := company.AnotherCompany()
	ana := messagingtest.ID(company.OK(201, "POST", "/contacts", object{"name": "Ana", "number": "5511987654321"}))
	bia := messagingtest.ID(company.OK(201, "POST", "/contacts", object{"name": "Bia", "number": "5511987654322"}))
	others := messagingtest.ID(other.OK(201, "POST", "/contacts", object{"name": "Eva", "number": "5511987654323"}))
	made := company.OK(201, "POST", "/contact-lists", object{"name": "March", "contactIds": ids(bia, ana, ana)})
	path := messagingtest.Path("/contact-lists", made)
	require.Equal(t, ids(ana, bia), made["contactIds"])
	require.EqualValues(t, 2, company.Get("/contact-lists?searchParam=mar")["contactLists"].([]any)[0].(object)["contactsCount"])
	company.OK(201, "POST", "/contact-lists", object{"name": "April"})
	for name, tc := range map[string]struct {
		change object
		status int
		err    string
	}{
		"no name":                   {object{"name": ""}, 400, "ERR_VALIDATION"},
		"no list":                   {object{"contactIds": "all"}, 400, "ERR_VALIDATION"},
		"another company's contact": {object{"contactIds": ids(ana, others)}, 404, "ERR_NO_CONTACT_FOUND"},
		"a taken name":              {object{"name": "APRIL"}, 400, "ERR_CONTACT_LIST_NAME_ALREADY_EXISTS"},
	} {
		company.Refused(tc.status, tc.err, "PUT", path, tc.change)
		body := object{"name": "May"}
		for field, value := range tc.change {
			body[field] = value
		}
		company.Refused(tc.status, tc.err, "POST", "/contact-lists", body)
		require.Equal(t, made, company.Get(path), name)
	}
	changed := company.OK(200, "PUT", path, object{"contactIds": ids(bia)})
	require.Equal(t, ids(bia), changed["contactIds"])
	require.Equal(t, "March", changed["name"])
	user, _ := company.AddUser(nil)
	for _, call := range [][2]string{{"GET", "/contact-lists"}, {"POST", "/contact-lists"}, {"GET", path}, {"PUT", path}, {"DELETE", path}} {
		user.Refused(403, "ERR_NO_PERMISSION", call[0], call[1], object{"name": "Mine"})
	}
	company.OK(200, "DELETE", path, nil)
	company.Refused(404, "ERR_NO_CONTACT_LIST_FOUND", "GET", path, nil)
	require.EqualValues(t, 2, company.Get("/contacts")["count"])
}
