-- The sandbox: a chat network of phones that live in these tables. For development only.
-- Nothing of the product points here and nothing here points there: it stands for the
-- outside world.
-- +goose Up
create table messaging.sandbox_phones (
    number     text        primary key,
    name       text        not null,
    created_at timestamptz not null default now()
);

-- A pairing is a QR code that a phone may scan once.
create table messaging.sandbox_pairings (
    nonce         text        primary key,
    connection_id bigint      not null,
    expires_at    timestamptz not null,
    used_at       timestamptz
);
create index sandbox_pairings_connection on messaging.sandbox_pairings (connection_id);

-- A session is a connection that was paired with a phone's number.
create table messaging.sandbox_sessions (
    connection_id bigint      primary key,
    number        text        not null,
    state         text        not null check (state in ('online', 'offline', 'banned')),
    created_at    timestamptz not null default now()
);
create index sandbox_sessions_number on messaging.sandbox_sessions (number);

create table messaging.sandbox_messages (
    seq         bigint      generated always as identity primary key,
    id          text        not null unique, -- the network's
    sender      text        not null, -- number
    recipient   text        not null, -- number
    body        text        not null,
    media_url   text,
    quoted_id   text,
    ack         int         not null default 1,
    sent_at     timestamptz not null
);
create index sandbox_messages_inbox on messaging.sandbox_messages (recipient, seq);
