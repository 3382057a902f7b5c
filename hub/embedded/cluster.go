//go:build unix

package embedded

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"

	"integrationhub/hub/internal/child"
)

// superuser owns the cluster; who may connect is decided by the socket's directory.
const superuser = "hub"

// cluster is one start of one data directory.
type cluster struct {
	cfg     PostgresConfig
	bin     binaries
	data    string // cfg.Dir/cluster
	id      identity
	sockets string // directory of the Unix socket
}

// start assumes that this process owns cfg.Dir.
func (c *cluster) start(ctx context.Context) (*Postgres, error) {
	var err error
	if c.id, err = chooseIdentity(c.cfg, c.bin.dir); err != nil {
		return nil, err
	}
	if err := c.id.chown(c.cfg.Dir, false); err != nil {
		return nil, fmt.Errorf("handing over the data directory: %w", err)
	}
	if err := takeOver(ctx, c.data); err != nil {
		return nil, err
	}
	created, err := c.ensure(ctx)
	if err != nil {
		return nil, err
	}
	if c.sockets, err = c.makeSocketDir(); err != nil {
		return nil, err
	}
	server, err := c.launch(ctx)
	if err != nil {
		_ = os.RemoveAll(c.sockets)
		return nil, err
	}
	p := &Postgres{
		url: c.url(), major: c.bin.major, newCluster: created, cluster: c, server: server, log: c.cfg.Logger,
		done: make(chan error, 1), watched: make(chan struct{}),
	}
	p.life, p.cancel = context.WithCancel(context.Background())
	return p, nil
}

// url names every part, so that PG* variables of the environment change nothing.
func (c *cluster) url() string {
	query := url.Values{"host": {c.sockets}, "port": {strconv.Itoa(port)}, "sslmode": {"disable"}}
	u := url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/postgres", RawQuery: query.Encode()}
	return u.String()
}

// ensure makes the cluster where there is none. It is built beside its place
// and renamed, so that a killed initdb leaves nothing that looks like data.
func (c *cluster) ensure(ctx context.Context) (created bool, err error) {
	if major, err := clusterMajor(c.data); err != nil {
		return false, err
	} else if major != "" {
		return false, c.id.chown(c.data, true)
	}
	newData := c.data + ".new"
	if err := os.RemoveAll(newData); err != nil {
		return false, fmt.Errorf("removing an unfinished cluster: %w", err)
	}
	if err := os.Mkdir(newData, 0o700); err != nil {
		return false, fmt.Errorf("making the cluster's directory: %w", err)
	}
	if err := c.id.chown(newData, false); err != nil {
		return false, fmt.Errorf("handing over the cluster's directory: %w", err)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin.dir, "initdb"), c.initdbArgs(newData)...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", serverEnv(), c.id.sysProcAttr()
	if out, err := cmd.CombinedOutput(); err != nil {
		return false, fmt.Errorf("making the cluster with initdb: %w\n%s", err, out)
	}
	if err := os.Rename(newData, c.data); err != nil {
		return false, fmt.Errorf("putting the new cluster in place: %w", err)
	}
	if c.cfg.Ephemeral {
		return true, nil
	}
	return true, syncDir(c.cfg.Dir)
}

func (c *cluster) initdbArgs(data string) []string {
	args := []string{"-D", data, "-U", superuser, "--auth=trust", "--encoding=UTF8"}
	// Code-point order with Unicode upper and lower case, on every machine alike.
	switch {
	case c.bin.number() >= 17:
		args = append(args, "--no-locale", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
	case runtime.GOOS == "linux":
		args = append(args, "--locale=C.UTF-8")
	default:
		args = append(args, "--no-locale")
	}
	if c.cfg.Ephemeral {
		return append(args, "--no-sync")
	}
	return append(args, "--data-checksums")
}

// port only forms the socket's file name; nothing listens on TCP.
const port = 5432

// socketName is the name of the socket's file, which follows from the port.
const socketName = ".s.PGSQL.5432"

// settings are sized for a hub and its database on one small machine.
func (c *cluster) settings() map[string]string {
	s := map[string]string{
		"listen_addresses":        "",
		"port":                    strconv.Itoa(port),
		"unix_socket_directories": c.sockets,
		"unix_socket_permissions": "0700",
		"max_connections":         "100",
		"shared_buffers":          "128MB",
		"max_wal_size":            "2GB", // fewer checkpoints under bursts
		// Compiling short queries costs more than it saves, and memory in every connection.
		"jit": "off",
		// Nothing is replicated: saves a process.
		"max_logical_replication_workers": "0",
		"timezone":                        "UTC",
		"log_timezone":                    "UTC",
		"logging_collector":               "off",
		"log_checkpoints":                 "off",
		// Neither statements nor the values in a DETAIL line belong in a log.
		"log_min_error_statement": "panic",
		"log_error_verbosity":     "terse",
	}
	if runtime.GOOS == "linux" {
		// A container's /dev/shm may be too small, or closed to the server's user.
		s["dynamic_shared_memory_type"] = "sysv"
	}
	if c.cfg.Ephemeral {
		maps.Copy(s, map[string]string{
			"fsync":              "off",
			"synchronous_commit": "off",
			"full_page_writes":   "off",
			"autovacuum":         "off",
			"max_wal_senders":    "0",
			"wal_level":          "minimal",
		})
	}
	maps.Copy(s, c.cfg.Params)
	return s
}

func (c *cluster) command() *exec.Cmd {
	args := []string{"-D", c.data}
	settings := c.settings()
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	cmd := exec.Command(filepath.Join(c.bin.dir, "postgres"), args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", serverEnv(), c.id.sysProcAttr()
	return cmd
}

// startServer starts the server so that it ends with this process: with a checkpoint, or at
// once if the cluster is ephemeral.
func (c *cluster) startServer(log *os.File) (*child.Process, error) {
	cmd := c.command()
	cmd.Stdout, cmd.Stderr = log, log
	death := syscall.SIGINT
	if c.cfg.Ephemeral {
		death = syscall.SIGQUIT
	}
	server, err := child.Start(cmd, death)
	if err != nil {
		return nil, fmt.Errorf("starting postgres: %w", err)
	}
	return server, nil
}

// serverEnv is all the server programs see of our environment: it may hold
// secrets, and PG* variables that would change what they do.
func serverEnv() []string {
	env := []string{"LC_ALL=C", "TZ=UTC", "PATH=" + os.Getenv("PATH")}
	if libs, ok := os.LookupEnv("LD_LIBRARY_PATH"); ok {
		env = append(env, "LD_LIBRARY_PATH="+libs)
	}
	return env
}

// maxSocketDir leaves room for "/.s.PGSQL.5432.lock" in the 104 bytes that the
// narrowest system allows for a socket's path.
const maxSocketDir = 80

// makeSocketDir makes the directory of the socket: in the data directory, or,
// where that path is too long or too odd for a socket, among the temporary
// files under a name that follows from it, so that nothing piles up there.
func (c *cluster) makeSocketDir() (string, error) {
	dir := filepath.Join(c.cfg.Dir, "socket")
	isMoved := !plainPath(dir) || len(dir) > maxSocketDir
	if isMoved {
		sum := sha256.Sum256([]byte(c.cfg.Dir))
		name := fmt.Sprintf("hub-pg-%d-%s", os.Getuid(), hex.EncodeToString(sum[:6]))
		dir = filepath.Join(shortTempDir(maxSocketDir-len(name)), name)
	}
	if err := os.RemoveAll(dir); err != nil && !errors.Is(err, os.ErrPermission) {
		return "", fmt.Errorf("clearing the socket's directory: %w", err)
	}
	// Mkdir, unlike MkdirAll, fails on a directory or link that another user created
	// under this predictable name; then a random name is used.
	err := os.Mkdir(dir, 0o700)
	if isMoved && errors.Is(err, os.ErrExist) {
		dir, err = os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+"-")
	}
	if err != nil {
		return "", fmt.Errorf("making the socket's directory: %w", err)
	}
	if err := c.id.chown(dir, false); err != nil {
		return "", fmt.Errorf("handing over the socket's directory: %w", err)
	}
	return dir, nil
}

// shortTempDir is the directory for temporary files, or /tmp where that is not
// fit for sockets or longer than limit.
func shortTempDir(limit int) string {
	if dir := os.TempDir(); plainPath(dir) && len(dir) <= limit {
		return dir
	}
	return "/tmp"
}

// plainPath reports whether a path survives PostgreSQL's list syntax unquoted.
func plainPath(path string) bool {
	for _, r := range path {
		plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '/' || r == '.' || r == '_' || r == '-'
		if !plain {
			return false
		}
	}
	return true
}

// syncDir makes a rename inside dir survive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("opening %s: %w", dir, err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("syncing %s: %w", dir, err)
	}
	return nil
}
