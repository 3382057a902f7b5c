package keys

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
	"integrationhub/hub/internal/limit"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/module/rest"
)

// maxName is how many characters the name of a key has at most.
const maxName = 120

// MaxValid is how many valid keys a tenant has at most in an environment, besides those of its
// integrations. Each has a rate of its own. As many replaced ones may live on beside them.
const MaxValid = 100

// Overlaps of a rotation: how long the old key stays valid.
const (
	DefaultOverlap = 24 * time.Hour
	MaxOverlap     = 7 * 24 * time.Hour
)

// Service manages the keys of all tenants.
type Service struct {
	db          *pgxpool.Pool
	features    Features
	defaultRate string
	linkRate    limit.Rate
	now         func() time.Time
}

// NewService returns a service. defaultRate is the rate of keys created without one;
// features may be nil if no product has any.
func NewService(db *pgxpool.Pool, features Features, defaultRate string, now func() time.Time) *Service {
	return &Service{db: db, features: features, defaultRate: defaultRate, now: now}
}

// WithLinkRate sets the rate of the keys of links, in requests a minute; 0 = no limit.
func (s *Service) WithLinkRate(perMinute int) *Service {
	s.linkRate = LinkRate(perMinute)
	return s
}

// LinkRate returns a rate of the keys of links; 0 = no limit.
func LinkRate(perMinute int) limit.Rate {
	if perMinute == 0 {
		return limit.Rate{}
	}
	return limit.Rate{Limit: int64(perMinute), Period: time.Minute}
}

// Key describes a stored key, without its plain text.
type Key struct {
	ID          uuid.UUID
	TenantID    uuid.UUID
	Product     string
	Name        string
	Environment hub.Environment
	Prefix      string // "sch_live_"
	Last4       string
	Scopes      []string
	Rate        string // "100-M", "0" = no limit
	CreatedAt   time.Time
	ExpiresAt   *time.Time
	RevokedAt   *time.Time
	ReplacedBy  *uuid.UUID // the key that replaced it in a rotation
	LastUsedAt  *time.Time
	// The integration it is bound to; nil = none.
	IntegrationID *uuid.UUID
}

// Draft describes a new key.
type Draft struct {
	TenantID      uuid.UUID
	Name          string
	Environment   hub.Environment
	Scopes        []string   // nil = every scope, or those of a peer
	ForPeer       bool       // for another product: it may use the features, but not act for the tenant
	ForLink       bool       // for a link of two accounts of this hub: it has the rate of links
	Rate          *string    // nil = the default
	ExpiresAt     *time.Time // nil = never
	IntegrationID *uuid.UUID // the integration of the tenant it is bound to; nil = none
}

// Create stores a new key and returns it with its plain text, which cannot be read
// again. An unknown tenant is a [hub.ErrNotFound]; an invalid scope, rate or expiry is a
// [hub.ErrInvalid], and so is a key above [MaxValid] unless it is of a link.
func (s *Service) Create(ctx context.Context, draft Draft) (key Key, plain string, err error) {
	if draft.ForLink {
		return s.CreateIn(ctx, s.db, draft)
	}
	err = store.InTx(ctx, s.db, func(tx pgx.Tx) (err error) {
		if err = s.checkCount(ctx, dbgen.New(tx), draft.TenantID, draft.Environment, false); err == nil {
			key, plain, err = s.CreateIn(ctx, tx, draft)
		}
		return err
	})
	if err != nil {
		return Key{}, "", store.Wrap("making a key", err)
	}
	return key, plain, nil
}

// checkCount is a [hub.ErrInvalid] if a tenant has [MaxValid] valid keys already, or as many
// replaced ones that live on. No other transaction makes keys of the tenant until this one ends.
func (s *Service) checkCount(ctx context.Context, queries *dbgen.Queries, tenantID uuid.UUID, environment hub.Environment, replaced bool) error {
	if err := queries.LockKeysOf(ctx, tenantID, string(environment)); err != nil {
		return store.Wrap("waiting for other keys of the tenant", err)
	}
	valid, err := queries.CountValidKeys(ctx, dbgen.CountValidKeysParams{TenantID: tenantID, Environment: environment, Replaced: replaced, At: s.now()})
	switch {
	case err != nil:
		return store.Wrap("counting the tenant's keys", err)
	case valid < MaxValid:
		return nil
	case replaced:
		return hub.Errorf(hub.ErrInvalid, "too_many_keys", "%d replaced keys of this tenant are valid until their overlaps end: rotate this one without an overlap, or revoke some of them.", MaxValid)
	}
	return hub.Errorf(hub.ErrInvalid, "too_many_keys", "A tenant can have %d valid keys in an environment: revoke some that are not used.", MaxValid)
}

// CreateIn is [Service.Create] in the caller's transaction.
func (s *Service) CreateIn(ctx context.Context, db dbgen.DBTX, draft Draft) (key Key, plain string, err error) {
	queries := dbgen.New(db)
	tenant, err := queries.TenantByID(ctx, draft.TenantID)
	if errors.Is(err, pgx.ErrNoRows) {
		return key, "", hub.Errorf(hub.ErrNotFound, "tenant_not_found", "There is no tenant with this id.")
	}
	if err != nil {
		return key, "", store.Wrap("loading the tenant", err)
	}
	product, err := queries.ProductByName(ctx, tenant.Product)
	if err != nil {
		return key, "", store.Wrap("loading the product", err)
	}
	if draft.Scopes == nil && draft.ForPeer {
		draft.Scopes = s.features.peerScopes(product.Name)
	}
	scopes, err := s.features.normalize(product.Name, draft.Scopes)
	if err != nil {
		return key, "", err
	}
	rate := s.defaultRate
	if draft.Rate != nil {
		rate = *draft.Rate
	}
	if _, err := limit.ParseRate("body.rate", rate); err != nil {
		return Key{}, "", err
	}
	if draft.ExpiresAt != nil && !draft.ExpiresAt.After(s.now()) {
		return key, "", hub.Invalid("body.expires_at", "must be in the future")
	}
	if draft.Name != "" {
		if err := rest.CheckName(draft.Name, "body.name", maxName); err != nil {
			return key, "", err
		}
	}
	row, plain, err := insert(ctx, queries, dbgen.CreateKeyParams{
		TenantID: tenant.ID, Name: draft.Name, Environment: draft.Environment,
		Scopes: scopes, Rate: rate, ExpiresAt: draft.ExpiresAt, IntegrationID: draft.IntegrationID, Link: draft.ForLink,
	}, product.Prefix)
	if err != nil {
		return key, "", err
	}
	return s.keyOf(row, product.Name), plain, nil
}

// insert generates a key and stores its hash.
func insert(ctx context.Context, queries *dbgen.Queries, row dbgen.CreateKeyParams, productPrefix string) (dbgen.Key, string, error) {
	plain := New(productPrefix, row.Environment)
	hash := Hash(plain)
	row.ID = uuid.Must(uuid.NewV7())
	row.Hash = hash[:]
	row.Prefix = productPrefix + "_" + string(row.Environment) + "_"
	row.Last4 = Last4(plain)
	stored, err := queries.CreateKey(ctx, row)
	if err != nil {
		return stored, "", store.Wrap("storing the key", err)
	}
	return stored, plain, nil
}

// Filter narrows a list of keys; zero fields match everything.
type Filter struct {
	TenantID    *uuid.UUID
	Product     *string
	Environment *string
}

// List returns up to limit keys, newest first, older than the key before.
func (s *Service) List(ctx context.Context, filter Filter, before *uuid.UUID, limit int) ([]Key, error) {
	rows, err := dbgen.New(s.db).ListKeys(ctx, dbgen.ListKeysParams{
		TenantID: filter.TenantID, Product: filter.Product, Environment: filter.Environment,
		Before: before, RowLimit: int32(limit),
	})
	if err != nil {
		return nil, store.Wrap("listing keys", err)
	}
	list := make([]Key, len(rows))
	for i, row := range rows {
		list[i] = s.keyOf(row.Key, row.Product)
	}
	return list, nil
}

// CheckOwner returns a [hub.ErrNotFound] unless a key belongs to a tenant and environment.
func (s *Service) CheckOwner(ctx context.Context, id, tenantID uuid.UUID, environment hub.Environment) error {
	_, err := dbgen.New(s.db).KeyByID(ctx, dbgen.KeyByIDParams{ID: id, TenantID: tenantID, Environment: environment})
	return store.Wrap("loading the key", err)
}

// Revoke ends a key at once. Revoking it again changes nothing; an unknown id is a
// [hub.ErrNotFound]. It returns the tenant.
func (s *Service) Revoke(ctx context.Context, id uuid.UUID) (tenantID uuid.UUID, err error) {
	tenantID, err = dbgen.New(s.db).RevokeKey(ctx, id, s.now())
	return tenantID, store.Wrap("revoking the key", err)
}

// Rotate creates a new key with the same rights. That of a link has the rate it was stored
// with: people know it. The old key stays valid for the
// overlap, but no longer than it would have. A key that is revoked, expired or already
// replaced is a [hub.ErrConflict]; [MaxValid] replaced ones in their overlaps are a
// [hub.ErrInvalid].
func (s *Service) Rotate(ctx context.Context, id uuid.UUID, overlap time.Duration) (key Key, plain string, err error) {
	if overlap < 0 || overlap > MaxOverlap {
		return key, "", hub.Invalid("body.overlap_seconds", "must be from 0 to 604800")
	}
	err = store.InTx(ctx, s.db, func(tx pgx.Tx) error {
		queries := dbgen.New(tx)
		old, err := queries.LockKey(ctx, id)
		if err != nil {
			return store.Wrap("loading the key", err)
		}
		now := s.now()
		if old.RevokedAt != nil || old.ReplacedBy != nil || old.ExpiresAt != nil && !old.ExpiresAt.After(now) {
			return hub.Errorf(hub.ErrConflict, "key_not_active", "This key is revoked, expired or already replaced; make a new one instead.")
		}
		if overlap > 0 && old.IntegrationID == nil && !old.Link {
			if err := s.checkCount(ctx, queries, old.TenantID, old.Environment, true); err != nil {
				return err
			}
		}
		tenant, err := queries.TenantByID(ctx, old.TenantID)
		if err != nil {
			return store.Wrap("loading the tenant", err)
		}
		product, err := queries.ProductByName(ctx, tenant.Product)
		if err != nil {
			return store.Wrap("loading the product", err)
		}
		var replacement dbgen.Key
		replacement, plain, err = insert(ctx, queries, dbgen.CreateKeyParams{
			TenantID: old.TenantID, Name: old.Name, Environment: old.Environment,
			Scopes: old.Scopes, Rate: old.Rate, ExpiresAt: old.ExpiresAt, IntegrationID: old.IntegrationID,
		}, product.Prefix)
		if err != nil {
			return err
		}
		key = s.keyOf(replacement, product.Name)
		err = queries.ExpireReplacedKey(ctx, dbgen.ExpireReplacedKeyParams{ReplacedBy: replacement.ID, Until: now.Add(overlap), ID: old.ID})
		return store.Wrap("ending the old key", err)
	})
	if err != nil {
		return Key{}, "", store.Wrap("rotating the key", err)
	}
	return key, plain, nil
}

func (s *Service) keyOf(row dbgen.Key, product string) Key {
	return Key{
		ID: row.ID, TenantID: row.TenantID, Product: product, Name: row.Name, Environment: row.Environment,
		Prefix: row.Prefix, Last4: row.Last4, Scopes: s.features.expand(product, row.Scopes), Rate: rateOf(row, s.linkRate).String(),
		CreatedAt: row.CreatedAt, ExpiresAt: row.ExpiresAt, RevokedAt: row.RevokedAt,
		ReplacedBy: row.ReplacedBy, LastUsedAt: row.LastUsedAt, IntegrationID: row.IntegrationID,
	}
}

// Principal is the caller that a valid key identifies.
type Principal struct {
	KeyID       uuid.UUID
	TenantID    uuid.UUID
	TenantName  string
	TenantRef   string // the product's own id of the tenant, or ""
	Product     string
	Environment hub.Environment
	Scopes      []string // as stored: ask [Allows]
	Rate        limit.Rate
	Label       string    // "sch_live_…a1B2", for people
	Integration uuid.UUID // that the key is bound to; zero = none
}

// Finder looks up keys. Every key that is not valid is [Refused]; a database that does
// not answer is a [hub.ErrUnavailable].
type Finder interface {
	LookUp(ctx context.Context, plain string) (Principal, error)
}

// LookUp implements [Finder] with one query; a wrong checksum costs none.
func (s *Service) LookUp(ctx context.Context, plain string) (Principal, error) {
	if err := Check(plain); err != nil {
		return Principal{}, err
	}
	hash := Hash(plain)
	row, err := dbgen.New(s.db).KeyWithTenantByHash(ctx, hash[:], s.now())
	if errors.Is(err, pgx.ErrNoRows) {
		return Principal{}, InvalidKeyError()
	}
	if err != nil {
		return Principal{}, store.Wrap("looking up a key", err)
	}
	if row.SuspendedAt != nil {
		return Principal{}, SuspendedError()
	}
	return PrincipalOf(row, s.linkRate), nil
}

// SuspendedError returns the error for callers of a suspended tenant.
func SuspendedError() error {
	return hub.Errorf(hub.ErrForbidden, "tenant_suspended", "This account is suspended. Ask those who run this service.")
}

// rateOf returns the rate of a stored key.
func rateOf(row dbgen.Key, linkRate limit.Rate) limit.Rate {
	if row.Link {
		return linkRate
	}
	rate, _ := limit.ParseRate("rate", row.Rate) // was checked when it was stored
	return rate
}

// PrincipalOf returns the principal of a stored key and its tenant. linkRate is the rate of
// the keys of links.
func PrincipalOf(row dbgen.KeyWithTenantByHashRow, linkRate limit.Rate) Principal {
	principal := Principal{
		KeyID: row.Key.ID, TenantID: row.Key.TenantID, TenantName: row.TenantName, Product: row.Product,
		Environment: row.Key.Environment, Scopes: row.Key.Scopes, Rate: rateOf(row.Key, linkRate), Label: row.Key.Prefix + "…" + row.Key.Last4,
	}
	if row.ExternalRef != nil {
		principal.TenantRef = *row.ExternalRef
	}
	if row.Key.IntegrationID != nil {
		principal.Integration = *row.Key.IntegrationID
	}
	return principal
}
