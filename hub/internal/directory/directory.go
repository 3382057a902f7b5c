// Package directory is a process's cache of the configuration that the hot path needs: API
// keys, endpoints and integrations. Publishing never uses stale configuration: every group
// commit compares the cache's version with the committed one (see [Directory.Version]).
package directory

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
)

// Key is a cached API key.
type Key struct {
	keys.Principal
	expiresAt *time.Time // nil = never
	hash      [sha256.Size]byte
}

// Opener decrypts what is sealed at rest.
type Opener interface {
	Open(sealed []byte, context string) ([]byte, error)
}

// pollInterval is how often the committed version is read. A revocation thus reaches every
// process well within a second, also without traffic.
const pollInterval = 300 * time.Millisecond

// maxUnknownKeys bounds the unknown keys that a generation caches.
const maxUnknownKeys = 10_000

// Directory is safe for concurrent use.
type Directory struct {
	pool       *pgxpool.Pool
	secrets    Opener
	connectors Connectors
	log        *slog.Logger
	now        func() time.Time
	current    atomic.Pointer[generation]
	lastUses   sync.Map // key id → time.Time, stored by Run
}

// generation is what was loaded at one version of the configuration.
type generation struct {
	version     int64
	keys        sync.Map // SHA-256 of a key → *Key; nil = no such key
	unknownKeys atomic.Int64
	tenants     sync.Map // tenantScope → []*Target
	endpoints   sync.Map // uuid.UUID → *Target; nil = no such endpoint
	// uuid.UUID → *Target with a Peer; nil = no such integration
	integrations sync.Map
}

type tenantScope struct {
	tenant      uuid.UUID
	environment hub.Environment
}

// Connectors returns the connector for a peer product, never nil.
type Connectors func(product string) hub.Connector

// New returns an empty directory at version 0. The first [Directory.Refresh] or commit
// brings it up to date.
func New(pool *pgxpool.Pool, secrets Opener, connectors Connectors, log *slog.Logger, now func() time.Time) *Directory {
	d := &Directory{pool: pool, secrets: secrets, connectors: connectors, log: log, now: now}
	d.current.Store(&generation{})
	return d
}

// Version returns the configuration version that the cache was filled at.
func (d *Directory) Version() int64 { return d.current.Load().version }

// Refresh reads the committed version and empties the cache if it differs.
func (d *Directory) Refresh(ctx context.Context) error {
	var version int64
	if err := d.pool.QueryRow(ctx, `select version from hub.config_version`).Scan(&version); err != nil {
		return fmt.Errorf("reading the configuration version: %w", err)
	}
	if old := d.current.Load(); old.version != version {
		d.current.CompareAndSwap(old, &generation{version: version})
	}
	return nil
}

// shutdownFlushTimeout bounds storing the last uses of keys when the process stops.
const shutdownFlushTimeout = 3 * time.Second

// Run refreshes the cache and stores when keys were last used, until ctx ends.
func (d *Directory) Run(ctx context.Context) {
	poll, flush := time.NewTicker(pollInterval), time.NewTicker(30*time.Second)
	defer poll.Stop()
	defer flush.Stop()
	isFailing := false
	for {
		select {
		case <-ctx.Done():
			flushCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownFlushTimeout)
			defer cancel()
			if err := d.storeLastUses(flushCtx); err != nil {
				d.log.Warn("recording the last use of keys failed; it is lost", "error", err)
			}
			return
		case <-flush.C:
			if err := d.storeLastUses(ctx); err != nil && ctx.Err() == nil {
				d.log.Warn("recording the last use of keys failed; trying again", "error", err)
			}
		case <-poll.C:
			err := d.Refresh(ctx)
			if err != nil && !isFailing && ctx.Err() == nil {
				d.log.Warn("watching the configuration failed; trying again", "error", err)
			}
			isFailing = err != nil
		}
	}
}

// Key returns the key that a caller presented. A key that is unknown or not valid now is
// a [hub.ErrUnauthorized]. Keys are looked up by SHA-256, so timing reveals nothing about
// stored keys.
func (d *Directory) Key(ctx context.Context, presented string) (*Key, error) {
	if err := keys.Check(presented); err != nil {
		return nil, err
	}
	return d.findKey(ctx, keys.Hash(presented))
}

// LookUp implements [keys.Finder] from the cache.
func (d *Directory) LookUp(ctx context.Context, presented string) (keys.Principal, error) {
	key, err := d.Key(ctx, presented)
	if err != nil {
		return keys.Principal{}, err
	}
	return key.Principal, nil
}

// Revalidate looks a key up again in the present configuration.
func (d *Directory) Revalidate(ctx context.Context, key *Key) (*Key, error) {
	return d.findKey(ctx, key.hash)
}

func (d *Directory) findKey(ctx context.Context, hash [sha256.Size]byte) (*Key, error) {
	generation := d.current.Load()
	if cached, ok := generation.keys.Load(hash); ok {
		return d.checkUsable(cached.(*Key))
	}
	key, err := d.loadKey(ctx, hash)
	if err != nil {
		return nil, err
	}
	if key != nil || generation.unknownKeys.Add(1) <= maxUnknownKeys {
		generation.keys.Store(hash, key)
	}
	return d.checkUsable(key)
}

// checkUsable returns a key that is known and not expired, and notes its use.
func (d *Directory) checkUsable(key *Key) (*Key, error) {
	now := d.now()
	if key == nil || key.expiresAt != nil && !now.Before(*key.expiresAt) {
		return nil, keys.InvalidKeyError()
	}
	if lastUse, ok := d.lastUses.Load(key.KeyID); !ok || now.Sub(lastUse.(time.Time)) > time.Second {
		d.lastUses.Store(key.KeyID, now)
	}
	return key, nil
}

func (d *Directory) loadKey(ctx context.Context, hash [sha256.Size]byte) (*Key, error) {
	row, err := dbgen.New(d.pool).KeyWithTenantByHash(ctx, hash[:], d.now())
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, store.Wrap("looking up a key", err)
	}
	return &Key{Principal: keys.PrincipalOf(row), expiresAt: row.Key.ExpiresAt, hash: hash}, nil
}

// storeLastUses stores when keys were last used. After an error the next call stores them.
func (d *Directory) storeLastUses(ctx context.Context) error {
	var ids []uuid.UUID
	var times []time.Time
	d.lastUses.Range(func(id, usedAt any) bool {
		ids, times = append(ids, id.(uuid.UUID)), append(times, usedAt.(time.Time))
		return true
	})
	if len(ids) == 0 {
		return nil
	}
	_, err := d.pool.Exec(ctx, `
		update hub.keys k set last_used_at = greatest(k.last_used_at, u.at)
		from unnest($1::uuid[], $2::timestamptz[]) u(id, at) where k.id = u.id`, ids, times)
	if err != nil {
		return fmt.Errorf("storing when keys were last used: %w", err)
	}
	for i, id := range ids {
		d.lastUses.CompareAndDelete(id, times[i]) // a use since then stays
	}
	return nil
}
