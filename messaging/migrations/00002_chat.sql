-- What the product is about: connections to a chat network, contacts, tickets, messages.
-- +goose Up
create table messaging.queues (
    company_id            bigint      not null references messaging.companies (id) on delete cascade,
    id                    bigint      generated always as identity unique,
    name                  text        not null check (char_length(name) between 2 and 60),
    color                 text        not null check (color ~ '^#([0-9a-f]{3}|[0-9a-f]{6})$'),
    position              int,        -- orderQueue of the API
    greeting_message      text        not null default '',
    out_of_hours_message  text        not null default '',
    schedules             jsonb       not null default '[]', -- opening hours; []: the company's
    created_at            timestamptz not null default now(),
    updated_at            timestamptz not null default now(),
    primary key (company_id, id)
);
create unique index queues_name on messaging.queues (company_id, lower(name));
create unique index queues_color on messaging.queues (company_id, color);

create table messaging.user_queues (
    company_id bigint not null,
    user_id    bigint not null,
    queue_id   bigint not null,
    primary key (company_id, user_id, queue_id),
    foreign key (company_id, user_id) references messaging.users (company_id, id) on delete cascade,
    foreign key (company_id, queue_id) references messaging.queues (company_id, id) on delete cascade
);
create index user_queues_queue on messaging.user_queues (company_id, queue_id);

-- A connection is a session of a chat network, or an account at one.
create table messaging.connections (
    company_id           bigint      not null references messaging.companies (id) on delete cascade,
    id                   bigint      generated always as identity unique,
    name                 text        not null check (char_length(name) between 2 and 60),
    driver               text        not null,
    status               text        not null default 'OPENING' check (status in
                         ('OPENING', 'qrcode', 'PAIRING', 'CONNECTED', 'TIMEOUT', 'DISCONNECTED', 'BANNED', 'OUTDATED')),
    qrcode               text        not null default '',
    qr_expires_at        timestamptz,
    retries              int         not null default 0, -- unscanned QR codes in a row
    number               text,       -- digits; known once it is connected
    is_default           boolean     not null default false,
    greeting_message     text        not null default '',
    farewell_message     text        not null default '',
    out_of_hours_message text        not null default '',
    rating_message       text        not null default '',
    send_interval_ms     int         not null default 0 check (send_interval_ms between 0 and 3600000),
    daily_limit          int         not null default 0 check (daily_limit >= 0), -- 0: none
    last_error           text,       -- for people
    settings             bytea,      -- sealed; the driver's own: tokens and secrets
    created_at           timestamptz not null default now(),
    updated_at           timestamptz not null default now(),
    primary key (company_id, id)
);
create unique index connections_name on messaging.connections (company_id, lower(name));
create unique index connections_default on messaging.connections (company_id) where is_default;
create index connections_waiting on messaging.connections (qr_expires_at) where status = 'qrcode';

create table messaging.connection_queues (
    company_id    bigint not null,
    connection_id bigint not null,
    queue_id      bigint not null,
    primary key (company_id, connection_id, queue_id),
    foreign key (company_id, connection_id) references messaging.connections (company_id, id) on delete cascade,
    foreign key (company_id, queue_id) references messaging.queues (company_id, id) on delete cascade
);
create index connection_queues_queue on messaging.connection_queues (company_id, queue_id);

alter table messaging.api_tokens add foreign key (company_id, connection_id) references messaging.connections (company_id, id) on delete cascade;

create table messaging.contacts (
    company_id    bigint      not null references messaging.companies (id) on delete cascade,
    id            bigint      generated always as identity unique,
    name          text        not null check (char_length(name) between 1 and 120),
    number        text        not null check (number ~ '^[1-9][0-9]{7,14}$'), -- with country code
    number_key    text        not null, -- equal for a Brazilian mobile with and without its ninth digit
    email         text        not null default '',
    picture_url   text        not null default '',
    is_group      boolean     not null default false,
    disable_bot   boolean     not null default false, -- no automatic messages
    extra_info    jsonb       not null default '[]',
    consent       text        not null default 'unknown' check (consent in ('unknown', 'opted_in', 'opted_out')),
    consent_at    timestamptz,
    anonymized_at timestamptz,
    last_inbound_at timestamptz, -- of its newest message
    created_at    timestamptz not null default now(),
    updated_at    timestamptz not null default now(),
    primary key (company_id, id)
);
create unique index contacts_number on messaging.contacts (company_id, number_key);
create index contacts_list on messaging.contacts (company_id, lower(name), id);

create table messaging.tickets (
    company_id        bigint      not null references messaging.companies (id) on delete cascade,
    id                bigint      generated always as identity unique,
    uuid              uuid        not null,
    status            text        not null check (status in ('open', 'pending', 'closed')),
    contact_id        bigint      not null,
    connection_id     bigint,     -- null: it was deleted
    user_id           bigint,
    queue_id          bigint,
    unread_messages   int         not null default 0,
    last_message      text        not null default '',
    chatbot           boolean     not null default false, -- a menu waits for the contact's answer
    resolution        text,
    rating            int         check (rating between 1 and 5),
    queued_at         timestamptz,
    started_at        timestamptz,
    first_response_at timestamptz,
    closed_at         timestamptz,
    created_at        timestamptz not null default now(),
    updated_at        timestamptz not null default now(),
    primary key (company_id, id),
    foreign key (company_id, contact_id) references messaging.contacts (company_id, id) on delete cascade,
    foreign key (company_id, connection_id) references messaging.connections (company_id, id) on delete set null (connection_id),
    foreign key (company_id, user_id) references messaging.users (company_id, id) on delete set null (user_id),
    foreign key (company_id, queue_id) references messaging.queues (company_id, id) on delete set null (queue_id)
);
-- A contact has one live ticket on a connection.
create unique index tickets_live on messaging.tickets (company_id, contact_id, connection_id) where status in ('open', 'pending');
create index tickets_list on messaging.tickets (company_id, updated_at desc, id desc);
create index tickets_status on messaging.tickets (company_id, status, updated_at desc, id desc);
create index tickets_contact on messaging.tickets (company_id, contact_id, updated_at desc);
create index tickets_connection on messaging.tickets (company_id, connection_id);
create index tickets_user on messaging.tickets (company_id, user_id);
create index tickets_queue on messaging.tickets (company_id, queue_id);

create table messaging.messages (
    company_id    bigint      not null references messaging.companies (id) on delete cascade,
    id            text        not null, -- made here, also for messages of the network
    seq           bigint      not null generated always as identity, -- order in a ticket
    ticket_id     bigint      not null,
    contact_id    bigint      not null,
    connection_id bigint,
    remote_id     text,       -- of the network
    user_id       bigint,     -- who sent it
    body          text        not null default '',
    from_me       boolean     not null,
    is_read       boolean     not null default false,
    ack           int         not null default 0 check (ack between -1 and 4),
    media_type    text        not null default 'text' check (media_type in ('text', 'image', 'video', 'audio', 'document', 'sticker', 'location', 'contact')),
    media_url     text,
    media_name    text,
    mime_type     text,
    size          bigint,
    quoted_id     text,
    is_private    boolean     not null default false, -- a note among users
    is_deleted    boolean     not null default false,
    is_edited     boolean     not null default false,
    origin        text        not null check (origin in ('agent', 'api', 'campaign', 'schedule', 'bot', 'phone', 'contact')),
    error_code    text,
    external_key  text,       -- of the caller of the send API
    sent_at       timestamptz not null, -- timestamp of the API
    created_at    timestamptz not null default now(),
    updated_at    timestamptz not null default now(),
    primary key (company_id, id),
    foreign key (company_id, ticket_id) references messaging.tickets (company_id, id) on delete cascade,
    foreign key (company_id, contact_id) references messaging.contacts (company_id, id) on delete cascade,
    foreign key (company_id, connection_id) references messaging.connections (company_id, id) on delete set null (connection_id),
    foreign key (company_id, user_id) references messaging.users (company_id, id) on delete set null (user_id)
);
create unique index messages_remote on messaging.messages (company_id, connection_id, remote_id); -- a message of the network is stored once
create index messages_ticket on messaging.messages (company_id, ticket_id, seq desc);
create index messages_contact on messaging.messages (company_id, contact_id);
create index messages_user on messaging.messages (company_id, user_id);

-- What the network has not taken yet. A row is sent by the process that holds its lease.
create table messaging.outbox (
    company_id    bigint      not null,
    message_id    text        not null,
    seq           bigint      not null generated always as identity, -- order in a contact's chat
    connection_id bigint      not null,
    contact_id    bigint      not null,
    attempts      int         not null default 0,
    due_at        timestamptz not null,
    leased_until  timestamptz, -- null: nobody sends it
    created_at    timestamptz not null default now(),
    primary key (company_id, message_id),
    foreign key (company_id, message_id) references messaging.messages (company_id, id) on delete cascade,
    foreign key (company_id, connection_id) references messaging.connections (company_id, id) on delete cascade
);
create index outbox_due on messaging.outbox (due_at);
create index outbox_contact on messaging.outbox (company_id, connection_id, contact_id, seq);

-- Answers of the send API by Idempotency-Key, for a day.
create table messaging.idempotency_keys (
    company_id  bigint      not null references messaging.companies (id) on delete cascade,
    caller      text        not null, -- token or key
    key         text        not null check (char_length(key) between 1 and 200),
    body_hash   bytea       not null,
    message_id  text        not null,
    created_at  timestamptz not null default now(),
    primary key (company_id, caller, key)
);
create index idempotency_keys_expiry on messaging.idempotency_keys (created_at);
