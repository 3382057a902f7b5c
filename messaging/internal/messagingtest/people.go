package messagingtest

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"strconv"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
)

// AddUser makes a user and returns the company as that user sees it, and the user's id.
// fields are those of POST /users that differ from the defaults.
func (c *Company) AddUser(fields object) (asUser *Company, id int64) {
	c.T.Helper()
	body := object{"name": "Caio", "email": fmt.Sprintf("user%d@example.com", signUps.Add(1)), "password": Password}
	for name, value := range fields {
		body[name] = value
	}
	user := c.OK(201, "POST", "/users", body)
	return c.LogIn(user["email"].(string), body["password"].(string)), ID(user)
}

// LogIn logs a user in and returns the company as that user sees it.
func (c *Company) LogIn(email, password string) *Company {
	c.T.Helper()
	session := c.As("").OK(200, "POST", "/auth/login", object{"email": email, "password": password})
	return c.As(session["token"].(string))
}

// Advance advances the product's clock and logs the first administrator in again: tokens
// expire by that clock.
func (c *Company) Advance(d time.Duration) {
	c.T.Helper()
	c.Hub.Clock.Advance(d)
	c.Token = c.LogIn(c.Email, Password).Token
}

// RunJob runs a background job once and waits until the hub's own runner has released it.
func (c *Company) RunJob(name string) {
	c.T.Helper()
	c.Hub.RunJob(name)
}

// SetNetwork takes the company's connections offline, or online again.
func (c *Company) SetNetwork(action string) {
	c.T.Helper()
	for _, connection := range c.List("/whatsapp") {
		c.OK(200, "POST", Path("/sandbox/connections", connection)+"/"+action, nil)
	}
}

// FlushOutbox sends what waits in the company's outbox, and waits for what others are sending.
func (c *Company) FlushOutbox() {
	c.T.Helper()
	require.Eventually(c.T, func() bool {
		c.RunJob("outbox")
		var waiting int
		require.NoError(c.T, c.Hub.Host.Pool.QueryRow(c.T.Context(), `select count(*) from outbox where company_id = $1`, c.ID).Scan(&waiting))
		return waiting == 0
	}, 2*time.Minute, 10*time.Millisecond)
}

// Refused requires a status and the platform's name of the error.
func (c *Company) Refused(status int, name, method, path string, body any, headers ...string) moduletest.Object {
	c.T.Helper()
	response := c.Call(method, path, body, headers...)
	require.Equal(c.T, status, response.Status, "%s %s: %s", method, path, response.Text)
	require.Equal(c.T, name, response.Body["error"], response.Text)
	require.NotEmpty(c.T, response.Body["detail"])
	return response.Body
}

// AddQueueRow adds a queue to the database.
func (c *Company) AddQueueRow(name, color string) int64 {
	c.T.Helper()
	var id int64
	require.NoError(c.T, c.Hub.Host.Pool.QueryRow(c.T.Context(), `insert into queues (company_id, name, color) values ($1, $2, $3) returning id`, c.ID, name, color).Scan(&id))
	return id
}

// ID returns the id of a resource.
func ID(resource object) int64 { return int64(resource["id"].(float64)) }

// Path returns the path of a resource in a collection such as "/contacts".
func Path(collection string, resource object) string {
	return collection + "/" + strconv.FormatInt(ID(resource), 10)
}

// ImportContacts uploads a CSV file with further fields of the form.
func (c *Company) ImportContacts(file string, fields map[string]string) moduletest.Response {
	c.T.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "contacts.csv")
	require.NoError(c.T, err)
	_, err = io.WriteString(part, file)
	require.NoError(c.T, err)
	for name, value := range fields {
		require.NoError(c.T, form.WriteField(name, value))
	}
	require.NoError(c.T, form.Close())
	return c.Call("POST", "/contacts/import", body.String(), "Content-Type", form.FormDataContentType())
}
