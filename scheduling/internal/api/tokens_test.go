package api_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/hubtest/notes"
	"integrationhub/hub/module"
	"integrationhub/scheduling"
	"integrationhub/scheduling/internal/schedulingtest"
)

// Only access tokens that this service signed itself, for a user who may still log
// in, are let through.
func TestForgedTokens(t *testing.T) {
	t.Parallel()
	var other module.Host
	h := moduletest.Start(t, scheduling.New(), moduletest.Options{
		Start: schedulingtest.Monday, OtherModules: []module.Module{moduletest.HostCapture{Module: notes.New("notes"), Host: &other}},
	})
	org := schedulingtest.RegisterOrganization(t, h)
	org.OK(200, "GET", "/auth/me", nil)
	signature := org.Token[strings.LastIndex(org.Token, ".")+1:]
	kept := func(string) string { return signature }
	with := func(key []byte, method jwt.SigningMethod) func(string) string {
		return func(text string) string {
			raw, err := method.Sign(text, key)
			require.NoError(t, err)
			return base64.RawURLEncoding.EncodeToString(raw)
		}
	}
	user, login, ok := h.Host.Credentials.VerifyAccessToken(org.Token)
	require.True(t, ok)
	elsewhere, err := other.Credentials.SignAccessToken(user, login)
	require.NoError(t, err)
	stranger, err := h.Host.Credentials.SignAccessToken(uuid.New(), login)
	require.NoError(t, err)
	ended, err := h.Host.Credentials.SignAccessToken(user, uuid.New())
	require.NoError(t, err)
	session := org.As("").OK(200, "POST", "/auth/login", object{"email": org.Email, "password": schedulingtest.Password})
	for name, token := range map[string]string{
		"no algorithm":                moduletest.ForgeToken(t, org.Token, object{"alg": "none"}, nil, func(string) string { return "" }),
		"no algorithm, signed":        moduletest.ForgeToken(t, org.Token, object{"alg": "none"}, nil, kept),
		"another spelling of none":    moduletest.ForgeToken(t, org.Token, object{"alg": "nOnE"}, nil, func(string) string { return "" }),
		"RS256":                       moduletest.ForgeToken(t, org.Token, object{"alg": "RS256"}, nil, kept),
		"ES256":                       moduletest.ForgeToken(t, org.Token, object{"alg": "ES256"}, nil, kept),
		"HS512 of the id of the key":  moduletest.ForgeToken(t, org.Token, object{"alg": "HS512"}, nil, with([]byte("kid"), jwt.SigningMethodHS512)),
		"signed with nothing":         moduletest.ForgeToken(t, org.Token, nil, nil, with(nil, jwt.SigningMethodHS256)),
		"another key's id":            moduletest.ForgeToken(t, org.Token, object{"kid": "../../dev/null"}, nil, with(nil, jwt.SigningMethodHS256)),
		"an id that is a query":       moduletest.ForgeToken(t, org.Token, object{"kid": "' or 1=1 --"}, nil, kept),
		"a key of its own":            moduletest.ForgeToken(t, org.Token, object{"jwk": object{"kty": "oct", "k": "AA"}, "jku": "http://127.0.0.1:1"}, nil, with([]byte{0}, jwt.SigningMethodHS256)),
		"longer validity":             moduletest.ForgeToken(t, org.Token, nil, object{"exp": 4_000_000_000}, kept),
		"somebody else's":             moduletest.ForgeToken(t, org.Token, nil, object{"sub": uuid.NewString()}, kept),
		"another audience":            moduletest.ForgeToken(t, org.Token, nil, object{"aud": []string{"notes"}}, kept),
		"a signature cut short":       org.Token[:len(org.Token)-4],
		"no signature":                org.Token[:strings.LastIndex(org.Token, ".")],
		"of another product":          elsewhere,
		"of a user who never was":     stranger,
		"of a login that never was":   ended,
		"an operator's":               h.OperatorToken,
		"a refresh token":             session["refresh_token"].(string),
		"the right one, twice":        org.Token + "," + org.Token,
		"the right one, with a space": org.Token + " " + org.Token,
	} {
		got := org.As(token).Call("GET", "/auth/me", nil)
		require.Equal(t, 401, got.Status, "%s: %s", name, got.Text)
		require.Contains(t, []any{"invalid_token", "unauthorized"}, got.Body["code"], name)
	}
	for _, token := range []any{org.Token, session["access_token"], "x", elsewhere} {
		org.As("").Refused(401, "invalid_refresh_token", "POST", "/auth/refresh", object{"refresh_token": token})
	}
	require.Equal(t, 401, org.As("").Call("GET", "/auth/me", nil, "Authorization", "Basic "+org.Token).Status)
	require.Regexp(t, `^Bearer\b`, org.As("").Call("GET", "/auth/me", nil).Header.Get("WWW-Authenticate"))
	org.OK(200, "GET", "/auth/me", nil)
	h.Clock.Advance(29 * time.Minute)
	org.OK(200, "GET", "/auth/me", nil)
	h.Clock.Advance(time.Minute + time.Second)
	org.Refused(401, "invalid_token", "GET", "/auth/me", nil)
}
