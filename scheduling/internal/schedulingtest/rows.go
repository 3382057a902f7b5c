package schedulingtest

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// Snapshot reads everything an organization owns.
func (p *Bookable) Snapshot() string {
	p.T.Helper()
	return TenantRows(p.T, p.Hub.Host.Pool, p.ID)
}

// TenantRows reads an organization's rows in the service's tables, and its keys and
// integrations. The counted e-mails are left out: a job adds them later.
func TenantRows(t testing.TB, db *pgxpool.Pool, org uuid.UUID) string {
	t.Helper()
	tables, err := db.Query(t.Context(), `select c.relname::text from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'org_id'
		where c.relnamespace = 'scheduling'::regnamespace and c.relkind = 'r' and c.relname <> 'booking_emails' order by 1`)
	require.NoError(t, err)
	names, err := pgx.CollectRows(tables, pgx.RowTo[string])
	require.NoError(t, err)
	queries := []string{
		`select string_agg(t::text, E'\n' order by t::text) from scheduling.organizations t where id = $1`,
		`select string_agg(concat_ws(' ', id, revoked_at, expires_at), ', ' order by id) from hub.keys where tenant_id = $1`,
		`select string_agg(concat_ws(' ', id, status, revoked_at, api_url), ', ' order by id) from hub.integrations where tenant_id = $1`,
	}
	for _, name := range names {
		queries = append(queries, `select string_agg(t::text, E'\n' order by t::text) from scheduling.`+name+` t where org_id = $1`)
	}
	var all strings.Builder
	for _, query := range queries {
		var rows *string
		require.NoError(t, db.QueryRow(t.Context(), query, org).Scan(&rows), query)
		if rows != nil {
			all.WriteString(*rows + "\n")
		}
	}
	return all.String()
}

// RequireErased checks for each client whether it was erased.
func (p *Bookable) RequireErased(want map[string]bool) {
	p.T.Helper()
	for id, isErased := range want {
		require.Equal(p.T, isErased, p.Call("GET", "/clients/"+id, nil).Status == 404, id)
	}
}
