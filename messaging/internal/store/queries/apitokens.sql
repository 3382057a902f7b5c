-- name: InsertAPIToken :one
insert into messaging.api_tokens (company_id, name, prefix, hash, connection_id, expires_at, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $7) returning *;

-- name: APITokenCount :one
select count(*) from messaging.api_tokens where company_id = $1;

-- name: APITokensPage :many
select * from messaging.api_tokens where company_id = sqlc.arg(company_id) order by id desc offset sqlc.arg(skip)::int limit sqlc.arg(max_rows)::int;

-- name: APITokenByHash :one
-- With its company's tenant; revoked and expired ones are not there.
select sqlc.embed(t), c.tenant_id from messaging.api_tokens t join messaging.companies c on c.id = t.company_id
where t.hash = sqlc.arg(hash) and t.revoked_at is null and (t.expires_at is null or t.expires_at > sqlc.arg(at)::timestamptz);

-- name: RevokeAPIToken :execrows
update messaging.api_tokens set revoked_at = coalesce(revoked_at, sqlc.arg(at)::timestamptz), updated_at = sqlc.arg(at)::timestamptz where company_id = sqlc.arg(company_id) and id = sqlc.arg(id);

-- name: TouchAPIToken :exec
-- At most once a minute, so that a busy token is not a busy row.
update messaging.api_tokens set last_used_at = sqlc.arg(at)::timestamptz where company_id = sqlc.arg(company_id) and id = sqlc.arg(id) and (last_used_at is null or last_used_at < sqlc.arg(at)::timestamptz - interval '1 minute');
