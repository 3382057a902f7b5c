package directory

import (
	"context"
	"crypto/sha256"
	"slices"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/module"
)

// Publisher is whose events are published: a tenant in an environment and, unless it is the
// hub itself, its key.
type Publisher struct {
	Key         *Key // may be nil
	TenantID    uuid.UUID
	Environment hub.Environment
}

// Preload loads what [Directory.Revalidate] and [Directory.Subscribers] need of publishers
// and what the cache lacks, each kind in one query.
func (d *Directory) Preload(ctx context.Context, publishers []Publisher) error {
	var hashes [][sha256.Size]byte
	var scopes []tenantScope
	seenHashes, seenScopes := make(map[[sha256.Size]byte]bool), make(map[tenantScope]bool)
	for _, publisher := range publishers {
		scope := tenantScope{publisher.TenantID, publisher.Environment}
		if !seenScopes[scope] {
			seenScopes[scope] = true
			if _, isCached := d.cache.findSubscribers(scope); !isCached {
				scopes = append(scopes, scope)
			}
		}
		if publisher.Key == nil || seenHashes[publisher.Key.hash] {
			continue
		}
		seenHashes[publisher.Key.hash] = true
		if _, isCached := d.cache.findKey(publisher.Key.hash); !isCached {
			hashes = append(hashes, publisher.Key.hash)
		}
	}
	if len(hashes) > 0 {
		if _, err := d.loadKeys(ctx, hashes); err != nil {
			return err
		}
	}
	if len(scopes) == 0 {
		return nil
	}
	_, err := d.loadSubscribers(ctx, scopes)
	return err
}

// CachedTargets returns how many targets of a tenant collect events, 0 if the cache does not
// know.
func (d *Directory) CachedTargets(tenant uuid.UUID, environment hub.Environment) int {
	targets, _ := d.cache.findSubscribers(tenantScope{tenant, environment})
	return len(targets)
}

// HasCachedFilters reports whether an endpoint of a tenant has a filter, as far as the cache
// knows.
func (d *Directory) HasCachedFilters(tenant uuid.UUID, environment hub.Environment) bool {
	targets, _ := d.cache.findSubscribers(tenantScope{tenant, environment})
	return slices.ContainsFunc(targets, func(target *Target) bool { return target.Filter != nil })
}

// Subscribers returns a tenant's targets that subscribed to an event type: its endpoints,
// and its integrations that accept the type (see [integration.Peer.Accepts]), as far as they
// are in the audience. Those that are not in use collect deliveries, until they are
// abandoned. Their filters are not applied: they need the event.
func (d *Directory) Subscribers(ctx context.Context, tenant uuid.UUID, environment hub.Environment, eventType string, audience module.Audience) ([]*Target, error) {
	scope := tenantScope{tenant, environment}
	targets, isCached := d.cache.findSubscribers(scope)
	if !isCached {
		loaded, err := d.loadSubscribers(ctx, []tenantScope{scope})
		if err != nil {
			return nil, err
		}
		targets = loaded[scope].targets
	}
	subscribers := make([]*Target, 0, len(targets))
	for _, target := range targets {
		if target.receives(eventType, audience) {
			subscribers = append(subscribers, target)
		}
	}
	return subscribers, nil
}

// receives reports whether the target is in an audience and subscribed to an event type.
func (t *Target) receives(eventType string, audience module.Audience) bool {
	if audience.Receivers == module.NoReceivers {
		return false
	}
	if t.Peer == nil {
		topic := eventType
		if audience.Topic != "" {
			topic = audience.Topic
		}
		return audience.Receivers != module.IntegrationsOnly && t.IsSubscribed(topic)
	}
	if audience.Integrations != nil && !slices.Contains(audience.Integrations, t.ID) {
		return false
	}
	return audience.Receivers != module.EndpointsOnly && t.IsSubscribed(eventType) && t.Peer.Accepts(eventType)
}

// loadedScope is the targets of a tenant in an environment that collect events.
type loadedScope struct {
	product string
	targets []*Target
}

// loadSubscribers loads the targets of scopes that collect events into the cache.
func (d *Directory) loadSubscribers(ctx context.Context, scopes []tenantScope) (map[tenantScope]*loadedScope, error) {
	drops := d.cache.beginLoad()
	tenants, environments := make([]uuid.UUID, len(scopes)), make([]string, len(scopes))
	loaded := make(map[tenantScope]*loadedScope, len(scopes))
	for i, scope := range scopes {
		tenants[i], environments[i] = scope.tenant, string(scope.environment)
		loaded[scope] = &loadedScope{}
	}
	products, err := dbgen.New(d.pool).ProductsOfTenants(ctx, tenants)
	if err != nil {
		return nil, store.Wrap("loading the products of tenants", err)
	}
	productOf := make(map[uuid.UUID]string, len(products))
	for _, row := range products {
		productOf[row.ID] = row.Product
	}
	for scope, subscribers := range loaded {
		subscribers.product = productOf[scope.tenant]
	}
	endpoints, err := d.loadEndpoints(ctx, `unnest($1::uuid[], $2::text[]) wanted (tenant_id, environment)
		join hub.endpoints e using (tenant_id, environment) where e.deleted_at is null and e.abandoned_at is null`, tenants, environments)
	if err != nil {
		return nil, err
	}
	peers, err := d.loadSubscribedPeers(ctx, tenants, environments)
	if err != nil {
		return nil, err
	}
	for _, target := range append(endpoints, peers...) {
		subscribers := loaded[tenantScope{target.TenantID, target.Environment}]
		subscribers.targets = append(subscribers.targets, target)
	}
	d.cache.store(drops, func() { d.cache.putSubscribers(loaded) })
	return loaded, nil
}

// loadSubscribedPeers loads the peers that events of tenants are delivered to or parked for.
func (d *Directory) loadSubscribedPeers(ctx context.Context, tenants []uuid.UUID, environments []string) ([]*Target, error) {
	listed, err := integration.NewRepository(d.pool).OfTenants(ctx, tenants, environments)
	if err != nil {
		return nil, err
	}
	var targets []*Target
	for _, i := range listed {
		if !i.HasSubscriptions() {
			continue
		}
		target, err := d.newPeerTarget(i.Integration, i.Tenant)
		if err != nil {
			return nil, err
		}
		targets = append(targets, target)
	}
	return targets, nil
}
