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
		Now: Monday, Beside: []module.Module{moduletest.HostCapture{Module: notes.New("notes"), Host: &other}},
	})
	s := RegisterOrganization(t, h)
	s.OK(200, "GET", "/auth/me", nil)
	signature := s.Token[strings.LastIndex(s.Token, ".")+1:]
	kept := func(string) string { return signature }
	with := func(key []byte, method jwt.SigningMethod) func(string) string {
		return func(text string) string {
			raw, err := method.Sign(text, key)
			require.NoError(t, err)
			return base64.RawURLEncoding.EncodeToString(raw)
		}
	}
	user, login, ok := h.Host.Accounts.VerifyAccess(s.Token)
	require.True(t, ok)
	elsewhere, err := other.Accounts.SignAccess(user, login)
	require.NoError(t, err)
	stranger, err := h.Host.Accounts.SignAccess(uuid.New(), login)
	require.NoError(t, err)
	ended, err := h.Host.Accounts.SignAccess(user, uuid.New())
	require.NoError(t, err)
	session := s.As("").OK(200, "POST", "/auth/login", object{"email": s.Email, "password": Password})
	for name, token := range map[string]string{
		"no algorithm":                moduletest.Forged(t, s.Token, object{"alg": "none"}, nil, func(string) string { return "" }),
		"no algorithm, signed":        moduletest.Forged(t, s.Token, object{"alg": "none"}, nil, kept),
		"another spelling of none":    moduletest.Forged(t, s.Token, object{"alg": "nOnE"}, nil, func(string) string { return "" }),
		"RS256":                       moduletest.Forged(t, s.Token, object{"alg": "RS256"}, nil, kept),
		"ES256":                       moduletest.Forged(t, s.Token, object{"alg": "ES256"}, nil, kept),
		"HS512 of the id of the key":  moduletest.Forged(t, s.Token, object{"alg": "HS512"}, nil, with([]byte("kid"), jwt.SigningMethodHS512)),
		"signed with nothing":         moduletest.Forged(t, s.Token, nil, nil, with(nil, jwt.SigningMethodHS256)),
		"another key's id":            moduletest.Forged(t, s.Token, object{"kid": "../../dev/null"}, nil, with(nil, jwt.SigningMethodHS256)),
		"an id that is a query":       moduletest.Forged(t, s.Token, object{"kid": "' or 1=1 --"}, nil, kept),
		"a key of its own":            moduletest.Forged(t, s.Token, object{"jwk": object{"kty": "oct", "k": "AA"}, "jku": "http://127.0.0.1:1"}, nil, with([]byte{0}, jwt.SigningMethodHS256)),
		"longer validity":             moduletest.Forged(t, s.Token, nil, object{"exp": 4_000_000_000}, kept),
		"somebody else's":             moduletest.Forged(t, s.Token, nil, object{"sub": uuid.NewString()}, kept),
		"another audience":            moduletest.Forged(t, s.Token, nil, object{"aud": []string{"notes"}}, kept),
		"a signature cut short":       s.Token[:len(s.Token)-4],
		"no signature":                s.Token[:strings.LastIndex(s.Token, ".")],
		"of another product":          elsewhere,
		"of a user who never was":     stranger,
		"of a login that never was":   ended,
		"an operator's":               h.Operator,
		"a refresh token":             session["refresh_token"].(string),
		"the right one, twice":        s.Token + "," + s.Token,
		"the right one, with a space": s.Token + " " + s.Token,
	} {
		got := s.As(token).Call("GET", "/auth/me", nil)
		require.Equal(t, 401, got.Status, "%s: %s", name, got.Text)
		require.Contains(t, []any{"invalid_token", "unauthorized"}, got.Body["code"], name)
	}
	for _, token := range []any{s.Token, session["access_token"], "x", elsewhere} {
		s.As("").Refused(401, "invalid_refresh_token", "POST", "/auth/refresh", object{"refresh_token": token})
	}
	require.Equal(t, 401, s.As("").Call("GET", "/auth/me", nil, "Authorization", "Basic "+s.Token).Status)
	require.Regexp(t, `^Bearer\b`, s.As("").Call("GET", "/auth/me", nil).Header.Get("WWW-Authenticate"))
	s.OK(200, "GET", "/auth/me", nil)
	h.Clock.Advance(29 * time.Minute)
	s.OK(200, "GET", "/auth/me", nil)
	h.Clock.Advance(time.Minute + time.Second)
	s.Refused(401, "invalid_token", "GET", "/auth/me", nil)
}

// What nobody may read stands in no log, no metric and no answer to anybody else.
func TestSecretsAreNotTold(t *testing.T) {
	t.Parallel()
	p := NewBookableBesidePeer(t)
	const canary, cpf = "canary-of-a-password", "111.444.777-35"
	p.As("").OK(201, "POST", "/auth/register", object{"org_name": "C", "org_slug": "canary-" + p.Slug, "name": "C", "email": "c-" + p.Email, "password": canary})
	session := p.As("").OK(200, "POST", "/auth/login", object{"email": "c-" + p.Email, "password": canary})
	key := p.OK(200, "POST", "/integrations/api-keys", nil)["api_key"].(string)
	p.OK(200, "GET", "/auth/me", nil)
	p.As("").OK(200, "POST", "/auth/forgot-password", object{"email": p.Email})
	reset := p.ResetToken(p.Email)
	client := p.OK(201, "POST", "/clients", object{"name": "Rui", "phone": "+5511911112222", "cpf": cpf})
	made := p.Guest().OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))
	integration := p.LinkPeer()
	secret := p.OK(200, "POST", "/integrations/"+integration+"/rotate-secret", nil)["webhook_secret"].(string)
	secrets := map[string]string{
		"password": canary, "access token": session["access_token"].(string), "refresh token": session["refresh_token"].(string),
		"key": key, "reset token": reset, "tax id": cpf, "digits of the tax id": strings.NewReplacer(".", "", "-", "").Replace(cpf),
		"cancel token": made["cancel_token"].(string), "webhook secret": secret,
	}
	var answers strings.Builder
	told := func(got answer) { answers.WriteString(got.Text + "\n") }
	// The wrong uses, each where another thing is asked for.
	for name, value := range secrets {
		if name == "access token" || name == "key" {
			told(p.As(value).Call("GET", "/clients/"+uuid.NewString(), nil))
		}
		told(p.As("x-"+value).Call("GET", "/auth/me", nil))
		told(p.As("").Call("POST", "/auth/login", object{"email": value, "password": value}))
		told(p.As("").Call("POST", "/auth/login", object{"email": p.Email, "password": value}))
		told(p.As("").Call("POST", "/auth/refresh", object{"refresh_token": value + "x"}))
		told(p.As("").Call("POST", "/auth/reset-password", object{"token": value + "x", "password": value}))
		told(p.As("").Call("POST", p.PublicPath("/cancel"), object{"cancel_token": value + "x"}))
		told(p.Call("POST", "/clients", object{"name": value, "cpf": []string{value}}))
		told(p.Call("POST", "/clients", object{"name": "", "cpf": value, "birth_date": value}))
		told(p.Call("POST", "/clients", `{"cpf":"`+value+`","cpf":`))
		told(p.Call("GET", "/clients/"+value, nil))
		told(p.Call("GET", "/payments?month="+value, nil))
		told(p.As("").Call("POST", "/integrations/webhook", object{"x": value}, "X-Integration-Key", value, "X-Webhook-Signature", value))
	}
	told(p.Call("GET", "/integrations/webhook-logs", nil))
	told(p.As(p.Hub.Key(p.ID, hub.Live)).Call("GET", "/integrations/search/clients?phone=%2B5511911112222", nil))
	var audit, deliveries json.RawMessage
	p.Hub.Operate("GET", "/api/v1/audit?limit=200", nil, &audit)
	p.Hub.Operate("GET", "/api/v1/deliveries?limit=200", nil, &deliveries)
	for name, value := range secrets {
		require.NotContains(t, p.Hub.Log(), value, "%s in the log", name)
		require.NotContains(t, GetPage(t, p.Hub.URL+"/metrics"), value, "%s in the metrics", name)
		require.NotContains(t, answers.String(), value, "%s in an answer", name)
		require.NotContains(t, string(audit)+string(deliveries), value, "%s in the logs of the hub", name)
	}
	require.Equal(t, cpf, p.OK(200, "GET", "/clients/"+client["id"].(string), nil)["cpf"], "its own people see it")
	require.NotContains(t, answers.String(), `"status":5`)
}

// GetPage reads an address as anybody.
func GetPage(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return string(text)
}

// Health, the reference and the rules for browsers are as interface document 1 has them.
func TestHealthReferenceAndOrigins(t *testing.T) {
	t.Parallel()
	s := NewOrganization(t)
	require.Equal(t, object{"status": "ok", "service": "scheduling", "version": "1.0.0", "db": "connected", "redis": "connected"}, s.As("").OK(200, "GET", s.Hub.Base+"/health", nil))
	require.Contains(t, GetPage(t, s.Hub.Base+"/docs"), "<html")
	require.Contains(t, GetPage(t, s.Hub.Base+"/openapi.json"), `"openapi": "3.1`)
	production := NewOrganization(t, "HUB_ENV=production", "HUB_PUBLIC_URL=https://hub.example.com", "HUB_KEY_RATE=100-M")
	for path, status := range map[string]int{"/docs": 404, "/openapi.json": 404, "/health": 200} {
		require.Equal(t, status, production.As("").Call("GET", production.Hub.Base+path, nil).Status, path)
	}
	preflight := func(origin string) http.Header {
		return s.As("").Call("OPTIONS", "/clients", nil, "Origin", origin, "Access-Control-Request-Method", "GET",
			"Access-Control-Request-Headers", "authorization, x-integration-key").Header
	}
	allowed := preflight(s.Hub.URL)
	require.Equal(t, s.Hub.URL, allowed.Get("Access-Control-Allow-Origin"))
	require.NotContains(t, strings.ToLower(allowed.Get("Access-Control-Allow-Headers")), "integration-key", "keys belong to servers")
	require.Empty(t, preflight("https://evil.example.com").Get("Access-Control-Allow-Origin"))
	require.True(t, slices.ContainsFunc(s.Operations(), func(op operation) bool { return op.ID == "integrations.webhook" }))
}
