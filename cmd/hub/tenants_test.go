package main_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTenantNames(t *testing.T) {
	t.Parallel()
	first, two := newTenant(t), newTenant(t)
	first.run("tenants", "create", "Twins", "--product", first.product, "--external-ref", "4711-"+first.product).requireOK()
	second := first.run("tenants", "create", "Twins", "--product", two.product, "-q").requireOK()
	first.run("tenants", "create", "Twins and Sons", "--product", two.product).requireOK()
	first.run("keys", "list", "--tenant", "Twins").requireFails(2, `several tenants are called "Twins"`, first.product, second+"  "+two.product)
	first.run("keys", "list", "--tenant", "Nobody").requireFails(5, "no tenant has the name", "hub tenants list")
	first.run("keys", "create", "--tenant", "twins", "--product", two.product).requireOK()
	require.Len(t, strings.Split(first.run("keys", "list", "--tenant", second, "-q").requireOK(), "\n"), 1)
	require.Empty(t, first.run("keys", "list", "--tenant", "4711-"+first.product, "-q").requireOK())
}
