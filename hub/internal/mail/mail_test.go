package mail_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/mail"
	"integrationhub/hub/module"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// bundle is an outbox at work.
type bundle struct {
	t      *testing.T
	db     *pgxpool.Pool
	outbox *mail.Outbox
	sent   atomic.Int32 // as they are counted
	failed atomic.Int32
	mailer module.Mailer
	tenant uuid.UUID // whose mail it is where a test does not say
	log    *hubtest.Buffer
}

func setup(t *testing.T, change func(*mail.Config)) *bundle {
	t.Helper()
	b := &bundle{t: t, db: hubtest.Database(t), tenant: uuid.New(), log: &hubtest.Buffer{}}
	config := mail.Config{DB: b.db, From: netmail.Address{Name: "Hub", Address: "hub@example.com"}, Log: slog.New(slog.NewTextHandler(b.log, nil))}
	change(&config)
	b.outbox = mail.New(config).CountSettledWith(func(status string) {
		map[string]*atomic.Int32{mail.StatusSent: &b.sent, mail.StatusFailed: &b.failed}[status].Add(1)
	})
	b.mailer = b.outbox.For("scheduling")
	return b
}

// to makes an outbox that hands in at a server, and runs it.
func to(t *testing.T, s *smtpServer) *bundle {
	t.Helper()
	b := setup(t, func(c *mail.Config) { c.Server = server(t, "smtp://"+s.address) })
	b.run()
	return b
}

func server(t *testing.T, url string) *mail.Server {
	t.Helper()
	s, err := mail.ParseServer(url)
	require.NoError(t, err)
	return s
}

func (b *bundle) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); b.outbox.Run(ctx) }()
	b.t.Cleanup(func() { cancel(); <-done })
}

func (b *bundle) send(m module.Email) {
	b.t.Helper()
	require.NoError(b.t, b.try(m))
}

func (b *bundle) try(m module.Email) error {
	if m.TenantID == uuid.Nil {
		m.TenantID = b.tenant
	}
	return pgx.BeginFunc(b.t.Context(), b.db, func(tx pgx.Tx) error { return b.mailer.Send(b.t.Context(), tx, m) })
}

// row counts the rows that fit a condition.
func (b *bundle) rows(where string) int {
	var n int
	require.NoError(b.t, b.db.QueryRow(context.Background(), `select count(*) from hub.mails where `+where).Scan(&n))
	return n
}

func (b *bundle) becomes(where string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool { return b.rows(where) == 1 }, time.Minute, 10*time.Millisecond, where)
}

func (b *bundle) exec(sql string) {
	b.t.Helper()
	_, err := b.db.Exec(b.t.Context(), sql)
	require.NoError(b.t, err)
}

const calendar = "BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n"

func TestMailArrivesAsItWasWritten(t *testing.T) {
	t.Parallel()
	s := startSMTP(t, &smtpServer{}, nil)
	b := to(t, s)
	text := "Olá, Conceição!\n\n.Uma linha que começa com um ponto\n" + strings.Repeat("muito longa ", 200) + "\nFim"
	b.send(module.Email{
		To: "bia@example.com", FromName: "Studio Açaí", ReplyTo: "studio@example.com", Subject: "Sua reserva está confirmada: sexta-feira às 14:00, com a professora Conceição", Text: text,
		Attachments: []module.Attachment{{Name: "reserva.ics", Type: "text/calendar; method=REQUEST; charset=utf-8", Content: []byte(calendar)}},
	})
	got := s.wait(1)[0]
	require.Equal(t, "hub@example.com", got.from)
	require.Equal(t, "bia@example.com", got.to)
	from, err := got.message.Header.AddressList("From")
	require.NoError(t, err)
	require.Equal(t, []*netmail.Address{{Name: "Studio Açaí", Address: "hub@example.com"}}, from)
	replyTo, err := got.message.Header.AddressList("Reply-To")
	require.NoError(t, err)
	require.Equal(t, "studio@example.com", replyTo[0].Address)
	subject, err := new(mime.WordDecoder).DecodeHeader(got.message.Header.Get("Subject"))
	require.NoError(t, err)
	require.Equal(t, "Sua reserva está confirmada: sexta-feira às 14:00, com a professora Conceição", subject)
	require.Equal(t, "auto-generated", got.message.Header.Get("Auto-Submitted"))
	require.Regexp(t, `^<[0-9a-f-]{36}@example\.com>$`, got.message.Header.Get("Message-Id"))
	_, err = got.message.Header.Date()
	require.NoError(t, err)
	for line := range strings.SplitSeq(got.raw, "\r\n") {
		require.LessOrEqual(t, len(line), 998, "RFC 5322, 2.1.1")
	}
	parts := partsOf(t, got.message)
	require.Equal(t, text, strings.ReplaceAll(parts[0], "\r\n", "\n"))
	require.Equal(t, calendar, parts[1])
}

// partsOf decodes the parts of a mail.
func partsOf(t *testing.T, m *netmail.Message) []string {
	t.Helper()
	kind, parameters, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	require.NoError(t, err)
	require.Equal(t, "multipart/mixed", kind)
	var list []string
	reader := multipart.NewReader(m.Body, parameters["boundary"])
	for {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			return list
		}
		require.NoError(t, err)
		var body io.Reader = quotedprintable.NewReader(part)
		if part.Header.Get("Content-Transfer-Encoding") == "base64" {
			body = base64.NewDecoder(base64.StdEncoding, part)
		}
		raw, err := io.ReadAll(body)
		require.NoError(t, err)
		list = append(list, string(raw))
	}
}

// Text and HTML are alternatives, the text first: programs show the last one they can.
func TestMailInTwoForms(t *testing.T) {
	t.Parallel()
	s := startSMTP(t, &smtpServer{}, nil)
	b := to(t, s)
	b.send(module.Email{To: "bia@example.com", Subject: "S", Text: "Olá", HTML: "<p>Ol\u00e1</p>"})
	m := s.wait(1)[0].message
	kind, parameters, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	require.NoError(t, err)
	require.Equal(t, "multipart/alternative", kind)
	reader := multipart.NewReader(m.Body, parameters["boundary"])
	for _, want := range []struct{ kind, body string }{{"text/plain", "Olá"}, {"text/html", "<p>Olá</p>"}} {
		part, err := reader.NextPart() // decodes quoted-printable
		require.NoError(t, err)
		require.Contains(t, part.Header.Get("Content-Type"), want.kind)
		body, err := io.ReadAll(part)
		require.NoError(t, err)
		require.Equal(t, want.body, strings.TrimSpace(string(body)))
	}
	_, err = reader.NextPart()
	require.ErrorIs(t, err, io.EOF)
	require.ErrorIs(t, b.try(module.Email{To: "bia@example.com", HTML: strings.Repeat("x", 1<<20+1)}), hub.ErrTooLarge)
}

func TestMailThatIsSentLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	s := startSMTP(t, &smtpServer{}, nil)
	b := to(t, s)
	for range 12 { // more than two batches
		b.send(module.Email{To: "bia@example.com", Subject: "S", Text: "T"})
	}
	s.wait(12)
	require.Eventually(t, func() bool { return b.rows("true") == 0 }, time.Minute, 10*time.Millisecond)
	require.Len(t, s.got(), 12, "each once")
	require.Eventually(t, func() bool { return b.sent.Load() == 12 }, time.Minute, 10*time.Millisecond)
	require.Zero(t, b.failed.Load())
	require.Less(t, s.sessions, 12, "a batch shares a connection")
}

func TestMailBelongsToItsTransaction(t *testing.T) {
	t.Parallel()
	s := startSMTP(t, &smtpServer{}, nil)
	b := to(t, s)
	undone := errors.New("undone")
	err := pgx.BeginFunc(t.Context(), b.db, func(tx pgx.Tx) error {
		require.NoError(t, b.mailer.Send(t.Context(), tx, module.Email{TenantID: b.tenant, To: "nobody@example.com", Text: "never"}))
		return undone
	})
	require.ErrorIs(t, err, undone)
	b.send(module.Email{To: "bia@example.com", Text: "T"})
	require.Equal(t, "bia@example.com", s.wait(1)[0].to)
	require.Eventually(t, func() bool { return b.rows("true") == 0 }, time.Minute, 10*time.Millisecond)
	require.Len(t, s.got(), 1)
}

// Nothing that is typed becomes a header, a recipient or a command.
func TestHeadersCannotBeInjected(t *testing.T) {
	t.Parallel()
	s := startSMTP(t, &smtpServer{}, nil)
	b := to(t, s)
	evil := "x\r\nBcc: evil@example.com\r\n\r\nbody\n.\r\nMAIL FROM:<evil@example.com>\x00\u2028"
	b.send(module.Email{To: "bia@example.com", FromName: evil, Subject: evil, Text: evil,
		Attachments: []module.Attachment{{Name: evil + `";x="`, Type: "text/plain" + evil, Content: []byte(evil)}}})
	got := s.wait(1)[0]
	require.Empty(t, got.message.Header.Get("Bcc"))
	require.Equal(t, "bia@example.com", got.to)
	require.Equal(t, "hub@example.com", got.from)
	for name := range got.message.Header {
		require.Contains(t, []string{"Auto-Submitted", "Date", "Mime-Version", "Message-Id", "Subject", "From", "To", "Content-Type"}, name)
	}
	head, _, _ := strings.Cut(got.raw, "\r\n\r\n")
	require.NotContains(t, head, "\nBcc")
	for _, address := range []string{
		"", "bia", "bia@", "@example.com", "bia@example.com\r\nBcc: evil@example.com", "bia@example.com, evil@example.com", "Bia <bia@example.com>", "<bia@example.com>",
		"bia@example.com\x00", " bia@example.com", "bia@exa\tmple.com", "\"a\r\nb\"@example.com", "bia@example.com>\r\nRCPT TO:<evil@example.com", strings.Repeat("a", 250) + "@example.com",
	} {
		err := b.try(module.Email{To: address, Text: "T"})
		require.ErrorIs(t, err, hub.ErrInvalid, "%q", address)
		if address != "" {
			require.ErrorIs(t, b.try(module.Email{To: "bia@example.com", ReplyTo: address}), hub.ErrInvalid, "%q", address)
		}
	}
	require.ErrorIs(t, b.try(module.Email{To: "bia@example.com", Text: strings.Repeat("x", 1<<20+1)}), hub.ErrTooLarge)
}

// What the server does not take now is tried again, later each time.
func TestMailIsTriedAgain(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	refusals := []string{"451 4.3.0 bia@example.com later", "hang up", "421 4.3.2 going down"}
	s := startSMTP(t, &smtpServer{answer: func(verb string) string {
		mu.Lock()
		defer mu.Unlock()
		if verb != "RCPT" || len(refusals) == 0 {
			return ""
		}
		text := refusals[0]
		refusals = refusals[1:]
		return text
	}}, nil)
	b := to(t, s)
	b.send(module.Email{To: "bia@example.com", Subject: "Segredo", Text: "T"})
	for i, pause := range []string{"10 seconds", "30 seconds", "1 minute"} {
		b.becomes("attempts = " + string(rune('1'+i)) + " and due_at between now() + interval '" + pause + "' - interval '9 seconds' and now() + interval '" + pause + "'")
		b.exec(`update hub.mails set due_at = now()`)
	}
	s.wait(1)
	require.Contains(t, b.log.String(), "refused the recipient with 451 4.3.0")
	require.Contains(t, b.log.String(), "the connection to the server broke")
	requireNobody(t, b)
}

// A mail that breaks the connection takes no others with it: they go over another one at once.
func TestMailThatBreaksTheConnection(t *testing.T) {
	t.Parallel()
	for _, response := range []string{"hang up", "421 4.3.2 going down"} {
		var mu sync.Mutex
		isFirst := true
		s := startSMTP(t, &smtpServer{answer: func(verb string) string {
			mu.Lock()
			defer mu.Unlock()
			if verb != "." || !isFirst {
				return ""
			}
			isFirst = false
			return response
		}}, nil)
		b := setup(t, func(c *mail.Config) { c.Server = server(t, "smtp://"+s.address) })
		for _, name := range []string{"first", "second", "third", "fourth", "fifth"} {
			b.send(module.Email{To: name + "@example.com", Text: "T"})
		}
		b.run()
		for _, arrived := range s.wait(4) {
			require.NotEqual(t, "first@example.com", arrived.to)
		}
		b.becomes("attempts = 1 and recipient = 'first@example.com' and due_at > now()")
	}
}

// A tenant with many mails, or with mails that break the connection, does not hold up another's.
func TestTenantsHaveTheirTurnOfMails(t *testing.T) {
	t.Parallel()
	for _, breaks := range []bool{false, true} {
		s := &smtpServer{}
		if breaks {
			s.breaksFor = "many"
		}
		s = startSMTP(t, s, nil)
		b := setup(t, func(c *mail.Config) { c.Server = server(t, "smtp://"+s.address) })
		for i := range 40 {
			b.send(module.Email{To: fmt.Sprintf("many%d@example.com", i), Text: "T"})
		}
		b.tenant = uuid.New()
		for i := range 3 {
			b.send(module.Email{To: fmt.Sprintf("other%d@example.com", i), Text: "T"})
		}
		b.run()
		others := func() (n int) {
			for i, arrived := range s.got() {
				if i < 10 && strings.HasPrefix(arrived.to, "other") {
					n++
				}
			}
			return n
		}
		require.Eventually(t, func() bool { return others() == 3 || len(s.got()) >= 10 }, time.Minute, 10*time.Millisecond)
		require.Equal(t, 3, others())
		s.mu.Lock()
		before := 0 // the others had arrived
		for _, arrived := range s.breaks {
			if arrived < 3 {
				before++
			}
		}
		require.LessOrEqual(t, before, 1)
		s.mu.Unlock()
	}
}

func requireNobody(t *testing.T, b *bundle) {
	t.Helper()
	for _, personal := range []string{"bia", "example.com", "Segredo"} {
		require.NotContains(t, b.log.String(), personal)
	}
}

// A refusal for good is believed at once; settings that are wrong are given a day.
func TestMailIsGivenUp(t *testing.T) {
	t.Parallel()
	answers := map[string]string{"bia@example.com": "550 5.1.1 <bia@example.com>: no such user"}
	s := startSMTP(t, &smtpServer{answer: func(verb string) string {
		if verb == "RCPT" {
			return answers["bia@example.com"]
		}
		return ""
	}}, nil)
	b := to(t, s)
	b.send(module.Email{To: "bia@example.com", Subject: "Segredo", Text: "T"})
	require.Eventually(t, func() bool { return b.rows("true") == 0 }, time.Minute, 10*time.Millisecond)
	require.Contains(t, b.log.String(), "mail was given up")
	require.Eventually(t, func() bool { return b.failed.Load() == 1 }, time.Minute, 10*time.Millisecond)
	require.Contains(t, b.log.String(), "refused the recipient with 550 5.1.1")
	require.Contains(t, b.log.String(), "product=scheduling")
	requireNobody(t, b)
}

func TestMailIsGivenUpAfterADay(t *testing.T) {
	t.Parallel()
	s := startSMTP(t, &smtpServer{answer: func(verb string) string {
		if verb == "MAIL" {
			return "553 5.1.8 sender not allowed"
		}
		return ""
	}}, nil)
	b := to(t, s)
	b.send(module.Email{To: "bia@example.com", Text: "T"})
	b.becomes("status = 'waiting' and attempts = 1 and due_at between now() and now() + interval '1 minute'")
	b.exec(`update hub.mails set created_at = now() - interval '23 hours 59 minutes', due_at = now()`)
	b.becomes("attempts = 2 and due_at between now() and now() + interval '1 minute'")
	b.exec(`update hub.mails set created_at = now() - interval '24 hours', due_at = now()`)
	b.becomes("attempts = 3 and due_at between now() and now() + interval '2 minutes'") // the hub may have been away for all that time
	b.exec(`update hub.mails set attempts = 6, due_at = now()`)
	require.Eventually(t, func() bool { return b.rows("true") == 0 }, time.Minute, 10*time.Millisecond)
	require.Contains(t, b.log.String(), "refused the sender with 553 5.1.8")
}

// A process that dies with mail in its hands leaves leases, which end.
func TestLeasesKeepProcessesApart(t *testing.T) {
	t.Parallel()
	s := startSMTP(t, &smtpServer{}, nil)
	b := setup(t, func(c *mail.Config) { c.Server = server(t, "smtp://"+s.address) })
	b.send(module.Email{To: "bia@example.com", Text: "leased"})
	b.exec(`update hub.mails set due_at = now() + interval '4 minutes', attempts = 1`)
	b.run()
	b.run()
	for range 20 {
		b.send(module.Email{To: "caio@example.com", Text: "T"})
	}
	s.wait(20)
	require.Eventually(t, func() bool { return b.rows("true") == 1 }, time.Minute, 10*time.Millisecond)
	require.Len(t, s.got(), 20, "two processes send nothing twice, and nothing that is leased")
	b.exec(`update hub.mails set due_at = now() - interval '1 second'`)
	require.Equal(t, "bia@example.com", s.wait(21)[20].to)
}

func TestOutboxOfDevelopersKeepsMail(t *testing.T) {
	t.Parallel()
	s := startSMTP(t, &smtpServer{}, nil)
	with := setup(t, func(c *mail.Config) { c.Keep, c.Server = true, server(t, "smtp://"+s.address) })
	without := setup(t, func(c *mail.Config) { c.Keep = true })
	for _, b := range []*bundle{with, without} {
		b.run()
		for _, name := range []string{"bia", "caio", "bia"} {
			b.send(module.Email{To: name + "@example.com", Subject: "To " + name, Text: "T"})
		}
		require.Eventually(t, func() bool { return b.rows("status = 'sent'") == 3 }, time.Minute, 10*time.Millisecond)
		all, err := b.outbox.List(t.Context(), "", nil, 10)
		require.NoError(t, err)
		require.Len(t, all, 3)
		list, err := b.outbox.List(t.Context(), "BIA@example.com", nil, 10)
		require.NoError(t, err)
		require.Len(t, list, 2)
		require.Equal(t, "To bia", list[0].Subject)
		require.Equal(t, "T", list[0].Text)
		require.Greater(t, list[0].ID.String(), list[1].ID.String(), "newest first")
		rest, err := b.outbox.List(t.Context(), "bia@example.com", &list[0].ID, 10)
		require.NoError(t, err)
		require.Equal(t, list[1:], rest)

		b.exec(`update hub.mails set created_at = now() - interval '8 days'`)
		b.run() // prunes when it starts
		require.Eventually(t, func() bool { return b.rows("true") == 0 }, time.Minute, 10*time.Millisecond)
	}
	require.Len(t, s.got(), 3)
}

func TestMailWaitsForAServer(t *testing.T) {
	t.Parallel()
	b := setup(t, func(*mail.Config) {})
	b.run()
	b.send(module.Email{To: "bia@example.com", Text: "T"})
	b.becomes("status = 'waiting' and attempts = 1 and due_at between now() and now() + interval '1 minute'")
	require.Contains(t, b.log.String(), "no mail server is set (HUB_SMTP_URL)")
}

// TLS is required unless the server is on this machine.
func TestTransport(t *testing.T) {
	t.Parallel()
	serving, trusting := certificate(t, "mail.example.net")
	_, stranger := certificate(t, "mail.example.net")
	const login = "hub secret"
	for name, test := range map[string]struct {
		server   *smtpServer
		implicit bool
		url      string
		trust    bool
		refused  string // in the log; "" = it arrives
		plain    bool
	}{
		"starttls":                 {server: &smtpServer{startTLS: serving, login: login}, url: "smtp://hub:secret@mail.example.net", trust: true},
		"starttls not offered":     {server: &smtpServer{}, url: "smtp://mail.example.net", trust: true, refused: "STARTTLS"},
		"starttls, not trusted":    {server: &smtpServer{startTLS: serving}, url: "smtp://mail.example.net", refused: "certificate is not trusted"},
		"starttls, another's name": {server: &smtpServer{startTLS: serving}, url: "smtp://mail.example.org", trust: true, refused: "certificate is not trusted"},
		"wrong password":           {server: &smtpServer{startTLS: serving, login: login}, url: "smtp://hub:wrong@mail.example.net", trust: true, refused: "responded with 535 when logging in"},
		"implicit":                 {server: &smtpServer{login: login}, implicit: true, url: "smtps://hub:secret@", trust: true},
		"implicit, not trusted":    {server: &smtpServer{}, implicit: true, url: "smtps://", refused: "certificate is not trusted"},
		"loopback":                 {server: &smtpServer{login: login}, url: "smtp://hub:secret@", plain: true},
		"nobody there":             {url: "smtp://127.0.0.1:1", refused: "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(c *mail.Config) {
				url := test.url
				if test.server != nil {
					if test.implicit {
						startSMTP(t, test.server, serving)
					} else {
						startSMTP(t, test.server, nil)
					}
					if !strings.Contains(url, "example") { // else the name is looked up below
						url += test.server.address
					} else {
						c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
							require.Equal(t, "587", address[strings.LastIndexByte(address, ':')+1:])
							return new(net.Dialer).DialContext(ctx, network, test.server.address)
						}
					}
				}
				c.Server = server(t, url)
				c.TLS = stranger
				if test.trust {
					c.TLS = trusting
				}
			})
			b.run()
			b.send(module.Email{To: "bia@example.com", Text: "T"})
			if test.refused != "" {
				b.becomes("status = 'waiting' and attempts = 1 and due_at > now() and due_at < now() + interval '1 minute'")
				require.Contains(t, b.log.String(), test.refused)
				requireNobodyIn(t, b.log.String())
				if test.server != nil {
					require.Empty(t, test.server.got())
				}
				return
			}
			test.server.wait(1)
			test.server.mu.Lock()
			defer test.server.mu.Unlock()
			require.Equal(t, !test.plain, test.server.encrypted == 1)
		})
	}
}

func requireNobodyIn(t *testing.T, log string) {
	t.Helper()
	for _, personal := range []string{"bia@", "someone@", "secret"} {
		require.NotContains(t, log, personal)
	}
}

func TestParseServer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"smtp://mail.example.com": "mail.example.com:587", "smtps://u:p@mail.example.com": "mail.example.com:465",
		"smtp://[::1]:2525/": "[::1]:2525", "smtp://u%40x:p@localhost:25": "localhost:25",
	} {
		require.Equal(t, want, server(t, text).String())
		require.NotContains(t, server(t, text).GoString(), ":p@")
	}
	for _, text := range []string{"", "mail.example.com", "http://mail.example.com", "smtp://", "smtp://secret@host:0", "smtp://secret@host:70000", "smtp://secret@host/path", "smtp://secret@host?x=y", "smtp://secret@ho st", "smtp://secret@:25"} {
		_, err := mail.ParseServer(text)
		require.Error(t, err, text)
		require.NotContains(t, err.Error(), "secret")
	}
}

// Who leaves a list does so with one POST (RFC 8058).
func TestMailOfLists(t *testing.T) {
	t.Parallel()
	s := startSMTP(t, &smtpServer{}, nil)
	b := to(t, s)
	b.send(module.Email{To: "bia@example.com", Subject: "S", Text: "T", Unsubscribe: "https://example.com/book/s/unsubscribe?token=x"})
	got := s.wait(1)[0]
	require.Equal(t, "<https://example.com/book/s/unsubscribe?token=x>", got.message.Header.Get("List-Unsubscribe"))
	require.Equal(t, "List-Unsubscribe=One-Click", got.message.Header.Get("List-Unsubscribe-Post"))
	for _, evil := range []string{"https://example.com\r\nBcc: evil@example.com", "https://example.com>, <mailto:evil@example.com"} {
		require.ErrorIs(t, b.try(module.Email{To: "bia@example.com", Text: "T", Unsubscribe: evil}), hub.ErrInvalid)
	}

}

// Erasing removes the emails about one person in one tenant of one product, and nothing
// else: not another tenant's, not mail to the same address that is not about them.
func TestMailsAboutASubjectAreDeleted(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *mail.Config) { c.Keep = true })
	ours, theirs := uuid.New(), uuid.New()
	for _, tenant := range []uuid.UUID{ours, theirs} {
		b.send(module.Email{TenantID: tenant, To: "gil@example.com", Subject: "Your booking", Text: "T", SubjectID: "gil"})
		b.send(module.Email{TenantID: tenant, To: "desk@example.com", Subject: "Gil booked", Text: "T", SubjectID: "gil"})
		b.send(module.Email{TenantID: tenant, To: "desk@example.com", Subject: "Eva booked", Text: "T", SubjectID: "eva"})
		b.send(module.Email{TenantID: tenant, To: "gil@example.com", Subject: "Set a new password", Text: "T"})
	}
	b.exec(`insert into hub.mails (id, product, recipient, subject, body, about) values (gen_random_uuid(), 'scheduling', 'gil@example.com', 'From before tenants', 'T', 'gil')`)
	forget := func(product string, tenant uuid.UUID, who string) {
		t.Helper()
		require.NoError(t, pgx.BeginFunc(t.Context(), b.db, func(tx pgx.Tx) error { return b.outbox.For(product).EraseSubject(t.Context(), tx, tenant, who) }))
	}
	forget("clinic", ours, "gil")
	forget("scheduling", uuid.New(), "gil")
	forget("scheduling", ours, "")
	forget("scheduling", ours, "gil@example.com")
	require.Equal(t, 9, b.rows("true"))
	forget("scheduling", ours, "gil")
	require.Equal(t, 2, b.rows("tenant_id = '"+ours.String()+"'"))
	require.Zero(t, b.rows("tenant_id = '"+ours.String()+"' and about = 'gil'"))
	require.Equal(t, 4, b.rows("tenant_id = '"+theirs.String()+"'"))
	require.Equal(t, 1, b.rows("tenant_id is null"))
	require.ErrorContains(t, pgx.BeginFunc(t.Context(), b.db, func(tx pgx.Tx) error {
		return b.mailer.Send(t.Context(), tx, module.Email{To: "gil@example.com", Text: "T"})
	}), "of no tenant")
}
