//go:build linux

package main_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// terminal is a pseudo-terminal a command runs on.
type terminal struct {
	*running
	keys *os.File
	text *syncBuffer
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
	term := &terminal{running: &running{t: c.t, cmd: c.command(args...)}, keys: master, text: &syncBuffer{}}
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

func (x *terminal) sees(text string) { x.t.Helper(); x.await(x.text, text) }

func (x *terminal) types(text string) {
	x.t.Helper()
	_, err := x.keys.WriteString(text)
	require.NoError(x.t, err)
}

func TestTerminalTable(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	c := s.operator(t)
	s.put("deliveries", object{"id": strings.Repeat("d", 36), "event_id": "evt_0123456789abcdef", "event_type": strings.Repeat("long.", 40),
		"product": "crm", "status": "failed", "status_code": 500, "created_at": "2026-01-02T03:04:05Z"})
	term := c.onTerminal(100, "deliveries", "list")
	term.sees("…")
	require.Zero(t, term.end())
	term.sees("\x1b[31mfailed\x1b[0m")
	plain := strings.NewReplacer("\x1b[0m", "", "\x1b[1m", "", "\x1b[31m", "").Replace(term.text.String())
	for _, line := range strings.Split(plain, "\r\n") {
		require.LessOrEqual(t, len([]rune(line)), 100, line)
	}

	term = c.with("NO_COLOR", "1").onTerminal(400, "deliveries", "list")
	require.Zero(t, term.end())
	term.sees(strings.Repeat("long.", 40))
	require.NotContains(t, term.text.String(), "\x1b[")
}

func TestTerminalLogin(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	c := newCLI(t)
	term := c.onTerminal(80, "login", "--url", s.URL)
	term.sees("E-mail: ")
	term.types("ana@example.com\n")
	term.sees("Password: ")
	term.types("correct horse\n")
	require.Zero(t, term.end())
	term.sees("logged in at")
	require.NotContains(t, term.text.String(), "correct horse", "a password is not echoed")

	term = c.onTerminal(80, "login", "--url", s.URL, "--email", "x@example.com")
	term.sees("Password: ")
	term.types("\x03") // Ctrl-C
	require.Equal(t, 1, term.end())
	term.sees("interrupted")
	modes, err := unix.IoctlGetTermios(int(term.keys.Fd()), unix.TCGETS)
	require.NoError(t, err)
	require.NotZero(t, modes.Lflag&unix.ECHO, "the echo is on again")
}

func TestTerminalReplay(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	c := s.operator(t)
	term := c.onTerminal(80, "replay", "--status", "failed")
	term.sees("Deliver 12 deliveries again? [y/N] ")
	term.types("\n")
	require.Equal(t, 1, term.end())
	require.Zero(t, s.count("replays"))

	term = c.onTerminal(80, "replay", "--status", "failed")
	term.sees("[y/N] ")
	term.types("y\n")
	require.Zero(t, term.end())
	term.sees("done")
}

// TestTerminalReplayCancel: Ctrl-C asks whether the job shall end too.
func TestTerminalReplayCancel(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	s.replayStep = 0
	term := s.operator(t).onTerminal(80, "replay", "--status", "failed", "--yes")
	term.sees("0 of 12")
	term.types("\x03")
	term.sees("Cancel the replay as well?")
	term.types("y\n")
	require.Equal(t, 6, term.end())
	term.sees("the replay is cancelled")
	require.Equal(t, "cancelled", s.field("replays", "status"))
}
