package main_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"integrationhub/hub/hubtest"
)

// lineTo starts a proxy of a hub. It passes on a response when onResponse has returned nil for
// it; else the connection breaks.
func lineTo(t *testing.T, hubURL string, onResponse func(*http.Response) error) *httptest.Server {
	t.Helper()
	target, err := url.Parse(hubURL)
	require.NoError(t, err)
	line := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: onResponse,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	})
	t.Cleanup(func() {
		line.CloseClientConnections()
		line.Close()
	})
	return line
}

// heldResponse holds up the n-th response to a method on a path below /api/v1 until released.
type heldResponse struct {
	arrived chan struct{}
	release func()
}

func holdResponse(t *testing.T, hubURL, method, path string, n int32) (*httptest.Server, heldResponse) {
	t.Helper()
	released := make(chan struct{})
	held := heldResponse{make(chan struct{}), sync.OnceFunc(func() { close(released) })}
	var count atomic.Int32
	line := lineTo(t, hubURL, func(r *http.Response) error {
		if r.Request.Method == method && strings.HasPrefix(r.Request.URL.Path, "/api/v1"+path) && count.Add(1) == n {
			close(held.arrived)
			<-released
		}
		return nil
	})
	t.Cleanup(held.release) // before the line is closed
	return line, held
}

func (h heldResponse) await(t *testing.T) {
	t.Helper()
	select {
	case <-h.arrived:
	case <-time.After(waitTimeout):
		require.Fail(t, "the request does not arrive")
	}
}

// A call whose response is lost is made again, and stores nothing twice.
func TestBatchWhoseResponseIsLost(t *testing.T) {
	t.Parallel()
	p := newTenant(t).withKey()
	var calls atomic.Int32
	line := lineTo(t, p.hub.url, func(*http.Response) error {
		if calls.Add(1) <= 2 {
			return errors.New("lost")
		}
		return nil
	})
	ids := p.withEnv("HUB_URL", line.URL).runIn(strings.Repeat(`{"event_type":"a.b","data":{}}`+"\n", 3), "publish", "--batch", "-").requireOK()
	require.Len(t, strings.Split(ids, "\n"), 3)
	require.EqualValues(t, 3, calls.Load())
	var stored int
	p.hub.queryRow(t, []any{&stored}, `select count(*) from hub.events where tenant_id = $1`, p.tenantID)
	require.Equal(t, 3, stored)
}

// After Ctrl-C the command says which lines may be stored.
func TestBatchIsInterrupted(t *testing.T) {
	t.Parallel()
	p := newTenant(t).withKey()
	p.writeFile("events", strings.Repeat(`{"event_type":"a.b","data":{}}`+"\n", 502))
	line, held := holdResponse(t, p.hub.url, "POST", "/events/batch", 2)
	running := p.withEnv("HUB_URL", line.URL).start("publish", "--batch", "events", "-q")
	held.await(t)
	require.Equal(t, 6, running.interrupt())
	held.release()
	require.Contains(t, running.stderr.String(), "interrupted: publishing lines 501 to 502\n")
	require.Contains(t, running.stderr.String(), "500 events up to line 500 are stored; lines 501 to 502 may be stored")
	require.NotContains(t, running.stderr.String(), "context canceled")
}

// A login outlives Ctrl-C while its token is renewed: the hub has replaced the old one.
func TestRenewalIsInterrupted(t *testing.T) {
	t.Parallel()
	s := sharedHub(t)
	c := newCLI(t)
	line, held := holdResponse(t, s.url, "POST", "/auth/refresh", 1)
	_, email := s.createOperator(t, "support")
	c.runIn(adminPassword, "login", "--url", line.URL, "--email", email, "--password-stdin").requireOK()
	c.changeLogin(line.URL, map[string]any{"expires_at": time.Now().Add(-time.Minute)})
	running := c.start("products", "list")
	held.await(t)
	require.NoError(t, running.cmd.Process.Signal(os.Interrupt))
	held.release()
	require.Equal(t, 1, running.wait())
	require.Contains(t, running.stderr.String(), "interrupted")
	c.run("products", "list").requireOK()
}

// Ctrl-C ends a command for many things, which says how many it did.
func TestManyAreInterrupted(t *testing.T) {
	t.Parallel()
	p := newTenant(t)
	address := newReceiver(t, 200, "").URL
	ids := []string{p.subscribe(address + "/1"), p.subscribe(address + "/2"), p.subscribe(address + "/3")}
	line, held := holdResponse(t, p.hub.url, "DELETE", "/endpoints/", 2)
	running := p.withEnv("HUB_URL", line.URL).withEnv("HUB_TOKEN", p.hub.token).start(append([]string{"endpoints", "delete"}, ids...)...)
	held.await(t)
	require.Equal(t, 6, running.interrupt())
	held.release()
	require.Contains(t, running.stderr.String(), "interrupted after 1 of 3")
	require.NotContains(t, running.stderr.String(), ids[2])
}

// An interrupted examination has no findings of its own making.
func TestDoctorIsInterrupted(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	c := newCLI(t)
	running := c.withEnv("HUB_DATABASE_URL", "postgres://hub:x@"+silent.Addr().String()+"/hub?sslmode=disable").start("doctor")
	conn, err := silent.Accept()
	require.NoError(t, err)
	defer conn.Close()
	require.Equal(t, 1, running.interrupt())
	require.Contains(t, running.stderr.String(), "interrupted")
}

// A closed terminal ends what listens, and its endpoint, as Ctrl-C does; even while that is made.
func TestListenHangsUp(t *testing.T) {
	t.Parallel()
	p := newTenant(t)
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP) // else commands of tests that run under nohup ignore it
	t.Cleanup(func() { signal.Stop(caught) })
	running := p.start("listen", "--tenant", p.tenant)
	running.await(running.stderr, "listening on")
	require.NoError(t, running.cmd.Process.Signal(syscall.SIGHUP))
	_ = running.cmd.Process.Signal(syscall.SIGHUP) // the shell and the terminal each send it
	require.Zero(t, running.wait(), running.stderr.String())
	require.Empty(t, p.ok("endpoints", "list", "--tenant", p.tenant, "-q"))

	line, held := holdResponse(t, p.hub.url, "POST", "/endpoints", 1)
	running = p.withEnv("HUB_URL", line.URL).withEnv("HUB_TOKEN", p.hub.token).start("listen", "--tenant", p.tenant)
	held.await(t)
	require.NoError(t, running.cmd.Process.Signal(syscall.SIGHUP))
	held.release()
	running.wait()
	require.Empty(t, p.ok("endpoints", "list", "--tenant", p.tenant, "-q"))
}

// A command that does not end when its terminal is closed ends by a later signal: here nobody
// reads what it writes.
func TestHangUpEndsWhatHangs(t *testing.T) {
	t.Parallel()
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	defer reader.Close()
	_, err = unix.FcntlInt(writer.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize())
	require.NoError(t, err)
	cmd := newCLI(t).command("completion", "bash")
	cmd.Stdout = writer
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	require.NoError(t, writer.Close())
	_, err = reader.Read(make([]byte, 1)) // it writes more than the pipe holds
	require.NoError(t, err)

	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	require.Eventually(t, func() bool {
		_ = cmd.Process.Signal(syscall.SIGHUP)
		return len(ended) == 1
	}, time.Minute, 100*time.Millisecond)
	var exit *exec.ExitError
	require.ErrorAs(t, <-ended, &exit)
	status, isUnix := exit.Sys().(syscall.WaitStatus)
	require.True(t, isUnix)
	require.Equal(t, syscall.SIGHUP, status.Signal())
}

// Under nohup a closed terminal ends nothing.
func TestListenUnderNohup(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withEnv("HUB_WEBHOOK_SECRET", listenSecret)
	running := &backgroundCommand{t: t, stdout: &hubtest.Buffer{}, stderr: &hubtest.Buffer{}}
	running.cmd = exec.CommandContext(t.Context(), "sh", "-c", `trap "" HUP; exec "$0" listen`, binary)
	running.cmd.Dir, running.cmd.Stdout, running.cmd.Stderr = c.dir, running.stdout, running.stderr
	for name, value := range c.env {
		running.cmd.Env = append(running.cmd.Env, name+"="+value)
	}
	require.NoError(t, running.cmd.Start())
	address := listenURL.FindString(running.await(running.stderr, "listening on"))
	require.NoError(t, running.cmd.Process.Signal(syscall.SIGHUP))
	require.Equal(t, 200, deliver(t, address, listenSecret))
	require.Zero(t, running.interrupt())
	require.Contains(t, running.stderr.String(), "received 1: 1 verified")
}

// What cannot be written is a failure: a script must not take an empty key for one.
func TestOutputCannotBeWritten(t *testing.T) {
	t.Parallel()
	p := newTenant(t)
	for _, args := range [][]string{{"keys", "create", "--tenant", p.tenant, "-q"}, {"keys", "list", "-o", "json"}, {"keys", "--help"}} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		require.NoError(t, err)
		errs := p.scratchFile()
		cmd := p.command(args...)
		cmd.Stdout, cmd.Stderr = full, errs
		require.Equal(t, 1, exitOf(t, cmd.Run()), "%q", args)
		require.NoError(t, full.Close())
		require.Contains(t, p.content(errs), "error: writing the output: ", "%q", args)
	}
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, reader.Close()) // as head does
	errs := p.scratchFile()
	cmd := p.command("keys", "list")
	cmd.Stdout, cmd.Stderr = writer, errs
	_ = cmd.Run()
	require.NoError(t, writer.Close())
	require.Empty(t, p.content(errs))
}

// An empty file of a token is a mistake, and no reason to be another operator.
func TestEmptyToken(t *testing.T) {
	t.Parallel()
	s := sharedHub(t)
	c := newCLI(t).withEnv("HUB_DATA_DIR", s.dataDir)
	c.run("whoami").requireOK()
	c.writeFile("empty", "\n")
	c.writeFile("long", strings.Repeat("x", 64<<10+1))
	c.run("whoami", "--token", "@empty").requireFails(2, "the token is empty")
	c.withEnv("HUB_TOKEN", "@empty").run("whoami").requireFails(2, "the token is empty")
	c.run("whoami", "--token", "@long").requireFails(2, "longer than 64 KiB")
}
