-- Who uses the product: clinics and their users. Accounts have no environment: the
-- same people look after live and test data.
-- +goose Up
create table clinic.clinics (
    id         uuid        primary key,
    name       text        not null check (char_length(name) between 1 and 120),
    timezone   text        not null default 'America/Sao_Paulo', -- IANA name
    reveal_cpf boolean     not null default false, -- administrators may see whole tax ids, each time on record
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);

create table clinic.users (
    clinic_id     uuid        not null references clinic.clinics (id) on delete cascade,
    id            uuid        not null unique, -- tokens name the user alone
    name          text        not null check (char_length(name) between 1 and 120),
    email         text        not null,
    password_hash text,       -- null: invited, no password set yet
    role          text        not null check (role in ('admin', 'staff')),
    is_active     boolean     not null default true,
    created_at    timestamptz not null default now(),
    updated_at    timestamptz not null default now(),
    primary key (clinic_id, id)
);
create unique index users_email on clinic.users (lower(email)); -- among all clinics

-- One row per issued refresh token; a family is one login. Using a token twice
-- revokes its whole family.
create table clinic.refresh_tokens (
    hash       bytea       primary key,
    family_id  uuid        not null,
    user_id    uuid        not null references clinic.users (id) on delete cascade,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    used_at    timestamptz,
    revoked_at timestamptz
);
create index refresh_tokens_family on clinic.refresh_tokens (family_id);
create index refresh_tokens_user on clinic.refresh_tokens (user_id);
create index refresh_tokens_expiry on clinic.refresh_tokens (expires_at);

-- Failed logins of the last 15 minutes, per account and address.
create table clinic.login_failures (
    account_hash bytea       not null,
    ip           text        not null,
    at           timestamptz not null default now()
);
create index login_failures_recent on clinic.login_failures (account_hash, ip, at);
create index login_failures_expiry on clinic.login_failures (at);

-- Links sent by e-mail, good for one use: a forgotten password, an invitation.
create table clinic.mailed_tokens (
    hash       bytea       primary key, -- SHA-256; the token is in the mail only
    user_id    uuid        not null references clinic.users (id) on delete cascade,
    purpose    text        not null check (purpose in ('reset', 'invite')),
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    used_at    timestamptz
);
create index mailed_tokens_user on clinic.mailed_tokens (user_id);
create index mailed_tokens_expiry on clinic.mailed_tokens (expires_at);
