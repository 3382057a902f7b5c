// Package moduletest is the conformance suite of hosted products. It checks the contract
// of [module.Module] in a running hub. A product's test passes a [Case] to [Run], in a
// package whose TestMain calls hubtest.Main.
package moduletest

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/module"
)

// Case is a product with its test data.
type Case struct {
	Module module.Module
	// SignUp creates an account over the product's API at base and returns the tenant with
	// an administrator's bearer token.
	SignUp func(t *testing.T, base string) Account
	// Public are the ids of operations without authentication.
	Public []string
	// Resources creates a resource of an account for every path with a parameter and
	// returns its path: "/api/v1/notes/{id}" → "/api/v1/notes/7".
	Resources func(t *testing.T, base string, a Account) map[string]string
	// Events are events of peers: at least one for every entry of Spec.Receives that the
	// product can handle. Only Type and Data are read.
	Events []hub.Event
	// State returns a text that changes with the product's data of a tenant.
	State func(t *testing.T, host module.Host, tenant uuid.UUID) string
}

// Account is a tenant of the product and its administrator's bearer token.
type Account struct {
	Tenant uuid.UUID
	Token  string
}

// Run checks a product against the contract.
func Run(t *testing.T, c Case) {
	t.Helper()
	spec := c.Module.Spec()
	require.True(t, t.Run("spec", func(t *testing.T) { checkSpec(t, c) }))
	h := Start(t, c.Module, Options{})
	for _, part := range []struct {
		name string
		run  func(*testing.T, Case, *Hub)
	}{
		{"migrations", checkMigrations},
		{"operations", checkOperations},
		{"tokens", checkTokens},
		{"tenants", checkTenants},
		{"sign-up", checkSignUp},
		{"handle", checkHandle},
		{"presenter", checkPresenter},
		{"jobs and pages", checkJobsAndPages},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			part.run(t, c, h)
		})
	}
	require.Equal(t, spec, c.Module.Spec(), "always the same")
}
