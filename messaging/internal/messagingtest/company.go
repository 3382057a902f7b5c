// Package messagingtest provides the product's tests with a company on a running hub, its
// connections, and phones of the simulated network. Only tests import it.
package messagingtest

import (
	"bytes"
	"cmp"
	"fmt"
	"mime/multipart"
	"net/textproto"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/hubtest/openapitest"
	"integrationhub/messaging"
)

// contract is the product's OpenAPI document: every response is checked against it.
var contract openapitest.Document

// Password is that of every user.
const Password = "correct horse"

type object = moduletest.Object

// Company is a company on a running hub, as one caller sees it: its administrator, until
// [Company.As] names another.
type Company struct {
	moduletest.Client
	ID     int64
	Tenant uuid.UUID // the company, as the hub knows it
	Email  string    // its first administrator's
}

// signUps numbers the users of a test process; phones numbers its phones.
var signUps, phones atomic.Int64

// unlimited lets the companies of a shared hub sign up and log in as often as its tests need.
const unlimited = "HUB_PRODUCT_LIMITS=messaging.sign-ups=100000-H,messaging.logins=100000-M,messaging.password-links=100000-H,messaging.passwords=100000-H"

// NewCompany signs a company up at the hub that the tests of the process share, see
// [moduletest.Shared].
func NewCompany(t testing.TB) *Company {
	t.Helper()
	return SignUp(t, moduletest.Shared(t, messaging.New(), moduletest.Options{Settings: []string{unlimited}}))
}

// NewCompanyAlone starts a hub and signs a company up there.
func NewCompanyAlone(t testing.TB) *Company {
	t.Helper()
	return NewCompanyAt(t, time.Time{})
}

// NewCompanyAt starts a hub whose product clock stands at a time, and signs a company up
// there.
func NewCompanyAt(t testing.TB, start time.Time) *Company {
	t.Helper()
	return SignUp(t, moduletest.Start(t, messaging.New(), moduletest.Options{Start: start}))
}

// AnotherCompany signs one more company up at the same hub.
func (c *Company) AnotherCompany() *Company {
	c.T.Helper()
	return SignUp(c.T, c.Hub)
}

// SignUp signs a company up and returns it as its administrator sees it.
func SignUp(t testing.TB, hub *moduletest.Hub) *Company {
	t.Helper()
	c := CompanyAt(t, hub, "")
	c.Email = fmt.Sprintf("admin%d@example.com", signUps.Add(1))
	session := c.OK(201, "POST", "/auth/signup", object{"name": "Bia", "companyName": "Studio Bela", "email": c.Email, "password": Password})
	c.Token = session["token"].(string)
	company := c.Get("/company")
	c.ID, c.Tenant = int64(company["id"].(float64)), uuid.MustParse(company["tenantId"].(string))
	return c
}

// CompanyAt returns the product as the holder of a token sees it.
func CompanyAt(t testing.TB, hub *moduletest.Hub, token string) *Company {
	return &Company{Client: moduletest.Client{
		T: t, Hub: hub, Token: token, Contract: &contract, KeyPrefix: "msg_",
		Roots: []string{"/api/messages", "/auth", "/campaigns", "/company", "/contact-lists", "/contacts", "/events", "/media", "/queue", "/quick-messages", "/reports", "/sandbox", "/schedules", "/tags", "/tickets", "/users", "/webhooks", "/whatsapp", "/whatsappsession"},
	}}
}

// As returns the company as another caller sees it: with another token, or with none.
func (c *Company) As(token string) *Company {
	copied := *c
	copied.Token = token
	return &copied
}

// Connection is a connection of a company, paired with a phone.
type Connection struct {
	ID     int64
	Number string // its own
}

// Connect makes a connection and pairs it with a phone of its own.
func (c *Company) Connect() Connection {
	c.T.Helper()
	id := int64(c.OK(201, "POST", "/whatsapp", object{"name": fmt.Sprintf("Line %d", phones.Load())})["id"].(float64))
	number := c.AddPhone("Company phone")
	code := c.OK(200, "GET", fmt.Sprintf("/whatsapp/%d/qrCode", id), nil)["qrcode"]
	paired := c.OK(200, "POST", "/sandbox/phones/"+number+"/scan", object{"code": code})
	require.Equal(c.T, "CONNECTED", paired["status"])
	return Connection{id, number}
}

// AddPhone adds a phone to the simulated network and returns its number.
func (c *Company) AddPhone(name string) string {
	c.T.Helper()
	number := "551198" + fmt.Sprintf("%07d", 1_000_001+phones.Add(1)*3)
	c.OK(201, "POST", "/sandbox/phones", object{"number": number, "name": name})
	return number
}

// APIToken makes an API token.
func (c *Company) APIToken() string {
	c.T.Helper()
	return c.OK(201, "POST", "/api-tokens", object{"name": "test"})["token"].(string)
}

// Inbox returns the texts that a phone has received.
func (c *Company) Inbox(number string) []string {
	c.T.Helper()
	var texts []string
	for _, message := range c.OK(200, "GET", "/sandbox/phones/"+number+"/inbox", nil)["messages"].([]any) {
		texts = append(texts, message.(object)["body"].(string))
	}
	return texts
}

// SendFromPhone sends a message from a phone to a connection.
func (c *Company) SendFromPhone(number string, to Connection, body string) {
	c.T.Helper()
	c.OK(201, "POST", "/sandbox/phones/"+number+"/send", object{"to": to.Number, "body": body})
}

// Upload sends files as messages of a ticket: file names and their contents. fields are other
// fields of the form.
func (c *Company) Upload(ticketPath string, fields map[string]string, files ...File) moduletest.Response {
	c.T.Helper()
	var body bytes.Buffer
	for _, file := range files {
		body.Grow(len(file.Content) + 1000)
	}
	form := multipart.NewWriter(&body)
	for name, value := range fields {
		require.NoError(c.T, form.WriteField(name, value))
	}
	for _, file := range files {
		header := textproto.MIMEHeader{"Content-Disposition": {multipart.FileContentDisposition(cmp.Or(file.Field, "medias"), file.Name)}}
		if file.Type != "" {
			header.Set("Content-Type", file.Type)
		}
		part, err := form.CreatePart(header)
		require.NoError(c.T, err)
		_, err = part.Write(file.Content)
		require.NoError(c.T, err)
	}
	require.NoError(c.T, form.Close())
	return c.Call("POST", ticketPath+"/messages", body.Bytes(), "Content-Type", form.FormDataContentType())
}

// File is a file to upload.
type File struct {
	Name    string
	Type    string // Content-Type; "" = none
	Field   string // of the form; "" = medias
	Content []byte
}

// Tickets returns the first page of tickets; filter is a query such as "status=open".
func (c *Company) Tickets(filter string) []moduletest.Object {
	c.T.Helper()
	var tickets []object
	for _, ticket := range c.OK(200, "GET", "/tickets?"+filter, nil)["tickets"].([]any) {
		tickets = append(tickets, ticket.(object))
	}
	return tickets
}

// TicketPath returns the path of a ticket.
func TicketPath(ticket object) string {
	return "/tickets/" + strconv.FormatInt(int64(ticket["id"].(float64)), 10)
}

// ConnectionPath returns the path of a connection.
func ConnectionPath(c Connection) string { return "/whatsapp/" + strconv.FormatInt(c.ID, 10) }
