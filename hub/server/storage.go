package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"integrationhub/hub/config"
	"integrationhub/hub/embedded"
	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/limit"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/internal/seal"
	"integrationhub/hub/migrations"
)

// Sizes of the connection pools: the engine's carries the hot path, the other the API.
const (
	engineConns = 12
	apiConns    = 10
)

// databasePatience is how long a start waits for a database that does not answer yet.
const databasePatience = 30 * time.Second

// storage is what holds state: the database, Redis and the master key. The
// embedded ones are started and stopped with it.
type storage struct {
	databaseURL string
	postgres    *embedded.Postgres // nil: external
	miniredis   *embedded.Redis    // nil: external
	engine      *pgxpool.Pool
	api         *pgxpool.Pool
	redis       *redis.Client
	box         *seal.Box
	migrated    []string
}

// openStorage starts or reaches the database and Redis and migrates the schema. A
// Redis that does not answer is no reason to stay down: nothing durable is in it.
func openStorage(ctx context.Context, cfg config.Config, search []string, log *slog.Logger) (s *storage, err error) {
	s = &storage{}
	defer func() {
		if err != nil {
			s.close(context.WithoutCancel(ctx), log)
		}
	}()
	if s.box, err = masterKey(cfg, log); err != nil {
		return s, err
	}
	if err := s.openPostgres(ctx, cfg, search, log); err != nil {
		return s, err
	}
	if err := s.openRedis(cfg, log); err != nil {
		return s, err
	}
	if s.migrated, err = migrations.Up(ctx, s.databaseURL); err != nil {
		return s, err
	}
	if s.engine, err = openPool(ctx, s.databaseURL, engineConns, engineSettings); err != nil {
		return s, err
	}
	if s.api, err = openPool(ctx, s.databaseURL, apiConns, apiSettings); err != nil {
		return s, err
	}
	return s, s.checkMasterKey(ctx)
}

// checkMasterKey refuses a key that does not open what the database holds: with it
// every tenant that has endpoints would be answered 503, and nothing delivered. The
// newest of each kind is tried: an older one may be of a key that was lost, and given up.
func (s *storage) checkMasterKey(ctx context.Context) error {
	for _, one := range []struct {
		newest  string
		context func(uuid.UUID) string
	}{
		{`select id, secret from hub.endpoints order by id desc limit 1`, registry.SecretContext},
		{`select id, secret from hub.integrations where secret is not null order by id desc limit 1`, integration.SecretContext},
		{`select id, remote_key from hub.integrations where remote_key is not null order by id desc limit 1`, integration.RemoteKeyContext},
	} {
		var id uuid.UUID
		var sealed []byte
		err := s.api.QueryRow(ctx, one.newest).Scan(&id, &sealed)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			continue
		case err != nil:
			return fmt.Errorf("reading a secret to check the master key: %w", err)
		}
		if _, err := s.box.Open(sealed, one.context(id)); err != nil {
			return fmt.Errorf("%w: HUB_MASTER_KEY (or master.key in the data directory) is not the key that the secrets in this database were encrypted with", ErrSetting)
		}
	}
	return nil
}

// engineSettings suit statements that find a few rows by id among many: plans are
// made once, and never read whole tables.
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

func openPool(ctx context.Context, url string, conns int32, settings map[string]string) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, badDatabaseURL(err)
	}
	cfg.MaxConns = conns
	cfg.MaxConnIdleTime = 5 * time.Minute
	cfg.ConnConfig.ConnectTimeout = 5 * time.Second
	for name, value := range settings {
		cfg.ConnConfig.RuntimeParams[name] = value
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	return pool, nil
}

// ErrSetting is in the error of a start that failed on a setting that looked right.
var ErrSetting = errors.New("unusable setting")

// badDatabaseURL keeps a database password out of errors and so out of logs.
func badDatabaseURL(err error) error {
	var parse *pgconn.ParseConfigError
	if errors.As(err, &parse) {
		return fmt.Errorf("%w: HUB_DATABASE_URL is not a valid postgres:// URL", ErrSetting)
	}
	return fmt.Errorf("reading the database address: %w", err)
}

func (s *storage) openPostgres(ctx context.Context, cfg config.Config, search []string, log *slog.Logger) error {
	if url := cfg.DatabaseURL.Reveal(); url != "" {
		s.databaseURL = url
		return waitForDatabase(ctx, url, databasePatience, log)
	}
	started, err := embedded.StartPostgres(ctx, embedded.PostgresConfig{
		Dir: filepath.Join(cfg.DataDir, "postgres"), BinDir: cfg.PGBin, Search: search, Logger: log,
	})
	if err != nil {
		return fmt.Errorf("starting the private PostgreSQL: %w", err)
	}
	s.postgres, s.databaseURL = started, started.URL()
	return nil
}

// ErrNoDatabase is in the error of a start that could not get into the database of
// HUB_DATABASE_URL.
var ErrNoDatabase = errors.New("the database of HUB_DATABASE_URL cannot be used")

// waitForDatabase gives a database that is starting beside the hub some time. What
// it refuses for good, such as a wrong password, is not waited for.
func waitForDatabase(ctx context.Context, url string, patience time.Duration, log *slog.Logger) error {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return badDatabaseURL(err)
	}
	cfg.ConnectTimeout = 5 * time.Second
	deadline := time.Now().Add(patience)
	for told := false; ; told = true {
		conn, err := pgx.ConnectConfig(ctx, cfg)
		if err == nil {
			return conn.Close(ctx)
		}
		if ctx.Err() != nil { // told to stop: what the database said last is of no interest
			return fmt.Errorf("reaching the database: %w", ctx.Err())
		}
		if refusesForGood(err) {
			return fmt.Errorf("%w: %w", ErrNoDatabase, err)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w: no answer in %s: %w", ErrNoDatabase, patience, err)
		}
		if !told {
			log.Warn("the database does not answer yet; waiting", "for", patience.String(), "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// refusesForGood tells whether a server that answers does not let the hub in: the
// user, the password (class 28) or the database (3D000) is wrong.
func refusesForGood(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (strings.HasPrefix(pg.Code, "28") || pg.Code == "3D000")
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
	// Not asked for: go-redis complains about it on standard error by itself.
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	redis.SetLogger(&redisLog{log: log, now: time.Now})
	s.redis = redis.NewClient(options)
	return nil
}

// masterKey opens the box of secrets: with the key that was set, or the one kept
// in the data directory.
func masterKey(cfg config.Config, log *slog.Logger) (*seal.Box, error) {
	key, err := cfg.MasterKeyBytes()
	if err != nil {
		return nil, err
	}
	if key == nil {
		path := filepath.Join(cfg.DataDir, "master.key")
		var created bool
		if key, created, err = seal.LoadOrCreateKeyFile(path); err != nil {
			return nil, fmt.Errorf("reading the master key: %w", err)
		}
		if created {
			log.Info("made a master key; keep a copy of it with your backups", "file", path)
		}
	}
	return seal.New(key)
}

// close ends what openStorage began, in the opposite order.
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

// limiter counts in the Redis other processes use too, or in this process alone.
func (s *storage) limiter(log *slog.Logger, onLocal func()) *limit.Limiter {
	cfg := limit.Config{Log: log, OnLocalDecision: onLocal}
	if s.miniredis == nil {
		cfg.Redis = s.redis.Options()
	}
	return limit.New(cfg)
}
