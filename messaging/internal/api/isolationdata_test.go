package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/messaging"
	"integrationhub/messaging/internal/messagingtest"
)

// filledCompany is a company with a resource of each kind.
type filledCompany struct {
	*messagingtest.Company
	program *messagingtest.Company // with an API token
	peer    *messagingtest.Company // with a key of a connected product
	line    messagingtest.Connection
	ids     map[string]any // by the collection's path, and "/messages"
	texts   string         // what the company's names and texts begin with
	count   int            // of names made
}

// contactNumber is the number of a contact of every filled company.
const contactNumber = "5511987650001"

// fillCompanies starts a hub with two companies that have the same connections, contacts,
// queues and tags, but for the texts' beginnings.
func fillCompanies(t *testing.T) (owner, other *filledCompany) {
	t.Helper()
	hub := moduletest.Start(t, messaging.New(), moduletest.Options{Start: time.Date(2096, 3, 1, 12, 0, 0, 0, time.UTC), Settings: []string{"HUB_PRODUCT_LIMITS=messaging.sends=100000-M,messaging.users=100000-M"}})
	owner, other = fillCompany(t, hub, "Alfa"), fillCompany(t, hub, "Beta")
	owner.FlushOutbox()
	return owner, other
}

func fillCompany(t *testing.T, running *moduletest.Hub, texts string) *filledCompany {
	t.Helper()
	c := &filledCompany{Company: messagingtest.SignUp(t, running), ids: make(map[string]any), texts: texts}
	c.OK(200, "PUT", "/company", object{"name": c.name()})
	c.line = c.Connect()
	c.OK(200, "PUT", messagingtest.ConnectionPath(c.line), object{"name": "Reception"})
	c.OK(201, "POST", "/sandbox/phones", object{"number": contactNumber, "name": "Ana"})
	c.SendFromPhone(contactNumber, c.line, c.name())
	c.ids["/whatsapp"], c.ids["/whatsappsession"] = c.line.ID, c.line.ID
	ticket := c.Tickets("")[0]
	c.ids["/tickets"], c.ids["/contacts"] = ticket["id"], ticket["contactId"]
	c.OK(200, "PUT", messagingtest.TicketPath(ticket), object{"status": "open", "resolution": c.name()})
	c.OK(200, "PUT", messagingtest.Path("/contacts", object{"id": ticket["contactId"]}), object{"name": c.name()})
	file := c.Upload(messagingtest.TicketPath(ticket), map[string]string{"body": c.name()}, messagingtest.File{Name: "a.pdf", Content: []byte("%PDF-1.7 " + texts)}).Body
	c.ids["/messages"] = file["id"]
	address := file["mediaUrl"].(string)
	c.ids["/media"] = address[strings.LastIndex(address, "/")+1:]
	c.ids["mediaUrl"] = address
	for path, body := range map[string]object{
		"/queue":          {"name": c.name(), "color": "#00f"},
		"/tags":           {"name": c.name()},
		"/schedules":      {"body": c.name(), "sendAt": "2097-03-01T12:00:00Z", "contactId": c.ids["/contacts"]},
		"/campaigns":      {"name": c.name(), "message1": c.name(), "whatsappId": c.line.ID, "contactIds": []any{c.ids["/contacts"]}},
		"/quick-messages": {"shortcode": "address", "message": c.name()},
		"/contact-lists":  {"name": c.name(), "contactIds": []any{c.ids["/contacts"]}},
		"/webhooks":       {"url": "https://example.com/" + c.name(), "events": []string{"ticket.updated"}},
		"/api-tokens":     {"name": c.name()},
		"/users":          {"name": c.name(), "email": strings.ToLower(texts) + "@example.com", "password": messagingtest.Password},
	} {
		created := c.OK(201, "POST", path, body)
		c.ids[path] = created["id"]
		if path == "/api-tokens" {
			c.program = c.As(created["token"].(string))
		}
	}
	c.ids["/contacts/imports"] = c.ImportContacts("number\n"+strings.Repeat(contactNumber+"\n", 2001), nil).Body["id"]
	require.Eventually(t, func() bool { return c.Get(c.pathOf("/contacts/imports/{id}"))["status"] == "done" }, time.Minute, 10*time.Millisecond)
	c.ConnectCalendar("Corte")
	c.peer = c.As(running.CreateKey(c.Tenant, hub.Live))
	return c
}

// name returns a new name of something of the company.
func (c *filledCompany) name() string {
	c.count++
	return fmt.Sprintf("%s%d", c.texts, c.count)
}

// pathOf returns the path with the id of the company's resource; "" if the test does not
// know the resource.
func (c *filledCompany) pathOf(path string) string {
	collection, _, _ := strings.Cut(path, "/{id}")
	id, ok := c.ids[collection]
	if !ok {
		return ""
	}
	if strings.HasSuffix(path, "/free-times") {
		path += "?service_id=service-Corte"
	}
	return strings.Replace(path, "{id}", fmt.Sprint(id), 1)
}

// newContact makes a contact and returns its id.
func (c *filledCompany) newContact() any {
	c.T.Helper()
	c.count++
	return c.OK(201, "POST", "/contacts", object{"name": c.name(), "number": fmt.Sprintf("551197%07d", c.count)})["id"]
}

// validBodies are valid requests of every operation whose path or body names a resource. They
// say only what is required.
var validBodies = map[string]func(c *filledCompany) object{
	"api-tokens.create": func(c *filledCompany) object { return object{"name": c.name()} },
	"bookings.create": func(*filledCompany) object {
		return object{"service_id": "s-1", "start_at": "2096-03-02T09:00:00-03:00"}
	},
	"campaigns.create": func(c *filledCompany) object {
		return object{"name": c.name(), "message1": "Hi", "whatsappId": c.line.ID}
	},
	"campaigns.update":     func(c *filledCompany) object { return object{"name": c.name()} },
	"contact-lists.create": func(c *filledCompany) object { return object{"name": c.name()} },
	"contact-lists.update": func(c *filledCompany) object { return object{"name": c.name()} },
	"contacts.create": func(c *filledCompany) object {
		c.count++
		return object{"name": c.name(), "number": fmt.Sprintf("551196%07d", c.count)}
	},
	"contacts.update":           func(c *filledCompany) object { return object{"name": c.name()} },
	"connections.create":        func(c *filledCompany) object { return object{"name": c.name()} },
	"connections.update":        func(c *filledCompany) object { return object{"greetingMessage": c.name()} },
	"integrations.close-ticket": func(c *filledCompany) object { return object{"ticket_id": fmt.Sprint(c.ids["/tickets"])} },
	"integrations.send-message": func(c *filledCompany) object { return object{"number": contactNumber, "body": c.name()} },
	"messages.create":           func(c *filledCompany) object { return object{"body": c.name()} },
	"messages.send":             func(c *filledCompany) object { return object{"number": contactNumber, "body": c.name()} },
	"queues.update":             func(c *filledCompany) object { return object{"greetingMessage": c.name()} },
	"quick-messages.create":     func(c *filledCompany) object { return object{"shortcode": c.name(), "message": c.name()} },
	"quick-messages.update":     func(c *filledCompany) object { return object{"message": c.name()} },
	"schedules.create": func(c *filledCompany) object {
		return object{"body": c.name(), "sendAt": "2097-03-01T12:00:00Z", "contactId": c.ids["/contacts"]}
	},
	"schedules.update": func(c *filledCompany) object { return object{"body": c.name()} },
	"tags.update":      func(c *filledCompany) object { return object{"name": c.name()} },
	"tickets.create":   func(c *filledCompany) object { return object{"contactId": c.newContact()} },
	"tickets.update":   func(c *filledCompany) object { return object{"resolution": c.name()} },
	"users.create": func(c *filledCompany) object {
		return object{"name": c.name(), "email": strings.ToLower(c.name()) + "@example.com", "password": messagingtest.Password}
	},
	"users.update":    func(c *filledCompany) object { return object{"name": c.name()} },
	"webhooks.update": func(c *filledCompany) object { return object{"includeSent": true} },
}
