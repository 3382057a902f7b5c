package mail_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/module"
)

// Only what concerns the recipient or the message is believed at once. A relay, a quota or a
// block list refuses every mail, until that is put right.
func TestWhichRefusalsAreFinal(t *testing.T) {
	t.Parallel()
	type refusal struct {
		verb, text string
		final      bool
	}
	var current atomic.Pointer[refusal]
	s := startSMTP(t, &smtpServer{answer: func(verb string) string {
		if r := current.Load(); r != nil && r.verb == verb {
			return r.text
		}
		return ""
	}}, nil)
	b := to(t, s)
	for _, test := range []refusal{
		{"RCPT", "550 5.1.1 no such user", true},
		{"RCPT", "550 5.1.10 the domain takes no mail", true},
		{"RCPT", "552 5.2.2 mailbox full", true},
		{"RCPT", "550 no such user", true},
		{"RCPT", "551 user not local", true},
		{"RCPT", "553 mailbox name not allowed", true},
		{"RCPT", "550 5.4.1 recipient address rejected: access denied", true},
		{".", "550 5.4.1 access denied", false},
		{".", "552 message exceeds the fixed size", true},
		{"DATA", "552 message exceeds the fixed size", true},
		{"RCPT", "552 storage exceeded", false},
		{".", "552 5.3.4 message too big", true},
		{".", "554 5.6.0 malformed", true},
		{"RCPT", "554 5.7.1 relay access denied", false},
		{"RCPT", "550 5.7.1 blocked by a list", false},
		{"RCPT", "550 5.4.5 daily quota exceeded", false},
		{"RCPT", "550 5.1.8 sender's domain not found", false},
		{"RCPT", "554 transaction failed", false},
		{"DATA", "554 no valid recipients", false},
		{".", "550 looks like spam", false},
		{".", "554 5.7.1 blocked", false},
		{".", "550 5.3.0 something", false},
	} {
		current.Store(&test)
		failed := b.failed.Load()
		b.send(module.Email{To: "bia@example.com", Text: "T"})
		require.Eventually(t, func() bool {
			return b.rows("true") == 0 || b.rows("attempts = 1 and due_at > now()") == 1 && b.rows("due_at < now() + interval '1 minute'") == 1
		}, time.Minute, 10*time.Millisecond)
		if test.final {
			require.Zero(t, b.rows("true"), test.text)
			require.Eventually(t, func() bool { return b.failed.Load() == failed+1 }, time.Minute, 10*time.Millisecond)
		} else {
			require.Equal(t, 1, b.rows("true"), test.text)
		}
		b.exec("delete from hub.mails")
	}
}
