package hubtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// SmallDisk returns a directory on a new disk with so many megabytes,
// to be filled up. It needs the right to mount; without it ok is false: then
// [RunInMountNamespace] may help, or [PostgresServer.LimitFiles].
func SmallDisk(t testing.TB, megabytes int) (dir string, ok bool) {
	t.Helper()
	dir, err := onDisk.make("disk")
	require.NoError(t, err)
	options := fmt.Sprintf("size=%dm,mode=0711", megabytes)
	if err := syscall.Mount("hub-test", dir, "tmpfs", 0, options); err != nil {
		t.Logf("mounting a small disk: %v", err)
		return "", false
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return filepath.Clean(dir), true
}

// ownMounts is set where a test runs in a namespace that [RunInMountNamespace] made.
const ownMounts = "HUB_TEST_OWN_MOUNTS"

// RunInMountNamespace runs the calling test once more, in a process that may mount:
// Linux lets anybody have a namespace of users and mounts of their own, unless the
// machine's administrator or a container forbids it. ran reports whether it did run;
// then the test is done, and failed if that run failed.
func RunInMountNamespace(t *testing.T) (ran bool) {
	t.Helper()
	if os.Getenv(ownMounts) != "" || inOwnMounts("-test.run=^$").Run() != nil {
		return false
	}
	args := []string{"-test.run=^" + t.Name() + "$", "-test.v"}
	for _, arg := range os.Args[1:] { // the test's own; not where profiles and the like go
		if !strings.HasPrefix(arg, "-test.") {
			args = append(args, arg)
		}
	}
	out, err := inOwnMounts(args...).CombinedOutput()
	t.Logf("in a namespace of its own:\n%s", out)
	require.NoError(t, err)
	require.Contains(t, string(out), "--- PASS: "+t.Name())
	return true
}

// inOwnMounts starts this test program in namespaces of its own. The user stays
// the same one, for PostgreSQL refuses to be root, and may mount all the same.
func inOwnMounts(args ...string) *exec.Cmd {
	const capSysAdmin = 21
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), ownMounts+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{capSysAdmin},
	}
	return cmd
}

// UnlimitedFileSize is the argument of [PostgresServer.LimitFiles] that ends it.
const UnlimitedFileSize = "unlimited"

// LimitFiles lets no file of the server grow beyond so many bytes: to the server
// that is a disk without room. It needs no right that the server's user has not.
func (p *PostgresServer) LimitFiles(bytes string) {
	p.t.Helper()
	var stat syscall.Stat_t
	require.NoError(p.t, syscall.Stat(fmt.Sprintf("/proc/%d", p.server.Pid()), &stat))
	for _, pid := range append([]int{p.server.Pid()}, p.children()...) { // new children have their parent's limit
		cmd := exec.Command("prlimit", "--pid", strconv.Itoa(pid), "--fsize="+bytes+":")
		if os.Getuid() == 0 { // a container's root may not change the limits of others
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stat.Uid, Gid: stat.Gid}}
		}
		out, err := cmd.CombinedOutput()
		if pid == p.server.Pid() { // a child may have ended meanwhile
			require.NoError(p.t, err, "%s", out)
		}
	}
}
