-- name: CreateProduct :one
insert into hub.products (name, prefix, title, hosted, validation) values ($1, $2, $3, $4, $5) returning *;

-- name: ProductByName :one
select * from hub.products where name = $1;

-- name: ListProducts :many
select * from hub.products where name > sqlc.arg(after) order by name limit sqlc.arg(row_limit);

-- name: ExternalProductsNamed :many
-- Columns of the first version alone: it is asked before the migrations.
select name, prefix from hub.products
where not hosted and (name = any(sqlc.arg(names)::text[]) or prefix = any(sqlc.arg(prefixes)::text[])) order by name;

-- name: ProductForUpdate :one
select * from hub.products where name = $1 for update;

-- name: RenameProduct :one
-- The foreign keys are checked when both tables are changed.
with moved as (
    update hub.tenants t set product = sqlc.arg(new_name) where t.product = sqlc.arg(name) and sqlc.arg(new_name)::text <> sqlc.arg(name)
)
update hub.products p set name = sqlc.arg(new_name), prefix = sqlc.arg(new_prefix) where p.name = sqlc.arg(name) returning *;

-- name: CreateTenant :one
insert into hub.tenants (id, product, name, external_ref) values ($1, $2, $3, $4) returning *;

-- name: TenantByID :one
select * from hub.tenants where id = $1 and deleted_at is null;

-- name: TenantForUpdate :one
-- Locked, with whether its product is hosted. Deliveries and keys refer to it meanwhile.
select sqlc.embed(t), p.hosted from hub.tenants t join hub.products p on p.name = t.product
where t.id = $1 and t.deleted_at is null for no key update of t;

-- name: UpdateTenant :exec
update hub.tenants
set name = sqlc.arg(name), external_ref = sqlc.narg(external_ref),
    limit_endpoints = sqlc.narg(limit_endpoints), limit_deliveries_per_request = sqlc.narg(limit_deliveries_per_request),
    limit_in_flight = sqlc.narg(limit_in_flight), limit_queue = sqlc.narg(limit_queue)
where id = sqlc.arg(id);

-- name: SetTenantSuspended :one
update hub.tenants set suspended_at = case when sqlc.arg(suspended)::boolean then now() end where id = sqlc.arg(id) returning *;

-- name: ListTenants :many
select * from hub.tenants
where deleted_at is null and (sqlc.narg(product)::text is null or product = sqlc.narg(product))
  and (sqlc.narg(external_ref)::text is null or external_ref = sqlc.narg(external_ref))
  and (sqlc.narg(pattern)::text is null or name ilike sqlc.narg(pattern) or external_ref ilike sqlc.narg(pattern))
  and (sqlc.narg(before)::uuid is null or id < sqlc.narg(before)::uuid)
order by id desc limit sqlc.arg(row_limit);

-- name: UpsertHostedProduct :exec
-- Changes nothing where an external product has the name.
insert into hub.products (name, prefix, title, hosted) values ($1, $2, $3, true)
on conflict (name) do update set prefix = excluded.prefix, title = excluded.title
where hub.products.hosted and (hub.products.prefix, hub.products.title) is distinct from (excluded.prefix, excluded.title);

-- name: UpsertTenant :execrows
-- A hosted product's tenant; nothing where it is as it should be, or the id is another
-- product's.
insert into hub.tenants (id, product, name, external_ref) values ($1, $2, $3, $4)
on conflict (id) do update set name = excluded.name, external_ref = excluded.external_ref
where hub.tenants.product = excluded.product and (hub.tenants.name, hub.tenants.external_ref) is distinct from (excluded.name, excluded.external_ref);

-- name: TenantOfProduct :one
select * from hub.tenants where id = $1 and product = $2;

-- name: TenantByExternalRef :one
select * from hub.tenants where external_ref = sqlc.arg(ref)::text and product = sqlc.arg(product);

-- name: ProductsOfTenants :many
select id, product from hub.tenants where id = any(sqlc.arg(ids)::uuid[]);

-- name: LockTenantToDelete :one
-- Whether its product is hosted, and whether it has integrations. Nothing can be made for
-- it meanwhile.
select sqlc.embed(t), p.hosted, exists (select from hub.integrations i where i.tenant_id = t.id)::boolean as connected
from hub.tenants t join hub.products p on p.name = t.product where t.id = $1 and t.deleted_at is null for update of t;

-- name: MarkTenantEndpointsDeleted :execrows
update hub.endpoints set deleted_at = now(), enabled = false, updated_at = now() where tenant_id = $1 and deleted_at is null;

-- name: DeleteTenantEndpoints :exec
delete from hub.endpoints where tenant_id = $1;

-- name: DeleteTenantKeys :one
-- Returns how many of them were in force.
with deleted as (
    delete from hub.keys where tenant_id = sqlc.arg(tenant_id) returning revoked_at, expires_at)
select count(*) from deleted where revoked_at is null and (expires_at is null or expires_at > sqlc.arg(at)::timestamptz);

-- name: RevokeTenantKeys :execrows
update hub.keys set revoked_at = sqlc.arg(at)::timestamptz
where tenant_id = sqlc.arg(tenant_id) and revoked_at is null and (expires_at is null or expires_at > sqlc.arg(at)::timestamptz);

-- name: RequestTenantDeletion :one
update hub.tenants set deletion_requested_at = now() where id = $1 returning *;

-- name: IntegrationsToEnd :many
-- Of a tenant that is being deleted.
select id from hub.integrations where tenant_id = $1 and revoked_at is null order by id;

-- name: SetTenantDeleted :execrows
-- Nothing if that was done before.
update hub.tenants set name = '(deleted)', external_ref = null, deleted_at = now()
where id = $1 and deletion_requested_at is not null and deleted_at is null;

-- name: DeleteTenantMails :exec
delete from hub.mails where tenant_id = $1;

-- name: RequestTenantErasure :exec
insert into hub.erasures (seq, tenant_id, environment, whole_tenant) values (sqlc.arg(id), sqlc.arg(tenant_id), sqlc.arg(environment), true);

-- name: DeleteTenant :exec
delete from hub.tenants where id = $1;

-- name: CountProductUses :one
select (select count(*) from hub.tenants t where t.product = sqlc.arg(name)) as tenants,
    (select count(*) from hub.integrations i where i.product = sqlc.arg(name) and i.revoked_at is null) as integrations;

-- name: DeleteProduct :exec
delete from hub.products where name = $1;
