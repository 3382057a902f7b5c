package module_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/module"
)

func TestCallerFromContext(t *testing.T) {
	t.Parallel()
	_, ok := module.CallerFrom(t.Context())
	require.False(t, ok)
	caller := module.Caller{TenantID: uuid.New(), Scopes: []string{"patient.search"}}
	got, ok := module.CallerFrom(module.WithCaller(t.Context(), caller))
	require.True(t, ok)
	require.Equal(t, caller, got)
}

func TestCallerHasScope(t *testing.T) {
	t.Parallel()
	require.True(t, module.Caller{Scopes: []string{"patient.search", "record.read"}}.HasScope("record.read"))
	require.True(t, module.Caller{Scopes: []string{"*"}}.HasScope("record.read"))
	require.False(t, module.Caller{Scopes: []string{"patient.search"}}.HasScope("record.read"))
	require.False(t, module.Caller{Admin: true}.HasScope("record.read"), "users have no scopes")
}
