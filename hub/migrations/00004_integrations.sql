-- Tenants connected to peer products, and what arrived from those.
-- +goose Up
create table hub.integrations (
    id                         uuid        primary key, -- also the registration_id told to the peer
    tenant_id                  uuid        not null references hub.tenants (id),
    environment                text        not null check (environment in ('live', 'test')),
    product                    text        not null check (product ~ '^[a-z][a-z0-9-]{1,39}$'), -- of the peer
    status                     text        not null check (status in ('active', 'inactive', 'error')),
    disabled                   boolean     not null default false, -- by our administrator: the peer cannot change it
    api_url                    text        not null default '', -- base over the peer's /integrations; '': it never said
    webhook_url                text        not null,            -- where we take its webhooks
    peer_webhook_url           text        not null default '', -- where it takes ours
    -- Secrets and keys are encrypted with the master key. The pending secret and key
    -- are what a registration under way tells the peer; they come into force with
    -- its success, and what was in force before lives on for the overlap.
    secret                     bytea,
    previous_secret            bytea,
    previous_expires_at        timestamptz,
    pending_secret             bytea,
    remote_key                 bytea,                           -- the peer's key, for our calls
    remote_last4               text        not null default '',
    previous_remote_key        bytea,                           -- tried where the peer refuses the other
    pending_key                bytea,                           -- our key for the peer, until it has it
    pending_key_id             uuid,
    features                   text[]      not null default '{}', -- of the peer
    enabled                    text[]      not null default '{}', -- the uses our administrator asked for
    event_types                text[]      not null default '{*}', -- what the peer wants from us
    peer_integration_id        text,                            -- the peer's own id of this connection
    handshake                  integer     not null default 0,  -- counts connects: the last one counts
    register_at                timestamptz,                     -- when the registration is tried again; null: not needed
    register_tries             integer     not null default 0,
    registered_at              timestamptz,                     -- the last success, whoever registered
    peer_registered_at         timestamptz,                     -- when the peer last registered with us
    last_error                 text,
    last_health_check          timestamptz,
    failures                   integer     not null default 0,  -- of probes, in a row
    successes                  integer     not null default 0,  -- likewise, since the status became error
    unauthorized_since         timestamptz,                     -- since when the peer refuses our key
    next_probe_at              timestamptz,
    revoked_at                 timestamptz,
    created_at                 timestamptz not null default now(),
    updated_at                 timestamptz not null default now(),
    unique (tenant_id, environment, product),
    unique (tenant_id, id),
    foreign key (tenant_id, pending_key_id) references hub.keys (tenant_id, id)
);
create index integrations_probe on hub.integrations (next_probe_at) where next_probe_at is not null;
create index integrations_register on hub.integrations (register_at) where register_at is not null;

-- A key may be bound to one integration: then it speaks for that peer only.
alter table hub.keys add column integration_id uuid,
    add foreign key (tenant_id, integration_id) references hub.integrations (tenant_id, id);
create index keys_integration on hub.keys (integration_id) where integration_id is not null;

drop trigger config_changed on hub.keys;
create trigger config_changed after insert or delete or update of name, scopes, rate, expires_at, revoked_at, integration_id
    on hub.keys for each statement execute function hub.bump_config();
-- Not for what probes and retries write each time: that is not cached.
create trigger config_changed after insert or delete or update of status, api_url, peer_webhook_url, secret, previous_secret,
    previous_expires_at, pending_secret, remote_key, previous_remote_key, event_types, features, enabled
    on hub.integrations for each statement execute function hub.bump_config();

-- Ids of events that peers sent. The key absorbs duplicates; rows are kept longer than
-- anything can wait at the peer. The events themselves are in the log.
create table hub.received (
    integration_id uuid        not null,
    event_id       bigint      not null, -- the 64 bits of evt_…
    tenant_id      uuid        not null,
    body_sha256    bytea       not null,
    event_type     text        not null,
    ignored        boolean     not null,
    seq            uuid        not null, -- of the event in the log
    received_at    timestamptz not null default now(),
    primary key (integration_id, event_id),
    foreign key (tenant_id, integration_id) references hub.integrations (tenant_id, id)
);
create index received_event on hub.received (event_id);
create index received_age on hub.received using brin (received_at) with (pages_per_range = 32);

-- Work of hosted products: runs that wait, and one row for each job that repeats.
create table hub.jobs (
    id         uuid        primary key,
    product    text        not null references hub.products (name),
    job        text        not null,
    key        text,                          -- of runs with the same key only one waits
    repeats    boolean     not null default false,
    payload    bytea,
    due_at     timestamptz not null,
    tries      integer     not null default 0, -- that failed, in a row
    leased_to  timestamptz,                   -- it runs now, until then at most
    last_error text,
    created_at timestamptz not null default now()
);
create unique index jobs_key on hub.jobs (product, job, key) where key is not null and leased_to is null;
create unique index jobs_repeats on hub.jobs (product, job) where repeats;
create index jobs_due on hub.jobs (due_at);
