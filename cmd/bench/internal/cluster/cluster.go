// Package cluster runs the PostgreSQL and the Redis that a service under test uses.
package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"sort"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/cmd/bench/internal/process"
	"integrationhub/hub/hubtest"
)

// PostgresSettings are the same for the floor and for the gateway. Everything
// that makes a commit durable is on, as in PostgreSQL's defaults; the rest are
// the sizes a small server would be given.
var PostgresSettings = map[string]string{
	"fsync":              "on",
	"synchronous_commit": "on",
	"full_page_writes":   "on",
	"max_connections":    "200",
	"shared_buffers":     "256MB",
	"max_wal_size":       "4GB",
}

// Cluster is a new PostgreSQL and a new Redis on loopback.
type Cluster struct {
	DatabaseURL string
	RedisURL    string
	Postgres    *process.Process
	Redis       *process.Process
}

// Start makes both under dir, which must be reachable for other users.
func Start(ctx context.Context, dir string) (*Cluster, error) {
	var c Cluster
	if err := c.startPostgres(ctx, dir); err != nil {
		c.Stop()
		return nil, err
	}
	if err := c.startRedis(ctx, dir); err != nil {
		c.Stop()
		return nil, err
	}
	syscall.Sync() // initdb's dirty pages are not the measured program's to write
	return &c, nil
}

// Stop stops both servers.
func (c *Cluster) Stop() {
	if c.Redis != nil {
		c.Redis.Stop()
	}
	if c.Postgres != nil {
		c.Postgres.Stop()
	}
}

func (c *Cluster) startPostgres(ctx context.Context, dir string) error {
	bin, err := FindPostgres()
	if err != nil {
		return err
	}
	owner, err := postgresOwner()
	if err != nil {
		return err
	}
	data := filepath.Join(dir, "postgres")
	password := rand.Text()
	if err := initPostgres(ctx, bin, data, password, owner); err != nil {
		return err
	}
	address, err := hubtest.FreeAddress()
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("reading address: %w", err)
	}
	args := []string{"-D", data, "-k", data, "-h", host, "-p", port}
	for name, value := range PostgresSettings {
		args = append(args, "-c", name+"="+value)
	}
	cmd := exec.Command(filepath.Join(bin, "postgres"), args...)
	cmd.Dir = data
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
	// SIGINT is PostgreSQL's fast shutdown: it does not wait for clients.
	if c.Postgres, err = process.Start("postgres", dir, cmd, syscall.SIGINT); err != nil {
		return err
	}
	where := url.URL{
		Scheme: "postgres", User: url.UserPassword("postgres", password), Host: address,
		Path: "/postgres", RawQuery: "sslmode=disable",
	}
	c.DatabaseURL = where.String()
	return c.Postgres.WaitUntil(ctx, 30*time.Second, func() error {
		conn, err := pgx.Connect(ctx, c.DatabaseURL)
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
}

// initPostgres makes an empty cluster owned by owner (nil = this user) with a
// password for the superuser.
func initPostgres(ctx context.Context, bin, data, password string, owner *syscall.Credential) error {
	if err := os.Mkdir(data, 0o700); err != nil {
		return fmt.Errorf("creating data directory: %w", err)
	}
	passwordFile := data + ".password"
	if err := os.WriteFile(passwordFile, []byte(password+"\n"), 0o600); err != nil {
		return fmt.Errorf("writing password file: %w", err)
	}
	defer os.Remove(passwordFile)
	if owner != nil {
		for _, path := range []string{data, passwordFile} {
			if err := os.Chown(path, int(owner.Uid), int(owner.Gid)); err != nil {
				return fmt.Errorf("giving %s to PostgreSQL's user: %w", path, err)
			}
		}
	}
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres",
		"--auth=scram-sha-256", "--pwfile="+passwordFile, "--encoding=UTF8", "--locale=C", "--no-sync")
	cmd.Dir = data
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("running initdb: %w\n%s", err, out)
	}
	return nil
}

// FindPostgres returns the directory of PostgreSQL's programs: $HUB_PG_BIN, else
// the newest of Debian's packages, else the one in PATH.
func FindPostgres() (string, error) {
	if dir := os.Getenv("HUB_PG_BIN"); dir != "" {
		return dir, nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", fmt.Errorf("looking for PostgreSQL: %w", err)
	}
	if len(found) > 0 {
		version := func(path string) int {
			number, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
			return number
		}
		sort.Slice(found, func(i, j int) bool { return version(found[i]) > version(found[j]) })
		return filepath.Dir(found[0]), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", errors.New("looking for PostgreSQL: no initdb in HUB_PG_BIN, /usr/lib/postgresql or PATH; install postgresql or set HUB_PG_BIN")
	}
	return filepath.Dir(path), nil
}

// postgresOwner returns the user that runs PostgreSQL: nil for the current user.
// PostgreSQL refuses root; instead of root it is the user postgres or nobody.
func postgresOwner() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(account.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(account.Gid, 10, 32)
		if uidErr == nil && gidErr == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("finding a user for PostgreSQL: it refuses root, and there is neither postgres nor nobody")
}

func (c *Cluster) startRedis(ctx context.Context, dir string) error {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return fmt.Errorf("looking for Redis (install redis-server): %w", err)
	}
	address, err := hubtest.FreeAddress()
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("reading address: %w", err)
	}
	// Redis holds only clocks and counters here: nothing of it needs the disk.
	cmd := exec.Command(path, "--bind", host, "--port", port, "--dir", dir, "--save", "", "--appendonly", "no")
	if c.Redis, err = process.Start("redis", dir, cmd, syscall.SIGTERM); err != nil {
		return err
	}
	c.RedisURL = "redis://" + address + "/0"
	return c.Redis.WaitUntil(ctx, 10*time.Second, process.AcceptsConnections(address))
}
