package api_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic"
	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub/hubtest/moduletest"
	"integrationhub/hub/hubtest/notes"
	"integrationhub/hub/module"
)

// The API and the FHIR facade accept only access tokens that the clinic signed, of users who
// may log in.
func TestForgedTokens(t *testing.T) {
	t.Parallel()
	var other module.Host
	p := clinictest.RegisterClinic(t, moduletest.Start(t, clinic.New(), moduletest.Options{
		Start: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), OtherModules: []module.Module{moduletest.HostCapture{Module: notes.New("notes"), Host: &other}},
	}))
	signature := p.Token[strings.LastIndex(p.Token, ".")+1:]
	kept := func(string) string { return signature }
	none := func(string) string { return "" }
	with := func(key string, method jwt.SigningMethod) func(string) string {
		return func(text string) string {
			raw, err := method.Sign(text, []byte(key))
			require.NoError(t, err)
			return base64.RawURLEncoding.EncodeToString(raw)
		}
	}
	user, login, ok := p.Hub.Host.Credentials.VerifyAccessToken(p.Token)
	require.True(t, ok)
	elsewhere, err := other.Credentials.SignAccessToken(user, login)
	require.NoError(t, err)
	stranger, err := p.Hub.Host.Credentials.SignAccessToken(uuid.New(), login)
	require.NoError(t, err)
	ended, err := p.Hub.Host.Credentials.SignAccessToken(user, uuid.New())
	require.NoError(t, err)
	for name, token := range map[string]string{
		"no algorithm":              moduletest.ForgeToken(t, p.Token, object{"alg": "none"}, nil, none),
		"no algorithm, signed":      moduletest.ForgeToken(t, p.Token, object{"alg": "none"}, nil, kept),
		"another spelling of none":  moduletest.ForgeToken(t, p.Token, object{"alg": "nOnE"}, nil, none),
		"RS256":                     moduletest.ForgeToken(t, p.Token, object{"alg": "RS256"}, nil, kept),
		"HS512 by nothing":          moduletest.ForgeToken(t, p.Token, object{"alg": "HS512"}, nil, with("", jwt.SigningMethodHS512)),
		"signed with nothing":       moduletest.ForgeToken(t, p.Token, nil, nil, with("", jwt.SigningMethodHS256)),
		"another key's id":          moduletest.ForgeToken(t, p.Token, object{"kid": "../../dev/null"}, nil, with("", jwt.SigningMethodHS256)),
		"an id that is a query":     moduletest.ForgeToken(t, p.Token, object{"kid": "' or 1=1 --"}, nil, with("1", jwt.SigningMethodHS256)),
		"longer validity":           moduletest.ForgeToken(t, p.Token, nil, object{"exp": 4_000_000_000}, kept),
		"somebody else's":           moduletest.ForgeToken(t, p.Token, nil, object{"sub": uuid.NewString()}, kept),
		"another audience":          moduletest.ForgeToken(t, p.Token, nil, object{"aud": []string{"scheduling"}}, kept),
		"no signature":              p.Token[:strings.LastIndex(p.Token, ".")],
		"of another product":        elsewhere,
		"of a user who never was":   stranger,
		"of a login that never was": ended,
		"an operator's":             p.Hub.OperatorToken,
	} {
		for _, path := range []string{"/auth/me", "/patients", "/fhir/Patient"} {
			require.Equal(t, 401, p.As(token).Call("GET", path, nil).Status, "%s: %s", name, path)
		}
	}
	p.Get("/auth/me")
	p.Hub.Clock.Advance(29 * time.Minute)
	p.Get("/patients")
	p.Hub.Clock.Advance(time.Minute + time.Second)
	p.Refused(401, "invalid_token", "GET", "/auth/me", nil)
	require.Equal(t, 401, p.Call("GET", "/fhir/Patient", nil).Status, "expired")
}
