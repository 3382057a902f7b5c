-- Who uses the service: organizations, what they set, and their users.
-- +goose Up
create table scheduling.organizations (
    id         uuid        primary key,
    name       text        not null check (char_length(name) between 1 and 120),
    slug       text        not null unique
               check (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$' and char_length(slug) between 3 and 63
                      and slug not in ('api', 'book', 'admin', 'www', 'public', 'health', 'docs')),
    logo_key   text,        -- of the blob
    phone      text,
    email      text,
    address    text,
    timezone   text        not null default 'America/Sao_Paulo', -- IANA name
    currency   text        not null default 'BRL' check (currency ~ '^[A-Z]{3}$'),
    locale     text        not null default 'pt-BR',
    plan       text        not null default 'free',
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);

-- Slugs an organization had before: they redirect for a while, and nobody else
-- may take them meanwhile.
create table scheduling.old_slugs (
    slug            text        primary key,
    org_id          uuid        not null references scheduling.organizations (id) on delete cascade,
    redirects_until timestamptz not null
);
create index old_slugs_org on scheduling.old_slugs (org_id);

create table scheduling.settings (
    org_id                         uuid      primary key references scheduling.organizations (id) on delete cascade,
    booking_enabled                boolean   not null default true,
    booking_disabled_message       text      check (char_length(booking_disabled_message) <= 500),
    auto_confirm                   boolean   not null default false,
    slot_interval_minutes          integer   check (slot_interval_minutes between 5 and 240), -- null: the duration
    min_notice_minutes             integer   not null default 0 check (min_notice_minutes between 0 and 43200),
    max_advance_days               integer   check (max_advance_days between 1 and 730),
    cancel_notice_minutes          integer   not null default 0 check (cancel_notice_minutes between 0 and 43200),
    reschedule_notice_minutes      integer   not null default 0 check (reschedule_notice_minutes between 0 and 43200),
    allow_client_cancel            boolean   not null default true,
    allow_client_reschedule        boolean   not null default true,
    buffer_before_minutes          integer   not null default 0 check (buffer_before_minutes between 0 and 240),
    buffer_after_minutes           integer   not null default 0 check (buffer_after_minutes between 0 and 240),
    max_bookings_per_day           integer   check (max_bookings_per_day between 1 and 200), -- of one professional
    max_active_bookings_per_client integer   check (max_active_bookings_per_client between 1 and 50),
    allow_any_professional         boolean   not null default true,
    require_client_phone           boolean   not null default true,
    require_client_email           boolean   not null default false,
    reminders_enabled              boolean   not null default true,
    reminder_offsets_minutes       integer[] not null default '{1440,120}'
                                   check (cardinality(reminder_offsets_minutes) <= 5
                                          and 10 <= all (reminder_offsets_minutes) and 20160 >= all (reminder_offsets_minutes)),
    reminder_channels              text[]    not null default '{email}' check (reminder_channels <@ array['email', 'whatsapp']),
    deposit_hold_minutes           integer   not null default 30 check (deposit_hold_minutes between 5 and 1440),
    deposit_refund_notice_minutes  integer   default 1440 check (deposit_refund_notice_minutes between 0 and 43200),
    inactive_after_days            integer   not null default 60 check (inactive_after_days between 7 and 730),
    waitlist_enabled               boolean   not null default false,
    week_start                     smallint  not null default 0 check (week_start between 0 and 6), -- 0 = Monday
    time_format                    text      not null default '24h' check (time_format in ('24h', '12h')),
    booking_page                   jsonb     not null default '{}' check (jsonb_typeof(booking_page) = 'object'),
    notify_emails                  text[]    not null default '{}' check (cardinality(notify_emails) <= 10),
    updated_at                     timestamptz not null default now()
);

create table scheduling.users (
    org_id        uuid        not null references scheduling.organizations (id) on delete cascade,
    id            uuid        not null unique, -- tokens name the user alone
    name          text        not null check (char_length(name) between 1 and 120),
    email         text        not null,
    password_hash text,       -- null: invited, no password set yet
    role          text        not null check (role in ('owner', 'admin', 'staff', 'professional')),
    phone         text,
    avatar_url    text,
    is_active     boolean     not null default true,
    created_at    timestamptz not null default now(),
    updated_at    timestamptz not null default now(),
    primary key (org_id, id)
);
create unique index users_email on scheduling.users (lower(email)); -- among all organizations

-- One row per issued refresh token; a family is one login. Using a token twice
-- revokes its whole family.
create table scheduling.refresh_tokens (
    hash       bytea       primary key,
    family_id  uuid        not null,
    user_id    uuid        not null references scheduling.users (id) on delete cascade,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    used_at    timestamptz,
    revoked_at timestamptz
);
create index refresh_tokens_family on scheduling.refresh_tokens (family_id);
create index refresh_tokens_user on scheduling.refresh_tokens (user_id);
create index refresh_tokens_expiry on scheduling.refresh_tokens (expires_at);

-- Links sent by e-mail, good for one use: a forgotten password, an invitation.
create table scheduling.mailed_tokens (
    hash       bytea       primary key, -- SHA-256; the token is in the mail only
    user_id    uuid        not null references scheduling.users (id) on delete cascade,
    purpose    text        not null check (purpose in ('reset', 'invite')),
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    used_at    timestamptz
);
create index mailed_tokens_user on scheduling.mailed_tokens (user_id);
create index mailed_tokens_expiry on scheduling.mailed_tokens (expires_at);

-- Failed logins of the last 15 minutes, per account and address.
create table scheduling.login_failures (
    account_hash bytea       not null,
    ip           text        not null,
    at           timestamptz not null default now()
);
create index login_failures_recent on scheduling.login_failures (account_hash, ip, at);
create index login_failures_expiry on scheduling.login_failures (at);

-- Answers to requests with an Idempotency-Key, for 24 hours.
create table scheduling.idempotency (
    org_id       uuid        not null references scheduling.organizations (id) on delete cascade,
    operation    text        not null,
    key          text        not null check (char_length(key) between 1 and 255),
    request_hash bytea       not null,
    status       integer,    -- null: under way
    answer       jsonb,
    created_at   timestamptz not null default now(),
    primary key (org_id, operation, key)
);
create index idempotency_expiry on scheduling.idempotency (created_at);
