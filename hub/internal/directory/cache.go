package directory

import (
	"crypto/sha256"
	"sync"

	"github.com/google/uuid"

	"integrationhub/hub"
)

// Bounds of the cache. Beyond them it is emptied: what is in use is loaded again.
const (
	maxUnknown = 10_000  // keys and targets that do not exist
	maxCached  = 500_000 // keys and targets
)

// tenantScope is a tenant in one environment.
type tenantScope struct {
	tenant      uuid.UUID
	environment hub.Environment
}

// cache holds what was loaded, by tenant, so that a change of one tenant drops only what is
// that tenant's.
type cache struct {
	mu       sync.RWMutex
	snapshot string // what was loaded is as new as this, as PostgreSQL writes a snapshot
	drops    uint64 // counts drops: what was being loaded meanwhile may be old
	tenants  map[uuid.UUID]*cachedTenant
	keys     map[[sha256.Size]byte]*Key
	targets  map[uuid.UUID]*Target
	// By product, of those whose events are checked.
	validations map[string]*Validation
	suspended   map[uuid.UUID]bool // tenants; replaced at each refresh, never changed
	// What does not exist is not any tenant's: it is forgotten at each refresh.
	unknownKeys    map[[sha256.Size]byte]struct{}
	unknownTargets map[targetKey]struct{}
}

// targetKey is an endpoint or an integration that was looked for.
type targetKey struct {
	id     uuid.UUID
	isPeer bool
}

// cachedTenant names everything in the cache that is one tenant's.
type cachedTenant struct {
	product     string
	subscribers map[hub.Environment][]*Target // those that collect events now
	keys        [][sha256.Size]byte
	targets     []uuid.UUID
}

// firstSnapshot is older than every change.
const firstSnapshot = "1:1:"

func newCache() *cache {
	c := &cache{snapshot: firstSnapshot}
	c.empty()
	return c
}

// empty drops everything. The caller holds mu, or has the only reference to the cache.
func (c *cache) empty() {
	c.drops++
	c.tenants, c.keys, c.targets = make(map[uuid.UUID]*cachedTenant), make(map[[sha256.Size]byte]*Key), make(map[uuid.UUID]*Target)
	c.validations = make(map[string]*Validation)
	c.forgetUnknown()
}

func (c *cache) forgetUnknown() {
	c.unknownKeys, c.unknownTargets = make(map[[sha256.Size]byte]struct{}), make(map[targetKey]struct{})
}

// apply drops what changed and marks the rest as new as the changes' snapshot.
func (c *cache) apply(changes Changes) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.snapshot, c.suspended = changes.Snapshot, changes.suspended
	if changes.all {
		c.empty()
		return
	}
	if len(c.unknownKeys)+len(c.unknownTargets) > 0 {
		c.forgetUnknown()
	}
	if len(changes.tenants)+len(changes.products) == 0 {
		return
	}
	c.drops++
	for id := range changes.tenants {
		c.dropTenant(id)
	}
	for product := range changes.products {
		delete(c.validations, product)
	}
	if len(changes.products) > 0 {
		for id, tenant := range c.tenants {
			if changes.products[tenant.product] {
				c.dropTenant(id)
			}
		}
	}
}

// dropTenant drops what is one tenant's. The caller holds mu.
func (c *cache) dropTenant(id uuid.UUID) {
	tenant := c.tenants[id]
	if tenant == nil {
		return
	}
	for _, hash := range tenant.keys {
		delete(c.keys, hash)
	}
	for _, target := range tenant.targets {
		delete(c.targets, target)
	}
	delete(c.tenants, id)
}

// tenant returns the entry of a tenant, a new one if there is none. The caller holds mu.
func (c *cache) tenant(id uuid.UUID, product string) *cachedTenant {
	tenant := c.tenants[id]
	if tenant == nil {
		tenant = &cachedTenant{product: product, subscribers: make(map[hub.Environment][]*Target, 1)}
		c.tenants[id] = tenant
	}
	return tenant
}

// beginLoad returns what [cache.store] takes.
func (c *cache) beginLoad() (drops uint64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.drops
}

// store calls put, which adds what was loaded since beginLoad, unless something was dropped
// meanwhile: then it may be old, and is loaded again when it is needed again.
func (c *cache) store(drops uint64, put func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.drops != drops {
		return
	}
	if len(c.keys)+len(c.targets) > maxCached {
		c.empty()
	}
	put()
}

// putKey adds a key. The caller holds mu.
func (c *cache) putKey(key *Key) {
	if _, ok := c.keys[key.hash]; ok {
		return
	}
	c.keys[key.hash] = key
	tenant := c.tenant(key.TenantID, key.Product)
	tenant.keys = append(tenant.keys, key.hash)
}

// putTarget adds a target. The caller holds mu.
func (c *cache) putTarget(target *Target) {
	if _, ok := c.targets[target.ID]; ok {
		return
	}
	c.targets[target.ID] = target
	tenant := c.tenant(target.TenantID, target.product)
	tenant.targets = append(tenant.targets, target.ID)
}

// putSubscribers adds all targets of tenants that collect events. The caller holds mu.
func (c *cache) putSubscribers(loaded map[tenantScope]*loadedScope) {
	for scope, subscribers := range loaded {
		for i, target := range subscribers.targets {
			c.putTarget(target)
			subscribers.targets[i] = c.targets[target.ID] // each is kept once, with its keyed hashes
		}
		c.tenant(scope.tenant, subscribers.product).subscribers[scope.environment] = subscribers.targets
	}
}

// findKey returns a key; isCached reports whether the cache knows if it exists. A key that does
// not exist is nil.
func (c *cache) findKey(hash [sha256.Size]byte) (key *Key, isCached bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if key = c.keys[hash]; key != nil {
		return key, true
	}
	_, isCached = c.unknownKeys[hash]
	return nil, isCached
}

// findTarget is findKey for targets.
func (c *cache) findTarget(key targetKey) (target *Target, isCached bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if target = c.targets[key.id]; target != nil && (target.Peer != nil) == key.isPeer {
		return target, true
	}
	_, isCached = c.unknownTargets[key]
	return nil, isCached
}

func (c *cache) findSubscribers(scope tenantScope) (targets []*Target, isCached bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	tenant := c.tenants[scope.tenant]
	if tenant == nil {
		return nil, false
	}
	targets, isCached = tenant.subscribers[scope.environment]
	return targets, isCached
}

// putUnknown notes that something does not exist. The caller holds mu.
func putUnknown[K comparable](unknown map[K]struct{}, id K) {
	if len(unknown) < maxUnknown {
		unknown[id] = struct{}{}
	}
}

// Changes is what changed of the configuration since a snapshot.
type Changes struct {
	Snapshot  string             // that sees all of them
	all       bool               // too much time went by to know what changed
	suspended map[uuid.UUID]bool // all tenants that are suspended now
	tenants   map[uuid.UUID]bool
	products  map[string]bool
}

// Concern reports whether something of a tenant, or of its product, changed.
func (c Changes) Concern(tenant uuid.UUID, product string) bool {
	return c.all || c.tenants[tenant] || c.products[product]
}

// setOf returns the set of a list's elements.
func setOf[T comparable](list []T) map[T]bool {
	set := make(map[T]bool, len(list))
	for _, element := range list {
		set[element] = true
	}
	return set
}
