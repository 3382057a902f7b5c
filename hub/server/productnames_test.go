package server_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/config"
	"integrationhub/hub/hubtest/notes"
	"integrationhub/hub/module"
	"integrationhub/hub/server"
)

// startWithModules starts a hub that can host notes (prefix not) and board.
func (p place) startWithModules(t *testing.T, products string) (*server.Server, config.Config, error) {
	t.Helper()
	cfg := p.settings(t, func(cfg *config.Config) { cfg.Products = products })
	s, err := server.Start(t.Context(), server.Options{Config: cfg, Version: "test", Log: slog.New(slog.DiscardHandler), Modules: hostable()})
	return s, cfg, err
}

func hostable() []module.Module { return []module.Module{notes.New("notes"), notes.New("board")} }

// "an external product can be called hub; an external scheduling turns hosted when that
// module is switched on: reserved names, and a start that refuses a clash with advice"
func TestExternalProductsNeverTurnHosted(t *testing.T) {
	t.Parallel()
	p, ctx := newPlace(t), context.Background()
	prefix := notes.New("notes").Spec().KeyPrefix
	n := p.start(t, nil) // an earlier version, which hosted neither
	n.ok(201, "POST", "/products", `{"name":"notes","prefix":"`+prefix+`"}`)
	tenant := n.ok(201, "POST", "/tenants", `{"product":"notes","name":"Tenant"}`)["id"].(string)
	key := n.ok(201, "POST", "/keys", `{"tenant_id":"`+tenant+`","rate":"0"}`)["api_key"].(string)
	endpoint := n.ok(201, "POST", "/endpoints", `{"tenant_id":"`+tenant+`","url":"http://127.0.0.1:9/","event_types":["*"]}`)["id"].(string)
	hook := newHook(t, nil)
	alert := n.alert(hook, `"events":["hub.*"],"product":"notes"`)
	n.stop()
	// Its database may be from before any column that came later.
	_, err := p.pool.Exec(ctx, `alter table hub.products rename validation to later`)
	require.NoError(t, err)

	_, cfg, err := p.startWithModules(t, "all")
	require.ErrorIs(t, err, server.ErrSetting)
	require.ErrorContains(t, err, "hub products rename notes NEW-NAME --prefix NEW-PREFIX")
	require.ErrorContains(t, err, "HUB_PRODUCTS=board")
	var isHosted bool
	require.NoError(t, p.pool.QueryRow(ctx, `select hosted from hub.products where name = 'notes'`).Scan(&isHosted))
	require.False(t, isHosted)
	withoutKey := p.settings(t, func(cfg *config.Config) { cfg.Products, cfg.MasterKey = "all", "" })
	_, err = server.Start(t.Context(), server.Options{Config: withoutKey, Version: "test", Log: slog.New(slog.DiscardHandler), Modules: hostable()})
	require.ErrorIs(t, err, server.ErrSetting)
	require.NoFileExists(t, filepath.Join(withoutKey.DataDir, "master.key"), "a key that opens nothing")
	_, err = p.pool.Exec(ctx, `alter table hub.products rename later to validation`)
	require.NoError(t, err)

	s, _, err := p.startWithModules(t, "board")
	require.NoError(t, err, "what does not run here does not clash")
	s.Stop()

	options := server.Options{Config: cfg, Log: slog.New(slog.DiscardHandler), Modules: hostable()}
	_, err = server.RenameProduct(ctx, options, "notes", "papers", "")
	require.ErrorContains(t, err, "key prefix "+prefix, "its prefix would clash next")
	for _, reserved := range []string{"hub", "board"} {
		_, err = server.RenameProduct(ctx, options, "notes", reserved, "pap")
		require.ErrorContains(t, err, "The name "+reserved)
	}
	_, err = server.RenameProduct(ctx, options, "notes", "papers", "hubt")
	require.ErrorContains(t, err, "key prefix hubt is the hub's own")
	_, err = server.RenameProduct(ctx, options, "board", "papers", "pap")
	require.ErrorContains(t, err, "hosted here")
	renamed, err := server.RenameProduct(ctx, options, "notes", "papers", "pap")
	require.NoError(t, err)
	require.Equal(t, "papers", renamed.Name)
	var audited int
	require.NoError(t, p.pool.QueryRow(ctx, `select count(*) from hub.audit where action = 'products.rename' and resource_id = 'papers'`).Scan(&audited))
	require.Equal(t, 1, audited)

	s, cfg, err = p.startWithModules(t, "all")
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	n.url = s.URL()
	local, err := config.ReadLocal(cfg.DataDir)
	require.NoError(t, err)
	n.token = local.Token
	require.Equal(t, "papers", n.ok(200, "GET", "/tenants/"+tenant, "")["product"])
	require.EqualValues(t, 1, n.ok(202, "POST", "/events", `{"event_type":"a.b","data":{}}`, key)["deliveries"], "its keys and endpoints work")
	n.ok(200, "GET", "/endpoints/"+endpoint, "")
	require.Equal(t, "papers", n.ok(200, "GET", "/alerts/"+alert, "")["product"])
	n.ok(200, "PUT", "/alerts/"+alert, `{"target":"`+hook.url+`","events":["hub.endpoint.*"],"product":"papers"}`)
	p.signal(t, tenant, 1)
	waitType(t, hook, "hub.endpoint.disabled", 1)
	require.Regexp(t, `^pap_live_`, n.ok(201, "POST", "/keys", `{"tenant_id":"`+tenant+`"}`)["api_key"])
}

// The names of all products that this binary can host are reserved, also of those that
// HUB_PRODUCTS leaves out; so are their prefixes, the name hub and types of the hub's own.
func TestReservedNames(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s, cfg, err := p.startWithModules(t, "none")
	require.NoError(t, err)
	local, err := config.ReadLocal(cfg.DataDir)
	require.NoError(t, err)
	n := p.nodeAt(t, s.URL(), local.Token)
	prefix := notes.New("notes").Spec().KeyPrefix
	for _, name := range []string{"hub", "notes", "board"} {
		n.refused(409, "name_reserved", "POST", "/products", n.token, `{"name":"`+name+`","prefix":"some"}`)
	}
	n.refused(409, "prefix_reserved", "POST", "/products", n.token, `{"name":"papers","prefix":"`+prefix+`"}`)
	a := n.account()
	for _, eventType := range []string{"hub.ping", "hub.endpoint.failing", "hub.x"} {
		event := `{"event_type":"` + eventType + `","data":{}}`
		n.refused(422, "validation_failed", "POST", "/events", a.live, event)
		got := n.refused(422, "validation_failed", "POST", "/events/batch", a.live, `{"events":[{"event_type":"a.b","data":{}},`+event+`]}`)
		require.Contains(t, got.text, "body.events[1].event_type")
	}
	for _, eventType := range []string{"hub", "hubs.ping", "a.hub.ping"} {
		n.ok(202, "POST", "/events", `{"event_type":"`+eventType+`","data":{}}`, a.live)
	}
	s.Stop()

	// One from before names were reserved.
	_, err = p.pool.Exec(t.Context(), `insert into hub.products (name, prefix, title) values ('hub', 'old', 'Old')`)
	require.NoError(t, err)
	_, _, err = p.startWithModules(t, "none")
	require.ErrorIs(t, err, server.ErrSetting)
	require.ErrorContains(t, err, "hub products rename hub NEW-NAME")
	_, err = p.pool.Exec(t.Context(), `update hub.products set name = 'papers', prefix = $1 where name = 'hub'`, prefix)
	require.NoError(t, err)
	_, _, err = p.startWithModules(t, "all")
	require.ErrorContains(t, err, "hub products rename papers --prefix NEW-PREFIX")
}
