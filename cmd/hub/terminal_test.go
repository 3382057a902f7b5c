//go:build linux

package main_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"integrationhub/hub/hubtest"
)

// terminal is a pseudo-terminal a command runs on.
type terminal struct {
	*backgroundCommand
	keys *os.File
	text *hubtest.Buffer
}

// onTerminal starts the command with a terminal of a width as stdin, stdout and stderr.
func (c *cli) onTerminal(width uint16, args ...string) *terminal {
	c.t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(c.t, err)
	c.t.Cleanup(func() { _ = master.Close() })
	fd := int(master.Fd())
	require.NoError(c.t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(c.t, err)
	require.NoError(c.t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: width}))
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(c.t, err)
	term := &terminal{backgroundCommand: &backgroundCommand{t: c.t, cmd: c.command(args...)}, keys: master, text: &hubtest.Buffer{}}
	term.cmd.Stdin, term.cmd.Stdout, term.cmd.Stderr = slave, slave, slave
	term.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(c.t, term.cmd.Start())
	require.NoError(c.t, slave.Close())
	go func() { // ends when the last process leaves the terminal
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			_, _ = term.text.Write(buf[:n])
			if err != nil {
				return
			}
		}
	}()
	c.t.Cleanup(func() {
		if !term.waited {
			_ = term.cmd.Process.Kill()
			_ = term.cmd.Wait()
		}
	})
	return term
}

func (x *terminal) awaitText(text string) { x.t.Helper(); x.await(x.text, text) }

func (x *terminal) writeText(text string) {
	x.t.Helper()
	_, err := x.keys.WriteString(text)
	require.NoError(x.t, err)
}

func TestTerminalTable(t *testing.T) {
	t.Parallel()
	p := newTenant(t).withKey()
	p.subscribe(newReceiver(t, 410, "").URL)
	long := strings.TrimSuffix(strings.Repeat("long.", 20), ".")
	p.publish(long)
	p.awaitSettled(1, "parked")
	term := p.onTerminal(100, "deliveries", "list", "--tenant", p.tenant)
	term.awaitText("…")
	require.Zero(t, term.wait())
	term.awaitText("\x1b[33mparked\x1b[0m")
	plain := regexp.MustCompile("\x1b\\[\\d+m").ReplaceAllString(term.text.String(), "")
	require.NotContains(t, plain, "\x1b")
	for _, line := range strings.Split(plain, "\r\n") {
		require.LessOrEqual(t, len([]rune(line)), 100, line)
	}

	term = p.withEnv("NO_COLOR", "1").onTerminal(400, "deliveries", "list", "--tenant", p.tenant)
	require.Zero(t, term.wait())
	term.awaitText(long)
	require.NotContains(t, term.text.String(), "\x1b[")
}

func TestTerminalLogin(t *testing.T) {
	t.Parallel()
	s := sharedHub(t)
	c := newCLI(t)
	term := c.onTerminal(80, "login", "--url", s.url)
	term.awaitText("E-mail: ")
	term.writeText(adminEmail + "\n")
	term.awaitText("Password: ")
	term.writeText(adminPassword + "\n")
	require.Zero(t, term.wait())
	term.awaitText("logged in at")
	require.NotContains(t, term.text.String(), adminPassword, "a password is not echoed")

	term = c.onTerminal(80, "login", "--url", s.url, "--email", "x@example.com")
	term.awaitText("Password: ")
	term.writeText("\x03") // Ctrl-C
	require.Equal(t, 1, term.wait())
	term.awaitText("interrupted")
	modes, err := unix.IoctlGetTermios(int(term.keys.Fd()), unix.TCGETS)
	require.NoError(t, err)
	require.NotZero(t, modes.Lflag&unix.ECHO, "the echo is on again")
}

func TestTerminalReplay(t *testing.T) {
	t.Parallel()
	p := newTenant(t).withKey()
	p.subscribe(newReceiver(t, 200, "").URL)
	p.publishBatch(12, "a.b")
	p.awaitSettled(12, "delivered")
	replays := func() (n int) {
		p.hub.queryRow(t, []any{&n}, `select count(*) from hub.replays where filter->>'tenant_id' = $1`, p.tenantID)
		return n
	}
	term := p.onTerminal(80, "replay", "--tenant", p.tenant, "--status", "delivered")
	term.awaitText("Deliver 12 deliveries again? [y/N] ")
	term.writeText("\n")
	require.Equal(t, 1, term.wait())
	require.Zero(t, replays())

	term = p.onTerminal(80, "replay", "--tenant", p.tenant, "--status", "delivered")
	term.awaitText("[y/N] ")
	term.writeText("y\n")
	require.Zero(t, term.wait())
	term.awaitText("done")
	require.Equal(t, 1, replays())

	term = p.onTerminal(80, "replay", "--tenant", p.tenant, "--status", "failed")
	term.awaitText("nothing that matches can be sent")
	require.Zero(t, term.wait())
}

// A tenant is suspended, or deleted, once that is answered with y.
func TestTerminalTenantSuspend(t *testing.T) {
	t.Parallel()
	p := newTenant(t)
	suspended := func() (yes bool) {
		p.hub.queryRow(t, []any{&yes}, `select suspended_at is not null from hub.tenants where id = $1`, p.tenantID)
		return yes
	}
	term := p.onTerminal(120, "tenants", "suspend", p.tenant)
	term.awaitText("Suspend the tenant " + p.tenant + " of " + p.product + ", with its users, keys and public pages? [y/N] ")
	term.writeText("\n")
	require.Equal(t, 1, term.wait())
	term.awaitText("not suspended")
	require.False(t, suspended())

	term = p.onTerminal(120, "tenants", "suspend", p.tenant)
	term.awaitText("[y/N] ")
	term.writeText("y\n")
	require.Zero(t, term.wait())
	require.True(t, suspended())
	term = p.onTerminal(120, "tenants", "delete", p.tenant)
	term.awaitText("Delete the tenant " + p.tenant + " of " + p.product + ", with its keys, endpoints and data in this hub? [y/N] ")
	term.writeText("n\n")
	require.Equal(t, 1, term.wait())
	term.awaitText("not deleted")
}

// TestReplayInterrupted leaves a replay that cannot move on: without a terminal it
// goes on in the hub, on one Ctrl-C asks whether it shall end too.
func TestReplayInterrupted(t *testing.T) {
	t.Parallel()
	s, c := ownHub(t)
	p := s.newTenant(c).withKey()
	p.subscribe(newReceiver(t, 200, "").URL)
	p.publishBatch(12, "a.b")
	p.awaitSettled(12, "delivered")
	s.exec(t, `create function refuse_replay() returns trigger language plpgsql as
		$$ begin raise exception 'the disk is full'; end $$`)
	s.exec(t, `create trigger refuse_replay before update on hub.deliveries for each row
		when (new.status = 0 and old.status <> 0) execute function refuse_replay()`)
	status := func() (status string) {
		s.queryRow(t, []any{&status}, `select status from hub.replays order by id desc limit 1`)
		return status
	}
	r := c.start("replay", "--tenant", p.tenant, "--status", "delivered", "--yes")
	r.await(r.stderr, "0 of 12")
	require.Equal(t, 1, r.interrupt())
	require.Contains(t, r.stderr.String(), "goes on in the hub")
	require.Equal(t, "running", status())

	term := c.onTerminal(80, "replay", "--tenant", p.tenant, "--status", "delivered", "--yes")
	term.awaitText("0 of 12")
	term.writeText("\x03")
	term.awaitText("Cancel the replay as well?")
	term.writeText("y\n")
	require.Equal(t, 6, term.wait())
	term.awaitText("the replay is cancelled")
	require.Equal(t, "cancelled", status())

	// The disk has room again: the first one ends by itself.
	s.exec(t, `create or replace function refuse_replay() returns trigger language plpgsql as $$ begin return new; end $$`)
	require.Eventually(t, func() bool {
		var done int
		s.queryRow(t, []any{&done}, `select count(*) from hub.replays where status = 'done' and done = 12`)
		return done == 1
	}, waitTimeout, pollInterval)
	p.awaitSettled(12, "delivered")
}

// On a terminal a deletion asks, and anything but yes leaves the tenant.
func TestTerminalTenantDelete(t *testing.T) {
	t.Parallel()
	p := newTenant(t)
	term := p.onTerminal(200, "tenants", "delete", p.tenantID)
	term.awaitText("Delete the tenant " + p.tenant)
	term.writeText("no\n")
	require.Equal(t, 1, term.wait())
	term.awaitText("not deleted")
	p.run("tenants", "show", p.tenantID).requireOK()
}
