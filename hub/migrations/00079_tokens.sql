-- +goose NO TRANSACTION
-- API tokens: programs that call the administration API, with a role of operators.
-- +goose Up
create table if not exists hub.tokens (
    id           uuid        primary key,
    name         text        not null check (length(name) between 1 and 120),
    role         text        not null check (role in ('admin', 'support')),
    hash         bytea       not null unique, -- SHA-256 of the token
    last4        text        not null,
    created_by   text        not null, -- the operator's address or label
    created_at   timestamptz not null,
    expires_at   timestamptz check (expires_at > created_at), -- null: never
    last_used_at timestamptz -- to within a minute
);

-- What a token did is in the audit log. The log is not read while it is locked.
alter table hub.audit drop constraint if exists audit_actor_type_check;
alter table hub.audit add constraint audit_actor_type_check check (actor_type in ('operator', 'token', 'key', 'tenant_user', 'system', 'anonymous')) not valid;
alter table hub.audit validate constraint audit_actor_type_check;
