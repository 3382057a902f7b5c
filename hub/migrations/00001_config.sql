-- Configuration: who may do what, and where events go. Small tables, cached by
-- every process; config_version tells a process that its cache is old.
-- +goose Up
create table hub.config_version (
    only_row boolean primary key default true check (only_row),
    version  bigint  not null
);
insert into hub.config_version (version) values (1);

-- +goose StatementBegin
create function hub.bump_config() returns trigger language plpgsql as $$
begin
    update hub.config_version set version = version + 1;
    return null;
end $$;
-- +goose StatementEnd

create table hub.operators (
    id            uuid        primary key,
    email         text        not null,
    name          text        not null,
    role          text        not null check (role in ('admin', 'support')),
    password_hash text        not null,
    disabled      boolean     not null default false,
    created_at    timestamptz not null default now(),
    updated_at    timestamptz not null default now()
);
create unique index operators_email on hub.operators (lower(email));

-- One row per issued refresh token; a family is one login. Using a token twice
-- revokes its whole family.
create table hub.refresh_tokens (
    hash        bytea       primary key,
    family_id   uuid        not null,
    operator_id uuid        not null references hub.operators (id) on delete cascade,
    created_at  timestamptz not null default now(),
    expires_at  timestamptz not null,
    used_at     timestamptz,
    revoked_at  timestamptz
);
create index refresh_tokens_family on hub.refresh_tokens (family_id);
create index refresh_tokens_operator on hub.refresh_tokens (operator_id);
create index refresh_tokens_expiry on hub.refresh_tokens (expires_at);

-- Failed logins of the last 15 minutes, per account and address.
create table hub.login_failures (
    account_hash bytea       not null,
    ip           text        not null,
    at           timestamptz not null default now()
);
create index login_failures_recent on hub.login_failures (account_hash, ip, at);
create index login_failures_expiry on hub.login_failures (at);

create table hub.products (
    name       text        primary key check (name ~ '^[a-z][a-z0-9-]{1,39}$'),
    prefix     text        not null unique check (prefix ~ '^[a-z][a-z0-9]{1,9}$'),
    title      text        not null,
    hosted     boolean     not null default false,
    created_at timestamptz not null default now()
);

create table hub.tenants (
    id           uuid        primary key,
    product      text        not null references hub.products (name),
    name         text        not null,
    external_ref text,
    created_at   timestamptz not null default now()
);
create unique index tenants_external_ref on hub.tenants (product, external_ref) where external_ref is not null;
create index tenants_product on hub.tenants (product, id);

-- An API key. Only its SHA-256 is kept; prefix and last4 are what people see.
create table hub.keys (
    id           uuid        primary key,
    tenant_id    uuid        not null references hub.tenants (id),
    name         text        not null default '',
    environment  text        not null check (environment in ('live', 'test')),
    hash         bytea       not null unique,
    prefix       text        not null,
    last4        text        not null,
    scopes       text[]      not null,
    rate         text        not null,
    created_at   timestamptz not null default now(),
    expires_at   timestamptz,
    revoked_at   timestamptz,
    replaced_by  uuid        references hub.keys (id),
    last_used_at timestamptz,
    unique (tenant_id, id)
);

-- A plain webhook subscription. Secrets are encrypted with the master key.
create table hub.endpoints (
    id                  uuid        primary key,
    tenant_id           uuid        not null references hub.tenants (id),
    environment         text        not null check (environment in ('live', 'test')),
    url                 text        not null,
    event_types         text[]      not null,
    description         text        not null default '',
    enabled             boolean     not null default true,
    disabled_reason     text,
    rate_per_minute     integer     check (rate_per_minute between 1 and 1000000),
    secret              bytea       not null,
    previous_secret     bytea,
    previous_expires_at timestamptz,
    created_at          timestamptz not null default now(),
    updated_at          timestamptz not null default now(),
    deleted_at          timestamptz,
    unique (tenant_id, id)
);
create index endpoints_tenant on hub.endpoints (tenant_id, environment, id) where deleted_at is null;

create trigger config_changed after insert or delete or update of email, name, role, password_hash, disabled
    on hub.operators for each statement execute function hub.bump_config();
create trigger config_changed after insert or delete or update
    on hub.products for each statement execute function hub.bump_config();
create trigger config_changed after insert or delete or update
    on hub.tenants for each statement execute function hub.bump_config();
create trigger config_changed after insert or delete or update of name, scopes, rate, expires_at, revoked_at
    on hub.keys for each statement execute function hub.bump_config();
create trigger config_changed after insert or delete or update
    on hub.endpoints for each statement execute function hub.bump_config();

-- Append-only record of who did what; never values.
create table hub.audit (
    id          uuid        primary key, -- UUIDv7: its order is the order of time
    at          timestamptz not null default now(),
    actor_type  text        not null check (actor_type in ('operator', 'key', 'tenant_user', 'system', 'anonymous')),
    actor_id    text,
    actor_label text,
    action      text        not null,
    resource    text        not null,
    resource_id text,
    tenant_id   uuid,
    ip          text,
    request_id  text,
    status      integer     not null
);
create index audit_tenant on hub.audit (tenant_id, id) where tenant_id is not null;
create index audit_actor on hub.audit (actor_id, id) where actor_id is not null;
create index audit_action on hub.audit (action, id);

-- +goose StatementBegin
create function hub.refuse_change() returns trigger language plpgsql as $$
begin
    raise exception '% is append-only', tg_table_name using errcode = 'HB002';
end $$;
-- +goose StatementEnd
create trigger append_only before update or delete on hub.audit
    for each statement execute function hub.refuse_change();
