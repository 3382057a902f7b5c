package moduletest

import (
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// erasureTime is how long a test waits for the erasure of a small tenant.
const erasureTime = 30 * time.Second

// OperatorStatus calls the hub's own API as an operator and returns the response's status.
func (h *Hub) OperatorStatus(method, path string) int {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.URL+path, http.NoBody)
	require.NoError(h.t, err)
	req.Header.Set("Authorization", "Bearer "+h.OperatorToken)
	res, err := hubtest.HTTPClient.Do(req)
	require.NoError(h.t, err)
	require.NoError(h.t, res.Body.Close())
	return res.StatusCode
}

// Suspend suspends a tenant, and waits until its process knows.
func (h *Hub) Suspend(tenant uuid.UUID) {
	h.t.Helper()
	require.Equal(h.t, http.StatusOK, h.OperatorStatus(http.MethodPost, "/api/v1/tenants/"+tenant.String()+"/suspend"))
	require.Eventually(h.t, func() bool { return h.Host.Tenants.CheckActive(tenant) != nil }, erasureTime, 10*time.Millisecond)
}

// DeleteTenant suspends and deletes a tenant, and waits until all is erased.
func (h *Hub) DeleteTenant(tenant uuid.UUID) {
	h.t.Helper()
	path := "/api/v1/tenants/" + tenant.String()
	require.Equal(h.t, http.StatusConflict, h.OperatorStatus(http.MethodDelete, path), "it is not suspended")
	h.Suspend(tenant)
	require.Equal(h.t, http.StatusOK, h.OperatorStatus(http.MethodDelete, path))
	require.Equal(h.t, http.StatusConflict, h.OperatorStatus(http.MethodPost, path+"/resume"))
	require.Eventually(h.t, func() bool { return h.OperatorStatus(http.MethodGet, path) == http.StatusNotFound }, erasureTime, 20*time.Millisecond)
}

// RowCounts returns how many rows of a tenant each table of the product has, of those that have
// any. column has the tenant's key in all tables but the root, where it is id. Tables without the
// column have to be among the others.
func (h *Hub) RowCounts(root, column string, key any, others ...string) map[string]int {
	h.t.Helper()
	rows, err := h.Host.Pool.Query(h.t.Context(), `
		select c.relname::text, exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = $2) from pg_class c
		where c.relnamespace = to_regnamespace($1) and c.relkind in ('r', 'p') and not c.relispartition`, h.product, column)
	require.NoError(h.t, err)
	counts := make(map[string]int)
	var table string
	var isKeyed bool
	var unkeyed []string
	tables := make(map[string]string)
	_, err = pgx.ForEachRow(rows, []any{&table, &isKeyed}, func() error {
		switch {
		case table == root:
			tables[table] = "id"
		case isKeyed:
			tables[table] = column
		default:
			unkeyed = append(unkeyed, table)
		}
		return nil
	})
	require.NoError(h.t, err)
	slices.Sort(unkeyed)
	require.Equal(h.t, others, unkeyed, "tables without %s: are they a tenant's? Then an erasure has to find its rows", column)
	for name, of := range tables {
		var n int
		query := `select count(*) from ` + pgx.Identifier{h.product, name}.Sanitize() + ` where ` + pgx.Identifier{of}.Sanitize() + ` = $1`
		require.NoError(h.t, h.Host.Pool.QueryRow(h.t.Context(), query, key).Scan(&n))
		if n > 0 {
			counts[name] = n
		}
	}
	return counts
}
