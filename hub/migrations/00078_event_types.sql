-- Types of external products' events, and whether what is published is checked against their
-- schemas.
-- +goose Up
alter table hub.products add column validation text not null default 'off' check (validation in ('off', 'warn', 'reject'));

create table hub.event_types (
    id          uuid        primary key,
    product     text        not null references hub.products (name) on update cascade on delete cascade,
    name        text        not null check (length(name) <= 128 and name not like 'hub.%'),
    description text        not null default '' check (length(description) <= 1000),
    schema      text        check (octet_length(schema) <= 65536),  -- JSON Schema 2020-12, as it was given
    example     text        check (octet_length(example) <= 65536), -- JSON object
    deprecated  boolean     not null default false,
    created_at  timestamptz not null default now(),
    updated_at  timestamptz not null default now(),
    unique (product, name)
);

-- A type's schema is part of the configuration of its product.
-- +goose StatementBegin
create or replace function hub.record_config_change() returns trigger language plpgsql as $$
declare
    changed jsonb  := to_jsonb(coalesce(new, old));
    ignored text[] := coalesce(tg_argv, '{}');
begin
    if tg_op = 'UPDATE' and to_jsonb(old) - ignored = changed - ignored then
        return null;
    end if;
    insert into hub.config_changes (tenant_id, product) values (
        case tg_table_name when 'products' then null when 'event_types' then null when 'tenants' then changed ->> 'id' else changed ->> 'tenant_id' end::uuid,
        case tg_table_name when 'products' then changed ->> 'name' when 'event_types' then changed ->> 'product' end);
    update hub.config_version set version = version + 1;
    return null;
end $$;
-- +goose StatementEnd
create trigger config_changed after insert or delete or update of product, name, schema on hub.event_types
    for each row execute function hub.record_config_change('description', 'example', 'deprecated', 'updated_at');
