package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"integrationhub/hub/config"
	"integrationhub/hub/embedded"
	"integrationhub/hub/internal/audit"
	"integrationhub/hub/internal/limit"
	"integrationhub/hub/internal/seal"
	"integrationhub/hub/migrations"
	"integrationhub/hub/module/dberr"
)

// Sizes of the connection pools: one for the engine, on the hot path, one for the API.
const (
	engineConns = 12
	apiConns    = 10
)

// databaseTimeout is how long a start waits for a database that does not answer yet.
const databaseTimeout = 30 * time.Second

// storage holds the connections to the database and Redis, and the master key. Embedded
// servers are started and stopped with it.
type storage struct {
	databaseURL  string
	postgres     *embedded.Postgres // nil: external
	miniredis    *embedded.Redis    // nil: external
	engine       *pgxpool.Pool
	api          *pgxpool.Pool
	redis        *redis.Client
	installation string // distinguishes this installation from others on the same Redis
	box          *seal.Box
	keyCheck     *keyCheck
	migrated     []string
	newKeyFile   string // of a master key that this start made, "" if it was there
}

// openStorage connects to the database and Redis, or starts them. A Redis that does not answer does not stop the start: it holds nothing durable.
func openStorage(ctx context.Context, cfg config.Config, search []string, log *slog.Logger) (s *storage, err error) {
	s = &storage{}
	defer func() {
		if err != nil {
			s.close(context.WithoutCancel(ctx), log)
		}
	}()
	if s.box, s.newKeyFile, err = openBox(cfg); err != nil {
		return s, err
	}
	if err := s.openPostgres(ctx, cfg, search, log); err != nil {
		return s, err
	}
	if err := s.openRedis(cfg, log); err != nil {
		return s, err
	}
	if s.engine, err = openPool(ctx, s.databaseURL, engineConns, engineSettings); err != nil {
		return s, err
	}
	if s.api, err = openPool(ctx, s.databaseURL, apiConns, apiSettings); err != nil {
		return s, err
	}
	return s, nil
}

// migrate migrates the schema, and checks that the master key opens what it has.
func (s *storage) migrate(ctx context.Context, log *slog.Logger) error {
	pending, err := migrations.Pending(ctx, s.api)
	if err != nil {
		return err
	}
	if pending {
		if s.migrated, err = migrations.Up(ctx, s.databaseURL); err != nil {
			return err
		}
	}
	if err := audit.EnsurePartitions(ctx, s.api, time.Now()); err != nil {
		return err
	}
	if s.installation, err = loadInstallation(ctx, s.api); err != nil {
		return err
	}
	if err := s.checkMasterKey(ctx, log); err != nil {
		if s.newKeyFile != "" {
			err = fmt.Errorf("%w; there is no %s", err, s.newKeyFile)
			s.removeNewKey()
		}
		return err
	}
	if s.newKeyFile != "" {
		log.Info("made a master key; keep a copy of it with your backups", "file", s.newKeyFile)
	}
	return nil
}

// removeNewKey removes the file of a master key that this start made: the start is refused, and
// the key opens nothing.
func (s *storage) removeNewKey() {
	if s.newKeyFile != "" {
		_ = os.Remove(s.newKeyFile)
	}
}

// loadInstallation returns what names this installation in Redis. A copy of the database
// on the same server is an installation of its own.
func loadInstallation(ctx context.Context, db *pgxpool.Pool) (string, error) {
	var id uuid.UUID
	var database uint32
	err := db.QueryRow(ctx, `select id, (select oid from pg_database where datname = current_database()) from hub.installation`).Scan(&id, &database)
	if err != nil {
		return "", fmt.Errorf("reading the installation's id: %w", err)
	}
	return id.String() + "-" + strconv.FormatUint(uint64(database), 10), nil
}

// engineSettings suit statements that find a few rows by id among many: they are planned
// once and never scan whole tables.
var engineSettings = map[string]string{
	"application_name":  "hub-engine",
	"plan_cache_mode":   "force_generic_plan",
	"enable_seqscan":    "off",
	"enable_hashjoin":   "off",
	"enable_mergejoin":  "off",
	"jit":               "off",
	"statement_timeout": "60s",
}

var apiSettings = map[string]string{
	"application_name":  "hub-api",
	"jit":               "off",
	"statement_timeout": "30s",
}

// moduleSettings are those of a hosted product's connections.
func moduleSettings(product string) map[string]string {
	return map[string]string{
		"application_name": "hub-" + product, "search_path": migrations.SearchPath(product), "jit": "off", "statement_timeout": "30s",
	}
}

// absenceSettings make PostgreSQL end the sessions of a process that is frozen or cut off: others
// wait for the locks of its transactions. Between the statements of a transaction ours do
// nothing that takes long: no requests, files or password hashes. Keepalives end those that are
// cut off in the middle of a batch, 30 s later.
var absenceSettings = map[string]string{
	"idle_in_transaction_session_timeout": "5s",
	"tcp_keepalives_idle":                 "15",
	"tcp_keepalives_interval":             "5",
	"tcp_keepalives_count":                "3",
}

// readTimesInUTC makes a connection return times in UTC, whatever the zone of the process is: APIs
// show them as they are.
func readTimesInUTC(_ context.Context, conn *pgx.Conn) error {
	times := &pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC}}
	conn.TypeMap().RegisterType(times)
	conn.TypeMap().RegisterType(&pgtype.Type{Name: "_timestamptz", OID: pgtype.TimestamptzArrayOID, Codec: &pgtype.ArrayCodec{ElementType: times}})
	return nil
}

// openPool opens a pool of connections with settings and absenceSettings.
func openPool(ctx context.Context, url string, conns int32, settings map[string]string) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, databaseURLError(err)
	}
	cfg.MaxConns = conns
	cfg.MaxConnIdleTime = 5 * time.Minute
	cfg.ConnConfig.ConnectTimeout = 5 * time.Second
	cfg.AfterConnect = readTimesInUTC
	maps.Copy(cfg.ConnConfig.RuntimeParams, absenceSettings)
	maps.Copy(cfg.ConnConfig.RuntimeParams, settings)
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	return pool, nil
}

// ErrSetting is wrapped by the error of a start that failed on an unusable setting.
var ErrSetting = errors.New("unusable setting")

// databaseURLError replaces errors that may quote the URL, and so its password.
func databaseURLError(err error) error {
	var parse *pgconn.ParseConfigError
	if errors.As(err, &parse) {
		return fmt.Errorf("%w: HUB_DATABASE_URL is not a valid postgres:// URL", ErrSetting)
	}
	return fmt.Errorf("reading the database address: %w", err)
}

func (s *storage) openPostgres(ctx context.Context, cfg config.Config, search []string, log *slog.Logger) error {
	if url := cfg.DatabaseURL.Reveal(); url != "" {
		s.databaseURL = url
		return waitForDatabase(ctx, url, databaseTimeout, log)
	}
	started, err := embedded.StartPostgres(ctx, embedded.PostgresConfig{
		Dir: postgresDir(cfg), BinDir: cfg.PGBin, Search: search, Restart: true, Logger: log,
	})
	if err != nil {
		return fmt.Errorf("starting the private PostgreSQL: %w", err)
	}
	s.postgres, s.databaseURL = started, started.URL()
	return nil
}

// ErrNoDatabase is wrapped by the error of a start that could not connect to the database
// of HUB_DATABASE_URL.
var ErrNoDatabase = errors.New("the database of HUB_DATABASE_URL cannot be used")

// waitForDatabase waits for a database that may still be starting. It does not wait after
// a permanent refusal, such as a wrong password.
func waitForDatabase(ctx context.Context, url string, timeout time.Duration, log *slog.Logger) error {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return databaseURLError(err)
	}
	cfg.ConnectTimeout = 5 * time.Second
	deadline := time.Now().Add(timeout)
	for logged := false; ; logged = true {
		conn, err := pgx.ConnectConfig(ctx, cfg)
		if err == nil {
			return conn.Close(ctx)
		}
		if ctx.Err() != nil { // the start was cancelled: the last error of the database does not matter
			return fmt.Errorf("reaching the database: %w", ctx.Err())
		}
		if isPermanentRefusal(err) {
			return fmt.Errorf("%w: %w", ErrNoDatabase, err)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w: no response in %s: %w", ErrNoDatabase, timeout, err)
		}
		if !logged {
			log.Warn("the database does not respond yet; waiting", "for", timeout.String(), "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// isPermanentRefusal reports whether the server refuses the user or password (class 28) or
// has no such database.
func isPermanentRefusal(err error) bool {
	code := dberr.Code(err)
	return strings.HasPrefix(code, "28") || code == dberr.InvalidCatalogName
}

func (s *storage) openRedis(cfg config.Config, log *slog.Logger) error {
	var options *redis.Options
	if url := cfg.RedisURL.Reveal(); url != "" {
		parsed, err := redis.ParseURL(url)
		if err != nil {
			return fmt.Errorf("%w: HUB_REDIS_URL is not a valid redis:// URL", ErrSetting)
		}
		options = parsed
	} else {
		started, err := embedded.StartRedis(log)
		if err != nil {
			return fmt.Errorf("starting the in-process Redis: %w", err)
		}
		s.miniredis, options = started, started.Options()
	}
	options.ClientName = "hub"
	// Disabled, because go-redis logs to standard error about it.
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	redis.SetLogger(&redisLog{log: log, now: time.Now})
	s.redis = redis.NewClient(options)
	return nil
}

// close closes what openStorage opened, in reverse order.
func (s *storage) close(ctx context.Context, log *slog.Logger) {
	if s.engine != nil {
		s.engine.Close()
	}
	if s.api != nil {
		s.api.Close()
	}
	if s.redis != nil {
		_ = s.redis.Close()
	}
	if s.miniredis != nil {
		s.miniredis.Close()
	}
	if s.postgres != nil {
		if err := s.postgres.Stop(ctx); err != nil {
			log.Warn("stopping the private PostgreSQL failed", "error", err)
		}
	}
}

// limiter returns a limiter that counts in the shared Redis, or in this process if Redis
// is embedded.
func (s *storage) limiter(log *slog.Logger, onLocal func()) *limit.Limiter {
	cfg := limit.Config{Log: log, OnLocalDecision: onLocal, Installation: s.installation}
	if s.miniredis == nil {
		cfg.Redis = s.redis.Options()
	}
	return limit.New(cfg)
}
