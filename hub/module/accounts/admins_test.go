package accounts_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/module/accounts"
)

func TestIsLastAdmin(t *testing.T) {
	t.Parallel()
	isAdmin := func(role string) bool { return role == "admin" }
	for _, c := range []struct {
		name   string
		users  []string
		i      int
		isLast bool
	}{
		{"the only user", []string{"admin"}, 0, true},
		{"the only administrator", []string{"staff", "admin", "staff"}, 1, true},
		{"two administrators", []string{"admin", "staff", "admin"}, 0, false},
		{"the later of two administrators", []string{"admin", "staff", "admin"}, 2, false},
		{"another user is the administrator", []string{"admin", "staff"}, 1, false},
		{"nobody is an administrator", []string{"staff", "staff"}, 0, false},
	} {
		require.Equal(t, c.isLast, accounts.IsLastAdmin(c.users, c.i, isAdmin), c.name)
	}
}
