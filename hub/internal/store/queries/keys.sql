-- name: CreateKey :one
insert into hub.keys (id, tenant_id, name, environment, hash, prefix, last4, scopes, rate, expires_at, integration_id, link)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) returning *;

-- name: KeyByID :one
-- Not found also when it belongs to another tenant or environment than the caller's.
select * from hub.keys where id = sqlc.arg(id) and tenant_id = sqlc.arg(tenant_id) and environment = sqlc.arg(environment);

-- name: IsLinkKey :one
select exists (select from hub.keys where hash = $1 and link);

-- name: LockKey :one
select * from hub.keys where id = $1 for update;

-- name: LockKeysOf :exec
-- Keys of a tenant and environment are counted and made by one transaction at a time.
select pg_advisory_xact_lock(hashtextextended('hub.keys/' || sqlc.arg(tenant_id)::uuid::text || '/' || sqlc.arg(environment)::text, 0));

-- name: CountValidKeys :one
-- Valid keys with a rate of their own: those of an integration share its rate. A key that was
-- replaced is valid until its overlap ends.
select count(*) from hub.keys
where tenant_id = sqlc.arg(tenant_id) and environment = sqlc.arg(environment) and revoked_at is null and integration_id is null and not link
  and (replaced_by is not null) = sqlc.arg(replaced)::bool and (expires_at is null or expires_at > sqlc.arg(at)::timestamptz);

-- name: ListKeys :many
select sqlc.embed(k), t.product, t.name as tenant_name from hub.keys k join hub.tenants t on t.id = k.tenant_id
where (sqlc.narg(tenant_id)::uuid is null or k.tenant_id = sqlc.narg(tenant_id))
  and (sqlc.narg(product)::text is null or t.product = sqlc.narg(product))
  and (sqlc.narg(environment)::text is null or k.environment = sqlc.narg(environment)::text)
  and (sqlc.narg(before)::uuid is null or k.id < sqlc.narg(before)::uuid)
order by k.id desc limit sqlc.arg(row_limit);

-- name: ExpireReplacedKey :exec
-- The old key of a rotation: valid until the overlap ends, and never longer than it
-- would have been.
update hub.keys set replaced_by = sqlc.arg(replaced_by)::uuid, expires_at = least(expires_at, sqlc.arg(until)::timestamptz)
where id = sqlc.arg(id);

-- name: RevokeKey :one
-- Returns the key's tenant. One that is revoked already stays as it is.
with ended as (
    update hub.keys set revoked_at = sqlc.arg(at)::timestamptz where keys.id = sqlc.arg(id) and revoked_at is null)
select k.tenant_id from hub.keys k where k.id = sqlc.arg(id);

-- name: KeyWithTenantByHash :one
-- With how events of the product are checked.
select sqlc.embed(k), t.product, t.name as tenant_name, t.external_ref, t.suspended_at, p.validation
from hub.keys k join hub.tenants t on t.id = k.tenant_id join hub.products p on p.name = t.product
where k.hash = sqlc.arg(hash) and k.revoked_at is null
  and (k.expires_at is null or k.expires_at > sqlc.arg(at)::timestamptz);

-- name: KeysWithTenantByHash :many
select sqlc.embed(k), t.product, t.name as tenant_name, t.external_ref, t.suspended_at, p.validation
from hub.keys k join hub.tenants t on t.id = k.tenant_id join hub.products p on p.name = t.product
where k.hash = any(sqlc.arg(hashes)::bytea[]) and k.revoked_at is null
  and (k.expires_at is null or k.expires_at > sqlc.arg(at)::timestamptz);
