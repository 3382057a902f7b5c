package clinictest

import (
	"strings"

	"github.com/stretchr/testify/require"
)

// LastEmail returns the sender's name, the subject and the language of the last email to
// an address.
func (c *Clinic) LastEmail(address string) []string {
	c.T.Helper()
	var from, subject, language string
	require.NoError(c.T, c.Hub.Host.Pool.QueryRow(c.T.Context(), `select from_name, subject, substring(html from '<html lang="(..)') from hub.mails
		where recipient = $1 order by id desc limit 1`, address).Scan(&from, &subject, &language))
	return []string{from, subject, language}
}

// ResetToken waits for the password e-mails that were requested and returns the token in
// the newest to an address. It requires that the link opens its page.
func (c *Clinic) ResetToken(address string) string {
	c.T.Helper()
	require.Eventually(c.T, func() bool {
		return c.QueryInt(`select count(*) from hub.jobs where $1::uuid is not null and job = 'forgotten-passwords'`) == 0
	}, Timeout, Tick)
	emails := c.Hub.Emails(address)
	require.NotEmpty(c.T, emails)
	_, after, found := strings.Cut(emails[0], c.Hub.URL+"/reset-password/clinic?token=")
	require.True(c.T, found, emails[0])
	token, _, _ := strings.Cut(after, "\n")
	require.Contains(c.T, c.OpenLink(c.Hub.URL+"/reset-password/clinic?token="+token), `type="password"`)
	return token
}

// OpenLink requires that a link leads to a page and returns the page.
func (c *Clinic) OpenLink(link string) string {
	c.T.Helper()
	page := c.As("").Call("GET", link, nil)
	require.Equal(c.T, 200, page.Status, "%s: %s", link, page.Text)
	require.Contains(c.T, page.Header.Get("Content-Type"), "text/html")
	return page.Text
}
