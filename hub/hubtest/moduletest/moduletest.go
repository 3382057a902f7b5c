// Package moduletest is the conformance suite of hosted products: what package module
// asks of a [module.Module], tried out in a running hub. A product's test is a [Case]
// given to [Run], in a package whose TestMain calls hubtest.Main.
package moduletest

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/module"
)

// Case is a product and what the suite cannot know about it.
type Case struct {
	Module module.Module
	// SignUp makes an account over the product's own API, whose base is given, and gives
	// the tenant with an administrator's bearer token.
	SignUp func(t *testing.T, base string) Account
	// Public are the ids of the operations that anybody may call.
	Public []string
	// Resources makes something of an account's for every path with a parameter, and
	// gives where it lies: "/api/v1/notes/{id}" → "/api/v1/notes/7".
	Resources func(t *testing.T, base string, a Account) map[string]string
	// Events are events of peers: at least one for every entry of Spec.Receives that the
	// product can handle. Only Type and Data are read.
	Events []hub.Event
	// State tells two states of what the product keeps about a tenant apart.
	State func(t *testing.T, host module.Host, tenant uuid.UUID) string
}

// Account is a tenant of the product and its administrator's bearer token.
type Account struct {
	Tenant uuid.UUID
	Token  string
}

// Run holds a product to its contract.
func Run(t *testing.T, c Case) {
	t.Helper()
	spec := c.Module.Spec()
	require.True(t, t.Run("spec", func(t *testing.T) { checkSpec(t, c) }))
	h := Start(t, c.Module, Options{})
	for _, part := range []struct {
		name string
		run  func(*testing.T, Case, *Hub)
	}{
		{"migrations", migrationsOf},
		{"operations", operations},
		{"tokens", tokens},
		{"tenants", tenants},
		{"handle", handle},
		{"presenter", presenter},
		{"jobs and pages", workAndPages},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			part.run(t, c, h)
		})
	}
	require.Equal(t, spec, c.Module.Spec(), "always the same")
}
