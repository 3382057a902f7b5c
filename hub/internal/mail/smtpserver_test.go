package mail_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"io"
	"math/big"
	"net"
	netmail "net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// smtpServer is a stand-in of a submission server, by RFC 5321 (commands, replies,
// dot-stuffing), RFC 3207 (STARTTLS) and RFC 4954 (AUTH PLAIN).
type smtpServer struct {
	t         *testing.T
	address   string
	startTLS  *tls.Config              // offers STARTTLS
	login     string                   // "user password": asked for before MAIL
	answer    func(verb string) string // to MAIL, RCPT, DATA or "." when it is not ""
	breaksFor string                   // part of the addresses whose mails end the connection
	breaks    []int                    // how many mails had arrived at each of these
	mu        sync.Mutex
	mails     []received
	encrypted int // mails that came over TLS
	sessions  int
}

// received is a mail as it arrived.
type received struct {
	from, to string
	raw      string
	message  *netmail.Message
}

func startSMTP(t *testing.T, s *smtpServer, implicit *tls.Config) *smtpServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	if implicit != nil {
		listener = tls.NewListener(listener, implicit)
	}
	s.t, s.address = t, listener.Addr().String()
	var sessions sync.WaitGroup
	sessions.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			sessions.Go(func() {
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
				s.serve(conn, implicit != nil)
			})
		}
	})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		sessions.Wait()
	})
	return s
}

func (s *smtpServer) serve(conn net.Conn, secure bool) {
	s.mu.Lock()
	s.sessions++
	s.mu.Unlock()
	in := bufio.NewReader(conn)
	say := func(lines ...string) {
		for i, text := range lines {
			separator := "-"
			if i == len(lines)-1 {
				separator = " "
			}
			_, _ = io.WriteString(conn, text[:3]+separator+text[4:]+"\r\n")
		}
	}
	refuse := func(verb string) bool {
		if s.answer == nil {
			return false
		}
		text := s.answer(verb)
		if text == "hang up" {
			_ = conn.Close()
			return true
		}
		if text != "" {
			say(text)
		}
		if strings.HasPrefix(text, "421") {
			_ = conn.Close()
		}
		return text != ""
	}
	var from, to string
	trusted := s.login == ""
	say("220 stand-in ESMTP")
	for {
		text, err := in.ReadString('\n')
		if err != nil {
			return
		}
		verb, argument, _ := strings.Cut(strings.TrimRight(text, "\r\n"), " ")
		switch strings.ToUpper(verb) {
		case "EHLO":
			offers := []string{"250 stand-in", "250 ENHANCEDSTATUSCODES"}
			if s.startTLS != nil && !secure {
				offers = append(offers, "250 STARTTLS")
			}
			if s.login != "" && (secure || s.startTLS == nil) {
				offers = append(offers, "250 AUTH PLAIN")
			}
			say(offers...)
		case "STARTTLS":
			say("220 2.0.0 go ahead")
			encrypted := tls.Server(conn, s.startTLS)
			if encrypted.Handshake() != nil {
				return
			}
			conn, secure = encrypted, true
			in = bufio.NewReader(conn)
		case "AUTH":
			_, initial, _ := strings.Cut(argument, " ")
			plain, _ := base64.StdEncoding.DecodeString(initial)
			if string(plain) != "\x00"+strings.Replace(s.login, " ", "\x00", 1) {
				say("535 5.7.8 wrong password for someone@example.com")
				continue
			}
			trusted = true
			say("235 2.7.0 welcome")
		case "MAIL":
			switch {
			case !trusted:
				say("530 5.7.0 authentication required")
			case !refuse("MAIL"):
				from = inAngles(argument)
				say("250 2.1.0 ok")
			}
		case "RCPT":
			if !refuse("RCPT") {
				to = inAngles(argument)
				say("250 2.1.5 ok")
			}
		case "DATA":
			if refuse("DATA") {
				continue
			}
			say("354 end with a dot")
			raw, ok := readData(in)
			if !ok {
				return
			}
			if refuse(".") {
				continue
			}
			if s.breaksFor != "" && strings.Contains(to, s.breaksFor) {
				s.mu.Lock()
				s.breaks = append(s.breaks, len(s.mails))
				s.mu.Unlock()
				return
			}
			s.keep(from, to, raw, secure)
			say("250 2.0.0 taken")
		case "RSET", "NOOP":
			say("250 2.0.0 ok")
		case "QUIT":
			say("221 2.0.0 bye")
			return
		default:
			say("500 5.5.1 what?")
		}
	}
}

// readData reads to the line with a single dot and takes off the stuffed ones.
func readData(in *bufio.Reader) (string, bool) {
	var b strings.Builder
	for {
		text, err := in.ReadString('\n')
		if err != nil || !strings.HasSuffix(text, "\r\n") {
			return "", false
		}
		if text == ".\r\n" {
			return b.String(), true
		}
		b.WriteString(strings.TrimPrefix(text, "."))
	}
}

func inAngles(text string) string {
	_, text, _ = strings.Cut(text, "<")
	text, _, _ = strings.Cut(text, ">")
	return text
}

func (s *smtpServer) keep(from, to, raw string, secure bool) {
	message, err := netmail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		s.t.Errorf("a mail that cannot be read: %v\n%s", err, raw)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mails = append(s.mails, received{from, to, raw, message})
	if secure {
		s.encrypted++
	}
}

func (s *smtpServer) got() []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]received(nil), s.mails...)
}

func (s *smtpServer) wait(n int) []received {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return len(s.got()) >= n }, time.Minute, 10*time.Millisecond)
	return s.got()
}

// certificate makes one for a name or address, and the pool that trusts it.
func certificate(t *testing.T, names ...string) (serving, trusting *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "stand-in"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, DNSNames: names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12},
		&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}
