package moduletest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/config"
	"integrationhub/hub/hubtest"
)

// checkSignUp requires that only operators create accounts where HUB_SIGN_UP says so.
func checkSignUp(t *testing.T, c Case, _ *Hub) {
	h := Start(t, c.Module, Options{Settings: []string{"HUB_SIGN_UP=" + config.SignUpOperators}})
	var signUp *sentRequest
	proxy := h.operatorProxy(t, func(sent *sentRequest) {
		if signUp == nil {
			signUp = sent
		}
	})
	account := c.SignUp(t, proxy)
	require.NotNil(t, signUp, "signing up makes no request")
	tenant, err := h.Host.Tenants.Get(t.Context(), account.Tenant)
	require.NoError(t, err, "an operator creates an account")

	support := h.supportToken()
	for _, refused := range []struct {
		authorization string
		status        int
		code          string
	}{
		{"", 403, "user_creation_disabled"},
		{"Bearer " + account.Token, 401, "invalid_token"},
		{"Bearer \xff", 401, "unauthorized"},
		{"Basic b3BlcmF0b3I6", 401, "invalid_token"},
		{"Bearer " + support, 403, "admin_only"},
	} {
		status, body := signUp.repeat(t, h, refused.authorization)
		require.Equal(t, refused.status, status, "signing up with %q: %s", refused.authorization, body)
		require.Contains(t, body, `"code":"`+refused.code+`"`)
	}
	type entry struct {
		Actor  struct{ Type, Label string }
		Status int
	}
	var log struct{ Items []entry }
	h.CallAPI(http.MethodGet, "/api/v1/audit?tenant_id="+account.Tenant.String(), nil, &log)
	byOperators := slices.DeleteFunc(log.Items, func(e entry) bool { return e.Actor.Type == "tenant_user" })
	require.Len(t, byOperators, 1, "the audit log has who created %s, and refused requests without its id", tenant.Name)
	require.Equal(t, 201, byOperators[0].Status)
	require.Equal(t, "local command line", byOperators[0].Actor.Label)
}

// sentRequest is a request that can be sent again.
type sentRequest struct {
	method, path, contentType string
	body                      []byte
}

// repeat sends the request again, without a proxy, and returns the response.
func (r *sentRequest) repeat(t *testing.T, h *Hub, authorization string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), r.method, h.Base+r.path, bytes.NewReader(r.body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", r.contentType)
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	res, err := hubtest.HTTPClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(raw)
}

// operatorProxy starts a proxy of the product that sends the operator's token with requests that
// have none of their own, and returns its address. It calls observe with each request.
func (h *Hub) operatorProxy(t *testing.T, observe func(*sentRequest)) string {
	t.Helper()
	target, err := url.Parse(h.Base)
	require.NoError(t, err)
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		body, err := io.ReadAll(r.In.Body)
		if err != nil {
			body = nil // the product refuses it
		}
		r.Out.Body = io.NopCloser(bytes.NewReader(body))
		observe(&sentRequest{r.In.Method, r.In.URL.Path, r.In.Header.Get("Content-Type"), body})
		r.SetURL(target)
		if r.In.Header.Get("Authorization") == "" {
			r.Out.Header.Set("Authorization", "Bearer "+h.OperatorToken)
		}
	}})
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// supportToken returns a token of a program with the role support.
func (h *Hub) supportToken() string {
	h.t.Helper()
	var created struct{ Token string }
	h.CallAPI(http.MethodPost, "/api/v1/tokens", map[string]any{"name": "support", "role": "support", "expires_at": time.Now().Add(time.Hour)}, &created)
	return created.Token
}
