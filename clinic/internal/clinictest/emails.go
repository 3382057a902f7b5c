package clinictest

import (
	"strings"

	"github.com/stretchr/testify/require"
)

// Emails gives the sender's name and the subject of the last mail to an address, and the
// language of its HTML.
func (p *Clinic) Emails(address string) []string {
	p.T.Helper()
	var from, subject, language string
	require.NoError(p.T, p.Hub.Host.Pool.QueryRow(p.T.Context(), `select from_name, subject, substring(html from '<html lang="(..)') from hub.mails
		where recipient = $1 order by id desc limit 1`, address).Scan(&from, &subject, &language))
	return []string{from, subject, language}
}

// ResetToken gives the token of the link that was sent to an address last, once those asked
// for are sent. The link opens the page that it promises.
func (p *Clinic) ResetToken(address string) string {
	p.T.Helper()
	require.Eventually(p.T, func() bool {
		return p.QueryInt(`select count(*) from hub.jobs where $1::uuid is not null and job = 'forgotten-passwords'`) == 0
	}, Timeout, Tick)
	mails := p.Hub.Emails(address)
	require.NotEmpty(p.T, mails)
	_, after, found := strings.Cut(mails[0], p.Hub.URL+"/reset-password/clinic?token=")
	require.True(p.T, found, mails[0])
	token, _, _ := strings.Cut(after, "\n")
	require.Contains(p.T, p.OpenLink(p.Hub.URL+"/reset-password/clinic?token="+token), `type="password"`)
	return token
}

// OpenLink requires that a link leads to a page, and gives it.
func (p *Clinic) OpenLink(link string) string {
	p.T.Helper()
	page := p.As("").Call("GET", link, nil)
	require.Equal(p.T, 200, page.Status, "%s: %s", link, page.Text)
	require.Contains(p.T, page.Header.Get("Content-Type"), "text/html")
	return page.Text
}
