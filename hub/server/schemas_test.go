package server_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/config"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/notes"
	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/seal"
	"integrationhub/hub/module"
	"integrationhub/hub/server"
)

// The products that run here have schemas of their own, which are migrated and
// examined with the hub's.
func TestSchemasOfProducts(t *testing.T) {
	t.Parallel()
	modules := []module.Module{notes.New("notes"), notes.New("board"), notes.New("pad-s")}
	database := hubtest.EmptyDatabaseURL(t)
	cfg := place{database: database, redis: hubtest.RedisURL(t)}.settings(t, func(cfg *config.Config) { cfg.Products = "notes,pad-s" })
	before, err := server.Schemas(t.Context(), cfg, database, modules)
	require.NoError(t, err)
	require.Equal(t, []string{"hub", "notes", "pad-s"}, []string{before[0].Name, before[1].Name, before[2].Name}, "one is switched off")
	for _, schema := range before {
		require.Zero(t, schema.Current)
		require.Positive(t, schema.Target)
	}
	applied, err := server.Migrate(t.Context(), cfg, modules)
	require.NoError(t, err)
	require.Equal(t, []string{"notes/00001_notes.sql", "pad-s/00001_notes.sql"}, applied[len(applied)-2:])
	again, err := server.Migrate(t.Context(), cfg, modules)
	require.NoError(t, err)
	require.Empty(t, again)
	after, err := server.Schemas(t.Context(), cfg, database, modules)
	require.NoError(t, err)
	for _, schema := range after {
		require.Equal(t, schema.Target, schema.Current, schema.Name)
	}

	examined := func() (found []server.Finding) {
		server.Doctor(t.Context(), cfg, modules, false, func(f server.Finding) {
			if f.Check == "migrations" {
				found = append(found, f)
			}
		})
		return found
	}
	require.Equal(t, server.Finding{Check: "migrations", Status: "ok", Detail: "the schema of notes is at version 1"}, examined()[1])
	p := placeAt(t, database, cfg.RedisURL.Reveal())
	_, err = p.pool.Exec(context.Background(), `delete from notes.schema_version where version_id = 1`)
	require.NoError(t, err)
	require.Equal(t, server.Finding{Check: "migrations", Status: "failed", Detail: "the schema of notes is at version 0, this hub needs 1", Advice: "run: hub migrate"}, examined()[1])
	_, err = p.pool.Exec(context.Background(), `insert into notes.schema_version (version_id, is_applied) values (7, true)`)
	require.NoError(t, err)
	require.Equal(t, "the schema of notes is at version 7, newer than this hub's 1", examined()[1].Detail)
	// What is refused has changed nothing before: the hub's own migration is still missing.
	_, err = p.pool.Exec(context.Background(), `delete from hub.schema_version where version_id = (select max(version_id) from hub.schema_version)`)
	require.NoError(t, err)
	_, err = server.Migrate(t.Context(), cfg, modules)
	require.ErrorContains(t, err, "the schema notes is at version 7, this binary knows 1: run a newer hub")
	for _, isWorker := range []bool{false, true} {
		_, err = server.Start(t.Context(), server.Options{Config: cfg, Version: "test", Log: slog.New(slog.DiscardHandler), Modules: modules, Worker: isWorker})
		require.ErrorContains(t, err, "the schema notes is at version 7, this binary knows 1: run a newer hub")
	}
	unchanged, err := server.Schemas(t.Context(), cfg, database, modules)
	require.NoError(t, err)
	require.Less(t, unchanged[0].Current, unchanged[0].Target)
}

// A master key that does not open the integrations' secrets is noticed at the start,
// also where there are no endpoints.
func TestMasterKeyOfIntegrations(t *testing.T) {
	t.Parallel()
	other := config.Secret(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{8}, 32)))
	box, err := seal.New(bytes.Repeat([]byte{7}, 32)) // masterKey
	require.NoError(t, err)
	for column, context := range map[string]func(uuid.UUID) string{
		"secret": integration.SecretContext, "remote_key": integration.RemoteKeyContext,
	} {
		p := newPlace(t)
		id, tenant := uuid.New(), uuid.New()
		for _, statement := range []string{
			`insert into hub.products (name, prefix, title) values ('notes', 'not', 'N')`,
			`insert into hub.tenants (id, product, name) values ('` + tenant.String() + `', 'notes', 'T')`,
			`insert into hub.integrations (id, tenant_id, environment, product, status, webhook_url) values ('` + id.String() + `', '` + tenant.String() + `', 'live', 'crm', 'error', 'http://127.0.0.1/')`,
		} {
			_, err := p.pool.Exec(t.Context(), statement)
			require.NoError(t, err)
		}
		start := func(key config.Secret) error {
			s, err := server.Start(t.Context(), server.Options{
				Config:  p.settings(t, func(cfg *config.Config) { cfg.MasterKey, cfg.ShutdownGrace = key, time.Second }),
				Version: "test", Log: slog.New(slog.DiscardHandler),
			})
			if err == nil {
				s.Stop()
			}
			return err
		}
		require.NoError(t, start(other), "nothing is encrypted yet")
		_, err := p.pool.Exec(t.Context(), `update hub.integrations set `+column+` = $1`, box.Seal([]byte("whsec_x"), context(id)))
		require.NoError(t, err)
		err = start(other)
		require.ErrorIs(t, err, server.ErrSetting, column)
		require.ErrorContains(t, err, "HUB_MASTER_KEY")
		require.NoError(t, start(config.Secret(masterKey)), column)
	}
}

// A limit that a product has not is said at once, instead of limiting nothing.
func TestLimitsThatNoProductHas(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	_, err := server.Start(t.Context(), server.Options{
		Config:  p.settings(t, func(cfg *config.Config) { cfg.ProductLimits = config.Assignments{"notes.public-raeds": "1-M"} }),
		Version: "test", Log: slog.New(slog.DiscardHandler), Modules: []module.Module{notes.New("notes")},
	})
	require.ErrorIs(t, err, server.ErrSetting)
	require.ErrorContains(t, err, `HUB_PRODUCT_LIMITS sets "public-raeds"`)
}
