-- name: CountEndpoints :one
select count(*) from hub.endpoints where tenant_id = $1 and deleted_at is null;

-- name: CountOperationalEndpoints :one
-- Endpoints of a tenant and environment that get operational events, but for one of them, and
-- whether this one gets them.
select count(*) filter (where id <> sqlc.arg(endpoint_id)) as others, coalesce(bool_or(id = sqlc.arg(endpoint_id)), false)::boolean as is_one
from hub.endpoints where tenant_id = sqlc.arg(tenant_id) and environment = sqlc.arg(environment) and deleted_at is null
  and exists (select from unnest(event_types) pattern where starts_with(pattern, 'hub.'));

-- name: CreateEndpoint :one
insert into hub.endpoints (id, tenant_id, environment, url, event_types, description, enabled, rate_per_minute, ordered, filter, secret, standard_signature, headers, client_certificate, client_key)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) returning *;

-- name: EndpointByID :one
-- Not found also when it belongs to another tenant or environment than the caller's. Those of
-- alerts, which belong to no tenant, are found by the nil UUID alone.
select * from hub.endpoints
where id = sqlc.arg(id) and deleted_at is null
  and (sqlc.narg(tenant_id)::uuid is null and tenant_ref is not null or tenant_id = sqlc.narg(tenant_id))
  and (sqlc.narg(environment)::text is null or environment = sqlc.narg(environment)::text);

-- name: FilterErrorsOf :many
select * from hub.filter_errors where endpoint_id = any(sqlc.arg(endpoint_ids)::uuid[]);

-- name: EndpointWasDeleted :one
select exists (select from hub.endpoints
where id = sqlc.arg(id) and deleted_at is not null
  and (sqlc.narg(tenant_id)::uuid is null and tenant_ref is not null or tenant_id = sqlc.narg(tenant_id))
  and (sqlc.narg(environment)::text is null or environment = sqlc.narg(environment)::text))::boolean;

-- name: ListEndpoints :many
select sqlc.embed(e), t.product from hub.endpoints e join hub.tenants t on t.id = e.tenant_id
where e.deleted_at is null
  and (sqlc.narg(tenant_id)::uuid is null or e.tenant_id = sqlc.narg(tenant_id))
  and (sqlc.narg(product)::text is null or t.product = sqlc.narg(product))
  and (sqlc.narg(environment)::text is null or e.environment = sqlc.narg(environment)::text)
  and (sqlc.narg(enabled)::boolean is null or e.enabled = sqlc.narg(enabled))
  and (sqlc.narg(before)::uuid is null or e.id < sqlc.narg(before)::uuid)
order by e.id desc limit sqlc.arg(row_limit);

-- name: UpdateEndpoint :one
update hub.endpoints
set url = sqlc.arg(url), event_types = sqlc.arg(event_types), description = sqlc.arg(description),
    enabled = sqlc.arg(enabled), rate_per_minute = sqlc.narg(rate_per_minute), ordered = sqlc.arg(ordered), filter = sqlc.narg(filter),
    headers = case when sqlc.arg(set_headers)::boolean then sqlc.narg(headers)::bytea else headers end,
    client_certificate = case when sqlc.arg(set_certificate)::boolean then sqlc.narg(client_certificate)::text else client_certificate end,
    client_key = case when sqlc.arg(set_certificate)::boolean then sqlc.narg(client_key)::bytea else client_key end,
    disabled_reason = case when sqlc.arg(enabled) then null else disabled_reason end, updated_at = now()
where id = sqlc.arg(id) and deleted_at is null
  and (sqlc.narg(tenant_id)::uuid is null and tenant_ref is not null or tenant_id = sqlc.narg(tenant_id))
  and (sqlc.narg(environment)::text is null or environment = sqlc.narg(environment)::text)
returning *;

-- name: RotateEndpointSecret :one
update hub.endpoints
set previous_secret = case when sqlc.narg(previous_expires_at)::timestamptz is null then null else secret end,
    previous_expires_at = sqlc.narg(previous_expires_at)::timestamptz,
    previous_standard_signature = standard_signature, switch_at_end = sqlc.arg(switch_at_end),
    secret = sqlc.arg(secret), standard_signature = sqlc.arg(standard_signature), updated_at = now()
where id = sqlc.arg(id) and deleted_at is null
  and (sqlc.narg(tenant_id)::uuid is null and tenant_ref is not null or tenant_id = sqlc.narg(tenant_id))
  and (sqlc.narg(environment)::text is null or environment = sqlc.narg(environment)::text)
returning *;

-- name: DeleteEndpoint :one
update hub.endpoints set deleted_at = now(), enabled = false, updated_at = now()
where id = sqlc.arg(id) and deleted_at is null
  and (sqlc.narg(tenant_id)::uuid is null and tenant_ref is not null or tenant_id = sqlc.narg(tenant_id))
  and (sqlc.narg(environment)::text is null or environment = sqlc.narg(environment)::text)
returning tenant_id;

-- name: UpdateAlertEndpoint :execrows
-- Of an alert: it belongs to no tenant.
update hub.endpoints
set url = sqlc.arg(url), enabled = sqlc.arg(enabled), disabled_reason = case when sqlc.arg(enabled) then null else disabled_reason end, updated_at = now()
where id = sqlc.arg(id) and tenant_ref is null and deleted_at is null;
