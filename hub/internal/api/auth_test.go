package api_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/auth"
)

func TestLogin(t *testing.T) {
	t.Parallel()
	b := setup(t)
	session := b.login("ADMIN@example.com", adminPassword)
	require.Equal(t, "Bearer", session["token_type"])
	require.EqualValues(t, 1800, session["expires_in"])
	operator := session["operator"].(map[string]any)
	require.Equal(t, adminEmail, operator["email"])
	require.Equal(t, "admin", operator["role"])
	me := b.ok(200, "GET", "/auth/me", session["access_token"].(string), "")
	require.Equal(t, operator, me)

	wrong := b.refused(401, "invalid_credentials", "POST", "/auth/login", "", `{"email":"`+adminEmail+`","password":"canary-password"}`)
	unknown := b.refused(401, "invalid_credentials", "POST", "/auth/login", "", `{"email":"nobody@example.com","password":"canary-password"}`)
	delete(wrong.body, "request_id")
	delete(unknown.body, "request_id")
	require.Equal(t, wrong.body, unknown.body)
	require.NotContains(t, b.log.String(), "canary")
}

func TestTokensAreReadStrictly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now := b.clock.Now()
	good, _, err := jwt.NewParser().ParseUnverified(b.admin, jwt.MapClaims{})
	require.NoError(t, err)
	claims := func(change func(jwt.MapClaims)) jwt.MapClaims {
		made := jwt.MapClaims{}
		for key, value := range good.Claims.(jwt.MapClaims) {
			made[key] = value
		}
		change(made)
		return made
	}
	same := claims(func(jwt.MapClaims) {})
	sign := func(method jwt.SigningMethod, key any, said jwt.MapClaims, head ...string) string {
		token := jwt.NewWithClaims(method, said)
		token.Header["kid"] = good.Header["kid"]
		for i := 0; i < len(head); i += 2 {
			token.Header[head[i]] = head[i+1]
		}
		text, err := token.SignedString(key)
		require.NoError(t, err)
		return text
	}
	// The way of making them is right: the same claims, signed by us, are accepted.
	b.ok(200, "GET", "/auth/me", sign(jwt.SigningMethodHS256, b.signKey, same), "")

	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	refresh := b.login(adminEmail, adminPassword)["refresh_token"].(string)
	unsigned := b.admin[:strings.LastIndex(b.admin, ".")+1]
	for name, token := range map[string]string{
		"alg none":         sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, same),
		"no signature":     unsigned,
		"HS384":            sign(jwt.SigningMethodHS384, b.signKey, same),
		"HS512":            sign(jwt.SigningMethodHS512, b.signKey, same),
		"ES256":            sign(jwt.SigningMethodES256, private, same),
		"other key":        sign(jwt.SigningMethodHS256, b.box.Derive("other"), same),
		"empty key":        sign(jwt.SigningMethodHS256, []byte{}, same),
		"kid of a path":    sign(jwt.SigningMethodHS256, b.signKey, same, "kid", "../../dev/null"),
		"kid of SQL":       sign(jwt.SigningMethodHS256, b.signKey, same, "kid", "' or 1=1 --"),
		"no kid":           sign(jwt.SigningMethodHS256, b.signKey, same, "kid", ""),
		"expired":          sign(jwt.SigningMethodHS256, b.signKey, claims(func(c jwt.MapClaims) { c["exp"] = now.Add(-time.Second).Unix() })),
		"never expires":    sign(jwt.SigningMethodHS256, b.signKey, claims(func(c jwt.MapClaims) { delete(c, "exp") })),
		"from the future":  sign(jwt.SigningMethodHS256, b.signKey, claims(func(c jwt.MapClaims) { c["iat"] = now.Add(time.Hour).Unix() })),
		"other audience":   sign(jwt.SigningMethodHS256, b.signKey, claims(func(c jwt.MapClaims) { c["aud"] = []string{"scheduling"} })),
		"no audience":      sign(jwt.SigningMethodHS256, b.signKey, claims(func(c jwt.MapClaims) { delete(c, "aud") })),
		"other type":       sign(jwt.SigningMethodHS256, b.signKey, claims(func(c jwt.MapClaims) { c["typ"] = "refresh" })),
		"no type":          sign(jwt.SigningMethodHS256, b.signKey, claims(func(c jwt.MapClaims) { delete(c, "typ") })),
		"other operator":   sign(jwt.SigningMethodHS256, b.signKey, claims(func(c jwt.MapClaims) { c["sub"] = uuid.NewString() })),
		"no operator":      sign(jwt.SigningMethodHS256, b.signKey, claims(func(c jwt.MapClaims) { delete(c, "sub") })),
		"other login":      sign(jwt.SigningMethodHS256, b.signKey, claims(func(c jwt.MapClaims) { c["fam"] = uuid.NewString() })),
		"padded":           b.admin + "=",
		"refresh as token": refresh,
		"local, changed":   b.local + "x",
	} {
		got := b.call("GET", "/auth/me", "", "", "Authorization", "Bearer "+token)
		require.Equal(t, 401, got.status, name)
		require.Contains(t, got.header.Get("WWW-Authenticate"), "Bearer")
	}
	b.refused(401, "invalid_refresh_token", "POST", "/auth/refresh", "", `{"refresh_token":"`+refresh+`x"}`)
	b.refused(401, "invalid_refresh_token", "POST", "/auth/refresh", "", `{"refresh_token":"`+b.admin+`"}`) // an access token
	b.clock.Advance(31 * time.Minute)
	b.refused(401, "invalid_token", "GET", "/auth/me", b.admin, "")
}

func TestRefreshRotatesAndReuseEndsTheLogin(t *testing.T) {
	t.Parallel()
	b := setup(t)
	refresh := func(token any, status int) map[string]any {
		return b.ok(status, "POST", "/auth/refresh", "", `{"refresh_token":"`+token.(string)+`"}`)
	}
	first := b.login(adminEmail, adminPassword)
	elsewhere := b.login(adminEmail, adminPassword)
	second := refresh(first["refresh_token"], 200)
	require.NotEqual(t, first["refresh_token"], second["refresh_token"])
	third := refresh(second["refresh_token"], 200)
	b.ok(200, "GET", "/auth/me", third["access_token"].(string), "")
	refresh(first["refresh_token"], 401)
	refresh(third["refresh_token"], 401) // the thief's or the owner's: the family is gone
	b.refused(401, "invalid_token", "GET", "/auth/me", third["access_token"].(string), "")
	b.ok(200, "GET", "/auth/me", elsewhere["access_token"].(string), "")
	b.clock.Advance(721 * time.Hour)
	refresh(elsewhere["refresh_token"], 401)
	b.tidy()
	var left int
	require.NoError(t, b.db.QueryRow(context.Background(), `select count(*) from hub.refresh_tokens`).Scan(&left))
	require.Zero(t, left)
	known := func() (accounts int) {
		require.NoError(t, b.db.QueryRow(context.Background(), `select count(*) from hub.known_logins`).Scan(&accounts))
		return accounts
	}
	require.Equal(t, 2, known(), "the two operators logged in from here")
	b.clock.Advance(60 * 24 * time.Hour)
	b.tidy()
	require.Zero(t, known(), "forgotten after 90 days")
}

func TestConcurrentRefreshesMakeOneSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	token := b.login(adminEmail, adminPassword)["refresh_token"].(string)
	statuses := make(chan int, 8)
	for range cap(statuses) {
		go func() {
			_, err := b.auth.Refresh(context.Background(), token)
			if err != nil {
				statuses <- 401
				return
			}
			statuses <- 200
		}()
	}
	good := 0
	for range cap(statuses) {
		if <-statuses == 200 {
			good++
		}
	}
	require.Equal(t, 1, good)
}

func TestLogout(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, second := b.login(adminEmail, adminPassword), b.login(adminEmail, adminPassword)
	require.Empty(t, b.call("POST", "/auth/logout", first["access_token"].(string), "").text)
	b.refused(401, "invalid_token", "GET", "/auth/me", first["access_token"].(string), "")
	b.refused(401, "invalid_refresh_token", "POST", "/auth/refresh", "", `{"refresh_token":"`+first["refresh_token"].(string)+`"}`)
	// Another operator's refresh token is left alone, one's own is ended too.
	b.ok(204, "POST", "/auth/logout", b.support, `{"refresh_token":"`+second["refresh_token"].(string)+`"}`)
	b.ok(200, "GET", "/auth/me", second["access_token"].(string), "")
	third := b.login(adminEmail, adminPassword)
	b.ok(204, "POST", "/auth/logout", second["access_token"].(string), `{"refresh_token":"`+third["refresh_token"].(string)+`"}`)
	b.refused(401, "invalid_token", "GET", "/auth/me", third["access_token"].(string), "")
}

func TestTenBadLoginsLockTheAccountForThatAddress(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bad, good := `{"email":"Admin@Example.com","password":"wrong"}`, `{"email":"`+adminEmail+`","password":"`+adminPassword+`"}`
	from := func(ip string) []string { return []string{"X-Forwarded-For", ip} }
	for i := range 10 {
		b.refused(401, "invalid_credentials", "POST", "/auth/login", "", bad, from("203.0.113.1")...)
		if i == 8 {
			b.clock.Advance(time.Minute)
		}
	}
	got := b.refused(429, "too_many_logins", "POST", "/auth/login", "", good, from("203.0.113.1")...)
	require.Equal(t, strconv.Itoa(14*60), got.header.Get("Retry-After"), "when the first of the ten is 15 minutes old")
	b.ok(200, "POST", "/auth/login", "", good, from("203.0.113.2")...)
	b.refused(401, "invalid_credentials", "POST", "/auth/login", "", `{"email":"`+supportEmail+`","password":"wrong"}`, from("203.0.113.1")...)
	b.clock.Advance(14*time.Minute - time.Second)
	b.refused(429, "too_many_logins", "POST", "/auth/login", "", good, from("203.0.113.1")...)
	b.clock.Advance(time.Second)
	b.ok(200, "POST", "/auth/login", "", good, from("203.0.113.1")...)
	b.refused(401, "invalid_credentials", "POST", "/auth/login", "", bad, from("203.0.113.1")...)
	var counted int
	require.NoError(t, b.db.QueryRow(context.Background(), `select count(*) from hub.login_failures where ip = '203.0.113.1'`).Scan(&counted))
	require.Equal(t, 2, counted, "a good login forgets the bad ones of its account and address")

	// An address in front of the trusted proxy's own cannot be made up.
	for range 9 {
		b.refused(401, "invalid_credentials", "POST", "/auth/login", "", bad, from("198.51.100."+strconv.Itoa(int(time.Now().UnixNano()%250))+", 203.0.113.1")...)
	}
	b.refused(429, "too_many_logins", "POST", "/auth/login", "", good, from("198.51.100.99, 203.0.113.1, 127.0.0.9")...)
	b.clock.Advance(time.Hour + time.Second)
	b.tidy()
	require.NoError(t, b.db.QueryRow(context.Background(), `select count(*) from hub.login_failures`).Scan(&counted))
	require.Zero(t, counted, "old failures are of no use")
}

func TestUnknownAddressesTakeAsLong(t *testing.T) {
	t.Parallel()
	b := setup(t)
	// The fastest of several, taken in turns: other tests share the machine.
	fastest := map[string]time.Duration{}
	for range 9 {
		for _, email := range []string{adminEmail, "nobody@example.com"} {
			start := time.Now()
			b.refused(401, "invalid_credentials", "POST", "/auth/login", "", `{"email":"`+email+`","password":"wrong"}`)
			if took := time.Since(start); fastest[email] == 0 || took < fastest[email] {
				fastest[email] = took
			}
		}
	}
	known, unknown := fastest[adminEmail], fastest["nobody@example.com"]
	require.Less(t, known, 4*unknown, "without a hash for unknown addresses this is 10 times and more")
	require.Less(t, unknown, 4*known)
}

func TestDisabledAndDeletedOperatorsAreOutAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	session := b.login(supportEmail, adminPassword)
	id := session["operator"].(map[string]any)["id"].(string)
	change := func(fields string) map[string]any {
		return b.ok(200, "PUT", "/operators/"+id, b.admin, `{"email":"`+supportEmail+`","name":"S","role":"support"`+fields+`}`)
	}
	require.Equal(t, true, change(`,"disabled":true`)["disabled"])
	b.refused(401, "invalid_token", "GET", "/auth/me", session["access_token"].(string), "")
	b.refused(401, "invalid_refresh_token", "POST", "/auth/refresh", "", `{"refresh_token":"`+session["refresh_token"].(string)+`"}`)
	b.refused(401, "invalid_credentials", "POST", "/auth/login", "", `{"email":"`+supportEmail+`","password":"`+adminPassword+`"}`)
	require.Equal(t, true, change("")["disabled"], "absent keeps it")
	require.Equal(t, false, change(`,"disabled":false`)["disabled"])
	b.refused(401, "invalid_token", "GET", "/auth/me", session["access_token"].(string), "")

	session = b.login(supportEmail, adminPassword)
	change(`,"password":"a new password"`)
	b.refused(401, "invalid_token", "GET", "/auth/me", session["access_token"].(string), "")
	session = b.login(supportEmail, "a new password")
	b.ok(204, "DELETE", "/operators/"+id, b.admin, "")
	b.refused(401, "invalid_token", "GET", "/auth/me", session["access_token"].(string), "")
	b.refused(401, "invalid_refresh_token", "POST", "/auth/refresh", "", `{"refresh_token":"`+session["refresh_token"].(string)+`"}`)
	b.refused(404, "not_found", "DELETE", "/operators/"+id, b.admin, "")
	b.refused(404, "not_found", "PUT", "/operators/"+id, b.admin, bodies["operators.update"])
}

func TestOperatorRules(t *testing.T) {
	t.Parallel()
	b := setup(t)
	create := func(email, role, password string) string {
		return fmt.Sprintf(`{"email":%q,"name":"N","role":%q,"password":%q}`, email, role, password)
	}
	b.refused(409, "email_taken", "POST", "/operators", b.admin, create("ADMIN@example.com", "admin", adminPassword))
	b.refused(422, "validation_failed", "POST", "/operators", b.admin, create("a@b.example", "owner", adminPassword))
	b.refused(422, "validation_failed", "POST", "/operators", b.admin, create("a@b.example", "admin", "123456789"))
	b.refused(422, "validation_failed", "POST", "/operators", b.admin, create("a@b.example", "admin", strings.Repeat("x", 201)))
	b.refused(422, "validation_failed", "POST", "/operators", b.admin, create("Me <a@b.example>", "admin", adminPassword))
	b.refused(422, "validation_failed", "POST", "/operators", b.admin, create("nobody", "admin", adminPassword))
	made := b.ok(201, "POST", "/operators", b.admin, create("second@example.com", "support", strings.Repeat("é", 200)))
	require.NotContains(t, fmt.Sprint(made), "password")
	b.refused(409, "email_taken", "PUT", "/operators/"+made["id"].(string), b.admin, `{"email":"admin@example.com","name":"x","role":"admin"}`)
	b.login("second@example.com", strings.Repeat("é", 200))

	list := b.ok(200, "GET", "/operators", b.support, "")
	require.Len(t, items(list), 3)
	require.NotContains(t, fmt.Sprint(list), "argon2")

	// The last admin stays.
	id := b.ok(200, "GET", "/auth/me", b.admin, "")["id"].(string)
	b.refused(409, "last_admin", "DELETE", "/operators/"+id, b.admin, "")
	b.refused(409, "last_admin", "PUT", "/operators/"+id, b.admin, `{"email":"admin@example.com","name":"x","role":"support"}`)
	b.refused(409, "last_admin", "PUT", "/operators/"+id, b.admin, `{"email":"admin@example.com","name":"x","role":"admin","disabled":true}`)
	b.ok(200, "PUT", "/operators/"+made["id"].(string), b.admin, `{"email":"second@example.com","name":"x","role":"admin"}`)
	b.ok(204, "DELETE", "/operators/"+id, b.admin, "")
	b.refused(401, "invalid_token", "GET", "/auth/me", b.admin, "")
}

func TestTwoAdminsCannotRemoveEachOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	first := uuid.MustParse(b.ok(200, "GET", "/auth/me", b.admin, "")["id"].(string))
	for range 5 {
		second, err := b.auth.Create(ctx, auth.Draft{Email: "second@example.com", Name: "x", Role: auth.RoleAdmin, Password: adminPassword})
		require.NoError(t, err)
		failed := make(chan error, 2)
		for _, id := range []uuid.UUID{first, second.ID} {
			go func() { failed <- b.auth.Delete(ctx, id) }()
		}
		require.NotEqual(t, <-failed == nil, <-failed == nil, "exactly one is deleted")
		if _, known := b.auth.Account(ctx, adminEmail); !known {
			made, err := b.auth.Create(ctx, auth.Draft{Email: adminEmail, Name: "x", Role: auth.RoleAdmin, Password: adminPassword})
			require.NoError(t, err)
			require.NoError(t, b.auth.Delete(ctx, second.ID))
			first = made.ID
		}
	}
}

func TestLocalToken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.ok(200, "GET", "/auth/me", b.local, "")
	require.Equal(t, auth.LocalLabel, me["name"])
	require.Equal(t, "admin", me["role"])
	b.ok(201, "POST", "/products", b.local, `{"name":"shop","prefix":"shop"}`)
	b.ok(204, "POST", "/auth/logout", b.local, "")
	entry := items(b.ok(200, "GET", "/audit?action=products.create", b.admin, ""))[0]
	require.Equal(t, map[string]any{"type": "operator", "id": "", "label": auth.LocalLabel}, entry["actor"])
}
