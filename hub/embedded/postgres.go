//go:build unix

// Package embedded is the zero-setup default: a private PostgreSQL run as a
// child process, and a Redis inside this one.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"integrationhub/hub/internal/child"
	"integrationhub/hub/internal/filelock"
	"integrationhub/hub/internal/ownership"
)

// Errors before a server is started. The wrapping error says what to do.
var (
	ErrNoBinaries      = errors.New("no PostgreSQL programs found")             // none on this machine, or none that is new enough
	ErrNoVersion       = errors.New("data of an unknown PostgreSQL version")    // the directory was left as it is
	ErrVersionMismatch = errors.New("data of another PostgreSQL version")       // the directory was left as it is
	ErrInUse           = errors.New("data directory in use by another process") // a directory has one hub at a time
)

// PostgresConfig configures the private PostgreSQL.
type PostgresConfig struct {
	// Dir holds everything: cluster/ (the data), postgres.log, owner.lock. Made
	// with mode 0700 if absent. Any length, spaces allowed.
	Dir string
	// BinDir is the directory of initdb and postgres (HUB_PG_BIN); empty = search.
	BinDir string
	// Search lists more directories to look in, before the usual places.
	Search []string
	// Ephemeral trades durability for speed: for tests, whose data is thrown away.
	Ephemeral bool
	// Restart starts the server again, at the same URL, whenever it ends unasked: crashed by a
	// full disk, killed, or shut down by another program. It is tried until it succeeds or Stop is called.
	Restart bool
	// Params are server settings that win over this package's, e.g. "max_connections".
	Params map[string]string
	// Logger receives notes on starting and stopping; nil = none.
	Logger *slog.Logger

	// For tests only.
	modes []string        // the only ways to run as root, as in a container that forbids others
	usual func() []string // stands for usualPlaces
}

// Postgres is a running private server. It ends with this process, also on
// kill -9 (on Linux; elsewhere the next start takes over).
type Postgres struct {
	url        string
	major      string
	newCluster bool
	cluster    *cluster
	owner      *filelock.Lock
	log        *slog.Logger

	mu     sync.Mutex
	server *child.Process // under mu: a restart replaces it

	done        chan error
	watched     chan struct{} // closed when watch has ended, and no server runs
	stop        sync.Once
	life        context.Context // ends when Stop begins
	cancel      context.CancelFunc
	stopContext context.Context // Stop's; set before life ends
	stopErr     error           // Stop's; set before watched is closed
}

// StartPostgres makes the cluster in cfg.Dir if there is none and returns when
// the server accepts connections; ctx bounds the start only. It works as root
// (PostgreSQL itself then runs as another user) and as anyone else. What a
// killed hub left behind is taken over; a directory that a living process owns
// is refused with [ErrInUse], one of another major version with [ErrVersionMismatch], one whose
// PG_VERSION is missing with [ErrNoVersion].
func StartPostgres(ctx context.Context, cfg PostgresConfig) (*Postgres, error) {
	began := time.Now()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.usual == nil {
		cfg.usual = usualPlaces
	}
	dir, err := absolute(cfg.Dir)
	if err != nil {
		return nil, err
	}
	cfg.Dir = dir
	bin, err := locate(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	owner, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	if err := ownership.Inherit(filepath.Join(dir, "owner.lock")); err != nil {
		owner.Release()
		return nil, fmt.Errorf("handing over the lock: %w", err)
	}
	c := &cluster{cfg: cfg, bin: bin, data: filepath.Join(dir, "cluster")}
	p, err := c.start(ctx)
	if err != nil {
		owner.Release()
		return nil, err
	}
	p.owner = owner
	go func() {
		defer close(p.watched)
		p.watch()
	}()
	cfg.Logger.Info("private PostgreSQL started", "version", bin.major, "dir", dir, "programs", bin.dir,
		"pid", p.Pid(), "new", p.newCluster, "as", c.id.mode, "ms", time.Since(began).Milliseconds())
	return p, nil
}

// absolute cleans dir. Symbolic links stay: the operator may move what they point to.
func absolute(dir string) (string, error) {
	if dir == "" {
		return "", errors.New("starting PostgreSQL: no data directory given")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("finding the data directory: %w", err)
	}
	return abs, nil
}

// makeDir makes dir for us alone, below directories that others may enter: the
// server may have to run as another user.
func makeDir(dir string) error {
	err := ownership.MkdirAll(filepath.Dir(dir), 0o755)
	if err == nil {
		if err = os.Mkdir(dir, 0o700); err == nil {
			err = ownership.Inherit(dir)
		}
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("making the data directory: %w", err)
	}
	return nil
}

// lockDir locks the directory for this process. Sharing a running server instead
// would take the database away from the second hub whenever the first one stops.
func lockDir(dir string) (*filelock.Lock, error) {
	lock, err := filelock.Try(filepath.Join(dir, "owner.lock"))
	var held *filelock.HeldError
	if errors.As(err, &held) {
		holder := "another process"
		if held.Pid != 0 {
			holder = fmt.Sprintf("process %d", held.Pid)
		}
		return nil, fmt.Errorf("%w: %s belongs to %s; end it, choose another data directory, "+
			"or let several hubs share one database with HUB_DATABASE_URL", ErrInUse, dir, holder)
	}
	return lock, err
}

// URL is where to connect, as a superuser, over a Unix socket in a directory
// only we may enter. It is the same at every start with the same Dir, unless
// someone else occupies the name of that directory.
func (p *Postgres) URL() string { return p.url }

// Pid is the server's process id, or that of the last server while none runs.
func (p *Postgres) Pid() int { return p.current().Pid() }

// Done receives one error if the server ends unexpectedly and Restart is not set. It is closed
// after that or after Stop. The data directory stays locked: call Stop before StartPostgres.
func (p *Postgres) Done() <-chan error { return p.done }
