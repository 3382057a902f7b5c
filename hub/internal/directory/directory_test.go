package directory

import (
	"bytes"
	"context"
	"log/slog"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/internal/seal"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// place is a directory over a database with a tenant.
type place struct {
	t         testing.TB
	pool      *pgxpool.Pool
	box       *seal.Box
	clock     *hubtest.Clock
	keys      *keys.Service
	directory *Directory
	tenant    uuid.UUID
}

func newPlace(t testing.TB) *place {
	t.Helper()
	p := &place{t: t, pool: hubtest.Database(t), clock: hubtest.NewClock(time.Now().UTC().Truncate(time.Second))}
	box, err := seal.New(bytes.Repeat([]byte{7}, seal.KeySize))
	require.NoError(t, err)
	p.box = box
	p.keys = keys.NewService(p.pool, nil, "100-M", p.clock.Now)
	p.directory = New(p.pool, box, func(name string) hub.Connector { return hub.NewPeerConnector(name, name) }, slog.New(slog.DiscardHandler), p.clock.Now)
	registered := registry.New(p.pool)
	_, err = registered.CreateProduct(t.Context(), registry.Product{Name: "shop", Prefix: "shop", Title: "Shop"})
	require.NoError(t, err)
	tenant, err := registered.CreateTenant(t.Context(), "shop", "Tenant", nil)
	require.NoError(t, err)
	p.tenant = tenant.ID
	return p
}

// anyURL allows every URL.
type anyURL struct{}

func (anyURL) CheckURL(_, raw string) (*url.URL, error) { return url.Parse(raw) }

func (p *place) key(expires *time.Time) (keys.Key, string) {
	p.t.Helper()
	key, plain, err := p.keys.Create(p.t.Context(), keys.Draft{TenantID: p.tenant, Environment: hub.Live, ExpiresAt: expires})
	require.NoError(p.t, err)
	return key, plain
}

// use presents a key and reports whether it was good.
func (p *place) use(plain string) bool {
	p.t.Helper()
	_, err := p.directory.Key(p.t.Context(), plain)
	if err != nil {
		require.ErrorIs(p.t, err, hub.ErrUnauthorized)
	}
	return err == nil
}

// lastUsed is what is stored of a key's last use, the zero time for nothing.
func (p *place) lastUsed(key keys.Key) time.Time {
	p.t.Helper()
	var at *time.Time
	require.NoError(p.t, p.pool.QueryRow(p.t.Context(), `select last_used_at from hub.keys where id = $1`, key.ID).Scan(&at))
	if at == nil {
		return time.Time{}
	}
	return at.UTC()
}

func (p *place) version() (version int64) {
	p.t.Helper()
	require.NoError(p.t, p.pool.QueryRow(p.t.Context(), `select version from hub.config_version`).Scan(&version))
	return version
}

func TestLastUseOfKeysIsStored(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	used, plain := p.key(nil)
	unused, _ := p.key(nil)
	before, began := p.version(), p.clock.Now()
	require.True(t, p.use(plain))
	p.clock.Advance(time.Second)
	require.True(t, p.use(plain), "within a second of the last one: not worth noting")
	require.True(t, p.lastUsed(used).IsZero(), "the hot path writes nothing")
	require.NoError(t, p.directory.storeLastUses(t.Context()))
	require.Equal(t, began, p.lastUsed(used))
	require.True(t, p.lastUsed(unused).IsZero())

	later := p.clock.Advance(time.Minute)
	require.True(t, p.use(plain))
	require.NoError(t, p.directory.storeLastUses(t.Context()))
	require.Equal(t, later, p.lastUsed(used))

	// A process whose clock is behind does not turn it back, and no use changes nothing.
	p.clock.Advance(-time.Hour)
	require.True(t, p.use(plain))
	require.NoError(t, p.directory.storeLastUses(t.Context()))
	require.NoError(t, p.directory.storeLastUses(t.Context()))
	require.Equal(t, later, p.lastUsed(used))
	require.Equal(t, before, p.version(), "or every process would drop its cache each time")
}

// What could not be stored is stored later, at the latest when the process stops.
func TestLastUseOfKeysIsStoredLater(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first, plain := p.key(nil)
	second, other := p.key(nil)
	began := p.clock.Now()
	require.True(t, p.use(plain))
	away, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, p.directory.storeLastUses(away))
	require.NoError(t, p.directory.storeLastUses(t.Context()))
	require.Equal(t, began, p.lastUsed(first))

	later := p.clock.Advance(time.Minute)
	require.True(t, p.use(plain))
	require.True(t, p.use(other))
	p.directory.Run(away) // a process that is asked to stop
	require.Equal(t, later, p.lastUsed(first))
	require.Equal(t, later, p.lastUsed(second))
}

func TestKeysEndWithTheirTimeAndWithRevocation(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	expires := p.clock.Now().Add(time.Minute)
	expiring, plain := p.key(&expires)
	revoked, other := p.key(nil)
	require.NoError(t, p.directory.Refresh(t.Context()))
	require.True(t, p.use(plain))
	require.True(t, p.use(other))
	require.NoError(t, p.directory.storeLastUses(t.Context()))
	p.clock.Advance(time.Minute)
	require.False(t, p.use(plain), "from the cache as well")
	_, err := p.keys.Revoke(t.Context(), revoked.ID)
	require.NoError(t, err)
	require.NoError(t, p.directory.Refresh(t.Context()))
	require.False(t, p.use(other))
	require.NoError(t, p.directory.storeLastUses(t.Context()))
	for _, key := range []keys.Key{expiring, revoked} {
		require.Equal(t, expires.Add(-time.Minute), p.lastUsed(key), "what was refused was no use")
	}
	require.False(t, p.use(keys.New("shop", hub.Live)), "a key nobody made")
	require.False(t, p.use("garbage"))
}

// A key whose checksum is wrong is refused without a question to the database.
func TestBadChecksumMakesNoQuery(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	_, plain := p.key(nil)
	require.True(t, p.use(plain))
	asked := p.pool.Stat().AcquireCount()
	for _, wrong := range []string{"", "x", plain[:len(plain)-1], plain + "0", plain[:12] + "!" + plain[13:], flipped(plain, 20), flipped(plain, len(plain)-1)} {
		require.False(t, p.use(wrong), wrong)
	}
	require.Equal(t, asked, p.pool.Stat().AcquireCount())
	require.False(t, p.use(keys.New("shop", hub.Live)))
	require.Greater(t, p.pool.Stat().AcquireCount(), asked, "one that could be good is looked up")
}

// flipped is a text with another letter at a place.
func flipped(text string, at int) string {
	letter := "a"
	if text[at] == 'a' {
		letter = "b"
	}
	return text[:at] + letter + text[at+1:]
}
