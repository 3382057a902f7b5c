package api_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/keys"
)

func TestKeyIsShownOnce(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	made := b.ok(201, "POST", "/keys", b.admin, `{"tenant_id":"`+b.tenant[0].String()+`","name":"server"}`)
	plain := made["api_key"].(string)
	require.Regexp(t, `^shop_live_[0-9A-Za-z]{36}$`, plain)
	require.NoError(t, keys.Check(plain))
	require.Equal(t, "shop_live_", made["prefix"])
	require.Equal(t, plain[len(plain)-4:], made["last4"])
	require.Equal(t, "live", made["environment"])
	require.Equal(t, "100-M", made["rate"])
	require.Equal(t, []any{"events.publish", "endpoints.manage", "interaction.write", "patient.search"}, made["scopes"])
	require.Nil(t, made["expires_at"])

	list := b.call("GET", "/keys?tenant_id="+b.tenant[0].String(), b.support, "")
	require.Equal(t, 200, list.status)
	require.NotContains(t, list.text, plain)
	require.Len(t, items(list.body), 3)
	require.NotContains(t, items(list.body)[0], "api_key")
	var dump string
	require.NoError(t, b.db.QueryRow(context.Background(), `select string_agg(k::text, ' ') from hub.keys k`).Scan(&dump))
	require.NotContains(t, dump, plain)
	hash := keys.Hash(plain)
	require.Contains(t, dump, hex.EncodeToString(hash[:]))
	require.NotContains(t, b.log.String(), plain)
}

func TestKeyRules(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	create := func(fields string) string { return `{"tenant_id":"` + b.tenant[0].String() + `",` + fields + `}` }
	made := b.ok(201, "POST", "/keys", b.admin, create(`"scopes":["events.publish","events.publish","patient.search"],"rate":"0","environment":"test","expires_at":"2999-01-01T00:00:00Z"`))
	require.Equal(t, []any{"events.publish", "patient.search"}, made["scopes"])
	require.Equal(t, "0", made["rate"])
	require.Regexp(t, `^shop_test_`, made["api_key"])
	require.Equal(t, "2999-01-01T00:00:00Z", made["expires_at"])
	none := b.ok(201, "POST", "/keys", b.admin, create(`"scopes":[]`))
	require.Equal(t, []any{}, none["scopes"])
	b.refused(403, "missing_scope", "GET", "/endpoints", none["api_key"].(string), "")
	for _, fields := range []string{
		`"scopes":["everything"]`, `"scopes":["*"]`, `"rate":"100/min"`, `"rate":""`, `"rate":"100-Y"`, `"environment":"prod"`, `"expires_at":"2001-01-01T00:00:00Z"`, `"expires_at":"soon"`,
	} {
		b.refused(422, "validation_failed", "POST", "/keys", b.admin, create(fields))
	}
	b.refused(404, "tenant_not_found", "POST", "/keys", b.admin, `{"tenant_id":"`+uuid.NewString()+`"}`)
	require.Len(t, items(b.ok(200, "GET", "/keys?environment=test&product=shop", b.admin, "")), 3)
	require.Empty(t, items(b.ok(200, "GET", "/keys?product=other", b.admin, "")))
}

func TestRevokedKeyIsDeadAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	made := b.ok(201, "POST", "/keys", b.admin, `{"tenant_id":"`+b.tenant[0].String()+`"}`)
	key, id := made["api_key"].(string), made["id"].(string)
	b.ok(200, "GET", "/endpoints", key, "")
	var before, after int64
	version := `select version from hub.config_version`
	require.NoError(t, b.db.QueryRow(context.Background(), version).Scan(&before))
	require.Empty(t, b.call("DELETE", "/keys/"+id, b.admin, "").text)
	require.NoError(t, b.db.QueryRow(context.Background(), version).Scan(&after))
	require.Greater(t, after, before, "other processes learn of it")
	revoked := b.refused(401, "invalid_key", "GET", "/endpoints", key, "")
	b.ok(204, "DELETE", "/keys/"+id, b.admin, "")
	b.refused(404, "not_found", "DELETE", "/keys/"+uuid.NewString(), b.admin, "")
	b.refused(409, "key_not_active", "POST", "/keys/"+id+"/rotate", b.admin, "")

	// Whatever is wrong with a key, the answer is the same.
	expiring := b.key(b.tenant[0], fmt.Sprintf(`"expires_at":%q`, b.clock.Now().Add(time.Minute).Format(time.RFC3339)))
	b.ok(200, "GET", "/endpoints", expiring, "")
	b.clock.Advance(time.Minute)
	for name, bad := range map[string]string{"expired": expiring, "unknown": keys.New("shop", "live"), "typo": key[:len(key)-1] + "-", "text": "x"} {
		got := b.refused(401, "invalid_key", "GET", "/endpoints", "", "", "X-Integration-Key", bad)
		require.Equal(t, revoked.body["detail"], got.body["detail"], name)
	}
	b.refused(401, "unauthorized", "GET", "/endpoints?X-Integration-Key="+b.live[0]+"&api_key="+b.live[0], "", "")
}

// Each key has a rate of its own, so a tenant has no more than 100 in an environment, however
// many requests make them at once. Those that were replaced are counted apart.
func TestKeysOfATenantHaveACap(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	tenant := b.tenant[0]
	body := `{"tenant_id":"` + tenant.String() + `"}`
	_, err := b.db.Exec(t.Context(), `insert into hub.keys (id, tenant_id, environment, hash, prefix, last4, scopes, rate)
		select gen_random_uuid(), $1, 'live', sha256(n::text::bytea), 'shop_live_', 'a1B2', '{}', '100-M' from generate_series(1, 100 - 3) n`, tenant)
	require.NoError(t, err)
	b.ok(201, "POST", "/keys", b.admin, body)
	answers := make(chan answer, 6)
	for range cap(answers) {
		go func() { answers <- b.call("POST", "/keys", b.admin, body) }()
	}
	made := map[int]int{}
	var id string
	for range cap(answers) {
		got := <-answers
		made[got.status]++
		if got.status == 201 {
			id = got.body["id"].(string)
		}
	}
	require.Equal(t, map[int]int{201: 1, 422: 5}, made)
	b.refused(422, "too_many_keys", "POST", "/keys", b.admin, body)
	b.ok(201, "POST", "/keys", b.admin, `{"tenant_id":"`+tenant.String()+`","environment":"test"}`)
	b.ok(201, "POST", "/keys", b.admin, `{"tenant_id":"`+b.tenant[1].String()+`"}`)

	rotate := func(status int, overlap string) {
		t.Helper()
		rotated := b.call("POST", "/keys/"+id+"/rotate", b.admin, `{"overlap_seconds":`+overlap+`}`)
		require.Equal(t, status, rotated.status, rotated.text)
		if status == 201 {
			id = rotated.body["id"].(string)
		} else {
			require.Equal(t, "too_many_keys", rotated.body["code"])
		}
	}
	for range 100 {
		rotate(201, "600")
	}
	rotate(422, "600")
	rotate(201, "0")
	b.clock.Advance(10 * time.Minute)
	rotate(201, "600")
	b.ok(204, "DELETE", "/keys/"+id, b.admin, "")
	b.ok(201, "POST", "/keys", b.admin, body)
	b.refused(422, "too_many_keys", "POST", "/keys", b.admin, body)
}

func TestKeyRotation(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	old := b.ok(201, "POST", "/keys", b.local, `{"tenant_id":"`+b.tenant[0].String()+`","name":"n","environment":"test","scopes":["endpoints.manage"],"rate":"5-S"}`)
	rotated := b.ok(201, "POST", "/keys/"+old["id"].(string)+"/rotate", b.local, "")
	require.NotEqual(t, old["api_key"], rotated["api_key"])
	for _, kept := range []string{"tenant_id", "name", "environment", "scopes", "rate", "prefix"} {
		require.Equal(t, old[kept], rotated[kept], kept)
	}
	both := []string{old["api_key"].(string), rotated["api_key"].(string)}
	b.clock.Advance(24*time.Hour - time.Second)
	for _, key := range both {
		b.ok(200, "GET", "/endpoints", key, "")
	}
	b.clock.Advance(time.Second)
	b.refused(401, "invalid_key", "GET", "/endpoints", both[0], "")
	b.ok(200, "GET", "/endpoints", both[1], "")
	b.refused(409, "key_not_active", "POST", "/keys/"+old["id"].(string)+"/rotate", b.local, "")

	at := b.ok(201, "POST", "/keys/"+rotated["id"].(string)+"/rotate", b.local, `{"overlap_seconds":0}`)
	b.refused(401, "invalid_key", "GET", "/endpoints", both[1], "")
	b.ok(200, "GET", "/endpoints", at["api_key"].(string), "")
	shown := items(b.ok(200, "GET", "/keys?tenant_id="+b.tenant[0].String()+"&environment=test", b.local, ""))
	require.Equal(t, at["id"], shown[1]["replaced_by"])
	b.refused(422, "validation_failed", "POST", "/keys/"+at["id"].(string)+"/rotate", b.local, `{"overlap_seconds":604801}`)
	b.refused(422, "validation_failed", "POST", "/keys/"+at["id"].(string)+"/rotate", b.local, `{"overlap_seconds":-1}`)
	b.refused(404, "not_found", "POST", "/keys/"+uuid.NewString()+"/rotate", b.local, "")

	// An overlap does not lengthen a key's life.
	ending := b.ok(201, "POST", "/keys", b.local, fmt.Sprintf(`{"tenant_id":%q,"expires_at":%q}`, b.tenant[0], b.clock.Now().Add(time.Hour).Format(time.RFC3339)))
	next := b.ok(201, "POST", "/keys/"+ending["id"].(string)+"/rotate", b.local, "")
	require.Equal(t, ending["expires_at"], next["expires_at"])
	b.clock.Advance(time.Hour)
	b.refused(401, "invalid_key", "GET", "/endpoints", ending["api_key"].(string), "")
}

func TestOneKeyIsRotatedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	id := uuid.MustParse(b.ok(201, "POST", "/keys", b.admin, `{"tenant_id":"`+b.tenant[0].String()+`"}`)["id"].(string))
	failed := make(chan error, 6)
	for range cap(failed) {
		go func() {
			_, _, err := b.keys.Rotate(context.Background(), id, time.Hour)
			failed <- err
		}()
	}
	good := 0
	for range cap(failed) {
		if <-failed == nil {
			good++
		}
	}
	require.Equal(t, 1, good)
}

// "use against the limit": looking at it counts nothing.
func TestKeysShowTheirUse(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	path := "/keys?tenant_id=" + b.tenant[0].String()
	b.key(b.tenant[0], `"rate":"0","environment":"live"`)
	limited := b.key(b.tenant[0], `"rate":"7-D","environment":"live"`)
	revoked := b.ok(201, "POST", "/keys", b.admin, `{"tenant_id":"`+b.tenant[0].String()+`"}`)
	b.ok(204, "DELETE", "/keys/"+revoked["id"].(string), b.admin, "")
	used := func() (counts []any) {
		for _, key := range items(b.ok(200, "GET", path, b.support, "")) {
			counts = append(counts, key["used"])
			require.Equal(t, key["used"] == nil, key["resets_at"] == nil)
		}
		return counts
	}
	require.Equal(t, []any{nil, 0.0, nil, 0.0, 0.0}, used())
	for range 3 {
		b.ok(200, "GET", "/endpoints", limited, "")
	}
	require.Equal(t, []any{nil, 3.0, nil, 0.0, 0.0}, used())
	for range 5 {
		b.call("GET", "/endpoints", limited, "")
	}
	require.Equal(t, []any{nil, 7.0, nil, 0.0, 0.0}, used(), "refused requests are not above the limit")
}
