-- name: BeginHandshake :one
-- One row for a tenant, environment and product, whoever connects at once. What is
-- in force stays in force until the registration succeeds.
insert into hub.integrations (id, tenant_id, environment, product, status, webhook_url, handshake)
values (sqlc.arg(id), sqlc.arg(tenant_id), sqlc.arg(environment), sqlc.arg(product), 'inactive', sqlc.arg(webhook_url), 1)
on conflict (tenant_id, environment, product) do update
set handshake = hub.integrations.handshake + 1, updated_at = now()
returning *;

-- name: LockOrCreateIntegration :one
-- The row a peer registers with, made where there is none, and locked.
insert into hub.integrations (id, tenant_id, environment, product, status, webhook_url)
values (sqlc.arg(id), sqlc.arg(tenant_id), sqlc.arg(environment), sqlc.arg(product), 'inactive', sqlc.arg(webhook_url))
on conflict (tenant_id, environment, product) do update set updated_at = now()
returning *;

-- name: IntegrationByID :one
-- Not found also when it belongs to another tenant or environment than the caller's.
select * from hub.integrations
where id = sqlc.arg(id)
  and (sqlc.narg(tenant_id)::uuid is null or tenant_id = sqlc.narg(tenant_id))
  and (sqlc.narg(environment)::text is null or environment = sqlc.narg(environment)::text);

-- name: IntegrationWithProduct :one
-- A tenant's integration with a product.
select * from hub.integrations where tenant_id = sqlc.arg(tenant_id) and environment = sqlc.arg(environment) and product = sqlc.arg(product);

-- name: SetIntegrationProduct :execrows
-- For a peer that registered without naming its product, and with which no handshake was
-- begun. Nothing changes if the tenant has an integration with the product.
update hub.integrations i set product = sqlc.arg(product), updated_at = now()
where i.id = sqlc.arg(id) and i.product = sqlc.arg(unnamed) and i.handshake = 0 and i.revoked_at is null and not exists (
    select from hub.integrations o where o.tenant_id = i.tenant_id and o.environment = i.environment and o.product = sqlc.arg(product));

-- name: SetIntegrationOrdered :one
update hub.integrations set ordered = sqlc.arg(ordered), updated_at = now() where id = sqlc.arg(id) returning *;

-- name: SetPeerAccount :exec
-- Whose the peer's key is, unless it was replaced meanwhile.
update hub.integrations set peer_account = sqlc.arg(account)::text where id = sqlc.arg(id) and remote_key = sqlc.arg(remote_key);

-- name: LockIntegration :one
select * from hub.integrations where id = $1 for update;

-- name: ListIntegrations :many
select sqlc.embed(i), t.product as own_product, t.name as tenant_name
from hub.integrations i join hub.tenants t on t.id = i.tenant_id
where (sqlc.narg(tenant_id)::uuid is null or i.tenant_id = sqlc.narg(tenant_id))
  and (sqlc.narg(environment)::text is null or i.environment = sqlc.narg(environment)::text)
  and (sqlc.narg(product)::text is null or i.product = sqlc.narg(product)::text)
  and (sqlc.narg(status)::text is null or i.status = sqlc.narg(status)::text)
  and (sqlc.narg(before)::uuid is null or i.id < sqlc.narg(before)::uuid)
order by i.id desc limit sqlc.arg(row_limit);

-- name: UpdateIntegration :one
-- Everything a handshake may change. Probes have statements of their own.
update hub.integrations
set status = sqlc.arg(status), disabled = sqlc.arg(disabled), api_url = sqlc.arg(api_url), webhook_url = sqlc.arg(webhook_url), peer_webhook_url = sqlc.arg(peer_webhook_url),
    secret = sqlc.narg(secret), previous_secret = sqlc.narg(previous_secret), previous_expires_at = sqlc.narg(previous_expires_at),
    pending_secret = sqlc.narg(pending_secret), rotations = sqlc.arg(rotations), rotation_overlap_seconds = sqlc.narg(rotation_overlap_seconds), remote_key = sqlc.narg(remote_key), remote_last4 = sqlc.arg(remote_last4),
    previous_remote_key = sqlc.narg(previous_remote_key), link = sqlc.arg(link),
    pending_key = sqlc.narg(pending_key), pending_key_id = sqlc.narg(pending_key_id),
    features = sqlc.arg(features), enabled = sqlc.arg(enabled), event_types = sqlc.arg(event_types),
    peer_integration_id = sqlc.narg(peer_integration_id), peer_account = sqlc.narg(peer_account), account_since = sqlc.narg(account_since), register_at = sqlc.narg(register_at), register_tries = sqlc.arg(register_tries),
    registered_at = sqlc.narg(registered_at), registered_events = sqlc.arg(registered_events), peer_registered_at = sqlc.narg(peer_registered_at), last_error = sqlc.narg(last_error),
    failures = sqlc.arg(failures), successes = sqlc.arg(successes), unauthorized_since = sqlc.narg(unauthorized_since),
    next_probe_at = sqlc.narg(next_probe_at), revoked_at = sqlc.narg(revoked_at), updated_at = now()
where id = sqlc.arg(id)
returning *;

-- name: ProductsWithIntegrations :many
select name from hub.products p where exists (select from hub.tenants t join hub.integrations i on i.tenant_id = t.id where t.product = p.name);

-- name: ScheduleOutdatedRegistrations :execrows
-- Integrations in use whose peers were registered for other event types than the tenants'
-- product receives now.
update hub.integrations i set register_at = sqlc.arg(at)::timestamptz
from hub.tenants t
where t.id = i.tenant_id and t.product = sqlc.arg(product) and i.status = 'active' and i.registered_at is not null and i.register_at is null
  and i.registered_events is distinct from sqlc.arg(events)::text[];

-- name: ClaimDueRegistrations :many
-- Registrations to be tried again now; each is put off, so that nobody else takes it.
update hub.integrations set register_at = sqlc.arg(until)::timestamptz
where id in (
    select i.id from hub.integrations i where i.register_at <= sqlc.arg(at)::timestamptz
    order by i.register_at limit sqlc.arg(row_limit) for update skip locked)
returning id;

-- name: ClaimDueProbes :many
update hub.integrations set next_probe_at = sqlc.arg(until)::timestamptz
where id in (
    select i.id from hub.integrations i where i.next_probe_at <= sqlc.arg(at)::timestamptz
    order by i.next_probe_at limit sqlc.arg(row_limit) for update skip locked)
returning id;

-- name: RecordProbe :exec
-- A probe that changed nothing but the counters.
update hub.integrations
set last_health_check = sqlc.arg(at)::timestamptz, failures = sqlc.arg(failures), successes = sqlc.arg(successes),
    unauthorized_since = sqlc.narg(unauthorized_since), last_error = sqlc.narg(last_error), next_probe_at = sqlc.narg(next_probe_at),
    peer_account = sqlc.narg(peer_account)
where id = sqlc.arg(id);

-- name: RecordHealthChange :exec
-- A probe that changed the status.
update hub.integrations
set status = sqlc.arg(status), features = sqlc.arg(features), last_health_check = sqlc.arg(at)::timestamptz,
    failures = sqlc.arg(failures), successes = sqlc.arg(successes), unauthorized_since = sqlc.narg(unauthorized_since),
    last_error = sqlc.narg(last_error), next_probe_at = sqlc.narg(next_probe_at), peer_account = sqlc.narg(peer_account), updated_at = now()
where id = sqlc.arg(id);

-- name: BindKeyToIntegration :execrows
-- A key speaks for one integration; binding it again to the same one takes it back
-- into use, where another had replaced it.
update hub.keys set integration_id = sqlc.arg(integration_id)::uuid, superseded = false
where id = sqlc.arg(id) and tenant_id = sqlc.arg(tenant_id)
  and (integration_id is null or integration_id = sqlc.arg(integration_id)::uuid);

-- name: ExpireOtherKeys :exec
-- The keys an integration had before its new one end with the overlap.
update hub.keys set expires_at = least(expires_at, sqlc.arg(until)::timestamptz), superseded = true
where integration_id = sqlc.arg(integration_id)::uuid and id <> sqlc.arg(keep)::uuid and revoked_at is null
  and (not superseded or expires_at > sqlc.arg(until)::timestamptz);

-- name: RevokeIntegrationKeys :exec
update hub.keys set revoked_at = sqlc.arg(at)::timestamptz
where integration_id = sqlc.arg(integration_id)::uuid and revoked_at is null;

-- name: ActiveIntegrationKeys :many
-- The keys in force, newest first: what people see of api_key_local.
select integration_id, id, prefix, last4 from hub.keys
where integration_id = any (sqlc.arg(ids)::uuid[]) and revoked_at is null and (expires_at is null or expires_at > sqlc.arg(at)::timestamptz)
order by id desc;

-- name: IntegrationKeyByHash :one
select * from hub.keys where hash = sqlc.arg(hash) and tenant_id = sqlc.arg(tenant_id) and environment = sqlc.arg(environment)
  and revoked_at is null and (expires_at is null or expires_at > sqlc.arg(at)::timestamptz);

-- name: DeleteOldReceived :execrows
-- 45 days are longer than the oldest accepted event, and than any delivery stays parked. A process
-- whose clock is ahead deletes none that is not old by the database's clock too.
delete from hub.received where (integration_id, event_id) in (
    select r.integration_id, r.event_id from hub.received r
    where r.received_at < least(sqlc.arg(at)::timestamptz, now()) - interval '45 days' limit sqlc.arg(row_limit));

-- name: DeleteOldRefused :execrows
delete from hub.refused where seq in (
    select r.seq from hub.refused r
    where r.created_at < least(sqlc.arg(at)::timestamptz, now()) - interval '45 days' limit sqlc.arg(row_limit));

-- name: IntegrationsOfTenants :many
-- Integrations of pairs of tenant and environment, with their tenants.
select sqlc.embed(i), sqlc.embed(t)
from (select unnest(sqlc.arg(tenants)::uuid[]) as tenant_id, unnest(sqlc.arg(environments)::text[]) as environment) wanted
join hub.integrations i on i.tenant_id = wanted.tenant_id and i.environment = wanted.environment
join hub.tenants t on t.id = i.tenant_id
order by i.id desc;
