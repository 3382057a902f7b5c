-- What changed of the configuration: each change is a row with its tenant or product. A
-- process drops what it keeps in memory of those and of nobody else. A row counts as new
-- for whoever read the configuration in a snapshot that does not see the row's transaction.
-- +goose Up
create table hub.config_changes (
    xid       xid8 not null default pg_current_xact_id(),
    tenant_id uuid,
    product   text,
    check ((tenant_id is null) <> (product is null))
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_insert_threshold = -1);
create index config_changes_xid on hub.config_changes (xid);

-- Changes of before this transaction are deleted: whoever read the configuration in an
-- older snapshot reads all of it again.
create table hub.config_horizon (
    only_row boolean primary key default true check (only_row),
    xid      xid8    not null
);
insert into hub.config_horizon (xid) values ('0');

-- Records a change of a row. The arguments are columns that nobody keeps in memory: a
-- change of those is none. config_version is for processes of the version before.
-- +goose StatementBegin
create function hub.record_config_change() returns trigger language plpgsql as $$
declare
    changed jsonb  := to_jsonb(coalesce(new, old));
    ignored text[] := coalesce(tg_argv, '{}');
begin
    if tg_op = 'UPDATE' and to_jsonb(old) - ignored = changed - ignored then
        return null;
    end if;
    insert into hub.config_changes (tenant_id, product) values (
        case tg_table_name when 'products' then null when 'tenants' then changed ->> 'id' else changed ->> 'tenant_id' end::uuid,
        case tg_table_name when 'products' then changed ->> 'name' end);
    update hub.config_version set version = version + 1;
    return null;
end $$;
-- +goose StatementEnd

drop trigger config_changed on hub.operators; -- nobody keeps them in memory
drop trigger config_changed on hub.products;
drop trigger config_changed on hub.tenants;
drop trigger config_changed on hub.keys;
drop trigger config_changed on hub.endpoints;
drop trigger config_changed on hub.integrations;
drop function hub.bump_config();

-- Nothing is known of a product, tenant or key before it is inserted.
create trigger config_changed after update or delete on hub.products
    for each row execute function hub.record_config_change();
create trigger config_changed after update or delete on hub.tenants
    for each row execute function hub.record_config_change();
create trigger config_changed after delete or update of name, scopes, rate, expires_at, revoked_at, integration_id on hub.keys
    for each row execute function hub.record_config_change('last_used_at', 'replaced_by', 'superseded');
create trigger config_changed after insert or update or delete on hub.endpoints
    for each row execute function hub.record_config_change('description', 'updated_at');
-- Not for what probes and retries write each time.
create trigger config_changed after insert or delete or update of status, api_url, peer_webhook_url, secret, previous_secret,
    previous_expires_at, pending_secret, remote_key, previous_remote_key, event_types, features, enabled on hub.integrations
    for each row execute function hub.record_config_change('handshake', 'register_at', 'register_tries', 'registered_at', 'peer_registered_at',
        'last_error', 'last_health_check', 'failures', 'successes', 'unauthorized_since', 'next_probe_at', 'revoked_at', 'updated_at',
        'draining_since', 'trial_at', 'trial_id');
