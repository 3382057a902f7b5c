package schedulingtest

import (
	"net/url"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// ResetToken waits for the password e-mails and returns the token of the newest link. It
// checks that the link opens the page.
func (s *Organization) ResetToken(to string) string {
	s.T.Helper()
	require.Eventually(s.T, func() bool { return s.Count("hub.jobs where job = 'forgotten-passwords'") == 0 }, 30*time.Second, 20*time.Millisecond)
	mails := s.Hub.Emails(to)
	require.NotEmpty(s.T, mails, to)
	_, token, found := strings.Cut(mails[0], s.Hub.URL+"/reset-password?token=")
	require.True(s.T, found, mails[0])
	token, _, _ = strings.Cut(token, "\n")
	page := s.As("").Call("GET", s.Hub.URL+"/reset-password?token="+token, nil)
	require.Equal(s.T, 200, page.Status, page.Text)
	require.Contains(s.T, page.Text, `type="password"`)
	token, err := url.QueryUnescape(token)
	require.NoError(s.T, err)
	return token
}

// WaitForEmails waits until n e-mails were sent to an address. It returns their subjects,
// oldest first, and the newest text.
func (s *Organization) WaitForEmails(to string, n int) (subjects []string, text string) {
	s.T.Helper()
	require.Eventually(s.T, func() bool {
		var page struct {
			Items []struct{ Subject, Text string }
		}
		s.Hub.CallAPI("GET", "/api/v1/dev/mail?to="+url.QueryEscape(to), nil, &page)
		subjects = nil
		for i, entry := range page.Items {
			if i == 0 {
				text = entry.Text
			}
			subjects = append([]string{entry.Subject}, subjects...)
		}
		return len(subjects) >= n
	}, 30*time.Second, 50*time.Millisecond, "%d mails to %s", n, to)
	require.Len(s.T, subjects, n)
	return subjects, text
}

// WaitForJobs waits until all enqueued jobs have run.
func (s *Organization) WaitForJobs() {
	s.T.Helper()
	require.Eventually(s.T, func() bool {
		return s.Count("hub.jobs where product = 'scheduling' and key is null and due_at <= $1 and not repeats", s.Hub.Clock.Now()) == 0
	}, 30*time.Second, 50*time.Millisecond)
}
