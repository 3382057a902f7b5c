// Package directory is a process's cache of the configuration that the hot path needs: API
// keys, endpoints and integrations. Publishing never uses stale configuration: every group
// commit checks that none of its tenants changed since (see [AssertUnchangedSQL]).
package directory

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
	"integrationhub/hub/internal/filter"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
)

// Key is a cached API key.
type Key struct {
	keys.Principal
	Validation *Validation // of the product's events; nil = none
	expiresAt  *time.Time  // nil = never
	hash       [sha256.Size]byte
}

// Opener decrypts what is sealed at rest.
type Opener interface {
	Open(sealed []byte, context string) ([]byte, error)
}

// pollInterval is how often the committed version is read. A revocation thus reaches every
// process well within a second, also without traffic.
const pollInterval = 300 * time.Millisecond

// Directory is safe for concurrent use.
type Directory struct {
	pool       *pgxpool.Pool
	secrets    Opener
	connectors Connectors
	log        *slog.Logger
	now        func() time.Time
	linkRate   int // of the keys of links, requests a minute; 0 = no limit
	cache      *cache
	filters    filter.Cache
	lastUses   sync.Map // key id → time.Time, stored by Run
}

// Connectors returns the connector for a peer product, never nil.
type Connectors func(product string) hub.Connector

// New returns an empty directory. The first [Directory.Refresh] or commit brings it up to
// date.
func New(pool *pgxpool.Pool, secrets Opener, connectors Connectors, log *slog.Logger, now func() time.Time) *Directory {
	return &Directory{pool: pool, secrets: secrets, connectors: connectors, log: log, now: now, cache: newCache()}
}

// WithLinkRate sets the rate of links within this hub, in requests a minute: that of their
// keys, and just below it the pace of their deliveries. 0 = no limit.
func (d *Directory) WithLinkRate(perMinute int) *Directory {
	d.linkRate = perMinute
	return d
}

// shutdownFlushTimeout bounds storing the last uses of keys when the process stops.
const shutdownFlushTimeout = 3 * time.Second

// flushInterval is how often last uses are stored, and old changes deleted: those of more
// than keptFlushes intervals ago. A process that slept longer reads everything again.
const (
	flushInterval = 30 * time.Second
	keptFlushes   = 10
)

// Run refreshes the cache, stores when keys were last used and deletes old changes, until
// ctx ends.
func (d *Directory) Run(ctx context.Context) {
	poll, flush := time.NewTicker(pollInterval), time.NewTicker(flushInterval)
	defer poll.Stop()
	defer flush.Stop()
	var snapshots []string           // of the last flushes
	isFailing := d.watch(ctx, false) // who is suspended is known at once
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
			snapshots = append(snapshots, d.Snapshot())
			if len(snapshots) > keptFlushes {
				if err := d.deleteChangesBefore(ctx, snapshots[0]); err != nil && ctx.Err() == nil {
					d.log.Warn("deleting old changes of the configuration failed; trying again", "error", err)
				}
				snapshots = snapshots[1:]
			}
		case <-poll.C:
			isFailing = d.watch(ctx, isFailing)
		}
	}
}

// watch refreshes the cache, and reports whether that failed. The first of several failures is
// logged.
func (d *Directory) watch(ctx context.Context, wasFailing bool) (isFailing bool) {
	err := d.Refresh(ctx)
	if err != nil && !wasFailing && ctx.Err() == nil {
		d.log.Warn("watching the configuration failed; trying again", "error", err)
	}
	return err != nil
}

// Key returns the key that a caller presented. A key that is unknown or not valid now is
// a [hub.ErrUnauthorized], one of a suspended tenant a [hub.ErrForbidden]. Keys are looked up by SHA-256, so timing reveals nothing about
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
	key, isCached := d.cache.findKey(hash)
	if !isCached {
		loaded, err := d.loadKeys(ctx, [][sha256.Size]byte{hash})
		if err != nil {
			return nil, err
		}
		key = loaded[hash]
	}
	return d.checkUsable(key)
}

// checkUsable returns a key that is known and not expired, and notes its use.
func (d *Directory) checkUsable(key *Key) (*Key, error) {
	now := d.now()
	if key == nil || key.expiresAt != nil && !now.Before(*key.expiresAt) {
		return nil, keys.InvalidKeyError()
	}
	if err := d.CheckActive(key.TenantID); err != nil {
		return nil, err
	}
	if lastUse, ok := d.lastUses.Load(key.KeyID); !ok || now.Sub(lastUse.(time.Time)) > time.Second {
		d.lastUses.Store(key.KeyID, now)
	}
	return key, nil
}

// loadKeys loads keys into the cache and returns those that exist and are valid now.
func (d *Directory) loadKeys(ctx context.Context, hashes [][sha256.Size]byte) (map[[sha256.Size]byte]*Key, error) {
	drops, keyHashes := d.cache.beginLoad(), make([][]byte, len(hashes))
	for i := range hashes {
		keyHashes[i] = hashes[i][:]
	}
	rows, err := dbgen.New(d.pool).KeysWithTenantByHash(ctx, keyHashes, d.now())
	if err != nil {
		return nil, store.Wrap("looking up keys", err)
	}
	loaded := make(map[[sha256.Size]byte]*Key, len(rows))
	for _, row := range rows {
		hash := [sha256.Size]byte(row.Key.Hash)
		validation, err := d.validationOf(ctx, row.Product, row.Validation)
		if err != nil {
			return nil, err
		}
		loaded[hash] = &Key{Validation: validation, Principal: keys.PrincipalOf(dbgen.KeyWithTenantByHashRow(row), keys.LinkRate(d.linkRate)), expiresAt: row.Key.ExpiresAt, hash: hash}
	}
	d.cache.store(drops, func() {
		for _, hash := range hashes {
			if key := loaded[hash]; key != nil {
				d.cache.putKey(key)
			} else {
				putUnknown(d.cache.unknownKeys, hash)
			}
		}
	})
	return loaded, nil
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
