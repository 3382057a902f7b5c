-- Who uses the product: companies and their users. Ids of the API are numbers; the hub
-- knows a company by its tenant id and a user by uid.
-- +goose Up
create table messaging.companies (
    id             bigint      generated always as identity primary key,
    tenant_id      uuid        not null unique,
    name           text        not null check (char_length(name) between 1 and 120),
    phone          text        not null default '',
    email          text        not null default '',
    timezone       text        not null default 'America/Sao_Paulo', -- IANA name
    schedules      jsonb       not null default '[]', -- opening hours
    reopen_minutes int         not null default 120 check (reopen_minutes between 0 and 43200), -- 0: closed tickets stay closed
    opt_out_words  text[]      not null default '{SAIR,PARAR,STOP}',
    retention_days int         check (retention_days between 1 and 36500), -- null: messages are kept
    created_at     timestamptz not null default now(),
    updated_at     timestamptz not null default now()
);

create table messaging.users (
    company_id    bigint      not null references messaging.companies (id) on delete cascade,
    id            bigint      generated always as identity unique,
    uid           uuid        not null unique, -- in tokens
    name          text        not null check (char_length(name) between 2 and 120),
    email         text        not null,
    password_hash text,       -- null: no password set yet
    profile       text        not null default 'user' check (profile in ('admin', 'user')),
    all_tickets   boolean     not null default false, -- sees every ticket of its queues, not only its own
    is_active     boolean     not null default true,
    created_at    timestamptz not null default now(),
    updated_at    timestamptz not null default now(),
    primary key (company_id, id)
);
create unique index users_email on messaging.users (lower(email)); -- among all companies

-- One row per issued refresh token; a family is one login. Using a token twice
-- revokes its whole family.
create table messaging.refresh_tokens (
    hash       bytea       primary key,
    family_id  uuid        not null,
    user_id    uuid        not null references messaging.users (uid) on delete cascade,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    used_at    timestamptz,
    revoked_at timestamptz
);
create index refresh_tokens_family on messaging.refresh_tokens (family_id);
create index refresh_tokens_user on messaging.refresh_tokens (user_id);
create index refresh_tokens_expiry on messaging.refresh_tokens (expires_at);

-- Failed logins of the last 15 minutes, per account and address.
create table messaging.login_failures (
    account_hash bytea       not null,
    ip           text        not null,
    at           timestamptz not null default now()
);
create index login_failures_recent on messaging.login_failures (account_hash, ip, at);
create index login_failures_expiry on messaging.login_failures (at);

-- Links sent by e-mail, good for one use: a forgotten password, an invitation.
create table messaging.mailed_tokens (
    hash       bytea       primary key, -- SHA-256; the token is in the mail only
    user_id    uuid        not null references messaging.users (uid) on delete cascade,
    purpose    text        not null check (purpose in ('reset', 'invite')),
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    used_at    timestamptz
);
create index mailed_tokens_user on messaging.mailed_tokens (user_id);
create index mailed_tokens_expiry on messaging.mailed_tokens (expires_at);

-- Tokens of programs that send messages.
create table messaging.api_tokens (
    company_id    bigint      not null references messaging.companies (id) on delete cascade,
    id            bigint      generated always as identity unique,
    name          text        not null check (char_length(name) between 1 and 120),
    prefix        text        not null, -- beginning of the token, for people
    hash          bytea       not null unique, -- SHA-256 of the token
    connection_id bigint,     -- the only connection it may send on; null: any
    created_at    timestamptz not null default now(),
    updated_at    timestamptz not null default now(),
    expires_at    timestamptz,
    last_used_at  timestamptz,
    revoked_at    timestamptz,
    primary key (company_id, id)
);
