package accounts_test

import (
	"net/http"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/module/accounts"
)

// Whoever may not log in sets no password, and sees no form for it.
func TestLinksOfInactiveUsersAreRefused(t *testing.T) {
	t.Parallel()
	r := start(t)
	link := r.newLink(accounts.PurposeInvite)
	r.sql(`update users set active = false where id = $1`, r.ana.ID)
	requireKind(t, hub.ErrMalformed, "invalid_reset_token", r.auth.SetPassword(r.from("10.0.0.1"), tokenOf(t, link), "another horse"))
	require.Equal(t, http.StatusNotFound, r.visit(http.MethodGet, link, nil).status)
	r.sql(`update users set active = true where id = $1`, r.ana.ID)
	require.NoError(t, r.auth.SetPassword(r.from("10.0.0.1"), tokenOf(t, link), "another horse"))
}

// A link went to an address: it ends when the address, the password or the right to log in
// changes.
func TestChangesRevokeLinks(t *testing.T) {
	t.Parallel()
	r := start(t)
	for name, c := range map[string]struct {
		change       func(*accounts.User)
		linkSurvives bool
	}{
		"nothing":      {func(*accounts.User) {}, true},
		"address":      {func(u *accounts.User) { u.Email = "ana2@example.com" }, false},
		"password":     {func(u *accounts.User) { u.Password = "hash" }, false},
		"deactivation": {func(u *accounts.User) { u.Active = false }, false},
	} {
		token := tokenOf(t, r.newLink(accounts.PurposeInvite))
		after := r.ana
		c.change(&after)
		require.NoError(t, pgx.BeginFunc(t.Context(), r.db, func(tx pgx.Tx) error {
			return r.auth.RevokeChanged(t.Context(), tx, r.ana, after)
		}), name)
		err := r.auth.SetPassword(r.from("10.0.0.1"), token, "another horse")
		if c.linkSurvives {
			require.NoError(t, err, name)
		} else {
			requireKind(t, hub.ErrMalformed, "invalid_reset_token", err)
		}
	}
}
