-- +goose Up
create table users (
    id       uuid    primary key,
    email    text    not null unique,
    password text    not null default '',
    active   boolean not null default true
);
create table refresh_tokens (
    hash       bytea       primary key,
    family_id  uuid        not null,
    user_id    uuid        not null references users (id) on delete cascade,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    used_at    timestamptz,
    revoked_at timestamptz
);
create table mailed_tokens (
    hash       bytea       primary key,
    user_id    uuid        not null references users (id) on delete cascade,
    purpose    text        not null,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    used_at    timestamptz
);
create table login_failures (
    account_hash bytea       not null,
    ip           text        not null,
    at           timestamptz not null
);
create index login_failures_recent on login_failures (account_hash, ip, at);
create table known_logins (
    account_hash bytea       not null,
    ip           text        not null,
    at           timestamptz not null,
    primary key (account_hash, ip)
);
