//go:build unix

package embedded_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/embedded"
	"integrationhub/hub/hubtest"
)

// The holder is this test binary run again as a hub that owns a data directory,
// commits rows and says which were acknowledged, until it is killed.
const (
	holderDir  = "HUB_TEST_HOLDER_DIR"
	holderBin  = "HUB_TEST_HOLDER_BIN"
	holderBusy = "HUB_TEST_HOLDER_BUSY" // instead of committing rows, keep a connection computing
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(holderDir); dir != "" {
		if err := hold(dir); err != nil {
			fmt.Println("failed", err)
			os.Exit(1)
		}
		return
	}
	adoptOrphans()
	hubtest.Main(m)
}

// hold prints "pid <n>" of the server, its URL, "rows <n>" found, then "row <n>" after each commit.
func hold(dir string) error {
	ctx := context.Background()
	p, err := embedded.StartPostgres(ctx, embedded.PostgresConfig{Dir: dir, BinDir: os.Getenv(holderBin)})
	if err != nil {
		return err
	}
	fmt.Println("pid", p.Pid())
	fmt.Println(p.URL())
	conn, err := pgx.Connect(ctx, p.URL())
	if err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "create table if not exists kept (n int primary key)"); err != nil {
		return err
	}
	var n int
	if err := conn.QueryRow(ctx, "select count(*) from kept").Scan(&n); err != nil {
		return err
	}
	fmt.Println("rows", n)
	if os.Getenv(holderBusy) != "" {
		fmt.Println("row", n)
		_, err := conn.Exec(ctx, "do $$ begin loop perform 1; end loop; end $$")
		return err
	}
	for {
		n++
		if _, err := conn.Exec(ctx, "insert into kept values ($1)", n); err != nil {
			return err
		}
		fmt.Println("row", n)
	}
}

// holder is a running one.
type holder struct {
	cmd   *exec.Cmd
	out   *bufio.Scanner
	pid   int // of its PostgreSQL
	found int // rows it found
}

func startHolder(t *testing.T, dir string, change func(*exec.Cmd)) *holder {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(program)
	// Variables that would lead a client astray if the URL left anything open.
	cmd.Env = append(os.Environ(), holderDir+"="+dir, holderBin+"="+binDir(t), "PGPORT=1", "PGHOST=nowhere", "PGDATABASE=none")
	if change != nil {
		change(cmd)
	}
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	h := &holder{cmd: cmd, out: bufio.NewScanner(pipe)}
	t.Cleanup(func() { h.kill() })
	h.pid = h.read(t, "pid")
	require.True(t, h.out.Scan(), "the holder ended")
	sockets := socketDir(t, h.out.Text())
	t.Cleanup(func() {
		h.kill()
		require.Eventually(t, func() bool { return !alive(h.pid) }, 20*time.Second, 10*time.Millisecond)
		_ = os.RemoveAll(sockets)
	})
	h.found = h.read(t, "rows")
	return h
}

// read returns the number of the next line, which must be of a kind.
func (h *holder) read(t *testing.T, kind string) int {
	t.Helper()
	var got string
	var n int
	require.True(t, h.out.Scan(), "the holder ended")
	_, err := fmt.Sscan(h.out.Text(), &got, &n)
	require.NoError(t, err, h.out.Text())
	require.Equal(t, kind, got, h.out.Text())
	return n
}

// kill is kill -9; it returns the last row acknowledged before.
func (h *holder) kill() (acknowledged int) {
	if h.cmd.ProcessState != nil {
		return 0 // killed before
	}
	_ = h.cmd.Process.Kill()
	for h.out.Scan() { // what it said before it died
		_, _ = fmt.Sscanf(h.out.Text(), "row %d", &acknowledged)
	}
	_ = h.cmd.Wait()
	return acknowledged
}

// binDir is where this machine's PostgreSQL is, in a place every user can reach.
func binDir(t *testing.T) string {
	t.Helper()
	dir := foundBin(t)
	for d := dir; d != "/"; d = filepath.Dir(d) {
		info, err := os.Stat(d)
		require.NoError(t, err)
		if info.Mode().Perm()&0o001 == 0 {
			return copyPrograms(t, dir)
		}
	}
	return dir
}

func foundBin(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	require.NoError(t, err)
	for _, dir := range append(hubtest.PostgresSearch(), found...) {
		if real, err := filepath.EvalSymlinks(filepath.Join(dir, "initdb")); err == nil {
			return filepath.Dir(real)
		}
	}
	path, err := exec.LookPath("initdb")
	require.NoError(t, err, "no PostgreSQL found: configs/setup/ensure-postgres.sh fetches one")
	real, err := filepath.EvalSymlinks(path)
	require.NoError(t, err)
	return filepath.Dir(real)
}

// copyPrograms copies an installation (bin, lib, share) out of a closed home.
func copyPrograms(t *testing.T, bin string) string {
	t.Helper()
	to := openDir(t)
	require.NoError(t, os.CopyFS(filepath.Join(to, "pg"), os.DirFS(filepath.Dir(bin))))
	return filepath.Join(to, "pg", filepath.Base(bin))
}

// openDir is a new directory that other users can reach, unlike t.TempDir.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hub-embedded-test-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func config(t *testing.T, dir string) embedded.PostgresConfig {
	t.Helper()
	return embedded.PostgresConfig{Dir: dir, BinDir: binDir(t)}
}

// start starts a server that stops with the test.
func start(t *testing.T, cfg embedded.PostgresConfig) *embedded.Postgres {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p, err := embedded.StartPostgres(ctx, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Stop(context.Background())) })
	return p
}

// query runs one statement and returns its one value as text.
func query(t *testing.T, url, statement string) string {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	var value string
	require.NoError(t, conn.QueryRow(context.Background(), statement).Scan(&value))
	return value
}

func execute(t *testing.T, url, statement string) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(context.Background(), statement)
	require.NoError(t, err)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	require.NoError(t, err)
	defer in.Close()
	// A process that is forked off while the file is open for writing could have it until it
	// executes its program, and the copy could not be executed meanwhile.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(out, in)
	require.NoError(t, err)
	require.NoError(t, out.Close())
}

// alive reports whether the process exists and is no zombie.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	out, _ := exec.Command("ps", "-o", "state=", "-p", fmt.Sprint(pid)).Output()
	state := strings.TrimSpace(string(out))
	return state != "" && !strings.HasPrefix(state, "Z")
}
