package scheduling_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/hubtest/notes"
	"integrationhub/hub/module"
	"integrationhub/scheduling"
)

// Only access tokens that this service signed itself, for somebody who may still log
// in, are let through.
func TestForgedTokens(t *testing.T) {
	t.Parallel()
	var other module.Host
	h := moduletest.Start(t, scheduling.New(), moduletest.Options{
		Start: monday, OtherModules: []module.Module{moduletest.HostCapture{Module: notes.New("notes"), Host: &other}},
	})
	s := another(t, h)
	s.ok(200, "GET", "/auth/me", nil)
	signature := s.token[strings.LastIndex(s.token, ".")+1:]
	kept := func(string) string { return signature }
	with := func(key []byte, method jwt.SigningMethod) func(string) string {
		return func(text string) string {
			raw, err := method.Sign(text, key)
			require.NoError(t, err)
			return base64.RawURLEncoding.EncodeToString(raw)
		}
	}
	user, login, ok := h.Host.Credentials.VerifyAccessToken(s.token)
	require.True(t, ok)
	elsewhere, err := other.Credentials.SignAccessToken(user, login)
	require.NoError(t, err)
	stranger, err := h.Host.Credentials.SignAccessToken(uuid.New(), login)
	require.NoError(t, err)
	ended, err := h.Host.Credentials.SignAccessToken(user, uuid.New())
	require.NoError(t, err)
	session := s.as("").ok(200, "POST", "/auth/login", object{"email": s.email, "password": password})
	for name, token := range map[string]string{
		"no algorithm":                moduletest.ForgeToken(t, s.token, object{"alg": "none"}, nil, func(string) string { return "" }),
		"no algorithm, signed":        moduletest.ForgeToken(t, s.token, object{"alg": "none"}, nil, kept),
		"another spelling of none":    moduletest.ForgeToken(t, s.token, object{"alg": "nOnE"}, nil, func(string) string { return "" }),
		"RS256":                       moduletest.ForgeToken(t, s.token, object{"alg": "RS256"}, nil, kept),
		"ES256":                       moduletest.ForgeToken(t, s.token, object{"alg": "ES256"}, nil, kept),
		"HS512 of the id of the key":  moduletest.ForgeToken(t, s.token, object{"alg": "HS512"}, nil, with([]byte("kid"), jwt.SigningMethodHS512)),
		"signed with nothing":         moduletest.ForgeToken(t, s.token, nil, nil, with(nil, jwt.SigningMethodHS256)),
		"another key's id":            moduletest.ForgeToken(t, s.token, object{"kid": "../../dev/null"}, nil, with(nil, jwt.SigningMethodHS256)),
		"an id that is a query":       moduletest.ForgeToken(t, s.token, object{"kid": "' or 1=1 --"}, nil, kept),
		"a key of its own":            moduletest.ForgeToken(t, s.token, object{"jwk": object{"kty": "oct", "k": "AA"}, "jku": "http://127.0.0.1:1"}, nil, with([]byte{0}, jwt.SigningMethodHS256)),
		"longer validity":             moduletest.ForgeToken(t, s.token, nil, object{"exp": 4_000_000_000}, kept),
		"somebody else's":             moduletest.ForgeToken(t, s.token, nil, object{"sub": uuid.NewString()}, kept),
		"another audience":            moduletest.ForgeToken(t, s.token, nil, object{"aud": []string{"notes"}}, kept),
		"a signature cut short":       s.token[:len(s.token)-4],
		"no signature":                s.token[:strings.LastIndex(s.token, ".")],
		"of another product":          elsewhere,
		"of a user who never was":     stranger,
		"of a login that never was":   ended,
		"an operator's":               h.OperatorToken,
		"a refresh token":             session["refresh_token"].(string),
		"the right one, twice":        s.token + "," + s.token,
		"the right one, with a space": s.token + " " + s.token,
	} {
		got := s.as(token).call("GET", "/auth/me", nil)
		require.Equal(t, 401, got.status, "%s: %s", name, got.text)
		require.Contains(t, []any{"invalid_token", "unauthorized"}, got.body["code"], name)
	}
	for _, token := range []any{s.token, session["access_token"], "x", elsewhere} {
		s.as("").refused(401, "invalid_refresh_token", "POST", "/auth/refresh", object{"refresh_token": token})
	}
	require.Equal(t, 401, s.as("").call("GET", "/auth/me", nil, "Authorization", "Basic "+s.token).status)
	require.Regexp(t, `^Bearer\b`, s.as("").call("GET", "/auth/me", nil).header.Get("WWW-Authenticate"))
	s.ok(200, "GET", "/auth/me", nil)
	h.Clock.Advance(29 * time.Minute)
	s.ok(200, "GET", "/auth/me", nil)
	h.Clock.Advance(time.Minute + time.Second)
	s.refused(401, "invalid_token", "GET", "/auth/me", nil)
}

// What nobody may read stands in no log, no metric and no answer to anybody else.
func TestSecretsAreNotTold(t *testing.T) {
	t.Parallel()
	p := besideNotes(t)
	const canary, cpf = "canary-of-a-password", "111.444.777-35"
	p.as("").ok(201, "POST", "/auth/register", object{"org_name": "C", "org_slug": "canary-" + p.slug, "name": "C", "email": "c-" + p.email, "password": canary})
	session := p.as("").ok(200, "POST", "/auth/login", object{"email": "c-" + p.email, "password": canary})
	key := p.ok(200, "POST", "/integrations/api-keys", nil)["api_key"].(string)
	p.ok(200, "GET", "/auth/me", nil)
	p.as("").ok(200, "POST", "/auth/forgot-password", object{"email": p.email})
	reset := p.mailed(p.email)
	client := p.ok(201, "POST", "/clients", object{"name": "Rui", "phone": "+5511911112222", "cpf": cpf})
	made := p.guest().ok(201, "POST", p.public("/appointments"), p.wish(0))
	integration := p.linked()
	secret := p.ok(200, "POST", "/integrations/"+integration+"/rotate-secret", nil)["webhook_secret"].(string)
	secrets := map[string]string{
		"password": canary, "access token": session["access_token"].(string), "refresh token": session["refresh_token"].(string),
		"key": key, "reset token": reset, "tax id": cpf, "digits of the tax id": strings.NewReplacer(".", "", "-", "").Replace(cpf),
		"cancel token": made["cancel_token"].(string), "webhook secret": secret,
	}
	var answers strings.Builder
	told := func(got answer) { answers.WriteString(got.text + "\n") }
	// The wrong uses, each where another thing is asked for.
	for name, value := range secrets {
		if name == "access token" || name == "key" {
			told(p.as(value).call("GET", "/clients/"+uuid.NewString(), nil))
		}
		told(p.as("x-"+value).call("GET", "/auth/me", nil))
		told(p.as("").call("POST", "/auth/login", object{"email": value, "password": value}))
		told(p.as("").call("POST", "/auth/login", object{"email": p.email, "password": value}))
		told(p.as("").call("POST", "/auth/refresh", object{"refresh_token": value + "x"}))
		told(p.as("").call("POST", "/auth/reset-password", object{"token": value + "x", "password": value}))
		told(p.as("").call("POST", p.public("/cancel"), object{"cancel_token": value + "x"}))
		told(p.call("POST", "/clients", object{"name": value, "cpf": []string{value}}))
		told(p.call("POST", "/clients", object{"name": "", "cpf": value, "birth_date": value}))
		told(p.call("POST", "/clients", `{"cpf":"`+value+`","cpf":`))
		told(p.call("GET", "/clients/"+value, nil))
		told(p.call("GET", "/payments?month="+value, nil))
		told(p.as("").call("POST", "/integrations/webhook", object{"x": value}, "X-Integration-Key", value, "X-Webhook-Signature", value))
	}
	told(p.call("GET", "/integrations/webhook-logs", nil))
	told(p.as(p.hub.CreateKey(p.org, hub.Live)).call("GET", "/integrations/search/clients?phone=%2B5511911112222", nil))
	var audit, deliveries json.RawMessage
	p.hub.CallAPI("GET", "/api/v1/audit?limit=200", nil, &audit)
	p.hub.CallAPI("GET", "/api/v1/deliveries?limit=200", nil, &deliveries)
	for name, value := range secrets {
		require.NotContains(t, p.hub.Log(), value, "%s in the log", name)
		require.NotContains(t, get(t, p.hub.URL+"/metrics"), value, "%s in the metrics", name)
		require.NotContains(t, answers.String(), value, "%s in an answer", name)
		require.NotContains(t, string(audit)+string(deliveries), value, "%s in the logs of the hub", name)
	}
	require.Equal(t, cpf, p.ok(200, "GET", "/clients/"+client["id"].(string), nil)["cpf"], "its own people see it")
	require.NotContains(t, answers.String(), `"status":5`)
}

// get reads an address as anybody.
func get(t *testing.T, url string) string {
	t.Helper()
	res, err := client.Get(url)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return string(text)
}

// Health, the reference and the rules for browsers are as interface document 1 has them.
func TestHealthReferenceAndOrigins(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	require.Equal(t, object{"status": "ok", "service": "scheduling", "version": "1.0.0", "db": "connected", "redis": "connected"}, s.as("").ok(200, "GET", s.hub.Base+"/health", nil))
	require.Contains(t, get(t, s.hub.Base+"/docs"), "<html")
	require.Contains(t, get(t, s.hub.Base+"/openapi.json"), `"openapi": "3.1`)
	production := newStudio(t, "HUB_ENV=production", "HUB_PUBLIC_URL=https://hub.example.com", "HUB_KEY_RATE=100-M")
	for path, status := range map[string]int{"/docs": 404, "/openapi.json": 404, "/health": 200} {
		require.Equal(t, status, production.as("").call("GET", production.hub.Base+path, nil).status, path)
	}
	preflight := func(origin string) http.Header {
		return s.as("").call("OPTIONS", "/clients", nil, "Origin", origin, "Access-Control-Request-Method", "GET",
			"Access-Control-Request-Headers", "authorization, x-integration-key").header
	}
	allowed := preflight(s.hub.URL)
	require.Equal(t, s.hub.URL, allowed.Get("Access-Control-Allow-Origin"))
	require.NotContains(t, strings.ToLower(allowed.Get("Access-Control-Allow-Headers")), "integration-key", "keys belong to servers")
	require.Empty(t, preflight("https://evil.example.com").Get("Access-Control-Allow-Origin"))
	require.True(t, slices.ContainsFunc(operations(s), func(op operation) bool { return op.OperationID == "integrations.webhook" }))
}
