-- Messages that are sent at a time.
-- +goose Up
create table messaging.schedules (
    company_id    bigint      not null references messaging.companies (id) on delete cascade,
    id            bigint      generated always as identity unique,
    contact_id    bigint      not null,
    ticket_id     bigint,     -- null: the contact's live one, or a new one
    user_id       bigint,     -- who made it; null: was deleted
    connection_id bigint,     -- null: the default one
    body          text        not null check (char_length(body) between 1 and 4096),
    media_id      text,
    send_at       timestamptz not null,
    status        text        not null default 'pending' check (status in ('pending', 'queued', 'sent', 'error')),
    message_id    text,       -- once it is queued
    attempts      int         not null default 0,
    error         text,       -- code
    sent_at       timestamptz,
    created_at    timestamptz not null default now(),
    updated_at    timestamptz not null default now(),
    primary key (company_id, id),
    check ((status in ('queued', 'sent')) <= (message_id is not null)),
    foreign key (company_id, contact_id) references messaging.contacts (company_id, id) on delete cascade,
    foreign key (company_id, ticket_id) references messaging.tickets (company_id, id) on delete set null (ticket_id),
    foreign key (company_id, user_id) references messaging.users (company_id, id) on delete set null (user_id),
    foreign key (company_id, connection_id) references messaging.connections (company_id, id) on delete set null (connection_id),
    foreign key (company_id, media_id) references messaging.media_files (company_id, id)
);
create index schedules_due on messaging.schedules (send_at) where status = 'pending';
create index schedules_list on messaging.schedules (company_id, send_at desc, id desc);
create index schedules_contact on messaging.schedules (company_id, contact_id);
create index schedules_ticket on messaging.schedules (company_id, ticket_id);
create index schedules_user on messaging.schedules (company_id, user_id);
create index schedules_connection on messaging.schedules (company_id, connection_id);
create index schedules_media on messaging.schedules (company_id, media_id);
create unique index schedules_message on messaging.schedules (company_id, message_id);
