-- Operational events and alerts. A change that operators or tenants want to know of leaves a
-- signal in its own transaction; a job makes events of the signals. Episodes are the memory of
-- what was published already: one event for each.
-- +goose Up

-- Endpoints of alerts belong to no tenant: tenant_id is the nil UUID. tenant_ref is the tenant
-- where there is one.
alter table hub.endpoints drop constraint endpoints_tenant_id_fkey;
alter table hub.endpoints add column tenant_ref uuid generated always as (nullif(tenant_id, '00000000-0000-0000-0000-000000000000'::uuid)) stored references hub.tenants (id);
create index endpoints_tenant_ref on hub.endpoints (tenant_ref); -- deleting a tenant looks for its endpoints

create table hub.alerts (
    id         uuid        primary key, -- of a webhook: its endpoint's too
    kind       text        not null check (kind in ('email', 'webhook')),
    target     text        not null check (octet_length(target) between 1 and 2048), -- an address
    events     text[]      not null check (cardinality(events) between 1 and 100),
    product    text,                    -- only those of this product's tenants
    tenant_id  uuid references hub.tenants (id) on delete cascade, -- only this tenant's
    enabled    boolean     not null default true,
    mailed_at  timestamptz,             -- when the last mail was written
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);
-- The endpoint of an alert ends with it.
-- +goose StatementBegin
create function hub.end_alert_endpoint() returns trigger language plpgsql as $$
begin
    update hub.endpoints set deleted_at = now(), enabled = false, updated_at = now() where id = old.id and tenant_ref is null and deleted_at is null;
    return null;
end $$;
-- +goose StatementEnd
create trigger end_endpoint after delete on hub.alerts for each row when (old.kind = 'webhook') execute function hub.end_alert_endpoint();

-- What the next mail of an alert says.
create table hub.alert_notices (
    id       bigint      generated always as identity primary key,
    alert_id uuid        not null references hub.alerts (id) on delete cascade,
    notice   text        not null,
    at       timestamptz not null default now()
);
create index alert_notices_alert on hub.alert_notices (alert_id, id);

create table hub.signals (
    id          bigint      generated always as identity primary key,
    event_type  text        not null,
    tenant_id   uuid        not null,
    environment text        not null,
    details     jsonb       not null, -- the event's data, as far as the change knows it
    due_at      timestamptz not null default now(), -- later where publishing it failed
    created_at  timestamptz not null default now()
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_insert_threshold = -1);
create index signals_tenant on hub.signals (tenant_id, id);

create table hub.episodes (
    kind       text        not null, -- parked, integration, or inbox/ and a product
    subject_id uuid        not null,
    began_at   timestamptz not null default now(),
    ended_at   timestamptz,          -- null: it goes on
    primary key (kind, subject_id)
) with (fillfactor = 50);
create index episodes_ended on hub.episodes (ended_at) where ended_at is not null;

-- Begins an episode and reports whether it is a new one: one that begins again soon after its
-- end is the same.
-- +goose StatementBegin
create function hub.begin_episode(of_kind text, of_subject uuid, quiet interval) returns boolean language plpgsql as $$
begin
    insert into hub.episodes as e (kind, subject_id) values (of_kind, of_subject)
    on conflict (kind, subject_id) do update set began_at = now(), ended_at = null where e.ended_at <= now() - quiet;
    if found then
        return true;
    end if;
    update hub.episodes set ended_at = null where kind = of_kind and subject_id = of_subject and ended_at is not null;
    return false;
end $$;
-- +goose StatementEnd

-- Endpoints that every attempt has failed at since some time. Rolling up statistics maintains
-- it.
create table hub.endpoint_failures (
    endpoint_id      uuid        primary key,
    since            timestamptz not null, -- no attempt succeeded since
    attempts         integer     not null,
    announced_at     timestamptz,          -- hub.endpoint.failing was published
    delivering_since timestamptz           -- of an announced one: attempts succeed again
) with (fillfactor = 50);
create index endpoint_failures_due on hub.endpoint_failures (since) where announced_at is null;
create index endpoint_failures_recovered on hub.endpoint_failures (delivering_since) where delivering_since is not null;

-- Keys that end: whether hub.key.expiring was published.
alter table hub.keys add column expiry_announced_at timestamptz;
create index keys_expiring on hub.keys (expires_at) where expires_at is not null and revoked_at is null and expiry_announced_at is null;

-- +goose StatementBegin
create function hub.signal_endpoint() returns trigger language plpgsql as $$
begin
    if new.abandoned_at is not null and old.abandoned_at is null then
        insert into hub.signals (event_type, tenant_id, environment, details) values ('hub.endpoint.abandoned', new.tenant_id, new.environment,
            jsonb_build_object('endpoint_id', new.id, 'url', new.url, 'disabled_at', new.disabled_at, 'abandoned_at', new.abandoned_at));
    else
        insert into hub.signals (event_type, tenant_id, environment, details) values ('hub.endpoint.disabled', new.tenant_id, new.environment,
            jsonb_build_object('endpoint_id', new.id, 'url', new.url, 'reason', new.disabled_reason, 'disabled_at', new.disabled_at));
    end if;
    return null;
end $$;
-- +goose StatementEnd
create trigger signal after update of enabled, abandoned_at on hub.endpoints for each row
    when (new.tenant_ref is not null and new.deleted_at is null and (new.abandoned_at is not null and old.abandoned_at is null
        or old.enabled and not new.enabled and new.disabled_reason is not null))
    execute function hub.signal_endpoint();

-- +goose StatementBegin
create function hub.signal_integration() returns trigger language plpgsql as $$
declare
    began timestamptz;
begin
    if new.status = 'error' then
        if hub.begin_episode('integration', new.id, interval '0') then
            insert into hub.signals (event_type, tenant_id, environment, details) values ('hub.integration.error', new.tenant_id, new.environment,
                jsonb_build_object('integration_id', new.id, 'peer', new.product, 'error', coalesce(new.last_error, ''), 'error_since', new.error_at));
        end if;
        return null;
    end if;
    delete from hub.episodes where kind = 'integration' and subject_id = new.id returning began_at into began;
    if found then
        insert into hub.signals (event_type, tenant_id, environment, details) values ('hub.integration.recovered', new.tenant_id, new.environment,
            jsonb_build_object('integration_id', new.id, 'peer', new.product, 'error_since', began, 'recovered_at', now()));
    end if;
    return null;
end $$;
-- +goose StatementEnd
create trigger signal after update of status on hub.integrations for each row
    when (new.status is distinct from old.status and new.status in ('error', 'active'))
    execute function hub.signal_integration();
insert into hub.episodes (kind, subject_id, began_at) select 'integration', id, coalesce(error_at, now()) from hub.integrations where status = 'error';

-- The episode of parked deliveries ends when none is left.
-- +goose StatementBegin
create function hub.end_parked() returns trigger language plpgsql as $$
begin
    update hub.episodes set ended_at = now() where kind = 'parked' and subject_id = old.target_id and ended_at is null;
    return null;
end $$;
-- +goose StatementEnd
create trigger end_parked after delete on hub.drains for each row execute function hub.end_parked();
insert into hub.episodes (kind, subject_id) select 'parked', target_id from hub.drains where state <> 'ending';

-- Processes read the configuration again when an alert's endpoint changes: the trigger
-- config_changed of hub.endpoints names the nil UUID then.
