// Package directory is each process's cache of the configuration the hot path
// needs: API keys, and which endpoints want which events. It never serves stale
// configuration where that matters: every group commit compares the version the
// cache was filled at with the committed one (see [Directory.Version]).
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

// Key is an API key in the cache: who it speaks for, and until when.
type Key struct {
	keys.Principal
	expiresAt *time.Time // nil = never
	hash      [sha256.Size]byte
}

// Opener decrypts what is sealed at rest.
type Opener interface {
	Open(sealed []byte, context string) ([]byte, error)
}

// pollEvery is how often the committed version is read; with it a revocation
// reaches every process well within a second, also without any traffic.
const pollEvery = 300 * time.Millisecond

// maxUnknown bounds how many unknown keys a generation remembers.
const maxUnknown = 10_000

// Directory is safe for concurrent use.
type Directory struct {
	pool       *pgxpool.Pool
	secrets    Opener
	connectors Connectors
	log        *slog.Logger
	now        func() time.Time
	current    atomic.Pointer[generation]
	used       sync.Map // key id → time.Time of last use, flushed by Run
}

// generation is what has been loaded since the version was last seen to change.
type generation struct {
	version   int64
	keys      sync.Map // SHA-256 of a key → *Key; nil = no such key
	unknown   atomic.Int64
	tenants   sync.Map // scope → []*Target
	endpoints sync.Map // uuid.UUID → *Target; nil = no such endpoint
	// uuid.UUID → *Target with a Peer; nil = no such integration
	integrations sync.Map
}

type scope struct {
	tenant      uuid.UUID
	environment hub.Environment
}

// Connectors gives the connector that speaks to a product; never nil.
type Connectors func(product string) hub.Connector

// New makes an empty directory at version 0: the first [Directory.Refresh] or
// commit brings it up to date.
func New(pool *pgxpool.Pool, secrets Opener, connectors Connectors, log *slog.Logger, now func() time.Time) *Directory {
	d := &Directory{pool: pool, secrets: secrets, connectors: connectors, log: log, now: now}
	d.current.Store(&generation{})
	return d
}

// Version is the configuration version the cache was filled at.
func (d *Directory) Version() int64 { return d.current.Load().version }

// Refresh reads the committed version and drops the cache where it differs.
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

// lastFlush bounds how long the last uses of keys are stored when a process stops.
const lastFlush = 3 * time.Second

// Run refreshes until ctx ends and records when keys were last used.
func (d *Directory) Run(ctx context.Context) {
	poll, flush := time.NewTicker(pollEvery), time.NewTicker(30*time.Second)
	defer poll.Stop()
	defer flush.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
			defer cancel()
			if err := d.flushUsed(last); err != nil {
				d.log.Warn("recording the last use of keys failed; it is lost", "error", err)
			}
			return
		case <-flush.C:
			if err := d.flushUsed(ctx); err != nil && ctx.Err() == nil {
				d.log.Warn("recording the last use of keys failed; trying again", "error", err)
			}
		case <-poll.C:
			err := d.Refresh(ctx)
			if err != nil && !failing && ctx.Err() == nil {
				d.log.Warn("watching the configuration failed; trying again", "error", err)
			}
			failing = err != nil
		}
	}
}

// Key finds the key a caller presented; ErrUnauthorized where there is none that
// is valid now. Keys are found by their SHA-256, so the comparison tells nothing
// about any stored key.
func (d *Directory) Key(ctx context.Context, presented string) (*Key, error) {
	if err := keys.Check(presented); err != nil {
		return nil, err
	}
	return d.find(ctx, keys.Hash(presented))
}

// LookUp implements [keys.Finder] from the cache.
func (d *Directory) LookUp(ctx context.Context, presented string) (keys.Principal, error) {
	key, err := d.Key(ctx, presented)
	if err != nil {
		return keys.Principal{}, err
	}
	return key.Principal, nil
}

// Revalidate finds a key again, as the configuration is now.
func (d *Directory) Revalidate(ctx context.Context, key *Key) (*Key, error) {
	return d.find(ctx, key.hash)
}

func (d *Directory) find(ctx context.Context, hash [sha256.Size]byte) (*Key, error) {
	generation := d.current.Load()
	if found, ok := generation.keys.Load(hash); ok {
		return d.usable(found.(*Key))
	}
	key, err := d.loadKey(ctx, hash)
	if err != nil {
		return nil, err
	}
	if key != nil || generation.unknown.Add(1) <= maxUnknown {
		generation.keys.Store(hash, key)
	}
	return d.usable(key)
}

func (d *Directory) usable(key *Key) (*Key, error) {
	now := d.now()
	if key == nil || key.expiresAt != nil && !now.Before(*key.expiresAt) {
		return nil, keys.Refused()
	}
	if last, ok := d.used.Load(key.KeyID); !ok || now.Sub(last.(time.Time)) > time.Second {
		d.used.Store(key.KeyID, now)
	}
	return key, nil
}

func (d *Directory) loadKey(ctx context.Context, hash [sha256.Size]byte) (*Key, error) {
	row, err := dbgen.New(d.pool).LookUpKey(ctx, hash[:], d.now())
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, store.Failed("looking up a key", err)
	}
	return &Key{Principal: keys.PrincipalOf(row), expiresAt: row.Key.ExpiresAt, hash: hash}, nil
}

// flushUsed stores when keys were last used. What could not be stored is kept for
// the next time.
func (d *Directory) flushUsed(ctx context.Context) error {
	var ids []uuid.UUID
	var times []time.Time
	d.used.Range(func(id, at any) bool {
		ids, times = append(ids, id.(uuid.UUID)), append(times, at.(time.Time))
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
		d.used.CompareAndDelete(id, times[i]) // a use since then stays
	}
	return nil
}
