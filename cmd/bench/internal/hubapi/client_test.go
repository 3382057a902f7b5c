package hubapi

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"integrationhub/cmd/bench/internal/benchtest"
)

// What a hub of another version may refuse because it does not know it is distinguished from what is
// wrong with a hub, and with a caller.
func TestNotUnderstood(t *testing.T) {
	t.Parallel()
	for status, isNotUnderstood := range map[int]bool{
		http.StatusBadRequest: true, http.StatusNotFound: true, http.StatusMethodNotAllowed: true, http.StatusUnprocessableEntity: true,
		http.StatusUnauthorized: false, http.StatusForbidden: false, http.StatusConflict: false, http.StatusTooManyRequests: false, http.StatusInternalServerError: false,
	} {
		client := Client{BaseURL: benchtest.ServeHTTP(t, func(c *fasthttp.RequestCtx) { c.SetStatusCode(status) })}
		err := client.Call(t.Context(), http.MethodPost, "/endpoints", nil, nil)
		require.ErrorContains(t, err, http.StatusText(status))
		if isNotUnderstood {
			require.ErrorIs(t, err, ErrNotUnderstood)
		} else {
			require.NotErrorIs(t, err, ErrNotUnderstood)
		}
	}
}
