//go:build unix

// Package hubtest provides tests with real servers: a PostgreSQL cluster and a Redis for
// each test process, started when first asked for, and servers of a test's own
// that it may kill. They end with the process; what they leave in the directory
// for temporary files is removed by [Main] or by a later run.
package hubtest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"testing"

	"integrationhub/hub/internal/scratch"
)

// ModuleRoot is the directory of go.mod, found from the test's working
// directory upwards. It panics where there is none.
func ModuleRoot() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(fmt.Sprintf("finding the module root: %v", err))
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			panic("finding the module root: no go.mod above the working directory")
		}
		dir = filepath.Dir(dir)
	}
}

// PostgresSearch is where configs/setup/ensure-postgres.sh puts the programs it
// fetches; the value for embedded.PostgresConfig.Search.
func PostgresSearch() []string {
	return []string{filepath.Join(ModuleRoot(), ".cache", "pg", "bin")}
}

// Main runs a package's tests and then stops the shared servers and removes
// their files: func TestMain(m *testing.M) { hubtest.Main(m) }. Without it the
// servers end with the process and a later run removes the files. What uses the
// servers and outlives single tests is ended by after, before they stop. Where
// -parallel is not given, at least [parallel] tests run at once: they mostly wait for
// servers, for timers and for each other's answers, and a small machine has few cores.
func Main(m *testing.M, after ...func()) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given && runtime.GOMAXPROCS(0) < parallel {
		if err := flag.Set("test.parallel", strconv.Itoa(parallel)); err != nil {
			panic(err) // package testing has defined it
		}
	}
	// Collecting garbage less often spares a tenth of the tests' time; memory is not their limit.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(testGCPercent)
	}
	if err := useOwnTemp(); err != nil {
		panic(err)
	}
	code := m.Run()
	for _, end := range after {
		end()
	}
	runAtEnd()
	stopPostgres()
	stopRedis()
	onDisk.remove()
	inMemory.remove()
	os.Exit(code)
}

// parallel is how many tests of a package run at once, at least. Go runs two packages
// beside each other on two cores; more would only wait for passwords to be hashed.
const parallel = 4

const testGCPercent = 400

// PasswordHashMemory is the memory of password hashes in tests, in KiB: tests hash many
// passwords, and with the real 19 MiB each it was an eighth of their processor time.
const PasswordHashMemory = 64

// SkipShort leaves the test out where go test has -short, as make test-fast does: what
// a developer need not wait for after every change.
func SkipShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out by -short")
	}
}

const scratchPrefix = "hub-test-"

// machineTemp is the directory for temporary files that all test processes share, whatever
// [Main] makes of TMPDIR.
var machineTemp = os.TempDir()

// ownDir is a directory of this process.
type ownDir struct {
	parent func() string
	once   sync.Once
	dir    *scratch.Dir
	err    error
}

var (
	onDisk   = ownDir{parent: func() string { return machineTemp }}
	inMemory = ownDir{parent: memoryParent}
)

// memoryParent returns the directory in memory where there is one with room, or else
// the directory for temporary files. A test's database is a thousand files, made and
// removed in a second: ext4 takes longer over them than the test over all else.
func memoryParent() string {
	if dir := memoryDir(); dir != "" {
		return dir
	}
	return machineTemp
}

// make makes a new directory for one server. Servers started as root may
// run as another user, who must be able to enter the directories above.
func (s *ownDir) make(name string) (string, error) {
	s.once.Do(func() { s.dir, s.err = makeScratch(s.parent()) })
	if s.err != nil {
		return "", fmt.Errorf("making a directory for test servers: %w", s.err)
	}
	dir, err := os.MkdirTemp(s.dir.Path, name+"-")
	if err != nil {
		return "", fmt.Errorf("making a directory for a test server: %w", err)
	}
	return dir, nil
}

// remove removes the directory, if there is one.
func (s *ownDir) remove() {
	if s.dir != nil {
		s.dir.Remove()
	}
}

// useOwnTemp makes the directory for temporary files one of this process's: what tests and
// the programs they start leave there when they are killed is removed by a later run. Others
// may write there as in /tmp, such as PostgreSQL's user.
func useOwnTemp() error {
	dir, err := onDisk.make("tmp")
	if err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		return fmt.Errorf("opening the directory for temporary files: %w", err)
	}
	return os.Setenv("TMPDIR", dir)
}

// makeScratch removes dead runs' directories and makes ours.
func makeScratch(parent string) (*scratch.Dir, error) {
	dir, err := scratch.Make(parent, scratchPrefix, filepath.Join(machineTemp, fmt.Sprintf("%s%d.lock", scratchPrefix, os.Getuid())))
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir.Path, 0o777|os.ModeSticky); err != nil {
		return nil, err
	}
	return dir, nil
}

// SharedDir makes a directory for what all tests of this process share, such as a
// program they build. [Main] removes it.
func SharedDir(name string) (string, error) { return onDisk.make(name) }
